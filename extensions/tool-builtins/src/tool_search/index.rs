//! The inverted index: for each word, the tools that have it, and how often in each field.
//!
//! The lengths of all fields are summed exactly, so that a tool that is removed and added again changes nothing. No vector is
//! kept for a tool: its words are found again in the lists that it is in.

use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashMap},
    fmt,
    ops::RangeInclusive,
    sync::Arc,
};

use tool_runtime::{Registry, ToolDefinition, ToolName};

use super::{
    fields::{FIELDS, Field, for_each_text},
    query::WordQuery,
    ranking::Ranking,
    read_texts::ReadTextCache,
    words::for_each_word,
};

/// The maximum number of words of each field of a tool that are indexed.
const MAX_FIELD_WORDS: u32 = 400;

/// The number of words that no tool has any more, from which they are removed.
const MAX_UNUSED_WORDS: usize = 10_000;

/// The number of a tool or of a word in the index.
pub(super) type Id = u32;

/// An index of tools by the words of their definitions: names, descriptions, parameters, allowed values and examples.
///
/// A search takes time in proportion to the tools that have a word of the query. Equal tools and queries have equal results, in
/// the same order, in each process: a prompt cache stays valid.
///
/// # Examples
///
/// ```
/// use tool_builtins::tool_search::ToolIndex;
/// use tool_runtime::prelude::*;
///
/// /// Returns the weather of a city.
/// #[tool]
/// fn get_weather(city: String) -> String {
///     city
/// }
///
/// /// Sends a letter.
/// #[tool]
/// fn send_letter(address: String) -> String {
///     address
/// }
///
/// let tools = Registry::builder().tool::<get_weather>().tool::<send_letter>().build()?;
/// let index = ToolIndex::from(&tools);
/// let matches = index.search("how is the weather in Paris?", 5);
/// assert_eq!(matches[0].definition.name(), "get_weather");
/// # Ok::<(), tool_runtime::registry::BuildError>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolIndex {
    ranking: Ranking,
    /// The words, by their text.
    words: HashMap<Arc<str>, Id>,
    /// The words, by their first byte and their length in bytes.
    spellings: BTreeSet<(u8, usize, Arc<str>)>,
    /// For each word, the tools that have it, by number.
    postings: Vec<Vec<Posting>>,
    /// The tools, by number; `None` for a number that is free.
    tools: Vec<Option<IndexedTool>>,
    free: Vec<Id>,
    by_name: HashMap<ToolName, Id>,
    /// The number of words that no tool has.
    unused_words: usize,
    /// The sums of the lengths of each field.
    lengths: [u64; FIELDS],
}

/// A tool in the index.
#[derive(Clone)]
pub(super) struct IndexedTool {
    pub(super) definition: ToolDefinition,
    /// The number of words of each field.
    pub(super) lengths: [u32; FIELDS],
    words: Box<[Id]>,
}

/// The occurrences of a word in a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) tool: Id,
    /// The number of occurrences in each field, up to 255.
    pub(super) counts: [u8; FIELDS],
}

/// A tool that a search found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolMatch {
    /// The definition.
    pub definition: ToolDefinition,
    /// The score; it compares matches of one search only.
    pub score: f32,
}

impl ToolIndex {
    /// Creates an empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty index with another order of matches.
    #[doc(hidden)]
    #[must_use]
    pub fn with_ranking(ranking: Ranking) -> Self {
        Self { ranking, ..Self::default() }
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns `true` if there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns the definition of the tool with that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ToolDefinition> {
        Some(&self.tool_by_id(*self.by_name.get(name)?)?.definition)
    }

    /// Adds a tool, or replaces the tool with its name. Returns `true` if one was replaced.
    pub fn insert(&mut self, definition: &ToolDefinition) -> bool {
        let is_replaced = self.insert_with_cache(&mut ReadTextCache::default(), definition);
        self.rebuild_if_many_unused_words();
        is_replaced
    }

    /// Adds a tool, as [`insert`](Self::insert); `read` has what was read of tools that were added before.
    fn insert_with_cache(&mut self, read: &mut ReadTextCache, definition: &ToolDefinition) -> bool {
        let is_replaced = self.remove_tool(definition.name().as_str());
        let tool = self.free.pop().unwrap_or_else(|| {
            self.tools.push(None);
            Id::try_from(self.tools.len() - 1).unwrap_or(Id::MAX)
        });
        let lengths = self.count_words(read, definition);
        for (sum, length) in self.lengths.iter_mut().zip(lengths) {
            *sum += u64::from(length);
        }
        for (word, counts) in &read.counts {
            let postings = &mut self.postings[*word as usize];
            self.unused_words -= usize::from(postings.is_empty());
            let place = postings.partition_point(|posting| posting.tool < tool);
            postings.insert(place, Posting { tool, counts: *counts });
        }
        let words = read.counts.iter().map(|(word, _)| *word).collect();
        self.by_name.insert(definition.name().clone(), tool);
        self.tools[tool as usize] = Some(IndexedTool { definition: definition.clone(), lengths, words });
        is_replaced
    }

    /// Removes the tool with that name. Returns `true` if there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let is_removed = self.remove_tool(name);
        self.rebuild_if_many_unused_words();
        is_removed
    }

