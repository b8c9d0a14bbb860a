//! Names of items, and the keys by which they are found.

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
}
