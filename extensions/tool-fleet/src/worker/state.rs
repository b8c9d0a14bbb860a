//! The calls of a worker: those that run, and those that it has seen.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};
use tool_runtime::CancellationToken;

use crate::message::CallEpoch;

/// The time for which a call is remembered: longer than any message of it is valid.
const REMEMBERED: Duration = Duration::from_secs(180);

#[derive(Default)]
pub(super) struct RunningCalls {
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    running: HashMap<CallEpoch, RunningCall>,
    seen: HashMap<CallEpoch, Instant>,
}

/// A call that runs.
#[derive(Clone)]
pub(super) struct RunningCall {
    pub(super) token: CancellationToken,
    /// Told when the start is given.
    pub(super) started: Arc<Notify>,
    is_harmless: bool,
}

impl RunningCalls {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn running_calls(&self) -> usize {
        self.lock().running.len()
    }

    /// Returns `true` if the call was added before.
    pub(super) fn has_seen(&self, call: &CallEpoch) -> bool {
        self.lock().seen.contains_key(call)
    }

    /// Adds a call; `None` if it was added before.
    pub(super) fn add_call(&self, call: &CallEpoch, is_harmless: bool) -> Option<RunningCall> {
        let mut calls = self.lock();
        if calls.seen.insert(call.clone(), Instant::now()).is_some() {
            return None;
        }
        let added =
            RunningCall { token: CancellationToken::new(), started: Arc::new(Notify::new()), is_harmless };
        calls.running.insert(call.clone(), added.clone());
        Some(added)
    }

    pub(super) fn remove_call(&self, call: &CallEpoch) {
        self.lock().running.remove(call);
    }

    pub(super) fn give_start(&self, call: &CallEpoch) {
        if let Some(running) = self.lock().running.get(call) {
            running.started.notify_one();
        }
    }

    pub(super) fn cancel_call(&self, call: &CallEpoch) {
        let running = self.lock().running.get(call).cloned();
        if let Some(running) = running {
            running.token.cancel();
        }
    }

    /// Cancels a call without effects whose caller is gone.
    pub(super) fn cancel_without_caller(&self, name: &str) {
        let calls = self.lock();
        let without_caller: Vec<_> =
            calls.running.iter().filter(|(call, running)| call.call == name && running.is_harmless).collect();
        let tokens: Vec<_> = without_caller.into_iter().map(|(_, running)| running.token.clone()).collect();
        drop(calls);
        tokens.iter().for_each(CancellationToken::cancel);
    }

    /// Forgets calls of which no valid message is left.
    pub(super) fn forget_expired(&self) {
        let mut calls = self.lock();
        let Calls { running, seen } = &mut *calls;
        seen.retain(|call, at| running.contains_key(call) || at.elapsed() < REMEMBERED);
    }
}
