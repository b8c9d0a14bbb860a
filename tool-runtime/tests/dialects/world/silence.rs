//! Checks that each keyword of a schema is sent, described in words, or reported as a diagnostic.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tool_runtime::{ToolDefinition, diagnostic::Diagnostic};

/// Keywords that do not constrain arguments; in Gemini's own form, objects are closed implicitly.
const UNSAID: [&str; 8] =
    ["$schema", "$id", "$comment", "$anchor", "readOnly", "writeOnly", "deprecated", "additionalProperties"];

/// The texts before a number in a description.
const WORDS: [(&str, &str); 11] = [
    ("minimum", "Atleast"),
    ("maximum", "Atmost"),
    ("exclusiveMinimum", "Greaterthan"),
    ("exclusiveMaximum", "Lessthan"),
    ("multipleOf", "Amultipleof"),
    ("minLength", "Atleast"),
    ("maxLength", "Atmost"),
    ("minItems", "Atleast"),
    ("maxItems", "Atmost"),
    ("minProperties", "Atleast"),
    ("maxProperties", "Atmost"),
];

type Said = BTreeSet<(String, String)>;

/// Returns the parts of a tool that are neither sent nor reported.
pub(super) fn silent(
    tools: &[ToolDefinition],
    sent: &BTreeMap<String, Value>,
    diagnostics: &[Diagnostic],
) -> Vec<String> {
    let mut by_tool: BTreeMap<&str, Vec<&Diagnostic>> = BTreeMap::new();
    for diagnostic in diagnostics {
        by_tool.entry(diagnostic.location.tool.as_deref().unwrap()).or_default().push(diagnostic);
    }
    let mut silent = Vec::new();
    for tool in tools {
        let of_tool = by_tool.get(tool.name().as_str()).map_or(&[][..], Vec::as_slice);
        match sent.get(tool.name().as_str()) {
            Some(sent) => {
                let lost = lost(tool, sent).into_iter().filter(|(key, _)| !is_found(of_tool, key));
                silent.extend(lost.map(|(key, value)| format!("{}: {key} {value}", tool.name())));
            }
            None if super::is_left_out(of_tool) => {}
            None => silent.push(format!("{}: it is not sent", tool.name())),
        }
    }
    silent
}

/// Returns the parts of `tool` that are not sent.
fn lost(tool: &ToolDefinition, sent: &Value) -> Said {
    let schema = tool.input_schema().as_value();
    let mut said = Said::from([("description".to_owned(), plain(tool.description()))]);
    says(schema, schema, &mut Vec::new(), &mut said);
    let (mut there, mut texts) = (Said::new(), String::new());
    all(sent, &mut there, &mut texts);
    said.retain(|one| !there.contains(one) && !is_in_words(one, &texts));
    said
}

fn is_in_words((key, value): &(String, String), texts: &str) -> bool {
    match WORDS.iter().find(|(name, _)| name == key) {
        Some((_, words)) => {
            texts.contains(&format!("{words}{value}")) || texts.contains(&format!("\"{key}\":{value}"))
        }
        None if key == "uniqueItems" => value == "false" || texts.contains("Itemsmustbeunique"),
        None if key == "required" || key == "properties" => texts.contains(&format!("\"{value}\"")),
        None => texts.contains(value.as_str()),
    }
}

/// A truncated part is reported at the place of the truncation.
fn is_found(diagnostics: &[&Diagnostic], key: &str) -> bool {
    let about = |diagnostic: &&Diagnostic| {
        diagnostic.message.contains(&format!("`{key}`")) || diagnostic.message.starts_with("it is recursive")
    };
    diagnostics.iter().any(about)
}

/// Returns a text without characters that escaping changes.
fn plain(text: &str) -> String {
    text.replace("\\n", "").chars().filter(|it| *it != '\\' && !it.is_whitespace()).collect()
}

/// Formats a value like descriptions do.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| plain(&value.to_string()), plain)
}

/// Collects all keys with their values, and all texts.
fn all(sent: &Value, there: &mut Said, texts: &mut String) {
    match sent {
        Value::Object(map) => {
            for (key, value) in map {
                there.extend(one_by_one(key, value));
                all(value, there, texts);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| all(value, there, texts)),
        other => {
            texts.push_str(&text(other));
            texts.push('\n');
        }
    }
}

/// A keyword with its value or each of its values; a constant is an enum with one value.
fn one_by_one(key: &str, value: &Value) -> Vec<(String, String)> {
    let each = |value: &Value| (key.to_owned(), text(value));
    match (key, value) {
        ("properties" | "patternProperties", Value::Object(all)) => {
            all.keys().map(|name| (key.to_owned(), plain(name))).collect()
        }
        ("required" | "enum" | "examples", Value::Array(values)) => values.iter().map(each).collect(),
        ("const", value) => vec![("enum".to_owned(), text(value))],
        _ => vec![each(value)],
    }
}

/// Returns all constraints of `schema`.
fn says<'s>(schema: &'s Value, root: &'s Value, inside: &mut Vec<&'s str>, said: &mut Said) {
    let Value::Object(schema) = schema else { return };
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("properties" | "patternProperties", Value::Object(all)) => {
                said.extend(one_by_one(key, value));
                all.values().for_each(|schema| says(schema, root, inside, said));
            }
            // Definitions are checked where they are referenced.
            ("$defs" | "definitions" | "type", _) => {}
            ("$ref", Value::String(reference)) => {
                if !inside.contains(&reference.as_str()) {
                    inside.push(reference);
                    let found = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                    found.into_iter().for_each(|found| says(found, root, inside, said));
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(all)) => {
                all.iter().for_each(|branch| says(branch, root, inside, said));
            }
            ("items" | "additionalProperties", Value::Object(_)) => says(value, root, inside, said),
            _ if UNSAID.contains(&key.as_str()) => {}
            _ => said.extend(one_by_one(key, value)),
        }
    }
}
