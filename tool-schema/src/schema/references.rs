//! References within a schema.
//!
//! A local reference is a URI fragment that contains a JSON pointer, so names in it are escaped twice.

use std::convert::Infallible;

use serde_json::Value;

use super::walk::visit_subschemas;

/// Returns the JSON pointer of a `$ref` within its document.
pub(crate) fn local_pointer(reference: &str) -> Option<String> {
    reference.strip_prefix('#').map(percent_decoded)
}

/// Replaces a root that only refers to a definition by that definition.
pub(super) fn resolve_root(root: &mut Value) {
    let Some(pointer) = root.get("$ref").and_then(Value::as_str).and_then(local_pointer) else { return };
    let Some(Value::Object(target)) = root.pointer(&pointer).cloned() else { return };
    let Some(root) = root.as_object_mut() else { return };
    root.shift_remove("$ref");
    for (key, value) in target {
        root.entry(key).or_insert(value);
    }
}

/// Removes unreferenced definitions.
pub(super) fn prune_definitions(root: &mut Value) {
    while root.get("$defs").is_some() {
        let mut used = Vec::new();
        definitions_used(root, &mut used);
        let Some(root) = root.as_object_mut() else { return };
        let Some(Value::Object(definitions)) = root.get_mut("$defs") else { return };
        let before = definitions.len();
        definitions.retain(|name, _| used.contains(name));
        let after = definitions.len();
        if after == 0 {
            root.shift_remove("$defs");
        }
        if after == 0 || after == before {
            return;
        }
    }
}

/// Collects the definitions to which `schema` refers.
fn definitions_used(schema: &mut Value, found: &mut Vec<String>) {
    let Some(schema) = schema.as_object_mut() else { return };
    found.extend(schema.get("$ref").and_then(Value::as_str).and_then(definition_name));
    let Ok(()) = visit_subschemas(schema, |_, subschema| {
        definitions_used(subschema, found);
        Ok::<_, Infallible>(())
    });
}

/// Returns the definition that contains the target of a `$ref`.
fn definition_name(reference: &str) -> Option<String> {
    let pointer = local_pointer(reference)?;
    let name = pointer.strip_prefix("/$defs/")?.split('/').next()?;
    Some(name.replace("~1", "/").replace("~0", "~"))
}

/// Decodes percent escapes; invalid escapes and invalid UTF-8 are left unchanged.
pub fn percent_decoded(fragment: &str) -> String {
    if !fragment.contains('%') {
        return fragment.to_owned();
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex_value(*high).zip(hex_value(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
