//! The validation walk over a value.
//!
//! The walk reports violations to a [`Sink`], which decides whether to continue. With [`Verdict`], it stops at the
//! first violation and formats no text; with [`Report`], it continues to the end.

mod branches;
mod combined;
mod list;
mod object;
mod scalar;
mod unevaluated;

use std::ops::ControlFlow;

use crate::{
    Violation, Violations,
    arguments::violation::{Findings, NOTHING},
};
use serde_json::Value;

use super::{
    Plan,
    location::Location,
    memo::VerdictMemo,
    messages::received,
    node::{Node, NodeId, TypeSet},
};

/// The decision to continue or to end a walk.
pub(super) type Flow = ControlFlow<()>;

/// A receiver of violations.
pub(super) trait Sink {
    /// `true` if the explanations are used.
    const EXPLAINS: bool;

    /// Reports `value` at `at` as a violation; `None` for a missing value.
    fn report_violation(
        &mut self,
        at: &Location<'_>,
        value: Option<&Value>,
        expected: impl FnOnce() -> String,
    ) -> Flow;

    /// Returns the cached result for a value.
    fn cached_flow(memo: &mut VerdictMemo, id: NodeId, value: &Value) -> Option<Flow>;

    /// Caches the result for a value.
    fn cache_flow(memo: &mut VerdictMemo, id: NodeId, value: &Value, flow: Flow);
}

/// A sink that ends the walk at the first violation.
pub(super) struct Verdict;

impl Sink for Verdict {
    const EXPLAINS: bool = false;

    fn report_violation(&mut self, _: &Location<'_>, _: Option<&Value>, _: impl FnOnce() -> String) -> Flow {
        Flow::Break(())
    }

    fn cached_flow(memo: &mut VerdictMemo, id: NodeId, value: &Value) -> Option<Flow> {
        memo.cached_verdict(id, value)
    }

    fn cache_flow(memo: &mut VerdictMemo, id: NodeId, value: &Value, flow: Flow) {
        memo.set_verdict(id, value, flow);
    }
}

/// A sink that collects the first violations and counts all.
#[derive(Default)]
pub(super) struct Report(Findings);

impl Report {
    /// Returns the number of violations so far.
    pub(super) fn violation_count(&self) -> usize {
        self.0.total()
    }

    pub(super) fn into_violations(self) -> Violations {
        self.0.into()
    }
}

impl Sink for Report {
    const EXPLAINS: bool = true;

    fn report_violation(
        &mut self,
        at: &Location<'_>,
        value: Option<&Value>,
        expected: impl FnOnce() -> String,
    ) -> Flow {
        let received = || value.map_or_else(|| NOTHING.to_owned(), received);
        self.0.add(at.sort_key(), || Violation::new(at.pointer(), expected(), received()));
        Flow::Continue(())
    }

    fn cached_flow(memo: &mut VerdictMemo, id: NodeId, value: &Value) -> Option<Flow> {
        memo.check_and_mark_reported(id, value).then_some(Flow::Continue(()))
    }

    fn cache_flow(_: &mut VerdictMemo, _: NodeId, _: &Value, _: Flow) {}
}

/// Returns the violations of `value` in document order.
pub(super) fn report_violations(plan: &Plan, value: &Value) -> Findings {
    report_violations_by_walk(&mut ValidationWalk::new(plan), value)
}

/// Returns the violations of `value` by a walk that the caller can inspect afterwards.
pub(super) fn report_violations_by_walk(walk: &mut ValidationWalk<'_>, value: &Value) -> Findings {
    let mut report = Report::default();
    // A report never ends the walk.
    let _ = walk.check_node(NodeId::ROOT, value, &Location::ROOT, &mut report);
    report.0
}

/// Reports the violations of `node` by `value`, the part of a value at `at`.
pub(super) fn report_part(plan: &Plan, node: &Node, value: &Value, at: &Location<'_>, report: &mut Report) {
    let _ = ValidationWalk::new(plan).check_rules(node, value, at, report);
}

/// A walk over one value.
pub(super) struct ValidationWalk<'p> {
    plan: &'p Plan,
    memo: VerdictMemo,
    /// The number of validated pairs of node and value.
    #[cfg(test)]
    pub(super) steps: usize,
}

impl<'p> ValidationWalk<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self {
            plan,
            memo: VerdictMemo::default(),
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Returns `true` if `value` matches the node.
    pub(super) fn admits(&mut self, id: NodeId, value: &Value) -> bool {
        self.check_node(id, value, &Location::ROOT, &mut Verdict).is_continue()
    }

    /// Returns `true` if `value` matches `node`.
    pub(super) fn node_admits(&mut self, node: &'p Node, value: &Value) -> bool {
        self.check_rules(node, value, &Location::ROOT, &mut Verdict).is_continue()
    }

    /// Reports the violations of the node's rules by `value` to `sink`.
    fn check_node<S: Sink>(&mut self, id: NodeId, value: &Value, at: &Location<'_>, sink: &mut S) -> Flow {
        #[cfg(test)]
        {
            self.steps += 1;
        }
        let (id, node) = self.plan.resolve_node(id);
        // The result for a scalar without branches is not worth caching.
        let branches = node.combined.is_some() || matches!(value, Value::Array(_) | Value::Object(_));
        if !node.shared || !branches {
            return self.check_rules(node, value, at, sink);
        }
        if let Some(flow) = S::cached_flow(&mut self.memo, id, value) {
            return flow;
        }
        let flow = self.check_rules(node, value, at, sink);
        S::cache_flow(&mut self.memo, id, value, flow);
        flow
    }

    fn check_rules<S: Sink>(
        &mut self,
        node: &'p Node,
        value: &Value,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        if let Some(values) = &node.values
            && !values.contain_value(value)
        {
            return sink.report_violation(at, Some(value), || values.expected_message(value));
        }
        // A wrong type is reported alone; other violations follow from it.
        if node.types != TypeSet::ALL && !node.types.contains(TypeSet::of_value(value)) {
            return sink.report_violation(at, Some(value), || node.types.names_with_articles());
        }
        match value {
            Value::Number(number) => scalar::check_number(node.number.as_deref(), number, value, at, sink)?,
            Value::String(text) => scalar::check_text(node.text.as_deref(), text, value, at, sink)?,
            Value::Array(items) => self.check_list(node.list.as_deref(), items, value, at, sink)?,
            Value::Object(map) => self.check_object(node.object.as_deref(), map, value, at, sink)?,
            Value::Null | Value::Bool(_) => {}
        }
        match node.combined.as_deref() {
            Some(combined) => self.check_combined(combined, value, at, sink),
            None => Flow::Continue(()),
        }
    }
}
