//! The first step of a call: from the request of a model to a call that is ready to run, or to its answer.

mod permission;

use std::sync::Arc;

use tool_core::{Arguments, ErrorKind, Permission, Prepared, Retry, ToolContext, ToolError, ToolOutput};

use super::{
    Inner,
    admission::{admit, denied_by_name, is_external},
    event_sink::HOOK,
    open::Confirmed,
    questions::Given,
    state::{CallPosition, CallScope},
    stop::Stop,
};
use crate::{
    ToolCall,
    guard::catch,
    hook::{Before, BeforeCall},
    panics::{component_panic, run_in_call},
    policy::{ApprovalRequest, RetryPolicy},
    registry::Entry,
};

/// A call, and its tool if there is one.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) entry: Option<&'a Entry>,
    /// The serial number of the call in the order of arrival.
    pub(super) serial: u64,
    /// The answer of a person, if the call was open before.
    pub(super) confirmed: Option<&'a Confirmed>,
}

impl Request<'_> {
    /// Returns the name of the called tool, which the results of a known tool share.
    pub(super) fn name(&self) -> Arc<str> {
        self.entry.map_or_else(|| self.call.name.as_str().into(), |entry| Arc::clone(entry.shared_name()))
    }
}

/// The next step of a call.
pub(super) enum Step<'a> {
    /// The call is left to the caller.
    External,
    /// The call is not admitted.
    Gated(ToolError),
    /// The call is answered already.
    Answered(Answer),
    /// The call requires an approval.
    Request(Box<ApprovalRequest>),
    /// The call is run.
    Ready(Ready<'a>),
}

/// An answer without a run.
pub(super) struct Answer {
    pub(super) outcome: Result<ToolOutput, ToolError>,
    pub(super) by: AnsweredBy,
}

/// The origin of an answer, which decides which hooks see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnsweredBy {
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
pub(super) struct Ready<'a> {
    pub(super) entry: &'a Entry,
    pub(super) prepared: Prepared<'a>,
    /// The canonical text from which the call was prepared, if it may be needed again.
    pub(super) source: Option<Arguments<'a>>,
    pub(super) retry: Option<Retry>,
}

impl<'a> Step<'a> {
    fn answered(by: AnsweredBy, outcome: Result<ToolOutput, ToolError>) -> Self {
        Self::Answered(Answer { outcome, by })
    }

    fn stopped(stop: Stop) -> Self {
        Self::answered(AnsweredBy::Executor, Err(stop.error()))
    }
}

/// A call during its preparation.
struct Preparing<'a, 'c> {
    executor: &'a Arc<Inner>,
    asked: Request<'a>,
    call: &'a ToolCall,
    entry: &'a Entry,
    around: &'c CallScope,
    cx: &'c mut ToolContext,
    /// The answers to questions about the call.
    given: &'c mut Given,
    prepared: Prepared<'a>,
    /// Receives the canonical arguments, for later observers of the call.
    canonical: &'c mut Option<Box<Arguments<'static>>>,
}

