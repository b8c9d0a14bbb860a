//! The first step of a call: from the request of a model to a call that is ready to run, or to its answer.

mod permission;

use std::sync::Arc;

use tool_core::{Arguments, ErrorKind, Permission, Prepared, Retry, ToolContext, ToolError, ToolOutput};

use super::{
    ExecutorParts,
    admission::{admit_call, denial_by_name, step_without_hooks},
    boxed::boxed,
    event_sink::HOOK_COMPONENT,
    open::Confirmed,
    plan::CallPlan,
    questions::QuestionAnswers,
    remote::prepare_remotely,
    state::{BatchState, CallState},
    stop::StopReason,
};
use crate::{
    ToolCall,
    hook::{Before, BeforeCall},
    panics::{GuardedCall, run_in_call},
    policy::ApprovalRequest,
    registry::Entry,
};

/// A call, and its tool if there is one.
#[derive(Clone, Copy)]
pub(super) struct CallRequest<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) entry: Option<&'a Entry>,
    /// The serial number of the call in the order of arrival.
    pub(super) serial: u64,
    /// The answer of a person, if the call was open before.
    pub(super) confirmed: Option<&'a Confirmed>,
    /// The components that take part in the call.
    pub(super) plan: CallPlan,
}

impl CallRequest<'_> {
    /// Returns the name of the called tool, which the results of a known tool share.
    pub(super) fn name(&self) -> Arc<str> {
        self.entry.map_or_else(|| self.call.name.as_str().into(), |entry| Arc::clone(entry.shared_name()))
    }
}

/// The next step of a call.
pub(super) enum NextStep<'a> {
    /// The call is left to the caller.
    External,
    /// The call is not admitted.
    NotAdmitted(ToolError),
    /// The call is answered already.
    Answered(EarlyAnswer),
    /// The call requires an approval.
    NeedsApproval(Box<ApprovalRequest>),
    /// The call is run.
    Ready(Box<ReadyCall<'a>>),
    /// The call is run as it is: the future of its body.
    Plain(PlainBody<'a>),
}

/// The body of a plain call, inside the panic barrier.
pub(super) type PlainBody<'a> = GuardedCall<'a, ToolOutput>;

/// An answer without a run.
pub(super) struct EarlyAnswer {
    pub(super) outcome: Result<ToolOutput, ToolError>,
    pub(super) answered_by: AnswerSource,
}

/// The origin of an answer, which decides which hooks see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerSource {
    /// The tool, which was run.
    Tool,
    /// The check of the name or of the arguments.
    Check,
    /// A hook, in place of the tool.
    Hook,
    /// A permission or a person.
    Permission,
    /// The executor, without any of these.
    Executor,
}

/// A valid call that may run.
pub(super) struct ReadyCall<'a> {
    pub(super) entry: &'a Entry,
    pub(super) prepared: Prepared<'a>,
    /// The canonical text from which the call was prepared, if it may be needed again.
    pub(super) source: Option<Arguments<'a>>,
    pub(super) retry: Option<Retry>,
}

impl<'a> NextStep<'a> {
    pub(super) fn answered_early(answered_by: AnswerSource, outcome: Result<ToolOutput, ToolError>) -> Self {
        Self::Answered(EarlyAnswer { outcome, answered_by })
    }

    fn stopped(stop: StopReason) -> Self {
        Self::answered_early(AnswerSource::Executor, Err(stop.error()))
    }

    /// Returns the step of a call whose work has begun: an answer in place of its result says that the work may have taken effect.
    fn of_begun_work(self) -> Self {
        let interrupted = |reason: &str| {
            ToolError::failed(format!("the call was interrupted, and may have taken effect ({reason})"))
        };
        match self {
            // It has no events, as any call that is not admitted.
            Self::NotAdmitted(error) if !error.is_stop() => {
                Self::NotAdmitted(interrupted(&error.to_string()))
            }
            Self::Answered(EarlyAnswer { outcome, answered_by }) if answered_by != AnswerSource::Executor => {
                let error = match outcome {
                    Err(error) if error.is_stop() => error,
                    Err(error) => interrupted(&error.to_string()),
                    Ok(_) => interrupted("a hook answered in its place"),
                };
                Self::answered_early(answered_by, Err(error))
            }
            step => step,
        }
    }
}

/// A call during its preparation.
struct CallPreparation<'a, 'c> {
    executor: &'a Arc<ExecutorParts>,
    request: CallRequest<'a>,
    call: &'a ToolCall,
    entry: &'a Entry,
    batch: &'c BatchState,
    cx: &'c mut ToolContext,
    /// The answers to questions about the call.
    answers: &'c mut QuestionAnswers,
    prepared: Prepared<'a>,
    /// Receives the canonical arguments, for later observers of the call.
    canonical: &'c mut Option<Box<Arguments<'static>>>,
}

