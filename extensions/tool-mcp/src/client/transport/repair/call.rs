//! Results of tools, read block by block.

use rmcp::model::{CallToolResult, ContentBlock, ErrorData, ServerResult};
use serde_json::Value;

use super::{RepairedResult, add_problem, bounded_text, json_block};

/// The maximum number of blocks that are their JSON: further ones are counted.
pub(super) const MAX_JSON_BLOCKS: usize = 100;

/// Reads a result of a tool block by block: the server has done the work, so that each result counts as one.
pub(in super::super) fn call_result(result: Value) -> RepairedResult {
    let mut problems = Vec::new();
    let mut read = CallToolResult::default();
    match result {
        Value::Object(mut members) => {
            let is_result =
                ["content", "structuredContent", "isError"].iter().any(|it| members.contains_key(*it));
            if !is_result
                && let Ok(result @ (ServerResult::InputRequiredResult(_) | ServerResult::CreateTaskResult(_))) =
                    serde_json::from_value(Value::Object(members.clone()))
            {
                return RepairedResult::new(result, problems);
            }
            if !is_result && members.get("resultType").is_some_and(|kind| kind == "input_required") {
                // The call is not over: it is no result that has malformed members.
                let reason = "the server asks for input in a form that cannot be read";
                return RepairedResult::with_error(members.into(), ErrorData::internal_error(reason, None));
            }
            read.is_error = members.remove("isError").and_then(|flag| read_error_flag(&flag, &mut problems));
            read.structured_content = members.remove("structuredContent").filter(|value| !value.is_null());
            match members.remove("_meta") {
                Some(Value::Object(meta)) => read.meta = Some(rmcp::model::MetaObject(meta)),
                None | Some(Value::Null) => {}
                Some(_) => add_problem(&mut problems, "`_meta` is no object"),
            }
            members.remove("resultType");
            if is_result {
                read.content = read_blocks(members.remove("content").unwrap_or_default(), &mut problems);
            } else if !members.is_empty() {
                add_problem(&mut problems, "the result has no `content`");
                read.content.push(json_block(&Value::Object(members)));
            }
        }
        other => {
            add_problem(&mut problems, "the result is no object");
            read.content = read_blocks(other, &mut problems);
        }
    }
    RepairedResult::new(ServerResult::CallToolResult(read), problems)
}

/// Reads the flag of a failure. A flag that is set to anything but a negation is set.
fn read_error_flag(flag: &Value, problems: &mut Vec<String>) -> Option<bool> {
    match flag {
        Value::Bool(flag) => return Some(*flag),
        Value::Null => return None,
        _ => add_problem(problems, &format!("`isError` is no boolean: {}", bounded_text(&flag.to_string()))),
    }
    Some(match flag {
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !["", "0", "false", "no"].contains(&text.trim().to_ascii_lowercase().as_str()),
        _ => true,
    })
}

pub(super) fn read_blocks(content: Value, problems: &mut Vec<String>) -> Vec<ContentBlock> {
    let list = match content {
        Value::Null => return Vec::new(),
        Value::Array(list) => list,
        other => {
            add_problem(problems, "`content` is no list");
            vec![other]
        }
    };
    let mut blocks = Vec::new();
    let (mut json_blocks, mut left_out) = (0_usize, 0_usize);
    for received in list {
        match read_block(received, problems) {
            Ok(block) => blocks.push(block),
            Err(_) if json_blocks >= MAX_JSON_BLOCKS => left_out += 1,
            Err(original) => {
                json_blocks += 1;
                blocks.push(json_block(&original));
            }
        }
    }
    if left_out > 0 {
        blocks.push(ContentBlock::text(format!("[{left_out} more blocks that cannot be read]")));
    }
    blocks
}

/// Reads a block, or returns one that cannot be read.
pub(super) fn read_block(block: Value, problems: &mut Vec<String>) -> Result<ContentBlock, Value> {
    let mut members = match block {
        Value::Object(members) => members,
        Value::String(text) if !text.is_empty() => {
            add_problem(problems, "a block is a text");
            return Ok(ContentBlock::text(text));
        }
        other => {
            add_problem(problems, "a block is no object");
            return Err(other);
        }
    };
    if let Ok(block) = serde_json::from_value(Value::Object(members.clone())) {
        return Ok(block);
    }
    let original = Value::Object(members.clone());
    let kind = members.get("type").map_or_else(|| "none".to_owned(), Value::to_string);
    for name in ["annotations", "_meta", "icons"] {
        members.remove(name);
    }
    if let Some(Value::Object(resource)) = members.get_mut("resource") {
        resource.remove("_meta");
        resource.retain(|name, value| name != "mimeType" || value.is_string());
    }
    if members.get("type").is_some_and(|kind| kind == "resource_link") {
        if !members.get("name").is_some_and(Value::is_string) {
            members.insert("name".to_owned(), members.get("uri").cloned().unwrap_or_default());
        }
        for name in ["title", "description", "mimeType", "size"] {
            members.retain(|member, value| member != name || is_readable_link_member(name, value));
        }
    }
    match serde_json::from_value(Value::Object(members)) {
        Ok(block) => {
            add_problem(
                problems,
                &format!("a block of the type {} has malformed members", bounded_text(&kind)),
            );
            Ok(block)
        }
        Err(_) => {
            add_problem(
                problems,
                &format!("a block of the type {} cannot be read, and is its JSON", bounded_text(&kind)),
            );
            Err(original)
        }
    }
}

/// Returns `true` if a member of a link has the type of the protocol.
fn is_readable_link_member(name: &str, value: &Value) -> bool {
    if name == "size" { value.is_u64() } else { value.is_string() }
}
