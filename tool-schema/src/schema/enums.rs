//! Documented unit enums.
//!
//! If a variant has a doc comment, schemars generates a `oneOf` of `const`s, which many clients do not support. It
//! becomes a flat `enum`, with the variants' docs in the description.

use serde_json::{Map, Value};

/// Turns a `oneOf` of constants into an `enum`; leaves other schemas unchanged.
pub(super) fn flatten_constants(schema: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = schema.get_mut("oneOf") else { return };
    // schemars leaves an empty list of names if all its variants are skipped.
    branches.retain(|branch| branch.get("enum").is_none_or(|names| *names != Value::Array(Vec::new())));
    let Some(variants) = branches.iter().map(branch_constants).collect::<Option<Vec<_>>>() else { return };
    let mut names = Vec::new();
    let mut docs = String::new();
    for (values, doc) in variants {
        if let (Some(doc), [Value::String(name)]) = (doc, values.as_slice()) {
            docs.push_str("\n- `");
            docs.push_str(name);
            docs.push_str("`: ");
            // A list entry is a single line.
            docs.push_str(&doc.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        names.extend(values);
    }
    schema.shift_remove("oneOf");
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), names.into());
    if !docs.is_empty() {
        let described = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = format!("{described}{docs}");
        schema.insert("description".to_owned(), description.trim_start_matches('\n').into());
    }
}

/// Returns the names and docs of a branch; `None` if it is not a list of names.
fn branch_constants(branch: &Value) -> Option<(Vec<Value>, Option<&str>)> {
    let branch = branch.as_object()?;
    let known = |key: &String| matches!(key.as_str(), "const" | "enum" | "type" | "description" | "title");
    if !branch.keys().all(known) {
        return None;
    }
    let names = match (branch.get("const"), branch.get("enum")) {
        (Some(name), None) => vec![name.clone()],
        (None, Some(Value::Array(names))) => names.clone(),
        _ => return None,
    };
    let docs = branch.get("description").and_then(Value::as_str);
    names.iter().all(Value::is_string).then_some((names, docs))
}
