//! Parameters of operations.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    ImportProblem, ImportReport, encoding,
    found::FoundOperation,
    non_empty_text_member,
    operation::{OperationReader, Property},
    schema::Components,
};
use crate::{
    document::{DocumentPlace, MAX_PARAMETERS, kind_name},
    media_type,
    request::{FormFields, ParameterLocation, ParameterStyle, PathTemplate, RequestParameter},
};

/// A parameter in its document.
pub(super) struct DeclaredParameter<'d> {
    name: &'d str,
    location: ParameterLocation,
    place: DocumentPlace,
    value: &'d Value,
}

/// The form in which the value of a parameter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParameterContent<'d> {
    /// By its style.
    Schema,
    Json,
    Text,
    /// A query as a whole, by the encodings of its content.
    Form(&'d Value),
}

/// Headers that the client sets: those of other parts of a request ([OpenAPI 3.1, section
/// 4.8.12.1](https://spec.openapis.org/oas/v3.1.1.html#parameter-object)), and those of the connection.
const NOT_PARAMETERS: [&str; 13] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the parameters of an operation and of its path, of which those of the operation take precedence. An optional one that
/// cannot be carried is left out, with a warning.
pub(super) fn declared_parameters<'d>(
    reader: &OperationReader<'d>,
    found: &FoundOperation<'d>,
    tool: &str,
    report: &mut ImportReport,
) -> Result<Vec<DeclaredParameter<'d>>, ImportProblem> {
    let mut all: Vec<DeclaredParameter<'d>> = Vec::new();
    let mut known: HashMap<(&str, &str), usize> = HashMap::new();
    let lists = [(&found.item_place, found.item), (&found.place, found.value)];
    for (place, owner) in lists {
        let place = place.at("parameters");
        let Some(list) = owner.get("parameters").filter(|it| !it.is_null()) else { continue };
        let Some(list) = list.as_array() else {
            let message = format!("`parameters` is {}, and not a list; it is ignored", kind_name(list));
            report.warn("parameter_left_out", tool, &place, message);
            continue;
        };
        if list.len() > MAX_PARAMETERS {
            return Err(ImportProblem::new(
                &place,
                format!("there are more than {MAX_PARAMETERS} parameters"),
            ));
        }
        let shared = all.len();
        for (at, value) in list.iter().enumerate().filter(|(_, it)| !it.is_null()) {
            let place = place.at(&at.to_string());
            let declared = match read_parameter(reader, place, value, tool, report) {
                Ok(Some(declared)) => declared,
                Ok(None) => continue,
                Err(problem) => {
                    warn_if_optional_or_fail(problem, value, tool, report)?;
                    continue;
                }
            };
            let key = (declared.location.name(), declared.name);
            match known.get(&key).and_then(|at| Some((*at >= shared, all.get_mut(*at)?))) {
                Some((is_doubled, earlier)) => {
                    if is_doubled {
                        let message = format!(
                            "the list declares the parameter `{}` in {} more than once; the last one counts",
                            declared.name,
                            declared.location.name()
                        );
                        report.warn("parameter_left_out", tool, &earlier.place, message);
                    }
                    *earlier = declared;
                }
                None => {
                    known.insert(key, all.len());
                    all.push(declared);
                }
            }
        }
    }
    Ok(all)
}

fn is_required(parameter: &Value) -> bool {
    parameter.get("required") == Some(&Value::Bool(true))
}

/// Leaves out an optional parameter.
///
/// # Errors
///
/// If it is not known to be optional.
fn warn_if_optional_or_fail(
    problem: ImportProblem,
    value: &Value,
    tool: &str,
    report: &mut ImportReport,
) -> Result<(), ImportProblem> {
    let is_path =
        value.get("in").and_then(Value::as_str).is_some_and(|it| it.trim().eq_ignore_ascii_case("path"));
    if value.get("$ref").is_some() || is_path || is_required(value) {
        return Err(problem);
    }
    let message = format!("an optional parameter is left out: {}", problem.reason);
    report.warn("parameter_left_out", tool, &problem.place, message);
    Ok(())
}

