//! Conversations of sessions, in memory.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::OwnedMutexGuard;
use tool_runtime::RunContext;

use super::open::OpenBatch;
use crate::Message;

/// The conversations of all sessions of a runner.
#[derive(Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<HashMap<Key, Shared>>>);

type Shared = Arc<tokio::sync::Mutex<Session>>;

/// Program, user and session.
type Key = (Option<String>, Option<String>, String);

/// The conversation of one session.
#[derive(Default)]
pub(super) struct Session {
    pub(super) messages: Vec<Message>,
    /// The last batch, while calls of it are open: the last message has its calls.
    pub(super) open: Option<OpenBatch>,
    /// Set while the input check has not accepted the last message: the next run removes it.
    pub(super) unchecked: AtomicBool,
}

impl Session {
    /// Removes a last message that no input check accepted: its run was dropped, or failed before.
    pub(super) fn forget_unchecked(&mut self) -> bool {
        let is_unchecked = std::mem::take(self.unchecked.get_mut());
        if is_unchecked {
            self.messages.pop();
        }
        is_unchecked
    }
}

/// The turn of a run in its session: other runs of the session wait for its end.
pub(super) type Turn = OwnedMutexGuard<Session>;

impl Sessions {
    /// Waits for the turn of `run` in its session; a run without a session has a conversation of its own.
    pub(super) async fn turn(&self, run: &RunContext) -> Turn {
        let key = key(run.app().map(str::to_owned), run);
        let shared = match key {
            None => Shared::default(),
            Some(key) => {
                let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(sessions.entry(key).or_default())
            }
        };
        shared.lock_owned().await
    }

    /// Returns the conversation of the session of `run`.
    pub(super) async fn messages(&self, app: Option<String>, run: &RunContext) -> Vec<Message> {
        let Some(key) = key(app, run) else { return Vec::new() };
        let shared = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        match shared {
            Some(shared) => {
                let session = shared.lock().await;
                let mut messages = session.messages.clone();
                if session.unchecked.load(Ordering::Acquire) {
                    messages.pop();
                }
                messages
            }
            None => Vec::new(),
        }
    }
}

fn key(app: Option<String>, run: &RunContext) -> Option<Key> {
    Some((app, run.user().map(str::to_owned), run.session()?.to_owned()))
}
