//! Calls of long-running tools as tasks: the client is answered at once, and asks for the result later.

mod limits;

use std::{
    collections::{HashMap, VecDeque},
    io,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
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

pub(super) use self::limits::{TaskLimit, TaskLimits};
use super::{
    Caller,
    call::{ToolCallRequest, call_tool_result},
    caller::QuestionChannel,
    server_state::ServerState,
    task_requests::TaskPermit,
};

/// The tasks of a server.
///
/// The manager of the SDK removes tasks by their age alone, so that each task has one of its own, which is dropped with it.
pub(super) struct Tasks {
    pub(super) lifetime: Duration,
    pub(super) limits: TaskLimits,
    kept: Mutex<KeptTasks>,
}

/// The length of a queue that is not shortened.
const MIN_QUEUE: usize = 64;

#[derive(Default)]
pub(super) struct KeptTasks {
    pub(super) tasks: HashMap<String, KeptTask>,
    /// All tasks, the oldest first. Some of them may be removed already.
    started: VecDeque<String>,
    /// The tasks that have ended, the oldest end first. Some of them may be removed already.
    ended: VecDeque<String>,
    /// The numbers of the tasks of identities.
    of_callers: HashMap<String, usize>,
    result_bytes: usize,
}

/// A task.
pub(super) struct KeptTask {
    manager: TaskManager,
    /// `None` for a caller without an identity: the id of the task, which cannot be guessed, is what it knows alone.
    owner: Option<String>,
    start: Instant,
    /// The size of its result, once it has ended.
    result_bytes: Option<usize>,
}

impl Drop for KeptTask {
    fn drop(&mut self) {
        self.manager.shutdown();
    }
}

impl KeptTasks {
    fn remove(&mut self, id: &str) -> Option<KeptTask> {
        let task = self.tasks.remove(id)?;
        if let Some(owner) = &task.owner
            && let Some(number) = self.of_callers.get_mut(owner)
        {
            *number -= 1;
            if *number == 0 {
                self.of_callers.remove(owner);
            }
        }
        self.result_bytes = self.result_bytes.saturating_sub(task.result_bytes.unwrap_or_default());
        Some(task)
    }

    fn insert(&mut self, id: String, task: KeptTask) {
        if let Some(owner) = &task.owner {
            *self.of_callers.entry(owner.clone()).or_default() += 1;
        }
        self.started.push_back(id.clone());
        self.tasks.insert(id, task);
        let Self { tasks, started, ended, .. } = self;
        for ids in [started, ended] {
            // Seldom, so that it costs little per task.
            if ids.len() > 2 * tasks.len() + MIN_QUEUE {
                ids.retain(|id| tasks.contains_key(id));
            }
        }
    }

    /// Removes the tasks that are older than `time`.
    fn remove_older_than(&mut self, time: Duration, removed: &mut Vec<KeptTask>) {
        while let Some(id) = self.started.front() {
            match self.tasks.get(id) {
                Some(task) if task.start.elapsed() <= time => return,
                _ => {}
            }
            if let Some(id) = self.started.pop_front() {
                removed.extend(self.remove(&id));
            }
        }
    }

    /// Removes the task that ended first, of `owner` if there is one.
    fn remove_first_ended(&mut self, owner: Option<&str>) -> Option<KeptTask> {
        loop {
            let is_of = |id: &String| {
                let task = self.tasks.get(id);
                task.is_none_or(|task| owner.is_none() || task.owner.as_deref() == owner)
            };
            let at = self.ended.iter().position(is_of)?;
            let id = self.ended.remove(at)?;
            if let Some(task) = self.remove(&id) {
                return Some(task);
            }
        }
    }

    /// Notes that the task `id` has ended. Returns the tasks that are removed for its result.
    fn note_end(&mut self, id: &str, bytes: usize, max_bytes: usize) -> Vec<KeptTask> {
        let Some(task) = self.tasks.get_mut(id) else { return Vec::new() };
        task.result_bytes = Some(bytes);
        self.result_bytes = self.result_bytes.saturating_add(bytes);
        let mut removed = Vec::new();
        while self.result_bytes > max_bytes
            && let Some(task) = self.remove_first_ended(None)
        {
            removed.push(task);
        }
        self.ended.push_back(id.to_owned());
        removed
    }
}

impl Tasks {
    pub(super) fn new(lifetime: Duration, limits: TaskLimits) -> Self {
        Self { lifetime, limits, kept: Mutex::default() }
    }

    pub(super) fn lock_tasks(&self) -> MutexGuard<'_, KeptTasks> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the manager of the task `id`, if it is one of `caller`.
    fn task_manager(&self, id: &str, caller: Option<&str>) -> Result<TaskManager, ErrorData> {
        match self.lock_tasks().tasks.get(id) {
            Some(task) if task.owner.as_deref() == caller => Ok(task.manager.clone()),
            _ => {
                let message = format!(
                    "there is no task `{id}`: it never was, its time is over, or newer ones needed its place"
                );
                Err(ErrorData::invalid_params(message, None))
            }
        }
    }

    pub(super) fn get(
        &self,
        request: &GetTaskParams,
        caller: Option<&str>,
    ) -> Result<GetTaskResult, ErrorData> {
        let manager = self.task_manager(&request.task_id, caller)?;
        manager.get_task(&request.task_id).map(GetTaskResult::new)
    }

    pub(super) fn update(&self, request: UpdateTaskParams, caller: Option<&str>) -> Result<(), ErrorData> {
        let manager = self.task_manager(&request.task_id, caller)?;
        manager.update_task(&request.task_id, request.input_responses)
    }

    pub(super) fn cancel(&self, request: &CancelTaskParams, caller: Option<&str>) -> Result<(), ErrorData> {
        self.task_manager(&request.task_id, caller)?.cancel_task(&request.task_id)
    }

    /// Starts a task of `caller`. `shared` has these tasks.
    fn start_task<F>(
        shared: &Arc<ServerState>,
        caller: Option<String>,
        body: impl FnOnce(TaskContext) -> F,
    ) -> Result<CreateTaskResult, ErrorData>
    where
        F: Future<Output = Result<CallToolResult, TaskExit>> + Send + 'static,
    {
        let tasks = &shared.tasks;
        // Dropped after the lock, with code of the program.
        let mut removed = Vec::new();
        let mut kept = tasks.lock_tasks();
        tasks.make_room(&mut kept, caller.as_deref(), &mut removed)?;
        let lifetime = u64::try_from(tasks.lifetime.as_millis()).unwrap_or(u64::MAX);
        let options = TaskOptions::new().with_ttl_ms(lifetime);
        let manager = TaskManager::new();
        let task = manager.spawn(options, |task| {
            let ending = TaskEnd { shared: Arc::downgrade(shared), id: task.task_id().to_owned(), bytes: 0 };
            let body = tokio::time::timeout(tasks.lifetime, body(task));
            Box::pin(async move {
                // Moved as a whole, so that it is dropped with the body.
                let mut ending = ending;
                let result = body.await.unwrap_or_else(|_| Err(TaskExit::Error(task_expired_error())));
                ending.bytes = result.as_ref().map_or(0, result_json_bytes);
                result
            })
        });
        let kept_task = KeptTask { manager, owner: caller, start: Instant::now(), result_bytes: None };
        kept.insert(task.task_id.clone(), kept_task);
        Ok(CreateTaskResult::new(task))
    }

    /// Makes a place for one more task: tasks that have ended go first. Returns an error if too many of them run.
    fn make_room(
        &self,
        kept: &mut KeptTasks,
        caller: Option<&str>,
        removed: &mut Vec<KeptTask>,
    ) -> Result<(), ErrorData> {
        // The manager drops a task after its lifetime, and its result after the same time again.
        kept.remove_older_than(self.lifetime.saturating_mul(2), removed);
        let TaskLimits { max_tasks, max_tasks_per_caller, .. } = self.limits;
        if let Some(caller) = caller
            && kept.of_callers.get(caller).is_some_and(|number| *number >= max_tasks_per_caller)
        {
            let ended = kept.remove_first_ended(Some(caller));
            removed.push(ended.ok_or_else(|| TaskLimit::Caller(max_tasks_per_caller).to_error())?);
        }
        if kept.tasks.len() >= max_tasks {
            let ended = kept.remove_first_ended(None);
            removed.push(ended.ok_or_else(|| TaskLimit::Server(max_tasks).to_error())?);
        }
        Ok(())
    }
}

/// Notes the end of a task, also of one that panics.
struct TaskEnd {
    shared: Weak<ServerState>,
    id: String,
    bytes: usize,
}

impl Drop for TaskEnd {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        #[cfg(feature = "postgres")]
        if let Some(link) = shared.cluster.get() {
            link.note_task_end(&self.id);
        }
        let tasks = &shared.tasks;
        // Dropped outside the lock, with code of the program.
        let _removed = tasks.lock_tasks().note_end(&self.id, self.bytes, tasks.limits.max_result_bytes);
    }
}

