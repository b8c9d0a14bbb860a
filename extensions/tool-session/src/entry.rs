//! The entries of a session.

use std::{sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize};
use tool_runtime::{
    RunContext,
    call::{CallAddress, CallId},
};

use crate::{JsonText, SessionError, key::check_name, millis};

/// An entry of a session, with its number. Entries are never changed, but for those of a view that is [removed](EntryContent::REMOVED).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The position in the session: 1, 2, 3, and so on, without gaps. It alone orders entries; times may jump.
    pub number: u64,
    /// The content.
    #[serde(flatten)]
    pub content: EntryContent,
}

/// The content of an entry: its origin, its kind, and a body that the store never interprets.
///
/// # Examples
///
/// ```
/// use tool_session::{EntryContent, JsonText};
///
/// let message = JsonText::new(r#"{"role":"assistant","text":"4"}"#)?;
/// let content = EntryContent::new("run-1", EntryContent::MESSAGE, message)
///     .with_agent("calculator")
///     .with_branch("root.calculator")
///     .with_view("calculator");
/// assert_eq!(content.kind.as_ref(), "message");
/// # Ok::<(), tool_session::SessionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EntryContent {
    /// The time at which the content was made, in milliseconds since the Unix epoch in JSON; for people, not for order.
    #[serde(with = "millis")]
    pub time: SystemTime,
    /// The run that wrote the entry.
    pub run: CallId,
    /// The run above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run: Option<CallId>,
    /// The agent of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
    /// The position of the run in a tree of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Arc<str>>,
    /// The view key: the part of the history that an agent sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Arc<str>>,
    /// The call whose body started the run. Its id, which a model chose, is stored exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outer_call: Option<CallAddress>,
    /// The kind, by which entries are found: [`MESSAGE`](Self::MESSAGE), or any other name.
    pub kind: Arc<str>,
    /// The body.
    pub body: JsonText,
}

impl EntryContent {
    /// The kind of a message of the conversation.
    pub const MESSAGE: &str = "message";
    /// The kind of a compaction: a run reads the last one, and the entries behind it.
    pub const COMPACTION: &str = "compaction";
    /// The kind of the end of a run.
    pub const END: &str = "end";
    /// The kind of a batch with open calls.
    pub const OPEN_BATCH: &str = "open-batch";
    /// The kind of an intent to run the body of a call: without an outcome after it, the call may have taken effect.
    pub const CALL_INTENT: &str = "call-intent";
    /// The kind of the outcome of a call whose batch is not stored yet.
    pub const CALL_OUTCOME: &str = "call-outcome";
    /// The kind of a change of control: which of several agents has the conversation, and which one has the next message.
    pub const CONTROL: &str = "control";

    /// The kind of an entry that [`SessionWrite::remove_views`](crate::SessionWrite::remove_views) removed. Its body is `null`.
    pub const REMOVED: &str = "removed";

    /// Creates the content of an entry of `run`, at the present time.
    #[must_use]
    pub fn new(run: impl Into<CallId>, kind: impl Into<Arc<str>>, body: JsonText) -> Self {
        Self {
            time: millis::truncated(SystemTime::now()),
            run: run.into(),
            parent_run: None,
            agent: None,
            branch: None,
            view: None,
            outer_call: None,
            kind: kind.into(),
            body,
        }
    }

    /// Creates the content of an entry of `run`, with its id, parent, agent and branch.
    #[must_use]
    pub fn of_run(run: &RunContext, kind: impl Into<Arc<str>>, body: JsonText) -> Self {
        let mut content = Self::new(run.id().clone(), kind, body);
        content.parent_run = run.parent_id().cloned();
        content.agent = run.agent().map(Into::into);
        content.branch = run.branch().map(Into::into);
        content
    }

    /// Sets the time, which is truncated to milliseconds. Default: the time of [`new`](Self::new).
    #[must_use]
    pub fn with_time(mut self, time: SystemTime) -> Self {
        self.time = millis::truncated(time);
        self
    }

    /// Sets the run above the run of the entry. Default: none.
    #[must_use]
    pub fn with_parent_run(mut self, run: impl Into<CallId>) -> Self {
        self.parent_run = Some(run.into());
        self
    }

    /// Sets the agent. Default: none.
    #[must_use]
    pub fn with_agent(mut self, agent: impl Into<Arc<str>>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Sets the position in a tree of agents. Default: none.
    #[must_use]
    pub fn with_branch(mut self, branch: impl Into<Arc<str>>) -> Self {
        self.branch = Some(branch.into());
        self
    }

    /// Sets the view key. Default: none.
    #[must_use]
    pub fn with_view(mut self, view: impl Into<Arc<str>>) -> Self {
        self.view = Some(view.into());
        self
    }

    /// Sets the call whose body started the run. Default: none.
    #[must_use]
    pub fn with_outer_call(mut self, address: CallAddress) -> Self {
        self.outer_call = Some(address);
        self
    }

    /// Returns `true` if the view key is `view`, or continues it after a `/`.
    pub(crate) fn is_in_view(&self, view: &str) -> bool {
        let rest = self.view.as_deref().and_then(|own| own.strip_prefix(view));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Removes the content, but for its time and its origin.
    pub(crate) fn clear_content(&mut self) {
        (self.kind, self.body) = (Self::REMOVED.into(), JsonText::null());
    }

    /// Checks the names.
    pub(crate) fn check_names(&self) -> Result<(), SessionError> {
        check_name("run", &self.run.to_string())?;
        if let Some(run) = &self.parent_run {
            check_name("parent run", &run.to_string())?;
        }
        let names = [("agent", &self.agent), ("branch", &self.branch), ("view key", &self.view)];
        for (role, name) in names {
            check_name(role, name.as_deref().unwrap_or_default())?;
        }
        check_name("kind of the entry", &self.kind)
    }
}
