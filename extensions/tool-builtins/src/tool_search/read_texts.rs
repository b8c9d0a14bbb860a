//! The words and texts of tools that were added before: the definitions of one program repeat them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{fields::FIELDS, index::Id};

/// The maximum length of a text that is kept, in bytes.
const MAX_KEPT_TEXT_BYTES: usize = 512;

/// The maximum number of texts that are kept.
const MAX_KEPT_TEXTS: usize = 16_384;

/// The words and texts that were read while tools are added, and memory for the next one.
#[derive(Default)]
pub(super) struct ReadTextCache {
    /// The numbers of words as they are written; `None` for those that are left out.
    pub(super) words: HashMap<Box<str>, Option<Id>, RandomState>,
    /// The numbers of the words of short texts.
    texts: HashMap<Box<str>, Box<[Id]>, RandomState>,
    /// The numbers of the words of the text that is read.
    pub(super) text_words: Vec<Id>,
    /// Each occurrence of a word in the tool that is read, with its field.
    occurrences: Vec<(Id, u8)>,
    /// The number of occurrences of each word in each field.
    pub(super) counts: Vec<(Id, [u8; FIELDS])>,
}

impl ReadTextCache {
    /// Returns `true` for a text that is kept whole, if there is room.
    pub(super) fn may_keep(&self, text: &str) -> bool {
        text.len() <= MAX_KEPT_TEXT_BYTES && self.texts.len() < MAX_KEPT_TEXTS
    }

    /// Adds the first words of a text that was kept, at most `room`, to the occurrences. Returns the number of them.
    pub(super) fn add_kept_text(&mut self, text: &str, field: u8, room: usize) -> Option<u32> {
        self.texts.get(text).map(|words| add_first_words(&mut self.occurrences, words, field, room))
    }

    /// Adds the first words of the text that is read, at most `room`, to the occurrences. Returns the number of them.
    pub(super) fn add_current_text_words(&mut self, field: u8, room: usize) -> u32 {
        add_first_words(&mut self.occurrences, &self.text_words, field, room)
    }

    /// Keeps the numbers of the words of the text that is read.
    pub(super) fn keep_text(&mut self, text: &str) {
        self.texts.insert(text.into(), self.text_words.as_slice().into());
    }

    /// Counts the occurrences, and forgets them.
    pub(super) fn count_and_clear_occurrences(&mut self) {
        self.occurrences.sort_unstable();
        self.counts.clear();
        for (word, field) in self.occurrences.drain(..) {
            if self.counts.last().is_none_or(|(last, _)| *last != word) {
                self.counts.push((word, [0; FIELDS]));
            }
            if let Some((_, counts)) = self.counts.last_mut() {
                let count = &mut counts[usize::from(field)];
                *count = count.saturating_add(1);
            }
        }
    }
}

fn add_first_words(occurrences: &mut Vec<(Id, u8)>, words: &[Id], field: u8, room: usize) -> u32 {
    let words = &words[..room.min(words.len())];
    occurrences.extend(words.iter().map(|word| (*word, field)));
    u32::try_from(words.len()).unwrap_or(u32::MAX)
}
