//! The messages of a request: results, user messages, calls that are sent back.

use serde_json::{Map, Value, json};
use tool_core::{ToolOutput, internals::ExactValue};

use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError,
        content::{Block, blocks, omitted_file_text},
        draft::{Members, MessageDraft, set_member, text_value},
        history::{ArgumentsForm, CallMembers},
        partial_calls::PartialCalls,
        provider::exact_object,
        request::append_block_if_new,
    },
};

pub(super) fn complete_message(draft: &mut MessageDraft, partial_calls: &PartialCalls) {
    draft.fill_open_parts(partial_calls, |part, partial_call| {
        if let Some(function) = part.get_mut("functionCall") {
            set_member(function, "args", partial_call.received_arguments());
        }
    });
    for part in draft.parts_mut() {
        let partial_call = part.call.and_then(|at| partial_calls.get(at));
        if let (Some(partial_call), Some(ExactValue::Object(function))) =
            (partial_call, part.value.get_mut("functionCall"))
        {
            set_or_remove_call_id(function, partial_call.id.as_deref());
        }
    }
}

/// Writes the id of a call as a text, and removes one that is none.
pub(super) fn set_or_remove_call_id(function: &mut Members, id: Option<&str>) {
    match id {
        None => function.retain(|(name, _)| name != "id"),
        Some(id) => {
            let own = function.iter_mut().find(|(name, _)| name == "id");
            if let Some((_, own)) = own.filter(|(_, own)| own.as_str() != Some(id)) {
                *own = text_value(id);
            }
        }
    }
}

/// Returns the members of a call of a message.
pub(super) fn find_call_in_part<'m>(
    part: &'m mut ExactValue<'static>,
    is_own: bool,
) -> Option<CallMembers<'m>> {
    let object = part.get_mut("functionCall").filter(|_| is_own)?;
    Some(CallMembers { object, arguments: "args", form: ArgumentsForm::OptionalObject })
}

/// Appends `text` to the parts of the system instruction; its member may have either spelling.
pub(super) fn add_instruction(body: &mut Value, text: &str) -> Result<(), DialectError> {
    let is_there = body.get("system_instruction").is_some();
    let field = if is_there { "system_instruction" } else { "systemInstruction" };
    let content = body.as_object_mut().map(|fields| fields.entry(field).or_insert(Value::Null));
    if let Some(content @ Value::Null) = content {
        *content = json!({ "parts": [] });
    }
    match body.pointer_mut(&format!("/{field}/parts")) {
        Some(Value::Array(parts)) => append_block_if_new(parts, json!({ "text": text })),
        _ => return Err(DialectError::of_body(body, &format!("/{field}/parts"), "a list")),
    }
    Ok(())
}

/// Returns one content with a part for each result, followed by parts with images and other files.
pub(super) fn result_messages(bound: &BoundTools, results: &[ToolResult]) -> Value {
    let mut parts = Vec::new();
    let mut files = Vec::new();
    for result in results {
        let name = bound.wire_name(result.called_name());
        let mut response = json!({ "name": name, "response": result_object(result, &mut files) });
        // The provider does not know a generated id.
        if !result.id.is_generated() {
            response["id"] = json!(result.id);
        }
        parts.push(json!({ "functionResponse": response }));
    }
    parts.append(&mut files);
    json!({ "role": "user", "parts": parts })
}

/// Returns a part of a user message.
pub(super) fn user_part(block: Block) -> Value {
    match block {
        Block::Text(text) => json!({ "text": text }),
        Block::File { mime_type, data, .. } if accepts_file_type(&mime_type) => {
            json!({ "inlineData": { "mimeType": mime_type, "data": data } })
        }
        Block::File { mime_type, data, .. } => json!({ "text": omitted_file_text(&mime_type, &data) }),
    }
}

/// D06: always an object.
pub(super) fn result_object(result: &ToolResult, files: &mut Vec<Value>) -> Map<String, Value> {
    let mut notes = Vec::new();
    for block in blocks(result) {
        let Block::File { mime_type, data, .. } = block else { continue };
        if accepts_file_type(&mime_type) {
            notes.push(Value::from(format!("[{mime_type}: after the results]")));
            files.push(json!({ "inlineData": { "mimeType": mime_type, "data": data } }));
        } else {
            notes.push(omitted_file_text(&mime_type, &data).into());
        }
    }
    let text = || Value::from(result.text().into_owned());
    let mut response = match &result.outcome {
        Ok(output) if output.is_failure() => Map::from_iter([("error".to_owned(), text())]),
        Ok(output) if output.is_empty() => Map::new(),
        Ok(output) if has_value_equal_to_text(output) => output.to_map(),
        Ok(_) => Map::from_iter([("result".to_owned(), text())]),
        Err(_) => Map::from_iter([("error".to_owned(), text())]),
    };
    if !notes.is_empty() {
        response.entry("files").or_insert(Value::Array(notes));
    }
    response
}

