//! The tool by which a model declares that it cannot go on.

use std::sync::Arc;

use tool_runtime::{RunContext, Tool, ToolContext, ToolError, ToolName, builder::ToolBuilder, tool_args};

use super::{TodoEvent, TodoObservers, TodoTools, branch_or_agent};

/// The default name of the tool.
const DEFAULT_NAME: &str = "todo_declare_blocker";

const DEFAULT_DESCRIPTION: &str = "Declares that the open tasks cannot be done now, for instance since an answer of the user or a \
permission is missing. The tasks stay open, and you may answer the user.";

/// The name and the description of the tool.
#[derive(Clone)]
pub(super) struct Blocker {
    /// `None` for the default.
    pub(super) name: Option<ToolName>,
    pub(super) description: Arc<str>,
}

/// The arguments of the tool.
#[tool_args]
struct Declaration {
    /// The cause that prevents the open tasks, and what is needed to go on.
    #[schemars(length(max = 2_000))]
    reason: String,
}

impl Blocker {
    /// Returns the name of the tool.
    pub(super) fn name(&self) -> &str {
        self.name.as_ref().map_or(DEFAULT_NAME, ToolName::as_str)
    }

    /// Returns the sentence of the instruction about the tool.
    pub(super) fn instruction(&self) -> String {
        format!(
            "Do not answer while tasks are open. If something that you cannot change prevents them, call `{}` with the reason first.",
            self.name()
        )
    }

    /// Creates the tool for the lists of `todos`.
    pub(super) fn build_tool(&self, todos: TodoTools, observers: TodoObservers) -> impl Tool + 'static {
        let builder = match &self.name {
            Some(name) => ToolBuilder::named(name.clone()),
            None => ToolBuilder::new(DEFAULT_NAME),
        };
        builder.description(self.description.to_string()).expect_handler(
            move |declaration: Declaration, cx: ToolContext| {
                let result = declare_blocker(&todos, &observers, &declaration, &cx);
                async move { result }
            },
        )
    }

    /// Returns `true` if the model of this run has declared a blocker.
    pub(super) fn is_declared(&self, todos: &TodoTools, run: &RunContext) -> bool {
        run.state().get(&declaration_state_key(todos, run)).is_some_and(|id| *id == *run.id().to_string())
    }
}

impl Default for Blocker {
    fn default() -> Self {
        Self { name: None, description: DEFAULT_DESCRIPTION.into() }
    }
}

/// Returns the name of the state of a declaration, which ends with the run.
fn declaration_state_key(todos: &TodoTools, run: &RunContext) -> String {
    format!("temp:blocker:{}", todos.state_key_of_branch(branch_or_agent(run)))
}

fn declare_blocker(
    todos: &TodoTools,
    observers: &TodoObservers,
    declaration: &Declaration,
    cx: &ToolContext,
) -> Result<&'static str, ToolError> {
    let reason = &*declaration.reason;
    if reason.trim().is_empty() {
        let message = "reason is blank; say what prevents the open tasks, and what is needed to go on";
        return Err(ToolError::bad_parameter(message));
    }
    if let Some(run) = cx.run() {
        // A store may keep the value longer than it should: it holds for this run only.
        cx.state().set(declaration_state_key(todos, run), run.id().to_string())?;
        let (agent, branch) = (run.agent().unwrap_or_default(), branch_or_agent(run));
        observers.emit(&TodoEvent::BlockerDeclared { agent, branch, reason });
    }
    Ok("Noted. The open tasks stay open. Tell the user what prevents them, and what is needed to go on.")
}
