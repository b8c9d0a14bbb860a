use serde_json::Value;

use super::{Flow, Sink, ValidationWalk};
use crate::arguments::plan::{branches::Branches, location::Location, node::Combined};

impl<'p> ValidationWalk<'p> {
    /// Validates by the schemas that apply to the same value.
    pub(super) fn check_combined<S: Sink>(
        &mut self,
        combined: &'p Combined,
        value: &Value,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        for node in &combined.all {
            self.check_node(*node, value, at, sink)?;
        }
        if let Some(branches) = &combined.any
            && !branches.candidates(value).any(|node| self.admits(node, value))
        {
            self.report_branches(branches, value, at, sink)?;
        }
        if let Some(branches) = &combined.one {
            self.check_one_of(branches, value, at, sink)?;
        }
        let plan = self.plan;
        if let Some(node) = combined.not
            && self.admits(node, value)
        {
            sink.report_violation(at, Some(value), || format!("anything but {}", plan.node_summary(node)))?;
        }
        if let Some(condition) = &combined.condition {
            let test = self.admits(condition.test, value);
            if let Some(node) = if test { condition.then } else { condition.otherwise } {
                self.check_node(node, value, at, sink)?;
            }
        }
        match &combined.unevaluated {
            Some(rules) => self.check_unevaluated(rules, value, at, sink),
            None => Flow::Continue(()),
        }
    }

    fn check_one_of<S: Sink>(
        &mut self,
        branches: &'p Branches,
        value: &Value,
        at: &Location<'_>,
        sink: &mut S,
    ) -> Flow {
        let fitting = branches.candidates(value).filter(|node| self.admits(*node, value)).take(2).count();
        let plan = self.plan;
        match fitting {
            0 => self.report_branches(branches, value, at, sink),
            1 => Flow::Continue(()),
            _ => sink.report_violation(at, Some(value), || {
                format!("a value that fits only one of: {}", plan.branch_list_text(branches))
            }),
        }
    }
}
