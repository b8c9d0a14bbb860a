//! The ends of durable calls, taken in any process: by the caller that waits, or as answers to open calls.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use bytes::Bytes;
use tool_runtime::{
    ErrorKind, Executor, ToolError, ToolOutput, ToolResult,
    call::{CallAddress, Operation, Pending},
    open_calls::{OpenCall, OpenCallError},
};

use super::{durable::DurableCalls, tool::interrupted_error};
use crate::{
    CallState, FleetError, QueueEpoch, QueuedCall,
    queue::{CallEnd, CallSeal, id_prefix, result_value_name},
    values::{ReadError, ValueOwner},
};

/// The pause between two looks at the queue.
const ANSWER_INTERVAL: Duration = Duration::from_millis(500);

/// The number of open calls that cannot be read after which one look ends: its queue or store may be away.
const MAX_FAILURES: usize = 8;

/// A durable call that has ended, and waits for its caller.
#[derive(Debug)]
#[non_exhaustive]
pub struct EndedCall {
    /// The id in the queue, which is the operation of the open call.
    pub id: String,
    /// The outcome.
    pub outcome: Result<ToolOutput, ToolError>,
    /// `false` if the work goes on under the operation that the output names. Then this call is not asked for again, and its result comes from
    /// the program: once the durable call is removed, its end would be an error.
    pub is_final: bool,
}

/// An open call that was answered by the result of its durable call.
#[derive(Debug)]
#[non_exhaustive]
pub struct AnsweredCall {
    /// The address of the call.
    pub address: CallAddress,
    /// The result for the model.
    pub result: ToolResult,
    /// `false` if the call is still open, since its work goes on under the operation that the result names.
    pub is_final: bool,
}

impl DurableCalls {
    /// Answers the open calls of `executor` whose durable calls have ended, and removes those from the queue. Of several processes that do so, one
    /// answers each call. An open call whose durable call is no more in the queue, such as one that was purged, or that the broker has lost, is
    /// answered with an error that says so.
    ///
    /// An open call is one that is in the executor's [store](tool_runtime::executor::ExecutorBuilder::open_calls), and names the durable call as its
    /// operation. The process needs no connection to the workers. What it does with the results, such as continuing a conversation, is its own; an
    /// agent that runs in a session takes them as answers instead: see [`ended_call`](Self::ended_call).
    ///
    /// A program that drops the future before its end may lose the results of calls that it has answered.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue or the store fails before a call was answered. After that, the calls that were answered are
    /// returned, and the others are left for the next time.
    pub async fn answer_open_calls(&self, executor: &Executor) -> Result<Vec<AnsweredCall>, FleetError> {
        let pool = self.key().pool();
        let open = executor.open_calls().await.map_err(FleetError::OpenCalls)?;
        let open = open.into_iter().filter(|call| matches!(call, OpenCall::LongRunning(..)));
        let open: HashMap<String, OpenCall> =
            open.map(|call| (id_prefix(pool, call.address()), call)).collect();
        let (mut answered, mut failures) = (Vec::new(), Vec::new());
        if open.is_empty() {
            return Ok(answered);
        }
        let mut removed = self.settle_calls().await?;
        let listed = self.list_unanswered().await?;
        let listed_prefixes: HashSet<&str> = listed.iter().map(|call| prefix_of(&call.id)).collect();
        let ended = listed.iter().filter(|call| call.state.is_ended());
        let ended = ended.filter_map(|call| open.get(prefix_of(&call.id)));
        let missing = open.iter().filter(|(prefix, _)| !listed_prefixes.contains(prefix.as_str()));
        for call in ended.chain(missing.map(|(_, call)| call)) {
            match self.answer_ended(executor, call).await {
                Ok(Some((answer, names))) => {
                    answered.push(answer);
                    removed.extend(names);
                }
                Ok(None) => {}
                // One that cannot be read holds up no other.
                Err(error) => {
                    tracing::warn!(%error, call = %call.address(), "an open call is answered later");
                    failures.push(error);
                    if failures.len() >= MAX_FAILURES {
                        break;
                    }
                }
            }
        }
        self.delete_values(removed).await;
        match failures.into_iter().next() {
            Some(error) if answered.is_empty() => Err(error),
            _ => Ok(answered),
        }
    }

