//! A batch whose results are not stored yet, and the results of its calls that have no answer.

use std::sync::Arc;

use tool_runtime::{
    CallOutcome, Executor, ToolCall, ToolError, ToolResult,
    call::{CallId, Operation},
    definition::{ContentHash, ToolDefinition},
    open_calls::CallRef,
    policy::ApprovalRequest,
};

use super::{End, EndReason, entry::OpenBatchBody};
use crate::Message;

/// A batch whose results are not stored yet.
pub(super) struct OpenBatch {
    /// The executor that keeps its open calls.
    pub(super) executor: Executor,
    /// The outcomes, in the order of the calls.
    pub(super) outcomes: Vec<CallOutcome>,
    /// The messages that follow the results.
    pub(super) after: Vec<Message>,
}

/// The unfinished calls of a batch, as its run reports them.
pub(super) struct UnfinishedCalls {
    open: Vec<CallOutcome>,
    confirmations: Vec<ToolCall>,
}

impl OpenBatch {
    /// Returns the calls without a final result; `None` if all have one.
    pub(super) fn unfinished(&self) -> Option<UnfinishedCalls> {
        let open: Vec<_> = self.outcomes.iter().filter(|outcome| !outcome.is_finished()).cloned().collect();
        let requests = open.iter().filter_map(approval_request);
        let confirmations = requests.map(|request| self.executor.confirmation_call(request)).collect();
        (!open.is_empty()).then_some(UnfinishedCalls { open, confirmations })
    }

    /// Returns the index of the open call that `call` names; `None` if that call has its result.
    pub(super) fn find_open(&self, call: &CallRef) -> Result<Option<usize>, String> {
        let is_named = |outcome: &CallOutcome| match call {
            CallRef::Id(id) => outcome.id() == id,
            CallRef::Address(address) => outcome.address() == Some(address),
            CallRef::Question(address, hash) | CallRef::Request { address, hash, .. } => {
                approval_request(outcome).is_some_and(|it| it.address == *address && it.hash == *hash)
            }
        };
        let all = self.outcomes.iter().enumerate();
        let open: Vec<_> =
            all.filter(|(_, it)| !it.is_finished() && is_named(it)).map(|(index, _)| index).collect();
        match open[..] {
            [index] => Ok(Some(index)),
            [] if self.outcomes.iter().any(|it| it.is_finished() && had_name(it, call)) => Ok(None),
            [] => Err(format!("no call `{call}` waits for an answer; use an id or address of `End::open`")),
            _ => Err(format!("several open calls have the id `{call}`; use the address of one")),
        }
    }

    /// Replaces the outcome of a call by its result.
    pub(super) fn finish(&mut self, index: usize, result: ToolResult) {
        self.replace(index, CallOutcome::Finished(result));
    }

    pub(super) fn replace(&mut self, index: usize, outcome: CallOutcome) {
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
        let remain: Vec<_> =
            other.into_iter().flat_map(|it| &it.outcomes).filter_map(CallOutcome::address).collect();
        for address in self.outcomes.iter().filter_map(CallOutcome::address) {
            if !remain.contains(&address) {
                // A call that is not open any more needs nothing.
                drop(self.executor.discard(address).await);
            }
        }
    }

    /// Returns the stored form.
    pub(super) fn body(&self) -> OpenBatchBody {
        let definitions = self.outcomes.iter().map(|it| definition_hash(&self.executor, it.name()));
        OpenBatchBody::new(self.outcomes.clone(), definitions.collect(), self.after.clone())
    }

    /// Returns the batch of a stored form. Open calls whose tools are gone or have changed are answered with an error.
    pub(super) async fn restored(body: OpenBatchBody, executor: Executor) -> Self {
        let OpenBatchBody { outcomes, definitions, after, .. } = body;
        let mut batch = Self { executor, outcomes, after };
        for index in 0..batch.outcomes.len() {
            let outcome = &batch.outcomes[index];
            let Some(address) = outcome.address() else { continue };
            let definition = definition_hash(&batch.executor, outcome.name());
            if definitions.get(index) == Some(&definition) {
                continue;
            }
            drop(batch.executor.discard(address).await);
            let change = if definition.is_none() { "was removed" } else { "has changed" };
            let reason = format!("the tool {change} since the call was made; the call was not executed");
            let result = unanswered_result(outcome, &reason);
            batch.finish(index, result);
        }
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
        End { open: self.open, confirmations: self.confirmations, ..End::new(reason) }
    }
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

/// Returns `true` if `call` names a finished call, of which only the id is known.
fn had_name(outcome: &CallOutcome, call: &CallRef) -> bool {
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