    fn remove_tool(&mut self, name: &str) -> bool {
        let Some(tool) = self.by_name.remove(name) else { return false };
        let Some(indexed) = self.tools.get_mut(tool as usize).and_then(Option::take) else { return false };
        for (sum, length) in self.lengths.iter_mut().zip(indexed.lengths) {
            *sum -= u64::from(length);
        }
        for word in indexed.words {
            let postings = &mut self.postings[word as usize];
            if let Ok(place) = postings.binary_search_by_key(&tool, |posting| posting.tool) {
                postings.remove(place);
            }
            self.unused_words += usize::from(postings.is_empty());
        }
        self.free.push(tool);
        true
    }

    /// Forgets the words of tools that are gone, once there are many.
    fn rebuild_if_many_unused_words(&mut self) {
        if self.unused_words > MAX_UNUSED_WORDS.max(self.words.len() / 2) {
            let tools = std::mem::take(&mut self.tools);
            *self = Self::with_ranking(self.ranking.clone());
            let mut read = ReadTextCache::default();
            for tool in tools.into_iter().flatten() {
                self.insert_with_cache(&mut read, &tool.definition);
            }
        }
    }

    /// Adds the tools of `definitions` that are not in the index, or that have changed. Returns the number of them.
    pub fn add_changed(&mut self, definitions: &[ToolDefinition]) -> usize {
        let (mut changed, mut read) = (0, ReadTextCache::default());
        for definition in definitions {
            if self.get(definition.name().as_str()) != Some(definition) {
                self.insert_with_cache(&mut read, definition);
                changed += 1;
            }
        }
        self.rebuild_if_many_unused_words();
        changed
    }

