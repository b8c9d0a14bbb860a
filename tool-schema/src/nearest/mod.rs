//! Suggestions for misspelt names.
//!
//! Names are compared by letters and digits only, ignoring case, up to 64 of them. The distance is the number of
//! insertions, deletions, replacements and swaps of neighbours (optimal string alignment), computed bit-parallel with
//! one step per letter (Hyyrö 2003). Most names are ruled out first by the set of their letters, and a name with the
//! prefix of the previous one takes steps only for the rest. The number of steps is limited, so that the cost of a
//! search is linear in the number of names.

#[cfg(test)]
mod tests;

use std::char::ToLowercase;

/// The maximum number of compared letters.
const MAX_LETTERS: usize = 64;

/// Returns up to three of `names` that are close to `name`: a few edits away, or one contained in the other.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let names: Vec<_> = names.collect();
    let at = |position: usize| names.get(position).copied().unwrap_or_default();
    Names::new(names.iter().copied()).nearest(name, at)
}

/// Returns the closest of `known` if it is close enough for a suggestion.
pub fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<_> = known.collect();
    let at = |position: usize| names.get(position).copied().unwrap_or_default();
    Names::new(names.iter().copied()).closest(name, at)
}

/// An index of names for finding similar ones.
///
/// It does not store the names: a search requests them by position.
#[derive(Debug)]
pub struct Names {
    marks: Box<[IndexedName]>,
}

/// Properties of one name by which a search skips it or a part of it.
#[derive(Debug)]
struct IndexedName {
    /// The set of its letters.
    set: u64,
    /// The number of its letters.
    length: u8,
    /// The length of the prefix shared with the previous name, in letters.
    shared: u8,
    /// The byte offset after that prefix; `None` if it is unknown.
    resume: Option<u16>,
}

impl Names {
    /// Indexes `names`; searches are faster if similar names are neighbours.
    pub fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut last = ['\0'; MAX_LETTERS];
        let marks = names.map(|name| IndexedName::new(name, &mut last)).collect();
        Self { marks }
    }

    /// Returns up to three names that are close to `name`, closest first: at most three edits away, or one contained
    /// in the other. `at` returns the name at a position.
    pub fn nearest<'n>(&self, name: &str, at: impl Fn(usize) -> &'n str) -> Vec<&'n str> {
        let Some(mut search) = Search::new(name, self.marks.len()) else { return Vec::new() };
        // A third of the letters, so that short names do not all match.
        let far = search.query.letters.len().div_ceil(3).min(3);
        let mut close: Vec<(usize, &str)> = Vec::with_capacity(4);
        search.run(&self.marks, far, true, at, |distance, name| {
            let position = close.binary_search(&(distance, name)).unwrap_or_else(|position| position);
            close.insert(position, (distance, name));
            close.truncate(3);
            Some(far)
        });
        close.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns the name closest to `name`, the first of equals, if at most a third of the letters differ. `at`
    /// returns the name at a position.
    pub fn closest<'n>(&self, name: &str, at: impl Fn(usize) -> &'n str) -> Option<&'n str> {
        let mut search = Search::new(name, self.marks.len())?;
        let far = search.query.letters.len() / 3 + 1;
        let mut best: Option<&str> = None;
        search.run(&self.marks, far, false, at, |distance, name| {
            best = Some(name);
            // From here on, only closer names count.
            distance.checked_sub(1)
        });
        best
    }
}

impl IndexedName {
    /// Indexes `name`; `last` contains the letters of the previous name.
    fn new(name: &str, last: &mut [char; MAX_LETTERS]) -> Self {
        let mut mark = Self { set: 0, length: 0, shared: 0, resume: Some(0) };
        let mut letters = Letters::new(name);
        let mut is_shared = true;
        for slot in last.iter_mut() {
            let Some(letter) = letters.next() else { break };
            mark.set |= letter_bit(letter);
            mark.length += 1;
            is_shared &= *slot == letter;
            if is_shared {
                mark.shared += 1;
                mark.resume = letters.position().and_then(|at| u16::try_from(at).ok());
            }
            *slot = letter;
        }
        // The next name shares no letters beyond the end of this one.
        if let Some(end) = last.get_mut(usize::from(mark.length)) {
            *end = '\0';
        }
        mark
    }
}

