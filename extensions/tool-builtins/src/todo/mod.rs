//! A task list that a model keeps while it works, in the state of the session.
//!
//! [`TodoTools`] has the tool `todo_write`, which replaces the whole list: a list that is sent in full cannot be misnumbered. Nothing is
//! stored outside of [`State`]: the list lasts as long as the state of the session does, and a call that fails changes nothing.
//!
//! The list of a run is in the value `todos:BRANCH`, where `BRANCH` is the branch of the run, or the name of its agent; `todos` for calls
//! outside of an agent. Two agents of one session therefore have two lists. With the feature `agent`, [`TodoEnforcer`] does not let a run
//! end with open tasks.

#[cfg(feature = "agent")]
mod enforcer;
mod list;
mod nudge;

use std::{fmt, sync::Arc};

use tool_runtime::{
    context::RunContext,
    prelude::*,
    serde_json::{Map, Value},
};

#[cfg(feature = "agent")]
pub use self::enforcer::{TodoEnforcer, TodoEvent, TodoReminder};
pub use self::{
    list::{MAX_TEXT_CHARS, MAX_TODOS, Todo, TodoStatus},
    nudge::{DEFAULT_NUDGE, TodoChange},
};
use self::{
    list::{check_list, parse_list},
    nudge::NudgeHook,
};

/// The state of the list, without a branch.
const DEFAULT_KEY: &str = "todos";

/// An instruction (system prompt) about the task list, for [`TodoTools`] without a [`TodoEnforcer`]; the enforcer brings it by itself.
pub const TODO_INSTRUCTION: &str = "Keep a task list with `todo_write` for work of three or more steps, and for work that the user gives \
as a list. Write it before you begin. Each call replaces the whole list, so send all tasks, also completed ones. Exactly one task is \
`in_progress` while you work: set it before you begin the task, and set `completed` as soon as the task is done, not before and not \
several at once. Add tasks that you discover, and remove those that are no longer needed. A single simple request needs no list.";

/// The tool `todo_write` on the state of the session. Cheap to clone.
///
/// # Examples
///
/// ```
/// use tool_builtins::TodoTools;
/// use tool_runtime::{Executor, RunContext, ToolCall, prelude::*};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let todos = TodoTools::new();
/// let executor = Executor::new(Registry::builder().toolset(todos.clone()).build()?);
/// let run = std::sync::Arc::new(RunContext::new().with_agent("coder"));
/// let list = json!({ "todos": [
///     { "content": "Run the tests", "activeForm": "Running the tests", "status": "in_progress" },
/// ] });
/// executor.batch(vec![ToolCall::new("todo_write", list)]).with_run(run.clone()).run().await;
///
/// let stored = todos.of_run(&run)?.unwrap();
/// assert_eq!(stored[0].content, "Run the tests");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct TodoTools {
    key: Arc<str>,
    nudge: Arc<str>,
    nudge_hooks: Vec<Arc<NudgeHook>>,
    clears_when_done: bool,
}

/// The result of `todo_write`.
#[tool_args(serialize)]
#[serde(rename_all = "camelCase")]
struct TodosWritten {
    /// The next step.
    message: String,
    /// The list now; empty after all tasks are completed.
    todos: Vec<Todo>,
    /// The list before; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_todos: Option<Vec<Todo>>,
}

