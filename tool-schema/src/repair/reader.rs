//! The object itself: brackets, commas and colons.

use super::{
    RecoveredObject,
    ambiguity::Ambiguity,
    cursor::{Cursor, Gap},
    quoted::{self, StringRole},
    unquoted::{self, Word},
};

/// The nesting limit of `serde_json`: 127 levels.
const MAX_DEPTH: usize = 127;

/// Reads the object at `cursor`.
pub(super) fn read_object(cursor: &mut Cursor<'_>) -> Result<RecoveredObject, Ambiguity> {
    let out = String::with_capacity(cursor.rest().len());
    let mut reader =
        ObjectReader { cursor, out, open: Vec::new(), entries: 0, odd_closers: OddClosers::default() };
    reader.begin_container('{')?;
    while !reader.open.is_empty() {
        let gap = reader.cursor.skip_blanks();
        match reader.cursor.peek() {
            Some(next) => reader.read_step(next, gap)?,
            None => return reader.finish_cut_off_object(),
        }
    }
    reader.skip_surplus_closers()?;
    Ok(RecoveredObject { object: reader.out, cut_off: false })
}

struct ObjectReader<'c, 'a> {
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
    position: Position,
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

impl ObjectReader<'_, '_> {
    fn read_step(&mut self, next: char, gap: Gap) -> Result<(), Ambiguity> {
        if matches!(next, '}' | ']') {
            return self.end_container(next);
        }
        match self.open.last().map(|top| top.position) {
            Some(Position::AfterColon) if next == ',' => {
                Err(Ambiguity::new("a key without a value", self.cursor.at()))
            }
            Some(Position::AfterColon) => self.read_value(next, false),
            _ if next == ',' => self.read_comma(),
            _ if self.skip_ellipsis()? => Ok(()),
            _ => self.read_entry(next, gap),
        }
    }

    fn read_comma(&mut self) -> Result<(), Ambiguity> {
        if self.open.last().is_some_and(|top| top.has_comma) {
            return Err(Ambiguity::new("two commas in a row", self.cursor.at()));
        }
        self.cursor.take_char();
        let Some(top) = self.open.last_mut() else { return Ok(()) };
        top.has_comma = true;
        if top.is_list { self.refuse_path_read_as_comment() } else { Ok(()) }
    }

    fn read_entry(&mut self, next: char, gap: Gap) -> Result<(), Ambiguity> {
        let written = self.out.len();
        let Some(top) = self.open.last_mut() else { return Ok(()) };
        top.written = written;
        let lacks_comma = top.is_filled && !top.has_comma;
        if top.is_list {
            self.read_value(next, lacks_comma && gap != Gap::LineBreak)
        } else {
            self.read_key(next)
        }
    }

    fn read_key(&mut self, next: char) -> Result<(), Ambiguity> {
        self.write_separator();
        self.mark_position(Position::AfterColon);
        let at = self.cursor.at();
        let is_whole = if quoted::is_quote(next) {
            quoted::read_string(self.cursor, &mut self.out, StringRole::Key)?
        } else {
            unquoted::read_key(self.cursor, &mut self.out)
        };
        self.cursor.skip_blanks();
        if self.cursor.skip_if_next(":") && is_whole {
            self.out.push(':');
            return self.refuse_path_read_as_comment();
        }
        if self.cursor.is_at_end() { Ok(()) } else { Err(Ambiguity::new("a key without a colon", at)) }
    }

    /// `a: //server/share` would be lost as a comment, and so would an item of a list.
    fn refuse_path_read_as_comment(&mut self) -> Result<(), Ambiguity> {
        self.cursor.skip_while(|it| it == ' ');
        let path = self.cursor.rest().strip_prefix("//");
        if path.is_some_and(|it| it.starts_with(|it: char| !it.is_whitespace())) {
            return Err(Ambiguity::new("a value that may be a comment", self.cursor.at()));
        }
        Ok(())
    }

    /// Reads a value; `follows_value` is set if it follows another one on the same line, without a comma.
    fn read_value(&mut self, next: char, follows_value: bool) -> Result<(), Ambiguity> {
        if matches!(next, '{' | '[') {
            return self.begin_container(next);
        }
        let role = if self.is_in_list() { StringRole::Item } else { StringRole::Value };
        if quoted::is_quote(next) {
            self.write_item_separator();
            quoted::read_string(self.cursor, &mut self.out, role)?;
            self.mark_position(Position::Between);
            return Ok(());
        }
        match unquoted::read_value(self.cursor, follows_value)? {
            // The text ends here, and the entry is dropped.
            Word::Missing => {}
            Word::Written(value) => {
                self.write_item_separator();
                self.out.push_str(&value);
                self.mark_position(Position::Between);
            }
        }
        Ok(())
    }

