use std::{fmt, ops::Deref, slice, vec};

use serde::{Deserialize, Serialize};

use super::plan::messages::{beginning, grouped};

/// The received value of a missing property. Others are JSON, whose texts have quotes.
pub(crate) const NOTHING: &str = "nothing";

/// The maximum number of characters of each part of a violation.
const MAX_PART_CHARS: usize = 200;

/// A violation of the input schema by a call's arguments.
///
/// Each part has at most 200 characters: a longer pointer is truncated in the middle, and a longer text at its end
/// with a note of its length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Violation {
    /// The location: a JSON pointer into the arguments ([RFC 6901]), `""` for the whole arguments.
    ///
    /// [RFC 6901]: https://www.rfc-editor.org/rfc/rfc6901
    pub pointer: String,
    /// A description of the expected value, for a model.
    pub expected: String,
    /// The received value as truncated JSON; `nothing` for a missing property.
    pub received: String,
}

impl Violation {
    /// Creates the violation at `pointer`.
    pub fn new(pointer: impl Into<String>, expected: impl Into<String>, received: impl Into<String>) -> Self {
        Self {
            pointer: shorten_in_middle(pointer.into()),
            expected: shorten_at_end(expected.into()),
            received: shorten_at_end(received.into()),
        }
    }

    /// Redacts the received value, if there is one. If one argument is a secret, all of them are redacted: a secret under
    /// a misspelt name would not be recognised.
    #[doc(hidden)]
    pub fn hide(&mut self) {
        if self.received != NOTHING {
            self.received = "a value that is hidden".to_owned();
        }
        // A decoder's message, in parentheses, repeats the value that it could not read.
        if let Some(at) = self.expected.find(" (") {
            self.expected.truncate(at);
        }
    }
}

/// Truncates a pointer to 200 characters in the middle, since both ends identify the location.
pub(super) fn shorten_in_middle(pointer: String) -> String {
    const END: usize = (MAX_PART_CHARS - 1) / 2;
    if beginning(&pointer, MAX_PART_CHARS).is_none() {
        return pointer;
    }
    let start = beginning(&pointer, END).unwrap_or_default();
    let end = pointer.char_indices().rev().nth(END - 1).and_then(|(at, _)| pointer.get(at..));
    format!("{start}…{}", end.unwrap_or_default())
}

/// Truncates a text to 200 characters and appends the length of a longer one.
pub(super) fn shorten_at_end(text: String) -> String {
    if beginning(&text, MAX_PART_CHARS).is_none() {
        return text;
    }
    let note = format!("… ({} characters)", grouped(text.chars().count()));
    let room = MAX_PART_CHARS.saturating_sub(note.chars().count());
    format!("{}{note}", beginning(&text, room).unwrap_or_default())
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, expected, received } = self;
        let location = if pointer.is_empty() { "the arguments" } else { pointer };
        let kind = if pointer.is_empty() && expected == "an object" { kind_prefix(received) } else { "" };
        write!(f, "{location}: expected {expected}, got {kind}{received}")
    }
}

/// The kind of whole arguments that are no object.
fn kind_prefix(received: &str) -> &'static str {
    match received.as_bytes() {
        [b'[', ..] => "the array ",
        [b'"', ..] => "the string ",
        [b'-' | b'0'..=b'9', ..] => "the number ",
        _ => "",
    }
}

/// The violations of the input schema by a call's arguments: at most [`LISTED`](Self::LISTED) of them, in the order
/// of the arguments, and their [total number](Self::total).
///
/// The list and all texts made from it stay short, even if a model sends a hundred thousand invalid items.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_schema::Plan;
///
/// let plan = Plan::compile(&json!({ "items": { "type": "integer" } })).unwrap();
/// let violations = plan.violations(&json!(vec!["x"; 30_000]));
/// assert_eq!((violations.len(), violations.total()), (20, 30_000));
/// assert!(violations.to_string().ends_with("; and 29,980 more"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Violations {
    first: Vec<Violation>,
    total: usize,
}

impl Violations {
    /// The maximum number of listed violations.
    pub const LISTED: usize = 20;

    /// Creates a list with the `first` of `total` violations; keeps at most [`LISTED`](Self::LISTED) of them.
    #[must_use]
    pub fn new(mut first: Vec<Violation>, total: usize) -> Self {
        let total = total.max(first.len());
        first.truncate(Self::LISTED);
        Self { first, total }
    }

    /// Returns the number of all violations, including those that are not listed. Of the latter, two subschemas that
    /// reject the same value count twice.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.total
    }

    #[doc(hidden)]
    pub fn iter_mut(&mut self) -> slice::IterMut<'_, Violation> {
        self.first.iter_mut()
    }

    /// Inserts `only` at the front unless the list contains it.
    pub(crate) fn insert_first_if_new(mut self, only: Violation) -> Self {
        if self.first.iter().all(|it| *it != only) {
            self.first.insert(0, only);
            self.first.truncate(Self::LISTED);
            self.total += 1;
        }
        self
    }

    /// Formats each violation on a line that begins with `\n- `, in at most about `room` bytes.
    #[doc(hidden)]
    #[must_use]
    pub fn lines(&self, room: usize) -> String {
        let mut text = String::new();
        let mut listed = 0;
        for violation in &self.first {
            let line = format!("\n- {violation}");
            if listed > 0 && text.len() + line.len() > room {
                break;
            }
            text.push_str(&line);
            listed += 1;
        }
        if let more @ 1.. = self.total - listed {
            text.push_str(&format!("\n- and {} more", grouped(more)));
        }
        text
    }
}

