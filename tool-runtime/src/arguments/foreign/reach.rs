//! How many schemas apply to a value, counted before one is checked.
//!
//! `jsonschema` goes as deep as a schema and a value say together, and where it explains, it tries
//! every branch at every level anew. The one comes from a stranger maybe, the other from a model:
//! neither may exhaust the stack or the time.

use std::collections::HashMap;

use serde_json::{Map, Value};
use tool_core::__private::words::percent_decoded;

/// How many schemas may apply to a value one within the other; the same as a plan's.
const LONGEST: usize = 64;

/// How many schemas may be open at once, of which a check needs some 500 bytes of a thread's stack
/// each, and an explanation some 3,000, where nothing is optimized.
const CALLS: usize = 1024;
const CALLS_TO_EXPLAIN: usize = 256;

/// How many schemas may apply to a value and to one value at each level below it.
const MOST: usize = 10_000;

/// The same for a check that asks what is left over, which remembers nothing of what it found.
const MOST_LEFT_OVER: usize = 100_000;

/// How deep values may be nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    /// To be checked at all.
    pub(super) deepest: usize,
    /// For each fault to be looked for.
    pub(super) explained: usize,
}

impl Reach {
    /// The reach of `schema`, for values that are nested no deeper than `deepest`.
    pub(super) fn of(schema: &Value, deepest: usize) -> Result<Self, String> {
        let graph = Graph::of(schema);
        let Some(longest) = graph.longest() else {
            return Err("`$ref` leads back to itself before it reaches a part of the value".to_owned());
        };
        if longest > LONGEST {
            return Err(format!(
                "at the root: more than {LONGEST} schemas apply to the same value one within the other"
            ));
        }
        let within = |calls: usize| deepest.min(calls / longest.max(1));
        let mut reach = Self { deepest: within(CALLS), explained: within(CALLS_TO_EXPLAIN) };
        let mut ways = graph.ways(None);
        if ways.iter().any(|ways| *ways > MOST) {
            return Err(format!("at the root: more than {MOST} schemas apply to the same value"));
        }
        for levels in 1..=reach.deepest {
            let below = std::mem::take(&mut ways);
            ways = graph.ways(Some(&below));
            let most = ways.first().copied().unwrap_or(0);
            if most > MOST {
                reach.explained = reach.explained.min(levels - 1);
            }
            if most > MOST_LEFT_OVER && graph.asks_what_is_left {
                reach.deepest = levels - 1;
            }
            if ways == below || most > MOST_LEFT_OVER {
                break;
            }
        }
        Ok(reach)
    }
}

/// Which schemas of a document apply where another does; the root is the first.
struct Graph {
    nodes: Vec<Node>,
    asks_what_is_left: bool,
}

#[derive(Default)]
struct Node {
    /// Those that apply to the same value.
    here: Vec<usize>,
    /// Those that may apply to it, by a reference that is not sure to mean them.
    maybe: Vec<usize>,
    /// Those that apply to a part of it; of one list, one applies to a part.
    below: Vec<Vec<usize>>,
}

impl Graph {
    fn of(root: &Value) -> Self {
        let mut objects = Vec::new();
        collect(root, &mut objects);
        let index = objects.iter().enumerate().map(|(at, value)| (std::ptr::from_ref(*value), at)).collect();
        let names = ["$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"];
        let is_named = |value: &Value| names.iter().any(|name| value.get(name).is_some());
        let named = objects.iter().enumerate().filter(|(at, value)| *at == 0 || is_named(value));
        let source = Source { root, index, named: named.map(|(at, _)| at).collect() };
        let asks = |value: &&Value| {
            ["unevaluatedItems", "unevaluatedProperties"].iter().any(|key| value.get(key).is_some())
        };
        Self {
            nodes: objects.iter().filter_map(|value| Some(source.node(value.as_object()?))).collect(),
            asks_what_is_left: objects.iter().any(asks),
        }
    }

    /// How many schemas apply to one value one within the other, at most; `None` where one of them
    /// applies within itself.
    fn longest(&self) -> Option<usize> {
        let mut lengths = vec![Count::Unknown; self.nodes.len()];
        (0..self.nodes.len())
            .try_fold(0, |longest, at| Some(longest.max(self.length(at, 0, &mut lengths)?)))
    }

    fn length(&self, at: usize, above: usize, lengths: &mut [Count]) -> Option<usize> {
        match lengths.get(at)? {
            Count::Known(length) => return Some(*length),
            Count::Unknown if above > LONGEST => return Some(LONGEST + 1),
            Count::Unknown => set(lengths, at, Count::Open),
            Count::Open => return None,
        }
        let Node { here, maybe, .. } = self.nodes.get(at)?;
        let mut longest = 0;
        for next in here {
            longest = longest.max(self.length(*next, above + 1, lengths)?);
        }
        for next in maybe {
            // What is only guessed is no mistake where it leads back.
            if !matches!(lengths.get(*next), Some(Count::Open)) {
                longest = longest.max(self.length(*next, above + 1, lengths)?);
            }
        }
        set(lengths, at, Count::Known(longest + 1));
        Some(longest + 1)
    }

