//! Constructors of contexts, for code that makes calls.

use std::{
    sync::{Arc, Mutex, OnceLock, atomic::Ordering},
    time::Instant,
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    AttemptState, CallAddress, CallId, CallSink, Confirmation, ConfirmationAnswer, ProvidedValues,
    RunContext, Shared, ToolContext, lock_actions,
};
use crate::{Actions, Resource, State, ToolError, ToolName, ToolOutput, state::patch};

impl ToolContext {
    /// Creates the context of a call of `tool` with `provided` values and a generated id.
    #[must_use]
    #[inline]
    pub fn new(tool: ToolName, provided: Arc<ProvidedValues>) -> Self {
        Self::with_id(tool, provided, CallId::generate(), 0, None)
    }

    /// Creates the context of the call `id` of `tool`, which arrived at position `serial`; its token is a child of
    /// the given one.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn of_call(
        tool: ToolName,
        provided: Arc<ProvidedValues>,
        (id, serial): (CallId, u64),
        above: Arc<CancellationToken>,
    ) -> Self {
        Self::with_id(tool, provided, id, serial, Some(above))
    }

    #[inline]
    fn with_id(
        tool: ToolName,
        provided: Arc<ProvidedValues>,
        call_id: CallId,
        serial: u64,
        above: Option<Arc<CancellationToken>>,
    ) -> Self {
        Self {
            tool,
            call_id,
            serial,
            attempt: 1,
            may_block: false,
            deadline: OnceLock::new(),
            provided,
            sink: None,
            run: None,
            rare: None,
            shared: OnceLock::new(),
            above,
            state: None,
            attempted: OnceLock::new(),
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        self.shared.get_or_init(Arc::default)
    }

    /// Returns the token without marking it as requested by the body.
    pub(super) fn token(&self) -> &CancellationToken {
        let above = || self.above.as_ref().map_or_else(CancellationToken::new, |above| above.child_token());
        self.shared().cancellation.get_or_init(above)
    }

    /// Returns the token of this call if the body or the caller created one.
    #[doc(hidden)]
    #[must_use]
    pub fn asked_cancellation(&self) -> Option<&CancellationToken> {
        self.shared.get()?.cancellation.get()
    }

    /// Returns `true` if the call should stop, like [`is_cancelled`](Self::is_cancelled) but without granting a grace
    /// period; for code that runs calls.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn should_stop(&self) -> bool {
        self.asked_cancellation().or(self.above.as_deref()).is_some_and(CancellationToken::is_cancelled)
    }

    /// Cancels the call or the attempt.
    #[doc(hidden)]
    pub fn cancel(&self) {
        self.token().cancel();
    }

    /// Clears the mark of the token as requested, since the body that requested it has ended.
    #[doc(hidden)]
    pub fn forget_asked(&self) {
        if let Some(shared) = self.shared.get() {
            shared.token_requested.store(false, Ordering::Relaxed);
        }
    }

    /// Returns `true` if the body has a grace period: it asked for its token and has not returned a stream.
    #[doc(hidden)]
    #[must_use]
    pub fn wants_grace(&self) -> bool {
        self.shared.get().is_some_and(|shared| shared.token_requested.load(Ordering::Relaxed))
            && !self.has_streamed()
    }

    /// Creates a context for a unit test: a tool named `test`, no provided values, no listener.
    #[must_use]
    pub fn for_test() -> Self {
        #[expect(clippy::expect_used, reason = "a literal that is a valid name")]
        let name = ToolName::new("test").expect("`test` is a valid name");
        Self::new(name, Arc::default())
    }

    /// Provides `value` to the tool for every parameter of type `&T`. A previous value stays visible to other
    /// contexts only.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.with_shared(Arc::new(value))
    }

    /// Provides a shared `value` to the tool for every parameter of type `&T`; `T` may be a trait object.
    #[must_use]
    pub fn with_shared<T: ?Sized + Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.provide(value);
        self
    }

    /// Provides a value like [`with_shared`](Self::with_shared), in place.
    pub fn provide<T: ?Sized + Send + Sync + 'static>(&mut self, value: Arc<T>) {
        let mut provided = ProvidedValues::over(Arc::clone(&self.provided));
        provided.insert(value);
        self.provided = Arc::new(provided);
    }

    /// Adds an answer like [`with_confirmation_of`](Self::with_confirmation_of), in place.
    #[doc(hidden)]
    pub fn confirm(&mut self, hint: &str, payload: &Value, answer: ConfirmationAnswer) {
        let question = Some((hint.to_owned(), payload.clone()));
        self.rare.get_or_insert_default().confirmations.push(Confirmation { question, answer });
    }

    /// Sets the answer like [`with_approval`](Self::with_approval), in place.
    #[doc(hidden)]
    pub fn approve(&mut self, answer: ConfirmationAnswer) {
        self.rare.get_or_insert_default().approval = Some(answer);
    }

    /// Sets the address of a call that was open: it arrived earlier, and possibly in another run.
    #[doc(hidden)]
    pub fn arrived_at(&mut self, address: CallAddress) {
        self.rare.get_or_insert_default().address = Some(address);
    }

    /// Sets the id that the model gave the call.
    #[must_use]
    pub fn with_call_id(mut self, id: impl Into<CallId>) -> Self {
        self.call_id = id.into();
        self
    }

    /// Sets the number of the attempt, from 1.
    #[must_use]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    /// Sets the deadline of the attempt.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = OnceLock::from(deadline);
        self
    }

    /// Sets the deadline of the attempt at its start, unless it is set already.
    #[doc(hidden)]
    pub fn begin(&self, deadline: Instant) {
        self.deadline.get_or_init(|| deadline);
    }

    /// Creates the context of attempt `number` of the same call, with a child token and without a deadline.
    #[doc(hidden)]
    #[must_use]
    pub fn of_attempt(&self, number: u32) -> Self {
        Self {
            attempt: number,
            deadline: OnceLock::new(),
            shared: OnceLock::from(Arc::new(Shared {
                call: Some(Arc::clone(self.shared())),
                ..Shared::default()
            })),
            above: Some(Arc::new(self.token().clone())),
            ..self.copy_for_attempt()
        }
    }

    pub(super) fn attempt_state(&self) -> &Arc<AttemptState> {
        self.attempted.get_or_init(|| {
            let before = self.state.clone().or_else(|| Some(self.run.as_ref()?.state()));
            let state = before.map(State::new).unwrap_or_default();
            Arc::new(AttemptState { state, actions: Mutex::new(Some(Actions::default())) })
        })
    }

    /// Ends the attempt with `result`: the requested actions are added to its output unless it failed. Actions of the
    /// output itself are applied last.
    #[doc(hidden)]
    #[inline]
    pub fn conclude(&self, result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
        match self.attempted.get() {
            None => result,
            Some(attempted) => with_requested_actions(attempted, result),
        }
    }

    /// Sets the state that the call reads. Default: the state of its run.
    #[must_use]
    pub fn with_state(mut self, state: impl Into<Arc<Map<String, Value>>>) -> Self {
        self.set_state(state.into());
        self
    }

    /// Sets the state like [`with_state`](Self::with_state), in place.
    #[doc(hidden)]
    pub fn set_state(&mut self, state: Arc<Map<String, Value>>) {
        self.state = Some(state);
        self.attempted = OnceLock::new();
    }

    /// Marks the call as streaming.
    pub(crate) fn mark_as_streaming(&self) {
        self.shared().set_flag(|shared| &shared.streams);
    }

    /// Returns `true` if a stream has begun, whose items may have been shown.
    #[doc(hidden)]
    #[must_use]
    pub fn has_streamed(&self) -> bool {
        self.shared.get().is_some_and(|shared| shared.streams.load(Ordering::Relaxed))
    }

    /// Sets the sink of updates and progress.
    #[must_use]
    pub fn with_sink(mut self, sink: Arc<dyn CallSink>) -> Self {
        self.set_sink(sink);
        self
    }

    /// Returns the sink of updates and progress.
    #[doc(hidden)]
    #[must_use]
    pub fn sink(&self) -> Option<&Arc<dyn CallSink>> {
        self.sink.as_ref()
    }

    /// Sets the receiver like [`with_sink`](Self::with_sink), in place.
    #[doc(hidden)]
    pub fn set_sink(&mut self, sink: Arc<dyn CallSink>) {
        self.sink = Some(sink);
    }

    /// Sets the metadata that the caller sent with the call, outside the arguments.
    #[must_use]
    pub fn with_meta(mut self, meta: Map<String, Value>) -> Self {
        self.rare.get_or_insert_default().meta = Some(meta);
        self
    }

    /// Sets the documents that the caller sent with the call.
    #[must_use]
    pub fn with_resources(mut self, resources: Vec<Resource>) -> Self {
        self.rare.get_or_insert_default().resources = resources;
        self
    }

    /// Sets the answer to the last question of the tool's own body, with any hint and payload.
    #[must_use]
    pub fn with_confirmation(mut self, answer: ConfirmationAnswer) -> Self {
        let confirmation = Confirmation { question: None, answer };
        self.rare.get_or_insert_default().confirmations.push(confirmation);
        self
    }

    /// Sets the answer to the question of the tool's own body that has this `hint` and `payload`.
    #[must_use]
    pub fn with_confirmation_of(
        mut self,
        hint: impl AsRef<str>,
        payload: Value,
        answer: ConfirmationAnswer,
    ) -> Self {
        self.confirm(hint.as_ref(), &payload, answer);
        self
    }

    /// Sets the answer to the generic question before the call.
    #[must_use]
    pub fn with_approval(mut self, answer: ConfirmationAnswer) -> Self {
        self.approve(answer);
        self
    }

    /// Sets the run that the call belongs to. The call's token becomes a child of the run's, and values of the run
    /// override those of the program.
    #[must_use]
    pub fn with_run(mut self, run: Arc<RunContext>) -> Self {
        self.set_run(run);
        self
    }

    /// Sets what accompanies the call like [`with_meta`](Self::with_meta) and
    /// [`with_resources`](Self::with_resources), in place.
    #[doc(hidden)]
    pub fn set_request_parts(&mut self, meta: Option<Map<String, Value>>, resources: Vec<Resource>) {
        let rare = self.rare.get_or_insert_default();
        (rare.meta, rare.resources) = (meta, resources);
    }

    /// Sets the run like [`with_run`](Self::with_run), in place.
    #[doc(hidden)]
    pub fn set_run(&mut self, run: Arc<RunContext>) {
        if !run.provided().is_empty() {
            self.provided = Arc::new(run.provided().on(Arc::clone(&self.provided)));
        }
        self.above.get_or_insert_with(|| Arc::new(run.cancellation().clone()));
        self.run = Some(run);
    }

    /// Sets the parent of the call's token.
    #[must_use]
    pub fn under(mut self, token: CancellationToken) -> Self {
        self.above = Some(Arc::new(token));
        self
    }

    /// Sets the token that is cancelled when the call should stop, usually a child of the run's.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        let shared = Shared { cancellation: OnceLock::from(token), ..Shared::default() };
        self.shared = OnceLock::from(Arc::new(shared));
        self
    }
}

/// Adds the actions that an attempt requested to its output.
#[inline(never)]
fn with_requested_actions(
    attempted: &AttemptState,
    result: Result<ToolOutput, ToolError>,
) -> Result<ToolOutput, ToolError> {
    let changes = attempted.state.close();
    let requested = lock_actions(&attempted.actions).take();
    let mut output = result?;
    if let Some(mut actions) = requested.filter(|_| !output.is_failure()) {
        patch::extend_patch(&mut actions.state, changes);
        if let Some(own) = output.actions() {
            actions.follow(own.clone());
        }
        if !actions.is_empty() {
            output = output.with_actions(actions);
        }
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::ToolContext;

    #[test]
    fn a_body_that_has_given_a_stream_has_no_grace_period_and_its_call_has_streamed() {
        let call = ToolContext::for_test();
        let (attempt, other) = (call.of_attempt(1), call.of_attempt(2));
        let _ = attempt.cancellation();
        assert!(attempt.wants_grace() && !attempt.has_streamed() && !call.has_streamed());
        attempt.mark_as_streaming();
        assert!(attempt.has_streamed() && call.has_streamed() && !other.has_streamed());
        assert!(!attempt.wants_grace() && !call.wants_grace());
    }
}
