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
            meta: self.caller.call_metadata(cx),
            repeatable: is_repeatable(&self.raw),
            context: Some(cx),
        };
        let result = self.caller.call_tool(call).await;
        let is_harmless = metadata.is_read_only() || metadata.is_idempotent();
        if let Ok(result) = &result {
            self.warn_of_undecodable_blocks(result);
        }
        result.map(|result| tool_output(&result)).map_err(|error| {
            let is_loss = error.is_connection_loss();
            let error = ToolError::from(error);
            if is_loss && is_harmless { error.retryable(true) } else { error }
        })
    }
}

impl RemoteTool {
    /// Adds a diagnostic for each kind of block whose data cannot be decoded: the block is a text that says so.
    fn warn_of_undecodable_blocks(&self, result: &CallToolResult) {
        for kind in result.content.iter().filter_map(content::kind_of_undecodable_block) {
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

    fn adds_to_requests(&self) -> bool {
        false
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
        if !is_absent && !texts_contain_value(value, json.len(), &blocks) {
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
fn texts_contain_value(value: &Value, json_bytes: usize, blocks: &[Content]) -> bool {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(texts: &[&str]) -> Vec<Content> {
        texts.iter().map(|text| Content::text(*text)).collect()
    }

    #[test]
    fn a_structured_value_is_in_texts_that_have_all_of_it() {
        for (value, blocks, expected) in [
            (json!({ "n": 1, "m": 2 }), &[r#"{"m":2,"n":1}"#][..], true),
            (json!({ "n": 1, "m": 2 }), &["1", "2"], false),
            (json!({ "n": 1 }), &["1"], true),
            (json!({ "n": 1 }), &["2"], false),
            (json!({ "n": "a" }), &["a"], true),
            (json!({ "n": "a" }), &["\"a\""], true),
            (json!("a"), &["b", "a"], true),
            (json!({}), &["1"], false),
            (json!([1, 2]), &["1", "2"], true),
            (json!([1, 2]), &["2", "1"], false),
            (json!([1, 2]), &["1"], false),
            (json!([1]), &["1", "2"], false),
            (json!({ "result": [1, "a"] }), &["1", "a"], true),
            (json!([1, 2]), &["[1, 2]"], true),
            (json!(1), &[], false),
        ] {
            let bytes = value.to_string().len();
            assert_eq!(texts_contain_value(&value, bytes, &texts(blocks)), expected, "{value} in {blocks:?}");
        }
    }

    #[test]
    fn a_text_that_is_much_longer_is_another_one() {
        let value = json!({ "n": 1 });
        let bytes = value.to_string().len();
        let longest = bytes * MAX_INDENTED_RATIO + 64;
        for (length, expected) in [(longest, true), (longest + 1, false)] {
            let text = format!("{value}{}", " ".repeat(length - bytes));
            assert_eq!(texts_contain_value(&value, bytes, &texts(&[&text])), expected, "{length}");
        }
        // The exact text is the value at any length.
        let text = "x".repeat(1_000);
        assert!(texts_contain_value(&json!({ "n": text }), 1, &texts(&[&text])));
    }

    #[test]
    fn only_a_hint_that_is_true_lets_a_call_be_repeated() {
        let repeatable = |annotations: Value| {
            let tool = json!({ "name": "t", "inputSchema": {}, "annotations": annotations });
            serde_json::from_value(tool).is_ok_and(|tool| is_repeatable(&tool))
        };
        for (annotations, expected) in [
            (json!(null), false),
            (json!({}), false),
            (json!({ "readOnlyHint": true }), true),
            (json!({ "readOnlyHint": false }), false),
            (json!({ "idempotentHint": true }), true),
            (json!({ "idempotentHint": false, "readOnlyHint": true }), true),
            (json!({ "destructiveHint": false }), false),
        ] {
            assert_eq!(repeatable(annotations.clone()), expected, "{annotations}");
        }
    }

    #[test]
    fn an_output_has_the_structured_value_first_and_once() {
        let output = |result: Value| serde_json::from_value(result).map(|result| tool_output(&result)).ok();
        for (result, expected) in [
            (json!({ "content": [], "isError": true }), &["The tool failed, and gave no reason."][..]),
            (json!({ "content": [], "isError": true, "structuredContent": { "n": 1 } }), &["{\"n\":1}"]),
            (json!({ "content": [], "structuredContent": null }), &["null"]),
            (json!({ "content": [] }), &[]),
            (json!({ "content": [{ "type": "text", "text": "a" }], "structuredContent": null }), &["a"]),
            (
                json!({ "content": [{ "type": "text", "text": "a" }], "structuredContent": { "n": 1, "m": 2 } }),
                &["{\"n\":1,\"m\":2}", "a"],
            ),
        ] {
            let read = output(result.clone());
            let content = read.as_ref().map(|output| output.content().into_owned()).unwrap_or_default();
            let texts: Vec<_> = content.iter().filter_map(Content::as_text).collect();
            assert_eq!(texts, expected, "{result}");
            let is_failure = read.is_some_and(|output| output.is_failure());
            assert_eq!(is_failure, result["isError"] == true, "{result}");
        }
    }
}