/// Returns the bit of a letter. ASCII letters have one bit each; several other letters share one.
fn letter_bit(letter: char) -> u64 {
    1 << (u32::from(letter) % 39)
}

/// An iterator over the letters and digits of a name in lower case: `maxResults` equals `max_results`.
struct Letters<'n> {
    name: &'n str,
    /// The offset of the next byte.
    at: usize,
    lower: Option<ToLowercase>,
}

impl<'n> Letters<'n> {
    fn new(name: &'n str) -> Self {
        Self { name, at: 0, lower: None }
    }

    /// Returns the offset of the next byte; `None` inside a letter whose lower case has several letters.
    fn position(&self) -> Option<usize> {
        self.lower.is_none().then_some(self.at)
    }

    /// Returns the next letter outside ASCII.
    #[cold]
    fn next_wide(&mut self) -> Option<char> {
        if let Some(letter) = self.lower.as_mut().and_then(Iterator::next) {
            return Some(letter);
        }
        let next = self.name.get(self.at..)?.chars().next()?;
        self.at += next.len_utf8();
        self.lower = next.is_alphanumeric().then(|| next.to_lowercase());
        self.next()
    }
}

impl Iterator for Letters<'_> {
    type Item = char;

    #[inline]
    fn next(&mut self) -> Option<char> {
        if self.lower.is_some() {
            return self.next_wide();
        }
        loop {
            let byte = *self.name.as_bytes().get(self.at)?;
            match LOWER.get(usize::from(byte)) {
                Some(0) => self.at += 1,
                Some(letter) => {
                    self.at += 1;
                    return Some(char::from(*letter));
                }
                None => return self.next_wide(),
            }
        }
    }
}

