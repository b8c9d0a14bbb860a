//! What a tool may know of the call it answers.
//!
//! A context is for the environment; what the model chose is in the arguments, and neither leaks
//! into the other. It grows by accessors, so that a tool written today compiles tomorrow. What a
//! call may not need (a cancellation token, the text of a generated id) is made when it is asked for.

mod ambient;
mod call_id;
mod provided;

use std::{
    any::type_name,
    fmt,
    sync::{Arc, OnceLock},
    time::Instant,
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

#[doc(hidden)]
pub use self::ambient::within_call;
pub use self::{
    ambient::WithCallId,
    call_id::CallId,
    provided::{Needed, Provided},
};
use crate::{ErrorKind, ToolError, ToolName, ToolOutput, tool::Running};

/// Takes what a running call reports.
///
/// Both methods do nothing by default: a tool reports whether or not somebody listens.
pub trait CallSink: Send + Sync {
    /// Takes a partial result. The future ends when there is room for the next one.
    fn update(&self, update: ToolOutput) -> Running<'_, ()> {
        drop(update);
        Box::pin(std::future::ready(()))
    }

    /// Takes a note on how far the call is.
    ///
    /// # Errors
    ///
    /// If the note could not be delivered.
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        drop(progress);
        Ok(())
    }
}

/// How far a call is.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// What is done, in units of the tool's choice.
    pub done: f64,
    /// What there is to do in all, where it is known.
    pub total: Option<f64>,
    /// A word for people.
    pub message: Option<String>,
}

impl Progress {
    /// `done` units, of an unknown number.
    #[must_use]
    pub fn new(done: f64) -> Self {
        Self { done, ..Self::default() }
    }

    /// Of `total` in all.
    #[must_use]
    pub fn of(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// With a word for people.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}

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
    attempt: u32,
    deadline: Option<Instant>,
    provided: Arc<Provided>,
    sink: Option<Arc<dyn CallSink>>,
    meta: Option<Arc<Map<String, Value>>>,
    // Behind a lock that is set once: most tools never ask for it.
    cancellation: OnceLock<CancellationToken>,
}

impl ToolContext {
    /// The context of a call of `tool`, with `provided` values and a new id.
    #[must_use]
    #[inline]
    pub fn new(tool: ToolName, provided: Arc<Provided>) -> Self {
        Self {
            tool,
            call_id: CallId::generate(),
            attempt: 1,
            deadline: None,
            provided,
            sink: None,
            meta: None,
            cancellation: OnceLock::new(),
        }
    }

    /// A context for a unit test: a tool named `test`, nothing provided, nobody listening.
    #[must_use]
    pub fn for_test() -> Self {
        #[expect(clippy::expect_used, reason = "a literal that is a valid name")]
        let name = ToolName::new("test").expect("`test` is a valid name");
        Self::new(name, Arc::default())
    }

    /// Gives the tool `value` for every parameter of type `&T`; a value given before stays reachable
    /// for other contexts only.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.with_shared(Arc::new(value))
    }

    /// Gives the tool `value` for every parameter of type `&T`, where `T` may be a trait object.
    #[must_use]
    pub fn with_shared<T: ?Sized + Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        let mut provided = Provided::over(self.provided);
        provided.insert(value);
        self.provided = Arc::new(provided);
        self
    }

    /// Sets the id that the model gave the call.
    #[must_use]
    pub fn with_call_id(mut self, id: impl Into<CallId>) -> Self {
        self.call_id = id.into();
        self
    }

    /// Sets which attempt this is, from 1.
    #[must_use]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    /// Sets when the attempt must have ended.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets who hears of updates and progress.
    #[must_use]
    pub fn with_sink(mut self, sink: Arc<dyn CallSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Sets what the caller sent along with the call, outside the arguments.
    #[must_use]
    pub fn with_meta(mut self, meta: Map<String, Value>) -> Self {
        self.meta = Some(Arc::new(meta));
        self
    }

    /// Sets the token that is cancelled when the call should stop: usually a child of the run's.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = OnceLock::from(token);
        self
    }

    /// The name of the tool that was called.
    #[must_use]
    pub fn tool_name(&self) -> &ToolName {
        &self.tool
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

    /// When the attempt must have ended.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The token that is cancelled when the call should stop.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        self.cancellation.get_or_init(CancellationToken::new)
    }

    /// Whether the call should stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.get().is_some_and(CancellationToken::is_cancelled)
    }

    /// What the caller sent along with the call, outside the arguments.
    #[must_use]
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.meta.as_deref()
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
    pub fn provided(&self) -> &Arc<Provided> {
        &self.provided
    }

    /// Reports a partial result, for those who watch and never for the model; waits until there is
    /// room for it. Does nothing where nobody listens.
    pub async fn update(&self, update: impl Into<ToolOutput>) {
        if let Some(sink) = &self.sink {
            sink.update(update.into()).await;
        }
    }

    /// Whether somebody listens to updates.
    #[must_use]
    pub fn has_sink(&self) -> bool {
        self.sink.is_some()
    }

    /// Reports how far the call is. Does nothing where nobody listens.
    ///
    /// # Errors
    ///
    /// If somebody listens and could not be told.
    pub fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        self.sink.as_ref().map_or(Ok(()), |sink| sink.progress(progress))
    }
}

impl Clone for ToolContext {
    fn clone(&self) -> Self {
        Self {
            tool: self.tool.clone(),
            call_id: self.call_id.clone(),
            attempt: self.attempt,
            deadline: self.deadline,
            provided: Arc::clone(&self.provided),
            sink: self.sink.clone(),
            meta: self.meta.clone(),
            // Made now if need be: both must be cancelled together.
            cancellation: OnceLock::from(self.cancellation().clone()),
        }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("tool", &self.tool)
            .field("call_id", &self.call_id)
            .field("attempt", &self.attempt)
            .field("deadline", &self.deadline)
            .field("cancelled", &self.is_cancelled())
            .field("sink", &self.sink.as_ref().map(|_| "..."))
            .finish_non_exhaustive()
    }
}