/// Prepares a plain call, without polling it; `state` receives its context. `stop` is the reason for which it is not
/// started.
#[inline]
pub(super) fn prepare_plain<'a>(
    executor: &'a Arc<ExecutorParts>,
    request: &'a CallRequest<'a>,
    stop: Option<StopReason>,
    batch: &BatchState,
    state: &'a mut CallState,
) -> (NextStep<'a>, &'a CallState) {
    if let Some(step) = step_of_unstarted_call(request, stop) {
        return (step, state);
    }
    let CallRequest { call, entry, .. } = request;
    if let Some(entry) = entry {
        batch.begin_call(executor, entry, request, state);
    }
    let state: &'a CallState = state;
    let started = match (entry, &state.cx) {
        (Some(entry), Some(cx)) => entry.start_unguarded(call.arguments.as_borrowed(), cx),
        _ => Err(executor.tools.unknown_tool_error(&call.name)),
    };
    let step = match started {
        Ok(body) => NextStep::Plain(body),
        Err(error) => NextStep::answered_early(AnswerSource::Check, Err(error)),
    };
    (step, state)
}

/// Returns the next step of a call that is not started, whatever its tool is.
#[inline]
pub(super) fn step_of_unstarted_call<'a>(
    request: &CallRequest<'_>,
    stop: Option<StopReason>,
) -> Option<NextStep<'a>> {
    // Checked first: a call that was cut off is neither run nor left to the caller, and passes no rule or hook.
    if request.call.incomplete.is_some()
        && let Err(incomplete) = request.call.completed()
    {
        return Some(NextStep::answered_early(AnswerSource::Executor, Err(incomplete)));
    }
    // Checked before external calls: a stopped batch leaves none to the caller.
    stop.map(NextStep::stopped)
}

/// Prepares a call in which other components than its tool take part; `state` receives its context.
pub(super) async fn prepare_call<'a>(
    executor: &'a Arc<ExecutorParts>,
    request: CallRequest<'a>,
    batch: &BatchState,
    state: &'a mut CallState,
) -> (NextStep<'a>, &'a CallState) {
    let mut step = prepare_by_components(executor, request, batch, state).await;
    if request.confirmed.is_some_and(|confirmed| confirmed.continues) {
        step = step.of_begun_work();
    }
    if let (NextStep::Ready(ready), Some(cx)) = (&step, &state.cx)
        && ready.retry.is_some()
    {
        state.first = Some(Box::new(cx.of_attempt(1)));
    }
    (step, state)
}

async fn prepare_by_components<'a>(
    executor: &'a Arc<ExecutorParts>,
    request: CallRequest<'a>,
    batch: &BatchState,
    state: &mut CallState,
) -> NextStep<'a> {
    match step_without_hooks(executor, &request, batch) {
        None => {}
        Some(NextStep::External) => return NextStep::External,
        Some(step) => {
            batch.report_started(&request).await;
            return step;
        }
    }
    let CallRequest { call, entry, .. } = request;
    if let Some(entry) = entry {
        batch.begin_call(executor, entry, &request, state);
    }
    let definition = entry.map(Entry::definition);
    if let Some(denied) = denial_by_name(executor, call, definition) {
        batch.report_started(&request).await;
        return NextStep::answered_early(AnswerSource::Permission, Err(denied));
    }
    if executor.settings.has_hooks() {
        let admitted = admit_call(executor, call, definition, state.cx.as_ref(), batch.run());
        match batch.unless_stopped(admitted).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return NextStep::NotAdmitted(error),
            Err(stop) => {
                batch.report_started(&request).await;
                return NextStep::stopped(stop);
            }
        }
    }
    batch.report_started(&request).await;
    prepare_admitted(executor, request, batch, state).await
}

/// Prepares a call that was admitted.
async fn prepare_admitted<'a>(
    executor: &'a Arc<ExecutorParts>,
    request: CallRequest<'a>,
    batch: &BatchState,
    state: &mut CallState,
) -> NextStep<'a> {
    let CallRequest { call, entry, .. } = request;
    let mut answers = request.confirmed.map(|confirmed| confirmed.answers.clone()).unwrap_or_default();
    let CallState { cx, arguments: canonical, reports, .. } = &mut *state;
    let (Some(entry), Some(cx)) = (entry, cx) else {
        return NextStep::answered_early(
            AnswerSource::Check,
            Err(executor.tools.unknown_tool_error(&call.name)),
        );
    };
    let arguments = call.arguments.as_borrowed();
    let is_inspected = request.confirmed.is_some() || executor.settings.inspects_arguments(entry);
    let prepared = match is_inspected {
        true if entry.is_prepared_remotely() => {
            let preparing = boxed(|| batch.unless_stopped(prepare_remotely(entry, arguments, cx, batch)));
            match preparing.await {
                Ok(prepared) => prepared,
                Err(stop) => return NextStep::stopped(stop),
            }
        }
        true if executor.settings.prepared_calls => entry.prepare_from_canonical(arguments),
        true => entry.prepare_canonical(arguments),
        // If no component inspects the arguments, the received text is decoded unchanged.
        false => entry.prepare(arguments),
    };
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return NextStep::answered_early(AnswerSource::Check, Err(error)),
    };
    if !is_inspected {
        let ready = || NextStep::Ready(Box::new(ReadyCall { entry, prepared, source: None, retry: None }));
        return batch.stop_reason().map_or_else(ready, NextStep::stopped);
    }
    let continues = request.confirmed.is_some_and(|confirmed| confirmed.continues);
    // Checked before a person is asked in vain.
    if !continues && let Some(over) = batch.run().and_then(|run| run.has_call_left().err()) {
        return NextStep::answered_early(AnswerSource::Executor, Err(over));
    }
    let given = &mut answers;
    let preparation =
        CallPreparation { executor, request, call, entry, batch, cx, answers: given, prepared, canonical };
    let step = match batch.unless_stopped(preparation.next_step()).await {
        Ok(step) => step.unwrap_or_else(|step| step),
        Err(stop) => NextStep::stopped(stop),
    };
    if let (Some(reports), Some(canonical)) = (reports, canonical) {
        reports.set_canonical_arguments((**canonical).clone());
    }
    if !answers.is_empty() {
        *state.answers() = answers;
    }
    step
}