/// ASCII letters and digits in lower case; zero for other ASCII bytes.
const LOWER: [u8; 128] = {
    let mut lower = [0; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            lower[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    lower
};

/// The name to search for.
struct Query {
    letters: Vec<char>,
    set: u64,
    /// The positions of each ASCII letter, one bit per position.
    ascii: [u64; 128],
}

impl Query {
    /// Returns the positions of `letter`.
    #[inline]
    fn letter_positions(&self, letter: char) -> u64 {
        match self.ascii.get(letter as usize) {
            Some(places) => *places,
            None => {
                let is_it = |(_, it): &(usize, &char)| **it == letter;
                self.letters.iter().enumerate().filter(is_it).fold(0, |places, (at, _)| places | 1 << at)
            }
        }
    }
}

/// A column of the distance table between the query and a prefix of a name, stored as differences between its cells.
#[derive(Clone, Copy, Default)]
struct Column {
    more: u64,
    less: u64,
    zero: u64,
    places: u64,
    /// The last cell: the distance.
    distance: usize,
}

impl Column {
    #[inline]
    fn next(self, places: u64, last: u64) -> Self {
        let swapped = ((!self.zero & places) << 1) & self.places;
        let zero = ((places & self.more).wrapping_add(self.more) ^ self.more) | places | self.less | swapped;
        let (more, less) = (self.less | !(zero | self.more), zero & self.more);
        let distance = self.distance + usize::from(more & last != 0) - usize::from(less & last != 0);
        let (more, less) = (more << 1 | 1, less << 1);
        Self { more: less | !(zero | more), less: more & zero, zero, places, distance }
    }
}

/// The state of one search.
struct Search {
    query: Query,
    /// The bit of the query's last letter.
    last: u64,
    /// The initial column and the columns of the letters below.
    columns: [Column; MAX_LETTERS + 1],
    letters: [char; MAX_LETTERS],
    /// The number of columns that are valid for the current name.
    valid: usize,
    steps: usize,
}

impl Search {
    /// Creates a search; `None` if the query has no letters.
    fn new(name: &str, names: usize) -> Option<Self> {
        let letters: Vec<_> = Letters::new(name).take(MAX_LETTERS).collect();
        let last = 1 << letters.len().checked_sub(1)?;
        let mut query = Query { set: 0, ascii: [0; 128], letters };
        for (at, letter) in query.letters.iter().enumerate() {
            query.set |= letter_bit(*letter);
            if let Some(places) = query.ascii.get_mut(*letter as usize) {
                *places |= 1 << at;
            }
        }
        let first = Column { more: !0, distance: query.letters.len(), ..Column::default() };
        let columns = [first; MAX_LETTERS + 1];
        Some(Self { query, last, columns, letters: ['\0'; MAX_LETTERS], valid: 0, steps: step_limit(names) })
    }

    /// Calls `found` with each name that is at most `far` edits away and, with `contained`, with names that contain
    /// the query or are contained in it. `found` returns the new maximum distance, or `None` to end the search.
    fn run<'n>(
        &mut self,
        marks: &[IndexedName],
        mut far: usize,
        contained: bool,
        at: impl Fn(usize) -> &'n str,
        mut found: impl FnMut(usize, &'n str) -> Option<usize>,
    ) {
        let (size, set) = (self.query.letters.len(), self.query.set);
        for (position, mark) in marks.iter().enumerate() {
            let shared = usize::from(mark.shared);
            self.valid = self.valid.min(shared);
            let length = usize::from(mark.length);
            // Each edit changes at most one letter on either side.
            let is_near = length.abs_diff(size) <= far && (set ^ mark.set).count_ones() as usize <= 2 * far;
            let may_contain = contained
                && length.min(size) > 2
                && if length < size { mark.set & !set == 0 } else { set & !mark.set == 0 };
            if !is_near && !may_contain {
                continue;
            }
            let name = at(position);
            let resume = mark.resume.filter(|_| self.valid == shared).map(usize::from);
            let Some(distance) =
                self.distance(name, length, resume, if may_contain { usize::MAX } else { far })
            else {
                if self.steps == 0 {
                    return;
                }
                continue;
            };
            // Names without a common letter have the maximum distance.
            let is_close = distance <= far && (contained || distance < size.max(length));
            if is_close || (may_contain && self.contains(length)) {
                let Some(next) = found(distance, name) else { return };
                far = next;
            }
        }
    }

    /// Returns the distance of a name of `length` letters; `None` if it exceeds `far` or the step limit is reached.
    fn distance(&mut self, name: &str, length: usize, resume: Option<usize>, far: usize) -> Option<usize> {
        let mut letters = match resume.and_then(|at| name.get(at..)) {
            Some(rest) => Letters::new(rest),
            None => {
                let mut letters = Letters::new(name);
                letters.by_ref().take(self.valid).for_each(drop);
                letters
            }
        };
        let mut column = *self.columns.get(self.valid)?;
        while self.valid < length {
            // Each remaining letter reduces the distance by at most one.
            if column.distance > far.saturating_add(length - self.valid) {
                return None;
            }
            self.steps = self.steps.checked_sub(1)?;
            let letter = letters.next()?;
            column = column.next(self.query.letter_positions(letter), self.last);
            *self.letters.get_mut(self.valid)? = letter;
            self.valid += 1;
            *self.columns.get_mut(self.valid)? = column;
        }
        Some(column.distance)
    }

    /// Returns `true` if the query is contained in the current name, or the name in the query.
    fn contains(&mut self, length: usize) -> bool {
        let name = self.letters.get(..length).unwrap_or_default();
        let (outer, inner) = if length < self.query.letters.len() {
            (&*self.query.letters, name)
        } else {
            (name, &*self.query.letters)
        };
        self.steps = self.steps.saturating_sub(outer.len());
        outer.windows(inner.len()).any(|part| part == inner)
    }
}

/// Returns the step limit of a search among `names`; names beyond the limit are not compared.
const fn step_limit(names: usize) -> usize {
    const MAX_STEPS: usize = 1 << 16;
    let steps = names.saturating_mul(2).saturating_add(1 << 13);
    if steps < MAX_STEPS { steps } else { MAX_STEPS }
}
