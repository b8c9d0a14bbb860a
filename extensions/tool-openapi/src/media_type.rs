//! Media types.

use std::borrow::Cow;

/// The media type without its parameters, in small letters.
pub(crate) fn media_essence(media_type: &str) -> Cow<'_, str> {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    match essence.bytes().any(|it| it.is_ascii_uppercase()) {
        true => Cow::Owned(essence.to_ascii_lowercase()),
        false => Cow::Borrowed(essence),
    }
}

/// Returns `true` for `application/json` and types with the suffix `+json`.
pub(crate) fn is_json(media_type: &str) -> bool {
    is_json_essence(&media_essence(media_type))
}

/// The same, for an [`media_essence`].
pub(crate) fn is_json_essence(essence: &str) -> bool {
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// Returns `true` for XML, which is carried as text.
pub(crate) fn is_xml(essence: &str) -> bool {
    essence == "application/xml" || essence == "text/xml" || essence.ends_with("+xml")
}

/// Returns `true` for media types of text.
pub(crate) fn is_text(media_type: &str) -> bool {
    is_text_essence(&media_essence(media_type))
}

/// The same, for an [`media_essence`].
pub(crate) fn is_text_essence(essence: &str) -> bool {
    const SUFFIXES: [&str; 10] = [
        "javascript",
        "ecmascript",
        "graphql",
        "yaml",
        "toml",
        "sql",
        "ndjson",
        "jsonl",
        "csv",
        "urlencoded",
    ];
    let last = || essence.rsplit(['/', '.', '-', '+']).next().unwrap_or_default();
    is_json_essence(essence)
        || essence.starts_with("text/")
        || is_xml(essence)
        || (essence.starts_with("application/") && SUFFIXES.contains(&last()))
}

#[cfg(test)]
mod tests {
    use super::{is_json, is_text, is_xml, media_essence};

    #[test]
    fn media_types_are_json_xml_text_or_bytes() {
        for (media_type, json, xml, text) in [
            ("application/json", true, false, true),
            ("Application/JSON; charset=utf-8", true, false, true),
            ("text/json", true, false, true),
            ("application/problem+json", true, false, true),
            ("application/xml", false, true, true),
            ("text/xml", false, true, true),
            ("image/svg+xml", false, true, true),
            ("text/plain", false, false, true),
            ("application/x-yaml", false, false, true),
            ("application/vnd.api.csv", false, false, true),
            ("application/javascript", false, false, true),
            ("application/x-www-form-urlencoded", false, false, true),
            ("application/octet-stream", false, false, false),
            ("application/jsonx", false, false, false),
            ("image/yaml", false, false, false),
            ("image/png", false, false, false),
            ("", false, false, false),
        ] {
            assert_eq!((is_json(media_type), is_text(media_type)), (json, text), "{media_type}");
            assert_eq!(is_xml(&media_essence(media_type)), xml, "{media_type}");
        }
        assert_eq!(media_essence(" Text/HTML ; a=B"), "text/html");
    }
}
