//! The tools by which a model moves control: `transfer_to_agent` and `await_user_reply`.

use serde::Deserialize;
use serde_json::{Value, json};
use tool_runtime::{
    Tool, ToolDefinition, ToolError, ToolName, ToolOutput,
    definition::{Metadata, Prepared},
    output::Actions,
    schema::{Arguments, InputSchema},
};

use super::{AWAIT_TOOL, Agent, TRANSFER_TOOL};

/// The tool `transfer_to_agent`: its result asks for the transfer, which the run makes once the results of the batch are stored.
#[derive(Clone)]
pub(crate) struct TransferTool(ToolDefinition);

/// The tool `await_user_reply`, whose result the run recognizes by its name.
#[derive(Clone)]
pub(crate) struct AwaitReplyTool(ToolDefinition);

/// The arguments of a transfer.
#[derive(Deserialize)]
struct TransferArguments {
    agent_name: String,
    #[serde(default)]
    message: Option<String>,
}

impl TransferTool {
    /// Creates the tool for transfers to `targets`.
    pub(crate) fn new(targets: &[Agent]) -> Result<Self, ToolError> {
        let names: Vec<_> = targets.iter().map(Agent::name).collect();
        let properties = json!({
            "agent_name": { "type": "string", "enum": names, "description": "The name of the agent." },
            "message": { "type": "string", "description": "What the agent is to do, if the conversation does not say it." },
        });
        let lines: String = targets.iter().map(transfer_target_line).collect();
        let description = format!(
            "Transfers the conversation to another agent, which answers the user from then on. Call it if that agent is better suited. The \
             agents:{lines}"
        );
        control_tool_definition(TRANSFER_TOOL, description, &properties, &["agent_name"]).map(Self)
    }
}

impl AwaitReplyTool {
    /// Creates the tool.
    pub(crate) fn new() -> Result<Self, ToolError> {
        let description = "Directs the next message of the user to you, once. Call it before you ask the user a question that only you can \
                           continue with; then ask.";
        control_tool_definition(AWAIT_TOOL, description.to_owned(), &json!({}), &[]).map(Self)
    }
}

/// Returns the line of an agent in the description of the tool.
fn transfer_target_line(agent: &Agent) -> String {
    match agent.description() {
        "" => format!("\n- `{}`", agent.name()),
        description => format!("\n- `{}`: {description}", agent.name()),
    }
}

fn control_tool_definition(
    name: &'static str,
    description: String,
    properties: &Value,
    required: &[&str],
) -> Result<ToolDefinition, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let name = ToolName::new(name).map_err(|error| ToolError::failed(error.to_string()))?;
    let schema = InputSchema::new(schema).map_err(|error| ToolError::failed(error.to_string()))?;
    // Nothing changes outside of the run: the call runs again after a crash.
    let metadata = Metadata { read_only: Some(true), idempotent: Some(true), ..Metadata::default() };
    Ok(ToolDefinition::new(name, description, schema).with_metadata(metadata))
}

impl Tool for TransferTool {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, move |arguments, _| {
            Box::pin(async move {
                let canonical = self.0.canonical(arguments)?.into_text();
                let TransferArguments { agent_name, message } = serde_json::from_str(&canonical)
                    .map_err(|error| ToolError::bad_parameter(error.to_string()))?;
                let text = match message {
                    None => format!("The agent `{agent_name}` has the conversation."),
                    Some(message) => {
                        format!("The agent `{agent_name}` has the conversation, with the message: {message}")
                    }
                };
                Ok(ToolOutput::from(text)
                    .with_actions(Actions { transfer: Some(agent_name), ..Actions::default() }))
            })
        }))
    }
}

impl Tool for AwaitReplyTool {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let text = "The next message of the user is directed to you. Ask your question now.";
        Ok(Prepared::new(arguments, move |_, _| Box::pin(std::future::ready(Ok(ToolOutput::from(text))))))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;
    use crate::ScriptedModel;

    #[test]
    fn the_tools_of_control_run_again_after_a_crash_and_name_their_agents() {
        let agent = |name: &str, description: &str| {
            let agent = Agent::builder(name, ScriptedModel::new([])).description(description);
            agent.build().unwrap()
        };
        let targets = [agent("billing", "Knows invoices."), agent("tech", "")];
        let (transfer, reply) = (TransferTool::new(&targets).unwrap(), AwaitReplyTool::new().unwrap());
        for (definition, name) in [(transfer.definition(), TRANSFER_TOOL), (reply.definition(), AWAIT_TOOL)] {
            let metadata = definition.metadata();
            assert_eq!(definition.name().as_str(), name);
            assert_eq!((metadata.read_only, metadata.idempotent), (Some(true), Some(true)), "{name}");
        }
        let schema = transfer.definition().input_schema().as_value();
        assert_eq!(schema["properties"]["agent_name"]["enum"], json!(["billing", "tech"]));
        assert_eq!(
            (&schema["required"], &schema["additionalProperties"]),
            (&json!(["agent_name"]), &json!(false))
        );
        let description = transfer.definition().description();
        assert!(description.ends_with("\n- `billing`: Knows invoices.\n- `tech`"), "{description}");
    }
}
