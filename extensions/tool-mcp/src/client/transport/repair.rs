//! Results that the SDK cannot read, read part by part.

use rmcp::model::{
    CallToolResult, ContentBlock, CustomResult, DiscoverResult, Implementation, InitializeResult,
    ServerCapabilities, ServerResult,
};
use serde_json::{Map, Value, json};

/// The maximum length of the JSON of a block that cannot be read, in characters.
const MAX_BLOCK_CHARS: usize = 4_000;
/// The maximum number of blocks that are their JSON: further ones are counted.
const MAX_JSON_BLOCKS: usize = 100;
/// The maximum number of problems that are named.
const MAX_PROBLEMS: usize = 20;

/// A result as far as it could be read.
pub(super) struct Repaired {
    pub(super) result: ServerResult,
    /// The parts that could not be read.
    pub(super) problems: Vec<String>,
    /// The reason why the result is of no use.
    pub(super) failure: Option<String>,
}

impl Repaired {
    fn unreadable(result: Value, reason: String) -> Self {
        Self {
            result: ServerResult::CustomResult(CustomResult(result)),
            problems: Vec::new(),
            failure: Some(reason),
        }
    }
}

/// Reads a result of which nothing is required.
pub(super) fn other(result: Value) -> Repaired {
    let (result, problem) = match result {
        Value::Object(_) => (result, None),
        Value::Null => (json!({}), Some("the result is `null`")),
        other => (other, Some("the result is no object")),
    };
    let result = serde_json::from_value(result.clone())
        .unwrap_or_else(|_| ServerResult::CustomResult(CustomResult(result)));
    Repaired { result, problems: problem.into_iter().map(str::to_owned).collect(), failure: None }
}

/// Reads the answer to `initialize`. The revision is required, and nothing else.
pub(super) fn initialize(result: Value) -> Repaired {
    let Value::Object(mut members) = result else {
        return Repaired::unreadable(result, "the answer to `initialize` is no object".to_owned());
    };
    let mut problems = Vec::new();
    description(&mut members, &mut problems);
    let info = members.remove("serverInfo");
    let info = match info.clone().map(serde_json::from_value::<Implementation>) {
        Some(Ok(info)) => info,
        _ => {
            problems.push("`serverInfo` is incomplete or malformed".to_owned());
            implementation(info.as_ref())
        }
    };
    members.insert("serverInfo".to_owned(), serde_json::to_value(info).unwrap_or_default());
    let result = Value::Object(members);
    match serde_json::from_value::<InitializeResult>(result.clone()) {
        Ok(read) => Repaired { result: ServerResult::InitializeResult(read), problems, failure: None },
        Err(error) => {
            Repaired::unreadable(result, format!("the answer to `initialize` is malformed: {error}"))
        }
    }
}

/// Reads the answer to `server/discover`. The revisions are required, and nothing else.
pub(super) fn discover(result: Value) -> Repaired {
    let Value::Object(mut members) = result else { return other(result) };
    if !members.get("supportedVersions").is_some_and(Value::is_array) {
        // From before the revision that has it: the SDK goes on with `initialize`.
        return other(Value::Object(members));
    }
    let mut problems = Vec::new();
    description(&mut members, &mut problems);
    for (name, default) in
        [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))]
    {
        let mut trial = json!({
            "resultType": "complete", "supportedVersions": [], "capabilities": {}, "ttlMs": 0, "cacheScope": "private",
        });
        trial[name] = members.get(name).cloned().unwrap_or_default();
        if serde_json::from_value::<DiscoverResult>(trial).is_err() {
            problems.push(format!("`{name}` is missing or malformed"));
            members.insert(name.to_owned(), default);
        }
    }
    let result = Value::Object(members);
    match serde_json::from_value::<DiscoverResult>(result.clone()) {
        Ok(read) => Repaired { result: ServerResult::DiscoverResult(read), problems, failure: None },
        Err(error) => {
            Repaired::unreadable(result, format!("the answer to `server/discover` is malformed: {error}"))
        }
    }
}

/// Removes what cannot be read of the capabilities, the instructions and the metadata of a server.
fn description(members: &mut Map<String, Value>, problems: &mut Vec<String>) {
    let capabilities = match members.remove("capabilities") {
        Some(Value::Object(capabilities)) => capabilities,
        other => {
            if !other.is_none_or(|it| it.as_array().is_some_and(Vec::is_empty)) {
                problems.push("`capabilities` is no object".to_owned());
            }
            Map::new()
        }
    };
    let mut read = Map::new();
    for (name, value) in capabilities {
        let is_readable = |value: &Value| {
            serde_json::from_value::<ServerCapabilities>(json!({ name.as_str(): value })).is_ok()
        };
        // `null` and `false` deny a capability.
        if matches!(value, Value::Null | Value::Bool(false)) {
            continue;
        }
        if !is_readable(&value) {
            note(problems, &format!("the capability `{}` is malformed", bounded(&name)));
        }
        let members = match &value {
            Value::Object(members) => members.clone(),
            _ => Map::new(),
        };
        let value = match is_readable(&value) {
            true => value,
            false => members
                .into_iter()
                .filter(|(key, value)| is_readable(&json!({ key.as_str(): value })))
                .collect::<Map<_, _>>()
                .into(),
        };
        if is_readable(&value) {
            read.insert(name, value);
        }
    }
    members.insert("capabilities".to_owned(), Value::Object(read));
    let wrong = [("instructions", Value::is_string as fn(&Value) -> bool), ("_meta", Value::is_object)];
    for (name, is_right) in wrong {
        if members.get(name).is_some_and(|value| !is_right(value)) {
            let value = members.remove(name);
            if !value.is_some_and(|value| value.is_null()) {
                problems.push(format!("`{name}` is malformed"));
            }
        }
    }
    problems.truncate(MAX_PROBLEMS);
}

