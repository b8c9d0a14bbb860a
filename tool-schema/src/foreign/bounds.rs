//! The number of schemas that apply to a value, computed before any value is validated.
//!
//! The recursion depth of `jsonschema` is the product of a schema's and a value's depth, and for an explanation
//! it evaluates every branch again at every level. Both come from outside: neither may exhaust the stack or the
//! time.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::pointer::percent_decoded;

/// The maximum number of schemas that apply to one value within one another; the same as in a plan.
const MAX_CHAIN_SCHEMAS: usize = 64;

/// The maximum number of active schemas. Without optimization, validation needs some 500 bytes of stack for
/// each, and an explanation some 3,000.
const MAX_ACTIVE_SCHEMAS: usize = 1024;
const MAX_ACTIVE_SCHEMAS_EXPLAINED: usize = 256;

/// The maximum number of schemas that apply to a value, and to one value at each level below it.
const MAX_SCHEMAS: usize = 10_000;

/// The same for `unevaluatedProperties` and `unevaluatedItems`, whose validation caches nothing.
const MAX_SCHEMAS_UNEVALUATED: usize = 100_000;

/// The maximum nesting of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DepthBounds {
    /// For validation.
    pub(super) deepest: usize,
    /// For an explanation of each violation.
    pub(super) explained: usize,
}

impl DepthBounds {
    /// Computes the limits of `schema` for values that are nested at most `deepest` levels.
    pub(super) fn for_schema(schema: &Value, deepest: usize) -> Result<Self, String> {
        let graph = SchemaGraph::from_schema(schema);
        let Some(longest) = graph.longest_chain() else {
            return Err("`$ref` leads back to itself before it reaches a part of the value".to_owned());
        };
        if longest > MAX_CHAIN_SCHEMAS {
            return Err(format!(
                "at the root: more than {MAX_CHAIN_SCHEMAS} schemas apply to the same value one within the other"
            ));
        }
        let within = |calls: usize| deepest.min(calls / longest.max(1));
        let mut reach =
            Self { deepest: within(MAX_ACTIVE_SCHEMAS), explained: within(MAX_ACTIVE_SCHEMAS_EXPLAINED) };
        let mut ways = graph.count_applied_schemas(None);
        if ways.iter().any(|ways| *ways > MAX_SCHEMAS) {
            return Err(format!("at the root: more than {MAX_SCHEMAS} schemas apply to the same value"));
        }
        for levels in 1..=reach.deepest {
            let below = std::mem::take(&mut ways);
            ways = graph.count_applied_schemas(Some(&below));
            let most = ways.first().copied().unwrap_or(0);
            if most > MAX_SCHEMAS {
                reach.explained = reach.explained.min(levels - 1);
            }
            if most > MAX_SCHEMAS_UNEVALUATED && graph.asks_what_is_left {
                reach.deepest = levels - 1;
            }
            if ways == below || most > MAX_SCHEMAS_UNEVALUATED {
                break;
            }
        }
        Ok(reach)
    }
}

/// The graph of schemas that apply where another one does; the root is the first node.
struct SchemaGraph {
    nodes: Vec<GraphNode>,
    asks_what_is_left: bool,
}

#[derive(Default)]
struct GraphNode {
    /// Schemas that apply to the same value.
    here: Vec<usize>,
    /// Schemas that may apply to the same value, by a reference whose target is uncertain.
    maybe: Vec<usize>,
    /// Schemas that apply to a part of the value; of each list, one applies to a part.
    below: Vec<Vec<usize>>,
}

impl SchemaGraph {
    fn from_schema(root: &Value) -> Self {
        let mut objects = Vec::new();
        collect_objects(root, &mut objects);
        let index = objects.iter().enumerate().map(|(at, value)| (std::ptr::from_ref(*value), at)).collect();
        let names = ["$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"];
        let is_named = |value: &Value| names.iter().any(|name| value.get(name).is_some());
        let named = objects.iter().enumerate().filter(|(at, value)| *at == 0 || is_named(value));
        let source = GraphSource { root, index, named: named.map(|(at, _)| at).collect() };
        let asks = |value: &&Value| {
            ["unevaluatedItems", "unevaluatedProperties"].iter().any(|key| value.get(key).is_some())
        };
        Self {
            nodes: objects.iter().filter_map(|value| Some(source.make_node(value.as_object()?))).collect(),
            asks_what_is_left: objects.iter().any(asks),
        }
    }

