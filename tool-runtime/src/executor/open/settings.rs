//! Where the open calls of an executor are kept.

use std::time::Duration;

use crate::{
    executor::{ExecutorBuilder, ExecutorError},
    open_calls::{ProgramKey, SharedOpenCalls},
};

/// The settings of open calls.
#[derive(Clone)]
pub(in crate::executor) struct OpenSettings {
    pub(super) store: Option<SharedOpenCalls>,
    pub(super) key: Option<ProgramKey>,
    pub(super) expiry: Option<Duration>,
}

impl OpenSettings {
    /// The time for an answer, if nothing is said.
    const EXPIRY: Duration = Duration::from_secs(24 * 3600);

    /// # Errors
    ///
    /// If the store outlives the process, and there is no key.
    pub(in crate::executor) fn check(&self) -> Result<(), ExecutorError> {
        match &self.store {
            Some(store) if store.outlives_process() && self.key.is_none() => Err(ExecutorError::NoProgramKey),
            _ => Ok(()),
        }
    }
}

impl Default for OpenSettings {
    fn default() -> Self {
        Self { store: None, key: None, expiry: Some(Self::EXPIRY) }
    }
}

impl ExecutorBuilder {
    /// Sets the store of open calls, which all executors and runs share that are given it: a
    /// [`SharedOpenCalls`], or any [`OpenCallStore`](crate::open_calls::OpenCallStore). Default: each executor keeps its own in
    /// memory, at most [10 000](crate::open_calls::MemoryOpenCalls::MOST).
    ///
    /// A call in such a store is answered, updated and forgotten by its [address](crate::call::CallAddress) or its question; an
    /// id is refused as [`NeedsAddress`](crate::open_calls::OpenCallError::NeedsAddress). Models repeat ids, so that the id of an answer
    /// that comes late may be that of a call of another run or user.
    ///
    /// A store that [outlives the process](crate::open_calls::OpenCallStore::outlives_process) needs a
    /// [`program_key`](Self::program_key). Calls with secret arguments are kept in it with the feature `sealed-calls`
    /// only, encrypted; without the feature such a call is answered with an error that says so.
    pub fn open_calls(mut self, store: impl Into<SharedOpenCalls>) -> Self {
        self.settings.open.store = Some(store.into());
        self
    }

    /// Sets the key under which open calls are authenticated and their secret arguments encrypted. Default: none, for
    /// calls that do not leave the process.
    pub fn program_key(mut self, key: ProgramKey) -> Self {
        self.settings.open.key = Some(key);
        self
    }

    /// Sets the time for which a call stays open; a later answer is [refused](crate::open_calls::OpenCallError::Expired). `None` for
    /// as long as its store keeps it. Default: 24 hours.
    pub fn open_calls_expire(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.settings.open.expiry = after.into();
        self
    }
}
