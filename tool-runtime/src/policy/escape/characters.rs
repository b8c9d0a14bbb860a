//! Visible characters, combining marks, and invisible characters.
//!
//! The standard library defines which characters are printable. The table below lists the characters that it prints
//! although they have no width; a test compares it with Unicode's data.

/// The maximum number of combining marks on a character; more would cover the neighbouring lines.
const MARKS: usize = 4;

/// Counts the marks on a character.
#[derive(Default)]
pub(super) struct CombiningMarks {
    /// The number of further marks allowed; 0 without a base.
    room: usize,
}

impl CombiningMarks {
    /// Returns `true` if `character` may be written unescaped after the characters of the previous calls.
    pub(super) fn may_show_next(&mut self, character: char) -> bool {
        match character_class(character) {
            Class::Seen => {
                self.room = if character.is_alphanumeric() || !character.is_ascii() { MARKS } else { 0 };
                true
            }
            Class::Mark if self.room > 0 => {
                self.room -= 1;
                true
            }
            Class::Mark | Class::Unseen => {
                self.room = 0;
                false
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Seen,
    /// A combining mark, which is drawn over the preceding character.
    Mark,
    Unseen,
}

pub(super) fn character_class(character: char) -> Class {
    if (' '..='~').contains(&character) {
        return Class::Seen;
    }
    if is_invisible(character) {
        return Class::Unseen;
    }
    if character.escape_debug().len() == 1 {
        return Class::Seen;
    }
    // `escape_debug` escapes a mark only at the beginning of a text, and other characters if they are not printable.
    let text = String::from_iter(['a', character]);
    if text.escape_debug().count() == 2 { Class::Mark } else { Class::Unseen }
}

/// Returns `true` for characters that software reads and a person cannot see: controls, format characters except
/// visible ones, default-ignorable characters, and two that are drawn as blanks.
pub(crate) fn is_invisible(character: char) -> bool {
    let after = INVISIBLE.partition_point(|(first, _)| *first <= character);
    after.checked_sub(1).is_some_and(|at| character <= INVISIBLE[at].1)
}

/// The first and last character of each range, in order.
const INVISIBLE: &[(char, char)] = &[
    ('\0', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];