    /// Returns the maximum number of schemas that apply to one value within one another; `None` for a cycle.
    fn longest_chain(&self) -> Option<usize> {
        let mut lengths = vec![CountState::Unknown; self.nodes.len()];
        (0..self.nodes.len())
            .try_fold(0, |longest, at| Some(longest.max(self.chain_length(at, 0, &mut lengths)?)))
    }

    fn chain_length(&self, at: usize, above: usize, lengths: &mut [CountState]) -> Option<usize> {
        match lengths.get(at)? {
            CountState::Known(length) => return Some(*length),
            CountState::Unknown if above > MAX_CHAIN_SCHEMAS => return Some(MAX_CHAIN_SCHEMAS + 1),
            CountState::Unknown => set_count(lengths, at, CountState::Open),
            CountState::Open => return None,
        }
        let GraphNode { here, maybe, .. } = self.nodes.get(at)?;
        let mut longest = 0;
        for next in here {
            longest = longest.max(self.chain_length(*next, above + 1, lengths)?);
        }
        for next in maybe {
            // A cycle through an uncertain reference is not a mistake.
            if !matches!(lengths.get(*next), Some(CountState::Open)) {
                longest = longest.max(self.chain_length(*next, above + 1, lengths)?);
            }
        }
        set_count(lengths, at, CountState::Known(longest + 1));
        Some(longest + 1)
    }

    /// Returns the number of schemas that apply at each node, given the numbers one level below.
    fn count_applied_schemas(&self, below: Option<&[usize]>) -> Vec<usize> {
        let mut counts = vec![CountState::Unknown; self.nodes.len()];
        (0..self.nodes.len()).map(|at| self.count_applied_schemas_at(at, below, &mut counts)).collect()
    }

    fn count_applied_schemas_at(
        &self,
        at: usize,
        below: Option<&[usize]>,
        counts: &mut [CountState],
    ) -> usize {
        match counts.get(at) {
            Some(CountState::Known(ways)) => return *ways,
            Some(CountState::Unknown) => set_count(counts, at, CountState::Open),
            Some(CountState::Open) | None => return 0,
        }
        let Some(node) = self.nodes.get(at) else { return 0 };
        let mut ways = 1_usize;
        for next in node.here.iter().chain(&node.maybe) {
            ways = ways.saturating_add(self.count_applied_schemas_at(*next, below, counts));
        }
        for list in &node.below {
            let most = list.iter().filter_map(|next| below?.get(*next)).max();
            ways = ways.saturating_add(most.copied().unwrap_or(0));
        }
        set_count(counts, at, CountState::Known(ways));
        ways
    }
}

#[derive(Clone, Copy)]
enum CountState {
    Unknown,
    Open,
    Known(usize),
}

fn set_count(counts: &mut [CountState], at: usize, count: CountState) {
    if let Some(slot) = counts.get_mut(at) {
        *slot = count;
    }
}

/// Collects all objects within `value`; objects that are not schemas are harmless.
fn collect_objects<'v>(value: &'v Value, objects: &mut Vec<&'v Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_objects(item, objects)),
        Value::Object(map) => {
            objects.push(value);
            map.values().for_each(|value| collect_objects(value, objects));
        }
        _ => {}
    }
}

/// A document that is converted to a graph.
struct GraphSource<'v> {
    root: &'v Value,
    index: HashMap<*const Value, usize>,
    /// The root and all named parts: the possible targets of a reference that is not a pointer.
    named: Vec<usize>,
}

