//! A run, to look at.

use std::{sync::Arc, time::Instant};

use serde_json::{Map, Value};

use super::{CallId, RunContext};

/// A run as those see it who decide which tools it has: they may read and not change.
///
/// # Examples
///
/// ```
/// use tool_core::RunContext;
///
/// let run = RunContext::new().with_user("u-7");
/// assert_eq!(run.read_only().user(), Some("u-7"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ReadonlyContext<'a>(pub(super) &'a RunContext);

impl<'a> ReadonlyContext<'a> {
    /// The id of the run.
    #[must_use]
    pub fn id(self) -> &'a CallId {
        self.0.id()
    }

    /// The program that the run is part of.
    #[must_use]
    pub fn app(self) -> Option<&'a str> {
        self.0.app()
    }

    /// The agent that runs.
    #[must_use]
    pub fn agent(self) -> Option<&'a str> {
        self.0.agent()
    }

    /// The id of the user on whose behalf the run is.
    #[must_use]
    pub fn user(self) -> Option<&'a str> {
        self.0.user()
    }

    /// The id of the session that the run is part of.
    #[must_use]
    pub fn session(self) -> Option<&'a str> {
        self.0.session()
    }

    /// What the caller sent along with the run.
    #[must_use]
    pub fn meta(self) -> &'a Map<String, Value> {
        self.0.meta()
    }

    /// Returns the session's state as it is now.
    #[must_use]
    pub fn state(self) -> Arc<Map<String, Value>> {
        self.0.state()
    }

    /// When the run must have ended.
    #[must_use]
    pub fn deadline(self) -> Option<Instant> {
        self.0.deadline()
    }

    /// The value that this run brings for `T`.
    #[must_use]
    pub fn get<T: ?Sized + Send + Sync + 'static>(self) -> Option<&'a T> {
        self.0.provided().get()
    }

    /// What is kept under `key`; `None` if there is nothing, or something that is no `T`.
    #[must_use]
    pub fn value<T: Send + Sync + 'static>(self, key: &str) -> Option<Arc<T>> {
        self.0.value(key)
    }
}
