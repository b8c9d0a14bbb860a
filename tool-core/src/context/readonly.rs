//! A read-only view of a run.

use std::{sync::Arc, time::Instant};

use serde_json::{Map, Value};

use super::{CallId, RunContext};

/// A read-only view of a run, for components that decide which tools it has.
///
/// # Examples
///
/// ```
/// use tool_runtime::RunContext;
///
/// let run = RunContext::new().with_user("u-7");
/// assert_eq!(run.read_only().user(), Some("u-7"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ReadonlyContext<'a>(pub(super) &'a RunContext);

impl<'a> ReadonlyContext<'a> {
    /// Returns the id of the run.
    #[must_use]
    pub fn id(self) -> &'a CallId {
        self.0.id()
    }

    /// Returns the program that the run belongs to.
    #[must_use]
    pub fn app(self) -> Option<&'a str> {
        self.0.app()
    }

    /// Returns the agent of the run.
    #[must_use]
    pub fn agent(self) -> Option<&'a str> {
        self.0.agent()
    }

    /// Returns the id of the user on whose behalf the run takes place.
    #[must_use]
    pub fn user(self) -> Option<&'a str> {
        self.0.user()
    }

    /// Returns the id of the session that the run belongs to.
    #[must_use]
    pub fn session(self) -> Option<&'a str> {
        self.0.session()
    }

    /// Returns the metadata that the caller sent with the run.
    #[must_use]
    pub fn meta(self) -> &'a Map<String, Value> {
        self.0.meta()
    }

    /// Returns the current state of the session.
    #[must_use]
    pub fn state(self) -> Arc<Map<String, Value>> {
        self.0.state()
    }

    /// Returns the deadline of the run.
    #[must_use]
    pub fn deadline(self) -> Option<Instant> {
        self.0.deadline()
    }

    /// Returns the value that this run provides for `T`.
    #[must_use]
    pub fn get<T: ?Sized + Send + Sync + 'static>(self) -> Option<&'a T> {
        self.0.provided().get()
    }

    /// Returns the value stored under `key`; `None` if there is none, or if it is not a `T`.
    #[must_use]
    pub fn value<T: Send + Sync + 'static>(self, key: &str) -> Option<Arc<T>> {
        self.0.value(key)
    }
}
