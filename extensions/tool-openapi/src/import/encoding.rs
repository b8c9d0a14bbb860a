//! The encoding of the properties of a form.

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::{ImportReport, non_empty_text_member, operation::OperationReader};
use crate::{
    document::DocumentPlace,
    request::{FormField, ParameterLocation, ParameterStyle},
};

/// Reads the encoding objects of a form. A mistake in one is a warning, and its property is written by the default.
pub(super) fn read_field_encodings(
    reader: &OperationReader<'_>,
    place: &DocumentPlace,
    content: &Value,
    tool: &str,
    report: &mut ImportReport,
) -> Vec<FormField> {
    let place = place.at("encoding");
    let all = content.get("encoding").and_then(Value::as_object);
    let mut fields = Vec::new();
    for (name, encoding) in all.into_iter().flatten() {
        let place = place.at(name);
        let style = non_empty_text_member(encoding, "style");
        let explode = encoding.get("explode").and_then(Value::as_bool);
        let allow_reserved = encoding.get("allowReserved").and_then(Value::as_bool);
        let known = ParameterStyle::of_name(style.unwrap_or("form"), ParameterLocation::Query);
        if known.is_none() {
            let message = format!("the style `{}` does not exist for a form", style.unwrap_or_default());
            report.warn("encoding", tool, &place.at("style"), message);
        }
        let is_styled = style.is_some() || explode.is_some() || allow_reserved.is_some();
        let style = known.filter(|_| is_styled).map(|style| {
            (style, explode.unwrap_or(style == ParameterStyle::Form), allow_reserved.unwrap_or(false))
        });
        fields.push(FormField {
            name: name.as_str().into(),
            style,
            media_type: non_empty_text_member(encoding, "contentType")
                .and_then(first_concrete_media_type)
                .map(Into::into),
            is_file: non_empty_text_member(encoding, "contentType").is_some_and(are_file_media_types),
            headers: fixed_part_headers(reader, &place, encoding, tool, report),
        });
    }
    fields
}

/// The first media type of a list such as `image/png, image/*` that is no range.
fn first_concrete_media_type(list: &str) -> Option<&str> {
    let is_valid = |it: &&str| !it.contains('*') && it.contains('/') && HeaderValue::try_from(*it).is_ok();
    list.split(',').map(str::trim).find(is_valid)
}

/// Returns `true` if all media types of a list are of neither text nor JSON.
fn are_file_media_types(list: &str) -> bool {
    list.split(',')
        .map(str::trim)
        .all(|it| it.contains('/') && it != "*/*" && !crate::media_type::is_text(it))
}

/// The headers of a part that have one value: models give none.
fn fixed_part_headers(
    reader: &OperationReader<'_>,
    place: &DocumentPlace,
    encoding: &Value,
    tool: &str,
    report: &mut ImportReport,
) -> Vec<(Box<str>, Box<str>)> {
    let place = place.at("headers");
    let mut headers = Vec::new();
    for (name, header) in encoding.get("headers").and_then(Value::as_object).into_iter().flatten() {
        if ["content-type", "content-disposition"].contains(&&*name.to_ascii_lowercase()) {
            continue;
        }
        let place = place.at(name);
        let schema = match reader.documents.follow_references(place.clone(), header) {
            Ok((_, header)) => header.get("schema").unwrap_or(&Value::Null),
            Err(_) => &Value::Null,
        };
        let only = schema.get("enum").and_then(Value::as_array).filter(|it| it.len() == 1);
        let value = schema.get("const").or_else(|| schema.get("default")).or_else(|| only?.first());
        let value = value.map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
        match value {
            Some(value) if HeaderName::try_from(&**name).is_ok() && HeaderValue::try_from(&value).is_ok() => {
                headers.push((name.as_str().into(), value.into()));
            }
            _ => {
                let message = format!("the header `{name}` of a part has no fixed value, and is not sent");
                report.warn("encoding", tool, &place, message);
            }
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::{are_file_media_types, first_concrete_media_type};

    #[test]
    fn a_part_has_the_first_media_type_that_is_no_range() {
        for (list, first) in [
            ("image/png", Some("image/png")),
            ("image/*, image/png , text/plain", Some("image/png")),
            ("*/*", None),
            ("png, image/png", Some("image/png")),
            ("a/\u{7}b, c/d", Some("c/d")),
            ("png", None),
            ("", None),
        ] {
            assert_eq!(first_concrete_media_type(list), first, "{list}");
        }
    }

    #[test]
    fn a_file_has_media_types_of_neither_text_nor_json() {
        for (list, are_files) in [
            ("image/png", true),
            ("image/png, image/*", true),
            ("application/octet-stream", true),
            ("image/png, text/plain", false),
            ("application/json", false),
            ("*/*", false),
            ("png", false),
            ("", false),
        ] {
            assert_eq!(are_file_media_types(list), are_files, "{list}");
        }
    }
}