/// Prepares `call`; `place` receives its context.
pub(super) async fn prepare<'a>(
    executor: &'a Arc<Inner>,
    asked: Request<'a>,
    around: &CallScope,
    place: &mut CallPosition,
) -> Step<'a> {
    let Request { call, entry, .. } = asked;
    let definition = entry.map(Entry::definition);
    // Checked first: a call that was cut off is neither run nor left to the caller, and passes no rule or hook.
    if let Err(incomplete) = call.completed() {
        around.started(&asked).await;
        return Step::answered(AnsweredBy::Executor, Err(incomplete));
    }
    // Checked before external calls: a stopped batch leaves none to the caller.
    if let Some(stop) = around.stop() {
        around.started(&asked).await;
        return Step::stopped(stop);
    }
    if let Some(entry) = entry {
        match catch(|| is_external(executor, call, entry, around.run())) {
            Ok(true) => return Step::External,
            Ok(false) => {}
            Err(panic) => {
                around.started(&asked).await;
                let error = component_panic("the selection of external calls", &panic);
                return Step::answered(AnsweredBy::Executor, Err(error));
            }
        }
    }
    if let Some(entry) = entry {
        *place = around.place(executor, entry, &asked);
    }
    let mut given = asked.confirmed.map(|confirmed| confirmed.given.clone()).unwrap_or_default();
    let CallPosition { cx, arguments: canonical, reports, .. } = &mut *place;
    if let Some(denied) = denied_by_name(executor, call, definition) {
        around.started(&asked).await;
        return Step::answered(AnsweredBy::Permission, Err(denied));
    }
    let admitted = admit(executor, call, definition, cx.as_ref(), around.run());
    match around.unless_stopped(admitted).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Step::Gated(error),
        Err(stop) => {
            around.started(&asked).await;
            return Step::stopped(stop);
        }
    }
    around.started(&asked).await;
    let (Some(entry), Some(cx)) = (entry, cx) else {
        return Step::answered(AnsweredBy::Check, Err(executor.tools.unknown(&call.name)));
    };
    let arguments = call.arguments.as_borrowed();
    let is_looked_at = asked.confirmed.is_some() || executor.settings.looks_at(entry);
    let prepared = match is_looked_at {
        true => entry.prepare_canonical(arguments),
        // If no component inspects the arguments, the received text is decoded unchanged.
        false => entry.prepare(arguments),
    };
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Step::answered(AnsweredBy::Check, Err(error)),
    };
    if !is_looked_at {
        let ready = || Step::Ready(Ready { entry, prepared, source: None, retry: None });
        return around.stop().map_or_else(ready, Step::stopped);
    }
    // Checked before a person is asked in vain.
    if let Some(over) = around.run().and_then(|run| run.has_call_left().err()) {
        return Step::answered(AnsweredBy::Executor, Err(over));
    }
    let given_now = &mut given;
    let preparing =
        Preparing { executor, asked, call, entry, around, cx, given: given_now, prepared, canonical };
    let step = match around.unless_stopped(preparing.decided()).await {
        Ok(decided) => decided.unwrap_or_else(|step| step),
        Err(stop) => Step::stopped(stop),
    };
    if let (Some(reports), Some(canonical)) = (reports, canonical) {
        reports.are_of((**canonical).clone());
    }
    if !given.is_empty() {
        *place.given() = given;
    }
    step
}

impl<'a> Preparing<'a, '_> {
    /// Returns the call, ready to run, or its other next step.
    async fn decided(mut self) -> Result<Step<'a>, Step<'a>> {
        let by_rule = |error| Step::answered(AnsweredBy::Permission, Err(error));
        let mut ruled = self.ruled().map_err(by_rule)?;
        if self.hooks().await? {
            ruled = self.ruled().map_err(by_rule)?;
        }
        self.permitted(ruled).await?;
        *self.canonical = Some(Box::new(self.prepared.arguments().as_str().to_owned().into()));
        let retry = RetryPolicy::of(self.executor.settings.retry.as_ref(), self.entry);
        // The call may be retried, or its body may ask a question.
        let is_needed_again = retry.is_some() || self.executor.settings.approver.is_some();
        let source = self.canonical.as_deref().filter(|_| is_needed_again).cloned();
        Ok(Step::Ready(Ready { entry: self.entry, prepared: self.prepared, source, retry }))
    }

    /// Returns the verdict of the rules on the call as it is now.
    fn ruled(&self) -> Result<Permission, ToolError> {
        let mut ruled = Permission::Allow;
        for rules in &self.executor.settings.rules {
            match rules.judge_call(self.entry.definition(), self.prepared.arguments()) {
                Permission::Deny { reason } => return Err(ToolError::new(ErrorKind::Denied, reason)),
                other if ruled == Permission::Allow => ruled = other,
                _ => {}
            }
        }
        Ok(ruled)
    }

    /// Calls the hooks in order until one answers; returns `true` if they rewrote the arguments.
    async fn hooks(&mut self) -> Result<bool, Step<'a>> {
        let by_hook = |outcome| Step::answered(AnsweredBy::Hook, outcome);
        let mut is_rewritten = false;
        for hook in self.executor.settings.all_hooks() {
            let mut before = BeforeCall {
                definition: self.entry.definition(),
                cx: self.cx,
                arguments: self.prepared.arguments(),
                rewritten: None,
            };
            let decision = run_in_call(&self.call.id, HOOK, || hook.dynamic().before(&mut before)).await;
            let decision = decision
                .map_err(|panic| self.executor.settings.panic_of_hook(panic))
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
                self.prepared = self
                    .entry
                    .prepare_canonical(arguments)
                    .map_err(|error| Step::answered(AnsweredBy::Check, Err(error)))?;
                is_rewritten = true;
            }
        }
        Ok(is_rewritten)
    }
}
