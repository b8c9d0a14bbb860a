//! Limits for the size of results.

use std::{
    collections::VecDeque,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schemars::JsonSchema;
use serde::Deserialize;
use tool_core::{Metadata, ToolError};

use crate::{
    ToolBuilder, ToolResult,
    builder::{ClosureTool, InvalidTool},
};

/// A limit, in bytes, for the text of each result that a model receives.
///
/// A longer text is cut between characters: its head and its tail are kept, and a note between them states the number
/// of omitted bytes. Images, audio and documents are kept and do not count; the structured value is the cut text, too.
/// With a [store](Self::with_store), the note includes the call that reads the omitted part.
///
/// The `max_result_size` of a tool takes precedence over the limit of the budget, and [may be the only
/// limit](Self::from_tools); without a budget, it is a hint.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_runtime::{Executor, Registry, policy::{ResultBudget, ResultStore}};
///
/// let store = Arc::new(ResultStore::new(64 << 20));
/// let tools = Registry::builder().add(ResultStore::tool(&store)?).build()?;
/// let budget = ResultBudget::new(16 << 10).with_store(store);
/// let executor = Executor::builder(tools).budget(budget).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ResultBudget {
    bytes: Option<u64>,
    store: Option<Arc<ResultStore>>,
}

impl ResultBudget {
    /// Creates a budget of `bytes` for each result.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self { bytes: Some(bytes), store: None }
    }

    /// Creates a budget from the `max_result_size` of each tool; results of other tools are not limited.
    #[must_use]
    pub fn from_tools() -> Self {
        Self::default()
    }

    /// Stores the full text of cut results in `store`, whose pages are limited to the budget from then on. Default: no
    /// store.
    #[must_use]
    pub fn with_store(mut self, store: Arc<ResultStore>) -> Self {
        store.limit_page_bytes(self.bytes);
        self.store = Some(store);
        self
    }

    /// Cuts `result` to the limit of the tool or the budget.
    pub(crate) fn truncate_result(&self, result: &mut ToolResult, tool_limit: Option<u64>) {
        let Some(most) = tool_limit.or(self.bytes) else { return };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        // The prefix that the framework puts before an error counts, but is not cut.
        let before = match &result.outcome {
            Ok(_) => 0,
            Err(error) => error.feedback().len().saturating_sub(error.reason().len()),
        };
        let most = most.saturating_sub(before);
        let words = result.text_without_kind_prefix();
        if words.len() <= most {
            return;
        }
        let handle = self.store.as_ref().and_then(|store| store.insert(&words));
        let cut = cut_middle(&words, most, handle);
        result.replace_text(cut, |_| true);
    }
}

/// Returns the head and the tail of `text`, at most `most` bytes of it, with a note between them.
fn cut_middle(text: &str, most: usize, handle: Option<u64>) -> String {
    let head = floor_char_boundary(text, most.div_ceil(2));
    let tail = ceil_char_boundary(text, text.len() - (most - most.div_ceil(2)));
    let missing = format!("{} of {} bytes", tail - head, text.len());
    let note = ResultStore::note(&missing, handle.map(|handle| (handle, head)));
    format!("{}\n{note}\n{}", &text[..head], &text[tail..])
}

/// Returns the closest character boundary at or below `at` (`str::floor_char_boundary` of Rust 1.91).
fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the closest character boundary at or above `at` (`str::ceil_char_boundary` of Rust 1.91).
fn ceil_char_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The name of the tool that reads stored results.
const READ_RESULT: &str = "read_result";

/// The full text of results that exceeded a [budget](ResultBudget), to be read in pages.
///
/// The store has a fixed capacity in bytes; the oldest results are removed for new ones. Handles cannot be guessed:
/// every run that has the handle of a result can read it.
pub struct ResultStore {
    capacity: usize,
    inner: Mutex<Stored>,
}

/// The default number of bytes per page.
const PAGE: usize = 8192;

/// The minimum number of bytes per page: the notes of smaller pages would be longer than their text.
const LEAST_PAGE: usize = 256;

