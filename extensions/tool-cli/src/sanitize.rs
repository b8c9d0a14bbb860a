//! Limits for text of tools and models in messages.
//!
//! [`Escape`] escapes characters, and a [`Page`](crate::page::Page) applies it to all text; this module limits the length.

use tool_runtime::policy::Escape;

/// The limit of a name, a value or a message within a line, in characters.
const IN_A_LINE: usize = 300;
/// The limit of a message in several lines, in characters.
const IN_LINES: usize = 8000;
/// The limit of a message in several lines, in lines.
const LINES: usize = 60;

/// Escapes and shortens `text` to a part of one line.
pub(crate) fn in_a_line(text: &str) -> String {
    Escape::LINE.at_most(IN_A_LINE).text(text)
}

/// Escapes and shortens `text` with its line breaks. Lines after the first are indented, so that none of them looks like
/// a message of the command line itself.
pub(crate) fn inset(text: &str) -> String {
    let shown = Escape::LINES.at_most(IN_LINES).text(text.trim_end());
    let count = shown.lines().count();
    let mut lines: Vec<_> = shown.lines().take(LINES).collect();
    let more = format!("[{} more lines]", count.saturating_sub(LINES));
    if count > LINES {
        lines.push(&more);
    }
    lines.join("\n    ")
}

/// Returns `true` if `text` is shown unchanged.
pub(crate) fn is_plain(text: &str) -> bool {
    Escape::LINE.text(text) == text
}

#[cfg(test)]
mod tests {
    use super::{in_a_line, inset};

    #[test]
    fn long_texts_are_shortened() {
        assert_eq!(in_a_line("a\nb\u{202e}c\u{1b}[31m"), "a\\nb\\u{202e}c\\u{1b}[31m");
        assert_eq!(in_a_line(&"x".repeat(1000)), format!("{}… [700 more characters]", "x".repeat(300)));
        assert_eq!(inset("a\nerror: b\n\n"), "a\n    error: b");
        let many = inset(&"a\n".repeat(1000));
        assert!(many.ends_with("\n    a\n    [940 more lines]") && many.lines().count() == 61, "{many}");
    }
}
