//! A batch whose results are not stored yet, and the results of its calls that have no answer.

use std::sync::Arc;

use tool_runtime::{
    CallOutcome, Executor, ToolCall, ToolError, ToolResult,
    call::{CallAddress, CallId, Operation},
    definition::{ContentHash, ToolDefinition},
    open_calls::CallRef,
    policy::ApprovalRequest,
};

use super::{
    End, EndReason,
    entry::OpenBatchBody,
    open_below::{CallAbove, OpenChildRun, discard_questions, is_long_running},
};
use crate::Message;

/// A batch whose results are not stored yet.
pub(super) struct OpenBatch {
    /// The executor that keeps its open calls.
    pub(super) executor: Executor,
    /// The outcomes, in the order of the calls.
    pub(super) outcomes: Vec<CallOutcome>,
    /// The messages that follow the results.
    pub(super) after: Vec<Message>,
    /// The runs that wait below open calls of agents.
    pub(super) below: Vec<OpenChildRun>,
}

/// The open call that an answer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OpenTarget {
    /// The call of the batch with this index.
    Call(usize),
    /// A question of a run below a call of the batch, by their indices.
    Below { below: usize, question: usize },
}

/// The unfinished calls of a batch, as its run reports them.
pub(super) struct UnfinishedCalls {
    open: Vec<CallOutcome>,
    confirmations: Vec<ToolCall>,
    /// The calls above each open call.
    paths: Vec<Vec<CallAbove>>,
}

impl OpenBatch {
    /// Creates the batch of calls that have run.
    pub(super) fn new(executor: Executor, outcomes: Vec<CallOutcome>, after: Vec<Message>) -> Self {
        Self { executor, outcomes, after, below: Vec::new() }
    }

    /// Returns the index of the call at `address`, if it is open.
    pub(super) fn index_of_open_call(&self, address: &CallAddress) -> Option<usize> {
        self.outcomes.iter().position(|outcome| outcome.address() == Some(address))
    }

    /// Returns the run that waits below the call of `outcome`.
    fn open_child_of(&self, outcome: &CallOutcome) -> Option<&OpenChildRun> {
        let address = outcome.address()?;
        self.below.iter().find(|below| below.call == *address)
    }

    /// Returns the calls without a final result, with the questions of runs below in place of the calls above them; `None` if all have one.
    pub(super) fn unfinished_calls(&self) -> Option<UnfinishedCalls> {
        let (mut open, mut confirmations, mut paths) = (Vec::new(), Vec::new(), Vec::new());
        for outcome in self.outcomes.iter().filter(|outcome| !outcome.is_finished()) {
            let Some(below) = self.open_child_of(outcome) else {
                confirmations.extend(
                    approval_request(outcome).map(|request| self.executor.confirmation_call(request)),
                );
                open.push(outcome.clone());
                paths.push(Vec::new());
                continue;
            };
            for question in &below.questions {
                open.push(question.outcome.clone());
                confirmations.extend(question.confirmation.clone());
                paths.push(below.calls_to_question(question));
            }
        }
        (!open.is_empty()).then_some(UnfinishedCalls { open, confirmations, paths })
    }

    /// Returns the open calls that `call` names, in the batch and below its calls.
    pub(super) fn open_targets(&self, call: &CallRef) -> Vec<OpenTarget> {
        let is_named = |outcome: &CallOutcome| match call {
            CallRef::Id(id) => outcome.id() == id,
            CallRef::Address(address) => outcome.address() == Some(address),
            CallRef::Question(address, hash) | CallRef::Request { address, hash, .. } => {
                approval_request(outcome).is_some_and(|it| it.address == *address && it.hash == *hash)
            }
        };
        let is_open = |outcome: &CallOutcome| !outcome.is_finished() && is_named(outcome);
        let own = self
            .outcomes
            .iter()
            .enumerate()
            .filter(|(_, it)| is_open(it) && self.open_child_of(it).is_none());
        let below = self.below.iter().enumerate().flat_map(|(below, it)| {
            let named = it.questions.iter().enumerate().filter(|(_, question)| is_open(&question.outcome));
            named.map(move |(question, _)| OpenTarget::Below { below, question })
        });
        own.map(|(index, _)| OpenTarget::Call(index)).chain(below).collect()
    }

