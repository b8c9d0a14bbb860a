//! Memoisation of long walks.
//!
//! A recursive schema with several branches can apply to a deep value in exponentially many ways, most of them equal.
//! A long walk therefore caches the result for each pair of node and value; typical walks end before that.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{check::Flow, node::NodeId};

/// The number of visits to shared nodes before results are cached.
const MEMO_AFTER_VISITS: u32 = 1_000;

/// A node and the address of a value; values do not move during a walk.
type NodeAtValue = (NodeId, usize);

#[derive(Debug, Default)]
pub(super) struct VerdictMemo {
    visits: u32,
    verdicts: HashMap<NodeAtValue, Flow>,
    reported: HashSet<NodeAtValue>,
}

impl VerdictMemo {
    /// Returns the cached verdict on `value`.
    pub(super) fn cached_verdict(&mut self, id: NodeId, value: &Value) -> Option<Flow> {
        self.visits = self.visits.saturating_add(1);
        if self.verdicts.is_empty() { None } else { self.verdicts.get(&memo_key(id, value)).copied() }
    }

    pub(super) fn set_verdict(&mut self, id: NodeId, value: &Value, verdict: Flow) {
        if self.visits > MEMO_AFTER_VISITS {
            self.verdicts.insert(memo_key(id, value), verdict);
        }
    }

    /// Returns `true` if the violations of `value` have been reported.
    pub(super) fn check_and_mark_reported(&mut self, id: NodeId, value: &Value) -> bool {
        self.visits = self.visits.saturating_add(1);
        self.visits > MEMO_AFTER_VISITS && !self.reported.insert(memo_key(id, value))
    }
}

fn memo_key(id: NodeId, value: &Value) -> NodeAtValue {
    (id, std::ptr::from_ref(value).addr())
}
