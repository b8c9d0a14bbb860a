//! The steps of a call that another process judges and owns, before it is judged: the other side of `remote`.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tool_core::{
    Arguments, Confirmation, Prepared, Redirection, RunContext, ToolContext, ToolError,
    internals::{RemotePreparation, within_call},
};

use super::{
    Executor,
    event_sink::EventSink,
    plan::CallPlan,
    prepare::CallRequest,
    questions::undecided_check_error,
    remote::{ask_for_redirection, prepare_remotely},
    state::{BatchState, CallState},
};
use crate::{ToolCall, panics::catch_result, registry::Entry};

/// For another process, which stands for a tool of this executor.
#[doc(hidden)]
impl Executor {
    /// Prepares `call` without running or judging it: applies the tool's `prepare` function, and answers its checks. Neither rules nor hooks of
    /// this executor see it; they see the call when it runs.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tool, if its `prepare` function fails, or if its type rejects valid arguments.
    pub async fn prepare_for_peer(
        &self,
        call: &ToolCall,
        run: RunContext,
    ) -> Result<RemotePreparation, ToolError> {
        let executor = &self.inner;
        let entry = executor.tools.entry_or_error(&call.name)?;
        let run = Arc::new(run);
        let token = run.cancellation().child_token();
        let events = EventSink::new(None, executor, Some(&run));
        let batch = BatchState::new(events, Some(run), token, executor.settings.grace_period);
        batch.begin_wave();
        let request =
            CallRequest { call, entry: Some(entry), serial: 0, confirmed: None, plan: CallPlan::default() };
        let mut state = CallState::default();
        batch.begin_call(executor, entry, &request, &mut state);
        let Some(cx) = &state.cx else { return Err(ToolError::cancelled()) };
        if entry.is_prepared_remotely() {
            let prepared = prepare_remotely(entry, call.arguments.as_borrowed(), cx, &batch).await?;
            let text = prepared.arguments().as_str().to_owned();
            let rewritten = entry.steps().prepares_arguments.then(|| text.clone());
            return Ok(with_answers(
                entry,
                &prepared,
                cx,
                RemotePreparation {
                    arguments: rewritten,
                    canonical: Some(text),
                    ..RemotePreparation::default()
                },
            ));
        }
        let rewritten = entry.rewritten_arguments(&call.arguments)?;
        let text = rewritten.as_deref().unwrap_or(call.arguments.as_str());
        let Ok(canonical) = entry.canonical_arguments(Arguments::from(text)) else {
            // The owner of the call validates it, perhaps with more leniency.
            return Ok(RemotePreparation { arguments: rewritten, ..RemotePreparation::default() });
        };
        let text = canonical.as_str().to_owned();
        let prepared = entry.prepare_from_canonical(canonical);
        // As in this process: values that the schema accepts and the type rejects are reported as received.
        let prepared =
            prepared.or_else(|error| entry.prepare(call.arguments.as_borrowed()).and(Err(error)))?;
        let preparation =
            RemotePreparation { canonical: Some(text), arguments: None, ..RemotePreparation::default() };
        let preparation = with_answers(entry, &prepared, cx, preparation);
        drop(prepared);
        Ok(RemotePreparation { arguments: rewritten, ..preparation })
    }

    /// Returns the call for which `call` stands.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tool, or if its call stands for none.
    pub async fn redirect_for_peer(&self, call: &ToolCall) -> Result<Redirection, ToolError> {
        let entry = self.inner.tools.entry_or_error(&call.name)?;
        let events = EventSink::new(None, &self.inner, None);
        let (token, grace) = (CancellationToken::new(), self.inner.settings.grace_period);
        let batch = BatchState::new(events, None, token, grace);
        match ask_for_redirection(&self.inner, call, &batch).await {
            Some(asked) => asked.map_err(|refused| refused.error),
            None => entry.redirection(call.arguments.as_borrowed()),
        }
    }
}

/// Adds the answers of the checks that the tool claims.
fn with_answers(
    entry: &Entry,
    prepared: &Prepared<'_>,
    cx: &ToolContext,
    preparation: RemotePreparation,
) -> RemotePreparation {
    let metadata = entry.definition().metadata();
    let permission = || {
        let answer = catch_result(|| within_call(cx.call_id().clone(), || prepared.permission(cx)))?;
        answer.ok_or_else(|| undecided_check_error("permission"))
    };
    let confirmation = || {
        let answer = catch_result(|| within_call(cx.call_id().clone(), || prepared.wants_confirmation(cx)))?;
        answer.ok_or_else(|| undecided_check_error("confirmation"))
    };
    RemotePreparation {
        permission: metadata.permission.then(permission),
        confirmation: (metadata.confirmation == Confirmation::Sometimes).then(confirmation),
        ..preparation
    }
}
