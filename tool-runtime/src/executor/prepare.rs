//! From a call that a model asked for to one that is ready to run, or to its answer.

use std::sync::Arc;

use serde_json::Value;
use tool_core::{
    __private::within_call, Arguments, CallAddress, Confirmation, ErrorKind, Permission, Prepared, Retry,
    ToolContext, ToolError, ToolOutput,
};

use super::{
    Inner,
    admission::{admit, denied_by_name, is_external},
    around::{Place, Surroundings},
    open::Confirmed,
    outlet::HOOK,
    questions::{About, Given, answer_of, asked, rejected, unanswered},
    shown::shown,
    stop::Stop,
};
use crate::{
    Before, BeforeCall, ToolCall,
    policy::{Approval, ApprovalRequest, Cause, PermissionRequest, Question, RetryPolicy},
    registry::Entry,
    shield::{barrier, caught, panic_of, shielded},
};

/// A call, with the tool that it asks for, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) entry: Option<&'a Entry>,
    /// The number of the call in the order of arrival.
    pub(super) serial: u64,
    /// What a person has said about it before, if it was open.
    pub(super) confirmed: Option<&'a Confirmed>,
}

/// What is to be done about a call.
pub(super) enum Step<'a> {
    /// Nothing, here.
    External,
    /// It is not let in.
    Gated(ToolError),
    /// It is answered already.
    Answered(Answer),
    /// A person is to be asked.
    Asked(Box<ApprovalRequest>),
    /// It runs.
    Ready(Ready<'a>),
}

/// An answer without a run.
pub(super) struct Answer {
    pub(super) outcome: Result<ToolOutput, ToolError>,
    pub(super) by: By,
}

/// Who answered a call, which decides who else hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The tool, by running.
    Tool,
    /// The check: of the name, or of the arguments.
    Check,
    /// A hook, in place of the tool.
    Hook,
    /// A permission or a person.
    Permission,
    /// Nobody: something came before.
    Nobody,
}

/// A call that fits and may run.
pub(super) struct Ready<'a> {
    pub(super) entry: &'a Entry,
    pub(super) prepared: Prepared<'a>,
    /// The canonical text that it was prepared from, where it may be needed again.
    pub(super) source: Option<Arguments<'a>>,
    pub(super) retry: Option<Retry>,
}

/// The reason of a denial by a [`Permission`] that is not known here.
const UNKNOWN_DECISION: &str = "by a decision that is not known";

impl<'a> Step<'a> {
    fn answered(by: By, outcome: Result<ToolOutput, ToolError>) -> Self {
        Self::Answered(Answer { outcome, by })
    }

    fn stopped(stop: Stop) -> Self {
        Self::answered(By::Nobody, Err(stop.error()))
    }
}

/// A call on its way through the steps.
struct Preparing<'a, 'c> {
    executor: &'a Arc<Inner>,
    asked: Asked<'a>,
    call: &'a ToolCall,
    entry: &'a Entry,
    around: &'c Surroundings,
    cx: &'c mut ToolContext,
    /// What people have answered to questions about the call.
    given: &'c mut Given,
    prepared: Prepared<'a>,
    /// Where the canonical arguments are kept, for those who look at the call later.
    canonical: &'c mut Option<Arguments<'static>>,
}

/// Prepares `call`; `place` is where its context is kept.
pub(super) async fn prepare<'a>(
    executor: &'a Arc<Inner>,
    asked: Asked<'a>,
    around: &Surroundings,
    place: &mut Place,
) -> Step<'a> {
    let Asked { call, entry, .. } = asked;
    let definition = entry.map(Entry::definition);
    // Before all else: a call that was cut off is neither run nor left to the caller, and is judged by no one.
    if let Err(incomplete) = call.completed() {
        around.started(&asked).await;
        return Step::answered(By::Nobody, Err(incomplete));
    }
    // Before it may be left to the caller: of a batch that was stopped, nothing is.
    if let Some(stop) = around.stop() {
        around.started(&asked).await;
        return Step::stopped(stop);
    }
    if let Some(entry) = entry {
        match caught(|| is_external(executor, call, entry, around.run())) {
            Ok(true) => return Step::External,
            Ok(false) => {}
            Err(message) => {
                around.started(&asked).await;
                let error = panic_of("what decides which calls are left to the caller", &message);
                return Step::answered(By::Nobody, Err(error));
            }
        }
    }
    if let Some(entry) = entry {
        *place = around.place(executor, entry, &asked);
    }
    let mut given = asked.confirmed.map(|confirmed| confirmed.given.clone()).unwrap_or_default();
    let Place { cx, arguments: canonical, reports, .. } = &mut *place;
    if let Some(denied) = denied_by_name(executor, call) {
        around.started(&asked).await;
        return Step::answered(By::Permission, Err(denied));
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
        return Step::answered(By::Check, Err(executor.tools.unknown(&call.name)));
    };
    let arguments = call.arguments.as_borrowed();
    let is_looked_at = asked.confirmed.is_some() || executor.settings.looks_at(entry);
    let prepared = match is_looked_at {
        true => entry.prepare_canonical(arguments),
        // Where nothing looks, what came is decoded as it is.
        false => entry.prepare(arguments),
    };
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Step::answered(By::Check, Err(error)),
    };
    if !is_looked_at {
        let ready = || Step::Ready(Ready { entry, prepared, source: None, retry: None });
        return around.stop().map_or_else(ready, Step::stopped);
    }
    // Before a person is asked for nothing.
    if let Some(over) = around.run().and_then(|run| run.has_call_left().err()) {
        return Step::answered(By::Nobody, Err(over));
    }
    let given_now = &mut given;
    let preparing =
        Preparing { executor, asked, call, entry, around, cx, given: given_now, prepared, canonical };
    let step = match around.unless_stopped(preparing.decided()).await {
        Ok(decided) => decided.unwrap_or_else(|step| step),
        Err(stop) => Step::stopped(stop),
    };
    if let (Some(reports), Some(canonical)) = (reports, canonical) {
        reports.are_of(canonical.clone());
    }
    if !given.is_empty() {
        *place.given() = given;
    }
    step
}