    /// Returns the open call that `call` names, in the batch or below its calls; `None` if that call has its result.
    pub(super) fn find_open_call(&self, call: &CallRef) -> Result<Option<OpenTarget>, String> {
        match self.open_targets(call)[..] {
            [target] => Ok(Some(target)),
            [] if self.has_result_of(call) => Ok(None),
            [] if self.waits_for_calls_below(call) => Err(format!(
                "the call `{call}` waits for the answers of calls below it; answer those of `End::open`"
            )),
            [] => Err(format!("no call `{call}` waits for an answer; use an id or address of `End::open`")),
            _ => Err(ambiguous_call_problem(call)),
        }
    }

    /// Returns `true` if `call` names a call that has its result.
    pub(super) fn has_result_of(&self, call: &CallRef) -> bool {
        self.outcomes.iter().any(|it| it.is_finished() && is_finished_call_named(it, call))
    }

    /// Returns `true` if `call` names a call that waits for the answers of calls below it.
    pub(super) fn waits_for_calls_below(&self, call: &CallRef) -> bool {
        self.below.iter().any(|it| names_call_at(call, &it.call))
    }

    /// Returns the open call at `target`.
    pub(super) fn outcome(&self, target: OpenTarget) -> Option<&CallOutcome> {
        match target {
            OpenTarget::Call(index) => self.outcomes.get(index),
            OpenTarget::Below { below, question } => {
                self.below.get(below)?.questions.get(question).map(|it| &it.outcome)
            }
        }
    }

    /// Replaces the outcome of a call by its result.
    pub(super) fn set_result(&mut self, index: usize, result: ToolResult) {
        self.set_outcome(index, CallOutcome::Finished(result));
    }

    pub(super) fn set_outcome(&mut self, index: usize, outcome: CallOutcome) {
        if let Some(current) = self.outcomes.get_mut(index) {
            *current = outcome;
        }
    }

    /// Discards the open calls, so that their executor does not keep them.
    pub(super) async fn discard(&self) {
        self.discard_except(None).await;
    }

    /// Discards the open calls that are not open in `other`.
    pub(super) async fn discard_except(&self, other: Option<&Self>) {
        let remain: Vec<_> = other.into_iter().flat_map(Self::open_addresses).collect();
        for address in self.open_addresses() {
            if !remain.contains(&address) {
                // A call that is not open any more needs nothing.
                drop(self.executor.discard(address).await);
            }
        }
    }

    /// Returns the addresses of the open calls, and of the questions below them.
    fn open_addresses(&self) -> impl Iterator<Item = &CallAddress> {
        let below = self.below.iter().flat_map(OpenChildRun::open_addresses);
        self.outcomes.iter().filter_map(CallOutcome::address).chain(below)
    }

    /// Returns the stored form.
    pub(super) fn stored_body(&self) -> OpenBatchBody {
        let definitions = self.outcomes.iter().map(|it| definition_hash(&self.executor, it.name()));
        let mut body = OpenBatchBody::new(self.outcomes.clone(), definitions.collect(), self.after.clone());
        body.below.clone_from(&self.below);
        body
    }

    /// Returns the batch of a stored form. Open calls whose tools are gone or have changed are answered with an error.
    pub(super) async fn restored_failing_changed_tools(body: OpenBatchBody, executor: Executor) -> Self {
        let OpenBatchBody { outcomes, definitions, after, below, .. } = body;
        let mut batch = Self { executor, outcomes, after, below };
        for index in 0..batch.outcomes.len() {
            let outcome = &batch.outcomes[index];
            let Some(address) = outcome.address() else { continue };
            let definition = definition_hash(&batch.executor, outcome.name());
            if definitions.get(index) == Some(&definition) {
                continue;
            }
            drop(batch.executor.discard(address).await);
            if let Some(below) = batch.open_child_of(outcome) {
                discard_questions(&batch.executor, below).await;
            }
            let change = if definition.is_none() { "was removed" } else { "has changed" };
            // The body of a call that waits for an approval has not run; work that continues has begun.
            let result = match is_long_running(outcome) {
                true => interrupted_result(outcome, &format!("the tool {change} since the call was made")),
                false => {
                    let reason =
                        format!("the tool {change} since the call was made; the call was not executed");
                    unanswered_result(outcome, &reason)
                }
            };
            batch.set_result(index, result);
        }
        let Self { outcomes, below, .. } = &mut batch;
        below.retain(|it| outcomes.iter().any(|outcome| outcome.address() == Some(&it.call)));
        batch
    }
}