    /// Answers an open call by the end of the durable call that is its operation; `None` if there is none of this pool, if it has not
    /// ended, or was answered elsewhere. Returns the names of its values, too.
    async fn answer_ended(
        &self,
        executor: &Executor,
        call: &OpenCall,
    ) -> Result<Option<(AnsweredCall, Vec<String>)>, FleetError> {
        let Some(id) = self.operation_of(executor, call.address()).await? else { return Ok(None) };
        let Some((ended, end)) = self.read_end(&id).await? else { return Ok(None) };
        // Another process may have answered it meanwhile by an interim result, and its work goes on: before the durable call was removed, the open one got
        // another operation.
        if ended.is_none() && self.operation_of(executor, call.address()).await?.is_none() {
            return Ok(None);
        }
        // A process that answered it and has ended may not have used the result: it stays until it is too old.
        let Some(answer) = answer_call(executor, call, end).await? else { return Ok(None) };
        let names = match &ended {
            Some(ended) => self.remove_taken(ended).await,
            None => Vec::new(),
        };
        Ok(Some((answer, names)))
    }

    /// Returns the durable call that an open call has as its operation; `None` if there is none of this pool. Only the program that opened the call
    /// could write it: a worker of another pool has no power over it.
    async fn operation_of(
        &self,
        executor: &Executor,
        address: &CallAddress,
    ) -> Result<Option<String>, FleetError> {
        match executor.open_operation(address).await {
            Ok(operation) => Ok(operation.filter(|id| self.is_id_of(id, address))),
            Err(error @ OpenCallError::Store(_)) => Err(FleetError::OpenCalls(error)),
            Err(_) => Ok(None),
        }
    }

    /// Removes a call whose end was taken; returns the names of its values.
    async fn remove_taken(&self, call: &QueuedCall) -> Vec<String> {
        let removed = self.remove_known(call).await;
        removed.map(Option::unwrap_or_default).unwrap_or_else(|error| {
            tracing::warn!(%error, id = call.id, "a result that was taken is still in its queue");
            Vec::new()
        })
    }

    /// Returns `true` if `id` is one of the call with this address, in this pool.
    fn is_id_of(&self, id: &str, address: &CallAddress) -> bool {
        prefix_of(id) == id_prefix(self.key().pool(), address)
    }

    /// Waits until [`answer_open_calls`](Self::answer_open_calls) has answered a call: looks twice a second. It does not return while there is no
    /// open call of a durable one, such as after all have been answered or have expired.
    ///
    /// # Errors
    ///
    /// As [`answer_open_calls`](Self::answer_open_calls).
    pub async fn wait_for_answers(&self, executor: &Executor) -> Result<Vec<AnsweredCall>, FleetError> {
        loop {
            let answered = self.answer_open_calls(executor).await?;
            if !answered.is_empty() {
                return Ok(answered);
            }
            tokio::time::sleep(ANSWER_INTERVAL).await;
        }
    }

    /// Returns the end of the durable call that an open call of a batch or of an agent's run has as its operation, for a program that answers it
    /// itself: an agent by `Runner::resume` with `Answers::result(&pending.address, ended.outcome)`. The program then removes it by
    /// [`remove_ended`](Self::remove_ended). `None` while the call goes on, and if it is no durable call of this pool. The end of a call that is no more in
    /// the queue, since it was lost, purged or answered, is an error that says so.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue fails.
    pub async fn ended_call(&self, pending: &Pending) -> Result<Option<EndedCall>, FleetError> {
        let Operation::LongRunning(Some(id)) = &pending.operation else { return Ok(None) };
        if !self.is_id_of(id, &pending.address) {
            return Ok(None);
        }
        let removed = self.settle_calls().await?;
        self.delete_values(removed).await;
        let Some((_, end)) = self.read_end(id).await? else { return Ok(None) };
        let (outcome, is_final) = outcome_of(end);
        Ok(Some(EndedCall { id: id.clone(), outcome, is_final }))
    }

