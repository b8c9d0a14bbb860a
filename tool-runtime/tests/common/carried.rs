//! Every valid value can be sent in every dialect, and is read back unchanged.
//!
//! The values are generated for the types on which decoder and plan agree.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tool_runtime::{
    Registry, ToolDefinition,
    builder::ExternalTool,
    diagnostic::Severity,
    dialect::{BoundTools, Dialect},
};

/// Checks that every dialect sends the valid `texts` and reads them back.
pub(crate) fn carries<T: DeserializeOwned + PartialEq + Debug>(
    definition: &ToolDefinition,
    texts: &[String],
) {
    let registry = Registry::builder().add(ExternalTool::new(definition.clone())).build().unwrap();
    let fitting: Vec<(Value, T)> = texts
        .iter()
        .filter_map(|text| {
            let fits = definition.fit(text.as_str().into()).ok()?;
            let value = fits.to_value().ok()?;
            // Compared in the provider's spelling, because a type may keep a part as text.
            let decoded = definition.decode(&mut (&value).into()).ok()?;
            Some((value, decoded))
        })
        .collect();
    for dialect in Dialect::all() {
        let bound = dialect.bind_tools(&registry);
        let Some(schema) = sent(dialect.name(), &bound) else {
            assert!(bound.diagnostics().iter().any(|diagnostic| diagnostic.severity == Severity::Error));
            continue;
        };
        super::accepted::accepted(dialect.name(), bound.definitions());
        let validator = jsonschema::validator_for(&schema).unwrap_or_else(|why| panic!("{why}\n{schema:#}"));
        let is_cut =
            bound.diagnostics().iter().any(|diagnostic| diagnostic.message.starts_with("it is recursive"));
        let is_never_absent = bound
            .diagnostics()
            .iter()
            .any(|diagnostic| diagnostic.message.starts_with("`null` differs from absent"));
        for (value, decoded) in &fitting {
            let mut marked = schema.clone();
            marked["x-strict"] = dialect.name().ends_with("-strict").into();
            let Some(written) = written(value, &marked) else {
                assert!(is_cut, "{}: {value} cannot be written as {schema:#}", dialect.name());
                continue;
            };
            // `format` is an annotation here, and so are descriptions.
            assert!(validator.is_valid(&written), "{}: {written} is not {schema:#}", dialect.name());
            let call = &bound.calls(&response(dialect.name(), &written)).unwrap()[0];
            let read = definition.decode::<T>(&mut call.arguments.clone());
            let read = read.unwrap_or_else(|why| panic!("{}: {written}\n{}", dialect.name(), why.feedback()));
            if !is_never_absent {
                assert_eq!(read, *decoded, "{}: {written}", dialect.name());
            }
        }
    }
}

/// Returns the parameters of the only tool as JSON Schema.
fn sent(dialect: &str, bound: &BoundTools) -> Option<Value> {
    let tool = bound.definitions().get(0)?;
    Some(match dialect {
        "openai-chat" | "openai-chat-strict" => tool["function"]["parameters"].clone(),
        "openai-responses" | "openai-responses-strict" => tool["parameters"].clone(),
        "anthropic" | "anthropic-strict" => tool["input_schema"].clone(),
        "mcp" => tool["inputSchema"].clone(),
        "gemini" => tool["functionDeclarations"][0]["parametersJsonSchema"].clone(),
        _ => match tool["functionDeclarations"][0].get("parameters") {
            Some(schema) => json_schema(schema),
            None => json!({ "type": "object" }),
        },
    })
}

/// Converts an OpenAPI schema to JSON Schema.
fn json_schema(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut written: Map<String, Value> = Map::new();
    for (key, value) in schema {
        let value = match (key.as_str(), value) {
            ("type", Value::String(name)) => name.to_lowercase().into(),
            ("properties", Value::Object(all)) => {
                all.iter().map(|(name, it)| (name.clone(), json_schema(it))).collect::<Map<_, _>>().into()
            }
            ("anyOf", Value::Array(all)) => all.iter().map(json_schema).collect(),
            ("items", item) => json_schema(item),
            _ => value.clone(),
        };
        written.insert(key.clone(), value);
    }
    if written.remove("nullable").is_some() {
        return json!({ "anyOf": [written, { "type": "null" }] });
    }
    written.into()
}

