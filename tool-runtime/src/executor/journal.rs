//! The journal of calls: an intent before a body with an effect runs, and the outcome of each call.
//!
//! The executor reports to the journal, and does not read it. After a crash, a call with an intent and without an outcome
//! may have taken effect; one without either has not started, or has no effect that a repetition would add to.

use std::{fmt, future::Future, sync::Arc};

use serde::{Deserialize, Serialize};
use tool_core::{Arguments, BoxFuture, CallAddress, ContentHash, ErrorKind, RunContext, ToolError};

use super::{
    attempts::{AttemptEnd, RunningCall},
    finish::CallFinisher,
    wave::CallEnd,
};
use crate::{
    CallOutcome, guard::GuardedArc, open_calls::AuthenticatedText, panics::run_in_call,
    policy::repeats_safely, registry::Entry,
};

/// Records the calls of an executor, so that a program that continues after a crash knows which calls may have taken
/// effect. Methods can be written as `async fn`. Default: none; see
/// [`ExecutorBuilder::journal`](super::ExecutorBuilder::journal).
///
/// For a call of a tool that is neither read-only nor idempotent, [`starting`](Self::starting) is called once, before
/// its body runs: after validation, hooks, permission, approval and limits, and not for further attempts. It is not
/// called for a call that was [open](crate::open_calls) and waited for a person: the consumed record is its intent,
/// under the same address. [`ended`](Self::ended) is called for each call of a batch.
///
/// A panic of the journal is an error of `starting`, and is logged by `ended`. A dropped batch reports no ends.
///
/// # Examples
///
/// ```
/// use std::sync::Mutex;
///
/// use tool_runtime::{
///     CallOutcome, Executor, RunContext, ToolCall, call::CallAddress,
///     executor::{CallIntent, CallJournal, SharedCallJournal},
///     prelude::*,
/// };
///
/// /// The calls that may have taken effect, and have no outcome.
/// #[derive(Default)]
/// struct Unfinished(Mutex<Vec<CallIntent>>);
///
/// impl CallJournal for Unfinished {
///     async fn starting(&self, intent: &CallIntent, _run: Option<&RunContext>) -> Result<(), ToolError> {
///         self.0.lock().map_err(|_| ToolError::failed("poisoned"))?.push(intent.clone());
///         Ok(())
///     }
///
///     async fn ended(&self, address: &CallAddress, _outcome: &CallOutcome, _run: Option<&RunContext>) {
///         if let Ok(mut unfinished) = self.0.lock() {
///             unfinished.retain(|intent| intent.address != *address);
///         }
///     }
/// }
///
/// /// Removes a file.
/// #[tool(destructive)]
/// fn remove(path: String) {}
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let tools = Registry::builder().tool::<remove>().build()?;
/// let executor = Executor::builder(tools).journal(SharedCallJournal::new(Unfinished::default())).build()?;
/// let outcomes = executor.run(vec![ToolCall::new("remove", json!({ "path": "a" }))]).await;
/// assert!(outcomes[0].is_finished());
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a journal of calls",
    note = "implement `CallJournal`"
)]
pub trait CallJournal: Send + Sync {
    /// Stores an intent. The body runs only after this returned. If the call is cancelled or its run has no time left
    /// meanwhile, the future is dropped, and the body does not run.
    ///
    /// # Errors
    ///
    /// Returns an error if the intent is not stored, or if this is not known; the body does not run, and the call is
    /// answered with an error. A [stop](ToolError::stop) also stops the run.
    fn starting(
        &self,
        intent: &CallIntent,
        run: Option<&RunContext>,
    ) -> impl Future<Output = Result<(), ToolError>> + Send;

    /// Stores the outcome of the call at `address`, as the batch returns it: after the `after` hooks. A call that is
    /// left to the caller, or continues after the batch, ends here as open, before the event that announces it.
    ///
    /// Called when the call is [finished](super::Finish): with `InOrder`, after the last body of its wave; with
    /// `AsCompleted`, as soon as its own body has ended, so that fewer outcomes are lost in a crash. Once the batch is
    /// cancelled or past its deadline, the future is dropped after the grace period.
    fn ended(
        &self,
        address: &CallAddress,
        outcome: &CallOutcome,
        run: Option<&RunContext>,
    ) -> impl Future<Output = ()> + Send;
}

/// The intent to run the body of a call. Contains no arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallIntent {
    /// The address of the call, with the id of its run.
    pub address: CallAddress,
    /// The name of the tool.
    pub tool: String,
    /// The [hash](tool_core::ToolDefinition::content_hash) of its definition.
    pub definition: ContentHash,
    /// The hash of the canonical arguments, under the [key of the
    /// program](super::ExecutorBuilder::program_key), so that short secrets cannot be guessed from it. Without that key,
    /// hashes of different executors differ.
    pub arguments: ContentHash,
}

/// A handle to a [`CallJournal`] of any type; clones share the journal.
#[derive(Clone)]
pub struct SharedCallJournal(GuardedArc<dyn ErasedCallJournal>);

/// The object-safe form of [`CallJournal`].
trait ErasedCallJournal: Send + Sync {
    fn starting<'a>(
        &'a self,
        intent: &'a CallIntent,
        run: Option<&'a RunContext>,
    ) -> BoxFuture<'a, Result<(), ToolError>>;
    fn ended<'a>(
        &'a self,
        address: &'a CallAddress,
        outcome: &'a CallOutcome,
        run: Option<&'a RunContext>,
    ) -> BoxFuture<'a, ()>;
}