    /// Removes a call that has ended from the queue; `false` if another process did.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue fails.
    pub async fn remove_ended(&self, id: &str) -> Result<bool, FleetError> {
        let names = self.remove_by_id(id).await?;
        let is_removed = names.is_some();
        self.delete_values(names.unwrap_or_default()).await;
        Ok(is_removed)
    }

    /// Cancels the durable call of the address; `fleet cancel` has the id of the call in place of it, the operation of its open call
    /// ([`EndedCall::id`]). [`DurableOpenCalls`](super::DurableOpenCalls) does it for each open call that is discarded or
    /// rejected. A queued one does not run, one that runs
    /// without a start is cancelled by its worker, and one with effects that has started runs to its end. Its end answers the open call,
    /// as always. Returns the state in which it was; `None` if it has ended, or there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the queue fails.
    pub async fn cancel_call(&self, address: &CallAddress) -> Result<Option<CallState>, FleetError> {
        Ok(self.cancel_listed(address).await?.map(|(_, state)| state))
    }

    /// Returns the id, too. Of several attempts, one has not ended.
    pub(super) async fn cancel_listed(
        &self,
        address: &CallAddress,
    ) -> Result<Option<(String, CallState)>, FleetError> {
        let prefix = id_prefix(self.key().pool(), address);
        let states = [CallState::Queued, CallState::Taken, CallState::Started];
        let running = self.queue().list_calls(&states).await?;
        let mut cancelled = None;
        for call in running.into_iter().filter(|call| prefix_of(&call.id) == prefix) {
            let state = self.queue().cancel_call(&call.id).await?;
            cancelled = state.filter(|state| !state.is_ended()).map(|state| (call.id, state)).or(cancelled);
        }
        Ok(cancelled)
    }

    /// Lists the calls, but those that were interrupted and answered, which are listed without their bytes.
    async fn list_unanswered(&self) -> Result<Vec<QueuedCall>, FleetError> {
        let mut listed = self.queue().list_calls(&CallState::ALL).await?;
        listed.retain(|call| call.bytes > 0);
        Ok(listed)
    }

    /// Reads the end of the call `id`; `None` if it has not ended, or was interrupted and answered. An open call is answered
    /// before its durable call is removed: the end of one that is no more there does not answer it again.
    async fn read_end(&self, id: &str) -> Result<Option<(Option<QueuedCall>, CallEnd)>, FleetError> {
        let Some((call, bytes)) = self.queue().read_call(id).await? else {
            return Ok(Some((None, removed_end())));
        };
        let end = if call.bytes > 0 { self.end_of(&call, &bytes).await? } else { None };
        Ok(end.map(|end| (Some(call), end)))
    }

    /// Returns `true` if the call has not ended, as far as the queue knows without reading its bytes.
    pub(super) async fn goes_on(&self, id: &str) -> Result<bool, FleetError> {
        Ok(self.queue().find_call(id).await?.is_some_and(|call| !call.state.is_ended()))
    }

    /// Takes the end of a call for which its caller waits, and the names of its values; `None` if it goes on.
    pub(super) async fn take_end(&self, id: &str) -> Result<Option<(CallEnd, Vec<String>)>, FleetError> {
        let Some((call, bytes)) = self.queue().read_call(id).await? else {
            return Ok(Some((removed_end(), Vec::new())));
        };
        let Some(end) = self.end_of(&call, &bytes).await? else { return Ok(None) };
        Ok(Some((end, self.remove_taken(&call).await)))
    }

