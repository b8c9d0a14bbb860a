//! Names that may have been meant.
//!
//! Names are compared by their letters and digits alone, without regard to case, and by no more
//! than 64 of them. The distance of two names is the number of insertions, deletions, replacements
//! and swaps of neighbours between them (optimal string alignment), computed bit-parallel, one step
//! for each letter (Hyyrö 2003). Most names are ruled out before that by the set of their letters,
//! and a name that begins like the one before it takes steps only for the rest. The number of steps
//! is limited, so that the cost of a search is linear in the number of names whatever they are.

#[cfg(test)]
mod tests;

use std::char::ToLowercase;

/// The most letters of a name that count.
const LONGEST: usize = 64;

/// At most three of `names` that are close to `name`: a few edits away, or one within the other.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let names: Vec<_> = names.collect();
    let at = |position: usize| names.get(position).copied().unwrap_or_default();
    Names::new(names.iter().copied()).nearest(name, at)
}

/// The closest of `known`, if it is close enough to be what was meant.
pub fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<_> = known.collect();
    let at = |position: usize| names.get(position).copied().unwrap_or_default();
    Names::new(names.iter().copied()).closest(name, at)
}

/// An index of a list of names, by which those near to another name are found.
///
/// The names themselves stay where they are: a search asks for them by their positions.
#[derive(Debug)]
pub struct Names {
    marks: Box<[Mark]>,
}

/// The properties of one name by which a search skips it, or a part of it.
#[derive(Debug)]
struct Mark {
    /// The set of its letters.
    set: u64,
    /// The number of its letters.
    length: u8,
    /// The number of letters with which the name before it begins as well.
    shared: u8,
    /// The byte at which the letters after those begin; `None` where that is not known.
    resume: Option<u16>,
}

impl Names {
    /// Indexes `names`; the search is faster where similar names are neighbours.
    pub fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut last = ['\0'; LONGEST];
        let marks = names.map(|name| Mark::new(name, &mut last)).collect();
        Self { marks }
    }

    /// At most three names that are close to `name`, the closest first: at most three edits away, or
    /// one within the other. `at` gives the name at a position.
    pub fn nearest<'n>(&self, name: &str, at: impl Fn(usize) -> &'n str) -> Vec<&'n str> {
        let Some(mut search) = Search::new(name, self.marks.len()) else { return Vec::new() };
        // A third of the letters, so that short names do not all look alike.
        let far = search.query.letters.len().div_ceil(3).min(3);
        let mut close: Vec<(usize, &str)> = Vec::with_capacity(4);
        search.run(&self.marks, far, true, at, |distance, name| {
            let place = close.binary_search(&(distance, name)).unwrap_or_else(|place| place);
            close.insert(place, (distance, name));
            close.truncate(3);
            Some(far)
        });
        close.into_iter().map(|(_, name)| name).collect()
    }

    /// The name that is closest to `name`, the first of equals, if it is close enough to be what was
    /// meant: a third of the letters may differ. `at` gives the name at a position.
    pub fn closest<'n>(&self, name: &str, at: impl Fn(usize) -> &'n str) -> Option<&'n str> {
        let mut search = Search::new(name, self.marks.len())?;
        let far = search.query.letters.len() / 3 + 1;
        let mut best: Option<&str> = None;
        search.run(&self.marks, far, false, at, |distance, name| {
            best = Some(name);
            // Only a name that is closer is of interest from now on.
            distance.checked_sub(1)
        });
        best
    }
}

impl Mark {
    /// The mark of `name`; `last` has the letters of the name before it.
    fn new(name: &str, last: &mut [char; LONGEST]) -> Self {
        let mut mark = Self { set: 0, length: 0, shared: 0, resume: Some(0) };
        let mut letters = Letters::new(name);
        let mut is_shared = true;
        for slot in last.iter_mut() {
            let Some(letter) = letters.next() else { break };
            mark.set |= bit(letter);
            mark.length += 1;
            is_shared &= *slot == letter;
            if is_shared {
                mark.shared += 1;
                mark.resume = letters.position().and_then(|at| u16::try_from(at).ok());
            }
            *slot = letter;
        }
        // The next name shares nothing beyond the end of this one.
        if let Some(end) = last.get_mut(usize::from(mark.length)) {
            *end = '\0';
        }
        mark
    }
}

/// The bit of a letter. Those of ASCII have one each; of those beyond, several share one.
fn bit(letter: char) -> u64 {
    1 << (u32::from(letter) % 39)
}