impl<J: CallJournal> ErasedCallJournal for J {
    fn starting<'a>(
        &'a self,
        intent: &'a CallIntent,
        run: Option<&'a RunContext>,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(CallJournal::starting(self, intent, run))
    }

    fn ended<'a>(
        &'a self,
        address: &'a CallAddress,
        outcome: &'a CallOutcome,
        run: Option<&'a RunContext>,
    ) -> BoxFuture<'a, ()> {
        Box::pin(CallJournal::ended(self, address, outcome, run))
    }
}

impl SharedCallJournal {
    /// Creates a handle to `journal`.
    #[must_use]
    pub fn new(journal: impl CallJournal + 'static) -> Self {
        Self(GuardedArc::new(Arc::new(journal)))
    }

    /// Stores an intent, for a journal that adds to this one: see [`CallJournal::starting`].
    ///
    /// # Errors
    ///
    /// As [`CallJournal::starting`].
    pub async fn starting(&self, intent: &CallIntent, run: Option<&RunContext>) -> Result<(), ToolError> {
        self.0.starting(intent, run).await
    }

    /// Stores an outcome, for a journal that adds to this one: see [`CallJournal::ended`].
    pub async fn ended(&self, address: &CallAddress, outcome: &CallOutcome, run: Option<&RunContext>) {
        self.0.ended(address, outcome, run).await;
    }
}

impl<J: CallJournal + 'static> From<J> for SharedCallJournal {
    fn from(journal: J) -> Self {
        Self::new(journal)
    }
}

impl fmt::Debug for SharedCallJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedCallJournal")
    }
}

/// The component named in the report of a panic.
const JOURNAL_COMPONENT: &str = "the journal of calls";

impl<'a> RunningCall<'a> {
    /// Returns the journal that stores an intent before the body of the call runs, if there is one.
    pub(super) fn intent_journal(self, entry: &Entry) -> Option<&'a SharedCallJournal> {
        let journal = self.executor.settings.journal.as_ref()?;
        // The mark of a consumed record is the intent of a call that was open before.
        let needs_intent = self.request.confirmed.is_none() && !repeats_safely(entry.definition().metadata());
        needs_intent.then_some(journal)
    }

    /// Returns the intent to run the call with canonical `arguments`.
    pub(super) fn intent(self, entry: &Entry, arguments: &Arguments<'_>) -> CallIntent {
        let (address, definition) = (self.batch.address_of(&self.request), entry.definition());
        let hash =
            ContentHash::of_json(arguments.as_str()).unwrap_or_else(|| ContentHash::of(arguments.as_str()));
        let message = AuthenticatedText::new("tool-runtime call intent 1").with_hash(hash);
        CallIntent {
            tool: definition.name().as_str().to_owned(),
            definition: definition.content_hash(),
            arguments: self.executor.open.key().sign(&message),
            address,
        }
    }

    /// Stores the intent of a call; returns its end if it must not run.
    pub(super) async fn store_intent(
        self,
        journal: &SharedCallJournal,
        intent: CallIntent,
    ) -> Option<AttemptEnd> {
        let run = self.batch.run().map(AsRef::as_ref);
        let storing =
            run_in_call(&self.request.call.id, JOURNAL_COMPONENT, || journal.0.starting(&intent, run));
        match storing.await.and_then(|stored| stored) {
            // The call may have been stopped meanwhile.
            Ok(()) => self.end_if_stopped(),
            Err(error) if error.is_stop() => Some(AttemptEnd::CallEnded(Err(error))),
            Err(error) => {
                let message =
                    format!("the call was not started: its journal did not record it: {}", error.reason());
                // The message of a journal, which may include its location, is for logs only.
                let error = ToolError::new(ErrorKind::Unavailable, message).with_feedback(
                    "Tool unavailable: the call was not started, since it could not be recorded",
                );
                Some(AttemptEnd::CallEnded(Err(error)))
            }
        }
    }
}

impl CallFinisher<'_> {
    /// Returns `true` if a journal stores the outcome of the call.
    #[inline]
    pub(super) fn is_recorded(&self) -> bool {
        self.executor.settings.journal.is_some()
    }

    /// Finishes the call, whose end is `end`, and stores its outcome in the journal.
    pub(super) async fn finish_and_record(&self, end: CallEnd) -> CallOutcome {
        let outcome = self.finish_end(end).await;
        // An external call is recorded before its event.
        if !matches!(outcome, CallOutcome::External(..)) {
            self.record_outcome(&outcome).await;
        }
        outcome
    }

    /// Stores an outcome in the journal, if there is one.
    pub(super) async fn record_outcome(&self, outcome: &CallOutcome) {
        if let Some(journal) = &self.executor.settings.journal {
            Box::pin(self.store_outcome(journal, outcome)).await;
        }
    }

    async fn store_outcome(&self, journal: &SharedCallJournal, outcome: &CallOutcome) {
        let address = self.batch.address_of(self.request);
        let run = self.batch.run().map(AsRef::as_ref);
        let storing =
            run_in_call(&self.call.id, JOURNAL_COMPONENT, || journal.0.ended(&address, outcome, run));
        match self.batch.within_grace_period(storing).await {
            Some(Ok(())) => {}
            Some(Err(panic)) => {
                tracing::error!(call = %address, "the outcome is not recorded: {}", panic.reason())
            }
            None => tracing::error!(call = %address, "the outcome was not recorded within the grace period"),
        }
    }
}
