//! Knowledge: texts of the program that a model searches.
//!
//! [`AgentKnowledge`] brings [`Knowledge`] of any kind to an agent. Its tools are those of the framework: no
//! [`Visibility`](tool_runtime::toolbox::Visibility) hides them.
//!
//! | tool | purpose |
//! | --- | --- |
//! | `knowledge_search` | searches by words |
//! | `agentic_knowledge_search` | searches by words, with filters that the model chooses; if the knowledge has [filters](AgentKnowledge::with_filter) |
//!
//! [`MemoryKnowledge`] searches the notes of the user in a [memory](tool_session::SharedMemory).

mod memory;
mod shared;
mod tools;

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, Value};
use tool_runtime::{
    Registry, RunContext, ToolError,
    registry::BuildError,
    request::{SharedRequestHook, request_fn},
};

use self::tools::{FilteredKnowledgeTools, KnowledgeTools};
pub use self::{memory::MemoryKnowledge, shared::SharedKnowledge};

/// Texts that are searched. The method can be written as an `async fn`.
///
/// # Examples
///
/// ```
/// use tool_agent::knowledge::{Knowledge, KnowledgeMatch, KnowledgeQuery};
/// use tool_runtime::{RunContext, ToolError};
///
/// /// The opening hours.
/// struct Hours;
///
/// impl Knowledge for Hours {
///     async fn search(&self, query: &KnowledgeQuery, _: &RunContext) -> Result<Vec<KnowledgeMatch>, ToolError> {
///         let is_about_hours = query.text.contains("open");
///         Ok(is_about_hours.then(|| KnowledgeMatch::new("Open from 9 to 17.")).into_iter().collect())
///     }
/// }
/// ```
pub trait Knowledge: Send + Sync {
    /// Returns the texts that match `query`, the best one first.
    ///
    /// # Errors
    ///
    /// Returns an error for the model, such as that the search is not available.
    fn search(
        &self,
        query: &KnowledgeQuery,
        run: &RunContext,
    ) -> impl Future<Output = Result<Vec<KnowledgeMatch>, ToolError>> + Send;
}

/// A search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KnowledgeQuery {
    /// The words of the model.
    pub text: String,
    /// The maximum number of matches; further ones are left out of the result.
    pub max_matches: usize,
    /// The values of filters, by their names: those of the program, and those that the model chose.
    pub filters: BTreeMap<String, String>,
}

/// A text that was found.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct KnowledgeMatch {
    /// The text.
    pub text: String,
    /// The origin, such as a title or an address.
    pub source: Option<String>,
    /// The score: larger for better matches.
    pub score: Option<f64>,
    /// Further members for the model.
    pub metadata: Map<String, Value>,
}

impl KnowledgeMatch {
    /// Creates a match without a source.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Sets the source. Default: none.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }
}

/// The knowledge of an agent, with its tools.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, AgentKnowledge, ScriptedModel, knowledge::MemoryKnowledge, model::Reply};
/// use tool_session::{InMemoryStore, SharedMemory};
///
/// let memory = SharedMemory::new(InMemoryStore::new());
/// let knowledge = AgentKnowledge::new(MemoryKnowledge::new(memory));
/// let agent = Agent::builder("clerk", ScriptedModel::new([Reply::text("Hello.")])).knowledge(knowledge).build()?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct AgentKnowledge(KnowledgeSettings);

/// The settings of the tools of knowledge.
#[derive(Clone)]
struct KnowledgeSettings {
    knowledge: SharedKnowledge,
    /// The filters that the program sets, by name.
    fixed: BTreeMap<String, String>,
    /// The descriptions of the filters that the model may set, by name.
    filters: BTreeMap<String, String>,
    max_matches: usize,
}

impl AgentKnowledge {
    /// Creates the knowledge of an agent, without filters.
    #[must_use]
    pub fn new(knowledge: impl Into<SharedKnowledge>) -> Self {
        let (fixed, filters) = (BTreeMap::new(), BTreeMap::new());
        Self(KnowledgeSettings { knowledge: knowledge.into(), fixed, filters, max_matches: 10 })
    }

    /// Sets the maximum number of matches of a search. Default: 10.
    #[must_use]
    pub fn with_max_matches(mut self, matches: usize) -> Self {
        self.0.max_matches = matches;
        self
    }

    /// Adds a filter that the model may set, which brings the tool `agentic_knowledge_search`. Default: none.
    #[must_use]
    pub fn with_filter(mut self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.0.filters.insert(name.into(), description.into());
        self
    }

    /// Sets the value of a filter for every search; no model changes it. Default: none.
    #[must_use]
    pub fn with_fixed_filter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.fixed.insert(name.into(), value.into());
        self
    }

    /// Returns the hook that tells the model which filters there are.
    pub(crate) fn request_hook(&self) -> Option<SharedRequestHook> {
        let filters: Vec<_> =
            self.0.filters.iter().map(|(name, text)| format!("- `{name}`: {text}")).collect();
        let text = format!("The filters of `agentic_knowledge_search`:\n{}", filters.join("\n"));
        let hook = request_fn(move |request| {
            request.instruct(text.clone());
            std::future::ready(Ok(()))
        });
        (!filters.is_empty()).then(|| SharedRequestHook::new(hook))
    }

    /// Returns the tools.
    pub(crate) fn tools(&self) -> Result<Registry, BuildError> {
        let tools = Registry::builder().toolset(KnowledgeTools(self.0.clone()));
        match self.0.filters.is_empty() {
            true => tools.build(),
            false => tools.toolset(FilteredKnowledgeTools(self.0.clone())).build(),
        }
    }
}

impl fmt::Debug for AgentKnowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentKnowledge").field("filters", &self.0.filters).finish_non_exhaustive()
    }
}
