//! `multipart/form-data` ([RFC 7578](https://www.rfc-editor.org/rfc/rfc7578)).
//!
//! Written by hand: `reqwest` escapes names in another way than browsers do, and its boundary is not compared with the content.

use std::{
    borrow::Cow,
    hash::{BuildHasher, RandomState},
};

use reqwest::header::HeaderValue;
use serde_json::value::RawValue;
use tool_runtime::ToolError;

use super::{
    file::FileSource,
    form::{self, FormField, FormFields},
    json::Members,
};

/// A part of a body.
#[derive(Debug, Default)]
pub(super) struct FormPart {
    name: String,
    file_name: Option<String>,
    media_type: Option<String>,
    headers: Vec<(Box<str>, Box<str>)>,
    content: Vec<u8>,
}

/// Returns the parts of a form: one for each property, or one for each item of a list.
pub(super) async fn form_parts(
    fields: &FormFields,
    value: &RawValue,
    files: FileSource<'_>,
) -> Result<Vec<FormPart>, ToolError> {
    let unfit = |problem: String| ToolError::bad_parameter(format!("the request body {problem}"));
    let unreadable = |error: serde_json::Error| unfit(format!("cannot be read: {error}"));
    if !value.get().starts_with('{') {
        return Err(unfit("is not an object, which a form is".to_owned()));
    }
    let members = Members::of(value.get()).map_err(unreadable)?;
    let mut parts = Vec::new();
    for (name, value) in members.iter().filter(|(_, it)| it.get() != "null") {
        let field = fields.get(name);
        let items: Vec<&RawValue> = match value.get().starts_with('[') && !is_json_field(field) {
            true => serde_json::from_str(value.get()).map_err(unreadable)?,
            false => vec![value],
        };
        for item in items.into_iter().filter(|it| it.get() != "null") {
            let part = match field.filter(|it| it.is_file) {
                Some(field) => file_part(field, item, files).await?,
                None => value_part(name, field, item).map_err(unfit)?,
            };
            parts.push(part);
        }
    }
    Ok(parts)
}

fn is_json_field(field: Option<&FormField>) -> bool {
    field.and_then(|it| it.media_type.as_deref()).is_some_and(crate::media_type::is_json)
}

async fn file_part(
    field: &FormField,
    value: &RawValue,
    files: FileSource<'_>,
) -> Result<FormPart, ToolError> {
    let place = format!("the property `{}` of the request body", field.name);
    let text =
        form::part_text(value).map_err(|problem| ToolError::bad_parameter(format!("{place} {problem}")))?;
    let file = files.decode_or_resolve_file(&text, &place).await?;
    let declared = field.media_type.as_deref().map(str::to_owned);
    let media_type = file.media_type.or(declared).unwrap_or_else(|| "application/octet-stream".to_owned());
    if HeaderValue::try_from(&media_type).is_err() {
        let message = format!("{place} has the media type `{}`, which is none", media_type.escape_debug());
        return Err(ToolError::bad_parameter(message));
    }
    Ok(FormPart {
        name: field.name.to_string(),
        // Without a file name, servers read a part as text.
        file_name: Some(file.name.unwrap_or_else(|| field.name.to_string())),
        media_type: Some(media_type),
        headers: field.headers.clone(),
        content: file.bytes,
    })
}

fn value_part(name: &str, field: Option<&FormField>, value: &RawValue) -> Result<FormPart, String> {
    let is_structured = value.get().starts_with(['{', '[']);
    let content = match is_json_field(field) {
        true => value.get().to_owned(),
        false => form::part_text(value)?,
    };
    let declared = field.and_then(|it| it.media_type.as_deref());
    Ok(FormPart {
        name: name.to_owned(),
        file_name: None,
        media_type: declared.or(is_structured.then_some("application/json")).map(str::to_owned),
        headers: field.map(|it| it.headers.clone()).unwrap_or_default(),
        content: content.into_bytes(),
    })
}

/// Returns the parts as a body, and its boundary.
pub(super) fn join_parts(parts: &[FormPart]) -> (String, Vec<u8>) {
    let boundary = text_absent_from_parts(parts, random_boundary);
    let mut body = Vec::new();
    for part in parts {
        let mut head =
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted_name(&part.name));
        if let Some(name) = &part.file_name {
            head.push_str(&format!("; filename=\"{}\"", quoted_name(name)));
        }
        if let Some(media_type) = &part.media_type {
            head.push_str(&format!("\r\nContent-Type: {media_type}"));
        }
        for (name, value) in &part.headers {
            head.push_str(&format!("\r\n{name}: {value}"));
        }
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(&part.content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (boundary, body)
}

/// Returns the first text that `make` gives and no part has.
fn text_absent_from_parts(parts: &[FormPart], mut make: impl FnMut() -> String) -> String {
    loop {
        let text = make();
        if !parts.iter().any(|part| contains_bytes(&part.content, text.as_bytes())) {
            return text;
        }
    }
}

/// Returns a boundary of 128 bits that the author of a part cannot guess: the keys of the hash are secret and random.
fn random_boundary() -> String {
    format!("{:016x}{:016x}", RandomState::new().hash_one(0), RandomState::new().hash_one(1))
}

fn contains_bytes(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|it| it == part)
}

/// Escapes what would end a quoted name, as browsers do
/// ([WHATWG](https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data)).
fn quoted_name(name: &str) -> Cow<'_, str> {
    if !name.contains(['"', '\r', '\n']) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A"))
}

#[cfg(test)]
mod tests {
    use super::{FormPart, contains_bytes, quoted_name, random_boundary, text_absent_from_parts};

    #[test]
    fn no_part_has_the_boundary() {
        let part = |content: &str| FormPart {
            name: String::new(),
            file_name: None,
            media_type: None,
            headers: Vec::new(),
            content: content.into(),
        };
        let mut boundaries = ["one", "two", "three"].into_iter();
        let next = || boundaries.next().unwrap_or_default().to_owned();
        assert_eq!(text_absent_from_parts(&[part("a"), part("--two"), part("someone")], next), "three");
    }

    #[test]
    fn a_boundary_is_new_each_time_and_names_cannot_end_their_quotes() {
        assert_ne!(random_boundary(), random_boundary());
        assert_eq!(random_boundary().len(), 32);
        assert!(contains_bytes(b"a--b", b"--") && !contains_bytes(b"ab", b"abc"));
        assert_eq!(quoted_name("a\"\r\nX: y"), "a%22%0D%0AX: y");
    }
}