impl GraphSource<'_> {
    fn make_node(&self, keywords: &Map<String, Value>) -> GraphNode {
        let mut node = GraphNode::default();
        for (key, value) in keywords {
            match key.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => match self.pointer_target(value) {
                    Some(target) if self.named.len() == 1 => node.here.push(target),
                    // Within a named part, the reference may have another target.
                    Some(target) => node.maybe.push(target),
                    None => node.maybe.extend(&self.named),
                },
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
                    node.here.extend(self.indices_of_one_or_many(value));
                }
                "dependentSchemas" | "dependencies" => node.here.extend(self.schemas_in_map(value)),
                "properties" => node.below.push(self.schemas_in_map(value)),
                "patternProperties" => {
                    node.below.extend(self.schemas_in_map(value).into_iter().map(|at| vec![at]));
                }
                "items"
                | "prefixItems"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames" => {
                    node.below.push(self.indices_of_one_or_many(value));
                }
                _ => {}
            }
        }
        node
    }

    fn index_of(&self, value: &Value) -> Option<usize> {
        self.index.get(&std::ptr::from_ref(value)).copied()
    }

    /// Returns a schema, or a list of schemas.
    fn indices_of_one_or_many(&self, value: &Value) -> Vec<usize> {
        let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        list.iter().filter_map(|it| self.index_of(it)).collect()
    }

    /// Returns the schemas in an object.
    fn schemas_in_map(&self, value: &Value) -> Vec<usize> {
        value.as_object().into_iter().flat_map(Map::values).filter_map(|it| self.index_of(it)).collect()
    }

    /// Returns the target of a pointer.
    fn pointer_target(&self, reference: &Value) -> Option<usize> {
        let pointer = reference.as_str()?.strip_prefix('#').map(percent_decoded)?;
        self.index_of(self.root.pointer(&pointer)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::{Value, json};

    use super::{DepthBounds, MAX_ACTIVE_SCHEMAS, MAX_ACTIVE_SCHEMAS_EXPLAINED};

    fn reach(schema: &Value) -> (usize, usize) {
        let DepthBounds { deepest, explained } = DepthBounds::for_schema(schema, 128).unwrap();
        (deepest, explained)
    }

    #[test]
    fn a_schema_that_names_each_level_once_reaches_everywhere() {
        assert_eq!(reach(&json!(true)), (128, 128));
        assert_eq!(reach(&json!({"properties": {"a": {"items": {"type": "string"}}, "b": {}}})), (128, 128));
        // A tree: each value is in one branch only.
        let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
        assert_eq!(reach(&tree), (128, 128));
        let list = json!({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}});
        assert_eq!(reach(&list), (128, 128));
    }

    #[test]
    fn branches_that_meet_again_below_are_counted() {
        let branch = |kind: &str| json!({"properties": {"kind": {"const": kind}, "in": {"$ref": "#"}}});
        let (deepest, explained) = reach(&json!({"anyOf": [branch("a"), branch("b"), branch("c")]}));
        assert_eq!(deepest, 128);
        assert!((5..12).contains(&explained), "{explained}");
        let (_, explained) = reach(&json!({"anyOf": [branch("a"), branch("b")]}));
        assert!((9..20).contains(&explained), "{explained}");
    }

    #[test]
    fn unevaluated_keywords_reduce_the_depth() {
        let branch = |kind: &str| json!({"properties": {"kind": {"const": kind}, "in": {"$ref": "#"}}});
        let branches = json!({"anyOf": [branch("a"), branch("b")], "unevaluatedProperties": false});
        let (deepest, explained) = reach(&branches);
        assert!(explained < deepest && deepest < 20, "{explained} {deepest}");
        let list = json!({"items": {"$ref": "#"}, "unevaluatedItems": false});
        assert_eq!(reach(&list).0, 128);
    }

    #[test]
    fn a_long_chain_leaves_less_depth() {
        let chain = (0..40).fold(json!({"items": {"$ref": "#"}}), |schema, _| json!({"allOf": [schema]}));
        assert_eq!(reach(&chain), (MAX_ACTIVE_SCHEMAS / 42, MAX_ACTIVE_SCHEMAS_EXPLAINED / 42));
    }

    #[test]
    fn too_many_schemas_for_one_value_are_rejected() {
        let chain = (0..70).fold(json!({}), |schema, _| json!({"not": schema}));
        let refused = DepthBounds::for_schema(&chain, 128).unwrap_err();
        let text = "at the root: more than 64 schemas apply to the same value one within the other";
        assert_eq!(refused, text);
        // Each of these twenty applies the next one twice.
        let mut defs = serde_json::Map::new();
        for at in 0..20 {
            let next = json!({"$ref": format!("#/definitions/d%20{}", at + 1)});
            defs.insert(format!("d {at}"), json!({"allOf": [next, next]}));
        }
        defs.insert("d 20".to_owned(), json!({}));
        let schema = json!({"items": {"$ref": "#/definitions/d%200"}, "definitions": defs});
        let refused = DepthBounds::for_schema(&schema, 128).unwrap_err();
        assert_eq!(refused, "at the root: more than 10000 schemas apply to the same value");
    }

    /// Returns a schema that applies `count` schemas to one value.
    fn schema_of(count: usize) -> Value {
        json!({ "allOf": vec![json!({}); count - 1] })
    }

    #[test]
    fn exactly_as_many_schemas_as_the_limits_are_accepted() {
        let chain = |length: usize| (1..length).fold(json!({}), |schema, _| json!({"not": schema}));
        assert_eq!(reach(&chain(64)), (MAX_ACTIVE_SCHEMAS / 64, MAX_ACTIVE_SCHEMAS_EXPLAINED / 64));
        assert!(DepthBounds::for_schema(&chain(65), 128).is_err());
        assert_eq!(reach(&schema_of(10_000)).0, 128);
        assert!(DepthBounds::for_schema(&schema_of(10_001), 128).is_err());
        // One property, with a schema for the value itself.
        let below = |count: usize| json!({"properties": {"a": schema_of(count - 1)}});
        assert_eq!(reach(&below(10_000)), (128, 128));
        let mut more = below(10_000);
        more["anyOf"] = json!([{}]);
        assert_eq!(reach(&more), (128, 0));
    }

    #[test]
    fn each_keyword_with_schemas_counts_for_the_value_or_for_a_part_of_it() {
        let chain = (1..64).fold(json!({}), |schema, _| json!({"not": schema}));
        for key in ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"] {
            for schema in [json!({key: chain}), json!({key: [{}, chain]})] {
                assert!(DepthBounds::for_schema(&schema, 128).is_err(), "{key}");
            }
        }
        for key in ["dependentSchemas", "dependencies"] {
            assert!(DepthBounds::for_schema(&json!({key: {"a": {}, "b": chain}}), 128).is_err(), "{key}");
        }
        let large = schema_of(9_999);
        // One more than the limit, of which an explanation reaches no part.
        let counted = |key: &str, schemas: Value| reach(&json!({key: schemas, "anyOf": [{}]}));
        for key in [
            "items",
            "prefixItems",
            "additionalItems",
            "unevaluatedItems",
            "contains",
            "additionalProperties",
            "unevaluatedProperties",
            "propertyNames",
        ] {
            assert_eq!(counted(key, large.clone()), (128, 0), "{key}");
            assert_eq!(counted(key, json!([{}, large])), (128, 0), "{key}");
        }
        for key in ["properties", "patternProperties"] {
            assert_eq!(counted(key, json!({"a": large})), (128, 0), "{key}");
        }
        // A property has one name, and may match several patterns.
        let halves = json!({"a": schema_of(5_000), "b": schema_of(4_999)});
        assert_eq!(counted("properties", halves.clone()), (128, 128));
        assert_eq!(counted("patternProperties", halves), (128, 0));
        assert_eq!(counted("title", large), (128, 128));
    }

    #[test]
    fn exactly_as_many_schemas_as_unevaluated_keywords_permit_are_accepted() {
        // The root and 99 branches apply the same definition to a property: 200 + 100 times its schemas in the first level,
        // and more in the second, since the definition leads back to the root.
        let property = json!({"properties": {"a": {"$ref": "#/definitions/a"}}});
        let schema = |count: usize| {
            let mut schema = property.clone();
            schema["allOf"] = vec![property.clone(); 99].into();
            schema["definitions"] = json!({"a": schema_of(count)});
            schema["definitions"]["a"]["items"] = json!({"$ref": "#"});
            schema["unevaluatedProperties"] = true.into();
            schema
        };
        assert_eq!(reach(&schema(998)), (1, 0));
        let mut closed = schema(998);
        closed["definitions"]["a"]["items"] = true.into();
        assert_eq!(reach(&closed), (128, 0));
        assert_eq!(reach(&schema(999)), (0, 0));
    }

    #[test]
    fn a_reference_cycle_is_rejected() {
        let text = "`$ref` leads back to itself before it reaches a part of the value";
        for schema in [json!({"$ref": "#"}), json!({"items": {"anyOf": [{"not": {"$ref": "#/items"}}]}})] {
            assert_eq!(DepthBounds::for_schema(&schema, 128).unwrap_err(), text);
        }
        // These may refer to another schema.
        assert_eq!(reach(&json!({"$anchor": "a", "$ref": "#a"})).0, 128);
        let named =
            json!({"anyOf": [{"$ref": "b"}], "definitions": {"b": {"id": "b", "not": {"$ref": "#"}}}});
        assert_eq!(reach(&named).0, 128);
    }
}
