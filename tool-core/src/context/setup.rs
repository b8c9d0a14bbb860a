//! Making a context: for whoever makes calls.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{CallId, CallSink, ConfirmationAnswer, Provided, RunContext, ToolContext};
use crate::{Resource, ToolName};

impl ToolContext {
    /// The context of a call of `tool`, with `provided` values and a new id.
    #[must_use]
    #[inline]
    pub fn new(tool: ToolName, provided: Arc<Provided>) -> Self {
        Self::with_id(tool, provided, CallId::generate(), None)
    }

    /// The context of the call `id` of `tool`, under a token whose cancellation reaches it.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn of_call(tool: ToolName, provided: Arc<Provided>, id: CallId, above: CancellationToken) -> Self {
        Self::with_id(tool, provided, id, Some(above))
    }

    #[inline]
    fn with_id(
        tool: ToolName,
        provided: Arc<Provided>,
        call_id: CallId,
        above: Option<CancellationToken>,
    ) -> Self {
        Self {
            tool,
            call_id,
            attempt: 1,
            deadline: OnceLock::new(),
            provided,
            sink: None,
            run: None,
            carried: None,
            cancellation: OnceLock::new(),
            above,
            streams: OnceLock::new(),
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
        self.provide(value);
        self
    }

    /// As [`with_shared`](Self::with_shared), in place.
    pub fn provide<T: ?Sized + Send + Sync + 'static>(&mut self, value: Arc<T>) {
        let mut provided = Provided::over(Arc::clone(&self.provided));
        provided.insert(value);
        self.provided = Arc::new(provided);
    }

    /// As [`with_confirmation`](Self::with_confirmation), in place.
    #[doc(hidden)]
    pub fn confirm(&mut self, answer: ConfirmationAnswer) {
        self.carried.get_or_insert_default().confirmation = Some(answer);
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
        self.deadline = OnceLock::from(deadline);
        self
    }

    /// Sets when the attempt must have ended, now that it begins; what was set before stays.
    #[doc(hidden)]
    pub fn begin(&self, deadline: Instant) {
        self.deadline.get_or_init(|| deadline);
    }

    /// The context of attempt `number` of the same call: with a token of its own under the call's, and no
    /// deadline yet.
    #[doc(hidden)]
    #[must_use]
    pub fn of_attempt(&self, number: u32) -> Self {
        Self {
            attempt: number,
            deadline: OnceLock::new(),
            cancellation: OnceLock::new(),
            above: Some(self.cancellation().clone()),
            streams: OnceLock::new(),
            ..self.clone()
        }
    }

    /// Says that the tool gives a stream, which has begun.
    pub(crate) fn begin_stream(&self) {
        self.streams.get_or_init(|| ());
    }

    /// Whether a stream has begun, whose items may have been shown.
    #[doc(hidden)]
    #[must_use]
    pub fn has_streamed(&self) -> bool {
        self.streams.get().is_some()
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
        self.carried.get_or_insert_default().meta = Some(meta);
        self
    }

    /// Sets the documents that the caller sent along with the call.
    #[must_use]
    pub fn with_resources(mut self, resources: Vec<Resource>) -> Self {
        self.carried.get_or_insert_default().resources = resources;
        self
    }

    /// Sets what a person said to this call.
    #[must_use]
    pub fn with_confirmation(mut self, answer: ConfirmationAnswer) -> Self {
        self.confirm(answer);
        self
    }

    /// Sets the run that the call belongs to. Its token is above the call's, and what it provides
    /// comes before what the program does.
    #[must_use]
    pub fn with_run(mut self, run: Arc<RunContext>) -> Self {
        if !run.provided().is_empty() {
            self.provided = Arc::new(run.provided().on(self.provided));
        }
        self.above.get_or_insert_with(|| run.cancellation().clone());
        self.run = Some(run);
        self
    }

    /// Sets a token whose cancellation reaches this call, and which this call's own does not reach.
    #[must_use]
    pub fn under(mut self, token: CancellationToken) -> Self {
        self.above = Some(token);
        self
    }

    /// Sets the token that is cancelled when the call should stop: usually a child of the run's.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = OnceLock::from(token);
        self
    }
}
