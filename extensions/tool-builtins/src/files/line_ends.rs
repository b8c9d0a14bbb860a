//! The ends of lines: a text is changed without them, and each line keeps its own.

use std::collections::HashMap;

use similar::TextDiff;

/// Lines whose least difference is found, at a cost of their square; of more, lines that occur once are compared.
const MAX_COMPARED_LINES: usize = 128;

/// A text whose lines end in `\n`, and the end that each line has in the file.
pub(super) struct SplitText {
    pub(super) text: String,
    /// For each line that ends: `true` for `\r\n`.
    is_crlf: Vec<bool>,
}

impl SplitText {
    /// `None` for a text without `\r\n`, which is changed as it is.
    pub(super) fn split_if_crlf(text: &str) -> Option<Self> {
        if !text.contains("\r\n") {
            return None;
        }
        let bytes = text.as_bytes();
        let is_crlf = memchr::memchr_iter(b'\n', bytes)
            .map(|index| index.checked_sub(1).and_then(|index| bytes.get(index)) == Some(&b'\r'))
            .collect();
        Some(Self { text: without_crlf(text), is_crlf })
    }

    /// The text of the file after the replacement of each `old`.
    pub(super) fn text_with_replacement(&self, old: &str, new: &str) -> String {
        let mut changed = String::with_capacity(self.text.len());
        let (mut position, mut line) = (0, 0);
        for (index, part) in self.text.match_indices(old) {
            line += self.push_unchanged_lines(&mut changed, position..index, line);
            let old_lines = memchr::memchr_iter(b'\n', part.as_bytes()).count();
            let own = self.is_crlf.get(line..line + old_lines).unwrap_or_default();
            // Without an end of its own, it is a part of a line, whose end it has.
            let nearest = self.is_crlf.get(line + old_lines).or(self.is_crlf.last());
            push_with_ends(&mut changed, new, &ends_of_new_lines(old, own, new, nearest == Some(&true)));
            line += old_lines;
            position = index + part.len();
        }
        self.push_unchanged_lines(&mut changed, position..self.text.len(), line);
        changed
    }

    /// The text of the file with all new content.
    pub(super) fn text_with_new_content(&self, new: &str) -> String {
        let mut changed = String::with_capacity(new.len());
        push_with_ends(&mut changed, new, &ends_of_new_lines(&self.text, &self.is_crlf, new, true));
        changed
    }

    /// Adds a part with the ends of its lines, and returns their number.
    fn push_unchanged_lines(
        &self,
        changed: &mut String,
        range: std::ops::Range<usize>,
        line: usize,
    ) -> usize {
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
fn ends_of_new_lines(old: &str, old_ends: &[bool], new: &str, default_end: bool) -> Vec<bool> {
    let new_count = memchr::memchr_iter(b'\n', new.as_bytes()).count();
    let first = old_ends.first().copied().unwrap_or(default_end);
    if old_ends.iter().all(|end| *end == first) {
        return vec![first; new_count];
    }
    let old_lines: Vec<&str> = old.split_inclusive('\n').take(old_ends.len()).collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').take(new_count).collect();
    let pairs = || old_lines.iter().zip(&new_lines);
    let before = pairs().take_while(|(old, new)| old == new).count();
    let room = old_lines.len().min(new_lines.len()) - before;
    let pairs = old_lines.iter().rev().zip(new_lines.iter().rev());
    let after = pairs.take(room).take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (old_lines.len() - after, new_lines.len() - after);
    let end_of = |index: usize| old_ends.get(index.min(old_ends.len() - 1)).copied().unwrap_or(first);
    let mut ends: Vec<bool> = (0..new_count)
        .map(|index| end_of(if index < new_end { index } else { index - new_end + old_end }))
        .collect();
    let old_middle = old_lines.get(before..old_end).unwrap_or_default();
    let new_middle = new_lines.get(before..new_end).unwrap_or_default();
    if old_middle.len() + new_middle.len() > MAX_COMPARED_LINES {
        for (index, old_index) in old_line_of_each_new_line(old_middle, new_middle).into_iter().enumerate() {
            if let Some(end) = ends.get_mut(before + index) {
                *end = end_of(before + old_index);
            }
        }
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

/// The old line of each new one: lines that occur once in both texts, in the same order, stand for each other, and so do the
/// lines between them, one by one.
fn old_line_of_each_new_line(old: &[&str], new: &[&str]) -> Vec<usize> {
    let old_places = line_positions_if_unique(old);
    let new_places = line_positions_if_unique(new);
    let is_unique = |line: &&str| new_places.get(line).copied().flatten().is_some();
    let pairs = new.iter().enumerate().filter(|(_, line)| is_unique(line));
    let pairs = pairs.filter_map(|(index, line)| Some((index, old_places.get(line).copied().flatten()?)));
    let mut anchors = longest_rising_pairs(&pairs.collect::<Vec<_>>()).into_iter().peekable();
    let (mut positions, mut next_old) = (Vec::with_capacity(new.len()), 0);
    for index in 0..new.len() {
        let anchor = anchors.peek().copied();
        let position = match anchor {
            Some((anchor, old_index)) if anchor == index => {
                anchors.next();
                old_index
            }
            // A line more than the old text has here takes the end of the one before.
            Some((_, old_index)) => next_old.min(old_index.saturating_sub(1)),
            None => next_old.min(old.len().saturating_sub(1)),
        };
        next_old = position + 1;
        positions.push(position);
    }
    positions
}

/// The place of each line; `None` if it occurs more than once.
fn line_positions_if_unique<'a>(lines: &[&'a str]) -> HashMap<&'a str, Option<usize>> {
    let mut places = HashMap::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        places.entry(*line).and_modify(|place| *place = None).or_insert(Some(index));
    }
    places
}

/// The longest part of `pairs` whose second numbers rise.
fn longest_rising_pairs(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The last pair of the best part of each length, and the pair before each pair.
    let (mut last_of_length, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (index, (_, second)) in pairs.iter().enumerate() {
        let length =
            last_of_length.partition_point(|last| pairs.get(*last).is_some_and(|(_, it)| it < second));
        before.push(length.checked_sub(1).and_then(|length| last_of_length.get(length).copied()));
        match last_of_length.get_mut(length) {
            Some(last) => *last = index,
            None => last_of_length.push(index),
        }
    }
    let mut rising = Vec::with_capacity(last_of_length.len());
    let mut next = last_of_length.last().copied();
    while let Some((pair, index)) = next.and_then(|index| Some((*pairs.get(index)?, index))) {
        rising.push(pair);
        next = before.get(index).copied().flatten();
    }
    rising.reverse();
    rising
}
