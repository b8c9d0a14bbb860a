//! The messages of a request: results, user messages, calls that are sent back.

use serde_json::{Value, json};

use crate::{
    ToolResult,
    dialect::{BoundTools, DialectError, exports::OutputForm, request::append_instruction_to_field},
};

/// Appends `text` to `instructions` in `_meta`: a listing has no other member for the instructions of a server.
pub(super) fn add_instruction(body: &mut Value, text: &str) -> Result<(), DialectError> {
    let meta = body.as_object_mut().map(|fields| fields.entry("_meta").or_insert_with(|| json!({})));
    match meta {
        Some(meta @ Value::Object(_)) => append_instruction_to_field(meta, "instructions", text, false)
            .map_err(|error| error.with_pointer_prefix("/_meta")),
        _ => Err(DialectError::of_body(body, "/_meta", "an object")),
    }
}

pub(super) fn result_messages(bound: &BoundTools, results: &[ToolResult]) -> Value {
    results.iter().map(|it| result_object(it, bound.output_form(&it.name))).collect()
}

pub(super) fn result_object(result: &ToolResult, form: OutputForm) -> Value {
    let mut content = json!(result.content());
    let structured = structured_object(result, form);
    if let (Value::Array(blocks), Some(value)) = (&mut content, result.structured())
        && blocks.is_empty()
    {
        // For clients that do not read structured content.
        blocks.push(json!({ "type": "text", "text": value.to_string() }));
    }
    let mut wire = json!({ "content": content, "isError": result.is_error() });
    if let Some(structured) = structured {
        wire["structuredContent"] = structured;
    }
    if let Some(meta) = result.meta() {
        wire["_meta"] = Value::Object(meta.clone());
    }
    wire
}

/// Returns the structured value of a result, always an object.
pub(super) fn structured_object(result: &ToolResult, form: OutputForm) -> Option<Value> {
    match result.structured() {
        Some(value) if form == OutputForm::Held && !result.is_error() => Some(json!({ "result": value })),
        None if form == OutputForm::Held && !result.is_error() => Some(json!({ "result": null })),
        Some(value @ Value::Object(_)) => Some(value),
        _ => None,
    }
}
