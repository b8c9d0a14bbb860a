//! The tasks of other processes.
//!
//! A task is in the process that started it. The database knows which one that is; other processes send it the requests about the task.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::{ErrorData, model::GetTaskResult};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use super::{
    Cluster, ClusterError, ClusterLink,
    database::SqlValue,
    event_log::{StreamKey, decode_column, decode_first_value},
    messages::ProcessMessage,
    sessions::hash_of,
};
use crate::server::{
    question_round::UNAVAILABLE,
    server_state::ServerState,
    task_requests::TaskRequest,
    tasks::{TaskLimit, TaskLimits},
};

/// The answer to a request about a task.
pub(super) type TaskAnswer = Result<Option<GetTaskResult>, ErrorData>;

/// A request about a task, for the process that has it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ForwardedTaskRequest {
    /// The process that waits for the answer, and its number there.
    process: String,
    number: u64,
    caller: Option<String>,
    request: TaskRequest,
}

/// The requests whose answers another process sends.
#[derive(Default)]
pub(super) struct PendingTaskAnswers {
    waiting: Mutex<HashMap<u64, oneshot::Sender<TaskAnswer>>>,
    numbers: AtomicU64,
}

impl PendingTaskAnswers {
    fn lock_waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<TaskAnswer>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes an answer to the request that waits for it, if it still does.
    pub(super) fn pass_on_answer(&self, number: u64, answer: TaskAnswer) {
        if let Some(waiting) = self.lock_waiting().remove(&number) {
            waiting.send(answer).ok();
        }
    }
}

/// Forgets a request that no longer waits.
struct Waiting<'a>(&'a PendingTaskAnswers, u64);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.lock_waiting().remove(&self.1);
    }
}

/// A task that is about to start.
pub(in crate::server) struct NewTask<'a> {
    pub(in crate::server) id: &'a str,
    /// The identity of its caller, if there is one.
    pub(in crate::server) caller: Option<&'a str>,
    /// The time for which it is kept.
    pub(in crate::server) retention: Duration,
}

impl Cluster {
    /// Tells the database that this process has a task, unless a limit is reached, which is returned.
    async fn register_task(
        &self,
        task: &NewTask<'_>,
        limits: TaskLimits,
    ) -> Result<Option<TaskLimit>, ClusterError> {
        let log = &self.0.log;
        let (id, caller) = (hash_of("task", task.id), task.caller.map(|caller| hash_of("caller", caller)));
        let values = [
            SqlValue::Text(&log.app),
            SqlValue::Text(&id),
            SqlValue::Text(&log.process),
            SqlValue::Text(caller.as_deref().unwrap_or_default()),
            SqlValue::Seconds(task.retention),
            SqlValue::from_count(limits.max_tasks),
            SqlValue::from_count(limits.max_tasks_per_caller),
            SqlValue::Seconds(self.0.processes.timeout),
        ];
        let sql = "SELECT {schema}.start_task($1, $2, $3, $4, $5, $6, $7, $8)";
        let reached: String = decode_first_value(&log.database.fetch(sql, &values).await?)?;
        Ok(match &*reached {
            "server" => Some(TaskLimit::Server(limits.max_tasks)),
            "caller" => Some(TaskLimit::Caller(limits.max_tasks_per_caller)),
            _ => None,
        })
    }

    /// Tells the database that tasks have ended, whose places other tasks may take.
    async fn mark_tasks_ended(&self, ids: &[String]) -> Result<(), ClusterError> {
        let hashes: Vec<_> = ids.iter().map(|id| hash_of("task", id)).collect();
        let hashes: Vec<_> = hashes.iter().map(String::as_str).collect();
        let sql = "UPDATE {schema}.tasks SET ended_at = now() WHERE app = $1 AND id = ANY ($2)";
        let values = [SqlValue::Text(&self.0.log.app), SqlValue::Texts(&hashes)];
        self.0.log.database.fetch(sql, &values).await.map(drop)
    }

