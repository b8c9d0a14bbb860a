/// A position in a text, and the remaining steps.
///
/// The end of a string is found by looking ahead, again from each quote within it. The number of steps bounds
/// this for every text: when they are used up the text appears to end, so that every reader stops, and
/// [`is_exhausted`](Self::is_exhausted) marks the result as invalid.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    steps_left: usize,
    /// The start of a comment that extends to the end of the text and contains a closing bracket.
    swallowed: Option<usize>,
}

/// The blanks between two tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    None,
    Blank,
    LineBreak,
}

impl<'a> Cursor<'a> {
    /// Reading takes one step per character, and at most two more for each unescaped quote. More steps mean
    /// repeated look-ahead over the same comments.
    const STEPS_PER_BYTE: usize = 8;

    pub(super) fn new(text: &'a str) -> Self {
        let steps_left = text.len().saturating_add(1).saturating_mul(Self::STEPS_PER_BYTE);
        Self { text, at: 0, steps_left, swallowed: None }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.steps_left == 0
    }

    /// Returns the remaining text.
    pub(super) fn rest(&self) -> &'a str {
        if self.steps_left == 0 { "" } else { self.text.get(self.at..).unwrap_or("") }
    }

    /// Returns the text before `end`.
    pub(super) fn text_before(&self, end: usize) -> &'a str {
        self.text.get(..end).unwrap_or("")
    }

    /// Returns the text from `start` to the cursor.
    pub(super) fn text_since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns the start of a comment that may contain the end of the object: in a text of one line, a line
    /// comment extends to its end.
    pub(super) fn start_of_swallowing_comment(&self) -> Option<usize> {
        self.swallowed
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn take_char(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        self.steps_left -= 1;
        Some(next)
    }

    /// Skips `expected` if it comes next.
    pub(super) fn skip_if_next(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
            self.steps_left -= 1;
        }
        found
    }

    pub(super) fn skip_while(&mut self, mut skipped: impl FnMut(char) -> bool) {
        while self.peek().is_some_and(&mut skipped) {
            self.take_char();
        }
    }

    /// Skips blanks and comments.
    pub(super) fn skip_blanks(&mut self) -> Gap {
        let start = self.at;
        loop {
            self.skip_while(is_blank);
            let comment = self.at;
            if self.skip_if_next("/*") {
                while !self.skip_if_next("*/") && self.take_char().is_some() {}
            } else if self.is_at_comment() {
                self.skip_while(|it| it != '\n');
            } else {
                break;
            }
            if self.is_at_end() && self.text_since(comment).contains(['}', ']']) {
                self.swallowed.get_or_insert(comment);
            }
        }
        match self.text_since(start) {
            "" => Gap::None,
            skipped if skipped.contains('\n') => Gap::LineBreak,
            _ => Gap::Blank,
        }
    }

    /// Returns `true` if a comment comes next. `#` alone starts none: `#fff` is a color.
    pub(super) fn is_at_comment(&self) -> bool {
        let rest = self.rest();
        rest.starts_with("//")
            || rest.starts_with("/*")
            || rest.strip_prefix('#').is_some_and(|it| it.chars().next().is_none_or(is_blank))
    }

    /// Evaluates `question` on the text ahead, without moving.
    pub(super) fn look_ahead<T>(&mut self, question: impl FnOnce(&mut Self) -> T) -> T {
        let (start, swallowed) = (self.at, self.swallowed);
        let answer = question(self);
        (self.at, self.swallowed) = (start, swallowed);
        answer
    }
}

/// White space of any script, and zero-width marks that editors insert.
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}')
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    #[test]
    fn eight_steps_are_taken_for_each_byte_of_a_text_and_its_end() {
        let mut cursor = Cursor::new("abcdef");
        let mut steps = 0;
        while !cursor.is_exhausted() {
            assert_eq!((cursor.peek(), cursor.rest(), cursor.is_at_end()), (Some('a'), "abcdef", false));
            // A text that is not next takes no step, and one that is next takes one step, like a character.
            assert!(!cursor.skip_if_next("b"));
            let taken = match steps % 2 {
                0 => cursor.look_ahead(|ahead| ahead.take_char() == Some('a') && ahead.at() == 1),
                _ => cursor.look_ahead(|ahead| ahead.skip_if_next("abc") && ahead.at() == 3),
            };
            assert!(taken, "{steps}");
            steps += 1;
        }
        assert_eq!((steps, cursor.at()), (8 * 7, 0));
        // Without steps, the text ends here.
        assert_eq!(
            (cursor.peek(), cursor.rest(), cursor.is_at_end(), cursor.take_char()),
            (None, "", true, None)
        );
        assert!(!cursor.skip_if_next("a"));
    }
}