impl TodoTools {
    /// Creates the tool with its defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            key: DEFAULT_KEY.into(),
            nudge: DEFAULT_NUDGE.into(),
            nudge_hooks: Vec::new(),
            clears_when_done: true,
        }
    }

    /// Sets the name of the state, which is followed by `:BRANCH`. Default: `todos`. A blank name is ignored. The
    /// [prefix](tool_runtime::context::StateScope) of the name decides how long lists last: `temp:plan` ends with the run, and `user:plan`
    /// is seen by all sessions of a user.
    ///
    /// A child run is granted its own list if the name has no `temp:`, and does not begin with `_`.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Arc<str>>) -> Self {
        let key = key.into();
        if !key.trim().is_empty() {
            self.key = key;
        }
        self
    }

    /// Sets the message of each result. Default: [`DEFAULT_NUDGE`]. An empty text is no message.
    #[must_use]
    pub fn with_nudge(mut self, text: impl Into<Arc<str>>) -> Self {
        self.nudge = text.into();
        self
    }

    /// Adds a hook that adds to the message of a result, after a blank line. Hooks are called in the order in which they were added; an
    /// empty text adds nothing. A panic fails the call, and the list is unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_builtins::TodoTools;
    ///
    /// let todos = TodoTools::new().with_nudge_hook(|change| match change.is_done() {
    ///     true => "All tasks are done: summarise the changes for the user.".to_owned(),
    ///     false => String::new(),
    /// });
    /// ```
    #[must_use]
    pub fn with_nudge_hook(
        mut self,
        hook: impl Fn(&TodoChange<'_>) -> String + Send + Sync + 'static,
    ) -> Self {
        self.nudge_hooks.push(Arc::new(hook));
        self
    }

    /// Sets whether the list becomes empty once all of its tasks are completed. Default: `true`.
    #[must_use]
    pub fn clear_when_done(mut self, clears: bool) -> Self {
        self.clears_when_done = clears;
        self
    }

    /// Returns the list of the run's own branch: see [`read`](Self::read).
    ///
    /// # Errors
    ///
    /// Returns an error if the stored value is no list of tasks.
    pub fn of_run(&self, run: &RunContext) -> Result<Option<Vec<Todo>>, ToolError> {
        self.read_values(&run.state(), branch_or_agent(run))
    }

    /// Returns the list of a branch: `None` if none was written, and an empty one if it was cleared. The branch `""` belongs to
    /// calls outside of an agent.
    ///
    /// # Errors
    ///
    /// Returns an error if the stored value is no list of tasks. The next `todo_write` replaces it all the same.
    pub fn read(&self, state: &State, branch: &str) -> Result<Option<Vec<Todo>>, ToolError> {
        let key = self.state_key_of_branch(branch);
        state.value(&key).map(|value| parse_list(&key, &value)).transpose()
    }

    /// Returns the list of a branch as [`read`](Self::read) does, from the values of a run or a stored session.
    ///
    /// # Errors
    ///
    /// Returns an error if the stored value is no list of tasks.
    pub fn read_values(
        &self,
        values: &Map<String, Value>,
        branch: &str,
    ) -> Result<Option<Vec<Todo>>, ToolError> {
        let key = self.state_key_of_branch(branch);
        values.get(&key).map(|value| parse_list(&key, value)).transpose()
    }

    /// Returns the name of the state of a branch.
    fn state_key_of_branch(&self, branch: &str) -> String {
        match branch {
            "" => self.key.to_string(),
            branch => format!("{}:{branch}", self.key),
        }
    }

    /// Returns the message of a result.
    fn result_message(&self, change: &TodoChange<'_>, is_unreadable: bool) -> String {
        let unreadable = "The previous list could not be read, and was replaced.";
        let first = [&*self.nudge, if is_unreadable { unreadable } else { "" }].map(str::to_owned);
        let added = self.nudge_hooks.iter().map(|hook| hook(change));
        let texts: Vec<_> = first.into_iter().chain(added).filter(|text| !text.is_empty()).collect();
        texts.join("\n\n")
    }

    fn write_list(&self, submitted: &[Todo], cx: &ToolContext) -> Result<TodosWritten, ToolError> {
        check_list(submitted).map_err(ToolError::bad_parameter)?;
        let branch = cx.run().map(|run| branch_or_agent(run)).unwrap_or_default();
        let (old, is_unreadable) = match self.read(cx.state(), branch) {
            Ok(old) => (old, false),
            Err(_) => (None, true),
        };
        let change = TodoChange { old: old.as_deref(), submitted, branch };
        let todos = if self.clears_when_done && change.is_done() { Vec::new() } else { submitted.to_vec() };
        let message = self.result_message(&change, is_unreadable);
        cx.state().set(self.state_key_of_branch(branch), &todos)?;
        Ok(TodosWritten { message, todos, old_todos: old })
    }
}

#[toolset(name = "todo")]
impl TodoTools {
    /// Writes the task list of your work: replaces the whole list, so send all tasks, also completed ones. An empty list clears it. At most
    /// one task is in progress, and no two have the same content.
    #[tool(idempotent)]
    fn todo_write(
        &self,
        /// All tasks, in the order in which they are done.
        #[schemars(length(max = 200))]
        todos: Vec<Todo>,
        cx: &ToolContext,
    ) -> Result<TodosWritten, ToolError> {
        self.write_list(&todos, cx)
    }
}

/// Returns the branch of a run, whose list is its own.
fn branch_or_agent(run: &RunContext) -> &str {
    run.branch().or(run.agent()).unwrap_or_default()
}

impl Default for TodoTools {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TodoTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TodoTools").field("key", &self.key).finish_non_exhaustive()
    }
}