    fn begin_container(&mut self, bracket: char) -> Result<(), Ambiguity> {
        if self.open.len() == MAX_DEPTH {
            return Err(Ambiguity::new("too many levels", self.cursor.at()));
        }
        self.write_item_separator();
        self.mark_position(Position::Between);
        self.cursor.take_char();
        self.out.push(bracket);
        let is_list = bracket == '[';
        let written = self.out.len();
        self.open.push(Container {
            is_list,
            position: Position::Between,
            is_filled: false,
            has_comma: false,
            written,
        });
        if is_list { self.refuse_path_read_as_comment() } else { Ok(()) }
    }

    /// Ends all containers up to the one of the closing bracket; without one the bracket is surplus.
    fn end_container(&mut self, closer: char) -> Result<(), Ambiguity> {
        if self.open.last().is_some_and(|top| top.position == Position::AfterColon) {
            return Err(Ambiguity::new("a key without a value", self.cursor.at()));
        }
        match self.open.iter().rposition(|it| it.is_list == (closer == ']')) {
            None => self.odd_closers.surplus = true,
            Some(own) => {
                self.odd_closers.missing |= own + 1 < self.open.len();
                self.close_containers_to_depth(own);
            }
        }
        self.refuse_ambiguous_closers()?;
        self.cursor.take_char();
        Ok(())
    }

    /// Skips surplus closing brackets after the object.
    fn skip_surplus_closers(&mut self) -> Result<(), Ambiguity> {
        let next = |ahead: &mut Cursor<'_>| (ahead.skip_blanks(), ahead.peek()).1;
        while let Some(closer @ ('}' | ']')) = self.cursor.look_ahead(next) {
            self.cursor.skip_blanks();
            self.end_container(closer)?;
        }
        Ok(())
    }

    fn refuse_ambiguous_closers(&mut self) -> Result<(), Ambiguity> {
        let OddClosers { missing, surplus, entries } = &mut self.odd_closers;
        if !*missing && !*surplus {
            return Ok(());
        }
        let before = *entries.get_or_insert(self.entries);
        if *missing && *surplus && before != self.entries {
            return Err(Ambiguity::new("a closing bracket of the wrong kind", self.cursor.at()));
        }
        Ok(())
    }

    /// Closes all open containers at the end of the text, and drops a key without a value.
    fn finish_cut_off_object(mut self) -> Result<RecoveredObject, Ambiguity> {
        if let Some(comment) = self.cursor.start_of_swallowing_comment() {
            return Err(Ambiguity::new("a comment that may contain the end of the object", comment));
        }
        if let Some(top) = self.open.last().filter(|top| top.position == Position::AfterColon) {
            self.out.truncate(top.written);
        }
        self.odd_closers.missing = true;
        self.refuse_ambiguous_closers()?;
        self.close_containers_to_depth(0);
        Ok(RecoveredObject { object: self.out, cut_off: true })
    }

    fn close_containers_to_depth(&mut self, depth: usize) {
        for container in self.open.drain(depth..).rev() {
            self.out.push(if container.is_list { ']' } else { '}' });
        }
    }

    /// Skips an ellipsis between entries, which carries no data.
    fn skip_ellipsis(&mut self) -> Result<bool, Ambiguity> {
        let at = self.cursor.at();
        if !self.cursor.skip_if_next("...") && !self.cursor.skip_if_next("…") {
            return Ok(false);
        }
        self.cursor.skip_blanks();
        match self.cursor.peek() {
            // The comma of the ellipsis, in addition to the one before it.
            Some(',') => {
                if let Some(top) = self.open.last_mut() {
                    top.has_comma = false;
                }
                self.read_comma().map(|()| true)
            }
            None | Some('}' | ']') => Ok(true),
            // As in `{...defaults}`.
            Some(_) => Err(Ambiguity::new("an ellipsis before something else", at)),
        }
    }

    fn is_in_list(&self) -> bool {
        self.open.last().is_some_and(|top| top.is_list)
    }

    /// Writes the comma before an item; before a key it is already written.
    fn write_item_separator(&mut self) {
        if self.is_in_list() {
            self.write_separator();
        }
    }

    fn write_separator(&mut self) {
        if self.open.last().is_some_and(|top| top.is_filled) {
            self.out.push(',');
        }
    }

    /// Records that an entry has reached `place`.
    fn mark_position(&mut self, position: Position) {
        self.entries += 1;
        if let Some(top) = self.open.last_mut() {
            top.position = position;
            top.is_filled = true;
            top.has_comma = false;
        }
    }
}
