//! Words of tools and models among those of the command line.
//!
//! [`Reveal`] decides what of a text can be shown, and a [`Page`](crate::page::Page) applies it to all that it is given;
//! what is here bounds how much room a text takes.

use tool_runtime::Reveal;

/// How many characters of a name, a value or a message are shown within a line.
const IN_A_LINE: usize = 300;
/// How many of a message in several lines.
const IN_LINES: usize = 8000;
/// How many lines of such a message.
const LINES: usize = 60;

/// `text` as a part of one line, of a bounded length.
pub(crate) fn in_a_line(text: &str) -> String {
    Reveal::LINE.at_most(IN_A_LINE).text(text)
}

/// `text` in its lines, of a bounded number and length; those after the first are indented, so that none of them looks
/// like a line of the command line itself.
pub(crate) fn inset(text: &str) -> String {
    let shown = Reveal::LINES.at_most(IN_LINES).text(text.trim_end());
    let count = shown.lines().count();
    let mut lines: Vec<_> = shown.lines().take(LINES).collect();
    let more = format!("[{} more lines]", count.saturating_sub(LINES));
    if count > LINES {
        lines.push(&more);
    }
    lines.join("\n    ")
}

/// Returns `true` if `text` is shown as it is.
pub(crate) fn is_plain(text: &str) -> bool {
    Reveal::LINE.text(text) == text
}

#[cfg(test)]
mod tests {
    use super::{in_a_line, inset};

    #[test]
    fn a_text_takes_a_bounded_room() {
        assert_eq!(in_a_line("a\nb\u{202e}c\u{1b}[31m"), "a\\nb\\u{202e}c\\u{1b}[31m");
        assert_eq!(in_a_line(&"x".repeat(1000)), format!("{}… [700 more characters]", "x".repeat(300)));
        assert_eq!(inset("a\nerror: b\n\n"), "a\n    error: b");
        let many = inset(&"a\n".repeat(1000));
        assert!(many.ends_with("\n    a\n    [940 more lines]") && many.lines().count() == 61, "{many}");
    }
}
