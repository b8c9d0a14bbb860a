//! One durable call of a worker: from its request in the queue to its result there.

use std::{
    convert::Infallible,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use tokio::time::MissedTickBehavior;
use tool_runtime::{
    BoxFuture, CallOutcome, ErrorKind, RunContext, ToolError,
    call::{CallAddress, Operation, Pending},
    context::{BudgetItem, BudgetSource, ConfirmationAnswer},
    executor::{CallIntent, CallJournal, CallStream, RunSettings, SharedCallJournal, StreamItem},
    policy::{Approval, ApprovalCause, ApprovalHandle, Approver},
};

use super::{
    OTHER_DEFINITION, Server, approver::approval_of, call::call_in_run, state::RunningCall,
    storage_attempts::StorageAttempts,
};
use crate::{
    CallQueue, FleetError, LeaseState, QueueEpoch, StartGrant, TakenCall,
    message::{CallEpoch, CallRequest, Message},
    queue::{CallEnd, CallSeal, SealedContents},
};

/// Returns the name of a queued call among those of a worker: one that was stored again under its id is another one.
pub(super) fn epoch_of(QueueEpoch { id, epoch, request }: &QueueEpoch) -> CallEpoch {
    CallEpoch { call: format!("{id}.{request}"), epoch: *epoch }
}

/// Removes a call from those that run when its task ends, also by a panic.
struct Registration<'a>(&'a Server, CallEpoch);

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        self.0.calls.remove_call(&self.1);
    }
}

impl Server {
    pub(super) async fn run_queued_call(
        self: Arc<Self>,
        queue: Arc<dyn CallQueue>,
        taken: TakenCall,
        running: Arc<RunningCall>,
    ) {
        let TakenCall { call, key, request } = taken;
        let slot = self.channel.metrics().take_slot();
        let registration = Registration(&self, epoch_of(&call));
        let seal = CallSeal { key: &self.worker.key, id: &call.id, definition: key };
        let Some(contents) = seal.open_request(&request) else {
            // A worker with the right key may read it. The lease ends by itself, and after some workers the call.
            tracing::warn!(
                id = call.id,
                "a queued call is older than the `call_age` of its caller, was written under another key, or was altered, and is not run here"
            );
            return;
        };
        let has_value = matches!(contents, SealedContents::Stored(_));
        let (start, reply) = (Arc::new(OnceLock::new()), OnceLock::new());
        let count = self.channel.metrics().begin_run();
        let working = async {
            let request = self.read_queued_request(contents, &call, &running).await.map(|stored| {
                let _ = reply.set(stored.reply);
                stored.request
            });
            let stream = request.and_then(|it| self.queued_stream(it, &queue, &call, &running, &start));
            let end = match stream {
                Ok(stream) => end_of(stream).await,
                Err(error) => CallEnd::Error(Box::new(error)),
            };
            if start.get() == Some(&StartGrant::GivenBefore) {
                // The body may have run elsewhere: what is said here would not be true. The lease ends the call as interrupted.
                tracing::warn!(id = call.id, "a queued call was started before, and is not run again");
                return false;
            }
            count.end(match &end {
                CallEnd::Error(error) => Some(error),
                _ => None,
            });
            self.store_end(&*queue, &call, &seal, end).await
        };
        let stored = tokio::select! {
            stored = working => stored,
            never = self.keep_lease(&*queue, &call, &running) => match never {},
        };
        if !stored {
            return;
        }
        let reply = reply.into_inner().flatten();
        if let Some(reply) = reply.filter(|it| it.starts_with(&self.channel.subject(""))) {
            self.send_or_warn(&reply, Message::CallEnded).await;
        }
        if has_value {
            // It takes no slot.
            drop((slot, registration));
            self.delete_request_value(&call).await;
        }
    }

