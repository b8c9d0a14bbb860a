//! The text that a model reads in place of the end of its run.

use tool_runtime::{policy::Escape, serde_json::Value};

use super::Todo;
use crate::todo::TodoStatus;

/// The maximum number of tasks that a reminder names.
const MAX_NAMED_TODOS: usize = 20;
/// The maximum number of characters of a task in a reminder.
const MAX_TODO_CHARS: usize = 200;

/// A reminder of open tasks.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TodoReminder<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The open tasks, in order.
    pub open: &'a [Todo],
    /// The number of the reminder in the run, from 1.
    pub number: u32,
    /// The maximum number of reminders.
    pub max: u32,
    /// The name of the tool by which the model declares that it cannot go on.
    pub blocker: &'a str,
}

impl TodoReminder<'_> {
    /// Returns the default text. Tasks are written as JSON texts of one line, so that none looks like another line of the reminder.
    #[must_use]
    pub fn default_text(&self) -> String {
        let tasks = if self.open.len() == 1 { "1 task is" } else { "tasks are" };
        let count = if self.open.len() == 1 { String::new() } else { format!("{} ", self.open.len()) };
        let mut text = format!("Your answer was not accepted: {count}{tasks} open in your task list.\n");
        for todo in self.open.iter().take(MAX_NAMED_TODOS) {
            text.push_str(&format!("- {} ({})\n", json_excerpt(&todo.content), status_name(todo.status)));
        }
        let more = self.open.len().saturating_sub(MAX_NAMED_TODOS);
        if more > 0 {
            text.push_str(&format!("- and {more} more\n"));
        }
        let rest = format!(
            "Do them now, and write the list by `todo_write` as you go on. Remove tasks that are no longer needed. If something that you \
             cannot change prevents them, call `{}` with the reason. The user does not see this message.",
            self.blocker
        );
        text + &rest
    }
}

/// Returns the beginning of a text as a JSON text without characters that are invisible.
fn json_excerpt(text: &str) -> String {
    let mut excerpt: String = text.chars().take(MAX_TODO_CHARS).collect();
    if excerpt.len() < text.len() {
        excerpt.push('…');
    }
    Escape::json(&Value::from(excerpt).to_string())
}

fn status_name(status: TodoStatus) -> &'static str {
    match status {
        TodoStatus::Pending => "pending",
        TodoStatus::InProgress => "in_progress",
        TodoStatus::Completed => "completed",
    }
}
