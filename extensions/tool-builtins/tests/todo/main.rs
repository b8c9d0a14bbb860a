//! Tests of the task list: the tool alone, and as a part of an agent.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod branches;
mod enforcer;
mod hostile;
mod observers;
mod sessions;
mod writes;

use std::sync::Arc;

use tool_agent::model::Reply;
use tool_builtins::TodoTools;
use tool_runtime::{Executor, ToolCall, prelude::*, schema::Arguments};

/// Returns a task as JSON.
fn todo(content: &str, status: &str) -> Value {
    json!({ "content": content, "activeForm": format!("doing {content}"), "status": status })
}

/// Returns tasks as JSON.
fn list(todos: &[(&str, &str)]) -> Value {
    todos.iter().map(|(content, status)| todo(content, status)).collect()
}

/// Returns the call that writes these tasks.
fn write(todos: &[(&str, &str)]) -> Reply {
    Reply::call("todo_write", json!({ "todos": list(todos) }))
}

/// The tool in a run of the agent `coder`.
struct World {
    todos: TodoTools,
    executor: Executor,
    run: Arc<RunContext>,
}

impl World {
    fn new(todos: TodoTools) -> Self {
        let executor = Executor::new(Registry::builder().toolset(todos.clone()).build().unwrap());
        Self { todos, executor, run: Arc::new(RunContext::new().with_agent("coder")) }
    }

    /// Calls the tool; returns the value of its result, or the error that the model reads.
    async fn call(&self, arguments: impl Into<Arguments<'static>>) -> Result<Value, String> {
        let call = ToolCall::new("todo_write", arguments.into());
        let outcomes = self.executor.batch(vec![call]).with_run(self.run.clone()).run().await;
        let result = outcomes[0].result().unwrap();
        match result.is_error() {
            true => Err(result.text().into_owned()),
            false => Ok(tool_runtime::serde_json::from_str(&result.text()).unwrap()),
        }
    }

    /// Writes these tasks.
    async fn write(&self, todos: &[(&str, &str)]) -> Result<Value, String> {
        self.call(json!({ "todos": list(todos) })).await
    }

    /// Returns the contents of the stored list.
    fn contents(&self) -> Option<Vec<String>> {
        let todos = self.todos.of_run(&self.run).unwrap()?;
        Some(todos.into_iter().map(|todo| todo.content).collect())
    }
}
