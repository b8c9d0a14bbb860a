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
pub(in crate::import) fn weighted_value_count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(weighted_value_count).sum::<usize>(),
        Value::Object(members) => {
            1 + members
                .iter()
                .map(|(key, it)| key.len() / TEXT_VALUE_BYTES + weighted_value_count(it))
                .sum::<usize>()
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
                (0, Value::Null)
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
    let mut assembly = SchemaAssembly { uses, definitions: Map::new(), waiting: VecDeque::new() };
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

struct SchemaAssembly {
    /// The components by name, with the number of their uses.
    uses: BTreeMap<String, (usize, Value)>,
    definitions: Map<String, Value>,
    waiting: VecDeque<(String, Value)>,
}

impl SchemaAssembly {
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
                    merge_component_into_siblings(members, component);
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
fn merge_component_into_siblings(siblings: &mut Map<String, Value>, component: Value) {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    /// The assembled schema of `root`, with these components.
    fn assembled(root: Value, components: &Value) -> Result<Value, String> {
        assemble_schema(root, |name| components.get(name).map(Cow::Borrowed))
    }

    fn reference(name: &str) -> Value {
        json!({ "$ref": format!("{PREFIX}{name}") })
    }

    #[test]
    fn values_are_counted_with_the_length_of_their_texts() {
        for (value, count) in [
            (json!(null), 1),
            (json!(7), 1),
            (json!([]), 1),
            (json!([1, [2]]), 4),
            (json!({ "a": 1, "b": {} }), 3),
            (json!("x".repeat(31)), 1),
            (json!("x".repeat(32)), 2),
            (json!("x".repeat(64)), 3),
            (json!({ "x".repeat(31): 1 }), 2),
            (json!({ "x".repeat(64): "x".repeat(32) }), 5),
        ] {
            assert_eq!(weighted_value_count(&value), count, "{value}");
        }
    }

    #[test]
    fn a_component_with_one_use_is_inlined_beside_what_describes_it() {
        let components = json!({ "A": { "type": "string", "title": "A" }, "T": true, "F": false });
        for (siblings, expected) in [
            (json!({}), json!({ "type": "string", "title": "A" })),
            (
                json!({ "title": "Own", "description": "D" }),
                json!({ "title": "Own", "description": "D", "type": "string" }),
            ),
            (
                json!({ "maxLength": 3 }),
                json!({ "maxLength": 3, "allOf": [{ "type": "string", "title": "A" }] }),
            ),
            (json!({ "allOf": [true] }), json!({ "allOf": [true, { "type": "string", "title": "A" }] })),
        ] {
            let mut root = reference("A");
            root.as_object_mut().unwrap().extend(siblings.as_object().unwrap().clone());
            assert_eq!(assembled(root, &components), Ok(expected), "{siblings}");
        }
        assert_eq!(assembled(json!({ "not": reference("T") }), &components), Ok(json!({ "not": {} })));
        assert_eq!(
            assembled(json!({ "not": reference("F") }), &components),
            Ok(json!({ "not": { "allOf": [false] } }))
        );
        // In a value, it is none.
        let value = json!({ "const": reference("A"), "default": reference("None") });
        assert_eq!(assembled(value.clone(), &components), Ok(value));
    }

    #[test]
    fn a_component_with_several_uses_is_a_definition() {
        let twice = json!({ "properties": { "a": reference("A"), "b": reference("A") } });
        let components = json!({ "A": { "items": reference("B") }, "B": { "type": "string" } });
        let mut expected = twice.clone();
        expected["$defs"] = json!({ "A": { "items": { "type": "string" } } });
        assert_eq!(assembled(twice, &components), Ok(expected));
        let itself = json!({ "A": { "items": reference("A") } });
        let mut expected = reference("A");
        expected["$defs"] = itself.clone();
        assert_eq!(assembled(reference("A"), &itself), Ok(expected));
    }

    #[test]
    fn a_component_is_inlined_down_to_a_depth() {
        let components = json!({ "A": { "type": "string" }, "D": { "type": "object" } });
        let nested =
            |levels: usize, key: &str, inner: Value| (0..levels).fold(inner, |it, _| json!({ key: it }));
        let listed = |levels: usize, inner: Value| (0..levels).fold(inner, |it, _| json!({ "allOf": [it] }));
        let named =
            |levels: usize| (0..levels).fold(reference("A"), |it, _| json!({ "properties": { "a": it } }));
        let is_inlined = |root: Value| assembled(root, &components).unwrap().get("$defs").is_none();
        assert!(
            is_inlined(nested(23, "not", reference("A"))) && !is_inlined(nested(24, "not", reference("A")))
        );
        assert!(is_inlined(listed(11, reference("A"))) && !is_inlined(listed(12, reference("A"))));
        assert!(is_inlined(named(23)) && !is_inlined(named(24)));
        // A component within another one, and within a definition, which begins one level below the root.
        let chain =
            |levels: usize| json!({ "A": nested(levels, "not", reference("B")), "B": { "type": "string" } });
        let has_rest =
            |root: Value, levels: usize| assembled(root, &chain(levels)).unwrap()["$defs"].get("B").is_some();
        assert!(!has_rest(reference("A"), 22) && has_rest(reference("A"), 23));
        let twice = json!({ "properties": { "a": reference("A"), "b": reference("A") } });
        assert!(!has_rest(twice.clone(), 22) && has_rest(twice, 23));
    }

    #[test]
    fn a_component_that_is_missing_or_broken_is_an_error() {
        let components = json!({ "B": { BROKEN: "it is broken" }, "A": { "items": reference("B") } });
        assert_eq!(assembled(reference("None"), &components), Err("the schema `None` is missing".to_owned()));
        assert_eq!(assembled(reference("A"), &components), Err("it is broken".to_owned()));
    }
}
