//! The right tools among thousands, and calls of them that pass the same rules as any other.
//!
//! A request with thousands of tools is slow, expensive, and answered worse. There are two ways to send fewer of them:
//!
//! | | the model sees | its calls | a prompt cache |
//! | --- | --- | --- | --- |
//! | a deferred catalogue, [`ToolSearch`] | `search_tools` and `call_tool`, and the tools that are always shown | of `call_tool`, which become calls of the tools that they name | stays valid: the tools of each request are the same |
//! | a selection, [`SelectTools`] (feature `agent`) | the best tools for the last message of the user | as ever; other tools are unknown | is lost with each other selection |
//!
//! A call of `call_tool` is [redirected](tool_runtime::Tool::redirect) before anything else sees it: rules, approvals, limits,
//! hooks and events are about the tool that it names.
//!
//! Both search a [`ToolIndex`]: BM25 with a weight for each part of a definition. An [`Embedder`] adds the meaning of words, by
//! a server that the program chooses; no model is part of this crate.

#[cfg(feature = "agent")]
mod agent;
mod call_tool;
mod embedder;
mod fields;
#[cfg(feature = "embeddings")]
mod http_embedder;
mod index;
mod query;
mod ranking;
mod read_texts;
mod related;
mod search_tools;
mod stem;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tool_runtime::{Registry, ToolDefinition, ToolError, ToolName};

use self::embedder::ToolVectors;

#[cfg(feature = "agent")]
pub use self::agent::SelectTools;
#[cfg(feature = "embeddings")]
pub use self::http_embedder::HttpEmbedder;
#[doc(hidden)]
pub use self::ranking::Ranking;
pub use self::{
    call_tool::CallTool,
    embedder::{Embedder, Embeddings},
    index::{ToolIndex, ToolMatch},
    search_tools::SearchTools,
};

/// The name of the tool that searches.
pub const SEARCH_TOOLS: &str = "search_tools";

/// The name of the tool that calls a tool which a search found.
pub const CALL_TOOL: &str = "call_tool";

/// The default number of tools that a search returns.
const DEFAULT_MATCHES: usize = 5;

/// The offset of ranks that are combined (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion").
const FUSION_OFFSET: f32 = 60.0;

/// The number of ranks that are combined, for each tool that is returned, and at least.
const FUSED_DEPTH: usize = 4;
const MIN_FUSED_DEPTH: usize = 20;

/// The number of tools from which the index keeps no tools of other runs.
const MAX_OTHER_TOOLS: usize = 1_000;

/// A search among the tools of a program. Cheap to clone; clones share the index.
///
/// [`search_tools`](Self::search_tools) and [`call_tool`](Self::call_tool) are tools for a model, and
/// [`defer`](Self::defer) takes all others out of its requests.
///
/// Each search is among the tools of its run, as they are now: it adds new and changed ones to the index, and never returns one
/// that the run does not have or may not see.
///
/// # Examples
///
/// ```
/// use tool_builtins::ToolSearch;
/// use tool_runtime::{Executor, ToolCall, policy::{Rule, Rules}, prelude::*};
///
/// /// Returns the weather of a city.
/// #[tool]
/// fn get_weather(city: String) -> String {
///     format!("sunny in {city}")
/// }
///
/// /// Runs a command.
/// #[tool]
/// fn bash(command: String) -> String {
///     command
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let search = ToolSearch::new();
/// let tools = Registry::builder().tool::<get_weather>().tool::<bash>();
/// let tools = tools.add(search.search_tools()).add(search.call_tool()).build()?;
/// let executor = Executor::builder(search.defer(&tools)).rules(Rules::new([Rule::deny("bash")])).build()?;
///
/// // The model is shown two tools, and finds and calls the others.
/// assert_eq!(executor.tools().definitions().len(), 2);
/// let found = executor.run(vec![ToolCall::new("search_tools", r#"{ "query": "weather" }"#)]).await;
/// assert!(found[0].result().unwrap().text().contains("get_weather"));
/// let call = |name: &str, arguments| ToolCall::new("call_tool", json!({ "name": name, "arguments": arguments }));
/// let outcomes = executor
///     .run(vec![call("get_weather", json!({ "city": "Paris" })), call("bash", json!({ "command": "ls" }))])
///     .await;
/// assert_eq!(outcomes[0].result().unwrap().text(), "sunny in Paris");
/// assert!(outcomes[1].result().unwrap().text().starts_with("Denied"));
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolSearch {
    index: Arc<Mutex<ToolIndex>>,
    vectors: Option<ToolVectors>,
    always: BTreeSet<String>,
}

impl ToolSearch {
    /// Creates a search with an empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds tools that are always shown to the model, by name. Default: none.
    #[must_use]
    pub fn always<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.always.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the embedder; a search combines its order of the tools with the order of the index. Default: none.
    ///
    /// Each tool is embedded once, and each query. A tool that the embedder refuses is found by its words only. If the embedder fails,
    /// the order of the index is used.
    #[must_use]
    pub fn embedder(mut self, embedder: impl Embedder) -> Self {
        self.vectors = Some(ToolVectors::new(embedder));
        self
    }

    /// Returns the tool by which a model searches.
    #[must_use]
    pub fn search_tools(&self) -> SearchTools {
        SearchTools::new(self.clone())
    }

