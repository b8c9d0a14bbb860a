//! Schemas that stand alone.

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
};

use serde_json::{Map, Value, json};

use super::{BROKEN, KeywordKind, PREFIX, keyword_kind};

/// The deepest place at which a component is inlined.
const MAX_INLINE_DEPTH: usize = 24;

/// The maximum number of components in one schema.
pub(super) const MAX_COMPONENTS: usize = 10_000;

/// The length of a text that counts as a value, in bytes.
const TEXT_VALUE_BYTES: usize = 32;

/// The number of values in `value`; a long text counts as several.
pub(in crate::import) fn value_count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(value_count).sum::<usize>(),
        Value::Object(members) => {
            1 + members.iter().map(|(key, it)| key.len() / TEXT_VALUE_BYTES + value_count(it)).sum::<usize>()
        }
        Value::String(text) => 1 + text.len() / TEXT_VALUE_BYTES,
        _ => 1,
    }
}

/// Makes `root` a schema that stands alone, with components by their names from `get`.
///
/// # Errors
///
/// The reason why a component could not be translated.
pub(crate) fn assemble_schema<'c>(
    root: Value,
    get: impl Fn(&str) -> Option<Cow<'c, Value>>,
) -> Result<Value, String> {
    let mut uses: BTreeMap<String, (usize, Value)> = BTreeMap::new();
    let mut waiting = VecDeque::new();
    let mut count = |value: &Value, waiting: &mut VecDeque<String>| {
        visit_references(value, &mut |name| {
            let used = uses.entry(name.to_owned()).or_insert_with(|| {
                waiting.push_back(name.to_owned());
                (0, Value::Bool(true))
            });
            used.0 += 1;
        });
    };
    count(&root, &mut waiting);
    let mut found = Vec::new();
    while let Some(name) = waiting.pop_front() {
        if found.len() >= MAX_COMPONENTS {
            return Err(format!("the schema refers to more than {MAX_COMPONENTS} others"));
        }
        let component = get(&name).ok_or_else(|| format!("the schema `{name}` is missing"))?.into_owned();
        if let Some(Value::String(reason)) = component.get(BROKEN) {
            return Err(reason.clone());
        }
        count(&component, &mut waiting);
        found.push((name, component));
    }
    for (name, component) in found {
        if let Some(used) = uses.get_mut(&name) {
            used.1 = component;
        }
    }
    let mut assembly = Assembly { uses, definitions: Map::new(), waiting: VecDeque::new() };
    let mut root = root;
    assembly.inline_components(&mut root, 0);
    while let Some((name, mut component)) = assembly.waiting.pop_front() {
        assembly.inline_components(&mut component, 1);
        assembly.definitions.insert(name, component);
    }
    if let (Value::Object(root), false) = (&mut root, assembly.definitions.is_empty()) {
        root.insert("$defs".to_owned(), Value::Object(assembly.definitions));
    }
    Ok(root)
}

struct Assembly {
    /// The components by name, with the number of their uses.
    uses: BTreeMap<String, (usize, Value)>,
    definitions: Map<String, Value>,
    waiting: VecDeque<(String, Value)>,
}

impl Assembly {
    /// Inlines components with one use in `schema`.
    fn inline_components(&mut self, schema: &mut Value, depth: usize) {
        let Value::Object(members) = schema else {
            if let Value::Array(items) = schema {
                items.iter_mut().for_each(|it| self.inline_components(it, depth + 1));
            }
            return;
        };
        let name = members
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|it| it.strip_prefix(PREFIX))
            .map(str::to_owned);
        if let Some(name) = name
            && let Some((count, component)) = self.uses.get_mut(&name)
        {
            let component = std::mem::take(component);
            // Taken before: already a definition.
            if !component.is_null() {
                if *count == 1 && depth < MAX_INLINE_DEPTH {
                    members.shift_remove("$ref");
                    merge_siblings(members, component);
                    return self.inline_components(schema, depth + 1);
                }
                self.definitions.insert(name.clone(), Value::Null);
                self.waiting.push_back((name, component));
            }
        }
        for (key, value) in members.iter_mut() {
            match keyword_kind(key) {
                KeywordKind::Schema | KeywordKind::List => self.inline_components(value, depth + 1),
                KeywordKind::Map => {
                    let Value::Object(all) = value else { continue };
                    all.values_mut().for_each(|it| self.inline_components(it, depth + 1));
                }
                KeywordKind::Plain | KeywordKind::Dropped => {}
            }
        }
    }
}

/// Adds the schema that a reference led to beside the siblings of the reference.
fn merge_siblings(siblings: &mut Map<String, Value>, component: Value) {
    const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "deprecated"];
    match component {
        Value::Object(component) if siblings.keys().all(|it| ANNOTATIONS.contains(&it.as_str())) => {
            for (key, value) in component {
                siblings.entry(key).or_insert(value);
            }
        }
        // The schema without conditions adds none.
        Value::Bool(true) => {}
        component => {
            let all = siblings.entry("allOf").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.push(component);
            }
        }
    }
}

/// Calls `each` with the name of each component that `schema` refers to.
pub(super) fn visit_references(schema: &Value, each: &mut impl FnMut(&str)) {
    match schema {
        Value::Object(members) => {
            if let Some(name) =
                members.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix(PREFIX))
            {
                each(name);
            }
            for (key, value) in members {
                match (keyword_kind(key), value) {
                    (KeywordKind::Map, Value::Object(all)) => {
                        all.values().for_each(|it| visit_references(it, each))
                    }
                    (KeywordKind::Schema | KeywordKind::List, value) => visit_references(value, each),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|it| visit_references(it, each)),
        _ => {}
    }
}
