//! A tool of a server as a tool of the program.

use std::sync::Arc;

use rmcp::model::{CallToolResult, Tool as RawTool};
use serde_json::Value;
use tool_runtime::{
    Content, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput,
    definition::Prepared,
    schema::{Arguments, SchemaProblem},
};

use super::call::{RemoteCall, ToolCaller};
use crate::content;

/// The ratio up to which a text that is longer than a structured value may be its JSON, indented.
const MAX_INDENTED_RATIO: usize = 16;

/// A tool of a server.
pub(super) struct RemoteTool {
    raw: RawTool,
    definition: ToolDefinition,
    /// The problems of its schemas, whose keywords are ignored.
    schema_problems: Vec<SchemaProblem>,
    caller: Arc<ToolCaller>,
}

impl RemoteTool {
    pub(super) fn new(
        raw: RawTool,
        definition: ToolDefinition,
        schema_problems: Vec<SchemaProblem>,
        caller: Arc<ToolCaller>,
    ) -> Self {
        Self { raw, definition, schema_problems, caller }
    }

    pub(super) fn schema_problems(&self) -> &[SchemaProblem] {
        &self.schema_problems
    }

    /// The definition as the server sent it.
    pub(super) fn raw_definition(&self) -> &RawTool {
        &self.raw
    }

    async fn run(&self, arguments: &Arguments<'_>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Value::Object(arguments) = arguments.to_value()? else {
            return Err(ToolError::bad_parameter("the arguments of a tool are an object"));
        };
        let metadata = self.definition.metadata();
        let call = RemoteCall {
            tool: &self.raw.name,
            arguments,
            meta: self.caller.meta_of(cx),
            repeatable: is_repeatable(&self.raw),
            context: Some(cx),
        };
        let result = self.caller.call(call).await;
        let is_harmless = metadata.is_read_only() || metadata.is_idempotent();
        if let Ok(result) = &result {
            self.note_undecodable(result);
        }
        result.map(|result| tool_output(&result)).map_err(|error| {
            let is_loss = error.is_loss();
            let error = ToolError::from(error);
            if is_loss && is_harmless { error.retryable(true) } else { error }
        })
    }
}

impl RemoteTool {
    /// Adds a diagnostic for each kind of block whose data cannot be decoded: the block is a text that says so.
    fn note_undecodable(&self, result: &CallToolResult) {
        for kind in result.content.iter().filter_map(content::undecodable_kind) {
            let problem = format!("the data of a block of the type `{kind}` is not base64");
            self.caller.requests.connection.connector.notices.add_warning(
                "unreadable_content",
                Some(&self.raw.name),
                &problem,
            );
        }
    }
}

/// Returns `true` if the server says that a repeated call does no more than one.
pub(super) fn is_repeatable(tool: &RawTool) -> bool {
    tool.annotations
        .as_ref()
        .is_some_and(|hints| hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true))
}

impl Tool for RemoteTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, move |arguments, cx| {
            Box::pin(async move { self.run(&arguments, cx).await })
        }))
    }
}

/// A result of a server as an output: its content, its structured value and its metadata. The model reads the structured
/// value first, and once: it is added as text unless the texts of the server have it already.
pub(crate) fn tool_output(result: &CallToolResult) -> ToolOutput {
    let mut blocks: Vec<Content> = result.content.iter().map(content::from_block).collect();
    let is_error = result.is_error == Some(true);
    if is_error && blocks.is_empty() && result.structured_content.is_none() {
        blocks.push(Content::text("The tool failed, and gave no reason."));
    }
    if let Some(value) = &result.structured_content {
        let json = value.to_string();
        // Serializers write `null` for a value that is not there.
        let is_absent = value.is_null() && !blocks.is_empty();
        if !is_absent && !is_in_texts(value, json.len(), &blocks) {
            blocks.insert(0, Content::text(json));
        }
    }
    let mut output = ToolOutput::new(blocks);
    if let Some(value) = &result.structured_content {
        output = output.with_structured(value.clone());
    }
    if let Some(meta) = &result.meta {
        output = output.with_meta(meta.0.clone());
    }
    if is_error { output.as_failure() } else { output }
}

/// Returns `true` if the texts have a structured value: a text is its JSON, or has the only member of it, such as the
/// `result` in which servers wrap what is no object; or each text has one element of a list.
fn is_in_texts(value: &Value, json_bytes: usize, blocks: &[Content]) -> bool {
    // Indented JSON is longer; a much longer text is another one, and is not read.
    let max_text_bytes = json_bytes.saturating_mul(MAX_INDENTED_RATIO).saturating_add(64);
    let is_text = |value: &Value, text: &str| match value {
        Value::String(value) if value == text => true,
        _ if text.len() > max_text_bytes => false,
        value => serde_json::from_str::<Value>(text).is_ok_and(|read| read == *value),
    };
    let member = match value {
        Value::Object(members) if members.len() == 1 => members.values().next(),
        _ => None,
    };
    let texts: Vec<_> = blocks.iter().filter_map(Content::as_text).collect();
    let are_elements = |value: &Value| {
        let Value::Array(elements) = value else { return false };
        elements.len() == texts.len()
            && elements.iter().zip(&texts).all(|(element, text)| is_text(element, text))
    };
    [Some(value), member]
        .into_iter()
        .flatten()
        .any(|value| are_elements(value) || texts.iter().any(|text| is_text(value, text)))
}
