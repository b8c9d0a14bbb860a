//! `unevaluatedItems` and `unevaluatedProperties`.

use std::collections::HashSet;

use serde_json::Value;

use super::{Flow, Sink, ValidationWalk};
use crate::arguments::plan::{
    location::Location,
    node::{AdditionalRule, Combined, ListRules, Node, NodeId, ObjectRules, TypeSet, Unevaluated},
};

/// The evaluated parts of one value.
struct EvaluatedMarks {
    /// `true` for each evaluated item or property.
    seen: Vec<bool>,
    /// The visited nodes, each visited once.
    by: HashSet<NodeId>,
}

impl<'p> ValidationWalk<'p> {
    /// Applies the schema of unevaluated items or properties: those covered neither by the keywords beside it nor by
    /// a schema that applies to the same value and admits it.
    pub(super) fn check_unevaluated<S: Sink>(
        &mut self,
        rules: &Unevaluated,
        value: &Value,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        match (value, rules.items, rules.properties) {
            (Value::Array(items), Some(node), _) => {
                let seen = self.evaluated_parts(rules.of, value, items.len());
                for (index, item) in unmarked_elements(items.iter(), &seen) {
                    self.check_unevaluated_part(node, "no item here", item, &at.item(index), sink)?;
                }
            }
            (Value::Object(map), _, Some(node)) => {
                let seen = self.evaluated_parts(rules.of, value, map.len());
                for (position, (name, value)) in unmarked_elements(map.iter(), &seen) {
                    let here = at.property(name, position);
                    self.check_unevaluated_part(
                        node,
                        "a property that the schema knows",
                        value,
                        &here,
                        sink,
                    )?;
                }
            }
            _ => {}
        }
        Flow::Continue(())
    }

    fn check_unevaluated_part<S: Sink>(
        &mut self,
        node: NodeId,
        otherwise: &str,
        value: &Value,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        if self.plan.node(node).types == TypeSet::NONE {
            return sink.report_violation(at, Some(value), || otherwise.to_owned());
        }
        self.check_node(node, value, at, sink)
    }

    /// Returns `true` for each of the `count` items or properties of `value` that is evaluated.
    fn evaluated_parts(&mut self, id: NodeId, value: &Value, count: usize) -> Vec<bool> {
        let mut marks = EvaluatedMarks { seen: vec![false; count], by: HashSet::new() };
        self.mark_evaluated(self.plan.node(id), value, &mut marks);
        marks.seen
    }

    /// Marks the parts that a node evaluates, apart from its own rule on unevaluated parts.
    fn mark_evaluated(&mut self, node: &'p Node, value: &Value, marks: &mut EvaluatedMarks) {
        match (value, node.list.as_deref(), node.object.as_deref()) {
            (Value::Array(items), Some(rules), _) => self.mark_items(rules, items, &mut marks.seen),
            (Value::Object(_), _, Some(rules)) => self.mark_properties(rules, value, marks),
            _ => {}
        }
        if let Some(combined) = node.combined.as_deref() {
            self.mark_by_combined_schemas(combined, value, marks);
        }
    }

    fn mark_items(&mut self, rules: &ListRules, items: &[Value], seen: &mut [bool]) {
        for (index, (item, seen)) in items.iter().zip(seen).enumerate() {
            *seen |= index < rules.prefix.len()
                || !matches!(rules.rest, AdditionalRule::Anything)
                || rules.contains.as_ref().is_some_and(|it| self.admits(it.node, item));
        }
    }

    fn mark_properties(&mut self, rules: &'p ObjectRules, value: &Value, marks: &mut EvaluatedMarks) {
        let Value::Object(map) = value else { return };
        for (name, seen) in map.keys().zip(&mut marks.seen) {
            *seen |= !matches!(rules.rest, AdditionalRule::Anything)
                || rules.properties.get(name).is_some_and(|it| it.node.is_some())
                || rules.patterns.iter().any(|(pattern, _)| pattern.is_match(name));
        }
        for (_, node) in rules.schemas_beside.iter().filter(|(name, _)| map.contains_key(&**name)) {
            self.mark_by_node_if_admitted(*node, value, marks);
        }
    }

    fn mark_by_combined_schemas(
        &mut self,
        combined: &'p Combined,
        value: &Value,
        marks: &mut EvaluatedMarks,
    ) {
        // A value that one of these rejects is reported for that reason instead.
        for node in &combined.all {
            self.mark_by_node_if_admitted(*node, value, marks);
        }
        for branches in combined.any.iter().chain(&combined.one) {
            for node in branches.candidates(value) {
                if self.admits(node, value) {
                    self.mark_by_node_if_admitted(node, value, marks);
                }
            }
        }
        if let Some(condition) = &combined.condition {
            let test = self.admits(condition.test, value);
            if test {
                self.mark_by_node_if_admitted(condition.test, value, marks);
            }
            if let Some(node) = if test { condition.then } else { condition.otherwise } {
                self.mark_by_node_if_admitted(node, value, marks);
            }
        }
    }

    /// Marks the parts that a node evaluates if it admits the value.
    fn mark_by_node_if_admitted(&mut self, id: NodeId, value: &Value, marks: &mut EvaluatedMarks) {
        let (id, node) = self.plan.resolve_node(id);
        if !marks.by.insert(id) {
            return;
        }
        let own = node.combined.as_deref().and_then(|it| it.unevaluated.as_ref());
        let leaves_nothing = own.is_some_and(|it| match value {
            Value::Array(_) => it.items.is_some(),
            _ => it.properties.is_some(),
        });
        if leaves_nothing {
            marks.seen.fill(true);
        } else {
            self.mark_evaluated(node, value, marks);
        }
    }
}

/// Returns the unmarked elements with their positions.
fn unmarked_elements<T>(all: impl Iterator<Item = T>, seen: &[bool]) -> impl Iterator<Item = (usize, T)> {
    all.enumerate().filter(|(at, _)| seen.get(*at) == Some(&false))
}
