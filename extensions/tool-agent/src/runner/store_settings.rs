//! The store of a runner, and its settings.

use std::time::Duration;

use tool_runtime::{RunContext, open_calls::ProgramKey};
use tool_session::{InMemoryStore, LeaseRequest, SharedSessionStore};

use super::{
    AgentStream, RunOptions, Runner, RunnerSettings, answers::Input, entry::EntryCodec, session::Sessions,
    session_map::SessionKey, session_writer::StoreAccess, stored_conversation::read_messages,
};
use crate::Message;

/// The default time that a run waits for another run of its session.
pub(super) const DEFAULT_MAX_WAIT: Duration = Duration::from_secs(30);
/// The default time for which a failed operation of a store is tried again.
const DEFAULT_STORE_TIMEOUT: Duration = Duration::from_secs(10);
/// The minimum duration of a lease, which is renewed after a third of it.
const MIN_LEASE_DURATION: Duration = Duration::from_millis(10);

/// The store of a runner, and its settings.
#[derive(Clone)]
pub(super) struct StoreSettings {
    pub(super) store: SharedSessionStore,
    /// `true` if the store is in memory, and the runner and its clones alone have it.
    pub(super) is_own: bool,
    lease_duration: Duration,
    timeout: Duration,
    key: Option<ProgramKey>,
}

impl Default for StoreSettings {
    fn default() -> Self {
        let (lease_duration, timeout) = (LeaseRequest::DEFAULT_DURATION, DEFAULT_STORE_TIMEOUT);
        // The sessions of the runner make room for others.
        let store = InMemoryStore::new().with_max_sessions(usize::MAX).into();
        Self { store, is_own: true, lease_duration, timeout, key: None }
    }
}

impl RunnerSettings {
    /// Returns the store with the settings of its operations.
    pub(super) fn store_access(&self) -> StoreAccess {
        let StoreSettings { store, is_own, lease_duration, timeout, .. } = &self.store;
        let (store, holder) = (store.clone(), self.sessions.holder());
        let (lease_duration, timeout) = (*lease_duration, *timeout);
        StoreAccess { store, is_own: *is_own, holder, lease_duration, timeout }
    }

    /// Returns the store in memory that the runner alone has.
    pub(super) fn own_store(&self) -> Option<&SharedSessionStore> {
        self.store.is_own.then_some(&self.store.store)
    }

    /// Returns the codec of the entries of a session.
    pub(super) fn codec(&self, session: tool_session::SessionKey, access: &StoreAccess) -> EntryCodec {
        EntryCodec { session, key: self.store.key.clone(), seals_secrets: access.store.outlives_process() }
    }
}

/// Sessions in a store.
impl Runner {
    /// Keeps the sessions in `store`, so that another process continues them: conversation and state. Default: an
    /// [`InMemoryStore`](tool_session::InMemoryStore) that the runner and its clones alone have, in which a run that was dropped is not
    /// [recovered](Self::recover). In any store, a message has at most [16 MiB](tool_session::JsonText::MAX_BYTES).
    ///
    /// A run takes the lease of its session, and renews it while its stream is polled. Each message is stored before it is an event, and
    /// before a call of it runs; changes of state and the usage are stored with it. The state of the session, of its user and of
    /// its app is the state of the run, over which [`RunContext::with_state`] is applied; `temp:` values are not stored.
    ///
    /// A run reads the last compaction and the messages after it, or as many messages as the context window holds. A run that was
    /// dropped releases its lease for runs of this runner and its clones at once, and for others at the next run of this runner, or when
    /// it expires.
    ///
    /// Before the body of a tool runs that is neither read-only nor idempotent, an intent is stored, and its outcome as the call ends; if the
    /// intent is not stored, the body does not run. Calls are [finished](tool_runtime::executor::Finish) as they complete. After a
    /// crash, [`recover`](Self::recover) continues the run. A person with write access to the store controls what the model reads, and can remove
    /// intents; open calls and approvals are authenticated by the key of the program.
    ///
    /// Open calls are stored as the batch that they belong to. [`Runner::resume`] continues it in another process if the executor of
    /// the agent has a [store of open calls](tool_runtime::executor::ExecutorBuilder::open_calls) that outlives the process; else
    /// its calls are answered as interrupted. A tool that is gone or has another definition answers its call with an error, and
    /// does not run.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
    /// use tool_runtime::RunContext;
    /// use tool_session::{InMemoryStore, SharedSessionStore};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// // In a program: `SqliteStore::open("sessions.sqlite").await?`.
    /// let store = SharedSessionStore::new(InMemoryStore::new());
    /// let runner = |answer: &str| -> anyhow::Result<Runner> {
    ///     let model = ScriptedModel::new([Reply::text(answer)]);
    ///     Ok(Runner::new(Agent::builder("greeter", model).build()?).with_store(store.clone()))
    /// };
    /// let run = || RunContext::new().with_user("u-7").with_session("s-1");
    /// runner("Hello, Ada.")?.run_with(run(), "I am Ada.").answer().await?;
    ///
    /// // Another process.
    /// let runner = runner("Ada.")?;
    /// assert_eq!(runner.run_with(run(), "Who am I?").answer().await?, "Ada.");
    /// assert_eq!(runner.history(&run()).await.len(), 4);
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn with_store(self, store: impl Into<SharedSessionStore>) -> Self {
        let store = store.into();
        self.with_changed_settings(|settings| {
            (settings.store.store, settings.store.is_own) = (store, false);
            // The sessions in memory belong to no store, or to another one.
            settings.sessions = settings.sessions.empty_copy();
        })
    }

