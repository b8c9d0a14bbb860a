//! The task list as a part of an agent that does not end with open tasks.
//!
//! The enforcer decides about answers alone ([`AgentHook::before_end`]): a response with calls, one that was cut off and an error
//! never reach it. Its reminder is not stored, so that the history of the session has what the user and the model said. Reminders are
//! counted for the run, and not since the last progress, so that no model is reminded for ever.

mod blocker;
mod event;
mod reminder;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use tool_agent::{AgentHook, AgentPart, Message, StepEnd};
use tool_runtime::{Registry, RunContext, ToolError, ToolName, guard::catch};

use self::{blocker::Blocker, event::TodoObservers};
pub use self::{event::TodoEvent, reminder::TodoReminder};
use super::{TODO_INSTRUCTION, Todo, TodoTools, branch_or_agent};

/// The default of [`TodoEnforcer::max_reminders`].
const DEFAULT_MAX_REMINDERS: u32 = 3;

/// The task list as a part of an agent: an answer with open tasks is not accepted, and the model is reminded of them.
///
/// It brings the tools `todo_write` and `todo_declare_blocker`, the hook, and an instruction. Without the enforcement, add
/// [`TodoTools`] as the part.
///
/// A run that ends by its output tool, by a tool that terminates it, at a limit or by an error is not continued.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
/// use tool_builtins::todo::TodoEnforcer;
/// use tool_runtime::prelude::*;
///
/// let list = |status: &str| {
///     let todo = json!({ "content": "Water the plants", "activeForm": "Watering the plants", "status": status });
///     Reply::call("todo_write", json!({ "todos": [todo] }))
/// };
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([list("pending"), Reply::text("Done."), list("completed"), Reply::text("Really done.")]);
/// let agent = Agent::builder("gardener", model).with(TodoEnforcer::new()).build()?;
/// assert_eq!(Runner::new(agent).run("Water the plants.").answer().await?, "Really done.");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[must_use = "it does nothing until it is added to an agent"]
#[derive(Clone)]
pub struct TodoEnforcer {
    todos: TodoTools,
    max_reminders: u32,
    only: Option<BTreeSet<String>>,
    except: BTreeSet<String>,
    blocker: Blocker,
    instruction: Option<Arc<str>>,
    formatter: Option<Arc<ReminderFormatter>>,
    observers: TodoObservers,
}