#[derive(Default)]
struct Stored {
    /// The maximum number of bytes per page.
    page: usize,
    next: u64,
    /// Creates handles that cannot be guessed, and are short enough for a model to copy.
    names: RandomState,
    bytes: usize,
    results: VecDeque<(u64, Arc<str>)>,
}

impl ResultStore {
    /// Creates a store with a capacity of `capacity` bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, inner: Mutex::new(Stored { page: usize::MAX, ..Stored::default() }) }
    }

    /// Limits pages to a budget of `bytes`.
    fn limit_page_bytes(&self, bytes: Option<u64>) {
        let Some(bytes) = bytes.and_then(|bytes| usize::try_from(bytes).ok()) else { return };
        let mut stored = self.lock();
        stored.page = stored.page.min(bytes.max(LEAST_PAGE));
    }

    // A poisoned lock can be recovered: every operation completes its changes.
    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores `text`, and returns its handle; `None` if it exceeds the capacity.
    ///
    /// For a tool that cuts its results by itself, such as between the items of a list.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::policy::ResultStore;
    ///
    /// let store = ResultStore::new(1 << 20);
    /// let full = "[1,2,3]";
    /// let kept = store.insert(full).map(|handle| (handle, 4));
    /// let text = format!("[1,2]\n{}", ResultStore::note("1 of 3 items", kept));
    /// assert!(text.starts_with("[1,2]\n[.. 1 of 3 items left out; read on with read_result {\"handle\":"));
    /// if let Some((handle, offset)) = kept {
    ///     assert_eq!(store.read(handle, offset, 100)?, ",3]");
    /// }
    /// # Ok::<(), tool_runtime::ToolError>(())
    /// ```
    #[must_use]
    pub fn insert(&self, text: &str) -> Option<u64> {
        if text.len() > self.capacity {
            return None;
        }
        let mut stored = self.lock();
        let handle = stored.names.hash_one(stored.next) >> 24;
        stored.next += 1;
        stored.bytes += text.len();
        stored.results.push_back((handle, text.into()));
        while stored.bytes > self.capacity {
            let Some((_, oldest)) = stored.results.pop_front() else { break };
            stored.bytes -= oldest.len();
        }
        Some(handle)
    }

    /// Returns the note in place of an omitted part of a result, such as `3 of 10 items`; `kept` is the handle of the full
    /// text, and the byte at which the part begins.
    #[must_use]
    pub fn note(omitted: &str, kept: Option<(u64, usize)>) -> String {
        match kept {
            Some((handle, offset)) => format!(
                "[.. {omitted} left out; read on with {READ_RESULT} {{\"handle\":{handle},\"offset\":{offset}}} ..]"
            ),
            None => format!("[.. {omitted} left out ..]"),
        }
    }

    /// Reads `length` bytes of the result `handle`, starting at the byte `offset`. Both are rounded up to the next
    /// character; `length` is limited to the [budget](ResultBudget::with_store) of the store. A note states the number
    /// of remaining bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the result is not stored (any more), or `offset` is beyond its end.
    pub fn read(&self, handle: u64, offset: usize, length: usize) -> Result<String, ToolError> {
        let (found, page) = {
            let stored = self.lock();
            let found = stored.results.iter().find(|(at, _)| *at == handle);
            (found.map(|(_, text)| Arc::clone(text)), stored.page)
        };
        let text = found.ok_or_else(|| {
            ToolError::failed(format!("no result {handle} is kept (any more); make the call again"))
        })?;
        if offset > text.len() {
            let message =
                format!("the result {handle} has {} bytes; offset {offset} is beyond the end", text.len());
            return Err(ToolError::failed(message));
        }
        let start = floor_char_boundary(&text, offset);
        let end = ceil_char_boundary(&text, start.saturating_add(length.min(page)).min(text.len()));
        let rest = text.len() - end;
        let note = if rest == 0 {
            String::new()
        } else {
            format!("\n[.. {rest} bytes follow, from offset {end} ..]")
        };
        Ok(format!("{}{note}", &text[start..end]))
    }

    /// Creates the tool `read_result`, by which a model reads the omitted parts of results.
    ///
    /// # Errors
    ///
    /// Never returns an error: its name and schema are valid.
    pub fn tool(store: &Arc<Self>) -> Result<ClosureTool, InvalidTool> {
        let store = Arc::clone(store);
        ToolBuilder::new(READ_RESULT)
            .description("Reads the omitted part of a result.")
            // The store limits its pages to the budget; a cut page would only require another one.
            .metadata(Metadata {
                read_only: Some(true),
                idempotent: Some(true),
                max_result_size: Some(u64::MAX),
                ..Metadata::default()
            })
            .handler(move |ReadResult { handle, offset, length }, _cx| {
                std::future::ready(store.read(handle, offset, length))
            })
    }
}

