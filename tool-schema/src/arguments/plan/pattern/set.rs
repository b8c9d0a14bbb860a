/// A set of characters: sorted, non-adjacent ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CharSet(Vec<Range>);

/// The first and last character, both inclusive.
pub(super) type Range = (char, char);

/// `\d`
pub(super) const DIGITS: &[Range] = &[('0', '9')];

/// `\w`
pub(super) const WORD: &[Range] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// `\s`: whitespace and line terminators.
pub(super) const SPACE: &[Range] = &[
    ('\t', '\r'),
    (' ', ' '),
    ('\u{A0}', '\u{A0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200A}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202F}', '\u{202F}'),
    ('\u{205F}', '\u{205F}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{FEFF}', '\u{FEFF}'),
];

/// The characters that `.` excludes.
pub(super) const LINE_ENDS: &[Range] = &[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];

impl CharSet {
    /// Creates the union of `ranges`, which may overlap.
    pub(super) fn new(mut ranges: Vec<Range>) -> Self {
        ranges.sort_unstable();
        let mut joined: Vec<Range> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match joined.last_mut() {
                Some(before) if next_char(before.1).is_none_or(|next| first <= next) => {
                    before.1 = before.1.max(last);
                }
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    /// Returns the complement.
    pub(super) fn complement(&self) -> Self {
        let mut others = Vec::with_capacity(self.0.len() + 1);
        let mut from = Some('\0');
        for &(first, last) in &self.0 {
            if let (Some(from), Some(to)) = (from, previous_char(first))
                && from <= to
            {
                others.push((from, to));
            }
            from = next_char(last);
        }
        others.extend(from.map(|from| (from, char::MAX)));
        Self(others)
    }

    pub(super) fn ranges(&self) -> &[Range] {
        &self.0
    }

    /// Returns `true` if the sets have no common character.
    pub(super) fn is_disjoint(&self, other: &Self) -> bool {
        let meets = |left: &Range, right: &Range| left.0 <= right.1 && right.0 <= left.1;
        !self.0.iter().any(|left| other.0.iter().any(|right| meets(left, right)))
    }
}

fn next_char(c: char) -> Option<char> {
    (c..=char::MAX).nth(1)
}

fn previous_char(c: char) -> Option<char> {
    ('\0'..=c).nth_back(1)
}