/// Returns `true` if the structured value of `output` carries the same content as its text: where the tool
/// wrote its own text, all models read that text.
pub(super) fn has_value_equal_to_text(output: &ToolOutput) -> bool {
    let Some(value) = output.structured() else { return false };
    let text = output.text();
    output.content().is_empty()
        || value.as_str() == Some(&*text)
        || serde_json::from_str::<Value>(&text).is_ok_and(|written| written == value)
}

/// Returns `true` if messages can contain files of that type.
pub(super) fn accepts_file_type(mime_type: &str) -> bool {
    matches!(
        mime_type,
        "image/png"
            | "image/jpeg"
            | "image/webp"
            | "image/heic"
            | "image/heif"
            | "application/pdf"
            | "audio/wav"
            | "audio/mp3"
            | "audio/mpeg"
            | "audio/aac"
            | "audio/ogg"
            | "audio/flac"
            | "audio/aiff"
    )
}

/// Returns a content of another model.
pub(super) fn assistant_message(
    bound: &BoundTools,
    content: &str,
    calls: &[ToolCall],
) -> ExactValue<'static> {
    let call = |call: &ToolCall| {
        let mut members = Members::new();
        // The provider does not know a generated id.
        if !call.id.is_generated() {
            members.push(("id".into(), text_value(&call.id.to_string())));
        }
        members.push(("name".into(), text_value(&bound.wire_name(&call.name))));
        members.push(("args".into(), bound.sent_arguments(call)));
        exact_object([("functionCall", ExactValue::Object(members))])
    };
    let part = Some(content).filter(|content| !content.trim().is_empty());
    let part = part.map(|it| exact_object([("text", text_value(it))]));
    let parts = part.into_iter().chain(calls.iter().map(call)).collect();
    exact_object([("role", text_value("model")), ("parts", ExactValue::List(parts))])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]
mod tests {
    use tool_core::Content;

    use super::*;

    #[test]
    fn an_id_is_a_text_or_absent() {
        let conformed = |function: &'static str, id: Option<&str>| {
            let ExactValue::Object(mut function) = ExactValue::read(function).unwrap() else {
                panic!("no object")
            };
            set_or_remove_call_id(&mut function, id);
            ExactValue::Object(function).to_string()
        };
        assert_eq!(conformed(r#"{"id":7,"name":"a"}"#, Some("7")), r#"{"id":"7","name":"a"}"#);
        assert_eq!(conformed(r#"{"id":"7"}"#, Some("7")), r#"{"id":"7"}"#);
        assert_eq!(conformed(r#"{"name":"a"}"#, Some("7")), r#"{"name":"a"}"#);
        assert_eq!(conformed(r#"{"name":"a","id":""}"#, None), r#"{"name":"a"}"#);
    }

    #[test]
    fn a_value_is_sent_if_it_carries_the_same_content_as_the_text() {
        let structured = |text: &str, value: Value| ToolOutput::from(text).with_structured(value);
        for (output, is_sent) in [
            (ToolOutput::json(&json!({ "a": 1 })).unwrap(), true),
            (ToolOutput::from("a"), true),
            (ToolOutput::empty().with_structured(json!([1])), true),
            (structured("a", json!("a")), true),
            (structured("{ \"a\": 1 }", json!({ "a": 1 })), true),
            (structured("one", json!({ "a": 1 })), false),
            (structured("2", json!(1)), false),
            (ToolOutput::new([Content::text("a")]), false),
            (ToolOutput::empty(), false),
        ] {
            assert_eq!(has_value_equal_to_text(&output), is_sent, "{output:?}");
        }
    }

    #[test]
    fn an_instruction_is_a_part_in_either_spelling_of_its_member() {
        let instruct = |mut body: Value| {
            add_instruction(&mut body, "Do.").map(|()| body).map_err(|error| error.to_string())
        };
        let parts = json!({ "parts": [{ "text": "Do." }] });
        assert_eq!(instruct(json!({})), Ok(json!({ "systemInstruction": parts })));
        assert_eq!(
            instruct(json!({ "system_instruction": null })),
            Ok(json!({ "system_instruction": parts }))
        );
        let two = json!({ "system_instruction": { "parts": [{ "text": "Be." }] } });
        assert_eq!(
            instruct(two),
            Ok(json!({ "system_instruction": { "parts": [{ "text": "Be." }, { "text": "Do." }] } }))
        );
        assert_eq!(
            instruct(json!({ "systemInstruction": parts })),
            Ok(json!({ "systemInstruction": parts }))
        );
        let odd = "/systemInstruction/parts: expected a list, got nothing";
        assert_eq!(instruct(json!({ "systemInstruction": "x" })), Err(odd.to_owned()));
        assert_eq!(instruct(json!([])), Err(odd.to_owned()));
    }
}