    /// Begins the call in an executor of its own run.
    fn queued_stream(
        &self,
        mut request: CallRequest,
        queue: &Arc<dyn CallQueue>,
        call: &QueueEpoch,
        running: &RunningCall,
        start: &Arc<OnceLock<StartGrant>>,
    ) -> Result<CallStream, ToolError> {
        // As a call that is not durable.
        let refused = self
            .refusal_reason(&request)
            .or_else(|| self.changes_arguments(request.definition, &request.arguments));
        if let Some(problem) = refused {
            return Err(ToolError::new(
                ErrorKind::Unavailable,
                format!("the worker refused the call: {problem}"),
            ));
        }
        let Some(definition) = self.index.definition(request.definition) else {
            return Err(ToolError::new(ErrorKind::Unavailable, OTHER_DEFINITION));
        };
        let (tool_call, mut run) = call_in_run(definition, &mut request, running.token.clone());
        if request.run.is_some_and(|run| run.has_budget) {
            run = run.with_budget_source(Arc::new(NoBudget));
        }
        let executor = &self.worker.executor;
        let journal = QueueJournal {
            queue: Arc::clone(queue),
            call: call.clone(),
            start: Arc::clone(start),
            own: executor.journal().cloned(),
        };
        let settings = RunSettings::new()
            .single_attempt(true)
            .unshared_open_calls(true)
            .prepared_calls(executor.tools().steps_of(definition.name()).prepares_arguments)
            .journal(SharedCallJournal::new(journal))
            .approver(StoredApproval(request.approval));
        let executor = executor
            .with_settings(&run, settings)
            .map_err(|error| ToolError::failed(format!("the worker cannot run the call: {error}")))?;
        Ok(executor.batch(vec![tool_call]).with_run(run).stream())
    }

