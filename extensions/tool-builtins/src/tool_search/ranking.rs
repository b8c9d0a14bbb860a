//! The order of matches: BM25 over weighted fields (Robertson and Zaragoza, "The Probabilistic Relevance Framework"), with
//! additions. The numbers are those of the tuned part of the measurement `benches/tool_search.rs`.

use super::{fields::FIELDS, words::WordForm};

/// The numbers of the order.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct Ranking {
    /// The weight of a word in each field: name, description, names and descriptions of parameters, values.
    pub weights: [f32; FIELDS],
    /// The effect of the length of each field, from 0 to 1.
    pub length_effects: [f32; FIELDS],
    /// The number of occurrences from which more of them add little.
    pub saturation: f32,
    /// The effect of query words that a tool does not have, from 0 to 1.
    pub coverage: f32,
    /// The effect of words of the name that the query does not have, from 0 to 1.
    pub name_coverage: f32,
    /// The weight of known words that are spelled like an unknown one.
    pub similar: f32,
    /// The weight of words that are written as one or as two.
    pub joined: f32,
    /// The weight of other words of the same meaning.
    pub related: f32,
    /// The fields are distinct, not one text.
    pub has_fields: bool,
    /// Forms of a word count as one word.
    pub is_stemmed: bool,
    /// Words that say nothing about a tool are left out.
    pub skips_stop_words: bool,
}

impl Default for Ranking {
    fn default() -> Self {
        Self {
            weights: [4.0, 2.0, 0.4, 0.2, 0.2],
            length_effects: [0.7, 0.6, 0.5, 0.5, 0.6],
            saturation: 1.3,
            coverage: 0.2,
            name_coverage: 0.4,
            similar: 0.5,
            joined: 0.4,
            related: 0.25,
            has_fields: true,
            is_stemmed: true,
            skips_stop_words: true,
        }
    }
}

impl Ranking {
    /// Returns plain BM25: one text of all fields, and words as they are written.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            weights: [1.0; FIELDS],
            length_effects: [0.75; FIELDS],
            saturation: 1.2,
            coverage: 0.0,
            name_coverage: 0.0,
            similar: 0.0,
            joined: 0.0,
            related: 0.0,
            has_fields: false,
            is_stemmed: false,
            skips_stop_words: false,
        }
    }

    pub(super) fn word_form(&self) -> WordForm {
        WordForm { is_stemmed: self.is_stemmed, skips_stop_words: self.skips_stop_words }
    }
}
