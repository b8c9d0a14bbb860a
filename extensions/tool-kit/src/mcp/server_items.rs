//! Prompts and resources of MCP servers as items of the program.

use std::sync::Arc;

use tool_mcp::{client::McpToolSet, rmcp::model};
use tool_runtime::{
    BoxFuture, Content, RunContext, ToolError, output,
    serde_json::{Map, Value, json},
};

use crate::{
    prompt::{Prompt, PromptDefinition, PromptError, PromptMessage, PromptRole, RenderedPrompt},
    resource::{ReadableResource, ResourceError, ResourceUri},
};

/// A prompt of a server.
pub(super) struct ServerPrompt {
    definition: PromptDefinition,
    set: McpToolSet,
}

impl ServerPrompt {
    pub(super) fn of_listed(listed: model::Prompt, set: &McpToolSet) -> Result<Self, PromptError> {
        let mut definition = PromptDefinition::new(listed.name)?;
        if let Some(title) = listed.title.filter(|title| !title.trim().is_empty()) {
            definition = definition.with_unchecked_title(&title);
        }
        if let Some(description) = listed.description {
            definition = definition.with_description(description);
        }
        let arguments = listed.arguments.unwrap_or_default();
        let required: Vec<_> =
            arguments.iter().filter(|it| it.required == Some(true)).map(|it| it.name.clone()).collect();
        let properties: Map<String, Value> = arguments
            .into_iter()
            .map(|argument| {
                let description = argument.description.or(argument.title);
                let property = match description {
                    Some(description) => json!({ "type": "string", "description": description }),
                    None => json!({ "type": "string" }),
                };
                (argument.name, property)
            })
            .collect();
        let input = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        let definition = definition.with_input(input)?;
        Ok(Self { definition, set: set.clone() })
    }

    async fn request_messages(&self, input: &Value) -> Result<RenderedPrompt, ToolError> {
        self.definition.check_input(input)?;
        let arguments = input.as_object().cloned().unwrap_or_default();
        let messages = self.set.prompt_contents(self.definition.name(), arguments).await?;
        Ok(RenderedPrompt::new(messages.into_iter().map(|(role, content)| {
            let role = match role {
                model::Role::Assistant => PromptRole::Assistant,
                _ => PromptRole::User,
            };
            PromptMessage::new(role, content)
        })))
    }
}

impl Prompt for ServerPrompt {
    fn definition(&self) -> &PromptDefinition {
        &self.definition
    }

    fn render<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        input: &'a Value,
    ) -> BoxFuture<'a, Result<RenderedPrompt, ToolError>> {
        Box::pin(self.request_messages(input))
    }
}

/// A resource of a server.
pub(super) struct ServerResource {
    uri: ResourceUri,
    listed: model::Resource,
    set: McpToolSet,
}

impl ServerResource {
    pub(super) fn of_listed(listed: model::Resource, set: &McpToolSet) -> Result<Self, ResourceError> {
        let uri = ResourceUri::parse(&listed.uri)?;
        Ok(Self { uri, listed, set: set.clone() })
    }

    /// Returns the document of the URI, or else the first one.
    async fn request_document(&self) -> Result<output::Resource, ToolError> {
        let mut documents = Vec::new();
        let mut problem = None;
        for content in self.set.resource_contents(self.uri.as_str()).await? {
            match content {
                Content::Resource { resource } => documents.push(resource),
                other => problem = other.as_text().map(str::to_owned),
            }
        }
        let place = documents.iter().position(|it| it.uri == self.uri.as_str()).unwrap_or(0);
        if place < documents.len() {
            return Ok(documents.swap_remove(place));
        }
        let problem = problem.unwrap_or_else(|| "the server sent no document".to_owned());
        Err(ToolError::failed(format!("the resource `{}` cannot be read: {problem}", self.uri)))
    }
}

impl ReadableResource for ServerResource {
    fn uri(&self) -> &ResourceUri {
        &self.uri
    }

    fn name(&self) -> &str {
        &self.listed.name
    }

    fn description(&self) -> Option<&str> {
        self.listed.description.as_deref()
    }

    fn mime_type(&self) -> &str {
        self.listed.mime_type.as_deref().unwrap_or_default()
    }

    fn read<'a>(&'a self, _: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        Box::pin(self.request_document())
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { self.set.subscribe(self.uri.as_str()).await.map_err(ToolError::from) })
    }
}