impl<'a> CallPreparation<'a, '_> {
    /// Returns the call, ready to run, or its other next step.
    async fn next_step(mut self) -> Result<NextStep<'a>, NextStep<'a>> {
        let by_rule = |error| NextStep::answered_early(AnswerSource::Permission, Err(error));
        let mut rules_decision = self.judge_by_rules().map_err(by_rule)?;
        if self.run_before_hooks().await? {
            rules_decision = self.judge_by_rules().map_err(by_rule)?;
        }
        if !self.request.confirmed.is_some_and(|confirmed| confirmed.continues) {
            self.check_permission(rules_decision).await?;
        }
        *self.canonical = Some(Box::new(self.prepared.arguments().as_str().to_owned().into()));
        let retry = self.executor.settings.retry_of_tool(self.entry);
        // The call may be retried, or its body may ask a question.
        let is_needed_again = retry.is_some() || self.executor.settings.approver.is_some();
        let source = self.canonical.as_deref().filter(|_| is_needed_again).cloned();
        Ok(NextStep::Ready(Box::new(ReadyCall { entry: self.entry, prepared: self.prepared, source, retry })))
    }

    /// Returns the verdict of the rules on the call as it is now.
    fn judge_by_rules(&self) -> Result<Permission, ToolError> {
        let mut rules_decision = Permission::Allow;
        let mut decide = |permission| match permission {
            Permission::Deny { reason } => Err(ToolError::new(ErrorKind::Denied, reason)),
            other => {
                if rules_decision == Permission::Allow {
                    rules_decision = other;
                }
                Ok(())
            }
        };
        let redirecting = self.call.redirected_from.as_deref();
        let redirecting = redirecting.and_then(|name| self.executor.known.entry(name)).map(Entry::definition);
        for rules in &self.executor.settings.rules {
            decide(rules.judge_call(self.entry.definition(), self.prepared.arguments()))?;
            if let Some(definition) = redirecting {
                // Rules for all calls of the tool that redirected hold, too; its arguments are those of this call.
                decide(rules.judge_call(definition, &Arguments::EMPTY))?;
            }
        }
        Ok(rules_decision)
    }

    /// Calls the hooks in order until one answers; returns `true` if they rewrote the arguments.
    async fn run_before_hooks(&mut self) -> Result<bool, NextStep<'a>> {
        let by_hook = |outcome| NextStep::answered_early(AnswerSource::Hook, outcome);
        let mut is_rewritten = false;
        for hook in self.executor.settings.all_hooks() {
            let mut before = BeforeCall {
                definition: self.entry.definition(),
                cx: self.cx,
                arguments: self.prepared.arguments(),
                rewritten: None,
            };
            let decision =
                run_in_call(&self.call.id, HOOK_COMPONENT, || hook.dynamic().before(&mut before)).await;
            let decision = decision
                .map_err(|panic| self.executor.settings.hook_panic_error(panic))
                .and_then(|decision| decision);
            let mut rewritten = before.rewritten;
            match decision.map_err(|error| by_hook(Err(error)))? {
                Before::Continue => {}
                Before::Rewrite(arguments) => rewritten = Some(arguments),
                Before::Answer(output) => return Err(by_hook(Ok(output))),
                Before::Block(reason) if reason.is_empty() => {
                    return Err(by_hook(Err(ToolError::failed("The call was blocked."))));
                }
                Before::Block(reason) => return Err(by_hook(Err(ToolError::failed(reason)))),
            }
            if let Some(arguments) = rewritten {
                let (entry, cx, batch) = (self.entry, &*self.cx, self.batch);
                let prepared = match entry.is_prepared_remotely() {
                    true => boxed(|| prepare_remotely(entry, arguments, cx, batch)).await,
                    false => entry.prepare_canonical(arguments),
                };
                self.prepared =
                    prepared.map_err(|error| NextStep::answered_early(AnswerSource::Check, Err(error)))?;
                is_rewritten = true;
            }
        }
        Ok(is_rewritten)
    }
}
