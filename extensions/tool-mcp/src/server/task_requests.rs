//! Requests about tasks, which any process of a cluster answers.

use rmcp::{
    ErrorData, RoleServer,
    model::{CancelTaskParams, CreateTaskResult, GetTaskParams, GetTaskResult, UpdateTaskParams},
    service::RequestContext,
    task_manager::TaskExit,
};
use serde::{Deserialize, Serialize};
#[cfg(feature = "postgres")]
use tokio::sync::oneshot;

#[cfg(feature = "postgres")]
use super::http::{CountedCall, NewTask};
use super::{handler::RequestHandler, tasks::Tasks};

/// A request about a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum TaskRequest {
    Get(GetTaskParams),
    Update(UpdateTaskParams),
    Cancel(CancelTaskParams),
}

impl TaskRequest {
    /// Returns the id of the task.
    #[cfg(feature = "postgres")]
    pub(super) fn task_id(&self) -> &str {
        match self {
            Self::Get(params) => &params.task_id,
            Self::Update(params) => &params.task_id,
            Self::Cancel(params) => &params.task_id,
        }
    }

    /// Answers with a task of this process. `caller` is the identity of the caller, if it has one.
    pub(super) fn answer_from_tasks(
        self,
        tasks: &Tasks,
        caller: Option<&str>,
    ) -> Result<Option<GetTaskResult>, ErrorData> {
        match self {
            Self::Get(params) => tasks.get(&params, caller).map(Some),
            Self::Update(params) => tasks.update(params, caller).map(|()| None),
            Self::Cancel(params) => tasks.cancel(&params, caller).map(|()| None),
        }
    }
}

/// Lets the body of a task run, once the other processes know of the task.
pub(super) struct TaskStart {
    #[cfg(feature = "postgres")]
    sender: Option<oneshot::Sender<()>>,
}

/// Waits until the body of a task may run. In a cluster, the call counts for its caller as long as there is the permit.
pub(super) struct TaskPermit {
    #[cfg(feature = "postgres")]
    receiver: Option<oneshot::Receiver<()>>,
    #[cfg(feature = "postgres")]
    _counted: Option<CountedCall>,
}

#[cfg(feature = "postgres")]
impl TaskPermit {
    /// Waits until the body may run.
    ///
    /// # Errors
    ///
    /// If the task was refused: its body never runs.
    pub(super) async fn wait_until_allowed(&mut self) -> Result<(), TaskExit> {
        let Some(receiver) = self.receiver.take() else { return Ok(()) };
        receiver.await.map_err(|_| TaskExit::Error(ErrorData::internal_error("the task was refused", None)))
    }
}

#[cfg(not(feature = "postgres"))]
impl TaskPermit {
    /// Returns at once: the body may run.
    pub(super) fn wait_until_allowed(&mut self) -> std::future::Ready<Result<(), TaskExit>> {
        std::future::ready(Ok(()))
    }
}

#[cfg(feature = "postgres")]
impl RequestHandler {
    /// Counts the call of a task, and returns the start of its body.
    pub(super) async fn create_task_start(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<(TaskStart, TaskPermit), ErrorData> {
        let _counted = self.count_in_cluster(context).await?;
        let (sender, receiver) = self.shared.cluster.get().map(|_| oneshot::channel()).unzip();
        Ok((TaskStart { sender }, TaskPermit { receiver, _counted }))
    }

    /// Tells the other processes of a cluster of a task, and lets it run. If they cannot know of it, or a limit of all processes is reached, it is
    /// cancelled before its body runs.
    pub(super) async fn share_task(
        &self,
        task: &CreateTaskResult,
        start: TaskStart,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (Some(link), Some(sender)) = (self.shared.cluster.get(), start.sender) else { return Ok(()) };
        let (id, tasks) = (&task.task.task_id, &self.shared.tasks);
        let caller = self.caller_subject(context);
        let new_task = NewTask { id, caller, retention: tasks.retention() };
        let noted = link.register_task(&new_task, tasks.limits).await;
        match noted {
            Ok(()) => drop(sender.send(())),
            Err(_) => {
                drop(TaskRequest::Cancel(CancelTaskParams::new(id.clone())).answer_from_tasks(tasks, caller))
            }
        }
        noted
    }
}

#[cfg(not(feature = "postgres"))]
impl RequestHandler {
    /// Returns the start of the body of a task.
    pub(super) fn create_task_start(
        &self,
        _: &RequestContext<RoleServer>,
    ) -> std::future::Ready<Result<(TaskStart, TaskPermit), ErrorData>> {
        std::future::ready(Ok((TaskStart {}, TaskPermit {})))
    }

    /// Does nothing: no other process answers requests about the task.
    pub(super) fn share_task(
        &self,
        _: &CreateTaskResult,
        _: TaskStart,
        _: &RequestContext<RoleServer>,
    ) -> std::future::Ready<Result<(), ErrorData>> {
        std::future::ready(Ok(()))
    }
}

impl RequestHandler {
    /// Returns the state of a task.
    pub(super) async fn task_state(
        &self,
        request: GetTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let answer = self.answer_task_request(TaskRequest::Get(request), context).await?;
        answer.ok_or_else(|| ErrorData::internal_error("the task has no state", None))
    }

    /// Answers a request about a task; only [`TaskRequest::Get`] has a result.
    pub(super) async fn answer_task_request(
        &self,
        request: TaskRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<GetTaskResult>, ErrorData> {
        let caller = self.caller_subject(context);
        #[cfg(feature = "postgres")]
        if let Some(link) = self.shared.cluster.get()
            && !self.shared.tasks.contains(request.task_id())
            && let Some(answer) = link.ask_process_of_task(&request, caller).await
        {
            return answer;
        }
        request.answer_from_tasks(&self.shared.tasks, caller)
    }
}

#[cfg(feature = "postgres")]
impl Tasks {
    /// Returns `true` if the task `id` is one of this process.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.lock_tasks().tasks.contains_key(id)
    }

    /// Returns the time for which a task is kept, from its start.
    fn retention(&self) -> std::time::Duration {
        self.lifetime.saturating_mul(2)
    }
}