/// Returns the hash of the definition of a tool; `None` if there is no such tool.
pub(super) fn definition_hash(executor: &Executor, name: &str) -> Option<ContentHash> {
    executor.tools().get(name).map(|tool| ToolDefinition::content_hash(tool.definition()))
}

impl UnfinishedCalls {
    /// Returns the calls in order: open calls, and virtual calls for those that wait for an approval.
    pub(super) fn calls(&self) -> Vec<ToolCall> {
        let mut confirmations = self.confirmations.iter();
        let calls = self.open.iter().filter_map(|outcome| match outcome {
            CallOutcome::External(call, _) => Some((**call).clone()),
            CallOutcome::Pending(pending) if matches!(pending.operation, Operation::Confirmation(_)) => {
                confirmations.next().cloned()
            }
            CallOutcome::Pending(pending) => Some(pending.call.clone()),
            CallOutcome::Finished(_) => None,
        });
        calls.collect()
    }

    pub(super) fn into_end(self, reason: EndReason) -> End {
        let has_paths = self.paths.iter().any(|path| !path.is_empty());
        let paths = if has_paths { self.paths } else { Vec::new() };
        End { open: self.open, confirmations: self.confirmations, paths, ..End::new(reason) }
    }
}

/// Returns the problem of an id that several open calls have.
pub(super) fn ambiguous_call_problem(call: &CallRef) -> String {
    format!("several open calls have the id `{call}`; use the address of one")
}

/// Returns the request for an approval that a call waits for.
pub(super) fn approval_request(outcome: &CallOutcome) -> Option<&ApprovalRequest> {
    match outcome {
        CallOutcome::Pending(pending) => match &pending.operation {
            Operation::Confirmation(request) => Some(request),
            Operation::LongRunning(_) => None,
        },
        _ => None,
    }
}

/// Returns `true` if `call` names the call at `above`.
fn names_call_at(call: &CallRef, above: &CallAddress) -> bool {
    match call {
        CallRef::Id(id) => *id == above.call_id,
        CallRef::Address(address) | CallRef::Question(address, _) | CallRef::Request { address, .. } => {
            address == above
        }
    }
}

/// Returns `true` if `call` names a finished call, of which only the id is known.
fn is_finished_call_named(outcome: &CallOutcome, call: &CallRef) -> bool {
    match call {
        CallRef::Id(id) => outcome.id() == id,
        CallRef::Address(address) | CallRef::Question(address, _) | CallRef::Request { address, .. } => {
            *outcome.id() == address.call_id
        }
    }
}

/// Returns the result of a call that can no longer be answered.
pub(super) fn interrupted_result(outcome: &CallOutcome, problem: &str) -> ToolResult {
    let text = format!("the call was interrupted, and may have taken effect ({problem})");
    error_result(outcome.id(), outcome.name(), &text)
}

/// Returns the interim result of work that continues.
pub(super) fn interim_result(outcome: &CallOutcome) -> Option<ToolResult> {
    outcome.result().filter(|_| approval_request(outcome).is_none()).cloned()
}

/// Returns the result of a call that has no answer.
pub(super) fn unanswered_result(outcome: &CallOutcome, reason: &str) -> ToolResult {
    error_result(outcome.id(), outcome.name(), reason)
}

/// Returns the result of a call that was not executed to its end.
pub(super) fn unexecuted_result(call: &ToolCall, reason: &str) -> ToolResult {
    error_result(&call.id, &call.name, reason)
}

/// Returns a failure: the model reads its reason, which it does not of a cancellation.
fn error_result(id: &CallId, name: &str, reason: &str) -> ToolResult {
    ToolResult::new(id.clone(), Arc::<str>::from(name), Err(ToolError::failed(reason.to_owned())))
}

#[cfg(test)]
mod tests;
