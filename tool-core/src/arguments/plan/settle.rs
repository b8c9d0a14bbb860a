//! Rewriting what a schema reads as equal.
//!
//! A model writes `null` for "not given" and `3.0` for 3; the types that arguments are decoded into
//! know neither. What is rewritten here means the same to the schema's author, so that it counts as
//! no correction. A value that already fits is only ever rewritten to one that fits as well.

use serde_json::{Map, Value};

use super::{
    Plan,
    branches::Branches,
    check::Walk,
    node::{Combined, ListRules, NodeId, ObjectRules, Rest, Types},
    number::integer_in,
};

/// So many nodes are visited, at most. Trying branches within branches takes a time that grows with
/// every level; a value that is not settled to its last corner is refused by the check, not lost.
const PATIENCE: usize = 100_000;

pub(super) fn settle(plan: &Plan, value: &mut Value) -> bool {
    Settler { plan, patience: PATIENCE }.node(NodeId::ROOT, value, None)
}

struct Settler<'p> {
    plan: &'p Plan,
    patience: usize,
}

/// The nodes through which the walk came to a value: what any of them requires is required.
#[derive(Clone, Copy)]
struct Via<'a> {
    node: NodeId,
    outer: Option<&'a Via<'a>>,
}

impl<'p> Settler<'p> {
    /// Settles `value`, to which `id` applies and, where `outer` is given, those nodes too.
    fn node(&mut self, id: NodeId, value: &mut Value, outer: Option<&Via<'_>>) -> bool {
        let Some(left) = self.patience.checked_sub(1) else { return false };
        self.patience = left;
        let node = self.plan.node(id);
        let via = Via { node: id, outer };
        let mut changed = false;
        match value {
            Value::Number(number) if node.types.intersection(Types::NUMBER) == Types::INTEGER => {
                if let Some(integer) = integer_in(number) {
                    *number = integer;
                    changed = true;
                }
            }
            Value::Array(items) => {
                if let Some(rules) = node.list.as_deref() {
                    changed |= self.list(rules, items);
                }
            }
            Value::Object(map) => {
                if let Some(rules) = node.object.as_deref() {
                    changed |= self.object(rules, map, &via);
                }
            }
            _ => {}
        }
        if let Some(combined) = node.combined.as_deref() {
            changed |= self.combined(combined, value, &via);
        }
        changed
    }

    fn list(&mut self, rules: &'p ListRules, items: &mut [Value]) -> bool {
        let mut changed = false;
        for (index, item) in items.iter_mut().enumerate() {
            changed |= match (rules.prefix.get(index), rules.rest) {
                (Some(node), _) => self.node(*node, item, None),
                (None, Rest::Schema(node)) => self.node(node, item, None),
                _ => false,
            };
        }
        changed
    }

    fn object(&mut self, rules: &'p ObjectRules, map: &mut Map<String, Value>, via: &Via<'_>) -> bool {
        let renamed = rules.properties.rename(map);
        let before = map.len();
        map.retain(|name, value| {
            let node = rules.properties.get(name).and_then(|it| it.node);
            let is_absent = |node| !self.is_required(via, name) && !Walk::new(self.plan).admits(node, value);
            !(value.is_null() && node.is_some_and(is_absent))
        });
        let mut changed = renamed || map.len() != before;
        let mut near = 0;
        for (name, value) in map {
            let mut is_known = false;
            if let Some(node) = rules.properties.get_near(name, &mut near).and_then(|it| it.node) {
                is_known = true;
                changed |= self.node(node, value, None);
            }
            // The keys of a map from numbers are a pattern; its values are settled as all others.
            for (_, node) in rules.patterns.iter().filter(|(pattern, _)| pattern.is_match(name)) {
                is_known = true;
                changed |= self.node(*node, value, None);
            }
            if let (false, Rest::Schema(node)) = (is_known, rules.rest) {
                changed |= self.node(node, value, None);
            }
        }
        changed
    }

    fn combined(&mut self, combined: &'p Combined, value: &mut Value, via: &Via<'_>) -> bool {
        let mut changed = false;
        for node in &combined.all {
            changed |= self.node(*node, value, Some(via));
        }
        for branches in combined.any.iter().chain(&combined.one) {
            changed |= self.branches(branches, value, via);
        }
        changed
    }

    /// Settles by the branch that admits `value` as it is, or else by the first that admits what it
    /// settles to.
    fn branches(&mut self, branches: &'p Branches, value: &mut Value, via: &Via<'_>) -> bool {
        let plan = self.plan;
        let candidates: Vec<_> = branches.candidates(value).collect();
        if let Some(node) = candidates.iter().find(|node| Walk::new(plan).admits(**node, value)) {
            return self.node(*node, value, Some(via));
        }
        for node in candidates {
            let mut settled = value.clone();
            if self.node(node, &mut settled, Some(via)) && Walk::new(plan).admits(node, &settled) {
                *value = settled;
                return true;
            }
        }
        false
    }

    fn is_required(&self, via: &Via<'_>, name: &str) -> bool {
        self.requires(via.node, name) || via.outer.is_some_and(|outer| self.is_required(outer, name))
    }

    /// Whether a node, or one that applies wherever it does, requires the property.
    fn requires(&self, id: NodeId, name: &str) -> bool {
        let node = self.plan.node(id);
        let own = node.object.as_deref().and_then(|it| it.properties.get(name)).is_some_and(|it| it.required);
        own || node.combined.as_deref().is_some_and(|it| it.all.iter().any(|node| self.requires(*node, name)))
    }
}