/// Reads a parameter; `None` for a header that the client sets.
fn read_parameter<'d>(
    reader: &OperationReader<'d>,
    place: DocumentPlace,
    value: &'d Value,
    tool: &str,
    report: &mut ImportReport,
) -> Result<Option<DeclaredParameter<'d>>, ImportProblem> {
    let resolved = reader.documents.follow_references(place.clone(), value);
    let (target, value) = resolved.map_err(|it| ImportProblem::new(&place, it.to_string()))?;
    let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
    let written = value.get("in").and_then(Value::as_str);
    let location = match written.map(|it| it.trim().to_ascii_lowercase()).as_deref() {
        Some("path") => ParameterLocation::Path,
        Some("query") => ParameterLocation::Query,
        Some("header") => ParameterLocation::Header,
        Some("cookie") => ParameterLocation::Cookie,
        Some("querystring") => ParameterLocation::QueryString,
        _ => {
            let other = written.unwrap_or("none");
            let reason = format!("the location `{other}` of the parameter `{name}` is unknown");
            return Err(ImportProblem::new(&place, reason));
        }
    };
    if name.is_empty() {
        return Err(ImportProblem::new(&place, "a parameter has no name"));
    }
    let lower = name.to_ascii_lowercase();
    if location == ParameterLocation::Header && NOT_PARAMETERS.contains(&&*lower) {
        let message = format!("the header `{name}` is set by the client, and is no argument");
        report.note("ignored_header", tool, &place, message);
        return Ok(None);
    }
    Ok(Some(DeclaredParameter { name, location, place: target, value }))
}

/// Returns the properties of the parameters. Names that clash, also with the body, get their location as a suffix.
fn property_names(declared: &[DeclaredParameter<'_>], has_body: bool) -> Vec<String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    declared.iter().for_each(|it| *uses.entry(it.name).or_default() += 1);
    let name = |one: &DeclaredParameter<'_>| {
        let is_body = has_body && one.name == super::body::BODY_PROPERTY;
        let mut name = match is_body || uses.get(one.name).is_some_and(|it| *it > 1) {
            true => format!("{}__{}", one.name, one.location.name()),
            false => one.name.to_owned(),
        };
        // A parameter may be called like the suffixed form of another one; two suffixed forms always differ.
        while name != one.name && uses.contains_key(&*name) {
            name.push('_');
        }
        name
    };
    declared.iter().map(name).collect()
}

/// Returns the names of the parameters in the path.
pub(super) fn path_parameter_names<'d>(declared: &[DeclaredParameter<'d>]) -> Vec<&'d str> {
    declared.iter().filter(|it| it.location == ParameterLocation::Path).map(|it| it.name).collect()
}

/// Gives each parameter its property.
pub(super) fn parameters_with_properties<'d>(
    reader: &OperationReader<'d>,
    declared: Vec<DeclaredParameter<'d>>,
    path: &PathTemplate,
    has_body: bool,
    components: &mut Components<'d>,
    tool: &str,
    report: &mut ImportReport,
) -> Result<(Vec<RequestParameter>, Vec<Property>), ImportProblem> {
    let names = property_names(&declared, has_body);
    let mut parameters = Vec::with_capacity(declared.len());
    let mut properties = Vec::with_capacity(declared.len());
    for (name, one) in names.into_iter().zip(declared) {
        if one.location == ParameterLocation::Path && !path.parameter_names().any(|it| it == one.name) {
            let message = format!("the path has no `{{{}}}`, and the parameter is ignored", one.name);
            report.warn("parameter_left_out", tool, &one.place, message);
            continue;
        }
        match one.request_parameter_and_schema(reader, &name, tool, report) {
            Ok((parameter, schema)) => {
                let schema = one.property_schema(schema, components, tool, report)?;
                let required = one.location == ParameterLocation::Path || is_required(one.value);
                parameters.push(parameter);
                properties.push(Property { name, schema, required });
            }
            Err(problem) => warn_if_optional_or_fail(problem, one.value, tool, report)?,
        }
    }
    Ok((parameters, properties))
}

/// Adds the parameters that only the path has: texts.
pub(super) fn add_undeclared_path_parameters(
    found: &FoundOperation<'_>,
    path: &PathTemplate,
    (parameters, properties): (&mut Vec<RequestParameter>, &mut Vec<Property>),
    tool: &str,
    report: &mut ImportReport,
) {
    for name in path.query_parameter_names() {
        if !parameters.iter().any(|it| it.location == ParameterLocation::Query && *it.name == *name) {
            let message = format!(
                "the path has the parameter `{name}` in its query, which is not declared, and is ignored"
            );
            report.warn("parameter_left_out", tool, &found.item_place, message);
        }
    }
    for name in path.parameter_names() {
        if parameters.iter().any(|it| it.location == ParameterLocation::Path && *it.name == *name) {
            continue;
        }
        let message = format!("the parameter `{name}` of the path is not declared, and is taken for a text");
        report.warn("undeclared_parameter", tool, &found.item_place, message);
        let mut property = name.to_owned();
        while properties.iter().any(|it| it.name == property) || property == super::body::BODY_PROPERTY {
            property.push_str("__path");
        }
        parameters.push(RequestParameter {
            property: property.clone().into(),
            name: name.into(),
            location: ParameterLocation::Path,
            style: ParameterStyle::Simple,
            explode: false,
            allow_reserved: false,
            is_json: false,
            fields: None,
        });
        let schema = json!({ "type": "string", "minLength": 1 });
        properties.push(Property { name: property, schema, required: true });
    }
}

