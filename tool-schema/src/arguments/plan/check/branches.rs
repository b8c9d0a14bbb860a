//! The explanation for a value that matches no branch.
//!
//! A list of all violations of every branch does not help. If one branch can be identified as intended, its
//! violations are reported; otherwise, the alternatives are listed.

use serde_json::Value;

use super::{Flow, Sink, ValidationWalk};
use crate::arguments::plan::{
    branches::Branches,
    location::Location,
    messages::one_of,
    node::{NodeId, TypeSet},
};

impl<'p> ValidationWalk<'p> {
    /// Reports to `sink` why no branch of `branches` admits `value`.
    pub(super) fn report_branches<S: Sink>(
        &mut self,
        branches: &'p Branches,
        value: &Value,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        if !S::EXPLAINS {
            return Flow::Break(());
        }
        let of_its_kind: Vec<_> =
            branches.candidates(value).filter(|node| self.permits_type_of(*node, value)).collect();
        if of_its_kind.is_empty()
            && let (Some(tag), Some(kind)) = (&branches.tag, branches.tag_value_of(value))
        {
            let position = value.as_object().and_then(|map| map.keys().position(|name| **name == **tag));
            let here = at.property(tag, position.unwrap_or_default());
            return sink
                .report_violation(&here, Some(kind), || one_of(&all_tag_values(branches), Some(kind)));
        }
        let mut meant = of_its_kind.clone();
        if meant.len() > 1 {
            if let Some(tag) = self.missing_required_tag(branches, &meant, value) {
                let plan = self.plan;
                let expected = || {
                    format!(
                        "{} ({})",
                        plan.missing_message(tag, None, None),
                        one_of(&all_tag_values(branches), None)
                    )
                };
                return sink.report_violation(&at.missing_property(tag), None, expected);
            }
            meant.retain(|node| self.has_all_required_properties(*node, value));
        }
        if let [only] = meant.as_slice() {
            return self.check_node(*only, value, at, sink);
        }
        let plan = self.plan;
        sink.report_violation(at, Some(value), || format!("any of: {}", plan.branch_list_text(branches)))
    }

    /// Returns `true` if the branch permits values of this type.
    fn permits_type_of(&self, branch: NodeId, value: &Value) -> bool {
        let node = self.plan.node(branch);
        let kind = TypeSet::of_value(value);
        let is_listed = |values: &[Value]| values.iter().any(|it| TypeSet::of_value(it) == kind);
        node.types.contains(kind) && node.values.as_deref().is_none_or(is_listed)
    }

    /// Returns the tag if every possible branch requires it and `value` lacks it.
    fn missing_required_tag(
        &self,
        branches: &'p Branches,
        meant: &[NodeId],
        value: &Value,
    ) -> Option<&'p str> {
        let tag = branches.tag.as_deref()?;
        let wants_tag = |node: &NodeId| {
            let object = self.plan.node(*node).object.as_deref();
            object.and_then(|it| it.properties.get(tag)).is_some_and(|it| it.required)
        };
        let is_absent = value.as_object().is_some_and(|map| !map.contains_key(tag));
        (is_absent && meant.iter().all(wants_tag)).then_some(tag)
    }

    fn has_all_required_properties(&self, branch: NodeId, value: &Value) -> bool {
        let Some(object) = &self.plan.node(branch).object else { return false };
        // A branch without required properties matches too easily to count as intended.
        value.as_object().is_some_and(|map| {
            object.properties.required_count() > 0 && object.properties.has_all_required_properties(map)
        })
    }
}

/// Returns all values of the tag.
fn all_tag_values(branches: &Branches) -> Vec<Value> {
    branches.list.iter().flat_map(|branch| &branch.kinds).map(|kind| Value::from(&**kind)).collect()
}
