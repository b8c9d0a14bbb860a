use std::{fmt, ops::Deref, slice, vec};

use serde::{Deserialize, Serialize};

use super::plan::words::{beginning, grouped};

/// The most characters of each part of a violation.
const LONGEST: usize = 200;

/// One thing that is wrong with a call's arguments.
///
/// Each part has at most 200 characters, whatever came: a longer pointer lacks its middle, and a
/// longer text its end, with a note of its length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Violation {
    /// The place: a JSON pointer into the arguments ([RFC 6901]), `""` for all of them.
    ///
    /// [RFC 6901]: https://www.rfc-editor.org/rfc/rfc6901
    pub pointer: String,
    /// What belongs there, in words for a model.
    pub expected: String,
    /// What came, as JSON, shortened; `nothing` where a property is missing.
    pub received: String,
}

impl Violation {
    /// At `pointer` something else was expected than what was received.
    pub fn new(pointer: impl Into<String>, expected: impl Into<String>, received: impl Into<String>) -> Self {
        Self {
            pointer: without_middle(pointer.into()),
            expected: without_end(expected.into()),
            received: without_end(received.into()),
        }
    }

    /// Hides what was received. Where one argument is a secret, this is done for all of them: under
    /// a misspelt name it would be a secret that nobody recognises.
    pub(crate) fn hide(&mut self) {
        self.received = "a value that is hidden".to_owned();
        // A decoder's words, in parentheses, repeat what it could not read.
        if let Some(at) = self.expected.find(" (") {
            self.expected.truncate(at);
        }
    }
}

/// A pointer of at most 200 characters: both of its ends say where it leads.
pub(super) fn without_middle(pointer: String) -> String {
    const END: usize = (LONGEST - 1) / 2;
    if beginning(&pointer, LONGEST).is_none() {
        return pointer;
    }
    let start = beginning(&pointer, END).unwrap_or_default();
    let end = pointer.char_indices().rev().nth(END - 1).and_then(|(at, _)| pointer.get(at..));
    format!("{start}…{}", end.unwrap_or_default())
}

/// A text of at most 200 characters, with the length of a longer one.
pub(super) fn without_end(text: String) -> String {
    if beginning(&text, LONGEST).is_none() {
        return text;
    }
    let note = format!("… ({} characters)", grouped(text.chars().count()));
    let room = LONGEST.saturating_sub(note.chars().count());
    format!("{}{note}", beginning(&text, room).unwrap_or_default())
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, expected, received } = self;
        let place = if pointer.is_empty() { "the arguments" } else { pointer };
        write!(f, "{place}: expected {expected}, got {received}")
    }
}

/// What is wrong with a call's arguments: a list of at most [`LISTED`](Self::LISTED) violations, the
/// first in the order of the arguments, and the [number of all](Self::total).
///
/// A model may send a list of a hundred thousand wrong items: the list of violations, and each text
/// that is made of it, stays short.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::schema::Plan;
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
    /// The most violations that are listed.
    pub const LISTED: usize = 20;

    /// The `first` of `total` violations, of which no more than [`LISTED`](Self::LISTED) are kept.
    #[must_use]
    pub fn new(mut first: Vec<Violation>, total: usize) -> Self {
        let total = total.max(first.len());
        first.truncate(Self::LISTED);
        Self { first, total }
    }

    /// The number of all violations, of which the first are listed. Of those that are not listed, two
    /// parts of a schema that refuse one value count twice.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.total
    }

    pub(crate) fn iter_mut(&mut self) -> slice::IterMut<'_, Violation> {
        self.first.iter_mut()
    }

    /// With `only` before the others, unless it is one of them.
    pub(crate) fn after(mut self, only: Violation) -> Self {
        if self.first.iter().all(|it| *it != only) {
            self.first.insert(0, only);
            self.first.truncate(Self::LISTED);
            self.total += 1;
        }
        self
    }

    /// As a list with a line for each, which begins with `\n- `, in at most about `room` bytes.
    pub(crate) fn lines(&self, room: usize) -> String {
        let mut text = String::new();
        let mut shown = 0;
        for violation in &self.first {
            let line = format!("\n- {violation}");
            if shown > 0 && text.len() + line.len() > room {
                break;
            }
            text.push_str(&line);
            shown += 1;
        }
        if let more @ 1.. = self.total - shown {
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

/// One after the other, and the number of those that are not listed.
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

/// Violations while they are found: the first twenty by their places in the document, and the number
/// of all. No text is made of any other.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Each with its place, by which they are sorted.
    first: Vec<(Vec<usize>, Violation)>,
    total: usize,
}

impl Findings {
    /// Adds the violation at the place that `order` sorts, unless it is there already.
    pub(super) fn add(&mut self, order: Vec<usize>, violation: impl FnOnce() -> Violation) {
        let is_full = self.first.len() >= Violations::LISTED;
        if is_full && self.first.last().is_some_and(|(last, _)| *last <= order) {
            self.total += 1;
            return;
        }
        let violation = violation();
        let place = self.first.partition_point(|(known, _)| *known <= order);
        // Two parts of a schema may say the same of a place.
        let here = self.first.iter().take(place).rev().take_while(|(known, _)| *known == order);
        if here.into_iter().any(|(_, known)| *known == violation) {
            return;
        }
        self.first.insert(place, (order, violation));
        self.first.truncate(Violations::LISTED);
        self.total += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The violation that stands at the same place as one of `self`, if there is one.
    fn at(&mut self, order: &[usize]) -> Option<&mut Violation> {
        self.first.iter_mut().find(|(known, _)| known == order).map(|(_, violation)| violation)
    }

    /// With numbers as they are `written` at their places, which are sorted: for some of them there was no
    /// value.
    pub(super) fn with_written(mut self, written: &[(Vec<usize>, &str)]) -> Self {
        for (order, violation) in &mut self.first {
            if let Ok(at) = written.binary_search_by(|(known, _)| known.cmp(order))
                && let Some((_, text)) = written.get(at)
            {
                violation.received = without_end((*text).to_owned());
            }
        }
        self
    }

    /// With those of numbers that are `too_large`: what was received there is what they say.
    pub(super) fn with_too_large(mut self, too_large: &Self) -> Self {
        let mut known = 0;
        for (order, large) in &too_large.first {
            match self.at(order) {
                // Nobody sent the number that stands for it.
                Some(violation) => {
                    violation.received.clone_from(&large.received);
                    known += 1;
                }
                None => self.first.push((order.clone(), large.clone())),
            }
        }
        self.total += too_large.total - known;
        self.sorted()
    }

    /// With those of names that are `repeated`: what else is wrong with one of the values need not be
    /// what is wrong with the other.
    pub(super) fn with_repeated(mut self, repeated: &Self) -> Self {
        let before = self.first.len();
        self.first.retain(|(order, _)| repeated.first.iter().all(|(known, _)| known != order));
        self.total = self.total - (before - self.first.len()) + repeated.total;
        self.first.extend_from_slice(&repeated.first);
        self.sorted()
    }

    /// The first of what the lists that were put together have; what is beyond the end of one of them
    /// comes after twenty others.
    fn sorted(mut self) -> Self {
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