type ReminderFormatter = dyn Fn(&TodoReminder<'_>) -> String + Send + Sync;

/// The reminders of a run so far.
#[derive(Default)]
struct ReminderCount(AtomicU32);

impl TodoEnforcer {
    /// Creates an enforcer with its defaults.
    pub fn new() -> Self {
        Self {
            todos: TodoTools::new(),
            max_reminders: DEFAULT_MAX_REMINDERS,
            only: None,
            except: BTreeSet::new(),
            blocker: Blocker::default(),
            instruction: None,
            formatter: None,
            observers: TodoObservers::default(),
        }
    }

    /// Sets the tool `todo_write`, with its key and its messages. Default: [`TodoTools::new`].
    pub fn tools(mut self, todos: TodoTools) -> Self {
        self.todos = todos;
        self
    }

    /// Sets the maximum number of reminders in a run; then an answer is accepted with open tasks. Default: 3, also for 0.
    pub fn max_reminders(mut self, reminders: u32) -> Self {
        self.max_reminders = if reminders == 0 { DEFAULT_MAX_REMINDERS } else { reminders };
        self
    }

    /// Enforces the lists of these agents only. Default: all agents that have the part.
    pub fn only_agents<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.only = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Adds agents whose lists are not enforced.
    pub fn except_agents<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.except.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the name of the tool by which a model declares that it cannot go on, and its description. Default: `todo_declare_blocker`.
    pub fn blocker(mut self, name: ToolName, description: impl Into<Arc<str>>) -> Self {
        self.blocker = Blocker { name: Some(name), description: description.into() };
        self
    }

    /// Sets the text that follows the instruction of the agent. Default: [`TODO_INSTRUCTION`], and the blocker. An empty text is none.
    pub fn instruction(mut self, text: impl Into<Arc<str>>) -> Self {
        self.instruction = Some(text.into());
        self
    }

    /// Sets the text of reminders. Default: [`TodoReminder::default_text`], which is also used where the result is blank.
    pub fn reminder(mut self, text: impl Fn(&TodoReminder<'_>) -> String + Send + Sync + 'static) -> Self {
        self.formatter = Some(Arc::new(text));
        self
    }

    /// Adds an observer of what the enforcer does. A panic of it has no effect.
    pub fn observer(mut self, observer: impl Fn(&TodoEvent<'_>) + Send + Sync + 'static) -> Self {
        self.observers.add(Arc::new(observer));
        self
    }

    /// Returns `true` if the list of the agent is enforced.
    fn applies_to(&self, agent: &str) -> bool {
        !self.except.contains(agent) && self.only.as_ref().is_none_or(|names| names.contains(agent))
    }

    /// Returns the open tasks of a run whose model has not declared a blocker. A list that cannot be read has none.
    fn open_todos(&self, run: &RunContext) -> Vec<Todo> {
        if self.blocker.is_declared(&self.todos, run) {
            return Vec::new();
        }
        let mut todos = self.todos.of_run(run).ok().flatten().unwrap_or_default();
        todos.retain(Todo::is_open);
        todos
    }

    fn reminder_text(&self, reminder: &TodoReminder<'_>) -> String {
        let own = self.formatter.as_ref().map(|format| format(reminder));
        own.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| reminder.default_text())
    }
}

impl AgentHook for TodoEnforcer {
    async fn before_end(&self, step: &StepEnd) -> Result<Option<Message>, ToolError> {
        let run = &*step.run;
        let agent = run.agent().unwrap_or_default();
        if !self.applies_to(agent) {
            return Ok(None);
        }
        let open = self.open_todos(run);
        if open.is_empty() {
            return Ok(None);
        }
        let branch = branch_or_agent(run);
        // Child runs copy the values of a run, and several agents share those of one: each has a key of its own.
        let key = format!("tool_builtins.todo.{}.{branch}", run.id());
        let count = run.value_or_insert_with(&key, ReminderCount::default);
        let number = count.0.load(Ordering::Relaxed).saturating_add(1);
        let max = self.max_reminders;
        if number > max {
            self.observers.emit(&TodoEvent::Exhausted { agent, branch, open: &open, max });
            return Ok(None);
        }
        count.0.store(number, Ordering::Relaxed);
        self.observers.emit(&TodoEvent::Blocked { agent, branch, open: &open, number, max });
        let reminder = TodoReminder { agent, open: &open, number, max, blocker: self.blocker.name() };
        Ok(Some(Message::user(self.reminder_text(&reminder))))
    }
}

impl From<TodoEnforcer> for AgentPart {
    fn from(enforcer: TodoEnforcer) -> Self {
        let tools = Registry::builder()
            .toolset(enforcer.todos.clone())
            .add(enforcer.blocker.build_tool(enforcer.todos.clone(), enforcer.observers.clone()));
        let instruction = match &enforcer.instruction {
            Some(own) => Arc::clone(own),
            None => format!("{TODO_INSTRUCTION}\n{}", enforcer.blocker.instruction()).into(),
        };
        let key = Arc::clone(&enforcer.todos.key);
        Self::new("todo").tools(tools).instruction(instruction).branch_state(key).hook(enforcer)
    }
}

/// The task list without enforcement: the tool, and [`TODO_INSTRUCTION`].
impl From<TodoTools> for AgentPart {
    fn from(todos: TodoTools) -> Self {
        let key = Arc::clone(&todos.key);
        Self::new("todo")
            .tools(Registry::builder().toolset(todos))
            .instruction(TODO_INSTRUCTION)
            .branch_state(key)
    }
}

impl Default for TodoEnforcer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TodoEnforcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TodoEnforcer")
            .field("todos", &self.todos)
            .field("max_reminders", &self.max_reminders)
            .field("only", &self.only)
            .field("except", &self.except)
            .finish_non_exhaustive()
    }
}
