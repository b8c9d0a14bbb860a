//! A query as words with weights, and the scores of the tools that have them.

use std::collections::HashMap;

use super::{
    fields::{FIELDS, Field},
    index::{Posting, ToolIndex},
    related::related_words,
    words::for_each_word,
};

/// The maximum number of different words of a query that are looked up; later ones are left out.
const MAX_QUERY_WORDS: usize = 128;

/// The maximum number of bytes of a query that are read.
const MAX_QUERY_BYTES: usize = 16 << 10;

/// The minimum number of characters of a word for which words with a similar spelling are looked up.
const MIN_SIMILAR_CHARS: usize = 5;

/// The maximum number of unknown words of a query for which others are looked up.
const MAX_UNKNOWN_WORDS: usize = 8;

/// The maximum number of words with which an unknown one is compared; longer ones are left out.
const MAX_COMPARED_WORDS: usize = 2_000;

/// The words of a query.
#[derive(Default)]
pub(super) struct WordQuery {
    concepts: Vec<Concept>,
}

/// A word of a query, with the words that may stand for it.
struct Concept {
    word: String,
    /// The number of occurrences in the query.
    count: u32,
    /// Words that some tool has, with their weights.
    variants: Vec<(String, f32)>,
}

impl WordQuery {
    pub(super) fn new(index: &ToolIndex, text: &str) -> Self {
        let mut query = Self::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut order = Vec::new();
        let text = first_query_bytes(text);
        let form = index.ranking().word_form();
        for_each_word(text, |word| {
            if !form.normalize_or_skip(word) {
                return true;
            }
            let place = *places.entry(word.clone()).or_insert_with(|| {
                query.concepts.push(Concept { word: word.clone(), count: 0, variants: Vec::new() });
                query.concepts.len() - 1
            });
            query.concepts[place].count += 1;
            order.push(place);
            query.concepts.len() < MAX_QUERY_WORDS
        });
        query.add_indexed_words(index);
        query.add_joined_words(index, &order);
        query.add_similar_words(index);
        query
    }

    fn add_indexed_words(&mut self, index: &ToolIndex) {
        let related = index.ranking().related;
        for Concept { word, variants, .. } in &mut self.concepts {
            if index.postings(word).is_some() {
                variants.push((word.clone(), 1.0));
            }
            if related > 0.0 {
                let others = related_words(word).iter().filter(|other| index.postings(other).is_some());
                variants.extend(others.map(|other| (other.clone(), related)));
            }
        }
    }

    /// Adds words that tools write as one, and the query as two: `web hook` and `webhook`.
    fn add_joined_words(&mut self, index: &ToolIndex, order: &[usize]) {
        let weight = index.ranking().joined;
        if weight == 0.0 {
            return;
        }
        for pair in order.windows(2) {
            let &[first, second] = pair else { continue };
            let joined = format!("{}{}", self.concepts[first].word, self.concepts[second].word);
            if index.postings(&joined).is_some() {
                for place in [first, second] {
                    self.concepts[place].add_variant_if_new(&joined, weight);
                }
            }
        }
        for concept in &mut self.concepts {
            if concept.variants.is_empty()
                && let Some((first, second)) = split_into_known_words(index, &concept.word)
            {
                let (first, second) = (first.to_owned(), second.to_owned());
                concept.add_variant_if_new(&first, weight / 2.0);
                concept.add_variant_if_new(&second, weight / 2.0);
            }
        }
    }

    /// Adds words that are spelled like one that no tool has.
    fn add_similar_words(&mut self, index: &ToolIndex) {
        let weight = index.ranking().similar;
        if weight == 0.0 {
            return;
        }
        let unknown = self.concepts.iter_mut().filter(|it| it.variants.is_empty());
        let unknown = unknown.filter(|it| it.word.chars().count() >= MIN_SIMILAR_CHARS);
        for concept in unknown.take(MAX_UNKNOWN_WORDS) {
            let Some(first) = concept.word.as_bytes().first() else { continue };
            let (length, max_edits) = (concept.word.len(), max_edits(&concept.word));
            let compared = index
                .words_by_first_byte_and_length(*first, length - max_edits..=length + max_edits)
                .take(MAX_COMPARED_WORDS);
            let similar = compared.filter(|word| is_within_edits(&concept.word, word, max_edits));
            concept.variants = similar.map(|word| (word.to_owned(), weight)).collect();
        }
    }

    /// Returns the scores of the tools of `index`, by number.
    pub(super) fn scores(&self, index: &ToolIndex) -> Vec<f32> {
        let mut scorer = ToolScorer::new(index);
        for concept in &self.concepts {
            scorer.add_concept(concept);
        }
        scorer.into_final_scores()
    }
}

impl Concept {
    fn add_variant_if_new(&mut self, word: &str, weight: f32) {
        if !self.variants.iter().any(|(known, _)| known == word) {
            self.variants.push((word.to_owned(), weight));
        }
    }
}

