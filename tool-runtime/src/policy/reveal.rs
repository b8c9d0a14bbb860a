//! Text from elsewhere, as a person may see it: nothing in it is hidden, steers a terminal or fills the screen.
//!
//! One decision for all that is shown of tools and models. Standard Rust says what can be printed; the table below
//! holds what it prints although it has no width, and is compared with Unicode's own data by a test.

/// How many blanks in a row are kept in a line.
const BLANKS: usize = 16;
/// How many are kept in a text of several lines, in which they may be an indentation or a table.
const BLANKS_IN_LINES: usize = 100;
/// How many blank lines in a row are kept.
const BLANK_LINES: usize = 5;
/// How many combining marks are kept on a character; more of them cover the lines around it.
const MARKS: usize = 4;
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
/// use tool_runtime::Reveal;
///
/// assert_eq!(Reveal::LINE.text("pay\u{200b} Bob\n\u{1b}[8m"), r"pay\u{200b} Bob\n\u{1b}[8m");
/// assert_eq!(Reveal::LINE.text(&format!("no{}yes", " ".repeat(500))), "no[500 blanks]yes");
/// assert_eq!(Reveal::LINE.at_most(5).text("abcdefgh"), "abcde… [3 more characters]");
/// assert_eq!(Reveal::LINES.text("a\r\nb\tc\n"), "a\nb       c\n");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reveal {
    lines: bool,
    most: usize,
}