    /// Extends the lease until this future is dropped, and cancels the call once it is lost, or the call is to be cancelled.
    async fn keep_lease(
        &self,
        queue: &dyn CallQueue,
        call: &QueueEpoch,
        running: &RunningCall,
    ) -> Infallible {
        let mut beat = tokio::time::interval(self.worker.heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beat.reset();
        loop {
            beat.tick().await;
            match queue.extend_lease(call, self.lease()).await {
                Ok(LeaseState::Held) => {}
                Ok(LeaseState::CancelRequested | LeaseState::Lost) => running.token.cancel(),
                Err(error) => {
                    tracing::warn!(id = call.id, %error, "the lease of a durable call was not extended; trying again");
                }
            }
        }
    }

    /// Stores the end of a call; `false` if the queue refused it, or could not be reached for a minute: then the call goes to another
    /// worker, or ends as interrupted if its body has effects.
    async fn store_end(
        &self,
        queue: &dyn CallQueue,
        call: &QueueEpoch,
        seal: &CallSeal<'_>,
        end: CallEnd,
    ) -> bool {
        let stored = async {
            let mut sealed = self.seal_end(queue, call, seal, &end, None).await?;
            let mut stored = store_sealed(queue, call, &sealed.bytes).await;
            if let Err(full @ FleetError::QueueFull { .. }) = stored {
                sealed = self.seal_end(queue, call, seal, &end, Some(full)).await?;
                stored = store_sealed(queue, call, &sealed.bytes).await;
            }
            // After an error, it may be stored.
            if matches!(stored, Ok(false)) {
                self.delete_refused(sealed).await;
            }
            stored
        };
        stored.await.unwrap_or_else(|error: FleetError| {
            tracing::error!(id = call.id, %error, "the result of a durable call is lost; the call runs again, or ends as interrupted if its body has effects");
            false
        })
    }
}

/// Stores the end of a call; `false` if the queue refused it.
///
/// # Errors
///
/// The last error, if it is not stored within a minute.
async fn store_sealed(queue: &dyn CallQueue, call: &QueueEpoch, sealed: &Bytes) -> Result<bool, FleetError> {
    let attempts = StorageAttempts::new(&call.id);
    loop {
        match queue.end_call(call, sealed.clone()).await {
            Ok(true) => return Ok(true),
            Ok(false) => {
                tracing::warn!(
                    id = call.id,
                    epoch = call.epoch,
                    "the result of a durable call was refused: it has ended, or another worker has it"
                );
                return Ok(false);
            }
            Err(error) => attempts.wait_after(error, "the result of a durable call was not stored").await?,
        }
    }
}

/// Runs a call to its end. Its updates, progress and log lines have no reader.
async fn end_of(mut stream: CallStream) -> CallEnd {
    while let Some(item) = stream.next().await {
        let StreamItem::Outcomes(outcomes) = item else { continue };
        let Some(outcome) = outcomes.into_iter().next() else { break };
        return match outcome {
            CallOutcome::Finished(result) => match result.outcome {
                Ok(output) => CallEnd::Output(Box::new(output)),
                Err(error) => CallEnd::Error(Box::new(error)),
            },
            CallOutcome::Pending(pending) => end_of_pending(*pending),
            CallOutcome::External(..) => unanswerable(
                "the worker left the call to its own caller; run this tool in the program of the caller",
            ),
        };
    }
    let error = ToolError::new(ErrorKind::Internal, "the executor of the worker returned no outcome");
    CallEnd::Error(Box::new(error))
}

/// Returns the end of a call that the worker's executor holds open. What the body of a long-running tool returns is the result of a durable call,
/// unless it names an operation under which its work goes on.
fn end_of_pending(Pending { operation, result, .. }: Pending) -> CallEnd {
    match operation {
        Operation::LongRunning(named) => {
            let output = result.map_or_else(|| Ok(Default::default()), |result| result.outcome);
            match (output, named) {
                (Ok(output), Some(named)) => CallEnd::Interim(Box::new(output.with_operation_id(named))),
                (Ok(output), None) => CallEnd::Output(Box::new(output)),
                (Err(error), _) => CallEnd::Error(Box::new(error)),
            }
        }
        _ => unanswerable(
            "the body of a durable call asked a person, and its caller may be gone; ask before the call, by `confirm`",
        ),
    }
}

fn unanswerable(problem: &'static str) -> CallEnd {
    CallEnd::Error(Box::new(ToolError::new(ErrorKind::Unavailable, problem)))
}

/// Obtains the start of a body with effects, which the queue gives once, and asks again while the queue fails: nothing was executed, and the call has no end
/// before it is known whether another worker has it.
///
/// # Errors
///
/// The last error of the queue, after a minute.
async fn obtain_start(queue: &dyn CallQueue, call: &QueueEpoch) -> Result<StartGrant, FleetError> {
    let attempts = StorageAttempts::new(&call.id);
    loop {
        match queue.start_call(call).await {
            Ok(grant) => return Ok(grant),
            Err(error) => attempts.wait_after(error, "the start of a durable call was not given").await?,
        }
    }
}

/// Obtains the start of a body with effects from the queue, before the intent is stored in the journal of the worker's own executor.
struct QueueJournal {
    queue: Arc<dyn CallQueue>,
    call: QueueEpoch,
    /// The answer of the queue.
    start: Arc<OnceLock<StartGrant>>,
    own: Option<SharedCallJournal>,
}

impl CallJournal for QueueJournal {
    async fn starting(&self, intent: &CallIntent, run: Option<&RunContext>) -> Result<(), ToolError> {
        let unavailable = |problem: String| Err(ToolError::new(ErrorKind::Unavailable, problem));
        let grant = match obtain_start(&*self.queue, &self.call).await {
            Ok(grant) => grant,
            Err(error) => {
                return unavailable(format!(
                    "the queue did not give the start of the call; nothing was executed: {error}"
                ));
            }
        };
        let _ = self.start.set(grant);
        if grant != StartGrant::Given {
            return unavailable(
                "the call was cancelled, or another worker has it; nothing was executed".to_owned(),
            );
        }
        match &self.own {
            Some(own) => own.starting(intent, run).await,
            None => Ok(()),
        }
    }

    async fn ended(&self, address: &CallAddress, outcome: &CallOutcome, run: Option<&RunContext>) {
        if let Some(own) = &self.own {
            own.ended(address, outcome, run).await;
        }
    }
}

/// The approval that the caller's executor was given for exactly this call. Questions of the body have no answer.
struct StoredApproval(Option<ConfirmationAnswer>);

impl Approver for StoredApproval {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        Ok(match &self.0 {
            _ if request.cause == ApprovalCause::Tool => Approval::Pending,
            Some(answer) if answer.confirmed => approval_of(answer.clone()),
            _ => Approval::Rejected("the caller was not given an approval for this call".to_owned()),
        })
    }
}

/// Denies each call and round of a child run: the caller that keeps the budget may be gone.
struct NoBudget;

impl BudgetSource for NoBudget {
    fn request(&self, _: BudgetItem) -> BoxFuture<'_, Result<(), ToolError>> {
        let problem = "a durable call cannot draw on the budget of its caller; make the calls of this tool not durable, or the run one without a budget";
        Box::pin(async move { Err(ToolError::new(ErrorKind::Unavailable, problem)) })
    }

    fn count_tokens(&self, _: u64) {}
}
