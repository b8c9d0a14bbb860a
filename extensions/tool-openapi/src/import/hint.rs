//! Hints and warnings about an operation beyond its method and its visible text.

use reqwest::Method;
use serde_json::Value;
use tool_runtime::{ToolDefinition, definition::Metadata, policy::Escape};

use super::{ImportReport, found::FoundOperation};
use crate::request::{ParameterLocation, RequestParameter};

/// Headers by which servers replace the method of a request.
const METHOD_HEADERS: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];

/// Takes back the hints of the method if an argument may replace it.
pub(super) fn withdraw_overridable_method_hints(
    metadata: &mut Metadata,
    parameters: &[RequestParameter],
    found: &FoundOperation<'_>,
    tool: &str,
    report: &mut ImportReport,
) {
    let replaces = |it: &&RequestParameter| match it.location {
        ParameterLocation::Header => METHOD_HEADERS.contains(&&*it.name.to_ascii_lowercase()),
        ParameterLocation::Query => it.name.eq_ignore_ascii_case("_method"),
        ParameterLocation::Path | ParameterLocation::QueryString | ParameterLocation::Cookie => false,
    };
    let Some(parameter) = parameters.iter().find(replaces) else { return };
    (metadata.read_only, metadata.idempotent, metadata.destructive) = (Some(false), Some(false), None);
    let message = format!(
        "the parameter `{}` may replace the method, whose hints are not those of the tool",
        parameter.property
    );
    report.warn("method_override", tool, &found.place, message);
}

/// Adds the request to what pins compare: a document that changes may lead the same tool to another place. A base URL of the program
/// is no part of it.
pub(super) fn record_request_in_metadata(
    metadata: &mut Metadata,
    method: &Method,
    path: &str,
    server: Option<&str>,
) {
    metadata.custom.insert("request".to_owned(), Value::from(format!("{method} {path}")));
    if let Some(server) = server {
        metadata.custom.insert("server".to_owned(), Value::from(server));
    }
}

/// Warns of characters that a model reads, and a person does not see.
pub(super) fn warn_of_hidden_characters(
    definition: &ToolDefinition,
    is_in_schema: bool,
    found: &FoundOperation<'_>,
    report: &mut ImportReport,
) {
    let has_hidden_text = text_has_hidden_characters(definition.title())
        || text_has_hidden_characters(definition.description())
        || is_in_schema;
    if has_hidden_text {
        let message =
            "the title, the description or the parameters have characters that a person does not see";
        report.warn("hidden_text", definition.name().as_str(), &found.place, message);
    }
}

/// Returns `true` if a schema has characters that a person does not see.
pub(super) fn has_hidden_characters(value: &Value) -> bool {
    match value {
        Value::String(text) => text_has_hidden_characters(text),
        Value::Array(items) => items.iter().any(has_hidden_characters),
        Value::Object(members) => {
            members.iter().any(|(key, it)| text_has_hidden_characters(key) || has_hidden_characters(it))
        }
        _ => false,
    }
}

fn text_has_hidden_characters(text: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_graphic() || matches!(it, b' ' | b'\n' | b'\r' | b'\t');
    if text.bytes().all(is_plain) {
        return false;
    }
    // Long blanks are abbreviated, and are nothing hidden.
    text.split_whitespace().any(|word| Escape::LINES.text(word) != word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::has_hidden_characters;

    #[test]
    fn hidden_characters_are_found_in_names_and_texts_at_any_depth() {
        for (value, has_hidden_text) in [
            (json!("plain text,\n\r\t~"), false),
            (json!("größe 東京"), false),
            (json!(" ".repeat(500)), false),
            (json!(format!("é{}é", " ".repeat(500))), false),
            (json!("a\u{7}"), true),
            (json!("a\u{200b}b"), true),
            (json!("\u{202e}"), true),
            (json!({ "a": [1, null, { "b": "x\u{200b}" }] }), true),
            (json!({ "a": [{ "b\u{200b}": 1 }] }), true),
            (json!({ "a": [1, true, null] }), false),
        ] {
            assert_eq!(has_hidden_characters(&value), has_hidden_text, "{value}");
        }
    }
}
