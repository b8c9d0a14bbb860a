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
