//! The walk over a value.
//!
//! What the walk finds it tells a [`Sink`]; the sink says whether to go on. With [`Verdict`] the
//! walk ends at the first violation and builds no text; with [`Report`] it goes on to the end.

mod branches;
mod combined;
mod list;
mod object;
mod scalar;
mod unevaluated;

use std::ops::ControlFlow;

use crate::{Violation, arguments::violation::Findings};
use serde_json::Value;

use super::{
    Plan,
    memo::Memo,
    node::{Node, NodeId, Types},
    place::Location,
    words::received,
};

/// Whether a walk goes on.
pub(super) type Flow = ControlFlow<()>;

/// What a walk tells its findings.
pub(super) trait Sink {
    /// Whether anybody will read why.
    const EXPLAINS: bool;

    /// At `at` something else was expected than `value`; `None` where there is nothing.
    fn wrong(&mut self, at: &Location<'_>, value: Option<&Value>, expected: impl FnOnce() -> String) -> Flow;

    /// What is known already of a value, so that it need not be walked again.
    fn recall(memo: &mut Memo, id: NodeId, value: &Value) -> Option<Flow>;

    /// Keeps what was found.
    fn remember(memo: &mut Memo, id: NodeId, value: &Value, flow: Flow);
}

/// Ends the walk at the first violation.
pub(super) struct Verdict;

impl Sink for Verdict {
    const EXPLAINS: bool = false;

    fn wrong(&mut self, _: &Location<'_>, _: Option<&Value>, _: impl FnOnce() -> String) -> Flow {
        Flow::Break(())
    }

    fn recall(memo: &mut Memo, id: NodeId, value: &Value) -> Option<Flow> {
        memo.verdict(id, value)
    }

    fn remember(memo: &mut Memo, id: NodeId, value: &Value, flow: Flow) {
        memo.set_verdict(id, value, flow);
    }
}

/// Writes violations down: the first of them, and the number of all.
#[derive(Default)]
pub(super) struct Report(Findings);

impl Sink for Report {
    const EXPLAINS: bool = true;

    fn wrong(&mut self, at: &Location<'_>, value: Option<&Value>, expected: impl FnOnce() -> String) -> Flow {
        let received = || value.map_or_else(|| "nothing".to_owned(), received);
        self.0.add(at.order(), || Violation::new(at.pointer(), expected(), received()));
        Flow::Continue(())
    }

    fn recall(memo: &mut Memo, id: NodeId, value: &Value) -> Option<Flow> {
        memo.is_reported(id, value).then_some(Flow::Continue(()))
    }

    fn remember(_: &mut Memo, _: NodeId, _: &Value, _: Flow) {}
}

/// The violations of `value`, in the order of the document.
pub(super) fn report(plan: &Plan, value: &Value) -> Findings {
    report_by(&mut Walk::new(plan), value)
}

/// The same, by a walk that can be asked afterwards.
pub(super) fn report_by(walk: &mut Walk<'_>, value: &Value) -> Findings {
    let mut report = Report::default();
    // A report never ends the walk.
    let _ = walk.check(NodeId::ROOT, value, &Location::ROOT, &mut report);
    report.0
}

/// One walk over one value.
pub(super) struct Walk<'p> {
    plan: &'p Plan,
    memo: Memo,
    /// How many nodes were asked about values.
    #[cfg(test)]
    pub(super) steps: usize,
}

impl<'p> Walk<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self {
            plan,
            memo: Memo::default(),
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Whether `value` fits the node.
    pub(super) fn admits(&mut self, id: NodeId, value: &Value) -> bool {
        self.check(id, value, &Location::ROOT, &mut Verdict).is_continue()
    }

    /// As [`admits`](Self::admits), of a node that is known.
    pub(super) fn fits(&mut self, node: &'p Node, value: &Value) -> bool {
        self.rules(node, value, &Location::ROOT, &mut Verdict).is_continue()
    }

    /// Tells `sink` what is wrong with `value` by the node's rules.
    fn check<S: Sink>(&mut self, id: NodeId, value: &Value, at: &Location<'_>, sink: &mut S) -> Flow {
        #[cfg(test)]
        {
            self.steps += 1;
        }
        let (id, node) = self.plan.resolve(id);
        // Of a scalar without branches there is nothing worth remembering.
        let branches = node.combined.is_some() || matches!(value, Value::Array(_) | Value::Object(_));
        if !node.shared || !branches {
            return self.rules(node, value, at, sink);
        }
        if let Some(flow) = S::recall(&mut self.memo, id, value) {
            return flow;
        }
        let flow = self.rules(node, value, at, sink);
        S::remember(&mut self.memo, id, value, flow);
        flow
    }

    fn rules<S: Sink>(&mut self, node: &'p Node, value: &Value, at: &Location<'_>, sink: &mut S) -> Flow {
        if let Some(values) = &node.values
            && !values.admit(value)
        {
            return sink.wrong(at, Some(value), || values.expected(value));
        }
        // To hear that a text is no integer is enough; its other faults follow from it.
        if node.types != Types::ALL && !node.types.contains(Types::of(value)) {
            return sink.wrong(at, Some(value), || node.types.words());
        }
        match value {
            Value::Number(number) => scalar::number(node.number.as_deref(), number, value, at, sink)?,
            Value::String(text) => scalar::text(node.text.as_deref(), text, value, at, sink)?,
            Value::Array(items) => self.list(node.list.as_deref(), items, value, at, sink)?,
            Value::Object(map) => self.object(node.object.as_deref(), map, value, at, sink)?,
            Value::Null | Value::Bool(_) => {}
        }
        match node.combined.as_deref() {
            Some(combined) => self.combined(combined, value, at, sink),
            None => Flow::Continue(()),
        }
    }
}
