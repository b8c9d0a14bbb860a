//! Prompts that agents run.

mod models;
mod runs;
mod stack;
mod tools;

use std::sync::Arc;

use tool_agent::{ScriptedModel, model::Reply};
use tool_kit::{
    agent::{AgentDelegate, Models},
    catalogue::{Catalogue, json_input},
    prompt::PromptFile,
};
use tool_runtime::{
    RunContext, Toolbox,
    output::{Resource, ResourceBody},
    prelude::*,
};

/// Adds two numbers.
#[tool(register = false, read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Multiplies two numbers.
#[tool(register = false, read_only)]
fn multiply(a: i64, b: i64) -> i64 {
    a * b
}

/// Removes a file.
#[tool(register = false, confirm)]
fn remove(path: String) -> String {
    format!("{path} is removed")
}

fn tools() -> Registry {
    Registry::builder().tool::<add>().tool::<multiply>().tool::<remove>().build().unwrap()
}

/// A catalogue of the tools whose prompts `model` answers.
fn catalogue_of(model: &ScriptedModel, prompts: &[&str]) -> Catalogue {
    let delegate = AgentDelegate::new(Models::new(model.clone()).unwrap());
    let catalogue = Catalogue::of_tools(Toolbox::from_registry(&tools())).with_delegate(delegate);
    for prompt in prompts {
        catalogue.add_prompt(PromptFile::parse(prompt).unwrap()).unwrap();
    }
    catalogue
}

fn model(replies: impl IntoIterator<Item = Reply>) -> ScriptedModel {
    ScriptedModel::new(replies)
}

fn run() -> Arc<RunContext> {
    Arc::new(RunContext::new())
}

fn document(uri: &str, mime_type: &str, body: ResourceBody) -> Resource {
    Resource { uri: uri.to_owned(), mime_type: mime_type.to_owned(), body }
}

fn text_document(text: &str) -> Resource {
    document("text:input", "text/plain", ResourceBody::Text(text.to_owned()))
}

/// Calls a prompt with an input, and returns its text.
async fn answer(catalogue: &Catalogue, key: &str, input: Value) -> Result<String, ToolError> {
    let resource = catalogue.call(&run(), key, vec![json_input(&input)]).await?;
    Ok(match resource.map(|resource| resource.body) {
        Some(ResourceBody::Text(text)) => text,
        other => format!("{other:?}"),
    })
}

/// The names of the tools of each request.
fn tools_of_requests(model: &ScriptedModel) -> Vec<Vec<String>> {
    let names = |tools: &Registry| tools.definitions().iter().map(|it| it.name().to_string()).collect();
    model.requests().iter().map(|request| names(&request.tools)).collect()
}

/// The texts of the results that the last request of a model has.
fn results_of(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    let messages = &requests.last().unwrap().messages;
    let results = messages.iter().flat_map(|message| message.tool_results());
    results.map(|result| result.text().into_owned()).collect()
}
