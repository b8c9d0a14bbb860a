//! Calls that have no waiting caller, and whose workers go on.

use std::collections::{HashMap, VecDeque};

use crate::message::{CallEpoch, CallReport};

/// The calls that are remembered, each with its worker.
const MAX_CALLS: usize = 1024;

/// A call and its worker.
type UnownedCall = (CallEpoch, String);

/// The calls that were cancelled since no caller waits for them. Each new report of their workers cancels them once more, since a message may be
/// lost; a repeated one, which anybody can send, does not.
#[derive(Default)]
pub(super) struct UnownedCalls {
    /// The greatest sequence of a report about each call.
    sequences: HashMap<UnownedCall, u64>,
    /// In the order in which they were added.
    order: VecDeque<UnownedCall>,
}

impl UnownedCalls {
    /// Returns `true` if the report is new, and its call to be cancelled.
    pub(super) fn note_report(&mut self, report: &CallReport, worker: &str) -> bool {
        let call = (report.call.clone(), worker.to_owned());
        if let Some(last) = self.sequences.get_mut(&call) {
            let is_new = report.sequence > *last;
            *last = report.sequence.max(*last);
            return is_new;
        }
        if self.order.len() >= MAX_CALLS
            && let Some(oldest) = self.order.pop_front()
        {
            self.sequences.remove(&oldest);
        }
        self.order.push_back(call.clone());
        self.sequences.insert(call, report.sequence);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Report;

    #[test]
    fn each_new_report_cancels_a_call_once_and_the_calls_that_are_remembered_are_bounded() {
        let mut calls = UnownedCalls::default();
        let mut note = |call: usize, sequence, worker| {
            let call = CallEpoch { call: call.to_string(), epoch: 1 };
            let report = CallReport { call, sequence, contents: 0, tokens: 0, report: Report::Beat };
            calls.note_report(&report, worker)
        };
        assert!(note(0, 2, "a") && !note(0, 2, "a") && !note(0, 1, "a"));
        assert!(note(0, 3, "a") && note(0, 3, "b"));
        assert!((1..=2 * MAX_CALLS).all(|call| note(call, 1, "a")));
        assert_eq!((calls.order.len(), calls.sequences.len()), (MAX_CALLS, MAX_CALLS));
    }
}
