//! Answers to the handshake.

use rmcp::model::{
    DiscoverResult, ErrorCode, ErrorData, Implementation, InitializeResult, ProtocolVersion,
    ServerCapabilities, ServerResult,
};
use serde_json::{Map, Value, json};

use super::{RepairedResult, add_problem, bounded_text};

/// Reads the answer to `initialize`. The revision is required, and nothing else.
pub(in super::super) fn initialize_result(result: Value) -> RepairedResult {
    let Value::Object(mut members) = result else {
        return RepairedResult::with_failure(result, "the answer to `initialize` is no object".to_owned());
    };
    let mut problems = Vec::new();
    remove_unreadable_capabilities_and_instructions(&mut members, &mut problems);
    let info = members.remove("serverInfo");
    let info = match info.clone().map(serde_json::from_value::<Implementation>) {
        Some(Ok(info)) => info,
        _ => {
            add_problem(&mut problems, "`serverInfo` is incomplete or malformed");
            read_implementation(info.as_ref())
        }
    };
    members.insert("serverInfo".to_owned(), serde_json::to_value(info).unwrap_or_default());
    let result = Value::Object(members);
    match serde_json::from_value::<InitializeResult>(result.clone()) {
        Ok(read) => RepairedResult::new(ServerResult::InitializeResult(read), problems),
        Err(error) => {
            RepairedResult::with_failure(result, format!("the answer to `initialize` is malformed: {error}"))
        }
    }
}

/// Reads the answer to `server/discover`. The revisions are required, and nothing else. A result without them is an error
/// after which the SDK goes on with `initialize`: the server is from before the revision that has this request.
pub(in super::super) fn discover_result(result: Value) -> RepairedResult {
    let (mut problems, mut revisions) = (Vec::new(), Vec::new());
    match result.get("supportedVersions") {
        Some(Value::Array(received)) => {
            revisions.extend(received.iter().filter(|it| it.is_string()).cloned())
        }
        Some(revision @ Value::String(_)) => revisions.push(revision.clone()),
        _ => {}
    }
    if revisions.is_empty() || has_only_older_revisions(&revisions) {
        let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "the server has no `server/discover`", None);
        return RepairedResult::with_error(result, error);
    }
    let revisions = Value::Array(revisions);
    let Value::Object(mut members) = result else { return super::other_result(result) };
    if members.get("supportedVersions") != Some(&revisions) {
        add_problem(&mut problems, "`supportedVersions` is no list of texts");
        members.insert("supportedVersions".to_owned(), revisions);
    }
    remove_unreadable_capabilities_and_instructions(&mut members, &mut problems);
    for (name, default) in
        [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))]
    {
        let mut trial = json!({
            "resultType": "complete", "supportedVersions": [], "capabilities": {}, "ttlMs": 0, "cacheScope": "private",
        });
        trial[name] = members.get(name).cloned().unwrap_or_default();
        if serde_json::from_value::<DiscoverResult>(trial).is_err() {
            add_problem(&mut problems, &format!("`{name}` is missing or malformed"));
            members.insert(name.to_owned(), default);
        }
    }
    let result = Value::Object(members);
    match serde_json::from_value::<DiscoverResult>(result.clone()) {
        Ok(read) => RepairedResult::new(ServerResult::DiscoverResult(read), problems),
        Err(error) => RepairedResult::with_failure(
            result,
            format!("the answer to `server/discover` is malformed: {error}"),
        ),
    }
}

/// Removes what cannot be read of the capabilities, the instructions and the metadata of a server.
fn remove_unreadable_capabilities_and_instructions(
    members: &mut Map<String, Value>,
    problems: &mut Vec<String>,
) {
    let capabilities = match members.remove("capabilities") {
        Some(Value::Object(capabilities)) => capabilities,
        other => {
            if !other.is_none_or(|it| it.as_array().is_some_and(Vec::is_empty)) {
                add_problem(problems, "`capabilities` is no object");
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
            add_problem(problems, &format!("the capability `{}` is malformed", bounded_text(&name)));
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
                add_problem(problems, &format!("`{name}` is malformed"));
            }
        }
    }
}

/// Reads the texts of an incomplete description.
fn read_implementation(info: Option<&Value>) -> Implementation {
    let text = |name: &str| info.and_then(|info| info.get(name)).and_then(Value::as_str).map(str::to_owned);
    let mut read = Implementation::new(
        text("name").unwrap_or_else(|| "unknown".to_owned()),
        text("version").unwrap_or_default(),
    );
    read.title = text("title");
    read
}

/// Returns `true` if a server supports none but revisions with `initialize`, of those that this client knows.
pub(in super::super) fn has_only_older_revisions(revisions: &[Value]) -> bool {
    let known = |revision: &Value| {
        let mut all = ProtocolVersion::KNOWN_VERSIONS.iter();
        all.find(|known| revision == known.as_str()).map(ProtocolVersion::has_initialize)
    };
    let mut known = revisions.iter().filter_map(known).peekable();
    known.peek().is_some() && known.all(|has_initialize| has_initialize)
}
