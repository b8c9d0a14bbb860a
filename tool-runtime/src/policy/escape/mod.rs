//! Escaping of external text for display: nothing in it is hidden, controls a terminal, or fills the screen.
//!
//! All texts of tools and models that are shown to a person pass through [`Escape`].

mod characters;
#[cfg(test)]
mod tests;

pub(crate) use self::characters::is_invisible;
use self::characters::{Class, CombiningMarks, character_class};

/// The maximum number of consecutive blanks in a single line.
const BLANKS: usize = 16;
/// The maximum number of consecutive blanks in a text of several lines, where they may be an indentation or a table.
const BLANKS_IN_LINES: usize = 100;
/// The maximum number of consecutive blank lines.
const BLANK_LINES: usize = 5;
/// The distance of tab stops.
const TAB: usize = 8;

/// Escapes external text for display to a person: tool names, descriptions, arguments, results, errors.
///
/// Escaped as in `\u{202e}` are control characters, escape sequences, characters without width (including the
/// zero-width joiners and variation selectors of emoji), characters that change the direction of text, blanks other
/// than the space, private-use and unassigned characters, and combining marks without a base or beyond 4 on one base.
/// More than 16 consecutive blanks (100 in a text of several lines), and more than 5 consecutive blank lines, are
/// replaced by their number. The output is printable and has no other effect on a terminal.
///
/// # Examples
///
/// ```
/// use tool_runtime::policy::Escape;
///
/// assert_eq!(Escape::LINE.text("pay\u{200b} Bob\n\u{1b}[8m"), r"pay\u{200b} Bob\n\u{1b}[8m");
/// assert_eq!(Escape::LINE.text(&format!("no{}yes", " ".repeat(500))), "no[500 blanks]yes");
/// assert_eq!(Escape::LINE.at_most(5).text("abcdefgh"), "abcde… [3 more characters]");
/// assert_eq!(Escape::LINES.text("a\r\nb\tc\n"), "a\nb       c\n");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Escape {
    lines: bool,
    most: usize,
}

impl Escape {
    /// Escapes a text as one line: line breaks and tabs are escaped, too.
    pub const LINE: Self = Self { lines: false, most: usize::MAX };

    /// Escapes a text of several lines: `\n` and `\r\n` remain line breaks, and tabs become blanks.
    pub const LINES: Self = Self { lines: true, most: usize::MAX };

    /// Sets the maximum number of characters; the number of omitted characters follows a truncated text. Default: no
    /// limit.
    #[must_use]
    pub const fn at_most(self, characters: usize) -> Self {
        Self { most: characters, ..self }
    }

    /// Returns the escaped `text`.
    #[must_use]
    pub fn text(self, text: &str) -> String {
        let mut shown = EscapedText::new(self, text.len());
        let mut rest = text.chars();
        loop {
            let before = rest.clone();
            let Some(character) = rest.next() else { break };
            // The first character of a Windows line break is not escaped.
            let is_return = character == '\r' && self.lines && rest.clone().next() == Some('\n');
            if !is_return && !shown.add_character(character) {
                shown.append_omission_note(before.count());
                return shown.text;
            }
        }
        if !shown.flush_pending() {
            shown.append_omission_note(0);
        }
        shown.text
    }

