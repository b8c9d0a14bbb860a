//! Constructors of a context, for code that makes calls.

use std::{
    sync::{Arc, Mutex, OnceLock, atomic::Ordering},
    time::Instant,
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    Attempted, CallAddress, CallId, CallSink, Confirmation, ConfirmationAnswer, ProvidedValues, RunContext,
    Shared, ToolContext, lock,
};
use crate::{Actions, Resource, State, ToolError, ToolName, ToolOutput, state::patch};

impl ToolContext {
    /// The context of a call of `tool`, with `provided` values and a new id.
    #[must_use]
    #[inline]
    pub fn new(tool: ToolName, provided: Arc<ProvidedValues>) -> Self {
        Self::with_id(tool, provided, CallId::generate(), 0, None)
    }

    /// The context of the call `id` of `tool`, which arrived as number `serial`, under a token whose cancellation
    /// reaches it.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn of_call(
        tool: ToolName,
        provided: Arc<ProvidedValues>,
        (id, serial): (CallId, u64),
        above: CancellationToken,
    ) -> Self {
        Self::with_id(tool, provided, id, serial, Some(above))
    }

    #[inline]
    fn with_id(
        tool: ToolName,
        provided: Arc<ProvidedValues>,
        call_id: CallId,
        serial: u64,
        above: Option<CancellationToken>,
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
            carried: None,
            shared: OnceLock::new(),
            above,
            state: None,
            attempted: OnceLock::new(),
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        self.shared.get_or_init(Arc::default)
    }

    /// The token, which this does not count as asked for.
    pub(super) fn token(&self) -> &CancellationToken {
        let above =
            || self.above.as_ref().map_or_else(CancellationToken::new, CancellationToken::child_token);
        self.shared().cancellation.get_or_init(above)
    }

    /// The token, where there is one of this call alone.
    #[doc(hidden)]
    #[must_use]
    pub fn asked_cancellation(&self) -> Option<&CancellationToken> {
        self.shared.get()?.cancellation.get()
    }

    /// As [`is_cancelled`](Self::is_cancelled), for whoever runs the call.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn should_stop(&self) -> bool {
        self.asked_cancellation().or(self.above.as_ref()).is_some_and(CancellationToken::is_cancelled)
    }

    /// Cancels the call, or the attempt.
    #[doc(hidden)]
    pub fn cancel(&self) {
        self.token().cancel();
    }

    /// Forgets that the token was asked for: no body runs that did.
    #[doc(hidden)]
    pub fn forget_asked(&self) {
        if let Some(shared) = self.shared.get() {
            shared.asked.store(false, Ordering::Relaxed);
        }
    }

    /// Whether the body has a grace period: it asked for its token, and has given no stream.
    #[doc(hidden)]
    #[must_use]
    pub fn wants_grace(&self) -> bool {
        self.shared.get().is_some_and(|shared| shared.asked.load(Ordering::Relaxed)) && !self.has_streamed()
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
        let mut provided = ProvidedValues::over(Arc::clone(&self.provided));
        provided.insert(value);
        self.provided = Arc::new(provided);
    }

    /// As [`with_confirmation_of`](Self::with_confirmation_of), in place.
    #[doc(hidden)]
    pub fn confirm(&mut self, hint: &str, payload: &Value, answer: ConfirmationAnswer) {
        let question = Some((hint.to_owned(), payload.clone()));
        self.carried.get_or_insert_default().confirmations.push(Confirmation { question, answer });
    }

    /// As [`with_approval`](Self::with_approval), in place.
    #[doc(hidden)]
    pub fn approve(&mut self, answer: ConfirmationAnswer) {
        self.carried.get_or_insert_default().approval = Some(answer);
    }

    /// Sets the address of a call that was open: it arrived before, and perhaps in another run.
    #[doc(hidden)]
    pub fn arrived_at(&mut self, address: CallAddress) {
        self.carried.get_or_insert_default().address = Some(address);
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
            shared: OnceLock::from(Arc::new(Shared {
                call: Some(Arc::clone(self.shared())),
                ..Shared::default()
            })),
            above: Some(self.token().clone()),
            ..self.copied()
        }
    }

    pub(super) fn attempted(&self) -> &Arc<Attempted> {
        self.attempted.get_or_init(|| {
            let before = self.state.clone().or_else(|| Some(self.run.as_ref()?.state()));
            let state = before.map(State::new).unwrap_or_default();
            Arc::new(Attempted { state, actions: Mutex::new(Some(Actions::default())) })
        })
    }

    /// Ends the attempt, which gave `result`: what it asked for is part of its output, unless it failed. What the
    /// output itself asks for comes later.
    #[doc(hidden)]
    pub fn conclude(&self, result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
        let Some(attempted) = self.attempted.get() else { return result };
        let changes = attempted.state.close();
        let asked = lock(&attempted.actions).take();
        let mut output = result?;
        if let Some(mut actions) = asked.filter(|_| !output.is_failure()) {
            patch::follow(&mut actions.state, changes);
            if let Some(own) = output.actions() {
                actions.follow(own.clone());
            }
            if actions != Actions::default() {
                output = output.with_actions(actions);
            }
        }
        Ok(output)
    }

    /// Sets the state that the call reads, in place of that of its run.
    #[must_use]
    pub fn with_state(mut self, state: impl Into<Arc<Map<String, Value>>>) -> Self {
        self.state = Some(state.into());
        self.attempted = OnceLock::new();
        self
    }

    /// Says that the tool gives a stream, which has begun.
    pub(crate) fn begin_stream(&self) {
        self.shared().set(|shared| &shared.streams);
    }

    /// Whether a stream has begun, whose items may have been shown.
    #[doc(hidden)]
    #[must_use]
    pub fn has_streamed(&self) -> bool {
        self.shared.get().is_some_and(|shared| shared.streams.load(Ordering::Relaxed))
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

    /// Sets the answer to a question of the tool's own body: the last one, with any hint and payload.
    #[must_use]
    pub fn with_confirmation(mut self, answer: ConfirmationAnswer) -> Self {
        let confirmation = Confirmation { question: None, answer };
        self.carried.get_or_insert_default().confirmations.push(confirmation);
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
        let shared = Shared { cancellation: OnceLock::from(token), ..Shared::default() };
        self.shared = OnceLock::from(Arc::new(shared));
        self
    }
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
        attempt.begin_stream();
        assert!(attempt.has_streamed() && call.has_streamed() && !other.has_streamed());
        assert!(!attempt.wants_grace() && !call.wants_grace());
    }
}
