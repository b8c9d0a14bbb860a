//! Tasks, and the rules that each list keeps.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use tool_runtime::{
    ToolError,
    schemars::{self, JsonSchema},
    serde_json::Value,
    tool_args,
};

/// The maximum number of tasks of a list.
pub const MAX_TODOS: usize = 200;
/// The maximum number of characters of a text of a task.
pub const MAX_TEXT_CHARS: usize = 1_000;

/// A task.
#[tool_args(serialize)]
#[derive(Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Todo {
    /// The work, such as "Run the tests".
    #[schemars(length(max = 1_000))]
    pub content: String,
    /// The same while it is done, such as "Running the tests".
    #[schemars(length(max = 1_000))]
    pub active_form: String,
    /// The progress.
    pub status: TodoStatus,
}

/// The progress of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "schemars", inline)]
#[non_exhaustive]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

impl Todo {
    /// Creates a task.
    pub fn new(content: impl Into<String>, active_form: impl Into<String>, status: TodoStatus) -> Self {
        Self { content: content.into(), active_form: active_form.into(), status }
    }

    /// Returns `true` unless the task is completed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.status != TodoStatus::Completed
    }
}

/// Checks the rules of a list; returns the first mistake, with its place.
pub(super) fn check_list(todos: &[Todo]) -> Result<(), String> {
    if todos.len() > MAX_TODOS {
        let count = todos.len();
        return Err(format!(
            "todos has {count} tasks, and at most {MAX_TODOS} are allowed; merge small ones"
        ));
    }
    let mut contents = HashSet::with_capacity(todos.len());
    let mut active = None;
    for (index, todo) in todos.iter().enumerate() {
        for (member, text) in [("content", &todo.content), ("activeForm", &todo.active_form)] {
            if text.is_empty() {
                return Err(format!("todos[{index}].{member} is empty; write a text"));
            }
            if text.chars().nth(MAX_TEXT_CHARS).is_some() {
                return Err(format!(
                    "todos[{index}].{member} is longer than {MAX_TEXT_CHARS} characters; shorten it"
                ));
            }
        }
        if !contents.insert(&*todo.content) {
            return Err(format!("todos[{index}].content occurs twice; give each task a content of its own"));
        }
        if todo.status == TodoStatus::InProgress
            && let Some(first) = active.replace(index)
        {
            return Err(format!(
                "todos[{first}] and todos[{index}] are both in_progress; set one of them to pending or completed"
            ));
        }
    }
    Ok(())
}

/// Reads the list in the state `key`.
///
/// # Errors
///
/// Returns an error if the value is no list that `todo_write` could have written. It does not repeat the value.
pub(super) fn parse_list(key: &str, value: &Value) -> Result<Vec<Todo>, ToolError> {
    let unreadable =
        |reason: &str| format!("the state `{key}` is no list of tasks: {reason}; write the whole list again");
    let Some(items) = value.as_array() else { return Err(ToolError::failed(unreadable("it is not a list"))) };
    if items.len() > MAX_TODOS {
        let reason = format!("it has {} items, and at most {MAX_TODOS} are allowed", items.len());
        return Err(ToolError::failed(unreadable(&reason)));
    }
    let todos = Vec::<Todo>::deserialize(value).map_err(|error| {
        // The text of the error may repeat the value: it is for the log only.
        ToolError::from_source(error).with_message(unreadable("an item is no task"))
    })?;
    match check_list(&todos) {
        Ok(()) => Ok(todos),
        Err(reason) => Err(ToolError::failed(unreadable(&reason))),
    }
}
