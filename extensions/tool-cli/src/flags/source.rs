//! The sources of a secret, which a flag takes in place of its value.

/// The sources of a secret, for messages and help.
pub(crate) const SECRET_SOURCES: &str = "env:NAME, @FILE, or - to enter it";

/// Returns `true` if `text` names a source of a secret.
pub(crate) fn is_secret_source(text: &str) -> bool {
    text == "-"
        || [text.strip_prefix('@'), text.strip_prefix("env:")].iter().flatten().any(|it| !it.is_empty())
}