/// Returns the part of a query that is read.
fn first_query_bytes(text: &str) -> &str {
    let mut end = text.len().min(MAX_QUERY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Returns the two known words of which `word` consists.
fn split_into_known_words<'w>(index: &ToolIndex, word: &'w str) -> Option<(&'w str, &'w str)> {
    const MIN_PART_BYTES: usize = 3;
    let places = MIN_PART_BYTES..=word.len().checked_sub(MIN_PART_BYTES)?;
    let parts = places.filter(|place| word.is_char_boundary(*place)).map(|place| word.split_at(place));
    let mut known =
        parts.filter(|(first, second)| index.postings(first).is_some() && index.postings(second).is_some());
    known.next()
}

/// Returns the number of changes of characters that lead from a word to those with a similar spelling.
fn max_edits(word: &str) -> usize {
    if word.len() >= 8 { 2 } else { 1 }
}

/// Returns `true` if at most `max` characters differ.
fn is_within_edits(word: &str, other: &str, max_edits: usize) -> bool {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in word.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        let mut least = usize::MAX;
        for (column, other_letter) in other.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other_letter);
            diagonal = row[column + 1];
            row[column + 1] = change.min(row[column] + 1).min(diagonal + 1);
            least = least.min(row[column + 1]);
        }
        if least > max_edits {
            return false;
        }
    }
    row.last().is_some_and(|edits| *edits <= max_edits)
}

/// The scores so far.
struct ToolScorer<'i> {
    index: &'i ToolIndex,
    averages: [f32; FIELDS],
    scores: Vec<f32>,
    /// The weight of the words that each tool has, and how many words of its name are among them.
    covered: Vec<f32>,
    named: Vec<f32>,
    /// The score of the word that is added, by tool, and the tools that have one.
    current: Vec<f32>,
    touched: Vec<u32>,
    /// The weight of all words of the query that some tool has.
    total: f32,
}

impl<'i> ToolScorer<'i> {
    fn new(index: &'i ToolIndex) -> Self {
        let zeros = || vec![0.0; index.tool_number_count()];
        Self {
            index,
            averages: index.average_lengths(),
            scores: zeros(),
            covered: zeros(),
            named: zeros(),
            current: zeros(),
            touched: Vec::new(),
            total: 0.0,
        }
    }

    /// Adds the scores of a word: of its best variant in each tool.
    fn add_concept(&mut self, concept: &Concept) {
        let mut rarity = 0.0_f32;
        for (word, weight) in &concept.variants {
            let Some(postings) = self.index.postings(word) else { continue };
            let word_rarity = self.rarity(postings.len());
            rarity = rarity.max(word_rarity * weight);
            for posting in postings {
                let score = self.posting_score(posting) * word_rarity * weight;
                let current = &mut self.current[posting.tool as usize];
                if *current == 0.0 {
                    self.touched.push(posting.tool);
                    self.named[posting.tool as usize] +=
                        f32::from(u8::from(posting.counts[Field::Name as usize] > 0)) * weight;
                }
                *current = current.max(score);
            }
        }
        // A repeated word counts more, and not in proportion.
        let repeated = 1.0 + (concept.count as f32).ln() / 2.0;
        self.total += rarity;
        for tool in self.touched.drain(..) {
            let tool = tool as usize;
            self.scores[tool] += std::mem::take(&mut self.current[tool]) * repeated;
            self.covered[tool] += rarity;
        }
    }

    /// Returns the weight of a word that `count` tools have.
    fn rarity(&self, count: usize) -> f32 {
        let (all, count) = (self.index.len() as f32, count as f32);
        (1.0 + (all - count + 0.5) / (count + 0.5)).ln()
    }

    /// Returns the score of the occurrences of a word in a tool.
    fn posting_score(&self, posting: &Posting) -> f32 {
        let Some(tool) = self.index.tool_by_id(posting.tool) else { return 0.0 };
        let ranking = self.index.ranking();
        let mut weighted = 0.0;
        for field in 0..FIELDS {
            let count = posting.counts[field];
            if count > 0 {
                let effect = ranking.length_effects[field];
                let length = tool.lengths[field] as f32 / self.averages[field];
                weighted += ranking.weights[field] * f32::from(count) / (1.0 - effect + effect * length);
            }
        }
        weighted * (ranking.saturation + 1.0) / (weighted + ranking.saturation)
    }

    fn into_final_scores(self) -> Vec<f32> {
        let Self { index, mut scores, covered, named, total, .. } = self;
        let ranking = index.ranking();
        for (tool, score) in scores.iter_mut().enumerate().filter(|(_, score)| **score > 0.0) {
            *score *= 1.0 - ranking.coverage + ranking.coverage * covered[tool] / total;
            let length = index.tool_by_id(tool as u32).map_or(0, |tool| tool.lengths[Field::Name as usize]);
            if length > 0 {
                let share = (named[tool] / length as f32).min(1.0);
                *score *= 1.0 - ranking.name_coverage + ranking.name_coverage * share;
            }
        }
        scores
    }
}
