//! Hooks of an agent that reduce the tools of its requests.

mod model_choice;

use std::collections::BTreeSet;

use tool_agent::{
    AgentHook, Message, Role, Step,
    model::{Response, SharedModel},
};
use tool_runtime::{Registry, ToolDefinition, ToolError, ToolName, Toolbox, dialect::Usage};

use self::model_choice::{ask_for_query, ask_for_tool_names};
use super::{CALL_TOOL, SEARCH_TOOLS, ToolSearch, can_be_deferred};

/// A catalogue whose tools are deferred in each request: see [`ToolSearch::defer`].
impl AgentHook for ToolSearch {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        step.set_tools(self.defer(&step.request.tools));
        Ok(None)
    }
}

impl ToolSearch {
    /// Defers the tools of a toolbox, as [`defer`](Self::defer) does those of a registry, in its later snapshots. The schemas of a tool that
    /// is added later are compiled by its first call: of thousands of tools, those that a model chooses.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_builtins::ToolSearch;
    /// use tool_runtime::{RunContext, Toolbox, prelude::*};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let (search, toolbox) = (ToolSearch::new(), Toolbox::new());
    /// search.defer_in(&toolbox);
    /// toolbox.add(search.search_tools())?;
    /// toolbox.add(search.call_tool())?;
    /// // Thousands of tools follow.
    /// assert_eq!(toolbox.snapshot(&RunContext::new()).await?.tools().definitions().len(), 2);
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn defer_in(&self, toolbox: &Toolbox) {
        let own = [SEARCH_TOOLS, CALL_TOOL].into_iter();
        toolbox.defer_all_except(own.chain(self.always.iter().map(String::as_str)));
    }
}

/// A hook that reduces the tools of each request to those that fit the last message of the user. A call of another tool is
/// answered as unknown.
///
/// The candidates are the tools that the run may see. Tools of the framework, the tool of the output and external tools of the
/// run are none: each request has them. If there are no more candidates than tools to select, nothing happens.
///
/// A new selection costs the prompt cache of the provider, since tools precede the conversation; [`ToolSearch`] as a hook keeps
/// it.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
/// use tool_builtins::tool_search::SelectTools;
/// use tool_runtime::prelude::*;
///
/// /// Returns the weather of a city.
/// #[tool]
/// fn get_weather(city: String) -> String {
///     format!("sunny in {city}")
/// }
///
/// /// Sends a letter.
/// #[tool]
/// fn send_letter(address: String) -> String {
///     address
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([Reply::text("It is sunny.")]);
/// let tools = Registry::builder().tool::<get_weather>().tool::<send_letter>().build()?;
/// let agent = Agent::builder("guide", model.clone()).tools(tools).hook(SelectTools::new(1)).build()?;
/// Runner::new(agent).run("What is the weather?").answer().await?;
/// assert_eq!(model.requests()[0].tools.definitions()[0].name(), "get_weather");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SelectTools {
    search: ToolSearch,
    max_tools: usize,
    always: BTreeSet<String>,
    model: Option<SharedModel>,
    rewriting_model: Option<SharedModel>,
    fails_open: bool,
}

impl SelectTools {
    /// Creates a hook that selects at most `max_tools` tools by the words of their definitions; 0 selects all.
    #[must_use]
    pub fn new(max_tools: usize) -> Self {
        let search = ToolSearch::new();
        Self {
            search,
            max_tools,
            always: BTreeSet::new(),
            model: None,
            rewriting_model: None,
            fails_open: false,
        }
    }

    /// Sets the search that selects, for one with an [embedder](ToolSearch::embedder), whose tokens are counted by
    /// [`RunUsage::additional`](tool_agent::RunUsage::additional). Default: one of the words.
    #[must_use]
    pub fn search(mut self, search: ToolSearch) -> Self {
        self.search = search;
        self
    }

