//! From the arguments of a call to a request.
//!
//! Values are taken from the text of the arguments, so that numbers keep their spelling. No value changes the structure of the
//! request: it stays within its path segment, its query parameter, its header. The members of an object that become parameters of
//! their own never take the name of a parameter that the document declares.

mod body;
mod expression;
mod file;
mod form;
mod json;
mod multipart;
mod path;
mod style;

use reqwest::{
    Method, Request, Url,
    header::{COOKIE, HeaderName, HeaderValue},
};
use tool_runtime::ToolError;

pub use self::file::{FileContent, FileResolver};
pub(crate) use self::json::Members;
use self::style::QueryPair;
pub(crate) use self::{
    body::{BodyForm, RequestBody},
    file::{FileSource, SharedFileResolver},
    form::{FormField, FormFields},
    path::PathTemplate,
    style::ParameterStyle,
};

/// The room for a path or a query, in bytes, which most do not exceed.
const URL_CAPACITY_BYTES: usize = 128;

/// Everything about an operation that its requests need.
pub(crate) struct RequestPlan {
    pub(crate) method: Method,
    pub(crate) base: Url,
    pub(crate) path: PathTemplate,
    pub(crate) parameters: Vec<RequestParameter>,
    pub(crate) body: Option<RequestBody>,
}

/// The location of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterLocation {
    Path,
    Query,
    /// The query as a whole (version 3.2).
    QueryString,
    Header,
    Cookie,
}

impl ParameterLocation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::QueryString => "querystring",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// A parameter, and the property that has its value.
#[derive(Debug)]
pub(crate) struct RequestParameter {
    pub(crate) property: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) location: ParameterLocation,
    pub(crate) style: ParameterStyle,
    pub(crate) explode: bool,
    pub(crate) allow_reserved: bool,
    /// The value is written as JSON.
    pub(crate) is_json: bool,
    /// The properties of a query as a whole that is a form.
    pub(crate) fields: Option<FormFields>,
}

impl RequestPlan {
    /// Returns the request for `arguments`, a JSON object or `null`.
    ///
    /// # Errors
    ///
    /// If a value has no place in a request, such as a line break in a header, and errors of the resolver of files.
    pub(crate) async fn build_request(
        &self,
        arguments: &str,
        files: FileSource<'_>,
    ) -> Result<Request, ToolError> {
        let arguments = read_arguments(arguments)?;
        let mut request = Request::new(self.method.clone(), self.build_url(&arguments)?);
        self.add_headers_and_cookies(&mut request, &arguments)?;
        if let Some(body) = &self.body
            && let Some(value) = arguments.get(&body.property)
        {
            body.set_request_body(&mut request, value, files).await?;
        }
        Ok(request)
    }

    fn build_url(&self, arguments: &Members<'_>) -> Result<Url, ToolError> {
        let mut path = String::with_capacity(URL_CAPACITY_BYTES);
        path.push_str(self.base.path().trim_end_matches('/'));
        self.path.append_filled_path(&mut path, &self.parameters, arguments)?;
        let mut url = self.base.clone();
        url.set_path(&path);
        // What the parser of URLs would resolve, such as `..`, leads to another operation.
        if url.path() != path {
            let message =
                format!("the path `{path}` is the path of another resource; no segment may be `.` or `..`");
            return Err(ToolError::bad_parameter(message));
        }
        let mut query = String::with_capacity(URL_CAPACITY_BYTES);
        query.push_str(self.path.literal_query().unwrap_or_default());
        for parameter in &self.parameters {
            let Some(value) = arguments.get(&parameter.property) else { continue };
            let pairs = match parameter.location {
                ParameterLocation::Query => parameter.parameter_encoding().query_pairs(value),
                // The members of an exploded object are named in the path, too.
                ParameterLocation::Path if parameter.style == ParameterStyle::Matrix => {
                    let pairs = parameter
                        .parameter_encoding()
                        .query_pairs(value)
                        .map_err(|it| parameter.unfit_value_error(&it))?;
                    self.refuse_names_of_other_parameters(parameter, &pairs)?;
                    continue;
                }
                ParameterLocation::QueryString => match &parameter.fields {
                    Some(fields) => fields.form_pairs(value),
                    None => parameter.parameter_encoding().query_pairs(value).map(|pairs| {
                        pairs.iter().for_each(|it| style::append_pair(&mut query, &it.value));
                        Vec::new()
                    }),
                },
                ParameterLocation::Path | ParameterLocation::Header | ParameterLocation::Cookie => continue,
            };
            let pairs = pairs.map_err(|problem| parameter.unfit_value_error(&problem))?;
            self.refuse_names_of_other_parameters(parameter, &pairs)?;
            pairs.iter().for_each(|it| it.append_to_query(&mut query));
        }
        url.set_query(Some(&*query).filter(|it| !it.is_empty()));
        Ok(url)
    }

