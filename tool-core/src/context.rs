//! What a tool may know of the call it answers.
//!
//! A context is for the environment; what the model chose is in the arguments, and neither leaks
//! into the other. It grows by accessors, so that a tool written today compiles tomorrow. What a
//! call may not need (a cancellation token, the text of a generated id) is made when it is asked for.

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
    any::type_name,
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
    budget::{Budget, BudgetUsage},
    call_id::CallId,
    child::Trigger,
    client::ClientInfo,
    confirmation::ConfirmationAnswer,
    provided::{Dependency, ProvidedValues},
    readonly::ReadonlyContext,
    run::RunContext,
    sink::{CallSink, LogLevel, LogLine, Progress},
};
use crate::{Actions, ContentHash, ErrorKind, Resource, State, ToolError, ToolName, state::patch};

/// What a tool may know of the call it answers, and what it may tell while it runs.
///
/// # Examples
///
/// A unit test makes its own:
///
/// ```
/// use tool_core::ToolContext;
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
    /// Whether the body may block its thread.
    may_block: bool,
    // Set when the attempt begins, which is after the call was prepared in this context.
    deadline: OnceLock<Instant>,
    provided: Arc<ProvidedValues>,
    sink: Option<Arc<dyn CallSink>>,
    run: Option<Arc<RunContext>>,
    carried: Option<Box<Carried>>,
    // Behind a lock that is set once: most tools never ask for it.
    shared: OnceLock<Arc<Shared>>,
    /// What the token is made a child of.
    above: Option<CancellationToken>,
    /// The state when the call's group began; `None` where it is that of the run.
    state: Option<Arc<Map<String, Value>>>,
    // Made when it is asked for, like the token.
    attempted: OnceLock<Arc<Attempted>>,
}

/// The requests of one attempt so far, beside its result.
struct Attempted {
    state: State,
    /// `None` once the attempt is over.
    actions: Mutex<Option<Actions>>,
}

/// What all copies of a context have in common.
#[derive(Default)]
struct Shared {
    cancellation: OnceLock<CancellationToken>,
    /// Whether the tool asked for the token, or whether it is cancelled.
    asked: AtomicBool,
    /// Whether the tool gave a stream.
    streams: AtomicBool,
    /// The attributes that the body has added to the span of the call.
    attributes: Mutex<Attributes>,
    /// That of the whole call, where this is of one attempt.
    call: Option<Arc<Shared>>,
}

impl Shared {
    /// Sets a flag, of the attempt and of the call.
    fn set(&self, flag: impl Fn(&Self) -> &AtomicBool) {
        flag(self).store(true, Ordering::Relaxed);
        if let Some(call) = &self.call {
            flag(call).store(true, Ordering::Relaxed);
        }
    }
}

/// What few calls bring.
#[derive(Clone, Default)]
struct Carried {
    meta: Option<Map<String, Value>>,
    resources: Vec<Resource>,
    /// The answer to the generic question about the call.
    approval: Option<ConfirmationAnswer>,
    /// The answers to the body's own questions, in order.
    confirmations: Vec<Confirmation>,
    /// Where the call has been open since it arrived: its run may be another one by now.
    address: Option<CallAddress>,
}

impl ToolContext {
    /// The name of the tool that was called.
    #[must_use]
    pub fn tool_name(&self) -> &ToolName {
        &self.tool
    }

    /// The name of the tool at its origin: see [`ToolName::raw`].
    #[must_use]
    pub fn raw_tool_name(&self) -> &str {
        self.tool.raw()
    }

    /// The id of the call: the model's, or a new one where it gave none.
    #[must_use]
    #[inline]
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// The id of the call that runs in this task right now; `None` outside a call.
    ///
    /// For code that is called by a tool and is handed no context, such as a logger.
    #[must_use]
    pub fn current_call_id() -> Option<CallId> {
        ambient::current()
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// When the attempt must have ended: the run that it belongs to has no more time either.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let of_run = self.run.as_ref().and_then(|run| run.deadline());
        self.deadline.get().copied().into_iter().chain(of_run).min()
    }

