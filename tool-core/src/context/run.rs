//! The context of a run: identity, provided values, state, cancellation and deadline.

use std::{
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Instant,
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    CallId, CallSink, ClientInfo, ProvidedValues, ReadonlyContext, budget::BudgetAccount, child::RunLineage,
    values::RunValues,
};
use crate::{
    ToolError,
    state::{StateScope, is_internal, patch},
};

/// The run that calls belong to: its identity, provided values, state, cancellation and deadline.
///
/// The program creates one for each run; all calls of the run share it. Every part is optional and absent by default.
///
/// # Examples
///
/// ```
/// use tool_runtime::RunContext;
///
/// let run = RunContext::new().with_app("shop").with_user("u-7").with_session("s-1");
/// run.set("attempts", 3_u32);
///
/// let child = run.child("researcher");
/// child.set("attempts", 0_u32);
/// assert_eq!(run.value::<u32>("attempts").as_deref(), Some(&3));
/// assert_eq!(child.parent_id(), Some(run.id()));
/// ```
#[derive(Default)]
pub struct RunContext {
    pub(super) identity: RunIdentity,
    pub(super) lineage: RunLineage,
    pub(super) meta: Map<String, Value>,
    /// Shared with the [members](RunContext::member) of the run.
    pub(super) state: Arc<RwLock<Arc<Map<String, Value>>>>,
    pub(super) provided: ProvidedValues,
    pub(super) values: Arc<RunValues>,
    pub(super) cancellation: CancellationToken,
    pub(super) deadline: Option<Instant>,
    pub(super) stopped: Arc<OnceLock<ToolError>>,
    pub(super) account: Option<Arc<BudgetAccount>>,
    pub(super) client: Option<Arc<ClientInfo>>,
    pub(super) sink: Option<Arc<dyn CallSink>>,
}

/// The key of the session id in the meta of a run.
const SESSION: &str = "id";

#[derive(Clone)]
pub(super) struct RunIdentity {
    id: CallId,
    parent_id: Option<CallId>,
    app: Option<String>,
    agent: Option<String>,
    user: Option<String>,
    session: Option<String>,
    branch: Option<String>,
    user_content: Option<String>,
}

impl RunIdentity {
    /// Returns the identity of a child run, without the user content.
    pub(super) fn of_child_run(&self, id: CallId, agent: String, branch: String) -> Self {
        let (agent, branch) = (Some(agent), Some(branch));
        Self { parent_id: Some(self.id.clone()), id, agent, branch, user_content: None, ..self.clone() }
    }

    /// Returns the identity of the same run as one of its agents has it.
    pub(super) fn of_member_agent(&self, agent: String, branch: String) -> Self {
        Self { agent: Some(agent), branch: Some(branch), ..self.clone() }
    }

    /// Returns the identity of a run with the same agent below this one.
    pub(super) fn of_run_below(&self, id: CallId) -> Self {
        Self { parent_id: Some(self.id.clone()), id, ..self.clone() }
    }
}

impl Default for RunIdentity {
    fn default() -> Self {
        Self {
            id: CallId::generate(),
            parent_id: None,
            app: None,
            agent: None,
            user: None,
            session: None,
            branch: None,
            user_content: None,
        }
    }
}

