//! Prompts in memory.

use std::{collections::BTreeMap, fmt, sync::Arc};

use rmcp::model::{GetPromptResult, Prompt, PromptMessage, Role};
use tool_runtime::{BoxFuture, Content, RunContext, ToolError};

use super::{
    ChangeSignal, Completing, Page, Paging, Prompts,
    collection::{Collection, Complete, unknown_item_error},
};
use crate::content::to_block;

type Get = dyn Fn(Arc<RunContext>, BTreeMap<String, String>) -> BoxFuture<'static, Result<Vec<PromptMessage>, ToolError>>
    + Send
    + Sync;

/// [`Prompts`] in memory: texts and closures. Clones are the same set; changes reach the clients.
///
/// # Examples
///
/// ```
/// use tool_mcp::{
///     rmcp::model::{Prompt, PromptArgument},
///     server::{McpServer, PromptSet},
/// };
/// use tool_runtime::Registry;
///
/// # fn example() -> anyhow::Result<()> {
/// let topic = PromptArgument::new("topic").with_required(true);
/// let prompts = PromptSet::new()
///     .text(Prompt::new("explain", Some("Explains a topic."), Some(vec![topic])), |arguments| {
///         format!("Explain {} in three sentences.", arguments["topic"])
///     })
///     .complete(|_, completing| {
///         let topics = ["ownership", "traits", "lifetimes"].into_iter();
///         topics.filter(|topic| topic.starts_with(completing.value)).map(str::to_owned).collect()
///     });
/// let server = McpServer::new(Registry::discover()?).prompts(prompts);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct PromptSet {
    prompts: Collection<(Prompt, Arc<Get>)>,
}

impl fmt::Debug for PromptSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.prompts.keys()).finish()
    }
}

impl PromptSet {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a prompt of one text, as a message of the user. One of the same name is replaced.
    #[must_use]
    pub fn text(
        self,
        prompt: Prompt,
        text: impl Fn(&BTreeMap<String, String>) -> String + Send + Sync + 'static,
    ) -> Self {
        let text = Arc::new(text);
        self.dynamic(prompt, move |_, arguments| {
            let text = Arc::clone(&text);
            async move { Ok(vec![PromptMessage::new_text(Role::User, text(&arguments))]) }
        })
    }

