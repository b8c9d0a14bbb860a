//! Limits for text of tools and models in messages.
//!
//! [`Escape`] escapes characters, and a [`Page`](crate::page::Page) applies it to all text; this module limits the length.

use tool_runtime::policy::Escape;

/// The limit of a name, a value or a message within a line, in characters.
const MAX_LINE_CHARS: usize = 300;
/// The limit of a message in several lines, in characters.
const MAX_MESSAGE_CHARS: usize = 8000;
/// The limit of a message in several lines, in lines.
const MAX_MESSAGE_LINES: usize = 60;

/// Escapes and shortens `text` to a part of one line.
pub(crate) fn escaped_line(text: &str) -> String {
    Escape::LINE.at_most(MAX_LINE_CHARS).text(text)
}

/// Escapes and shortens `text` with its line breaks. Lines after the first are indented, so that none of them looks like
/// a message of the command line itself.
pub(crate) fn escaped_and_indented(text: &str) -> String {
    let shown = Escape::LINES.at_most(MAX_MESSAGE_CHARS).text(text.trim_end());
    let count = shown.lines().count();
    let mut lines: Vec<_> = shown.lines().take(MAX_MESSAGE_LINES).collect();
    let more = format!("[{} more lines]", count.saturating_sub(MAX_MESSAGE_LINES));
    if count > MAX_MESSAGE_LINES {
        lines.push(&more);
    }
    lines.join("\n    ")
}

/// Returns `true` if `text` is shown unchanged.
pub(crate) fn is_shown_unchanged(text: &str) -> bool {
    Escape::LINE.text(text) == text
}

#[cfg(test)]
mod tests {
    use super::{escaped_and_indented, escaped_line, is_shown_unchanged};

    #[test]
    fn long_texts_are_shortened() {
        assert_eq!(escaped_line("a\nb\u{202e}c\u{1b}[31m"), "a\\nb\\u{202e}c\\u{1b}[31m");
        assert_eq!(escaped_line(&"x".repeat(1000)), format!("{}… [700 more characters]", "x".repeat(300)));
        assert_eq!(escaped_and_indented("a\nerror: b\n\n"), "a\n    error: b");
        let many = escaped_and_indented(&"a\n".repeat(1000));
        assert!(many.ends_with("\n    a\n    [940 more lines]") && many.lines().count() == 61, "{many}");
    }

    #[test]
    fn a_message_has_at_most_60_lines() {
        let lines = |count: usize| escaped_and_indented(&vec!["a"; count].join("\n"));
        assert_eq!(lines(60), vec!["a"; 60].join("\n    "));
        assert_eq!(lines(61), vec!["a"; 60].join("\n    ") + "\n    [1 more lines]");
        assert_eq!(
            (is_shown_unchanged("a b"), is_shown_unchanged("a\u{7}"), is_shown_unchanged("a\n")),
            (true, false, false)
        );
    }
}
