//! What tools and models say, for a terminal: it moves no cursor, sets no title, and hides nothing.

use std::borrow::Cow;

use tool_runtime::Sanitizer;

/// `text` without what steers a terminal, which is shown as an escape; colours stay where there are `colours`.
pub(crate) fn harmless(text: &str, colours: bool) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(steers) {
        return text.into();
    }
    let (mut shown, mut rest, mut is_coloured) = (String::with_capacity(text.len()), text, false);
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| steers(*c)) {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        match colour(rest).filter(|_| colours) {
            Some(sequence) => {
                is_coloured = !matches!(sequence, "\u{1b}[0m" | "\u{1b}[m");
                shown.push_str(sequence);
                rest = &rest[sequence.len()..];
            }
            None => {
                rest = &rest[c.len_utf8()..];
                // The end of a line, as Windows has it.
                if c != '\r' || !rest.starts_with('\n') {
                    shown.extend(c.escape_unicode());
                }
            }
        }
    }
    shown.push_str(rest);
    if is_coloured {
        shown.push_str("\u{1b}[0m");
    }
    shown.into()
}

/// The sequence that `text` starts with, where all that it does is to change colours.
fn colour(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then(|| &text[..end + 3])
}

/// `text` as a part of one line, with all that cannot be seen in it written out.
pub(crate) fn in_a_line(text: &str) -> String {
    Sanitizer::reveal(&text.replace(['\n', '\t', '\u{2028}', '\u{2029}'], " "))
}

#[cfg(test)]
mod tests {
    use super::{harmless, in_a_line};

    #[test]
    fn colours_stay_and_end_and_nothing_else_steers() {
        let text = "a\u{1b}[2J\u{1b}[1;31mred\r\nb\rc\u{9b}H\u{1b}]0;t\u{7}\td";
        let shown = "\\u{1b}[2J\u{1b}[1;31mred\nb\\u{d}c\\u{9b}H\\u{1b}]0;t\\u{7}\td";
        assert_eq!(harmless(text, true), format!("a{shown}\u{1b}[0m"));
        assert_eq!(harmless(text, false), format!("a{}", shown.replace('\u{1b}', "\\u{1b}")));
        assert_eq!(harmless("\u{1b}[31mred\u{1b}[0m\n", true), "\u{1b}[31mred\u{1b}[0m\n");
        assert_eq!(harmless("\u{1b}[31", true), "\\u{1b}[31");
    }

    #[test]
    fn a_line_is_one_and_reads_as_it_is_written() {
        let text = "a\nb\u{202e}c\u{1b}[31m\r\u{200b}\u{e0041}";
        assert_eq!(in_a_line(text), "a b\\u{202e}c\\u{1b}[31m\\u{d}\\u{200b}\\u{e0041}");
    }
}
