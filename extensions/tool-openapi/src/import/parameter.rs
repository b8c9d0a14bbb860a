//! Parameters of operations.

use serde_json::{Value, json};

use super::{
    Problem, Report, body, encoding,
    operation::{Found, Property, Reading},
    schema::Components,
    text,
};
use crate::{
    document::Place,
    request::{Fields, In, Parameter, Style},
};

/// A parameter in its document.
pub(super) struct Declared<'d> {
    name: &'d str,
    location: In,
    place: Place,
    value: &'d Value,
}

/// The form in which the value of a parameter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content<'d> {
    /// By its style.
    Schema,
    Json,
    Text,
    /// A query as a whole, by the encodings of its content.
    Form(&'d Value),
}

/// Headers that belong to other parts of a request ([OpenAPI 3.1, section
/// 4.8.12.1](https://spec.openapis.org/oas/v3.1.1.html#parameter-object)).
const NOT_PARAMETERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// Headers that only the client sets.
const NOT_ALLOWED: [&str; 6] = ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te"];

/// Returns the parameters of an operation and of its path, of which those of the operation take precedence.
pub(super) fn all<'d>(
    reading: &Reading<'d>,
    found: &Found<'d>,
    tool: &str,
    report: &mut Report,
) -> Result<Vec<Declared<'d>>, Problem> {
    let mut all: Vec<Declared<'d>> = Vec::new();
    let lists = [(&found.item_place, found.item), (&found.place, found.value)];
    for (place, owner) in lists {
        let place = place.at("parameters");
        let Some(list) = owner.get("parameters") else { continue };
        let Some(list) = list.as_array() else {
            return Err(Problem::new(&place, "`parameters` is not a list"));
        };
        for (at, value) in list.iter().enumerate() {
            let place = place.at(&at.to_string());
            let resolved = reading.documents.resolved(place.clone(), value);
            let (target, value) = resolved.map_err(|it| Problem::new(&place, it.to_string()))?;
            let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
            let location = match value.get("in").and_then(Value::as_str) {
                Some("path") => In::Path,
                Some("query") => In::Query,
                Some("header") => In::Header,
                Some("cookie") => In::Cookie,
                Some("querystring") => In::QueryString,
                other => {
                    let other = other.unwrap_or("none");
                    return Err(Problem::new(
                        &place,
                        format!("the location `{other}` of the parameter `{name}` is unknown"),
                    ));
                }
            };
            if name.is_empty() {
                return Err(Problem::new(&place, "a parameter has no name"));
            }
            let lower = name.to_ascii_lowercase();
            if location == In::Header && NOT_PARAMETERS.contains(&&*lower) {
                let message = format!("the header `{name}` is not a parameter, and is ignored");
                report.note("ignored_header", tool, &place, message);
                continue;
            }
            if location == In::Header && NOT_ALLOWED.contains(&&*lower) {
                return Err(Problem::new(&place, format!("the header `{name}` is set by the client only")));
            }
            let declared = Declared { name, location, place: target, value };
            match all.iter_mut().find(|it| it.name == name && it.location == location) {
                Some(shared) => *shared = declared,
                None => all.push(declared),
            }
        }
    }
    Ok(all)
}

/// Gives each parameter its property. Names that clash, also with the body, get their location as a suffix.
pub(super) fn named<'d>(
    reading: &Reading<'d>,
    declared: Vec<Declared<'d>>,
    has_body: bool,
    components: &mut Components<'d>,
    tool: &str,
    report: &mut Report,
) -> Result<(Vec<Parameter>, Vec<Property>), Problem> {
    let mut names: Vec<String> = Vec::with_capacity(declared.len());
    for (at, one) in declared.iter().enumerate() {
        let clashes = |(other, it): (usize, &Declared<'_>)| other != at && it.name == one.name;
        let is_body = has_body && one.name == body::PROPERTY;
        let mut name = match is_body || declared.iter().enumerate().any(clashes) {
            true => format!("{}__{}", one.name, one.location.name()),
            false => one.name.to_owned(),
        };
        // A parameter may be called like the suffixed form of another one.
        while names.contains(&name) || (name != one.name && declared.iter().any(|it| it.name == name)) {
            name.push('_');
        }
        names.push(name);
    }
    let mut parameters = Vec::with_capacity(declared.len());
    let mut properties = Vec::with_capacity(declared.len());
    for (name, one) in names.into_iter().zip(declared) {
        let required = one.location == In::Path || one.value.get("required") == Some(&Value::Bool(true));
        let (place, schema, content) = one.schema()?;
        let mut schema = match schema {
            Some(schema) => components.translate(tool, &place, schema, report)?,
            None => json!({}),
        };
        describe(&mut schema, text(one.value, "description"));
        let parameter = Parameter {
            property: name.clone().into(),
            name: one.name.into(),
            location: one.location,
            style: one.style()?,
            explode: one.explode(),
            allow_reserved: one.value.get("allowReserved") == Some(&Value::Bool(true)),
            is_json: content == Content::Json,
            fields: match content {
                Content::Form(value) => {
                    Some(Fields(encoding::read(reading, &one.place, value, tool, report)))
                }
                Content::Schema | Content::Json | Content::Text => None,
            },
        };
        parameters.push(parameter);
        properties.push(Property { name, schema, required });
    }
    Ok((parameters, properties))
}

impl<'d> Declared<'d> {
    /// The schema of the parameter, and how its value is written.
    fn schema(&self) -> Result<(Place, Option<&'d Value>, Content<'d>), Problem> {
        if let Some(schema) = self.value.get("schema") {
            return Ok((self.place.at("schema"), Some(schema), Content::Schema));
        }
        let place = self.place.at("content");
        let content = self.value.get("content").and_then(Value::as_object);
        let Some((media_type, content)) = content.and_then(|it| it.iter().next()) else {
            return Ok((place, None, Content::Schema));
        };
        let form = "application/x-www-form-urlencoded";
        let how = match body::essence(media_type) {
            it if it == form && self.location == In::QueryString => Content::Form(content),
            it if body::is_json(&it) => Content::Json,
            it if it != form && body::is_text(&it) => Content::Text,
            _ => {
                let message =
                    format!("the content `{media_type}` of the parameter `{}` is not supported", self.name);
                return Err(Problem::new(&place.at(media_type), message));
            }
        };
        Ok((place.at(media_type).at("schema"), content.get("schema"), how))
    }

    fn style(&self) -> Result<Style, Problem> {
        let default = match self.location {
            In::Path | In::Header => "simple",
            In::Query | In::Cookie | In::QueryString => "form",
        };
        let style = self.value.get("style").and_then(Value::as_str).unwrap_or(default);
        Style::read(style, self.location).ok_or_else(|| {
            let location = self.location.name();
            Problem::new(
                &self.place.at("style"),
                format!("the style `{style}` does not exist for parameters in {location}"),
            )
        })
    }

    fn explode(&self) -> bool {
        let style = self.value.get("style").and_then(Value::as_str);
        let is_form = match self.location {
            In::Query | In::Cookie | In::QueryString => style.is_none_or(|it| it == "form" || it == "cookie"),
            In::Path | In::Header => false,
        };
        self.value.get("explode").and_then(Value::as_bool).unwrap_or(is_form)
    }
}

/// Adds the description of a parameter to its schema.
pub(super) fn describe(schema: &mut Value, description: Option<&str>) {
    if let (Value::Object(schema), Some(description)) = (schema, description) {
        schema.insert("description".to_owned(), Value::from(description));
    }
}