impl From<Vec<Violation>> for Violations {
    fn from(all: Vec<Violation>) -> Self {
        let total = all.len();
        Self::new(all, total)
    }
}

impl From<Violation> for Violations {
    fn from(only: Violation) -> Self {
        Self { first: vec![only], total: 1 }
    }
}

impl Deref for Violations {
    type Target = [Violation];

    fn deref(&self) -> &[Violation] {
        &self.first
    }
}

impl<'a> IntoIterator for &'a Violations {
    type Item = &'a Violation;
    type IntoIter = slice::Iter<'a, Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.iter()
    }
}

impl IntoIterator for Violations {
    type Item = Violation;
    type IntoIter = vec::IntoIter<Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter()
    }
}

/// Joins the listed violations and appends the number of the others.
impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, violation) in self.first.iter().enumerate() {
            write!(f, "{}{violation}", if at == 0 { "" } else { "; " })?;
        }
        match self.total - self.first.len() {
            0 => Ok(()),
            more => write!(f, "; and {} more", grouped(more)),
        }
    }
}

/// A collector of violations: the first twenty by their location in the document, and the total number. Texts are
/// created for these only.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The violations with their locations, by which they are sorted.
    first: Vec<(Vec<usize>, Violation)>,
    total: usize,
}

impl Findings {
    /// Adds a violation at the location `order`, unless an equal one is present.
    pub(super) fn add(&mut self, order: Vec<usize>, violation: impl FnOnce() -> Violation) {
        let is_full = self.first.len() >= Violations::LISTED;
        if is_full && self.first.last().is_some_and(|(last, _)| *last <= order) {
            self.total += 1;
            return;
        }
        let violation = violation();
        let position = self.first.partition_point(|(known, _)| *known <= order);
        // Two subschemas may report the same violation at one location.
        let here = self.first.iter().take(position).rev().take_while(|(known, _)| *known == order);
        if here.into_iter().any(|(_, known)| *known == violation) {
            return;
        }
        self.first.insert(position, (order, violation));
        self.first.truncate(Violations::LISTED);
        self.total += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Returns the violation at the location `order`, if there is one.
    fn violation_at(&mut self, order: &[usize]) -> Option<&mut Violation> {
        self.first.iter_mut().find(|(known, _)| known == order).map(|(_, violation)| violation)
    }

    /// Moves the violations to other locations, in the same order.
    pub(super) fn with_mapped_locations(mut self, origin: impl Fn(&mut [usize])) -> Self {
        for (order, _) in &mut self.first {
            origin(order);
        }
        self
    }

    /// Replaces the received numbers by their original spelling in `written`, which is sorted by location: some of
    /// them have no `Value`.
    pub(super) fn with_original_spellings(mut self, originals: &[(Vec<usize>, &str)]) -> Self {
        for (order, violation) in &mut self.first {
            if let Ok(at) = originals.binary_search_by(|(known, _)| known.cmp(order))
                && let Some((_, text)) = originals.get(at)
            {
                violation.received = shorten_at_end((*text).to_owned());
            }
        }
        self
    }

    /// Merges the violations of numbers that are `too_large`; their text replaces the received value.
    pub(super) fn with_too_large(mut self, too_large: &Self) -> Self {
        let mut known = 0;
        for (order, large) in &too_large.first {
            match self.violation_at(order) {
                // The substitute number was not part of the arguments.
                Some(violation) => {
                    violation.received.clone_from(&large.received);
                    known += 1;
                }
                None => self.first.push((order.clone(), large.clone())),
            }
        }
        self.total += too_large.total - known;
        self.sort_and_truncate()
    }

    /// Merges the violations of `repeated` names, which replace others at the same location: those may apply to only
    /// one of the values.
    pub(super) fn with_repeated(mut self, repeated: &Self) -> Self {
        let before = self.first.len();
        self.first.retain(|(order, _)| repeated.first.iter().all(|(known, _)| known != order));
        self.total = self.total - (before - self.first.len()) + repeated.total;
        self.first.extend_from_slice(&repeated.first);
        self.sort_and_truncate()
    }

    /// Sorts and truncates merged lists. Entries beyond the end of one list come after twenty others, so none is
    /// missing.
    fn sort_and_truncate(mut self) -> Self {
        self.first.sort_by(|left, right| left.0.cmp(&right.0));
        self.first.truncate(Violations::LISTED);
        self
    }
}

impl From<Findings> for Violations {
    fn from(findings: Findings) -> Self {
        let first = findings.first.into_iter().map(|(_, violation)| violation).collect();
        Self { first, total: findings.total }
    }
}

#[cfg(test)]
mod tests;