/// The letters and digits of a name in lower case: `maxResults` and `max_results` are one name to a
/// reader.
struct Letters<'n> {
    name: &'n str,
    /// The byte that comes next.
    at: usize,
    lower: Option<ToLowercase>,
}

impl<'n> Letters<'n> {
    fn new(name: &'n str) -> Self {
        Self { name, at: 0, lower: None }
    }

    /// The byte that comes next; `None` within a letter that becomes several.
    fn position(&self) -> Option<usize> {
        self.lower.is_none().then_some(self.at)
    }

    /// The next letter, where it is none of ASCII.
    #[cold]
    fn wide(&mut self) -> Option<char> {
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
            return self.wide();
        }
        loop {
            let byte = *self.name.as_bytes().get(self.at)?;
            match LOWER.get(usize::from(byte)) {
                Some(0) => self.at += 1,
                Some(letter) => {
                    self.at += 1;
                    return Some(char::from(*letter));
                }
                None => return self.wide(),
            }
        }
    }
}

/// Each ASCII letter or digit in lower case, and zero for all other bytes of ASCII.
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

/// The name that is looked for.
struct Query {
    letters: Vec<char>,
    set: u64,
    /// At which places each ASCII letter stands, a bit for each.
    ascii: [u64; 128],
}

impl Query {
    /// At which places `letter` stands.
    #[inline]
    fn places(&self, letter: char) -> u64 {
        match self.ascii.get(letter as usize) {
            Some(places) => *places,
            None => {
                let is_it = |(_, it): &(usize, &char)| **it == letter;
                self.letters.iter().enumerate().filter(is_it).fold(0, |places, (at, _)| places | 1 << at)
            }
        }
    }
}

/// A column of the table of distances between the query and the first letters of a name, as the
/// differences between its cells.
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

/// One walk over all names.
struct Search {
    query: Query,
    /// The bit of the query's last letter.
    last: u64,
    /// The columns of the letters below, and the first one before them.
    columns: [Column; LONGEST + 1],
    letters: [char; LONGEST],
    /// How many of them hold for the name at hand.
    valid: usize,
    steps: usize,
}

impl Search {
    /// `None` where there is no letter to look for.
    fn new(name: &str, names: usize) -> Option<Self> {
        let letters: Vec<_> = Letters::new(name).take(LONGEST).collect();
        let last = 1 << letters.len().checked_sub(1)?;
        let mut query = Query { set: 0, ascii: [0; 128], letters };
        for (at, letter) in query.letters.iter().enumerate() {
            query.set |= bit(*letter);
            if let Some(places) = query.ascii.get_mut(*letter as usize) {
                *places |= 1 << at;
            }
        }
        let first = Column { more: !0, distance: query.letters.len(), ..Column::default() };
        let columns = [first; LONGEST + 1];
        Some(Self { query, last, columns, letters: ['\0'; LONGEST], valid: 0, steps: patience(names) })
    }

    /// Gives each name that is at most `far` edits away to `found`, and with `contained` those that
    /// the query is within, or that are within the query; `found` says how far the next ones may be,
    /// or that there need be no other.
    fn run<'n>(
        &mut self,
        marks: &[Mark],
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
            // Names without a letter in common are as far apart as they can be.
            let is_close = distance <= far && (contained || distance < size.max(length));
            if is_close || (may_contain && self.contains(length)) {
                let Some(next) = found(distance, name) else { return };
                far = next;
            }
        }
    }

    /// The distance of a name of `length` letters, unless it is more than `far`, or the steps are used
    /// up.
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
            // Each letter that is left brings the two closer by one at most.
            if column.distance > far.saturating_add(length - self.valid) {
                return None;
            }
            self.steps = self.steps.checked_sub(1)?;
            let letter = letters.next()?;
            column = column.next(self.query.places(letter), self.last);
            *self.letters.get_mut(self.valid)? = letter;
            self.valid += 1;
            *self.columns.get_mut(self.valid)? = column;
        }
        Some(column.distance)
    }

    /// Whether the query is within the letters of the name at hand, or these are within the query.
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

/// How many steps a search among so many names takes, at most; the names after that are not looked
/// at.
const fn patience(names: usize) -> usize {
    const MOST: usize = 1 << 16;
    let steps = names.saturating_mul(2).saturating_add(1 << 13);
    if steps < MOST { steps } else { MOST }
}