    /// Returns JSON text in which all characters that [`text`](Self::text) escapes are JSON escapes. Its value is
    /// unchanged, and it can be written to a terminal.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::policy::Escape;
    ///
    /// assert_eq!(Escape::json("{\"a\": \"\u{9b}\u{e0041}é\"}\n"), "{\"a\": \"\\u009b\\udb40\\udc41é\"}\n");
    /// ```
    #[must_use]
    pub fn json(text: &str) -> String {
        let (mut json, mut marks) = (String::with_capacity(text.len()), CombiningMarks::default());
        for character in text.chars() {
            if character == '\n' || marks.may_show_next(character) {
                json.push(character);
            } else {
                for unit in String::from(character).encode_utf16() {
                    json.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        json
    }

    /// Returns `true` if `character` is visible as itself: it has a width, and does not affect its neighbours.
    #[must_use]
    pub fn is_seen(character: char) -> bool {
        character_class(character) == Class::Seen
    }
}

/// The output so far.
struct EscapedText {
    how: Escape,
    text: String,
    /// The number of characters of the output.
    length: usize,
    /// The column of the next character.
    column: usize,
    /// Pending line breaks, followed by pending blanks; they are written with the next character.
    ends: usize,
    blanks: usize,
    marks: CombiningMarks,
}

impl EscapedText {
    fn new(how: Escape, length: usize) -> Self {
        let text = String::with_capacity(length.min(how.most));
        Self { how, text, length: 0, column: 0, ends: 0, blanks: 0, marks: CombiningMarks::default() }
    }

    /// Adds one character; returns `false` if the limit is reached.
    fn add_character(&mut self, character: char) -> bool {
        let lines = self.how.lines;
        match character {
            ' ' => self.blanks += 1,
            '\t' if lines => self.blanks += TAB - (self.column + self.blanks) % TAB,
            '\n' if lines => {
                // Blanks in an otherwise empty line are part of the blank line.
                if self.column > 0 && !self.flush_blanks() {
                    return false;
                }
                (self.ends, self.blanks, self.column) = (self.ends + 1, 0, 0);
            }
            _ => {
                return self.flush_line_ends()
                    && self.flush_blanks()
                    && self.push_shown_or_escaped(character);
            }
        }
        self.marks = CombiningMarks::default();
        true
    }

    fn push_shown_or_escaped(&mut self, character: char) -> bool {
        if self.marks.may_show_next(character) {
            return self.push_within_limit(1, |text| text.push(character));
        }
        match character {
            '\n' => self.push_within_limit(2, |text| text.push_str("\\n")),
            '\r' => self.push_within_limit(2, |text| text.push_str("\\r")),
            '\t' => self.push_within_limit(2, |text| text.push_str("\\t")),
            other => self
                .push_within_limit(other.escape_unicode().len(), |text| text.extend(other.escape_unicode())),
        }
    }

    fn flush_line_ends(&mut self) -> bool {
        let ends = self.ends;
        if ends == 0 {
            return true;
        }
        let has_text = usize::from(!self.text.is_empty());
        let blank = ends.saturating_sub(has_text);
        let written = if blank <= BLANK_LINES {
            self.push_within_limit(ends, |text| text.extend(std::iter::repeat_n('\n', ends)))
        } else {
            let note = format!("{}[{blank} blank lines]\n", if has_text == 1 { "\n" } else { "" });
            self.push_within_limit(note.len(), |text| text.push_str(&note))
        };
        if written {
            (self.ends, self.column) = (0, 0);
        }
        written
    }

    fn flush_blanks(&mut self) -> bool {
        let blanks = self.blanks;
        let written = if blanks <= if self.how.lines { BLANKS_IN_LINES } else { BLANKS } {
            self.push_within_limit(blanks, |text| text.extend(std::iter::repeat_n(' ', blanks)))
        } else {
            let note = format!("[{blanks} blanks]");
            self.push_within_limit(note.len(), |text| text.push_str(&note))
        };
        if written {
            self.blanks = 0;
        }
        written
    }

    fn push_within_limit(&mut self, length: usize, write: impl FnOnce(&mut String)) -> bool {
        if length > self.how.most.saturating_sub(self.length) {
            return false;
        }
        self.length += length;
        self.column += length;
        write(&mut self.text);
        true
    }

    fn flush_pending(&mut self) -> bool {
        self.flush_line_ends() && self.flush_blanks()
    }

    fn append_omission_note(&mut self, count: usize) {
        let count = count + self.ends + self.blanks;
        self.text.push_str(&format!("… [{count} more characters]"));
    }
}