impl Reveal {
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
    /// use tool_runtime::Reveal;
    ///
    /// assert_eq!(Reveal::json("{\"a\": \"\u{9b}\u{e0041}é\"}\n"), "{\"a\": \"\\u009b\\udb40\\udc41é\"}\n");
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
    how: Reveal,
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
    fn new(how: Reveal, length: usize) -> Self {
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

/// Counts the marks on a character.
#[derive(Default)]
struct Marks {
    /// How many more there may be; none without a character that they stand on.
    room: usize,
}

impl Marks {
    /// Returns `true` if `character` may be written as it is, after those that were asked about before.
    fn shows(&mut self, character: char) -> bool {
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
enum Class {
    Seen,
    /// It is written over what stands before it.
    Mark,
    Unseen,
}

fn class(character: char) -> Class {
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
pub(super) fn is_invisible(character: char) -> bool {
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

#[cfg(test)]
#[allow(clippy::panic, reason = "a test may")]
mod tests {
    use proptest::prelude::*;
    use regex_syntax::hir::{Class as HirClass, HirKind};

    use super::{Reveal, is_invisible};

    fn is_of(property: &str) -> impl Fn(char) -> bool {
        let parsed = regex_syntax::parse(property).map(regex_syntax::hir::Hir::into_kind);
        let Ok(HirKind::Class(HirClass::Unicode(class))) = parsed else { panic!("{property}") };
        move |character| {
            let ranges = class.ranges();
            let after = ranges.partition_point(|range| range.start() <= character);
            after > 0 && character <= ranges[after - 1].end()
        }
    }

    #[test]
    fn what_is_invisible_is_what_unicode_says() {
        let unicode = is_of(r"[[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u{2800}\u{1d159}]--\p{PCM}]");
        for character in '\0'..=char::MAX {
            assert_eq!(is_invisible(character), unicode(character), "{}", character.escape_unicode());
        }
    }

    #[test]
    fn what_unicode_does_not_print_is_written_out() {
        let unseen = is_of(r"[[\p{C}\p{Z}\p{Bidi_Control}\p{Variation_Selector}]--[\p{PCM}\p{Cn} ]]");
        for character in ('\0'..=char::MAX).filter(|character| unseen(*character)) {
            let shown = Reveal::LINE.text(&format!("a{character}b"));
            assert!(shown.starts_with("a\\") && shown.is_ascii(), "{}", character.escape_unicode());
        }
    }

    #[test]
    fn words_of_all_scripts_stay_as_they_are() {
        for text in [
            "Zürich",
            "e\u{301}te\u{301}",
            "नमस्ते दुनिया",
            "שָׁלוֹם",
            "السَّلامُ",
            "ภาษาไทยที่ดี",
            "日本語 が",
            "🇳🇴 👍🏽 ✓ │",
            "C:\\a",
        ] {
            assert_eq!(Reveal::LINE.text(text), text);
        }
    }

    #[test]
    fn marks_without_a_base_or_without_end_are_written_out() {
        assert_eq!(Reveal::LINE.text("\u{338}a"), "\\u{338}a");
        assert_eq!(Reveal::LINE.text("a \u{338}"), "a \\u{338}");
        let flood = format!("a{}", "\u{301}".repeat(6));
        assert_eq!(Reveal::LINE.text(&flood), format!("a{}\\u{{301}}\\u{{301}}", "\u{301}".repeat(4)));
    }

    #[test]
    fn a_mark_on_a_sign_is_written_out() {
        assert_eq!(Reveal::LINE.text("!\u{338}"), "!\\u{338}");
        assert_eq!(Reveal::LINE.text("✓\u{338}"), "✓\u{338}");
        assert_eq!(Reveal::LINE.text("a\u{200b}\u{301}"), "a\\u{200b}\\u{301}");
    }

    #[test]
    fn ends_of_lines_are_written_out_in_one_line_and_a_return_alone_in_all() {
        assert_eq!(Reveal::LINE.text("a\r\nb\tc"), r"a\r\nb\tc");
        assert_eq!(Reveal::LINES.text("a\r\nb\rc\r"), "a\nb\\rc\\r");
        for (text, shown) in [("\n", r"\n"), ("\r", r"\r"), ("\t", r"\t"), ("\u{7}", r"\u{7}")] {
            assert_eq!(Reveal::LINE.at_most(shown.len()).text(text), shown);
            let left_out = "… [1 more characters]";
            assert_eq!(Reveal::LINE.at_most(shown.len() - 1).text(text), left_out);
        }
    }

    #[test]
    fn json_stays_equal_and_is_printable() {
        let text = "{\"a\": \"\u{9b}\u{e0041}é\u{202e}\"}\n";
        let shown = Reveal::json(text);
        assert_eq!(shown, "{\"a\": \"\\u009b\\udb40\\udc41é\\u202e\"}\n");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        assert_eq!(value(&shown), value(text));
    }

    #[test]
    fn what_is_left_out_is_counted_with_its_blanks_and_ends_of_lines() {
        let shown = |most: usize, text: &str| Reveal::LINES.at_most(most).text(text);
        assert_eq!(shown(5, "abcdefgh"), "abcde… [3 more characters]");
        assert_eq!(shown(3, "ab\n\ncdef"), "ab… [6 more characters]");
        assert_eq!(shown(3, "ab  cdef"), "ab… [6 more characters]");
        assert_eq!(shown(3, "ab  \ncd"), "ab… [5 more characters]");
        assert_eq!(shown(1, "a"), "a");
        assert_eq!(shown(0, "a"), "… [1 more characters]");
    }

    #[test]
    fn tabs_end_at_stops_and_blanks_at_the_end_of_a_line_stay() {
        assert_eq!(Reveal::LINES.text("\ta\tb"), "        a       b");
        assert_eq!(Reveal::LINES.text("abcdefgh\ti\n\tj"), "abcdefgh        i\n        j");
        assert_eq!(Reveal::LINES.text("a  \nb"), "a  \nb");
        assert_eq!(Reveal::LINES.text("a\n\tj\tk"), "a\n        j       k");
    }

    #[test]
    fn a_character_is_seen_that_takes_room_and_changes_nothing() {
        for (character, is_seen) in
            [('a', true), ('界', true), ('\u{200b}', false), ('\u{301}', false), ('\n', false)]
        {
            assert_eq!(Reveal::is_seen(character), is_seen, "{character:?}");
        }
    }

    #[test]
    fn runs_of_blanks_are_counted() {
        let text = format!("a{}b\n{}c{}", " ".repeat(101), " \n".repeat(30), "\n".repeat(50));
        assert_eq!(Reveal::LINES.text(&text), "a[101 blanks]b\n[30 blank lines]\nc\n[49 blank lines]\n");
        assert_eq!(Reveal::LINES.text("\n\n  a\n\nb\n"), "\n\n  a\n\nb\n");
        assert_eq!(Reveal::LINE.text(&" ".repeat(17)), "[17 blanks]");
        assert_eq!(
            Reveal::LINE.at_most(5).text(&format!("abc{}", " ".repeat(16))),
            "abc… [16 more characters]"
        );
    }

    proptest! {
        #[test]
        fn what_is_shown_holds_nothing_that_is_not_seen(
            parts in prop::collection::vec(prop_oneof![
                any::<String>(),
                any::<char>().prop_map(String::from),
                "[\u{0}-\u{9f}]{0,40}",
                "[\u{300}-\u{36f}\u{200b}-\u{206f}\u{fe00}-\u{fe0f}\u{e0000}-\u{e01ef}]{0,40}",
                "[ \t\r\n]{0,300}",
            ], 0..12),
            most in 0_usize..400,
        ) {
            let text = parts.concat();
            for how in [Reveal::LINE, Reveal::LINES] {
                let shown = how.at_most(most).text(&text);
                prop_assert!(shown.chars().count() <= most + 45, "{shown}");
                for shown in [shown, how.text(&text), Reveal::json(&text)] {
                    prop_assert!(shown.chars().all(|it| it == '\n' || !it.is_control() && !is_invisible(it)), "{shown:?}");
                }
                let whole = how.text(&text);
                prop_assert!(how == Reveal::LINES || !whole.contains('\n'));
                prop_assert_eq!(how.text(&whole), whole);
            }
        }

        #[test]
        fn json_stays_the_same_value(text in any::<String>()) {
            let json = serde_json::json!({ &text: [&text] }).to_string();
            let shown: serde_json::Value = serde_json::from_str(&Reveal::json(&json)).unwrap_or_default();
            prop_assert_eq!(shown.to_string(), json);
        }
    }
}
