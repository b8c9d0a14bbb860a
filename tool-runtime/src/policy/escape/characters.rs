//! Which characters are seen, which are marks on others, and which are not seen.
//!
//! Standard Rust says what can be printed; the table below holds what it prints although it has no width, and is
//! compared with Unicode's own data by a test.

/// How many combining marks are kept on a character; more of them cover the lines around it.
const MARKS: usize = 4;

/// Counts the marks on a character.
#[derive(Default)]
pub(super) struct Marks {
    /// How many more there may be; none without a character that they stand on.
    room: usize,
}

impl Marks {
    /// Returns `true` if `character` may be written as it is, after those that were asked about before.
    pub(super) fn shows(&mut self, character: char) -> bool {
        match class(character) {
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
    /// It is written over what stands before it.
    Mark,
    Unseen,
}

pub(super) fn class(character: char) -> Class {
    if (' '..='~').contains(&character) {
        return Class::Seen;
    }
    if is_invisible(character) {
        return Class::Unseen;
    }
    if character.escape_debug().len() == 1 {
        return Class::Seen;
    }
    // A mark is escaped only where nothing stands before it, and what cannot be printed everywhere.
    let text = String::from_iter(['a', character]);
    if text.escape_debug().count() == 2 { Class::Mark } else { Class::Unseen }
}

/// Returns `true` for what a person cannot see, and software reads: controls, format characters but those that are
/// seen, default-ignorable characters, and two that are drawn as nothing.
pub(crate) fn is_invisible(character: char) -> bool {
    let after = INVISIBLE.partition_point(|(first, _)| *first <= character);
    after.checked_sub(1).is_some_and(|at| character <= INVISIBLE[at].1)
}

/// First and last of each range, in order.
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
