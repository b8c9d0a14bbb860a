//! The context of a call.
//!
//! A context describes the environment; arguments are separate and contain only values chosen by the model. Accessors
//! can be added without breaking existing tools. Rarely used parts (the cancellation token, the text of a generated
//! id) are created on first use.

mod address;
mod ambient;
mod attributes;
mod budget;
mod call_id;
mod child;
mod client;
mod confirmation;
mod log;
mod provided;
mod readonly;
mod run;
mod setup;
mod sink;
mod stop;
mod update;
mod values;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

#[doc(hidden)]
pub use self::ambient::{current_grace, within_call, within_grace};
use self::confirmation::Confirmation;
pub use self::{
    address::CallAddress,
    ambient::WithCallId,
    attributes::Attributes,
    budget::{Budget, BudgetItem, BudgetSource, BudgetUsage},
    call_id::CallId,
    child::Trigger,
    client::ClientInfo,
    confirmation::ConfirmationAnswer,
    provided::{Dependency, ProvidedValues},
    readonly::ReadonlyContext,
    run::RunContext,
    sink::{CallSink, LogLevel, LogLine, Progress},
};
use crate::{Actions, ContentHash, Resource, State, ToolError, ToolName, state::patch};

/// The context of a call: its identity, the values that the program provides, cancellation, and reporting of updates,
/// progress and log lines.
///
/// # Examples
///
/// A unit test creates its own context:
///
/// ```
/// use tool_runtime::ToolContext;
///
/// struct Database;
///
/// let cx = ToolContext::for_test().with(Database);
/// assert!(cx.get::<Database>().is_some());
/// assert!(!cx.is_cancelled());
/// ```
pub struct ToolContext {
    tool: ToolName,
    call_id: CallId,
    /// See [`CallAddress::serial`].
    serial: u64,
    attempt: u32,
    /// `true` if the body may block its thread.
    may_block: bool,
    // Set when the attempt begins, after the call was prepared in this context.
    deadline: OnceLock<Instant>,
    provided: Arc<ProvidedValues>,
    sink: Option<Arc<dyn CallSink>>,
    run: Option<Arc<RunContext>>,
    rare: Option<Box<RareCallData>>,
    // Created on first use: most tools never ask for it.
    shared: OnceLock<Arc<Shared>>,
    /// The parent of the token; shared, since a clone of a token takes a lock.
    above: Option<Arc<CancellationToken>>,
    /// The state at the start of the call's wave; `None` for the state of the run.
    state: Option<Arc<Map<String, Value>>>,
    // Created on first use, like the token.
    attempted: OnceLock<Arc<AttemptState>>,
}

/// The actions requested by one attempt.
struct AttemptState {
    state: State,
    /// `None` after the end of the attempt.
    actions: Mutex<Option<Actions>>,
}

/// Data shared by all copies of a context.
#[derive(Default)]
struct Shared {
    cancellation: OnceLock<CancellationToken>,
    /// The tool has asked for the token, or the token is cancelled.
    token_requested: AtomicBool,
    /// The tool has returned a stream.
    streams: AtomicBool,
    /// The attributes that the body has added to the span of the call.
    attributes: Mutex<Attributes>,
    /// The data of the whole call, if this is the data of one attempt.
    call: Option<Arc<Shared>>,
}

impl Shared {
    /// Sets a flag of the attempt and of the call.
    fn set_flag(&self, flag: impl Fn(&Self) -> &AtomicBool) {
        flag(self).store(true, Ordering::Relaxed);
        if let Some(call) = &self.call {
            flag(call).store(true, Ordering::Relaxed);
        }
    }
}

/// Values that few calls have.
#[derive(Clone, Default)]
struct RareCallData {
    meta: Option<Map<String, Value>>,
    resources: Vec<Resource>,
    /// The answer to the generic question before the call.
    approval: Option<ConfirmationAnswer>,
    /// The answers to the body's own questions, in order.
    confirmations: Vec<Confirmation>,
    /// The address of a call that was open: its current run may be another one.
    address: Option<CallAddress>,
}

impl ToolContext {
    /// Returns the name of the called tool.
    #[must_use]
    pub fn tool_name(&self) -> &ToolName {
        &self.tool
    }

    /// Returns the name of the tool at its origin: see [`ToolName::raw`].
    #[must_use]
    pub fn raw_tool_name(&self) -> &str {
        self.tool.raw()
    }

    /// Returns the id of the call: given by the model, or generated.
    #[must_use]
    #[inline]
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// Returns the id of the call that runs in the current task; `None` outside a call.
    ///
    /// For code that a tool calls without passing a context, such as a logger.
    #[must_use]
    pub fn current_call_id() -> Option<CallId> {
        ambient::current_call_id()
    }