    /// Removes all tools but those for which `is_kept` returns `true`.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&ToolDefinition) -> bool) {
        let removed = self.tools.iter().flatten().filter(|tool| !is_kept(&tool.definition));
        let removed: Vec<_> = removed.map(|tool| tool.definition.name().clone()).collect();
        for name in removed {
            self.remove_tool(name.as_str());
        }
        self.rebuild_if_many_unused_words();
    }

    /// Returns the best matches of `query`, at most `limit`; tools with equal scores are sorted by name. A query without a word of
    /// any tool has none.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<ToolMatch> {
        self.search_among(query, limit, |_| true)
    }

    /// Returns the best matches among the tools for which `is_candidate` returns `true`; as [`search`](Self::search).
    #[must_use]
    pub fn search_among(
        &self,
        query: &str,
        limit: usize,
        is_candidate: impl Fn(&ToolDefinition) -> bool,
    ) -> Vec<ToolMatch> {
        let scores = WordQuery::new(self, query).scores(self);
        let scored = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0);
        let found = scored.filter_map(|(tool, score)| Some((self.tools.get(tool)?.as_ref()?, score)));
        let mut found: Vec<_> = found.filter(|(tool, _)| is_candidate(&tool.definition)).collect();
        let order = |one: &(&IndexedTool, f32), other: &(&IndexedTool, f32)| -> Ordering {
            let names = || one.0.definition.name().cmp(other.0.definition.name());
            other.1.total_cmp(&one.1).then_with(names)
        };
        if limit < found.len() {
            found.select_nth_unstable_by(limit, order);
            found.truncate(limit);
        }
        found.sort_unstable_by(order);
        let matches = found.into_iter();
        matches.map(|(tool, score)| ToolMatch { definition: tool.definition.clone(), score }).collect()
    }

    pub(super) fn ranking(&self) -> &Ranking {
        &self.ranking
    }

    pub(super) fn tool_by_id(&self, tool: Id) -> Option<&IndexedTool> {
        self.tools.get(tool as usize)?.as_ref()
    }

    /// Returns the number of tool numbers, used or free.
    pub(super) fn tool_number_count(&self) -> usize {
        self.tools.len()
    }

    /// Returns the tools that have a word; `None` if no tool has it.
    pub(super) fn postings(&self, word: &str) -> Option<&[Posting]> {
        let postings = self.postings.get(*self.words.get(word)? as usize)?;
        (!postings.is_empty()).then_some(postings.as_slice())
    }

    /// Returns the words that some tool has, with this first byte and a length in bytes that is one of `lengths`; the shortest ones
    /// first, sorted.
    pub(super) fn words_by_first_byte_and_length(
        &self,
        first: u8,
        lengths: RangeInclusive<usize>,
    ) -> impl Iterator<Item = &str> {
        let start = (first, *lengths.start(), Arc::from(""));
        let end = (first, lengths.end().saturating_add(1), Arc::from(""));
        let words = self.spellings.range(start..end).map(|(_, _, word)| word.as_ref());
        words.filter(|word| self.postings(word).is_some())
    }

    /// Returns the average number of words of each field, at least 1.
    pub(super) fn average_lengths(&self) -> [f32; FIELDS] {
        let count = self.len().max(1);
        self.lengths.map(|sum| (sum as f32 / count as f32).max(1.0))
    }

    /// Returns the lengths of the fields of `definition`; `text_cache` has the counts of its words then.
    fn count_words(&mut self, text_cache: &mut ReadTextCache, definition: &ToolDefinition) -> [u32; FIELDS] {
        let mut lengths = [0_u32; FIELDS];
        let has_fields = self.ranking.has_fields;
        let max_words = if has_fields { MAX_FIELD_WORDS } else { u32::MAX };
        for_each_text(definition, &mut |field, text| {
            let field = if has_fields { field } else { Field::Description } as usize;
            let room = (max_words - lengths[field]) as usize;
            if room > 0 {
                lengths[field] += self.add_occurrences(text_cache, text, field as u8, room);
            }
        });
        text_cache.count_and_clear_occurrences();
        lengths
    }

    /// Adds the first words of a text, at most `max_words`, to the occurrences of a field. Returns the number of them.
    fn add_occurrences(
        &mut self,
        text_cache: &mut ReadTextCache,
        text: &str,
        field: u8,
        max_words: usize,
    ) -> u32 {
        if let Some(count) = text_cache.add_kept_text(text, field, max_words) {
            return count;
        }
        let is_kept = text_cache.may_keep(text);
        self.collect_word_ids(text_cache, text, if is_kept { usize::MAX } else { max_words });
        if is_kept {
            text_cache.keep_text(text);
        }
        text_cache.add_current_text_words(field, max_words)
    }

    /// Reads the numbers of the first words of a text, at most `max_words`.
    fn collect_word_ids(&mut self, text_cache: &mut ReadTextCache, text: &str, max_words: usize) {
        text_cache.text_words.clear();
        for_each_word(text, |word| {
            let id = self.find_or_insert_word_id(text_cache, word);
            text_cache.text_words.extend(id);
            text_cache.text_words.len() < max_words
        });
    }

    /// Returns the number of a word as it is written; `None` if it is left out.
    fn find_or_insert_word_id(&mut self, text_cache: &mut ReadTextCache, word: &mut String) -> Option<Id> {
        if let Some(id) = text_cache.words.get(word.as_str()) {
            return *id;
        }
        let as_written = word.as_str().into();
        let id =
            self.ranking.word_form().normalize_or_skip(word).then(|| match self.words.get(word.as_str()) {
                Some(id) => *id,
                None => {
                    let id = Id::try_from(self.postings.len()).unwrap_or(Id::MAX);
                    self.postings.push(Vec::new());
                    let shared: Arc<str> = word.as_str().into();
                    if let Some(first) = word.as_bytes().first() {
                        self.spellings.insert((*first, word.len(), Arc::clone(&shared)));
                    }
                    self.words.insert(shared, id);
                    self.unused_words += 1;
                    id
                }
            });
        text_cache.words.insert(as_written, id);
        id
    }
}

/// An index of all tools of a registry, also of deferred ones.
impl From<&Registry> for ToolIndex {
    fn from(tools: &Registry) -> Self {
        let mut index = Self::new();
        index.add_changed(tools.all_definitions());
        index
    }
}

impl fmt::Debug for ToolIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolIndex").field("tools", &self.len()).field("words", &self.words.len()).finish()
    }
}
