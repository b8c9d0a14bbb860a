//! The choice and the order of matches.
//!
//! The words of a query are taken from the rarest to the most frequent one, each with its newest notes, until there are 1,000 candidates, whose
//! texts have at most 8 MiB:
//! a rare word finds its note among any number of notes with a frequent one. The candidates are ordered by BM25, from counts that all
//! stores have: the notes of the user, their tokens, and the notes with each word. Equal scores are ordered by number, the newest first.

use std::collections::{HashMap, HashSet};

use super::tokens::for_each_token;

/// The maximum number of notes that are compared with a query.
pub(crate) const MAX_CANDIDATES: usize = 1000;

/// The maximum number of bytes of the texts that are compared with a query: 8 MiB.
pub(crate) const MAX_CANDIDATE_BYTES: u64 = 8 << 20;

/// The maximum number of matches of a search; a larger limit counts as this.
pub(crate) const MAX_MATCHES: usize = 100;

/// The parameters of BM25.
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.75;

/// All notes of a user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoteCounts {
    pub(crate) notes: u64,
    /// The tokens of all notes.
    pub(crate) tokens: u64,
}

/// A token of a query that occurs in notes of the user.
#[derive(Debug)]
pub(crate) struct QueryTerm {
    pub(crate) token: String,
    /// The number of notes with it.
    pub(crate) notes: u64,
}

/// Removes terms without notes, and orders the others: the rarest first.
pub(crate) fn retain_found_rarest_first(terms: &mut Vec<QueryTerm>) {
    terms.retain(|term| term.notes > 0);
    terms.sort_unstable_by(|one, other| (one.notes, &one.token).cmp(&(other.notes, &other.token)));
}

/// The numbers of the notes that are compared, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct NoteCandidates {
    numbers: Vec<u64>,
    known: HashSet<u64>,
}

impl NoteCandidates {
    /// Adds notes with one term, the newest first.
    pub(crate) fn add_until_full(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            if self.is_full() {
                return;
            }
            if self.known.insert(number) {
                self.numbers.push(number);
            }
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.numbers.len() >= MAX_CANDIDATES
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.numbers.iter().copied()
    }

    /// Leaves out the candidates that were found last, so that the texts of the others have at most [`MAX_CANDIDATE_BYTES`]; notes without
    /// a size do not exist any more.
    pub(crate) fn truncate_to_byte_limit(&mut self, sizes: &HashMap<u64, u64>) {
        let mut bytes = 0_u64;
        let size = |number| sizes.get(number).copied().unwrap_or_default();
        let fits = self.numbers.iter().take_while(|number| {
            bytes = bytes.saturating_add(size(number));
            bytes <= MAX_CANDIDATE_BYTES
        });
        let (compared, found) = (fits.count(), self.numbers.len());
        if compared < found {
            let left_out = found - compared;
            tracing::warn!(compared, left_out, "a search of notes compares at most 8 MiB of text");
            self.numbers.truncate(compared);
        }
    }
}

/// Returns the numbers and scores of the best matches among `candidates`, each with its number and text.
pub(crate) fn best_matches<T: AsRef<str>>(
    counts: NoteCounts,
    terms: &[QueryTerm],
    candidates: impl IntoIterator<Item = (u64, T)>,
    limit: usize,
) -> Vec<(u64, f64)> {
    let scorer = NoteScorer::new(counts, terms);
    let mut frequencies = vec![0_u32; terms.len()];
    let scores = candidates
        .into_iter()
        .map(|(number, text)| (number, scorer.score_text(text.as_ref(), &mut frequencies)));
    let mut scores: Vec<_> = scores.collect();
    scores.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
    scores.truncate(limit.min(MAX_MATCHES));
    scores
}

struct NoteScorer<'a> {
    /// The positions of tokens in `weights`.
    positions: HashMap<&'a str, usize>,
    /// The weights of terms: larger for rare ones.
    weights: Vec<f64>,
    average_tokens: f64,
}

impl<'a> NoteScorer<'a> {
    fn new(counts: NoteCounts, terms: &'a [QueryTerm]) -> Self {
        let notes = count_as_f64(counts.notes);
        let weight = |term: &QueryTerm| {
            let with_term = count_as_f64(term.notes.min(counts.notes));
            (1.0 + (notes - with_term + 0.5) / (with_term + 0.5)).ln()
        };
        Self {
            positions: terms.iter().enumerate().map(|(index, term)| (&*term.token, index)).collect(),
            weights: terms.iter().map(weight).collect(),
            average_tokens: (count_as_f64(counts.tokens) / notes.max(1.0)).max(1.0),
        }
    }

    /// Returns the score of a text; `frequency_buffer` is a buffer with one number for each term.
    fn score_text(&self, text: &str, frequency_buffer: &mut [u32]) -> f64 {
        frequency_buffer.fill(0);
        let mut tokens = 0_u64;
        for_each_token(text, |token| {
            tokens += 1;
            if let Some(frequency) =
                self.positions.get(token).and_then(|index| frequency_buffer.get_mut(*index))
            {
                *frequency = frequency.saturating_add(1);
            }
        });
        let length = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * count_as_f64(tokens) / self.average_tokens;
        let scores = self.weights.iter().zip(frequency_buffer).map(|(weight, frequency)| {
            let frequency = f64::from(*frequency);
            weight * frequency * (SATURATION + 1.0) / (frequency + SATURATION * length)
        });
        scores.sum()
    }
}

/// Returns a count as a number with a fraction: counts are far below 2^53, from where on it would be rounded.
fn count_as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
