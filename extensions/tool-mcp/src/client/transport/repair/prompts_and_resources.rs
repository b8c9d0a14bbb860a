//! Prompts, resources and completions, read part by part.

use rmcp::model::{
    CompleteResult, CompletionInfo, ContentBlock, GetPromptResult, PromptMessage, ReadResourceResult,
    ResourceContents, Role, ServerResult,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    RepairedResult, add_problem, bounded_json_text, bounded_text,
    call::{read_block, read_blocks},
    json_block, other_result,
};

/// Reads a prompt message by message.
pub(in super::super) fn prompt_result(result: Value) -> RepairedResult {
    let mut members = match members_if_has(result, "messages") {
        Ok(members) => members,
        Err(result) => return other_result(result),
    };
    let mut problems = Vec::new();
    let mut messages = Vec::new();
    for message in list_items(members.remove("messages"), "messages", &mut problems) {
        push_messages_of_blocks(message, &mut messages, &mut problems);
    }
    let mut read = GetPromptResult::new(messages);
    read.description = take_readable_member(&mut members, "description", &mut problems);
    read.meta = take_readable_member(&mut members, "_meta", &mut problems);
    RepairedResult::new(ServerResult::GetPromptResult(read), problems)
}

/// Reads a message, of which each block is a message of its own.
fn push_messages_of_blocks(message: Value, messages: &mut Vec<PromptMessage>, problems: &mut Vec<String>) {
    let mut members = match message {
        Value::Object(members) if members.contains_key("content") => members,
        other => {
            add_problem(problems, "a message has no `content`, and is its JSON");
            let content = match other {
                Value::String(text) => ContentBlock::text(text),
                other => json_block(&other),
            };
            return messages.push(PromptMessage::new(Role::User, content));
        }
    };
    let role = members.remove("role").unwrap_or_default();
    let role = serde_json::from_value(role.clone()).unwrap_or_else(|_| {
        add_problem(
            problems,
            &format!("a message has the role {}, and is one of the user", bounded_text(&role.to_string())),
        );
        Role::User
    });
    let content = match members.remove("content").unwrap_or_default() {
        content @ Value::Array(_) => {
            add_problem(problems, "the `content` of a message is a list");
            read_blocks(content, problems)
        }
        content => vec![read_block(content, problems).unwrap_or_else(|original| json_block(&original))],
    };
    messages.extend(content.into_iter().map(|block| PromptMessage::new(role.clone(), block)));
}

/// Reads the contents of a resource document by document; `uri` is the one that was asked for.
pub(in super::super) fn resource_result(result: Value, uri: &str) -> RepairedResult {
    let mut members = match members_if_has(result, "contents") {
        Ok(members) => members,
        Err(result) => return other_result(result),
    };
    let mut problems = Vec::new();
    let contents = list_items(members.remove("contents"), "contents", &mut problems);
    let contents =
        contents.into_iter().map(|document| read_resource_contents(document, uri, &mut problems)).collect();
    let mut read = ReadResourceResult::new(contents);
    read.meta = take_readable_member(&mut members, "_meta", &mut problems);
    RepairedResult::new(ServerResult::ReadResourceResult(read), problems)
}

/// Reads a document. One without a readable body is its JSON, as text.
fn read_resource_contents(document: Value, uri: &str, problems: &mut Vec<String>) -> ResourceContents {
    if let Ok(read) = serde_json::from_value(document.clone()) {
        return read;
    }
    let Value::Object(mut members) = document else {
        add_problem(problems, "a document is no object, and is its JSON");
        return ResourceContents::text(bounded_json_text(&document), uri);
    };
    let original = Value::Object(members.clone());
    let own_uri = take_readable_member(&mut members, "uri", problems).unwrap_or_else(|| uri.to_owned());
    let mime_type: Option<String> = take_readable_member(&mut members, "mimeType", problems);
    let contents = match (members.remove("text"), members.remove("blob")) {
        (Some(Value::String(text)), _) => ResourceContents::text(text, own_uri),
        (_, Some(Value::String(blob))) => ResourceContents::blob(blob, own_uri),
        (text, _) => {
            add_problem(problems, "a document has neither a `text` nor a `blob`, and is its JSON");
            let body = text.filter(|text| !text.is_null()).unwrap_or(original);
            ResourceContents::text(bounded_json_text(&body), own_uri)
        }
    };
    add_problem(problems, "a document has malformed members");
    match mime_type {
        Some(mime_type) => contents.with_mime_type(mime_type),
        None => contents,
    }
}

/// Reads completions value by value.
pub(in super::super) fn completion_result(result: Value) -> RepairedResult {
    let mut members = match members_if_has(result, "completion") {
        Ok(members) => members,
        Err(result) => return other_result(result),
    };
    let mut problems = Vec::new();
    let mut completion = match members.remove("completion") {
        Some(Value::Object(completion)) => completion,
        values => {
            add_problem(&mut problems, "`completion` is no object");
            Map::from_iter([("values".to_owned(), values.unwrap_or_default())])
        }
    };
    let mut read = CompletionInfo::default();
    for value in list_items(completion.remove("values"), "values", &mut problems) {
        match value {
            Value::String(value) => read.values.push(value),
            other => add_problem(
                &mut problems,
                &format!("a value is no text: {}", bounded_text(&other.to_string())),
            ),
        }
    }
    read.total = take_readable_member(&mut completion, "total", &mut problems);
    read.has_more = take_readable_member(&mut completion, "hasMore", &mut problems);
    let mut result = CompleteResult::new(read);
    result.meta = take_readable_member(&mut members, "_meta", &mut problems);
    RepairedResult::new(ServerResult::CompleteResult(result), problems)
}

/// Returns the members of a result that has `required`, or the result.
fn members_if_has(result: Value, required: &str) -> Result<Map<String, Value>, Value> {
    match result {
        Value::Object(members) if members.contains_key(required) => Ok(members),
        result => Err(result),
    }
}

/// Returns the items of a list. A single item is a list of one.
fn list_items(value: Option<Value>, name: &str, problems: &mut Vec<String>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        None | Some(Value::Null) => {
            add_problem(problems, &format!("`{name}` is missing"));
            Vec::new()
        }
        Some(item) => {
            add_problem(problems, &format!("`{name}` is no list"));
            vec![item]
        }
    }
}

/// Reads a member; one that cannot be read is absent.
fn take_readable_member<T: DeserializeOwned>(
    members: &mut Map<String, Value>,
    name: &str,
    problems: &mut Vec<String>,
) -> Option<T> {
    let value = members.remove(name).filter(|value| !value.is_null())?;
    let read = serde_json::from_value(value).ok();
    if read.is_none() {
        add_problem(problems, &format!("`{name}` is malformed"));
    }
    read
}
