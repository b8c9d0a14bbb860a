//! Normalisation by the schemas that apply to the same value.

use serde_json::Value;

use super::{NodeChain, Normalizer, visit_cost};
use crate::arguments::plan::{
    Correction,
    branches::Branches,
    check::ValidationWalk,
    coerce::Corrector,
    location::Location,
    node::{Combined, NodeId, TypeSet},
};

impl<'p> Normalizer<'p> {
    pub(super) fn normalize_combined(
        &mut self,
        combined: &'p Combined,
        value: &mut Value,
        chain: &NodeChain<'_>,
        at: &Location<'_>,
    ) -> bool {
        let mut changed = false;
        for node in &combined.all {
            changed |= self.normalize_node(self.plan.node(*node), value, Some(chain), at);
        }
        if let Some(any) = &combined.any {
            changed |= self.normalize_branches(any, false, value, chain, at);
        }
        if let Some(one) = &combined.one {
            changed |= self.normalize_branches(one, true, value, chain, at);
        }
        changed
    }

    /// Normalises by the branch that admits `value` unchanged; otherwise by the first that admits its normal form;
    /// otherwise by the only one that admits its correction.
    fn normalize_branches(
        &mut self,
        branches: &'p Branches,
        exactly_one: bool,
        value: &mut Value,
        chain: &NodeChain<'_>,
        at: &Location<'_>,
    ) -> bool {
        let tried = visit_cost(value).saturating_mul(branches.candidates(value).count());
        if !self.take_steps_if_left(tried.saturating_add(branches.list.len())) {
            return false;
        }
        let admitting =
            branches.candidates(value).find(|node| ValidationWalk::new(self.plan).admits(*node, value));
        if let Some(node) = admitting {
            // A property ignored by one branch may be read by the branch that the decoder selects.
            let admits = |node: &NodeId| ValidationWalk::new(self.plan).admits(*node, value);
            let drops = self.drops;
            self.drops = drops && branches.candidates(value).filter(admits).take(2).count() == 1;
            let changed = self.normalize_node(self.plan.node(node), value, Some(chain), at);
            self.drops = drops;
            return changed;
        }
        let corrector = self.corrector.take();
        let is_settled = self.normalize_by_trial(branches, exactly_one, value, chain, at);
        self.corrector = corrector;
        is_settled
            || (self.corrector.is_some() && self.normalize_by_trial(branches, exactly_one, value, chain, at))
    }

    /// Tries the branches and returns the first match or, with corrections, the only match.
    fn normalize_by_trial(
        &mut self,
        branches: &'p Branches,
        exactly_one: bool,
        value: &mut Value,
        chain: &NodeChain<'_>,
        at: &Location<'_>,
    ) -> bool {
        let plan = self.plan;
        let admits = |node: &NodeId, value: &Value| ValidationWalk::new(plan).admits(*node, value);
        let is_only = |value: &Value| {
            branches.candidates(value).filter(|node| admits(node, value)).take(2).count() == 1
        };
        // A branch for `null` is never a target of normalisation or correction.
        let candidates = branches.candidates(value).filter(|node| plan.node(*node).types != TypeSet::NULL);
        let weight = visit_cost(value);
        let mark = self.corrector.as_ref().map(Corrector::correction_count);
        let removed = self.removed.as_ref().map_or(0, |removed| removed.0.len());
        let mut found: Option<(Value, Vec<Correction>)> = None;
        for node in candidates.collect::<Vec<_>>() {
            // If a branch is not tried, uniqueness is unknown.
            if !self.take_steps_if_left(weight) {
                return false;
            }
            let mut trial = value.clone();
            if self.normalize_node(plan.node(node), &mut trial, Some(chain), at)
                && admits(&node, &trial)
                && (!exactly_one || is_only(&trial))
            {
                match (&mut self.corrector, mark) {
                    (Some(corrector), Some(mark)) if found.is_none() => {
                        found = Some((trial, corrector.take_corrections_since(mark)));
                        continue;
                    }
                    (Some(corrector), Some(mark)) => {
                        corrector.discard_corrections_since(mark);
                        return false;
                    }
                    _ => {
                        *value = trial;
                        return true;
                    }
                }
            }
            if let (Some(corrector), Some(mark)) = (&mut self.corrector, mark) {
                corrector.discard_corrections_since(mark);
            }
            if let Some(all) = &mut self.removed {
                all.0.truncate(removed);
            }
        }
        let (Some((trial, corrections)), Some(corrector)) = (found, &mut self.corrector) else {
            return false;
        };
        corrector.restore_corrections(corrections);
        *value = trial;
        true
    }
}