/// Reads the texts of an incomplete description.
fn implementation(info: Option<&Value>) -> Implementation {
    let text = |name: &str| info.and_then(|info| info.get(name)).and_then(Value::as_str).map(str::to_owned);
    let mut read = Implementation::new(
        text("name").unwrap_or_else(|| "unknown".to_owned()),
        text("version").unwrap_or_default(),
    );
    read.title = text("title");
    read
}

/// Reads a result of a tool block by block: the server has done the work, so that each result counts as one.
pub(super) fn call(result: Value) -> Repaired {
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
                return Repaired { result, problems, failure: None };
            }
            read.is_error = members.remove("isError").and_then(|flag| is_error(&flag, &mut problems));
            read.structured_content = members.remove("structuredContent");
            match members.remove("_meta") {
                Some(Value::Object(meta)) => read.meta = Some(rmcp::model::MetaObject(meta)),
                None | Some(Value::Null) => {}
                Some(_) => problems.push("`_meta` is no object".to_owned()),
            }
            members.remove("resultType");
            if is_result {
                read.content = blocks(members.remove("content").unwrap_or_default(), &mut problems);
            } else if !members.is_empty() {
                problems.push("the result has no `content`".to_owned());
                read.content.push(as_text(&Value::Object(members)));
            }
        }
        other => {
            problems.push("the result is no object".to_owned());
            read.content = blocks(other, &mut problems);
        }
    }
    problems.truncate(MAX_PROBLEMS);
    Repaired { result: ServerResult::CallToolResult(read), problems, failure: None }
}

/// Reads the flag of a failure. A flag that is set to anything but a negation is set.
fn is_error(flag: &Value, problems: &mut Vec<String>) -> Option<bool> {
    match flag {
        Value::Bool(flag) => return Some(*flag),
        Value::Null => return None,
        _ => problems.push(format!("`isError` is no boolean: {}", bounded(&flag.to_string()))),
    }
    Some(match flag {
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !["", "0", "false", "no"].contains(&text.trim().to_ascii_lowercase().as_str()),
        _ => true,
    })
}

fn blocks(content: Value, problems: &mut Vec<String>) -> Vec<ContentBlock> {
    let list = match content {
        Value::Null => return Vec::new(),
        Value::Array(list) => list,
        other => {
            note(problems, "`content` is no list");
            vec![other]
        }
    };
    let mut blocks = Vec::new();
    let (mut json_blocks, mut left_out) = (0_usize, 0_usize);
    for received in list {
        match block(received, problems) {
            Ok(block) => blocks.push(block),
            Err(_) if json_blocks >= MAX_JSON_BLOCKS => left_out += 1,
            Err(original) => {
                json_blocks += 1;
                blocks.push(as_text(&original));
            }
        }
    }
    if left_out > 0 {
        blocks.push(ContentBlock::text(format!("[{left_out} more blocks that cannot be read]")));
    }
    blocks
}

/// Reads a block, or returns one that cannot be read.
fn block(block: Value, problems: &mut Vec<String>) -> Result<ContentBlock, Value> {
    let mut members = match block {
        Value::Object(members) => members,
        Value::String(text) if !text.is_empty() => {
            note(problems, "a block is a text");
            return Ok(ContentBlock::text(text));
        }
        other => {
            note(problems, "a block is no object");
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
    }
    if members.get("type").is_some_and(|kind| kind == "resource_link") && !members.contains_key("name") {
        members.insert("name".to_owned(), members.get("uri").cloned().unwrap_or_default());
    }
    match serde_json::from_value(Value::Object(members)) {
        Ok(block) => {
            note(problems, &format!("a block of the type {} has malformed members", bounded(&kind)));
            Ok(block)
        }
        Err(_) => {
            note(
                problems,
                &format!("a block of the type {} cannot be read, and is its JSON", bounded(&kind)),
            );
            Err(original)
        }
    }
}

fn note(problems: &mut Vec<String>, problem: &str) {
    if problems.len() < MAX_PROBLEMS && !problems.iter().any(|it| it == problem) {
        problems.push(problem.to_owned());
    }
}

/// Shortens a text of a server within a problem.
fn bounded(text: &str) -> String {
    text.chars().take(60).collect()
}

fn as_text(value: &Value) -> ContentBlock {
    let text = value.to_string();
    ContentBlock::text(match text.char_indices().nth(MAX_BLOCK_CHARS) {
        Some((end, _)) => format!("{}… ({} bytes more)", &text[..end], text.len() - end),
        None => text,
    })
}
