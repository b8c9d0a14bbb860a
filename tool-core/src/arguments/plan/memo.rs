//! What a long walk remembers.
//!
//! A recursive schema with several branches can be applied to a deep value in exponentially many
//! ways, most of them the same. A walk that has come far therefore remembers how a node and a value
//! got along; a usual walk ends before it starts to.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{check::Flow, node::NodeId};

/// So many visits of shared nodes are made before anything is remembered.
const PATIENCE: u32 = 1_000;

/// A node, and the address of a value; values do not move during a walk.
type Meeting = (NodeId, usize);

#[derive(Debug, Default)]
pub(super) struct Memo {
    visits: u32,
    verdicts: HashMap<Meeting, Flow>,
    reported: HashSet<Meeting>,
}

impl Memo {
    /// The verdict on `value`, if it is known.
    pub(super) fn verdict(&mut self, id: NodeId, value: &Value) -> Option<Flow> {
        self.visits = self.visits.saturating_add(1);
        if self.verdicts.is_empty() { None } else { self.verdicts.get(&meeting(id, value)).copied() }
    }

    pub(super) fn set_verdict(&mut self, id: NodeId, value: &Value, verdict: Flow) {
        if self.visits > PATIENCE {
            self.verdicts.insert(meeting(id, value), verdict);
        }
    }

    /// Whether what is wrong with `value` is in the report already.
    pub(super) fn is_reported(&mut self, id: NodeId, value: &Value) -> bool {
        self.visits = self.visits.saturating_add(1);
        self.visits > PATIENCE && !self.reported.insert(meeting(id, value))
    }
}

fn meeting(id: NodeId, value: &Value) -> Meeting {
    (id, std::ptr::from_ref(value).addr())
}
