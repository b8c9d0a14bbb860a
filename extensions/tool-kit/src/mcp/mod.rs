//! Catalogues, prompts and resources for the clients of an MCP server, and the items of other servers (feature `mcp`).
//!
//! [`serve_catalogue`] serves all items of a catalogue. Single ones are offered beside those that a server has:
//!
//! ```
//! use tool_kit::{mcp::{offer_prompt, offer_resource}, prompt::PromptFile, resource::StoredResource};
//! use tool_mcp::server::{McpServer, PromptSet, ResourceSet};
//! use tool_runtime::Registry;
//!
//! # fn example() -> anyhow::Result<()> {
//! let explain = PromptFile::parse("---\nname: explain\n---\nExplain {{ .topic }}.")?;
//! let prompts = offer_prompt(PromptSet::new(), explain);
//! let resources = offer_resource(ResourceSet::new(), StoredResource::text("notes", "Buy milk.")?);
//! let server = McpServer::new(Registry::discover()?).prompts(prompts).resources(resources);
//! # drop(server);
//! # Ok(())
//! # }
//! ```

mod connector;
mod input;
mod serve;
mod served_prompts;
mod served_resources;
mod server_items;
mod source;

use std::sync::Arc;

use tool_mcp::{
    rmcp::model,
    server::{PromptSet, ResourceSet, TemplateError},
};
use tool_runtime::{Content, RunContext, ToolError, serde_json::Value};

use self::input::{InputReader, candidates_of};
pub use self::{
    connector::McpConnector,
    serve::{RUN_PROMPT, ServedCatalogue, offer_catalogue, serve_catalogue},
    source::{McpConnectorFactory, McpSource},
};
use crate::{
    prompt::{FolderChange, FolderError, Prompt, PromptDefinition, PromptFolder, PromptRole},
    resource::{ReadableResource, ResourceTemplate},
};

/// The name of the argument of a prompt whose input is no object.
const INPUT_ARGUMENT: &str = "input";

/// Adds a prompt to those that a server offers. One of the same name is replaced; clients learn of it.
///
/// The members of an object are the arguments, which the protocol sends as texts: one that does not fit as a text is read as JSON, such as `3`,
/// `true` or `["a"]`. An input of another type is the argument `input`. Values of an `enum`, and of a boolean, are candidates while a user types.
/// The [instruction](crate::prompt::RenderedPrompt::instruction) of a prompt, for which the protocol has no place, is its first message.
#[must_use]
pub fn offer_prompt(prompts: PromptSet, prompt: impl Prompt) -> PromptSet {
    let prompt: Arc<dyn Prompt> = Arc::new(prompt);
    let rendered = Arc::clone(&prompt);
    add_prompt_with_messages(prompts, prompt, move |run, input| {
        let prompt = Arc::clone(&rendered);
        async move {
            let rendered = prompt.render(&run, &input).await?;
            let instruction = rendered.instruction.map(|text| (model::Role::User, Content::text(text)));
            let messages =
                rendered.messages.into_iter().map(|message| (role_of(message.role), message.content));
            Ok(instruction.into_iter().chain(messages).collect())
        }
    })
}

/// Adds a prompt whose messages are those that `messages` returns for an input.
fn add_prompt_with_messages<F>(
    prompts: PromptSet,
    prompt: Arc<dyn Prompt>,
    messages: impl Fn(Arc<RunContext>, Value) -> F + Send + Sync + 'static,
) -> PromptSet
where
    F: Future<Output = Result<Vec<(model::Role, Content)>, ToolError>> + Send + 'static,
{
    let definition = prompt.definition();
    let (described, reader) = (described_prompt(definition), InputReader::new(definition));
    let contents = move |run: Arc<RunContext>, arguments| messages(run, reader.read(arguments));
    prompts.contents_with_candidates(described, contents, move |_, completing| {
        candidates_of(prompt.definition(), completing.argument, completing.value)
    })
}

/// Adds a resource to those that a server offers. One of the same URI is replaced; clients that subscribed to it learn of it.
#[must_use]
pub fn offer_resource(resources: ResourceSet, resource: impl ReadableResource) -> ResourceSet {
    let resource: Arc<dyn ReadableResource> = Arc::new(resource);
    resources.document(described_resource(&*resource, resource.uri().as_str()), move |run| {
        let resource = Arc::clone(&resource);
        async move { resource.read(&run).await }
    })
}

/// Adds resources whose URIs have one form to those that a server offers. Values of an `enum` are candidates for a variable while a user types.
/// Templates of one URI template are replaced.
///
/// # Errors
///
/// As [`ResourceSet::template`]; a [`UriTemplate`](crate::resource::UriTemplate) is always one that a set can match.
pub fn offer_template(
    resources: ResourceSet,
    template: impl ResourceTemplate,
) -> Result<ResourceSet, TemplateError> {
    let template: Arc<dyn ResourceTemplate> = Arc::new(template);
    let completed = Arc::clone(&template);
    let resources = resources.template_document(described_template(&*template), move |run, variables| {
        let template = Arc::clone(&template);
        async move { template.read(&run, &variables).await }
    })?;
    Ok(resources.complete(move |_, completing| completed.candidates(completing.argument, completing.value)))
}

fn described_template(template: &dyn ResourceTemplate) -> model::ResourceTemplate {
    let mut described = model::ResourceTemplate::new(template.uri_template().as_str(), template.name());
    described.description = template.description().map(str::to_owned);
    described.mime_type = Some(template.mime_type().to_owned()).filter(|mime_type| !mime_type.is_empty());
    described
}

/// Loads the folder again, and changes what a server offers accordingly. Returns what has changed.
///
/// # Errors
///
/// As [`PromptFolder::reload`]; nothing changes then.
pub fn reload_prompts(prompts: &PromptSet, folder: &PromptFolder) -> Result<Vec<FolderChange>, FolderError> {
    folder.reload_then(|changes| {
        for change in changes {
            match change {
                FolderChange::Removed(name) => {
                    prompts.remove(name);
                }
                FolderChange::Added(name) | FolderChange::Changed(name) => {
                    if let Some(prompt) = folder.get(name) {
                        drop(offer_prompt(prompts.clone(), prompt));
                    }
                }
            }
        }
    })
}

fn described_prompt(definition: &PromptDefinition) -> model::Prompt {
    let mut arguments: Vec<_> = definition.arguments().into_iter().map(described_argument).collect();
    if let Some(input) = definition.input().filter(|_| !input::takes_arguments_as_members(definition)) {
        let mut argument = model::PromptArgument::new(INPUT_ARGUMENT).with_required(true);
        argument.description = input.get("description").and_then(|text| text.as_str()).map(str::to_owned);
        arguments = vec![argument];
    }
    let arguments = Some(arguments).filter(|arguments| !arguments.is_empty());
    let mut prompt = model::Prompt::new(definition.name(), definition.description(), arguments);
    prompt.title = definition.title().map(str::to_owned);
    prompt
}

fn described_resource(resource: &dyn ReadableResource, uri: &str) -> model::Resource {
    let mut described = model::Resource::new(uri, resource.name());
    described.description = resource.description().map(str::to_owned);
    described.mime_type = Some(resource.mime_type().to_owned()).filter(|mime_type| !mime_type.is_empty());
    described
}

fn described_argument(argument: crate::prompt::PromptArgument) -> model::PromptArgument {
    let mut described = model::PromptArgument::new(argument.name).with_required(argument.required);
    described.description = argument.description;
    described
}

fn role_of(role: PromptRole) -> model::Role {
    match role {
        PromptRole::User => model::Role::User,
        PromptRole::Assistant => model::Role::Assistant,
    }
}