/// The arguments of `read_result`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadResult {
    /// The handle from the note in the result.
    handle: u64,
    /// The number of bytes to skip.
    #[serde(default)]
    offset: usize,
    /// The number of bytes to read.
    #[serde(default = "default_read_bytes")]
    length: usize,
}

fn default_read_bytes() -> usize {
    PAGE
}

impl fmt::Debug for ResultStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stored = self.lock();
        f.debug_struct("ResultStore")
            .field("capacity", &self.capacity)
            .field("bytes", &stored.bytes)
            .field("results", &stored.results.len())
            .finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_core::Tool;

    use super::*;

    #[test]
    fn only_as_many_of_the_oldest_results_are_removed_as_necessary() {
        let store = ResultStore::new(10);
        let keep = |text: &str| store.insert(text).unwrap();
        let read = |handle| store.read(handle, 0, 99).ok();
        let (one, two) = (keep("aaaaa"), keep("bbbbb"));
        assert_eq!((read(one).as_deref(), read(two).as_deref()), (Some("aaaaa"), Some("bbbbb")));
        let three = keep("c");
        assert_eq!(
            (read(one), read(two).as_deref(), read(three).as_deref()),
            (None, Some("bbbbb"), Some("c"))
        );
        let four = keep("dddd");
        assert_eq!((read(two).as_deref(), read(four).as_deref()), (Some("bbbbb"), Some("dddd")));
        assert_eq!((store.insert("eeeeeeeeeee"), read(four).as_deref()), (None, Some("dddd")));
        let five = keep("eeeeeeeeee");
        assert_eq!((read(four), read(five).as_deref()), (None, Some("eeeeeeeeee")));
    }

    #[test]
    fn a_handle_has_forty_bits() {
        let store = ResultStore::new(usize::MAX);
        let handles: Vec<_> = (0..200).filter_map(|_| store.insert("a")).collect();
        assert!(handles.iter().all(|handle| *handle < 1 << 40));
        assert!(handles.iter().any(|handle| *handle >= 1 << 39));
    }

    #[test]
    fn a_page_is_limited_by_the_smallest_budget_and_has_a_minimum() {
        let store = Arc::new(ResultStore::new(20_000));
        let handle = store.insert(&"a".repeat(10_000)).unwrap();
        let page = || store.read(handle, 0, 9_000).unwrap().split('\n').next().unwrap().len();
        let budget = |bytes: Option<u64>| {
            let budget = bytes.map_or_else(ResultBudget::from_tools, ResultBudget::new);
            drop(budget.with_store(Arc::clone(&store)));
        };
        assert_eq!(page(), 9_000);
        for (bytes, expected) in [(None, 9_000), (Some(500), 500), (Some(900), 500), (Some(10), 256)] {
            budget(bytes);
            assert_eq!(page(), expected);
        }
    }

    #[test]
    fn read_result_is_read_only_and_its_pages_are_not_cut() {
        let tool = ResultStore::tool(&Arc::new(ResultStore::new(1))).unwrap();
        let metadata = tool.definition().metadata();
        assert!(metadata.is_read_only() && metadata.is_idempotent());
        assert_eq!(metadata.max_result_size, Some(u64::MAX));
    }
}
