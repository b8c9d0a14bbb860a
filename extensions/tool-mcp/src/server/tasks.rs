//! Calls of long-running tools as tasks: the client is answered at once, and asks for the result later.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rmcp::{
    ErrorData,
    model::{
        CallToolResult, CancelTaskParams, CreateTaskResult, GetTaskParams, GetTaskResult, UpdateTaskParams,
    },
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
};
use tool_runtime::{
    CallOutcome, CancellationToken, ErrorKind, Executor, RunContext, ToolCall, ToolDefinition, ToolError,
    ToolResult,
    call::{Operation, Pending},
    context::{CallSink, Progress},
    event::{EventKind, EventListener},
};

use super::{
    Caller,
    call::{Call, answer_of},
    caller::Way,
    round::UNAVAILABLE,
};

/// The most tasks that are kept, with those that ended.
const TASKS: usize = 10_000;
/// The most tasks of one caller.
const OF_CALLER: usize = 1_000;

/// The tasks of a server.
pub(super) struct Tasks {
    manager: TaskManager,
    lifetime: Duration,
    /// The caller of each task: others do not know it.
    owners: Mutex<Owners>,
}

/// The caller and the start of tasks.
type Owners = HashMap<String, (String, Instant)>;

impl Drop for Tasks {
    fn drop(&mut self) {
        self.manager.shutdown();
    }
}

impl Tasks {
    pub(super) fn new(lifetime: Duration) -> Self {
        Self { manager: TaskManager::new(), lifetime, owners: Mutex::default() }
    }

    /// Returns an error unless the task `id` is one of `caller`.
    fn check(&self, id: &str, caller: &str) -> Result<(), ErrorData> {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        match owners.get(id) {
            Some((owner, _)) if owner == caller => Ok(()),
            _ => Err(ErrorData::invalid_params(format!("there is no task `{id}`"), None)),
        }
    }

    pub(super) fn get(&self, request: &GetTaskParams, caller: &str) -> Result<GetTaskResult, ErrorData> {
        self.check(&request.task_id, caller)?;
        self.manager.get_task(&request.task_id).map(GetTaskResult::new)
    }

    pub(super) fn update(&self, request: UpdateTaskParams, caller: &str) -> Result<(), ErrorData> {
        self.check(&request.task_id, caller)?;
        self.manager.update_task(&request.task_id, request.input_responses)
    }

    pub(super) fn cancel(&self, request: &CancelTaskParams, caller: &str) -> Result<(), ErrorData> {
        self.check(&request.task_id, caller)?;
        self.manager.cancel_task(&request.task_id)
    }

    /// Starts a task of `caller`.
    fn start<F>(
        &self,
        caller: String,
        body: impl FnOnce(TaskContext) -> F,
    ) -> Result<CreateTaskResult, ErrorData>
    where
        F: Future<Output = Result<CallToolResult, TaskExit>> + Send + 'static,
    {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        self.admit(&mut owners, &caller)?;
        let lifetime = u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX);
        let options = TaskOptions::new().with_ttl_ms(lifetime);
        let task = self.manager.spawn(options, |task| Box::pin(body(task)));
        owners.insert(task.task_id.clone(), (caller, Instant::now()));
        Ok(CreateTaskResult::new(task))
    }

    /// Returns an error if there are too many tasks.
    fn admit(&self, owners: &mut Owners, caller: &str) -> Result<(), ErrorData> {
        // The manager drops a task after its lifetime, and its result after the same time again.
        let kept = self.lifetime.saturating_mul(2);
        owners.retain(|_, (_, start)| start.elapsed() <= kept);
        let of_caller = owners.values().filter(|(owner, _)| owner == caller).count();
        if owners.len() < TASKS && of_caller < OF_CALLER {
            return Ok(());
        }
        let message = "too many tasks are kept, also those that ended; try again later";
        Err(ErrorData::new(UNAVAILABLE, message, None))
    }
}

impl Call<'_> {
    /// Returns `true` if the call becomes a task: of a long-running tool, for a client that knows tasks.
    pub(super) fn is_task(&self, definition: &ToolDefinition) -> bool {
        let knows = || self.handler.described(&self.context).capabilities.supports_tasks();
        self.is_modern && definition.metadata().is_long_running() && knows()
    }

    /// Starts the call as a task.
    pub(super) fn task(
        &self,
        executor: Executor,
        definition: ToolDefinition,
        call: ToolCall,
        run: RunContext,
    ) -> Result<CreateTaskResult, ErrorData> {
        let shared = Arc::clone(&self.handler.shared);
        let running = self.handler.admitted(&self.context)?;
        let capabilities = self.handler.described(&self.context).capabilities;
        // A task outlives its request.
        let stop = CancellationToken::new();
        let run = run.with_cancellation(stop.clone());
        let caller = self.handler.identity_of(&self.context);
        shared.tasks.start(caller, |task| async move {
            let _running = running;
            let run = run.provide(Caller::new(Way::Task(task.clone()), capabilities));
            let run = run.with_sink(Arc::new(Status(task.clone())));
            let mut events = executor.subscribe();
            let mut outcomes = {
                let mut calling = pin!(executor.batch(vec![call]).with_run(run).run());
                tokio::select! {
                    outcomes = &mut calling => outcomes,
                    () = task.cancelled() => {
                        stop.cancel();
                        calling.await
                    }
                }
            };
            let outcome = outcomes.pop();
            let outcome =
                outcome.ok_or_else(|| ErrorData::internal_error("the call has no outcome", None))?;
            let outcome = settled(outcome, &mut events, &task).await?;
            let is_cancelled = |result: &ToolResult| {
                result.outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::Cancelled)
            };
            match task.is_cancel_requested() && outcome.result().is_some_and(is_cancelled) {
                true => Err(TaskExit::Cancelled),
                false => Ok(answer_of(&outcome, &definition, true)),
            }
        })
    }
}

/// Waits for the result of an operation that the tool started, unless the tool has said something already.
async fn settled(
    outcome: CallOutcome,
    events: &mut EventListener,
    task: &TaskContext,
) -> Result<CallOutcome, TaskExit> {
    let address = match &outcome {
        CallOutcome::Pending(pending) => match &**pending {
            Pending { operation: Operation::LongRunning(_), result: None, address, .. } => address,
            _ => return Ok(outcome),
        },
        _ => return Ok(outcome),
    };
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = task.cancelled() => return Err(TaskExit::Cancelled),
        };
        let missed = || TaskExit::Error(ErrorData::internal_error("the result of the task was missed", None));
        let event = event.ok_or_else(missed)?.map_err(|_| missed())?;
        if event.address != *address {
            continue;
        }
        match event.kind {
            EventKind::Finished { result } => return Ok(CallOutcome::Finished((*result).clone())),
            EventKind::Updated { update, .. } => task.set_status_message(update.text()),
            _ => {}
        }
    }
}

/// Progress of a task, as its status.
struct Status(TaskContext);

impl CallSink for Status {
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        let of = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let message = progress.message.unwrap_or_else(|| format!("{}{of}", progress.done));
        self.0.set_status_message(message);
        Ok(())
    }
}
