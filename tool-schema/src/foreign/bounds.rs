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
mod tests;
