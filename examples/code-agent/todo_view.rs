//! The task list on the terminal.

use std::ops::ControlFlow;
use tool_agent::{AgentHook, Step, StepEnd, model::Response};
use tool_builtins::{
    TodoTools,
    todo::{Todo, TodoStatus},
};
use tool_runtime::{RunContext, ToolError, policy::Escape};

/// Shows the task list at the beginning of a turn, and after each call that writes it.
pub(crate) struct TodoView {
    todos: TodoTools,
}

impl TodoView {
    pub(crate) fn new(todos: TodoTools) -> Self {
        Self { todos }
    }

    fn show(&self, run: &RunContext) {
        if let Ok(Some(todos)) = self.todos.of_run(run) {
            for todo in &todos {
                eprintln!("  {}", line_of(todo));
            }
        }
    }
}

/// Returns a task as one line. The model chose its text: characters that would show something else are escaped.
fn line_of(todo: &Todo) -> String {
    let (marker, text) = match todo.status {
        TodoStatus::Completed => ("[x]", &todo.content),
        TodoStatus::InProgress => ("[>]", &todo.active_form),
        _ => ("[ ]", &todo.content),
    };
    format!("{marker} {}", Escape::LINE.at_most(70).text(text))
}

impl AgentHook for TodoView {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        if step.number == 1 {
            self.show(step.run());
        }
        Ok(None)
    }

    async fn after_step(&self, end: &StepEnd) -> Result<ControlFlow<()>, ToolError> {
        if end.response.message.calls().any(|call| call.name == "todo_write") {
            self.show(&end.run);
        }
        Ok(ControlFlow::Continue(()))
    }
}
