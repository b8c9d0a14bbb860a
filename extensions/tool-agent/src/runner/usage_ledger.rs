//! The usage of a run of several agents: the sum of those that ended, and of those that run.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::RunUsage;

/// The usage of all agents of a run.
#[derive(Default)]
pub(super) struct UsageLedger(Mutex<LedgerState>);

#[derive(Default)]
struct LedgerState {
    ended: RunUsage,
    /// The usage of the members that run, by the order in which they began.
    running: BTreeMap<u64, RunUsage>,
    began: u64,
}

/// The usage of one agent, which counts for the run also if the agent is dropped.
pub(super) struct LedgerEntry {
    ledger: Arc<UsageLedger>,
    number: u64,
    /// The usage of the agent before it went on, which counts for the run already.
    counted: RunUsage,
}

impl UsageLedger {
    /// Goes on with the usage of an interrupted run.
    pub(super) fn continue_usage(&self, usage: RunUsage) {
        self.lock().ended = usage;
    }

    /// Adds the usage of an agent that ended.
    pub(super) fn add_ended(&self, usage: &RunUsage) {
        self.lock().ended.add_usage_of(usage);
    }

    /// Adds an agent that begins, or goes on after it used `counted`, which is a part of the run already.
    pub(super) fn begin_entry(self: &Arc<Self>, counted: RunUsage) -> LedgerEntry {
        let mut state = self.lock();
        state.began += 1;
        let number = state.began;
        state.running.insert(number, RunUsage::default());
        LedgerEntry { ledger: Arc::clone(self), number, counted }
    }

    /// Returns the usage of all agents.
    pub(super) fn total(&self) -> RunUsage {
        let state = self.lock();
        let mut total = state.ended;
        state.running.values().for_each(|usage| total.add_usage_of(usage));
        total
    }

    /// No user code runs under the lock.
    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerEntry {
    /// Sets the usage of this agent, and returns the usage of the run.
    pub(super) fn set_usage_and_total(&self, usage: RunUsage) -> RunUsage {
        self.ledger.lock().running.insert(self.number, usage.since(&self.counted));
        self.ledger.total()
    }
}

impl Drop for LedgerEntry {
    fn drop(&mut self) {
        let mut state = self.ledger.lock();
        if let Some(usage) = state.running.remove(&self.number) {
            state.ended.add_usage_of(&usage);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_of_those_that_ended_and_of_those_that_run() {
        let rounds = |rounds: u64| RunUsage { rounds, ..RunUsage::default() };
        let ledger = Arc::<UsageLedger>::default();
        ledger.continue_usage(rounds(1));
        ledger.add_ended(&rounds(2));
        assert_eq!(ledger.total().rounds, 3);
        let one = ledger.begin_entry(rounds(0));
        // What an agent used before is counted already.
        let other = ledger.begin_entry(rounds(30));
        assert_eq!(one.set_usage_and_total(rounds(10)).rounds, 13);
        assert_eq!(other.set_usage_and_total(rounds(130)).rounds, 113);
        assert_eq!(one.set_usage_and_total(rounds(20)).rounds, 123);
        drop(one);
        assert_eq!((ledger.total().rounds, ledger.lock().running.len()), (123, 1));
        assert_eq!(other.set_usage_and_total(rounds(31)).rounds, 24);
        drop(other);
        assert_eq!((ledger.total().rounds, ledger.lock().running.len()), (24, 0));
    }
}