    /// Returns the end of a call; `None` if it has not ended. Only a result is sealed: the other states are those of the record.
    async fn end_of(&self, call: &QueuedCall, bytes: &Bytes) -> Result<Option<CallEnd>, FleetError> {
        let error = match call.state {
            CallState::Queued | CallState::Taken | CallState::Started => return Ok(None),
            CallState::Finished => return self.read_result(call, bytes).await.map(Some),
            CallState::Interrupted => interrupted_error(call.workers, call.was_started),
            CallState::Cancelled => ToolError::cancelled(),
            // Such as a worker that gave it back.
            CallState::Expired if call.workers > 0 => interrupted_error(call.workers, call.was_started),
            CallState::Expired => {
                let problem = "no worker took the call before it expired; unless another program changed the queue, nothing was executed: \
                               start workers that serve the queue (`work --durable`)";
                ToolError::new(ErrorKind::Unavailable, problem.to_owned())
            }
        };
        Ok(Some(CallEnd::Error(Box::new(error))))
    }

    /// Reads the result of a finished call. The seal binds it to the id, which follows from the address of the call.
    async fn read_result(&self, call: &QueuedCall, bytes: &Bytes) -> Result<CallEnd, FleetError> {
        let seal = CallSeal { key: self.key(), id: &call.id, definition: call.key };
        let QueuedCall { id, epoch, request, .. } = call.clone();
        let epoch = QueueEpoch { id, epoch, request };
        let lost = |problem: String| Ok(CallEnd::Error(Box::new(ToolError::failed(problem))));
        let Some(contents) = seal.open_result(&epoch, bytes) else {
            return lost(
                "the result of the call cannot be read: it is older than the `result_age` of its worker, was written under another key, or was altered in \
                 the queue; the call may have taken effect"
                    .to_owned(),
            );
        };
        let name = || result_value_name(self.key().pool(), &epoch);
        let values = self.values().map(|values| &**values);
        match contents.read(values, name, ValueOwner::QueuedResult(&call.id)).await {
            Ok(end) => Ok(end),
            Err(ReadError::Lost(error)) => lost(format!("the call ended, and its result is lost: {error}")),
            Err(ReadError::Unanswered(error)) => Err(error),
        }
    }
}

/// The end of a call that is no more in its queue: it was purged, or the broker has lost it.
fn removed_end() -> CallEnd {
    let error = ToolError::failed("the call was removed from its queue; it may have taken effect");
    CallEnd::Error(Box::new(error))
}

/// Answers an open call; `None` if it was answered elsewhere.
async fn answer_call(
    executor: &Executor,
    call: &OpenCall,
    end: CallEnd,
) -> Result<Option<AnsweredCall>, FleetError> {
    let address = call.address();
    let submitted = match end {
        CallEnd::Interim(output) => executor.update(address, *output).await.map(|result| (result, false)),
        end => {
            // The worker's name of the tool has no prefix.
            let rename = |error: ToolError| match error.tool() {
                Some(_) => error.with_tool(call.call().name.clone()),
                None => error,
            };
            let outcome = outcome_of(end).0.map_err(rename);
            executor.submit_result(address, outcome).await.map(|result| (result, true))
        }
    };
    match submitted {
        Ok((result, is_final)) => Ok(Some(AnsweredCall { address: address.clone(), result, is_final })),
        Err(OpenCallError::NotOpen(_)) => Ok(None),
        // Its result stays in the queue.
        Err(error) => Err(FleetError::OpenCalls(error)),
    }
}

fn outcome_of(end: CallEnd) -> (Result<ToolOutput, ToolError>, bool) {
    match end {
        CallEnd::Output(output) => (Ok(*output), true),
        CallEnd::Interim(output) => (Ok(*output), false),
        CallEnd::Error(error) => (Err(*error), true),
    }
}

/// Returns the part of an id that all attempts of a call have.
fn prefix_of(id: &str) -> &str {
    id.split('-').next().unwrap_or_default()
}