/// Defines a setter and a getter for each textual part of the identity.
macro_rules! texts {
    ($($(#[doc = $set:literal])+ $with:ident, $(#[doc = $get:literal])+ $field:ident;)*) => { $(
        $(#[doc = $set])+
        #[must_use]
        pub fn $with(mut self, $field: impl Into<String>) -> Self {
            self.identity.$field = Some($field.into());
            self
        }

        $(#[doc = $get])+
        #[must_use]
        pub fn $field(&self) -> Option<&str> {
            self.identity.$field.as_deref()
        }
    )* };
}

impl RunContext {
    /// Creates a run with a new id.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the session that the run belongs to. Its id is also stored in the [meta](Self::meta) under `id`.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<String>) -> Self {
        let session = session.into();
        self.meta.insert(SESSION.to_owned(), Value::from(session.as_str()));
        self.identity.session = Some(session);
        self
    }

    /// Returns the id of the session that the run belongs to.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.identity.session.as_deref()
    }

    texts! {
        /// Sets the program that the run belongs to.
        with_app,
        /// Returns the program that the run belongs to.
        app;
        /// Sets the agent of the run.
        with_agent,
        /// Returns the agent of the run.
        agent;
        /// Sets the id of the user on whose behalf the run takes place.
        with_user,
        /// Returns the id of the user on whose behalf the run takes place.
        user;
        /// Sets the position of the run in a tree of agents, such as `root.researcher`.
        with_branch,
        /// Returns the position of the run in a tree of agents.
        branch;
        /// Sets the user's message that started the run.
        with_user_content,
        /// Returns the user's message that started the run.
        user_content;
    }

    /// Sets the id of the run. Default: a generated id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<CallId>) -> Self {
        self.identity.id = id.into();
        self
    }

    /// Sets the metadata that the caller sent with the run. If the run has a [session](Self::with_session), its id
    /// replaces the value under `id`.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::RunContext;
    ///
    /// let meta = json!({ "k": 1 }).as_object().cloned().unwrap_or_default();
    /// let run = RunContext::new().with_session("s-1").with_meta(meta);
    /// assert_eq!(json!(run.meta()), json!({ "k": 1, "id": "s-1" }));
    /// ```
    #[must_use]
    pub fn with_meta(mut self, mut meta: Map<String, Value>) -> Self {
        if let Some(session) = self.session() {
            meta.insert(SESSION.to_owned(), Value::from(session));
        }
        self.meta = meta;
        self
    }

    /// Sets the state of the session at the start of the run. Calls read and change it by [`State`](crate::State).
    #[must_use]
    pub fn with_state(self, state: Map<String, Value>) -> Self {
        Self { state: Arc::new(RwLock::new(Arc::new(state))), ..self }
    }

    /// Provides `value` to the tools of this run for their parameters of type `&T`; it overrides a value that the
    /// program provides.
    #[must_use]
    pub fn provide<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.provide_shared(Arc::new(value))
    }

    /// Provides a shared value like [`provide`](Self::provide); `T` may be a trait object.
    #[must_use]
    pub fn provide_shared<T: ?Sized + Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.provided.insert(value);
        self
    }

    /// Sets the reason for which the run provides no value of type `T`: the error of a call whose tool needs one. It removes a value that the
    /// run has, such as one of the run above; a value that the program provides is used all the same.
    #[must_use]
    pub fn explain_absence<T: ?Sized + 'static>(mut self, reason: impl Into<Arc<str>>) -> Self {
        self.provided.explain_absence::<T>(reason);
        self
    }

    /// Sets the token whose cancellation ends the run.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }

    /// Sets the deadline of the run: running calls end then, and no call is started afterwards. Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// use tool_runtime::RunContext;
    ///
    /// let run = RunContext::new().with_deadline(Instant::now() + Duration::from_secs(60));
    /// assert_eq!(run.child("researcher").deadline(), run.deadline());
    /// ```
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the receiver of the progress reports and log lines of the run's calls while they run; those of child runs
    /// are excluded. It costs less than the listeners of events, and may be set beside them. Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use tool_runtime::{
    ///     Executor, RunContext, ToolCall,
    ///     context::{CallSink, LogLevel, LogLine},
    ///     prelude::*,
    /// };
    ///
    /// #[derive(Default)]
    /// struct Lines(Mutex<Vec<String>>);
    ///
    /// impl CallSink for Lines {
    ///     fn log(&self, line: LogLine) -> Result<(), ToolError> {
    ///         self.0.lock().unwrap().push(line.message);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// /// Builds the index.
    /// #[tool]
    /// fn build(cx: &ToolContext) -> Result<(), ToolError> {
    ///     cx.log(LogLine::new(LogLevel::Info, "3 files"))
    /// }
    ///
    /// let lines = Arc::new(Lines::default());
    /// let run = RunContext::new().with_sink(lines.clone());
    /// let executor = Executor::new(Registry::builder().tool::<build>().build()?);
    /// let batch = executor.batch(vec![ToolCall::new("build", "{}")]).with_run(run);
    /// # /*
    /// batch.run().await;
    /// # */
    /// # let mut task = std::task::Context::from_waker(std::task::Waker::noop());
    /// # assert!(Box::pin(batch.run()).as_mut().poll(&mut task).is_ready());
    /// assert_eq!(*lines.0.lock().unwrap(), ["3 files"]);
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn with_sink(mut self, sink: Arc<dyn CallSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Returns the receiver of the reports of the run's calls.
    #[doc(hidden)]
    #[must_use]
    pub fn sink(&self) -> Option<&Arc<dyn CallSink>> {
        self.sink.as_ref()
    }

    /// Returns the id of the run.
    #[must_use]
    pub fn id(&self) -> &CallId {
        &self.identity.id
    }

    /// Returns the id of the run that started this one.
    #[must_use]
    pub fn parent_id(&self) -> Option<&CallId> {
        self.identity.parent_id.as_ref()
    }

    /// Returns the metadata that the caller sent with the run, including the id of its session under `id`.
    #[must_use]
    pub fn meta(&self) -> &Map<String, Value> {
        &self.meta
    }

    /// Returns the current state of the session, with the changes of all calls that have ended.
    #[must_use]
    pub fn state(&self) -> Arc<Map<String, Value>> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Applies `changes`, a JSON Merge Patch ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)), to the state. An
    /// executor applies the [`Actions`](crate::Actions) of its calls; a program applies those of a call that was
    /// answered later.
    pub fn change_state(&self, changes: &Map<String, Value>) {
        if !changes.is_empty() {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            patch::merge_patch(Arc::make_mut(&mut state), changes);
        }
    }

    /// Returns a copy of the state to start a child run with: without values limited to this run (`temp:`) and names
    /// that begin with `_`.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::RunContext;
    ///
    /// let state = json!({ "plan": "pro", "_cursor": 7, "temp:page": 2 });
    /// let run = RunContext::new().with_state(state.as_object().cloned().unwrap_or_default());
    /// assert!(run.child("researcher").state().is_empty());
    ///
    /// let child = run.child("researcher").with_state(run.state_for_child());
    /// assert_eq!(json!(*child.state()), json!({ "plan": "pro" }));
    /// ```
    #[must_use]
    pub fn state_for_child(&self) -> Map<String, Value> {
        let lasts = |name: &str| StateScope::of(name) != StateScope::Temp && !is_internal(name);
        let state = self.state();
        state
            .iter()
            .filter(|(name, _)| lasts(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Returns the values that this run provides.
    #[must_use]
    pub fn provided(&self) -> &ProvidedValues {
        &self.provided
    }

    /// Returns the token whose cancellation ends the run.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// Returns the deadline of the run.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Stores `value` under `key` for the rest of the run, replacing a previous value.
    pub fn set<T: Send + Sync + 'static>(&self, key: impl Into<String>, value: T) {
        self.values.set(key.into(), Arc::new(value));
    }

    /// Returns the value stored under `key`; `None` if there is none, or if it is not a `T`.
    #[must_use]
    pub fn value<T: Send + Sync + 'static>(&self, key: &str) -> Option<Arc<T>> {
        self.values.get(key)?.downcast().ok()
    }

    /// Returns the value stored under `key`. If there is none, or if it is not a `T`, stores and returns the result
    /// of `make`. If several threads do so at once, the first value is stored.
    pub fn value_or_insert_with<T: Send + Sync + 'static>(
        &self,
        key: &str,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        self.values.get_or_insert_with(key, make)
    }

    /// Returns a read-only view of the run.
    #[must_use]
    pub fn read_only(&self) -> ReadonlyContext<'_> {
        ReadonlyContext(self)
    }
}

/// Prints the identity without the provided values, which may contain secrets.
impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunIdentity { id, parent_id, app, agent, user, session, branch, user_content: _ } =
            &self.identity;
        f.debug_struct("RunContext")
            .field("id", id)
            .field("parent_id", parent_id)
            .field("app", app)
            .field("agent", agent)
            .field("user", user)
            .field("session", session)
            .field("branch", branch)
            .field("cancelled", &self.cancellation.is_cancelled())
            .finish_non_exhaustive()
    }
}