impl<'d> DeclaredParameter<'d> {
    /// The parameter of requests, and the place of its schema.
    fn request_parameter_and_schema(
        &self,
        reader: &OperationReader<'d>,
        name: &str,
        tool: &str,
        report: &mut ImportReport,
    ) -> Result<(RequestParameter, (DocumentPlace, Option<&'d Value>)), ImportProblem> {
        let (place, schema, content) = self.schema_and_content()?;
        let fields = match content {
            ParameterContent::Form(value) => {
                Some(FormFields(encoding::read_field_encodings(reader, &self.place, value, tool, report)))
            }
            ParameterContent::Schema | ParameterContent::Json | ParameterContent::Text => None,
        };
        fields.iter().try_for_each(|it| reader.add_size_of_form_fields(it, &self.place))?;
        let parameter = RequestParameter {
            property: name.into(),
            name: self.name.into(),
            location: self.location,
            style: self.declared_style()?,
            explode: self.is_exploded(),
            allow_reserved: self.value.get("allowReserved") == Some(&Value::Bool(true)),
            is_json: content == ParameterContent::Json,
            fields,
        };
        Ok((parameter, (place, schema)))
    }

    fn property_schema(
        &self,
        (place, schema): (DocumentPlace, Option<&'d Value>),
        components: &mut Components<'d>,
        tool: &str,
        report: &mut ImportReport,
    ) -> Result<Value, ImportProblem> {
        let mut schema = match schema {
            Some(schema) => components.translate_root(tool, &place, schema, report)?,
            None => json!({}),
        };
        add_description(&mut schema, non_empty_text_member(self.value, "description"));
        Ok(schema)
    }

    /// The schema of the parameter, and how its value is written.
    fn schema_and_content(
        &self,
    ) -> Result<(DocumentPlace, Option<&'d Value>, ParameterContent<'d>), ImportProblem> {
        if let Some(schema) = self.value.get("schema").filter(|it| !it.is_null()) {
            return Ok((self.place.at("schema"), Some(schema), ParameterContent::Schema));
        }
        let place = self.place.at("content");
        let content = self.value.get("content").and_then(Value::as_object);
        let Some(content) = content.filter(|it| !it.is_empty()) else {
            return Ok((place, None, ParameterContent::Schema));
        };
        let Some((media_type, value, how)) = content.iter().find_map(|(it, value)| {
            let how = self.content_kind(it, value)?;
            Some((it, value, how))
        }) else {
            let all: Vec<_> = content.keys().map(|it| format!("`{it}`")).collect();
            let message =
                format!("the content {} of the parameter `{}` is not supported", all.join(", "), self.name);
            return Err(ImportProblem::new(&place, message));
        };
        Ok((place.at(media_type).at("schema"), value.get("schema"), how))
    }

    /// The form of a value of `media_type`; `None` if there is none.
    fn content_kind(&self, media_type: &str, value: &'d Value) -> Option<ParameterContent<'d>> {
        match media_type::media_essence(media_type) {
            it if it == "application/x-www-form-urlencoded" => {
                (self.location == ParameterLocation::QueryString).then_some(ParameterContent::Form(value))
            }
            it if it == "*/*" => Some(ParameterContent::Schema),
            it if media_type::is_json(&it) => Some(ParameterContent::Json),
            it => media_type::is_text(&it).then_some(ParameterContent::Text),
        }
    }

    fn declared_style(&self) -> Result<ParameterStyle, ImportProblem> {
        let default = match self.location {
            ParameterLocation::Path | ParameterLocation::Header => "simple",
            ParameterLocation::Query | ParameterLocation::Cookie | ParameterLocation::QueryString => "form",
        };
        let style = self.value.get("style").and_then(Value::as_str).unwrap_or(default);
        ParameterStyle::of_name(style, self.location).ok_or_else(|| {
            let location = self.location.name();
            ImportProblem::new(
                &self.place.at("style"),
                format!("the style `{style}` does not exist for parameters in {location}"),
            )
        })
    }

    fn is_exploded(&self) -> bool {
        let style = self.value.get("style").and_then(Value::as_str);
        let is_form = match self.location {
            ParameterLocation::Query | ParameterLocation::Cookie | ParameterLocation::QueryString => {
                style.is_none_or(|it| it == "form" || it == "cookie")
            }
            ParameterLocation::Path | ParameterLocation::Header => false,
        };
        self.value.get("explode").and_then(Value::as_bool).unwrap_or(is_form)
    }
}

/// Adds the description of a parameter to its schema.
pub(super) fn add_description(schema: &mut Value, description: Option<&str>) {
    if let (Value::Object(schema), Some(description)) = (schema, description) {
        schema.insert("description".to_owned(), Value::from(description));
    }
}