impl<'a> Preparing<'a, '_> {
    /// The call, ready to run; or what is to be done about it instead.
    async fn decided(mut self) -> Result<Step<'a>, Step<'a>> {
        let by_rule = |error| Step::answered(By::Permission, Err(error));
        let mut ruled = self.ruled().map_err(by_rule)?;
        if self.hooks().await? {
            ruled = self.ruled().map_err(by_rule)?;
        }
        self.permitted(ruled).await?;
        *self.canonical = Some(Arguments::from(self.prepared.arguments().as_str().to_owned()));
        let retry = RetryPolicy::of(self.executor.settings.retry.as_ref(), self.entry);
        // The call may be made again, or its body may ask.
        let is_needed_again = retry.is_some() || self.executor.settings.approver.is_some();
        let source = self.canonical.clone().filter(|_| is_needed_again);
        Ok(Step::Ready(Ready { entry: self.entry, prepared: self.prepared, source, retry }))
    }

    /// What the rules say of the call as it is now.
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

    /// Asks the hooks, in order, until one answers; says whether they rewrote the arguments.
    async fn hooks(&mut self) -> Result<bool, Step<'a>> {
        let by_hook = |outcome| Step::answered(By::Hook, outcome);
        let mut is_rewritten = false;
        for hook in self.executor.settings.all_hooks() {
            let mut before = BeforeCall {
                definition: self.entry.definition(),
                cx: self.cx,
                arguments: self.prepared.arguments(),
                rewritten: None,
            };
            let said = shielded(&self.call.id, HOOK, || hook.dynamic().before(&mut before)).await;
            let said = said.map_err(|panic| self.executor.settings.panic_of_hook(panic)).flatten();
            let mut rewritten = before.rewritten;
            match said.map_err(|error| by_hook(Err(error)))? {
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
                    .map_err(|error| Step::answered(By::Check, Err(error)))?;
                is_rewritten = true;
            }
        }
        Ok(is_rewritten)
    }

    /// Asks for permission: the tool, the executor's policy, a person.
    async fn permitted(&mut self, ruled: Permission) -> Result<(), Step<'a>> {
        let by_permission = |error| Step::answered(By::Permission, Err(error));
        // A "no" counts whatever has changed since.
        if self.given.is_refused() {
            return Err(by_permission(rejected(&self.call.name, "")));
        }
        let own = self.own_permission().map_err(by_permission)?;
        let is_tool_asking = matches!(own, Permission::Ask { .. });
        let permission = self.permission(own, ruled).await.map_err(by_permission)?;
        if let Some(question) = self.question(permission).map_err(by_permission)? {
            let address = self.around.address(&self.asked);
            // The answer to another question than this one counts for nothing.
            let answer = self.given.to(&question, &self.about(&address)).cloned();
            match answer {
                Some(answer) => self.cx.approve(answer),
                None => self.ask(question, &address).await?,
            }
        }
        if is_tool_asking {
            self.permitted_besides().await.map_err(by_permission)?;
        }
        self.hand_answers_to_body();
        Ok(())
    }

    /// The first decision that is not to allow the call: the tool's own, the policies', and last what a rule asks
    /// for, because a rule's denial was applied before.
    async fn permission(&mut self, own: Permission, ruled: Permission) -> Result<Permission, ToolError> {
        let mut permission = own;
        if permission == Permission::Allow {
            permission = self.by_policies().await?;
        }
        Ok(if permission == Permission::Allow { ruled } else { permission })
    }

    /// Asks the policies about a call that a person has approved because its tool asks: a tool that asks does not get
    /// past a denial of the program.
    async fn permitted_besides(&mut self) -> Result<(), ToolError> {
        match self.by_policies().await? {
            // A person has seen the call.
            Permission::Allow | Permission::Ask { .. } => Ok(()),
            Permission::Deny { reason } => Err(ToolError::new(ErrorKind::Denied, reason)),
            _ => Err(ToolError::new(ErrorKind::Denied, UNKNOWN_DECISION)),
        }
    }

    /// The decision of the policies: a denial of any, otherwise the first that is not to allow the call.
    async fn by_policies(&mut self) -> Result<Permission, ToolError> {
        let mut decided = Permission::Allow;
        for policy in &self.executor.settings.policies {
            let (definition, arguments) = (self.entry.definition(), self.prepared.arguments());
            let request = PermissionRequest::new(definition, self.cx, arguments);
            let decides = || policy.dynamic().decide(&request);
            match shielded(&self.call.id, "the permission policy", decides).await.flatten()? {
                Permission::Allow => {}
                ask @ Permission::Ask { .. } if decided == Permission::Allow => decided = ask,
                Permission::Ask { .. } => {}
                denial => return Ok(denial),
            }
        }
        Ok(decided)
    }

    /// The generic question before the call, if there is one.
    fn question(&self, permission: Permission) -> Result<Option<Question>, ToolError> {
        let (cause, hint) = match permission {
            Permission::Allow if !self.wants_confirmation()? => return Ok(None),
            Permission::Allow => (Cause::Confirmation, format!("May the tool {} be called?", self.call.name)),
            Permission::Ask { reason } => (Cause::Permission, reason),
            Permission::Deny { reason } => return Err(ToolError::new(ErrorKind::Denied, reason)),
            _ => return Err(ToolError::new(ErrorKind::Denied, UNKNOWN_DECISION)),
        };
        Ok(Some(Question { cause, hint, payload: Value::Null }))
    }

    /// Hands the answers to questions of the tool's body to its context, where they were about this call as it is
    /// now.
    fn hand_answers_to_body(&mut self) {
        if self.given.is_empty() {
            return;
        }
        let address = self.around.address(&self.asked);
        let (open, definition) = (&self.executor.open, self.entry.definition());
        let arguments = self.prepared.arguments().as_str();
        let about = About { open, address: &address, definition, arguments };
        self.given.hand_to(self.cx, |request| about.is_of(request));
    }

    /// The call as it is now, for questions about it.
    fn about<'q>(&'q self, address: &'q CallAddress) -> About<'q> {
        let (open, definition) = (&self.executor.open, self.entry.definition());
        About { open, address, definition, arguments: self.prepared.arguments().as_str() }
    }

    /// The call as it would run, for people.
    fn shown(&self) -> ToolCall {
        let arguments = Arguments::from(self.prepared.arguments().as_str().to_owned());
        shown(&ToolCall { arguments, ..self.call.clone() }, self.entry.definition())
    }

    /// Asks a person, through the approver or later.
    async fn ask(&mut self, question: Question, address: &CallAddress) -> Result<(), Step<'a>> {
        let by_permission = |error| Step::answered(By::Permission, Err(error));
        let settings = &self.executor.settings;
        if settings.approver.is_none() && question.cause == Cause::Permission && !settings.ask_later {
            return Err(by_permission(ToolError::new(ErrorKind::ApprovalRequired, question.hint)));
        }
        self.given.has_room().map_err(by_permission)?;
        let request = self.about(address).request(self.shown(), question);
        self.around.asking(&request, self.entry.definition()).await;
        let Some(approver) = &settings.approver else { return Err(Step::Asked(Box::new(request))) };
        let (request, said) =
            asked(approver, &self.call.id, request, self.entry.definition(), self.around.run()).await;
        let said = said.map_err(by_permission)?;
        if let Approval::Rejected(reason) = &said {
            return Err(by_permission(rejected(&self.call.name, reason)));
        }
        let Some(answer) = answer_of(said) else { return Err(Step::Asked(request)) };
        self.cx.approve(answer.clone());
        self.given.add(request, answer);
        Ok(())
    }

    /// The answer of the tool's own permission check.
    fn own_permission(&self) -> Result<Permission, ToolError> {
        match self.entry.definition().metadata().permission {
            true => {
                self.within(|| self.prepared.permission(self.cx))?.ok_or_else(|| unanswered("permission"))
            }
            false => Ok(Permission::Allow),
        }
    }

    fn wants_confirmation(&self) -> Result<bool, ToolError> {
        match self.entry.definition().metadata().confirmation {
            Confirmation::Never => Ok(false),
            Confirmation::Sometimes => {
                let wants = self.within(|| self.prepared.wants_confirmation(self.cx))?;
                wants.ok_or_else(|| unanswered("confirmation"))
            }
            _ => Ok(true),
        }
    }

    /// What the tool says about this call.
    fn within<T>(&self, question: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
        barrier(|| within_call(self.call.id.clone(), question))
    }
}