    /// The token that is cancelled when the call should stop.
    ///
    /// A body that asked for it, here or by [`is_cancelled`](Self::is_cancelled), has a grace period from then
    /// on: it may clean up and return, and its result counts. After that, and where the body never
    /// asked, its future is dropped. The period is 3 s, unless the executor or the tool sets another one by
    /// `grace_period`. There is none after a timeout or a deadline, once a tool has given a stream, where no timer
    /// runs, or where the batch itself is dropped. A batch that runs inside of a body ends before the grace
    /// period of that body does.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        self.shared().set(|shared| &shared.asked);
        self.token()
    }

    /// Returns `true` if the call should stop. A body that calls this has the grace period that
    /// [`cancellation`](Self::cancellation) describes.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared().set(|shared| &shared.asked);
        self.should_stop()
    }

    /// What the caller sent along with the call, outside the arguments.
    #[must_use]
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.carried.as_ref()?.meta.as_ref()
    }

    /// The documents that the caller sent along with the call.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        self.carried.as_ref().map_or(&[], |carried| &carried.resources)
    }

    /// The run that the call belongs to; `None` where it is called by itself.
    #[must_use]
    pub fn run(&self) -> Option<&Arc<RunContext>> {
        self.run.as_ref()
    }

    /// The address of the call. It stays the same when the call is retried or resumed.
    #[must_use]
    pub fn address(&self) -> CallAddress {
        let open_at = self.carried.as_ref().and_then(|carried| carried.address.clone());
        open_at.unwrap_or_else(|| CallAddress {
            run: self.run.as_ref().map(|run| run.id().clone()),
            call_id: self.call_id.clone(),
            serial: self.serial,
        })
    }

    /// A key made of the [address](Self::address): equal each time this call runs, also when it is retried or
    /// resumed, and different for any other call of the executor. For a service that does the same thing once.
    /// Outside an executor and without a run, it is as unique as the id that the model gave.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        ContentHash::of(&self.address()).to_string()
    }

    /// Returns the state of the run, which this attempt reads and changes; without a run, that of the batch. The program
    /// carries it from one run of a session to the next: [`RunContext::state`], [`RunContext::with_state`].
    #[must_use]
    pub fn state(&self) -> &State {
        &self.attempted().state
    }

    /// Asks for `actions` beside the result, if the call succeeds. For a tool whose result is of any type; one that returns
    /// a [`ToolOutput`](crate::ToolOutput) can also use [`with_actions`](crate::ToolOutput::with_actions). What was asked for before is
    /// [kept](Actions::follow).
    ///
    /// # Errors
    ///
    /// If the attempt is over.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_core::{Actions, ToolContext, ToolError};
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
        match &mut *lock(&self.attempted().actions) {
            Some(asked) => asked.follow(actions),
            None => return Err(ToolError::failed("the call is over: nothing can be asked for")),
        }
        Ok(())
    }

    /// Returns what this attempt has asked for so far, with the changes of its [state](Self::state).
    #[must_use]
    pub fn actions(&self) -> Actions {
        let Some(attempted) = self.attempted.get() else { return Actions::default() };
        let mut actions = lock(&attempted.actions).clone().unwrap_or_default();
        patch::follow(&mut actions.state, attempted.state.changes());
        actions
    }

    /// The value that the program provided for `T`, which may be a trait object.
    #[must_use]
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self) -> Option<&T> {
        self.provided.get()
    }

    /// The value that the program provided for `T`.
    ///
    /// # Errors
    ///
    /// If there is none; the error names the type.
    pub fn require<T: ?Sized + Send + Sync + 'static>(&self) -> Result<&T, ToolError> {
        self.get().ok_or_else(|| {
            let message = format!("no value of type `{}` was provided", type_name::<T>());
            ToolError::new(ErrorKind::Unavailable, message).of_tool(self.tool.to_string())
        })
    }

    /// All that the program provided.
    #[must_use]
    pub fn provided(&self) -> &Arc<ProvidedValues> {
        &self.provided
    }
}

impl ToolContext {
    /// A copy, which is another attempt.
    fn copied(&self) -> Self {
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
            carried: self.carried.clone(),
            // Made now if need be: both must be cancelled together.
            shared: OnceLock::from(Arc::clone(self.shared())),
            above: self.above.clone(),
            state: self.state.clone(),
            attempted: OnceLock::new(),
        }
    }
}

impl Clone for ToolContext {
    fn clone(&self) -> Self {
        Self { attempted: OnceLock::from(Arc::clone(self.attempted())), ..self.copied() }
    }
}

/// No code of the user's runs under the lock.
fn lock(actions: &Mutex<Option<Actions>>) -> MutexGuard<'_, Option<Actions>> {
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
