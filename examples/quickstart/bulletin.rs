//! A tool that streams its results, and a tool that borrows its argument.

use std::{collections::BTreeMap, fs, io, path::Path};

use futures_util::stream::{self, Stream};
use tool_runtime::prelude::*;

/// The text of the weather bulletin.
pub(crate) struct Bulletin(String);

impl Bulletin {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        fs::read_to_string(path).map(Self)
    }
}

/// A line of the bulletin.
#[tool_args(serialize)]
pub(crate) struct Line {
    line: usize,
    text: String,
}

/// Finds the lines of the current weather bulletin that contain a word or a part of one.
///
/// Each line is streamed as it is found; the result is the list of all of them.
#[tool(read_only)]
fn search_bulletin(
    bulletin: &Bulletin,
    /// The text to search for, of at least two characters; case is ignored.
    #[schemars(length(min = 2))]
    word: &str,
) -> impl Stream<Item = Line> {
    let word = word.to_lowercase();
    let lines = (1..).zip(bulletin.0.lines());
    let found = lines.filter(move |(_, text)| text.to_lowercase().contains(&word));
    stream::iter(found.map(|(line, text)| Line { line, text: text.to_owned() }))
}

/// The number of words in a text.
#[tool_args(serialize)]
pub(crate) struct WordCount {
    words: usize,
    different: usize,
    /// The most frequent words.
    most_frequent: Vec<String>,
}

/// Counts the words of a text.
#[tool(read_only, idempotent)]
fn count_words(
    /// The text, of any length.
    text: &str,
) -> WordCount {
    let mut counts = BTreeMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_insert(0) += 1;
    }
    let most = counts.values().copied().max().unwrap_or_default();
    let most_frequent = counts.iter().filter(|(_, count)| **count == most).map(|(word, _)| word.clone());
    WordCount {
        words: counts.values().sum(),
        different: counts.len(),
        most_frequent: most_frequent.collect(),
    }
}