    /// Adds a prompt whose messages `get` returns. One of the same name is replaced. Arguments that the prompt does not
    /// have, and required ones that are missing, are refused before.
    #[must_use]
    pub fn dynamic<F>(
        self,
        prompt: Prompt,
        get: impl Fn(Arc<RunContext>, BTreeMap<String, String>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Vec<PromptMessage>, ToolError>> + Send + 'static,
    {
        self.insert_prompt(prompt, Arc::new(move |run, arguments| Box::pin(get(run, arguments))), None)
    }

    /// Adds a prompt as [`dynamic`](Self::dynamic), with messages of the content that tools have, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_mcp::{rmcp::model::{Prompt, Role}, server::PromptSet};
    /// use tool_runtime::Content;
    ///
    /// let chart = Prompt::new("chart", Some("Explains the chart."), None);
    /// let prompts = PromptSet::new().contents(chart, |_, _| async {
    ///     Ok(vec![(Role::User, Content::image(b"png".to_vec(), "image/png")), (Role::User, Content::text("Explain it."))])
    /// });
    /// # drop(prompts);
    /// ```
    #[must_use]
    pub fn contents<F>(
        self,
        prompt: Prompt,
        get: impl Fn(Arc<RunContext>, BTreeMap<String, String>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Vec<(Role, Content)>, ToolError>> + Send + 'static,
    {
        self.insert_prompt(prompt, wrap_content_getter(get), None)
    }

    /// Adds a prompt as [`contents`](Self::contents) and [`complete`](Self::complete) at once: no client sees the one without the other,
    /// also while the set is changed from several threads.
    #[must_use]
    pub fn contents_with_candidates<F>(
        self,
        prompt: Prompt,
        get: impl Fn(Arc<RunContext>, BTreeMap<String, String>) -> F + Send + Sync + 'static,
        complete: impl Fn(&RunContext, Completing<'_>) -> Vec<String> + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Vec<(Role, Content)>, ToolError>> + Send + 'static,
    {
        self.insert_prompt(prompt, wrap_content_getter(get), Some(Arc::new(complete)))
    }

    fn insert_prompt(self, prompt: Prompt, get: Arc<Get>, complete: Option<Arc<Complete>>) -> Self {
        self.prompts.insert_with_completion(prompt.name.clone(), (prompt, get), complete);
        self.prompts.changes.list_changed();
        self
    }

    /// Sets the candidates for the arguments of the prompt that was added last.
    #[must_use]
    pub fn complete(
        self,
        complete: impl Fn(&RunContext, Completing<'_>) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.prompts.set_completion_of_last(complete);
        self
    }

    /// Removes a prompt. Returns `false` if there is none.
    pub fn remove(&self, name: &str) -> bool {
        self.prompts.remove(name)
    }
}

/// Returns what gets the messages of the content that `get` returns.
fn wrap_content_getter<F>(
    get: impl Fn(Arc<RunContext>, BTreeMap<String, String>) -> F + Send + Sync + 'static,
) -> Arc<Get>
where
    F: Future<Output = Result<Vec<(Role, Content)>, ToolError>> + Send + 'static,
{
    Arc::new(move |run, arguments| {
        let messages = get(run, arguments);
        Box::pin(async move {
            let messages = messages.await?.into_iter();
            Ok(messages.map(|(role, content)| PromptMessage::new(role, to_block(&content))).collect())
        })
    })
}

/// Refuses missing and unknown arguments.
fn check_arguments(prompt: &Prompt, arguments: &BTreeMap<String, String>) -> Result<(), ToolError> {
    let known = prompt.arguments.as_deref().unwrap_or_default();
    for argument in known {
        if argument.required == Some(true) && !arguments.contains_key(&argument.name) {
            let message = format!("the argument `{}` of the prompt is missing", argument.name);
            return Err(ToolError::bad_parameter(message));
        }
    }
    match arguments.keys().find(|name| !known.iter().any(|it| it.name == **name)) {
        Some(name) => Err(ToolError::bad_parameter(format!("the prompt has no argument `{name}`"))),
        None => Ok(()),
    }
}

impl Prompts for PromptSet {
    fn list<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Prompt>, ToolError>> {
        let page = self.prompts.page(page, |(prompt, _)| prompt.clone(), |prompt| &prompt.name);
        Box::pin(std::future::ready(Ok(page)))
    }

    fn get<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ToolError>> {
        Box::pin(async move {
            let found = self.prompts.get(name, |(prompt, get)| (prompt.clone(), Arc::clone(get)));
            let (prompt, get) =
                found.ok_or_else(|| ToolError::not_found(format!("there is no prompt `{name}`")))?;
            check_arguments(&prompt, arguments)?;
            let mut result = GetPromptResult::new(get(Arc::clone(run), arguments.clone()).await?);
            result.description = prompt.description;
            Ok(result)
        })
    }

    fn complete<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        completing: Completing<'a>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        Box::pin(async move {
            let candidates = self.prompts.candidates(run, completing);
            candidates.ok_or_else(|| unknown_item_error("prompt", completing))
        })
    }

    fn completes(&self) -> bool {
        self.prompts.completes()
    }

    fn changes(&self) -> Option<&ChangeSignal> {
        Some(&self.prompts.changes)
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::PromptArgument;

    use super::*;

    #[test]
    fn arguments_of_a_prompt_are_known_and_the_required_ones_there() {
        let arguments = vec![PromptArgument::new("a").with_required(true), PromptArgument::new("b")];
        let prompt = Prompt::new("p", None::<&str>, Some(arguments));
        let problem = |prompt: &Prompt, names: &[&str]| {
            let given = names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
            check_arguments(prompt, &given).err().map(|error| error.feedback())
        };
        assert_eq!(problem(&prompt, &["a"]), None);
        assert_eq!(problem(&prompt, &["a", "b"]), None);
        let has = |names: &[&str], expected: &str| {
            let problem = problem(&prompt, names);
            assert!(problem.as_deref().is_some_and(|it| it.contains(expected)), "{problem:?}");
        };
        has(&["b"], "the argument `a` of the prompt is missing");
        has(&["a", "c"], "the prompt has no argument `c`");
        let none = Prompt::new("p", None::<&str>, None);
        assert_eq!(problem(&none, &[]), None);
        assert!(problem(&none, &["a"]).is_some());
    }
}
