//! The ends of lines: a text is changed without them, and each line keeps its own.

use similar::TextDiff;

/// Lines that are compared to find the end of each; with more, lines have the ends of those in their place.
const MAX_COMPARED_LINES: usize = 4000;

/// A text whose lines end in `\n`, and the end that each line has in the file.
pub(super) struct SplitText {
    pub(super) text: String,
    /// For each line that ends: `true` for `\r\n`.
    is_crlf: Vec<bool>,
}

impl SplitText {
    /// `None` for a text without `\r\n`, which is changed as it is.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        if !text.contains("\r\n") {
            return None;
        }
        let bytes = text.as_bytes();
        let is_crlf = memchr::memchr_iter(b'\n', bytes)
            .map(|index| index.checked_sub(1).and_then(|index| bytes.get(index)) == Some(&b'\r'))
            .collect();
        Some(Self { text: without_crlf(text), is_crlf })
    }

    /// The text of the file after one replacement of `old`, or all.
    pub(super) fn replace(&self, old: &str, new: &str, is_all: bool) -> String {
        let mut changed = String::with_capacity(self.text.len());
        let (mut position, mut line) = (0, 0);
        let count = if is_all { usize::MAX } else { 1 };
        for (index, part) in self.text.match_indices(old).take(count) {
            line += self.push_lines(&mut changed, position..index, line);
            let old_lines = memchr::memchr_iter(b'\n', part.as_bytes()).count();
            let own = self.is_crlf.get(line..line + old_lines).unwrap_or_default();
            // Without an end of its own, it is a part of a line, whose end it has.
            let nearest = self.is_crlf.get(line + old_lines).or(self.is_crlf.last());
            push_with_ends(&mut changed, new, &new_ends(old, own, new, nearest == Some(&true)));
            line += old_lines;
            position = index + part.len();
        }
        self.push_lines(&mut changed, position..self.text.len(), line);
        changed
    }

    /// The text of the file with all new content.
    pub(super) fn replace_all(&self, new: &str) -> String {
        let mut changed = String::with_capacity(new.len());
        push_with_ends(&mut changed, new, &new_ends(&self.text, &self.is_crlf, new, true));
        changed
    }

    /// Adds a part with the ends of its lines, and returns their number.
    fn push_lines(&self, changed: &mut String, range: std::ops::Range<usize>, line: usize) -> usize {
        let part = self.text.get(range).unwrap_or_default();
        push_with_ends(changed, part, self.is_crlf.get(line..).unwrap_or_default());
        memchr::memchr_iter(b'\n', part.as_bytes()).count()
    }
}

/// A text of a model, in which no line ends in `\r\n`.
pub(super) fn without_crlf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn push_with_ends(changed: &mut String, text: &str, is_crlf: &[bool]) {
    let mut ends = is_crlf.iter();
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(line) => {
                changed.push_str(line);
                changed.push_str(if ends.next() == Some(&true) { "\r\n" } else { "\n" });
            }
            None => changed.push_str(line),
        }
    }
}

/// The end of each line of `new`: an equal line of `old` keeps its own, another one takes the end of the line that it replaces.
fn new_ends(old: &str, own: &[bool], new: &str, nearest: bool) -> Vec<bool> {
    let new_count = memchr::memchr_iter(b'\n', new.as_bytes()).count();
    let first = own.first().copied().unwrap_or(nearest);
    if own.iter().all(|end| *end == first) {
        return vec![first; new_count];
    }
    let old_lines: Vec<&str> = old.split_inclusive('\n').take(own.len()).collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').take(new_count).collect();
    let pairs = || old_lines.iter().zip(&new_lines);
    let before = pairs().take_while(|(old, new)| old == new).count();
    let room = old_lines.len().min(new_lines.len()) - before;
    let pairs = old_lines.iter().rev().zip(new_lines.iter().rev());
    let after = pairs.take(room).take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (old_lines.len() - after, new_lines.len() - after);
    let end_of = |index: usize| own.get(index.min(own.len() - 1)).copied().unwrap_or(first);
    let mut ends: Vec<bool> = (0..new_count)
        .map(|index| match index {
            index if index >= new_end => end_of(index - new_end + old_end),
            index => end_of(index.min(old_end.saturating_sub(1).max(before))),
        })
        .collect();
    let old_middle = old_lines.get(before..old_end).unwrap_or_default();
    let new_middle = new_lines.get(before..new_end).unwrap_or_default();
    if old_middle.len() + new_middle.len() > MAX_COMPARED_LINES {
        return ends;
    }
    for operation in TextDiff::from_slices(old_middle, new_middle).ops() {
        let old_range = operation.old_range();
        for (step, index) in operation.new_range().enumerate() {
            let old_index = before + old_range.start + step.min(old_range.len().saturating_sub(1));
            if let Some(end) = ends.get_mut(before + index) {
                *end = end_of(old_index);
            }
        }
    }
    ends
}
