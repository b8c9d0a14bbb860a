//! The object itself: brackets, commas and colons.

use super::{
    Reading,
    ambiguity::Doubt,
    cursor::{Cursor, Gap},
    quoted::{self, Role},
    unquoted::{self, Word},
};

/// The nesting limit of `serde_json`: 127 levels.
const DEEPEST: usize = 127;

/// Reads the object at `cursor`.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Reading, Doubt> {
    let out = String::with_capacity(cursor.rest().len());
    let mut reader = Reader { cursor, out, open: Vec::new(), entries: 0, odd_closers: OddClosers::default() };
    reader.begin('{')?;
    while !reader.open.is_empty() {
        let gap = reader.cursor.skip_blanks();
        match reader.cursor.peek() {
            Some(next) => reader.step(next, gap)?,
            None => return reader.cut_off(),
        }
    }
    reader.skip_closers()?;
    Ok(Reading { object: reader.out, cut_off: false })
}

struct Reader<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    out: String,
    open: Vec<Container>,
    /// The number of keys and values so far.
    entries: usize,
    odd_closers: OddClosers,
}

/// Missing and surplus closing brackets.
///
/// One of each is a closing bracket of the wrong kind. An entry between the two belongs to one of two
/// containers, which is ambiguous.
#[derive(Default)]
struct OddClosers {
    missing: bool,
    surplus: bool,
    /// The number of entries before the first of them.
    entries: Option<usize>,
}

/// An open object or list.
struct Container {
    is_list: bool,
    place: Position,
    /// Set if it has an entry.
    is_filled: bool,
    /// Set if a comma precedes the next token.
    has_comma: bool,
    /// The length of the output before its latest entry.
    written: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Before an entry, or after the last one.
    Between,
    /// After a colon.
    AfterColon,
}

impl Reader<'_, '_> {
    fn step(&mut self, next: char, gap: Gap) -> Result<(), Doubt> {
        if matches!(next, '}' | ']') {
            return self.end(next);
        }
        match self.open.last().map(|top| top.place) {
            Some(Position::AfterColon) if next == ',' => {
                Err(Doubt::new("a key without a value", self.cursor.at()))
            }
            Some(Position::AfterColon) => self.value(next, false),
            _ if next == ',' => self.comma(),
            _ if self.skip_ellipsis()? => Ok(()),
            _ => self.entry(next, gap),
        }
    }

    fn comma(&mut self) -> Result<(), Doubt> {
        if self.open.last().is_some_and(|top| top.has_comma) {
            return Err(Doubt::new("two commas in a row", self.cursor.at()));
        }
        self.cursor.bump();
        let Some(top) = self.open.last_mut() else { return Ok(()) };
        top.has_comma = true;
        if top.is_list { self.no_path_follows() } else { Ok(()) }
    }

    fn entry(&mut self, next: char, gap: Gap) -> Result<(), Doubt> {
        let written = self.out.len();
        let Some(top) = self.open.last_mut() else { return Ok(()) };
        top.written = written;
        let lacks_comma = top.is_filled && !top.has_comma;
        if top.is_list { self.value(next, lacks_comma && gap != Gap::LineBreak) } else { self.key(next) }
    }

    fn key(&mut self, next: char) -> Result<(), Doubt> {
        self.separate();
        self.mark(Position::AfterColon);
        let at = self.cursor.at();
        let is_whole = if quoted::is_quote(next) {
            quoted::read(self.cursor, &mut self.out, Role::Key)?
        } else {
            unquoted::key(self.cursor, &mut self.out)
        };
        self.cursor.skip_blanks();
        if self.cursor.eat(":") && is_whole {
            self.out.push(':');
            return self.no_path_follows();
        }
        if self.cursor.at_end() { Ok(()) } else { Err(Doubt::new("a key without a colon", at)) }
    }

    /// `a: //server/share` would be lost as a comment, and so would an item of a list.
    fn no_path_follows(&mut self) -> Result<(), Doubt> {
        self.cursor.skip_while(|it| it == ' ');
        let path = self.cursor.rest().strip_prefix("//");
        if path.is_some_and(|it| it.starts_with(|it: char| !it.is_whitespace())) {
            return Err(Doubt::new("a value that may be a comment", self.cursor.at()));
        }
        Ok(())
    }

