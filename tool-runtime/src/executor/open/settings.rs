//! Settings of the open calls of an executor.

use std::time::Duration;

use crate::{
    executor::{ExecutorBuilder, ExecutorError},
    open_calls::{ProgramKey, SharedOpenCallStore},
};

/// The settings of open calls.
#[derive(Clone)]
pub(in crate::executor) struct OpenCallSettings {
    pub(super) store: Option<SharedOpenCallStore>,
    pub(super) key: Option<ProgramKey>,
    pub(super) expiry: Option<Duration>,
}

impl OpenCallSettings {
    /// The default time for an answer.
    const EXPIRY: Duration = Duration::from_secs(24 * 3600);

    /// Checks that calls which outlive the process can be authenticated.
    ///
    /// # Errors
    ///
    /// Returns an error if the store outlives the process, and there is no key.
    pub(in crate::executor) fn check_program_key(&self) -> Result<(), ExecutorError> {
        match &self.store {
            Some(store) if store.outlives_process() && self.key.is_none() => Err(ExecutorError::NoProgramKey),
            _ => Ok(()),
        }
    }
}

impl Default for OpenCallSettings {
    fn default() -> Self {
        Self { store: None, key: None, expiry: Some(Self::EXPIRY) }
    }
}

impl ExecutorBuilder {
    /// Sets the store of open calls, which can be shared by several executors and runs: a [`SharedOpenCallStore`], or any
    /// [`OpenCallStore`](crate::open_calls::OpenCallStore). Default: each executor has a store of its own in memory,
    /// for at most [10,000](crate::open_calls::MemoryOpenCalls::MAX_CALLS) calls.
    ///
    /// A call in a store that is set here is answered, updated and discarded by its [address](crate::call::CallAddress)
    /// or its question; an id is refused with [`NeedsAddress`](crate::open_calls::OpenCallError::NeedsAddress), since
    /// models repeat ids, and the id of a late answer could refer to a call of another run or user.
    ///
    /// A store that [outlives the process](crate::open_calls::OpenCallStore::outlives_process) requires a
    /// [`program_key`](Self::program_key). It stores calls with secret arguments, encrypted, if the feature
    /// `sealed-calls` is on; without the feature, such a call is answered with an error.
    pub fn open_calls(mut self, store: impl Into<SharedOpenCallStore>) -> Self {
        self.settings.open.store = Some(store.into());
        self
    }

    /// Sets the key under which open calls are authenticated and their secret arguments are encrypted. Default: none,
    /// which is sufficient for stores that do not outlive the process.
    pub fn program_key(mut self, key: ProgramKey) -> Self {
        self.settings.open.key = Some(key);
        self
    }

    /// Sets the time for which a call stays open; a later answer is
    /// [refused](crate::open_calls::OpenCallError::Expired). `None` keeps it open as long as its store does. Default:
    /// 24 hours.
    pub fn open_calls_expire(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.settings.open.expiry = after.into();
        self
    }
}
