//! References within a schema.
//!
//! A local reference is a URI fragment that contains a JSON pointer, so names in it are escaped twice.

use std::convert::Infallible;

use serde_json::Value;

use super::walk::visit_subschemas;
use crate::pointer::local_pointer;

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
        collect_used_definitions(root, &mut used);
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
fn collect_used_definitions(schema: &mut Value, found: &mut Vec<String>) {
    let Some(schema) = schema.as_object_mut() else { return };
    found.extend(schema.get("$ref").and_then(Value::as_str).and_then(definition_name));
    let Ok(()) = visit_subschemas(schema, |_, subschema| {
        collect_used_definitions(subschema, found);
        Ok::<_, Infallible>(())
    });
}

/// Returns the definition that contains the target of a `$ref`.
fn definition_name(reference: &str) -> Option<String> {
    let pointer = local_pointer(reference)?;
    let name = pointer.strip_prefix("/$defs/")?.split('/').next()?;
    Some(name.replace("~1", "/").replace("~0", "~"))
}
