//! Names of items, and the keys by which they are found.

use tool_runtime::ToolName;

/// The maximum length of a name.
const MAX_NAME_CHARS: usize = 64;

/// Returns `true` for an identifier: 1 to 64 letters, digits, `_` and `-`, of ASCII, the first no digit and no `-`.
pub(crate) fn is_name(text: &str) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    text.len() <= MAX_NAME_CHARS && text.as_bytes().first().is_some_and(is_first) && text.bytes().all(is_part)
}

/// Checks the name of an item; `kind` is what it is.
pub(crate) fn check_name(kind: &str, name: &str) -> Result<(), String> {
    match is_name(name) {
        true => Ok(()),
        false => {
            let shown = tool_runtime::policy::Escape::LINE.at_most(MAX_NAME_CHARS).text(name);
            Err(format!(
                "the name of the {kind}, `{shown}`, is no identifier; use 1 to {MAX_NAME_CHARS} letters, digits, `_` and `-`, the first a letter or `_`"
            ))
        }
    }
}

/// Returns the namespace of a server that reports `name`; `None` if it is blank. A name that is no identifier becomes one, with a hash of the name.
/// So does one with `__` or a last `_`, by which its tools could have the names of another namespace's tools for models: `a` with `b__c`, and
/// `a__b` with `c`.
pub(crate) fn namespace_of_server_name(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return None;
    }
    if is_name(name) && !name.contains("__") && !name.ends_with('_') {
        return Some(name.to_owned());
    }
    // The point makes the name one that is rewritten with a hash.
    let mut namespace = ToolName::from_foreign(&format!("{name}.")).as_str().to_owned();
    while namespace.contains("__") {
        namespace = namespace.replace("__", "_");
    }
    Some(namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_an_identifier() {
        for name in ["a", "_", "a-b_1", &"x".repeat(64)] {
            assert!(is_name(name), "{name}"); // U39
        }
        for text in ["", "1", "-a", "a b", "a.b", "ä", "a\n", &"x".repeat(65)] {
            assert!(!is_name(text), "{text}"); // U39
        }
        let error = check_name("prompt", "a\u{1b}[31m").err();
        let is_escaped =
            |error: &str| error.starts_with("the name of the prompt, `a") && !error.contains('\u{1b}');
        assert!(error.as_deref().is_some_and(is_escaped), "{error:?}");
    }

    #[test]
    fn the_name_of_a_server_becomes_an_identifier_that_no_tool_of_another_one_imitates() {
        for name in ["files", "my-server", "_a", "a_b", &"x".repeat(64)] {
            assert_eq!(namespace_of_server_name(name).as_deref(), Some(name)); // U10
        }
        let mut seen = std::collections::HashSet::new();
        for name in ["mcp-servers/everything", "a__b", "a_", "a b", "a.b", "1", "ä", "a: b", &"x".repeat(65)]
        {
            let namespace = namespace_of_server_name(name).unwrap_or_default();
            assert!(is_name(&namespace) && !namespace.contains("__"), "{name}: {namespace}"); // U10
            assert!(!namespace.ends_with('_') && seen.insert(namespace.clone()), "{name}: {namespace}");
        }
        for blank in ["", " ", "\n"] {
            assert_eq!(namespace_of_server_name(blank), None); // U10
        }
    }
}