fn task_expired_error() -> ErrorData {
    ErrorData::internal_error("the time of the task is over", None)
}

/// Returns the size of a result, which the manager holds as JSON.
fn result_json_bytes(result: &CallToolResult) -> usize {
    let mut counter = ByteCounter(0);
    serde_json::to_writer(&mut counter, result).ok();
    counter.0
}

/// A writer that counts bytes.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ToolCallRequest<'_> {
    /// Returns `true` if the call becomes a task: of a long-running tool, for a client that knows tasks.
    pub(super) fn should_run_as_task(&self, definition: &ToolDefinition) -> bool {
        let knows = || self.handler.client_description(&self.context).capabilities.supports_tasks();
        self.is_modern && definition.metadata().is_long_running() && knows()
    }

    /// Starts the call as a task.
    pub(super) fn start_call_as_task(
        &self,
        executor: Executor,
        definition: ToolDefinition,
        call: ToolCall,
        run: RunContext,
        permit: TaskPermit,
    ) -> Result<CreateTaskResult, ErrorData> {
        let shared = Arc::clone(&self.handler.shared);
        let running = self.handler.admit_request(&self.context)?;
        let capabilities = self.handler.client_description(&self.context).capabilities;
        // A task outlives its request.
        let stop = CancellationToken::new();
        let run = run.with_cancellation(stop.clone());
        let caller = self.handler.caller_subject(&self.context).map(str::to_owned);
        Tasks::start_task(&shared, caller, |task| async move {
            let (_running, mut permit) = (running, permit);
            permit.wait_until_allowed().await?;
            let run = run.provide(Caller::new(QuestionChannel::Task(task.clone()), capabilities));
            let run = run.with_sink(Arc::new(TaskStatusSink(task.clone())));
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
            let missing = || ErrorData::internal_error("the call has no outcome", None);
            let outcome = outcomes.pop().ok_or_else(missing)?;
            let outcome = wait_for_final_outcome(outcome, &mut events, &task).await?;
            let is_cancelled = |result: &ToolResult| {
                result.outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::Cancelled)
            };
            match task.is_cancel_requested() && outcome.result().is_some_and(is_cancelled) {
                true => Err(TaskExit::Cancelled),
                false => Ok(call_tool_result(&outcome, &definition, true)),
            }
        })
    }
}

/// Waits for the result of an operation that the tool started, unless the tool has said something already.
async fn wait_for_final_outcome(
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
struct TaskStatusSink(TaskContext);

impl CallSink for TaskStatusSink {
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        let of = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let message = progress.message.unwrap_or_else(|| format!("{}{of}", progress.done));
        self.0.set_status_message(message);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
