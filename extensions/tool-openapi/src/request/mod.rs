//! From the arguments of a call to a request.
//!
//! Values are taken from the text of the arguments, so that numbers keep their spelling. No value changes the structure of the
//! request: it stays within its path segment, its query parameter, its header.

mod json;
mod path;
mod style;

use reqwest::{
    Client, Method, Request, Url,
    header::{CONTENT_TYPE, COOKIE, HeaderName, HeaderValue},
};
use serde_json::value::RawValue;
use tool_runtime::ToolError;

use self::json::Members;
pub(crate) use self::{path::PathTemplate, style::Style};
use crate::{OpenApiError, settings::Settings};

/// Everything about an operation that its requests need.
pub(crate) struct Plan {
    pub(crate) method: Method,
    pub(crate) base: Url,
    pub(crate) path: PathTemplate,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
}

/// The location of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum In {
    Path,
    Query,
    /// The query as a whole (version 3.2).
    QueryString,
    Header,
    Cookie,
}

impl In {
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
pub(crate) struct Parameter {
    pub(crate) property: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) location: In,
    pub(crate) style: Style,
    pub(crate) explode: bool,
    pub(crate) allow_reserved: bool,
    /// The value is written as JSON.
    pub(crate) is_json: bool,
}

/// A request body, and the property that has its value.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) property: Box<str>,
    pub(crate) media_type: Box<str>,
    pub(crate) form: BodyForm,
}

/// The form of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyForm {
    Json,
}

/// Creates the client of all operations of a document.
pub(crate) fn client(settings: &Settings) -> Result<Client, OpenApiError> {
    // Redirects are followed by hand, so that a credential never goes along.
    let builder = Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(settings.timeout);
    builder
        .build()
        .map_err(|error| OpenApiError::config("the HTTP client cannot be created").with_source(error))
}

impl Plan {
    /// Returns the request for `arguments`, a JSON object.
    ///
    /// # Errors
    ///
    /// If a value has no place in a request, such as a line break in a header.
    pub(crate) fn request(&self, arguments: &str) -> Result<Request, ToolError> {
        let arguments = Members::of(arguments).map_err(|error| {
            ToolError::bad_parameter(format!("the arguments are not a JSON object: {error}"))
        })?;
        let mut request = Request::new(self.method.clone(), self.url(&arguments)?);
        self.add_headers(&mut request, &arguments)?;
        if let Some(body) = &self.body
            && let Some(value) = arguments.get(&body.property)
        {
            body.add(&mut request, value)?;
        }
        Ok(request)
    }

    fn url(&self, arguments: &Members<'_>) -> Result<Url, ToolError> {
        let path = self.path.filled(&self.parameters, arguments)?;
        let mut url = self.base.clone();
        let path = format!("{}{path}", self.base.path().trim_end_matches('/'));
        url.set_path(&path);
        // What the parser of URLs would resolve, such as `..`, leads to another operation.
        if url.path() != path {
            let message =
                format!("the path `{path}` is the path of another resource; no segment may be `.` or `..`");
            return Err(ToolError::bad_parameter(message));
        }
        let mut query = String::new();
        for parameter in self.parameters.iter().filter(|it| it.location == In::Query) {
            if let Some(value) = arguments.get(&parameter.property) {
                parameter.add_query(&mut query, value)?;
            }
        }
        url.set_query(Some(&*query).filter(|it| !it.is_empty()));
        Ok(url)
    }

    fn add_headers(&self, request: &mut Request, arguments: &Members<'_>) -> Result<(), ToolError> {
        let mut cookies = Vec::new();
        for parameter in &self.parameters {
            let Some(value) = arguments.get(&parameter.property) else { continue };
            match parameter.location {
                In::Header => {
                    let Some(text) = parameter.simple(value)? else { continue };
                    let name = HeaderName::try_from(&*parameter.name)
                        .map_err(|_| parameter.unfit("is no name of a header"))?;
                    let value = HeaderValue::try_from(text).map_err(|_| {
                        parameter.unfit(
                            "has a value with characters that no header may have, such as a line break",
                        )
                    })?;
                    request.headers_mut().append(name, value);
                }
                In::Cookie => cookies.extend(parameter.cookie(value)?),
                In::Path | In::Query | In::QueryString => {}
            }
        }
        if !cookies.is_empty() {
            let value = HeaderValue::try_from(cookies.join("; "))
                .map_err(|_| ToolError::bad_parameter("a cookie has characters that no header may have"))?;
            request.headers_mut().insert(COOKIE, value);
        }
        Ok(())
    }
}

impl Parameter {
    /// The error of a value that has no place in a request.
    fn unfit(&self, problem: &str) -> ToolError {
        ToolError::bad_parameter(format!(
            "the parameter `{}` in {} {problem}",
            self.property,
            self.location.name()
        ))
    }
}

impl Body {
    fn add(&self, request: &mut Request, value: &RawValue) -> Result<(), ToolError> {
        let media_type = HeaderValue::try_from(&*self.media_type)
            .map_err(|_| ToolError::failed(format!("`{}` is not a media type", self.media_type)))?;
        match self.form {
            BodyForm::Json => *request.body_mut() = Some(value.get().to_owned().into()),
        }
        request.headers_mut().insert(CONTENT_TYPE, media_type);
        Ok(())
    }
}