    /// Reads a value; `beside` is set if it follows another one on the same line, without a comma.
    fn value(&mut self, next: char, beside: bool) -> Result<(), Doubt> {
        if matches!(next, '{' | '[') {
            return self.begin(next);
        }
        let role = if self.is_in_list() { Role::Item } else { Role::Value };
        if quoted::is_quote(next) {
            self.separate_item();
            quoted::read(self.cursor, &mut self.out, role)?;
            self.mark(Position::Between);
            return Ok(());
        }
        match unquoted::value(self.cursor, beside)? {
            // The text ends here, and the entry is dropped.
            Word::Missing => {}
            Word::Written(value) => {
                self.separate_item();
                self.out.push_str(&value);
                self.mark(Position::Between);
            }
        }
        Ok(())
    }

    fn begin(&mut self, bracket: char) -> Result<(), Doubt> {
        if self.open.len() == DEEPEST {
            return Err(Doubt::new("too many levels", self.cursor.at()));
        }
        self.separate_item();
        self.mark(Position::Between);
        self.cursor.bump();
        self.out.push(bracket);
        let is_list = bracket == '[';
        let written = self.out.len();
        self.open.push(Container {
            is_list,
            place: Position::Between,
            is_filled: false,
            has_comma: false,
            written,
        });
        if is_list { self.no_path_follows() } else { Ok(()) }
    }

    /// Ends all containers up to the one of the closing bracket; without one the bracket is surplus.
    fn end(&mut self, closer: char) -> Result<(), Doubt> {
        if self.open.last().is_some_and(|top| top.place == Position::AfterColon) {
            return Err(Doubt::new("a key without a value", self.cursor.at()));
        }
        match self.open.iter().rposition(|it| it.is_list == (closer == ']')) {
            None => self.odd_closers.surplus = true,
            Some(own) => {
                self.odd_closers.missing |= own + 1 < self.open.len();
                self.close_down_to(own);
            }
        }
        self.weigh_closers()?;
        self.cursor.bump();
        Ok(())
    }

    /// Skips surplus closing brackets after the object.
    fn skip_closers(&mut self) -> Result<(), Doubt> {
        let next = |ahead: &mut Cursor<'_>| (ahead.skip_blanks(), ahead.peek()).1;
        while let Some(closer @ ('}' | ']')) = self.cursor.ahead(next) {
            self.cursor.skip_blanks();
            self.end(closer)?;
        }
        Ok(())
    }

    fn weigh_closers(&mut self) -> Result<(), Doubt> {
        let OddClosers { missing, surplus, entries } = &mut self.odd_closers;
        if !*missing && !*surplus {
            return Ok(());
        }
        let before = *entries.get_or_insert(self.entries);
        if *missing && *surplus && before != self.entries {
            return Err(Doubt::new("a closing bracket of the wrong kind", self.cursor.at()));
        }
        Ok(())
    }

    /// Closes all open containers at the end of the text, and drops a key without a value.
    fn cut_off(mut self) -> Result<Reading, Doubt> {
        if let Some(comment) = self.cursor.swallowed() {
            return Err(Doubt::new("a comment that may contain the end of the object", comment));
        }
        if let Some(top) = self.open.last().filter(|top| top.place == Position::AfterColon) {
            self.out.truncate(top.written);
        }
        self.odd_closers.missing = true;
        self.weigh_closers()?;
        self.close_down_to(0);
        Ok(Reading { object: self.out, cut_off: true })
    }

    fn close_down_to(&mut self, depth: usize) {
        for container in self.open.drain(depth..).rev() {
            self.out.push(if container.is_list { ']' } else { '}' });
        }
    }

    /// Skips an ellipsis between entries, which carries no data.
    fn skip_ellipsis(&mut self) -> Result<bool, Doubt> {
        let at = self.cursor.at();
        if !self.cursor.eat("...") && !self.cursor.eat("…") {
            return Ok(false);
        }
        self.cursor.skip_blanks();
        match self.cursor.peek() {
            // The comma of the ellipsis, in addition to the one before it.
            Some(',') => {
                if let Some(top) = self.open.last_mut() {
                    top.has_comma = false;
                }
                self.comma().map(|()| true)
            }
            None | Some('}' | ']') => Ok(true),
            // As in `{...defaults}`.
            Some(_) => Err(Doubt::new("an ellipsis before something else", at)),
        }
    }

    fn is_in_list(&self) -> bool {
        self.open.last().is_some_and(|top| top.is_list)
    }

    /// Writes the comma before an item; before a key it is already written.
    fn separate_item(&mut self) {
        if self.is_in_list() {
            self.separate();
        }
    }

    fn separate(&mut self) {
        if self.open.last().is_some_and(|top| top.is_filled) {
            self.out.push(',');
        }
    }

    /// Records that an entry has reached `place`.
    fn mark(&mut self, place: Position) {
        self.entries += 1;
        if let Some(top) = self.open.last_mut() {
            top.place = place;
            top.is_filled = true;
            top.has_comma = false;
        }
    }
}