    /// Returns the tool by which a model calls the tools that it found.
    #[must_use]
    pub fn call_tool(&self) -> CallTool {
        CallTool::new()
    }

    /// Returns the same tools, of which a model is shown the tools of this search, those that are
    /// [always](Self::always) shown, tools of the framework, and those that `call_tool` cannot call.
    #[must_use]
    pub fn defer(&self, tools: &Registry) -> Registry {
        tools.with_deferred(|definition| {
            let name = definition.name().as_str();
            let is_own = matches!(name, SEARCH_TOOLS | CALL_TOOL) || self.always.contains(name);
            !is_own && can_be_deferred(tools, name)
        })
    }

    /// Returns the best matches of `query` among `tools`, at most `limit`, as [`ToolIndex::search`] does. The tools of this search
    /// are none of them.
    #[must_use]
    pub fn matches(&self, tools: &[ToolDefinition], query: &str, limit: usize) -> Vec<ToolMatch> {
        let mut index = self.lock_index();
        index.add_changed(tools);
        let known = |definition: &ToolDefinition| {
            let place = tools.binary_search_by(|it| it.name().cmp(definition.name()));
            place.is_ok() && !matches!(definition.name().as_str(), SEARCH_TOOLS | CALL_TOOL)
        };
        if index.len() > tools.len().saturating_mul(2) + MAX_OTHER_TOOLS {
            index.retain(known);
        }
        index.search_among(query, limit, known)
    }

    /// Returns the best matches of `query` among `tools`, at most `limit`, by the index and the [embedder](Self::embedder).
    /// The tools of this search are none of them.
    ///
    /// # Errors
    ///
    /// Returns the error of the embedder, if it fails for the query.
    pub async fn find(
        &self,
        tools: &[ToolDefinition],
        query: &str,
        limit: usize,
    ) -> Result<Vec<ToolDefinition>, ToolError> {
        self.find_and_count_tokens(tools, query, limit, &mut 0).await
    }

    /// Finds as [`find`](Self::find), and adds the tokens that the embedder counted to `tokens`, also if it fails later.
    async fn find_and_count_tokens(
        &self,
        tools: &[ToolDefinition],
        query: &str,
        limit: usize,
        tokens: &mut u64,
    ) -> Result<Vec<ToolDefinition>, ToolError> {
        let depth = limit.saturating_mul(FUSED_DEPTH).max(MIN_FUSED_DEPTH);
        let Some(vectors) = &self.vectors else {
            return Ok(self.matches(tools, query, limit).into_iter().map(|it| it.definition).collect());
        };
        let by_words = self.matches(tools, query, depth);
        let candidates = tools.iter().filter(|it| !matches!(it.name().as_str(), SEARCH_TOOLS | CALL_TOOL));
        let candidates: Vec<_> = candidates.collect();
        let by_meaning = vectors.nearest_tools(&candidates, query, depth, tokens).await?;
        let mut scores: BTreeMap<&ToolName, (f32, &ToolDefinition)> = BTreeMap::new();
        let ranks = |rank: usize| 1.0 / (FUSION_OFFSET + rank as f32);
        let by_words = by_words.iter().map(|it| &it.definition).enumerate();
        for (rank, definition) in by_words.chain(by_meaning.into_iter().enumerate()) {
            scores.entry(definition.name()).or_insert((0.0, definition)).0 += ranks(rank);
        }
        let mut found: Vec<_> = scores.into_values().collect();
        // Stable: equal scores stay sorted by name.
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        Ok(found.into_iter().take(limit).map(|(_, definition)| definition.clone()).collect())
    }

    fn lock_index(&self) -> MutexGuard<'_, ToolIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns `true` if a redirected call reaches the tool `name`, and the framework does not need it in each request.
fn can_be_deferred(tools: &Registry, name: &str) -> bool {
    let is_of_user = tools.origin(name).is_none_or(|origin| origin.is_user_tool());
    let is_output = name == tool_runtime::registry::OUTPUT_TOOL;
    is_of_user && !is_output && tools.get(name).is_some_and(|tool| !tool.is_external())
}

impl fmt::Debug for ToolSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSearch").field("always", &self.always).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::schema::InputSchema;

    use super::*;

    fn definitions(prefix: &str, count: usize) -> Vec<ToolDefinition> {
        let schema = InputSchema::new(serde_json::json!({ "type": "object" })).unwrap();
        let name = |number| ToolName::new(format!("{prefix}_{number:04}")).unwrap();
        (0..count).map(|number| ToolDefinition::new(name(number), "", schema.clone())).collect()
    }

    // One search serves all runs of a program, each with the tools of its user.
    #[test]
    fn tools_of_other_runs_are_kept_up_to_the_number_of_those_of_the_run_and_1000() {
        let (search, own) = (ToolSearch::new(), definitions("own", 3));
        let others = definitions("other", 1_004);
        for (others, kept) in [(&others[..1_003], 1_006), (&others, 3)] {
            assert_eq!(search.matches(others, "other", 1).len(), 1);
            assert_eq!(search.matches(&own, "own", 5).len(), 3);
            assert_eq!(search.lock_index().len(), kept);
        }
    }
}
