//! The changes of one record, for engines that do not make them by statements of their own.

use std::time::SystemTime;

use super::{CallState, LeaseState, NewCall, QueueEpoch, QueuedCall, StartGrant};

/// A record without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallRecord {
    pub(super) call: QueuedCall,
    pub(super) max_workers: u32,
}

/// The effect of time on a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settlement {
    Unchanged,
    Changed,
    /// The record is to be removed.
    Removed,
}

impl CallRecord {
    pub(super) fn new(new: &NewCall, now: SystemTime) -> Self {
        let call = QueuedCall {
            id: new.id.clone(),
            key: new.key,
            request: new.request_hash(),
            state: CallState::Queued,
            epoch: 0,
            workers: 0,
            was_started: false,
            cancel_requested: false,
            created: now,
            changed: now,
            bytes: new.request.len() as u64,
        };
        Self { call, max_workers: new.max_workers }
    }

    fn set_state(&mut self, state: CallState, now: SystemTime) {
        self.call.state = state;
        self.call.changed = now;
    }

    /// Returns `true` if a worker has the call in this epoch.
    pub(super) fn is_held(&self, call: &QueueEpoch) -> bool {
        self.is_in(call) && matches!(self.call.state, CallState::Taken | CallState::Started)
    }

    /// Returns `true` if the call was taken last in this epoch.
    pub(super) fn is_in(&self, call: &QueueEpoch) -> bool {
        self.call.epoch == call.epoch && self.call.request == call.request
    }

    pub(super) fn lease_state(&self, call: &QueueEpoch) -> LeaseState {
        match self.is_held(call) {
            false => LeaseState::Lost,
            true if self.call.cancel_requested => LeaseState::CancelRequested,
            true => LeaseState::Held,
        }
    }

    pub(super) fn take(&mut self, now: SystemTime) -> bool {
        let is_queued = self.call.state == CallState::Queued;
        if is_queued {
            self.call.epoch = self.call.epoch.saturating_add(1);
            self.call.workers = self.call.workers.saturating_add(1);
            self.set_state(CallState::Taken, now);
        }
        is_queued
    }

    pub(super) fn start(&mut self, call: &QueueEpoch, now: SystemTime) -> StartGrant {
        if !self.is_held(call) || self.call.cancel_requested {
            return StartGrant::Refused;
        }
        self.call.was_started = true;
        self.set_state(CallState::Started, now);
        StartGrant::Given
    }

    pub(super) fn give_back(&mut self, call: &QueueEpoch, now: SystemTime) -> bool {
        let is_unstarted = self.is_held(call) && self.call.state == CallState::Taken;
        if is_unstarted {
            self.call.workers = self.call.workers.saturating_sub(1);
            let state = if self.call.cancel_requested { CallState::Cancelled } else { CallState::Queued };
            self.set_state(state, now);
        }
        is_unstarted
    }

    pub(super) fn finish(&mut self, call: &QueueEpoch, bytes: u64, now: SystemTime) -> bool {
        let is_held = self.is_held(call);
        if is_held {
            self.call.bytes = bytes;
            self.set_state(CallState::Finished, now);
        }
        is_held
    }

    /// Returns `true` if the record has changed.
    pub(super) fn cancel(&mut self, now: SystemTime) -> bool {
        match self.call.state {
            CallState::Queued => self.set_state(CallState::Cancelled, now),
            CallState::Taken => self.call.cancel_requested = true,
            _ => return false,
        }
        true
    }

    /// Applies the end of the lease, and of the age of the state.
    pub(super) fn settle(&mut self, is_lapsed: bool, is_old: bool, now: SystemTime) -> Settlement {
        let state = match self.call.state {
            CallState::Taken | CallState::Started if !is_lapsed => return Settlement::Unchanged,
            CallState::Queued if !is_old => return Settlement::Unchanged,
            CallState::Started => CallState::Interrupted,
            CallState::Taken if self.call.cancel_requested => CallState::Cancelled,
            CallState::Taken if self.call.workers >= self.max_workers => CallState::Interrupted,
            CallState::Taken if !is_old => CallState::Queued,
            CallState::Taken | CallState::Queued => CallState::Expired,
            _ if is_old => return Settlement::Removed,
            _ => return Settlement::Unchanged,
        };
        self.set_state(state, now);
        Settlement::Changed
    }
}

#[cfg(test)]
mod tests;
