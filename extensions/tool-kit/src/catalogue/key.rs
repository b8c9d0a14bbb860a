//! The keys by which items are found.

use tool_runtime::{ToolError, policy::Escape};

use super::BUILTIN;
use crate::resource::ResourceUri;

/// The characters of a key that an error shows.
const MAX_SHOWN_CHARS: usize = 100;

/// Returns the key of an item of a namespace: `ns.name` or `uri#ns`, and without a namespace for those of the program.
pub(super) fn item_key(namespace: &str, name: &str, is_uri: bool) -> String {
    match (namespace, is_uri) {
        (BUILTIN, _) => name.to_owned(),
        (_, true) => format!("{name}#{namespace}"),
        (_, false) => format!("{namespace}.{name}"),
    }
}

/// Returns the spelling of a key by which the item is listed: without `builtin`, and with the one spelling of equal URIs.
pub(super) fn canonical_key(text: &str) -> Result<String, ToolError> {
    if let Some(name) = text.strip_prefix(BUILTIN).and_then(|rest| rest.strip_prefix('.')) {
        return check_name(text, name).map(|()| name.to_owned());
    }
    let (address, namespace) = match text.rsplit_once('#') {
        Some((address, namespace)) if crate::names::is_name(namespace) => (address, Some(namespace)),
        _ => (text, None),
    };
    match (ResourceUri::parse(address), namespace) {
        (Ok(uri), None | Some(BUILTIN)) => Ok(uri.normalized().to_owned()),
        (Ok(uri), Some(namespace)) => Ok(item_key(namespace, uri.normalized(), true)),
        (Err(_), _) => check_name(text, text).map(|()| text.to_owned()),
    }
}

fn check_name(key: &str, name: &str) -> Result<(), ToolError> {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    if !name.is_empty() && name.chars().all(is_part) && !name.starts_with('.') && !name.ends_with('.') {
        return Ok(());
    }
    Err(ToolError::bad_parameter(format!(
        "`{}` is no key of an item; use `name`, `namespace.name`, a URI, or `uri#namespace`",
        shown_key(key)
    )))
}

/// Returns a key as an error shows it.
pub(super) fn shown_key(key: &str) -> String {
    Escape::LINE.at_most(MAX_SHOWN_CHARS).text(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_one_spelling_and_malformed_ones_are_refused() {
        for (text, expected) in [
            ("search", "search"),
            ("library.search", "library.search"),
            ("builtin.search", "search"),
            ("notes://Today", "notes://today"),
            ("HTTP://Example.com:80/a/../b#builtin", "http://example.com/b"),
            ("HTTP://Example.com/b#library", "http://example.com/b#library"),
            ("text:notes#a b", "text:notes#a b"),
        ] {
            let found = canonical_key(text);
            assert_eq!(found.as_deref().ok(), Some(expected).filter(|it| !it.contains(' ')), "{text}"); // U17
        }
        for text in ["", "a b", ".a", "a.", "a/b", "builtin.", "builtin.a b", "#a", "a\u{1b}"] {
            let error = canonical_key(text).map_err(|error| error.to_string());
            assert!(error.as_ref().is_err_and(|it| it.contains("is no key of an item")), "{text}: {error:?}"); // U17
            assert!(!error.unwrap_or_else(|it| it).contains('\u{1b}'));
        }
    }
}