    /// How many schemas apply where each does, given how many do one level below.
    fn ways(&self, below: Option<&[usize]>) -> Vec<usize> {
        let mut counts = vec![Count::Unknown; self.nodes.len()];
        (0..self.nodes.len()).map(|at| self.ways_of(at, below, &mut counts)).collect()
    }

    fn ways_of(&self, at: usize, below: Option<&[usize]>, counts: &mut [Count]) -> usize {
        match counts.get(at) {
            Some(Count::Known(ways)) => return *ways,
            Some(Count::Unknown) => set(counts, at, Count::Open),
            Some(Count::Open) | None => return 0,
        }
        let Some(node) = self.nodes.get(at) else { return 0 };
        let mut ways = 1_usize;
        for next in node.here.iter().chain(&node.maybe) {
            ways = ways.saturating_add(self.ways_of(*next, below, counts));
        }
        for list in &node.below {
            let most = list.iter().filter_map(|next| below?.get(*next)).max();
            ways = ways.saturating_add(most.copied().unwrap_or(0));
        }
        set(counts, at, Count::Known(ways));
        ways
    }
}

#[derive(Clone, Copy)]
enum Count {
    Unknown,
    Open,
    Known(usize),
}

fn set(counts: &mut [Count], at: usize, count: Count) {
    if let Some(slot) = counts.get_mut(at) {
        *slot = count;
    }
}

/// All objects within `value`; those that are no schemas do no harm.
fn collect<'v>(value: &'v Value, objects: &mut Vec<&'v Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, objects)),
        Value::Object(map) => {
            objects.push(value);
            map.values().for_each(|value| collect(value, objects));
        }
        _ => {}
    }
}

/// A document on its way to a graph.
struct Source<'v> {
    root: &'v Value,
    index: HashMap<*const Value, usize>,
    /// The root, and what has a name; a reference that is no pointer means one of these.
    named: Vec<usize>,
}

impl Source<'_> {
    fn node(&self, keywords: &Map<String, Value>) -> Node {
        let mut node = Node::default();
        for (key, value) in keywords {
            match key.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => match self.target(value) {
                    Some(target) if self.named.len() == 1 => node.here.push(target),
                    // From within a part that has a name, it may lead elsewhere.
                    Some(target) => node.maybe.push(target),
                    None => node.maybe.extend(&self.named),
                },
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
                    node.here.extend(self.listed(value));
                }
                "dependentSchemas" | "dependencies" => node.here.extend(self.among(value)),
                "properties" => node.below.push(self.among(value)),
                "patternProperties" => {
                    node.below.extend(self.among(value).into_iter().map(|at| vec![at]));
                }
                "items"
                | "prefixItems"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames" => {
                    node.below.push(self.listed(value));
                }
                _ => {}
            }
        }
        node
    }

    fn at(&self, value: &Value) -> Option<usize> {
        self.index.get(&std::ptr::from_ref(value)).copied()
    }

    /// A schema, or a list of them.
    fn listed(&self, value: &Value) -> Vec<usize> {
        let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        list.iter().filter_map(|it| self.at(it)).collect()
    }

    /// An object of schemas.
    fn among(&self, value: &Value) -> Vec<usize> {
        value.as_object().into_iter().flat_map(Map::values).filter_map(|it| self.at(it)).collect()
    }

    /// Where a pointer leads.
    fn target(&self, reference: &Value) -> Option<usize> {
        let pointer = reference.as_str()?.strip_prefix('#').map(percent_decoded)?;
        self.at(self.root.pointer(&pointer)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::{Value, json};

    use super::{CALLS, CALLS_TO_EXPLAIN, Reach};

    fn reach(schema: &Value) -> (usize, usize) {
        let Reach { deepest, explained } = Reach::of(schema, 128).unwrap();
        (deepest, explained)
    }

    #[test]
    fn a_schema_that_names_each_level_once_reaches_everywhere() {
        assert_eq!(reach(&json!(true)), (128, 128));
        assert_eq!(reach(&json!({"properties": {"a": {"items": {"type": "string"}}, "b": {}}})), (128, 128));
        // A tree, of which each value is in one branch only.
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
    fn what_is_left_over_is_asked_of_fewer_levels() {
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
        assert_eq!(reach(&chain), (CALLS / 42, CALLS_TO_EXPLAIN / 42));
    }

    #[test]
    fn what_applies_too_often_to_one_value_is_refused() {
        let chain = (0..70).fold(json!({}), |schema, _| json!({"not": schema}));
        let refused = Reach::of(&chain, 128).unwrap_err();
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
        let refused = Reach::of(&schema, 128).unwrap_err();
        assert_eq!(refused, "at the root: more than 10000 schemas apply to the same value");
    }

    #[test]
    fn what_leads_back_to_itself_is_refused() {
        let text = "`$ref` leads back to itself before it reaches a part of the value";
        for schema in [json!({"$ref": "#"}), json!({"items": {"anyOf": [{"not": {"$ref": "#/items"}}]}})] {
            assert_eq!(Reach::of(&schema, 128).unwrap_err(), text);
        }
        // These may mean another schema.
        assert_eq!(reach(&json!({"$anchor": "a", "$ref": "#a"})).0, 128);
        let named =
            json!({"anyOf": [{"$ref": "b"}], "definitions": {"b": {"id": "b", "not": {"$ref": "#"}}}});
        assert_eq!(reach(&named).0, 128);
    }
}