    /// Returns the process that has a task, if there is one, and whether it lives.
    async fn process_of_task(&self, id: &str) -> Result<Option<(String, bool)>, ClusterError> {
        let log = &self.0.log;
        let id = hash_of("task", id);
        let sql = "SELECT process FROM {schema}.tasks WHERE app = $1 AND id = $2 AND expires_at > now()";
        let rows = log.database.fetch(sql, &[SqlValue::Text(&log.app), SqlValue::Text(&id)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let process: String = decode_column(row, 0)?;
        let is_alive = self.0.processes.is_alive(&process).await?;
        Ok(Some((process, is_alive)))
    }
}

impl ClusterLink {
    /// Tells the other processes of a task that is about to start here.
    pub(in crate::server) async fn register_task(
        &self,
        task: &NewTask<'_>,
        limits: TaskLimits,
    ) -> Result<(), ErrorData> {
        match self.cluster.register_task(task, limits).await {
            Ok(None) => Ok(()),
            Ok(Some(limit)) => Err(limit.to_error()),
            Err(error) => Err(unavailable_error(&error)),
        }
    }

    /// Tells the other processes of a task that has ended here, soon.
    pub(in crate::server) fn note_task_end(&self, id: &str) {
        // Without a receiver, the server has ended.
        self.ended_tasks.send(id.to_owned()).ok();
    }

    /// Asks the process that has a task; `None` if there is none.
    pub(in crate::server) async fn ask_process_of_task(
        &self,
        request: &TaskRequest,
        caller: Option<&str>,
    ) -> Option<TaskAnswer> {
        let process = match self.cluster.process_of_task(request.task_id()).await {
            Ok(Some((process, true))) => process,
            Ok(Some(_)) if !self.cluster.0.processes.can_tell_ended_processes() => {
                let problem = "it is not known whether the process that has the task lives".to_owned();
                return Some(Err(unavailable_error(&ClusterError::Unavailable(problem))));
            }
            Ok(Some((_, false))) => {
                let message = format!(
                    "the process that ran the task `{}` has ended; it is not known whether the task took effect, and it is \
                     not run again",
                    request.task_id()
                );
                return Some(Err(ErrorData::internal_error(message, None)));
            }
            Ok(None) => return None,
            Err(error) => return Some(Err(unavailable_error(&error))),
        };
        let number = self.answers.numbers.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.answers.lock_waiting().insert(number, sender);
        let _waiting = Waiting(&self.answers, number);
        let log = &self.cluster.0.log;
        let message = ProcessMessage::TaskRequest(ForwardedTaskRequest {
            process: log.process.clone(),
            number,
            caller: caller.map(str::to_owned),
            request: request.clone(),
        });
        if let Err(error) = self.cluster.send_message(&StreamKey::of_process(&process), &message).await {
            return Some(Err(unavailable_error(&error)));
        }
        let answer = tokio::time::timeout(self.cluster.0.processes.timeout, receiver).await;
        Some(answer.ok().and_then(Result::ok).unwrap_or_else(|| {
            let problem = "the process that has the task did not answer in time".to_owned();
            Err(unavailable_error(&ClusterError::Unavailable(problem)))
        }))
    }
}

/// Answers a request of another process about a task.
pub(super) async fn answer_forwarded_task_request(
    cluster: Cluster,
    shared: Arc<ServerState>,
    forwarded: ForwardedTaskRequest,
) {
    let ForwardedTaskRequest { process, number, caller, request } = forwarded;
    let answer = request.answer_from_tasks(&shared.tasks, caller.as_deref());
    let message = ProcessMessage::TaskAnswer { number, answer };
    if let Err(error) = cluster.send_message(&StreamKey::of_process(&process), &message).await {
        tracing::warn!(%error, "a request about a task cannot be answered");
    }
}

/// Tells the database of tasks that have ended.
pub(super) async fn note_ended_tasks(cluster: Cluster, mut ended: mpsc::UnboundedReceiver<String>) {
    const MAX_NOTED: usize = 100;
    const RETRY_PAUSE: Duration = Duration::from_millis(250);
    let mut ids = Vec::new();
    while ended.recv_many(&mut ids, MAX_NOTED).await > 0 {
        while let Err(error) = cluster.mark_tasks_ended(&ids).await {
            if cluster.0.log.database.pool.is_closed() {
                return;
            }
            tracing::warn!(%error, "the database does not know that tasks have ended; trying again");
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        ids.clear();
    }
}

fn unavailable_error(error: &ClusterError) -> ErrorData {
    tracing::error!(%error, "a request about a task fails");
    ErrorData::new(UNAVAILABLE, "the task cannot be reached now; try again later", None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn an_answer_goes_to_the_request_of_its_number_while_it_waits() {
        let answers = PendingTaskAnswers::default();
        let mut receivers = [1, 2].map(|number| {
            let (sender, receiver) = oneshot::channel();
            answers.lock_waiting().insert(number, sender);
            receiver
        });
        answers.pass_on_answer(3, Ok(None));
        assert!(receivers.iter_mut().all(|receiver| receiver.try_recv().is_err()));
        answers.pass_on_answer(1, Err(ErrorData::internal_error("it broke", None)));
        let answer = receivers[0].try_recv().unwrap();
        assert_eq!(answer.unwrap_err().message, "it broke");
        assert_eq!(answers.lock_waiting().keys().collect::<Vec<_>>(), [&2]);
        drop(Waiting(&answers, 2));
        assert!(answers.lock_waiting().is_empty() && receivers[1].try_recv().is_err());
    }

    #[test]
    fn a_task_that_cannot_be_reached_has_an_error_without_details() {
        let error = unavailable_error(&ClusterError::Failed("the password is 7".to_owned()));
        assert_eq!((error.code, error.data), (UNAVAILABLE, None));
        assert_eq!(error.message, "the task cannot be reached now; try again later");
    }

    #[tokio::test]
    async fn the_end_of_a_task_is_noted_once() {
        let Some(cluster) = Cluster::open_alone().await else { return };
        let limits = TaskLimits { max_tasks: 2, max_tasks_per_caller: 1, max_result_bytes: 0 };
        let register = async |id, caller| {
            let task = NewTask { id, caller, retention: Duration::from_secs(60) };
            cluster.register_task(&task, limits).await.unwrap()
        };
        assert!(register("a", Some("ada")).await.is_none());
        assert!(matches!(register("b", Some("ada")).await, Some(TaskLimit::Caller(1))));
        assert!(register("b", None).await.is_none());
        assert!(matches!(register("c", None).await, Some(TaskLimit::Server(2))));
        let (sender, ended) = mpsc::unbounded_channel();
        let end_times = async || -> i64 {
            let sql = "SELECT count(DISTINCT ended_at) FROM {schema}.tasks";
            decode_first_value(&cluster.0.log.database.fetch(sql, &[]).await.unwrap()).unwrap()
        };
        let noting = note_ended_tasks(cluster.clone(), ended);
        let ending = async {
            for (number, id) in [(1, "a"), (2, "b")] {
                sender.send(id.to_owned()).unwrap();
                while end_times().await < number {}
            }
            drop(sender);
        };
        tokio::join!(noting, ending);
        assert_eq!(end_times().await, 2);
        assert!(register("c", Some("ada")).await.is_none(), "the first one that ended has given its place");
        let process = cluster.0.log.process.clone();
        assert_eq!(cluster.process_of_task("c").await.unwrap(), Some((process, true)));
        assert_eq!(cluster.process_of_task("a").await.unwrap(), None);
    }
}
