//! What is known of the run that a call belongs to.

use std::{
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Instant,
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    CallId, ClientInfo, ProvidedValues, ReadonlyContext, budget::Account, child::Lineage, values::Values,
};
use crate::{
    ToolError,
    state::{StateScope, is_internal, patch},
};

/// The run that calls belong to: on whose behalf it is, what it brings, and what ends it.
///
/// One is made for each run, by whoever starts it; its calls share it. Everything is optional, and
/// what is not said is absent, never empty.
///
/// # Examples
///
/// ```
/// use tool_core::RunContext;
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
    pub(super) identity: Identity,
    pub(super) lineage: Lineage,
    pub(super) meta: Map<String, Value>,
    pub(super) state: RwLock<Arc<Map<String, Value>>>,
    pub(super) provided: ProvidedValues,
    pub(super) values: Values,
    pub(super) cancellation: CancellationToken,
    pub(super) deadline: Option<Instant>,
    pub(super) stopped: OnceLock<ToolError>,
    pub(super) account: Option<Arc<Account>>,
    pub(super) client: Option<Arc<ClientInfo>>,
}

/// The key of the session's id in the meta of a run.
const SESSION: &str = "id";

#[derive(Clone)]
pub(super) struct Identity {
    id: CallId,
    parent_id: Option<CallId>,
    app: Option<String>,
    agent: Option<String>,
    user: Option<String>,
    session: Option<String>,
    branch: Option<String>,
    user_content: Option<String>,
}

impl Identity {
    /// The identity of a run below, without the user content.
    pub(super) fn child(&self, id: CallId, agent: String, branch: String) -> Self {
        let (agent, branch) = (Some(agent), Some(branch));
        Self { parent_id: Some(self.id.clone()), id, agent, branch, user_content: None, ..self.clone() }
    }
}

impl Default for Identity {
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

/// A builder's method for each part of the identity that is a text.
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
    /// A run with a new id, of which nothing else is known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the session that the run is part of. Its id is also in the [meta](Self::meta), under `id`.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<String>) -> Self {
        let session = session.into();
        self.meta.insert(SESSION.to_owned(), Value::from(session.as_str()));
        self.identity.session = Some(session);
        self
    }

    /// The id of the session that the run is part of.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.identity.session.as_deref()
    }

    texts! {
        /// Says which program the run is part of.
        with_app,
        /// The program that the run is part of.
        app;
        /// Says which agent runs.
        with_agent,
        /// The agent that runs.
        agent;
        /// Says on whose behalf the run is.
        with_user,
        /// The id of the user on whose behalf the run is.
        user;
        /// Says where in a tree of agents the run is, such as `root.researcher`.
        with_branch,
        /// Where in a tree of agents the run is.
        branch;
        /// Says what the user wrote that started the run.
        with_user_content,
        /// What the user wrote that started the run.
        user_content;
    }

    /// Sets the id of the run, in place of a new one.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<CallId>) -> Self {
        self.identity.id = id.into();
        self
    }

    /// Sets what the caller sent along with the run. The id of the [session](Self::with_session), where the run has
    /// one, stands in it under `id`, in place of another value of that key.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_core::RunContext;
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

    /// Sets the session's state as it is when the run starts. Calls read and change it by [`State`](crate::State).
    #[must_use]
    pub fn with_state(self, state: Map<String, Value>) -> Self {
        Self { state: RwLock::new(Arc::new(state)), ..self }
    }

    /// Gives the tools of this run `value` for their parameters of type `&T`, before what the program
    /// provides.
    #[must_use]
    pub fn provide<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.provide_shared(Arc::new(value))
    }

    /// As [`provide`](Self::provide), where `T` may be a trait object.
    #[must_use]
    pub fn provide_shared<T: ?Sized + Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.provided.insert(value);
        self
    }

    /// Sets the token whose cancellation ends the run.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }

    /// Sets when the run must have ended: its calls end then, and none is started afterwards.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// use tool_core::RunContext;
    ///
    /// let run = RunContext::new().with_deadline(Instant::now() + Duration::from_secs(60));
    /// assert_eq!(run.child("researcher").deadline(), run.deadline());
    /// ```
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The id of the run.
    #[must_use]
    pub fn id(&self) -> &CallId {
        &self.identity.id
    }

    /// The id of the run that started this one.
    #[must_use]
    pub fn parent_id(&self) -> Option<&CallId> {
        self.identity.parent_id.as_ref()
    }

    /// What the caller sent along with the run, and the id of its session under `id`.
    #[must_use]
    pub fn meta(&self) -> &Map<String, Value> {
        &self.meta
    }

    /// Returns the session's state as it is now: with the changes of all calls that have ended.
    #[must_use]
    pub fn state(&self) -> Arc<Map<String, Value>> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Applies `changes`, a JSON Merge Patch ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)), to the state. An
    /// executor does so with the [`Actions`](crate::Actions) of the calls that it runs; a program does so with those of a
    /// call that was answered later.
    pub fn change_state(&self, changes: &Map<String, Value>) {
        if !changes.is_empty() {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            patch::apply(Arc::make_mut(&mut state), changes);
        }
    }

    /// Returns the state that a child run is given if it is to begin with that of this run: without what lasts for this
    /// run alone (`temp:`) and without names that begin with `_`.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_core::RunContext;
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

    /// The values that this run brings.
    #[must_use]
    pub fn provided(&self) -> &ProvidedValues {
        &self.provided
    }

    /// The token whose cancellation ends the run.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// When the run must have ended.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Keeps `value` under `key` for the rest of the run, in place of what was there.
    pub fn set<T: Send + Sync + 'static>(&self, key: impl Into<String>, value: T) {
        self.values.set(key.into(), Arc::new(value));
    }

    /// What is kept under `key`; `None` if there is nothing, or something that is no `T`.
    #[must_use]
    pub fn value<T: Send + Sync + 'static>(&self, key: &str) -> Option<Arc<T>> {
        self.values.get(key)?.downcast().ok()
    }

    /// What is kept under `key`; what `make` gives is kept there where there is nothing, or something that
    /// is no `T`. Of several that are made at once, the first is kept.
    pub fn value_or_insert_with<T: Send + Sync + 'static>(
        &self,
        key: &str,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        self.values.get_or_insert_with(key, make)
    }

    /// The same, to look at and not to change.
    #[must_use]
    pub fn read_only(&self) -> ReadonlyContext<'_> {
        ReadonlyContext(self)
    }
}

/// Who and where, and nothing of what it brings: there may be a secret in it.
impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { id, parent_id, app, agent, user, session, branch, user_content: _ } = &self.identity;
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
