//! Text from elsewhere, as a person may see it: nothing in it is hidden, steers a terminal or fills the screen.
//!
//! One decision for all that is shown of tools and models.

mod characters;
#[cfg(test)]
mod tests;

pub(crate) use self::characters::is_invisible;
use self::characters::{Class, Marks, class};

/// How many blanks in a row are kept in a line.
const BLANKS: usize = 16;
/// How many are kept in a text of several lines, in which they may be an indentation or a table.
const BLANKS_IN_LINES: usize = 100;
/// How many blank lines in a row are kept.
const BLANK_LINES: usize = 5;
/// The distance of tab stops.
const TAB: usize = 8;

/// Shows text from elsewhere to a person: tool names, descriptions, arguments, results, errors.
///
/// Control characters, escape sequences, characters without width (zero-width joiners and variation selectors of
/// emoji among them), characters that change the direction of text, blanks other than the space, private and
/// unassigned characters are written out, such as `\u{202e}`, and so are combining marks without a base, or with more
/// than 4 on one. More than 16 blanks in a row (100 in a text of several lines), and more than 5 blank lines, are
/// replaced by their number. What is written is printable and has no effect on a terminal but to be read.
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
    /// Shows a text as one line: ends of lines and tabs are written out.
    pub const LINE: Self = Self { lines: false, most: usize::MAX };

    /// Shows a text in its lines: `\n` and `\r\n` stay ends of lines, and tabs become blanks.
    pub const LINES: Self = Self { lines: true, most: usize::MAX };

    /// Sets how many characters are written; of a longer text, the number of those that were left out follows.
    /// Default: all of them.
    #[must_use]
    pub const fn at_most(self, characters: usize) -> Self {
        Self { most: characters, ..self }
    }

    /// Returns `text` as a person may see it.
    #[must_use]
    pub fn text(self, text: &str) -> String {
        let mut shown = Shown::new(self, text.len());
        let mut rest = text.chars();
        loop {
            let before = rest.clone();
            let Some(character) = rest.next() else { break };
            // Up to the end of a line of Windows.
            let is_return = character == '\r' && self.lines && rest.clone().next() == Some('\n');
            if !is_return && !shown.take(character) {
                shown.leave_out(before.count());
                return shown.text;
            }
        }
        if !shown.end() {
            shown.leave_out(0);
        }
        shown.text
    }

    /// Returns JSON text in which all that [`text`](Self::text) writes out is written as an escape of JSON: an equal
    /// value that can be written to a terminal.
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
        let (mut json, mut marks) = (String::with_capacity(text.len()), Marks::default());
        for character in text.chars() {
            if character == '\n' || marks.shows(character) {
                json.push(character);
            } else {
                for unit in String::from(character).encode_utf16() {
                    json.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        json
    }

    /// Returns `true` if `character` is seen as what it is: it takes room, and changes nothing around it.
    #[must_use]
    pub fn is_seen(character: char) -> bool {
        class(character) == Class::Seen
    }
}

/// What is written so far.
struct Shown {
    how: Escape,
    text: String,
    /// How many characters that is.
    length: usize,
    /// Where in its line the next character stands.
    column: usize,
    /// Ends of lines and, after them, blanks, which are written with the next character.
    ends: usize,
    blanks: usize,
    marks: Marks,
}

impl Shown {
    fn new(how: Escape, length: usize) -> Self {
        let text = String::with_capacity(length.min(how.most));
        Self { how, text, length: 0, column: 0, ends: 0, blanks: 0, marks: Marks::default() }
    }

    /// Takes one more character; `false` where there is no room for it.
    fn take(&mut self, character: char) -> bool {
        let lines = self.how.lines;
        match character {
            ' ' => self.blanks += 1,
            '\t' if lines => self.blanks += TAB - (self.column + self.blanks) % TAB,
            '\n' if lines => {
                // Blanks in a line of their own are a part of the blank line.
                if self.column > 0 && !self.write_blanks() {
                    return false;
                }
                (self.ends, self.blanks, self.column) = (self.ends + 1, 0, 0);
            }
            _ => return self.write_ends() && self.write_blanks() && self.write(character),
        }
        self.marks = Marks::default();
        true
    }

    fn write(&mut self, character: char) -> bool {
        if self.marks.shows(character) {
            return self.push(1, |text| text.push(character));
        }
        match character {
            '\n' => self.push(2, |text| text.push_str("\\n")),
            '\r' => self.push(2, |text| text.push_str("\\r")),
            '\t' => self.push(2, |text| text.push_str("\\t")),
            other => self.push(other.escape_unicode().len(), |text| text.extend(other.escape_unicode())),
        }
    }

    fn write_ends(&mut self) -> bool {
        let ends = self.ends;
        if ends == 0 {
            return true;
        }
        let has_text = usize::from(!self.text.is_empty());
        let blank = ends.saturating_sub(has_text);
        let written = if blank <= BLANK_LINES {
            self.push(ends, |text| text.extend(std::iter::repeat_n('\n', ends)))
        } else {
            let note = format!("{}[{blank} blank lines]\n", if has_text == 1 { "\n" } else { "" });
            self.push(note.len(), |text| text.push_str(&note))
        };
        if written {
            (self.ends, self.column) = (0, 0);
        }
        written
    }

    fn write_blanks(&mut self) -> bool {
        let blanks = self.blanks;
        let written = if blanks <= if self.how.lines { BLANKS_IN_LINES } else { BLANKS } {
            self.push(blanks, |text| text.extend(std::iter::repeat_n(' ', blanks)))
        } else {
            let note = format!("[{blanks} blanks]");
            self.push(note.len(), |text| text.push_str(&note))
        };
        if written {
            self.blanks = 0;
        }
        written
    }

    fn push(&mut self, length: usize, write: impl FnOnce(&mut String)) -> bool {
        if length > self.how.most.saturating_sub(self.length) {
            return false;
        }
        self.length += length;
        self.column += length;
        write(&mut self.text);
        true
    }

    fn end(&mut self) -> bool {
        self.write_ends() && self.write_blanks()
    }

    fn leave_out(&mut self, count: usize) {
        let count = count + self.ends + self.blanks;
        self.text.push_str(&format!("… [{count} more characters]"));
    }
}