/// Returns `value` in the form that `schema` requires of a model: absent required properties are `null`, and
/// a union at the root is wrapped in one argument.
fn written(value: &Value, schema: &Value) -> Option<Value> {
    let properties = schema["properties"].as_object();
    if let Some((name, inner)) = properties.filter(|all| all.len() == 1).and_then(|all| all.iter().next())
        && name.starts_with("arguments")
    {
        return Some(json!({ name: filled(value, inner, schema)? }));
    }
    filled(value, schema, schema)
}

/// Returns `value` with `null` for absent required properties; `None` if it is invalid.
fn filled(value: &Value, schema: &Value, root: &Value) -> Option<Value> {
    let Value::Object(map) = schema else { return Some(value.clone()) };
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        return filled(value, root.pointer(&decoded(reference))?, root);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = map.get(key) {
            return branches.iter().find_map(|branch| filled(value, branch, root));
        }
    }
    match value {
        Value::Object(object) if map.contains_key("properties") => object_filled(object, map, root),
        Value::Array(items) if map.contains_key("items") && !map.contains_key("prefixItems") => {
            let items = items.iter().map(|item| filled(item, &map["items"], root));
            let items = Value::Array(items.collect::<Option<_>>()?);
            is_valid(&items, map, root).then_some(items)
        }
        _ => is_valid(value, map, root).then(|| value.clone()),
    }
}

fn object_filled(object: &Map<String, Value>, schema: &Map<String, Value>, root: &Value) -> Option<Value> {
    let mut written = Map::new();
    for (name, property) in schema["properties"].as_object()? {
        if let Some(value) = object.get(name) {
            written.insert(name.clone(), filled(value, property, root)?);
        } else if !is_strict(root) {
            continue;
        } else if schema.get("required").is_some_and(|it| it.as_array().unwrap().contains(&json!(name))) {
            written.insert(name.clone(), filled(&Value::Null, property, root)?);
        }
    }
    for (name, value) in object {
        written.entry(name).or_insert_with(|| value.clone());
    }
    let written = Value::Object(written);
    is_valid(&written, schema, root).then_some(written)
}

/// Returns `true` if all properties are required: only then is `null` sent for absent ones.
fn is_strict(root: &Value) -> bool {
    root["x-strict"] == true
}

fn is_valid(value: &Value, schema: &Map<String, Value>, root: &Value) -> bool {
    let mut schema = schema.clone();
    if let Some(definitions) = root.get("$defs") {
        schema.insert("$defs".to_owned(), definitions.clone());
    }
    let mut schema = Value::Object(schema);
    if schema.to_string().contains(r##""$ref":"#/properties"##) {
        // References are resolved in the whole schema.
        schema = moved(&schema);
        schema["$defs"]["whole"] = moved(root);
    }
    jsonschema::is_valid(&schema, value)
}

/// Returns `schema` with its references moved below `$defs/whole`.
fn moved(schema: &Value) -> Value {
    let text =
        schema.to_string().replace(r##""$ref":"#/properties"##, r##""$ref":"#/$defs/whole/properties"##);
    serde_json::from_str(&text).unwrap()
}

fn decoded(reference: &str) -> String {
    tool_core_decoded(reference.trim_start_matches('#'))
}

/// Decodes percent escapes, which are valid UTF-8 here.
fn tool_core_decoded(fragment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'%' && after.len() >= 2 {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&after[..2]).unwrap(), 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn response(dialect: &str, arguments: &Value) -> Value {
    match dialect {
        "openai-chat" | "openai-chat-strict" => json!({ "choices": [{ "message": { "tool_calls": [
            { "id": "1", "type": "function", "function": { "name": "tool", "arguments": arguments.to_string() } },
        ]}}]}),
        "openai-responses" | "openai-responses-strict" => json!({ "output": [
            { "type": "function_call", "call_id": "1", "name": "tool", "arguments": arguments.to_string() },
        ]}),
        "anthropic" | "anthropic-strict" => json!({ "content": [
            { "type": "tool_use", "id": "1", "name": "tool", "input": arguments },
        ]}),
        "mcp" => {
            json!({ "method": "tools/call", "id": 1, "params": { "name": "tool", "arguments": arguments } })
        }
        _ => json!({ "candidates": [{ "content": { "parts": [
            { "functionCall": { "name": "tool", "args": arguments } },
        ]}}]}),
    }
}