    /// Continues the session of `run` after its last run was interrupted: by a crash, or since its stream was dropped. It may have any
    /// id. [`SharedSessionStore::unfinished`] lists such runs.
    ///
    /// Stored results are used. A call of a tool that is neither read-only nor idempotent, which had started and has no stored outcome, is
    /// answered as interrupted: it may have taken effect. A call that is read-only or idempotent, or had not started, runs now, under the
    /// same rules and approvals. A call that waits for an answer stays open: the run ends with [open
    /// calls](crate::EndReason::OpenCalls), and [`resume`](Self::resume) continues it. Usage, limits and the budget go on
    /// where they were stored; a request to the model that was interrupted is made again, and its tokens are not known. The time of the
    /// run begins anew.
    ///
    /// If no run was interrupted, the run ends as [`Failed`](crate::EndReason::Failed) with a message that says so. A message to
    /// the session in place of `recover` answers the unfinished calls as interrupted, and runs none of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Runner, ScriptedModel, hook, model::Reply};
    /// use tool_runtime::RunContext;
    /// use tool_session::{InMemoryStore, SharedSessionStore};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let store = SharedSessionStore::new(InMemoryStore::new());
    /// let model = ScriptedModel::new([Reply::text("Hello, Ada.")]);
    /// let runner = Runner::new(Agent::builder("greeter", model).build()?).with_app("hall").with_store(store.clone());
    /// let run = || RunContext::new().with_user("u-7").with_session("s-1");
    /// // The message is stored, and the process ends before the model answers.
    /// let waiting = runner.clone().with_hook(hook::before_model(|_| std::future::pending()));
    /// let mut events = waiting.run_with(run(), "I am Ada.");
    /// events.next().await;
    /// drop(events);
    ///
    /// assert_eq!(runner.recover(run()).answer().await?, "Hello, Ada.");
    /// assert!(runner.recover(run()).answer().await.is_err(), "nothing is left to continue");
    /// assert!(store.unfinished("hall").await?.is_empty());
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn recover(&self, run: impl Into<RunOptions>) -> AgentStream {
        self.start_run(run.into(), Input::Recovery)
    }

    /// Sets the key under which messages with secret arguments are encrypted in a store that outlives the process; without it, such a
    /// message ends the run with [`StoreFailed`](crate::EndReason::StoreFailed). Encryption needs the feature `sealed-calls` of
    /// `tool-runtime`. Default: none.
    #[must_use]
    pub fn with_program_key(self, key: ProgramKey) -> Self {
        self.with_changed_settings(|settings| settings.store.key = Some(key))
    }

    /// Sets the time that a run waits while another run of its session takes place, in this process or another one; then it ends with
    /// [`Busy`](crate::EndReason::Busy). A child run of the run that has the session does not wait; give it another session. Default: 30
    /// seconds.
    #[must_use]
    pub fn when_busy(self, max_wait: Duration) -> Self {
        self.with_changed_settings(|settings| settings.max_wait = max_wait)
    }

    /// Sets the duration of a lease in the store: the time after which another process continues the session of a process that
    /// ended or stopped. A run renews its lease after each third of it. At least 10 milliseconds. Default: 30 seconds.
    #[must_use]
    pub fn with_lease_duration(self, duration: Duration) -> Self {
        self.with_changed_settings(|settings| {
            settings.store.lease_duration = duration.max(MIN_LEASE_DURATION)
        })
    }

    /// Sets the time for which an operation of the store that failed is tried again, within the deadline of the run; then the run
    /// ends with [`StoreFailed`](crate::EndReason::StoreFailed). Default: 10 seconds.
    #[must_use]
    pub fn with_store_timeout(self, timeout: Duration) -> Self {
        self.with_changed_settings(|settings| settings.store.timeout = timeout)
    }

    /// Reads the conversation of a session from the store, after another run of this process.
    pub(super) async fn stored_history(&self, run: &RunContext, key: &SessionKey) -> Vec<Message> {
        self.0.sessions.wait_for_turn(key, run).await;
        let Ok(key) = key.stored_key() else { return Vec::new() };
        let access = self.0.store_access();
        let codec = self.0.codec(key.clone(), &access);
        read_messages(&access.store, &codec, &key).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the conversation of a session was not read");
            Vec::new()
        })
    }

    /// Removes the session of `run` with its conversation; open calls can no longer be answered. Returns `false` if there
    /// is none. Waits for a run of the session. If a [store](Self::with_store) fails, or a tool names the session of its own run, the result is
    /// `false`, and the log has a warning.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
    /// use tool_runtime::RunContext;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let runner = Runner::new(Agent::builder("greeter", ScriptedModel::new([Reply::text("Hello.")])).build()?);
    /// let run = || RunContext::new().with_session("s-1");
    /// runner.run_with(run(), "Hi.").answer().await?;
    /// assert!(runner.remove_session(&run()).await);
    /// assert_eq!((runner.session_count(), runner.history(&run()).await.len()), (0, 0));
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub async fn remove_session(&self, run: &RunContext) -> bool {
        let Some(key) = self.session_key(run) else { return false };
        if self.0.sessions.is_held_by(&key, run) {
            tracing::warn!("a session cannot be removed by a call of its own run");
            return false;
        }
        self.0.sessions.remove_and_delete(&key, || self.delete_stored_session(&key)).await
    }

    /// Deletes a session from the store.
    async fn delete_stored_session(&self, key: &SessionKey) -> bool {
        let Ok(key) = key.stored_key() else { return false };
        self.0.store.store.delete(&key).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "a session was not deleted");
            false
        })
    }
}

impl Sessions {
    /// Returns empty sessions with the same maximum number.
    fn empty_copy(&self) -> Self {
        let sessions = Self::default();
        sessions.set_max(self.max_sessions());
        sessions
    }
}