    /// Refuses members of an object that would be another parameter of the operation.
    fn refuse_names_of_other_parameters(
        &self,
        parameter: &RequestParameter,
        pairs: &[QueryPair],
    ) -> Result<(), ToolError> {
        let is_declared = |name: &str| {
            // `filter[role]` is a member of the parameter `filter`.
            let whole = name.split_once('[').map_or(name, |(whole, _)| whole);
            let same = |it: &&RequestParameter| {
                it.location == parameter.location
                    && (*it.name == *name || it.style == ParameterStyle::DeepObject && *it.name == *whole)
            };
            self.parameters.iter().filter(same).any(|it| it.property != parameter.property)
                || (parameter.location == ParameterLocation::Query && self.path.has_literal_query_name(name))
        };
        match pairs.iter().filter_map(|it| it.member.as_deref()).find(|it| is_declared(it)) {
            Some(name) => Err(parameter.unfit_value_error(&format!(
                "has the member `{name}`, which is the name of another parameter in {}; give that parameter \
                 its value itself",
                parameter.location.name()
            ))),
            None => Ok(()),
        }
    }

    fn add_headers_and_cookies(
        &self,
        request: &mut Request,
        arguments: &Members<'_>,
    ) -> Result<(), ToolError> {
        let mut cookies = Vec::new();
        for parameter in &self.parameters {
            let Some(value) = arguments.get(&parameter.property) else { continue };
            match parameter.location {
                ParameterLocation::Header => {
                    let text = parameter.parameter_encoding().header_text(value);
                    let Some(text) = text.map_err(|problem| parameter.unfit_value_error(&problem))? else {
                        continue;
                    };
                    let name = HeaderName::try_from(&*parameter.name)
                        .map_err(|_| parameter.unfit_value_error("is no name of a header"))?;
                    let value = HeaderValue::try_from(text).map_err(|_| {
                        parameter.unfit_value_error(
                            "has a value with characters that no header may have, such as a line break",
                        )
                    })?;
                    request.headers_mut().append(name, value);
                }
                ParameterLocation::Cookie => {
                    let pairs = parameter.parameter_encoding().query_pairs(value);
                    let pairs = pairs.map_err(|problem| parameter.unfit_value_error(&problem))?;
                    self.refuse_names_of_other_parameters(parameter, &pairs)?;
                    cookies.extend(pairs.iter().map(QueryPair::cookie_text));
                }
                ParameterLocation::Path | ParameterLocation::Query | ParameterLocation::QueryString => {}
            }
        }
        // Cookies are separated as every server reads them, also those of the style `form`.
        if !cookies.is_empty() {
            let value = HeaderValue::try_from(cookies.join("; "))
                .map_err(|_| ToolError::bad_parameter("a cookie has characters that no header may have"))?;
            request.headers_mut().insert(COOKIE, value);
        }
        Ok(())
    }
}

/// Reads arguments; `null` is no arguments.
fn read_arguments(arguments: &str) -> Result<Members<'_>, ToolError> {
    let arguments = if arguments.trim() == "null" { "{}" } else { arguments };
    let unfit =
        |error| ToolError::bad_parameter(format!("the arguments are not an object of valid JSON: {error}"));
    let members = Members::of(arguments).map_err(unfit)?;
    members.check_unique_deeply().map_err(unfit)?;
    Ok(members)
}

impl RequestParameter {
    /// The error of a value that has no place in a request.
    fn unfit_value_error(&self, problem: &str) -> ToolError {
        ToolError::bad_parameter(format!(
            "the parameter `{}` in {} {problem}",
            self.property,
            self.location.name()
        ))
    }
}
