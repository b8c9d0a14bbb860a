//! Requests about tasks, which any process of a cluster answers.

use rmcp::{
    ErrorData, RoleServer,
    model::{CancelTaskParams, CreateTaskResult, GetTaskParams, GetTaskResult, UpdateTaskParams},
    service::RequestContext,
};
use serde::{Deserialize, Serialize};

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
    pub(super) fn answer(
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

impl RequestHandler {
    /// Tells the other processes of a cluster of a task that was started. If they cannot know of it, it is cancelled.
    #[cfg(feature = "postgres")]
    pub(super) async fn share_task(
        &self,
        task: &CreateTaskResult,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Some(link) = self.shared.cluster.get() else { return Ok(()) };
        let id = &task.task.task_id;
        let noted = link.note_task(id, self.shared.tasks.retention()).await;
        if noted.is_err() {
            let cancel = TaskRequest::Cancel(CancelTaskParams::new(id.clone()));
            cancel.answer(&self.shared.tasks, self.caller_subject(context)).ok();
        }
        noted
    }

    /// Does nothing: no other process answers requests about the task.
    #[cfg(not(feature = "postgres"))]
    pub(super) fn share_task(
        &self,
        _: &CreateTaskResult,
        _: &RequestContext<RoleServer>,
    ) -> std::future::Ready<Result<(), ErrorData>> {
        std::future::ready(Ok(()))
    }

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
            && let Some(answer) = link.ask_for_task(&request, caller).await
        {
            return answer;
        }
        request.answer(&self.shared.tasks, caller)
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