    /// Selects by a model in place of a search: it receives names and descriptions of all candidates. Its tokens are counted by
    /// [`RunUsage::additional`](tool_agent::RunUsage::additional).
    #[must_use]
    pub fn by_model(mut self, model: impl Into<SharedModel>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Searches for what a model makes of the message: the task in a few words. Default: for the message itself.
    #[must_use]
    pub fn rewrite_by(mut self, model: impl Into<SharedModel>) -> Self {
        self.rewriting_model = Some(model.into());
        self
    }

    /// Adds tools that each request has, beside the selected ones, by name. Default: none.
    #[must_use]
    pub fn always<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.always.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets whether a request has all tools if the selection fails. Default: `false`; the run ends with the error.
    #[must_use]
    pub fn fail_open(mut self, fails_open: bool) -> Self {
        self.fails_open = fails_open;
        self
    }

    /// Returns the names of the selected candidates.
    async fn select_names(
        &self,
        step: &Step,
        candidates: &[ToolDefinition],
    ) -> Result<Vec<ToolName>, ToolError> {
        let messages = user_texts_newest_first(&step.request.messages);
        let newest = messages.first().ok_or_else(|| {
            ToolError::failed("tools are selected for a message of the user, and the conversation has none")
        })?;
        if let Some(model) = &self.model {
            return ask_for_tool_names(step, model, newest, candidates, self.max_tools).await;
        }
        if let Some(model) = &self.rewriting_model {
            let query = ask_for_query(step, model, newest).await?;
            return self.find_names_and_count_usage(step, candidates, &query).await;
        }
        // A message such as `yes` continues the one before.
        for message in &messages {
            let found = self.find_names_and_count_usage(step, candidates, message).await?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// Finds names, and counts the tokens of the embedder as those of the run.
    async fn find_names_and_count_usage(
        &self,
        step: &Step,
        candidates: &[ToolDefinition],
        query: &str,
    ) -> Result<Vec<ToolName>, ToolError> {
        let mut tokens = 0;
        let found = self.search.find_and_count_tokens(candidates, query, self.max_tools, &mut tokens).await;
        if let Some(vectors) = self.search.vectors.as_ref().filter(|_| tokens > 0) {
            let mut usage = Usage::default();
            usage.input = Some(tokens);
            step.count_usage(vectors.model(), usage);
        }
        Ok(found?.into_iter().map(|definition| definition.name().clone()).collect())
    }
}

impl AgentHook for SelectTools {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        let tools = &step.request.tools;
        let is_candidate = |name: &str| {
            can_be_deferred(tools, name) && !self.always.contains(name) && !tools.is_deferred(name)
        };
        let candidates = tools.all_definitions().iter().filter(|it| is_candidate(it.name().as_str()));
        let candidates: Vec<_> = candidates.cloned().collect();
        if self.max_tools == 0 || candidates.len() <= self.max_tools {
            return Ok(None);
        }
        let selected: BTreeSet<ToolName> = match self.select_names(step, &candidates).await {
            Ok(selected) => selected.into_iter().collect(),
            Err(_) if self.fails_open => return Ok(None),
            Err(error) => return Err(error),
        };
        let selection = keep_tools(tools, |name| !is_candidate(name) || selected.contains(name));
        step.set_tools(selection);
        Ok(None)
    }
}

/// Returns the tools for which `is_kept` returns `true`.
fn keep_tools(tools: &Registry, is_kept: impl Fn(&str) -> bool) -> Registry {
    let names = tools.all_definitions().iter().map(|it| it.name().as_str()).filter(|name| is_kept(name));
    tools.resolve(names).0
}

/// Returns the texts of the messages of the user, the newest first.
fn user_texts_newest_first(messages: &[Message]) -> Vec<String> {
    let of_user = messages.iter().rev().filter(|message| message.role() == Role::User);
    of_user.map(Message::text).filter(|text| !text.trim().is_empty()).collect()
}
