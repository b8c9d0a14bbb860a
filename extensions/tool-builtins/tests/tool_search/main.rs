//! Tests of the search for tools.

#![allow(missing_docs, reason = "fixtures speak for themselves")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

mod call_tool;
mod catalogue;
mod embedder;
mod http_embedder;
mod index;
mod model_choice;
mod scores;
mod select;

use tool_runtime::{
    Registry, ToolDefinition, ToolName,
    definition::Prepared,
    prelude::*,
    registry::RegistryBuilder,
    schema::{Arguments, InputSchema},
};

/// A tool that returns its name and its arguments.
#[derive(Clone)]
struct Fixed(ToolDefinition);

impl Fixed {
    fn new(name: &str, description: &str, schema: Value) -> Self {
        let name = ToolName::new(name.to_owned()).unwrap();
        Self(ToolDefinition::new(name, description.to_owned(), InputSchema::new(schema).unwrap()))
    }
}

impl Tool for Fixed {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let text = format!("{} {}", self.0.name(), arguments.as_str());
        Ok(Prepared::new(arguments, move |_, _| Box::pin(async move { Ok(ToolOutput::from(text)) })))
    }
}

/// Returns tools with these names and descriptions.
fn tools_of<'t>(named: impl IntoIterator<Item = (&'t str, &'t str)>) -> RegistryBuilder {
    let schema = || json!({ "type": "object", "properties": { "id": { "type": "string" } } });
    let add = |builder: RegistryBuilder, (name, description): (&str, &str)| {
        builder.add(Fixed::new(name, description, schema()))
    };
    named.into_iter().fold(Registry::builder(), add)
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