    /// Returns the number of the attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the deadline of the attempt: the earlier of the attempt's own and the run's.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let of_run = self.run.as_ref().and_then(|run| run.deadline());
        self.deadline.get().copied().into_iter().chain(of_run).min()
    }

    /// Returns the token that is cancelled when the call should stop.
    ///
    /// A body that has asked for its token, here or by [`is_cancelled`](Self::is_cancelled), has a grace period after
    /// the cancellation: if it returns in time, its result counts. After the grace period, or at once if the body
    /// never asked, its future is dropped. Default: 3 s; set by `grace_period` of the executor or the tool. There is
    /// no grace period after a timeout or deadline, once a tool has returned a stream, without a timer, or if the
    /// batch itself is dropped. A batch that runs inside a body ends before the grace period of that body.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        self.shared().set_flag(|shared| &shared.token_requested);
        self.token()
    }

    /// Returns `true` if the call should stop. Calling this gives the body the grace period described at
    /// [`cancellation`](Self::cancellation).
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared().set_flag(|shared| &shared.token_requested);
        self.should_stop()
    }

    /// Returns the metadata that the caller sent with the call, outside the arguments.
    #[must_use]
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.rare.as_ref()?.meta.as_ref()
    }

    /// Returns the documents that the caller sent with the call.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        self.rare.as_ref().map_or(&[], |rare| &rare.resources)
    }

    /// Returns the run that the call belongs to; `None` for a single call without a run.
    #[must_use]
    pub fn run(&self) -> Option<&Arc<RunContext>> {
        self.run.as_ref()
    }

    /// Returns the address of the call, which stays the same when the call is retried or resumed.
    #[must_use]
    pub fn address(&self) -> CallAddress {
        let open_at = self.rare.as_ref().and_then(|rare| rare.address.clone());
        open_at.unwrap_or_else(|| CallAddress {
            run: self.run.as_ref().map(|run| run.id().clone()),
            call_id: self.call_id.clone(),
            serial: self.serial,
        })
    }

    /// Returns a key derived from the [address](Self::address): equal each time this call runs, including retries and
    /// resumption, and different for any other call of the executor. Outside an executor and without a run, it is
    /// only as unique as the id given by the model.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        ContentHash::of(&self.address()).to_string()
    }

    /// Returns the state of the run, or of the batch if there is no run, for this attempt to read and change. The
    /// program carries it from one run of a session to the next: [`RunContext::state`], [`RunContext::with_state`].
    #[must_use]
    pub fn state(&self) -> &State {
        &self.attempt_state().state
    }

    /// Requests `actions` in addition to the result; they take effect if the call succeeds. For tools with a result
    /// of any type; a tool that returns a [`ToolOutput`](crate::ToolOutput) can also use
    /// [`with_actions`](crate::ToolOutput::with_actions). Earlier requests are [merged](Actions::follow).
    ///
    /// # Errors
    ///
    /// Returns an error if the attempt is over.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ToolContext, ToolError, output::Actions};
    ///
    /// fn finish(cx: &ToolContext) -> Result<u32, ToolError> {
    ///     cx.add_actions(Actions { terminate: true, ..Actions::default() })?;
    ///     Ok(42)
    /// }
    ///
    /// let cx = ToolContext::for_test();
    /// assert_eq!(finish(&cx).unwrap(), 42);
    /// assert!(cx.actions().terminate);
    /// ```
    pub fn add_actions(&self, actions: Actions) -> Result<(), ToolError> {
        match &mut *lock_actions(&self.attempt_state().actions) {
            Some(requested) => requested.follow(actions),
            None => return Err(ToolError::failed("the call has ended; it can no longer request actions")),
        }
        Ok(())
    }

    /// Returns the actions that this attempt has requested so far, including the changes of its [state](Self::state).
    #[must_use]
    pub fn actions(&self) -> Actions {
        let Some(attempted) = self.attempted.get() else { return Actions::default() };
        let mut actions = lock_actions(&attempted.actions).clone().unwrap_or_default();
        patch::extend_patch(&mut actions.state, attempted.state.changes());
        actions
    }

    /// Returns the value that the program provides for `T`, which may be a trait object.
    #[must_use]
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self) -> Option<&T> {
        self.provided.get()
    }

    /// Returns the value that the program provides for `T`.
    ///
    /// # Errors
    ///
    /// Returns an error that names the type if there is no such value.
    pub fn require<T: ?Sized + Send + Sync + 'static>(&self) -> Result<&T, ToolError> {
        self.get().ok_or_else(|| self.provided.missing_value_error::<T>(&self.tool))
    }

    /// Returns all values that the program provides.
    #[must_use]
    pub fn provided(&self) -> &Arc<ProvidedValues> {
        &self.provided
    }
}

impl ToolContext {
    /// Creates a copy for another attempt.
    fn copy_for_attempt(&self) -> Self {
        Self {
            tool: self.tool.clone(),
            call_id: self.call_id.clone(),
            serial: self.serial,
            attempt: self.attempt,
            may_block: self.may_block,
            deadline: self.deadline.clone(),
            provided: Arc::clone(&self.provided),
            sink: self.sink.clone(),
            run: self.run.clone(),
            rare: self.rare.clone(),
            // Created now if necessary, since both copies must be cancelled together.
            shared: OnceLock::from(Arc::clone(self.shared())),
            above: self.above.clone(),
            state: self.state.clone(),
            attempted: OnceLock::new(),
        }
    }
}

impl Clone for ToolContext {
    fn clone(&self) -> Self {
        Self { attempted: OnceLock::from(Arc::clone(self.attempt_state())), ..self.copy_for_attempt() }
    }
}

/// Holding the lock is safe: no code of the user runs under it.
fn lock_actions(actions: &Mutex<Option<Actions>>) -> MutexGuard<'_, Option<Actions>> {
    actions.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("tool", &self.tool)
            .field("call_id", &self.call_id)
            .field("attempt", &self.attempt)
            .field("deadline", &self.deadline.get())
            .field("cancelled", &self.should_stop())
            .field("sink", &self.sink.as_ref().map(|_| "..."))
            .finish_non_exhaustive()
    }
}
