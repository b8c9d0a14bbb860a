//! The messages of processes to each other.

use std::{sync::Arc, time::Duration};

use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
        ServerNotification,
    },
    transport::streamable_http_server::session::SessionManager as _,
};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{broadcast, mpsc},
    task::JoinSet,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Cluster, ClusterError,
    event_log::{LoggedEvent, StreamKey, StreamPosition},
    reader::EventReader,
    streams::StoredEvent,
    tasks::{
        ForwardedTaskRequest, PendingTaskAnswers, TaskAnswer, answer_forwarded_task_request, note_ended_tasks,
    },
};
use crate::server::{
    announce::{ServerSignal, ServerSignals},
    http::table::SessionTable,
    server_state::ServerState,
    session_state::SessionSetting,
};

/// A message to a process, or to all.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ProcessMessage {
    /// A message of a client, for the handler of its session.
    Client {
        session: String,
        message: ClientJsonRpcMessage,
    },
    /// The client has set something in its session.
    Setting {
        session: String,
        setting: SessionSetting,
    },
    SessionEnd {
        session: String,
    },
    /// A request about a task of the process, and its answer.
    TaskRequest(ForwardedTaskRequest),
    TaskAnswer {
        number: u64,
        answer: TaskAnswer,
    },
}

impl ProcessMessage {
    fn to_json(&self) -> Result<String, ClusterError> {
        serde_json::to_string(self)
            .map_err(|error| ClusterError::Failed(format!("a message cannot be written: {error}")))
    }
}

/// The tasks of a server in its cluster, which end with it.
pub(in crate::server::http) struct ServingTasks {
    _tasks: [AbortOnDropHandle<()>; 4],
}

impl Cluster {
    /// Sends the changes of a server to the other processes, and works on their messages.
    pub(in crate::server::http) fn spawn_serving_tasks(
        &self,
        shared: &Arc<ServerState>,
        table: &Arc<SessionTable>,
        idle_time: Duration,
        ended_tasks: mpsc::UnboundedReceiver<String>,
    ) -> ServingTasks {
        let cluster = || self.clone();
        let publishing = publish_changes(cluster(), ServerSignals::of_this_process(shared));
        let receiving = receive_messages(cluster(), Arc::clone(shared), Arc::clone(table));
        let tending = touch_used_and_delete_idle_sessions(cluster(), Arc::clone(table), idle_time);
        let noting = note_ended_tasks(cluster(), ended_tasks);
        let runtime = &self.0.runtime;
        #[expect(clippy::disallowed_methods, reason = "the server aborts them")]
        let tasks = [
            runtime.spawn(publishing),
            runtime.spawn(receiving),
            runtime.spawn(tending),
            runtime.spawn(noting),
        ];
        ServingTasks { _tasks: tasks.map(AbortOnDropHandle::new) }
    }

    pub(super) async fn send_message(
        &self,
        stream: &StreamKey,
        message: &ProcessMessage,
    ) -> Result<(), ClusterError> {
        self.0.log.append(stream, &message.to_json()?).await
    }

    /// Tells the readers of the session's own stream, and all processes; later, if the database does not answer now.
    pub(super) async fn tell_session_end(&self, session: &str) -> Result<(), ClusterError> {
        let (log, end) = (&self.0.log, StoredEvent::end_of_stream_json()?);
        log.append_or_store_later(&StreamKey::of_session(session), &end).await?;
        let message = ProcessMessage::SessionEnd { session: session.to_owned() };
        log.append_or_store_later(&StreamKey::of_all(), &message.to_json()?).await.map(drop)
    }

    pub(super) async fn tell_processes_of_setting(
        &self,
        session: &str,
        setting: SessionSetting,
    ) -> Result<(), ClusterError> {
        let message = ProcessMessage::Setting { session: session.to_owned(), setting };
        self.send_message(&StreamKey::of_all(), &message).await
    }

    /// Names this process in the id of a question, by which its answer finds it, and in the end of a question.
    pub(in crate::server::http) fn add_process_to_question_id(&self, message: &mut ServerJsonRpcMessage) {
        let named = |id: &RequestId| match id {
            RequestId::Number(number) => RequestId::String(format!("{}/{number}", self.0.log.process).into()),
            RequestId::String(_) => id.clone(),
        };
        match message {
            JsonRpcMessage::Request(request) => request.id = named(&request.id),
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(cancelled) = &mut notification.notification
                    && let Some(id) = &mut cancelled.params.request_id
                {
                    *id = named(id);
                }
            }
            _ => {}
        }
    }

    /// Sends a message of a client to the process that it is for. Returns it if that may be this one. `has_request` tells whether a request of the
    /// session runs here.
    pub(in crate::server::http) async fn route_message(
        &self,
        session: &str,
        mut message: ClientJsonRpcMessage,
        has_request: impl FnOnce(&RequestId) -> bool,
    ) -> Result<Option<ClientJsonRpcMessage>, ClusterError> {
        let id = match &mut message {
            JsonRpcMessage::Response(response) => Some(&mut response.id),
            JsonRpcMessage::Error(error) => error.id.as_mut(),
            JsonRpcMessage::Notification(notification) => {
                let runs_elsewhere = match &notification.notification {
                    ClientNotification::CancelledNotification(cancelled) => {
                        cancelled.params.request_id.as_ref().is_some_and(|id| !has_request(id))
                    }
                    _ => false,
                };
                if !runs_elsewhere {
                    return Ok(Some(message));
                }
                let message = ProcessMessage::Client { session: session.to_owned(), message };
                self.send_message(&StreamKey::of_all(), &message).await?;
                return Ok(None);
            }
            JsonRpcMessage::Request(_) => None,
        };
        let Some(id) = id else { return Ok(Some(message)) };
        let Some((process, number)) = process_of_question(id) else { return Ok(Some(message)) };
        *id = RequestId::Number(number);
        if process == self.0.log.process {
            return Ok(Some(message));
        }
        if !self.0.processes.is_alive(&process).await? {
            tracing::debug!("an answer is left out: the process that asked has ended");
            return Ok(None);
        }
        let message = ProcessMessage::Client { session: session.to_owned(), message };
        self.send_message(&StreamKey::of_process(&process), &message).await?;
        Ok(None)
    }
}

/// The process that asked a question, and the number of the question there.
fn process_of_question(id: &RequestId) -> Option<(String, i64)> {
    let RequestId::String(id) = id else { return None };
    let (process, number) = id.rsplit_once('/')?;
    Some((process.to_owned(), number.parse().ok()?))
}

/// Sends the changes of this process to all.
async fn publish_changes(cluster: Cluster, mut signals: ServerSignals) {
    loop {
        let signal = signals.next().await;
        let text = serde_json::to_string(&signal).unwrap_or_default();
        if let Err(error) = cluster.0.log.append_or_store_later(&StreamKey::of_changes(), &text).await {
            tracing::error!(%error, "clients of other processes are not told of a change");
        }
    }
}

/// Notes regularly that sessions are used which have a stream or a request here, and deletes those that are idle.
async fn touch_used_and_delete_idle_sessions(
    cluster: Cluster,
    table: Arc<SessionTable>,
    idle_time: Duration,
) {
    /// A session whose process ends is found before it is idle.
    const TOUCHES_PER_IDLE_TIME: u32 = 4;
    const MIN_PAUSE: Duration = Duration::from_millis(100);
    loop {
        tokio::time::sleep((idle_time / TOUCHES_PER_IDLE_TIME).max(MIN_PAUSE)).await;
        if cluster.0.log.database.pool.is_closed() {
            return;
        }
        let used = table.used_sessions();
        if !used.is_empty()
            && let Err(error) = cluster.touch_sessions(&used).await
        {
            tracing::warn!(%error, "the database does not know that sessions are used");
            continue;
        }
        if let Err(error) = cluster.delete_idle_sessions(idle_time).await {
            tracing::warn!(%error, "idle sessions cannot be deleted; trying again");
        }
    }
}

/// Works on the messages of other processes.
async fn receive_messages(cluster: Cluster, shared: Arc<ServerState>, table: Arc<SessionTable>) {
    let log = &cluster.0.log;
    let last = cluster.0.first_event;
    let own = StreamKey::of_process(&log.process);
    let changes = StreamKey::of_changes();
    let streams = [own, StreamKey::of_all(), changes.clone()];
    let positions = streams.into_iter().map(|stream| StreamPosition { stream, last }).collect();
    let mut reader = EventReader::new(Arc::clone(log), positions);
    let sender = shared.cluster.get().map(|link| link.changes.clone());
    let mut deliveries = JoinSet::new();
    loop {
        for event in reader.next_events().await {
            if event.stream != changes {
                receive_message(&cluster, &event, &shared, &table, &mut deliveries);
                continue;
            }
            if event.writer != log.process
                && let (Some(sender), Ok(signal)) = (&sender, serde_json::from_str(&event.text))
            {
                // Without a receiver, no client listens.
                sender.send(signal).ok();
            }
            cluster.0.last_change.send_replace(event.id);
        }
    }
}

/// Works on a message. What waits for a client or for the database does so in `deliveries`, so that no client holds up the messages of others.
fn receive_message(
    cluster: &Cluster,
    event: &LoggedEvent,
    shared: &Arc<ServerState>,
    table: &Arc<SessionTable>,
    deliveries: &mut JoinSet<()>,
) {
    /// The messages that wait.
    const MAX_DELIVERIES: usize = 1024;
    while deliveries.try_join_next().is_some() {}
    match serde_json::from_str(&event.text) {
        Ok(ProcessMessage::Setting { session, setting }) => {
            if let Some(state) = table.state(&session) {
                state.apply_setting(&setting);
            }
        }
        Ok(ProcessMessage::TaskAnswer { number, answer }) => {
            if let Some(link) = shared.cluster.get() {
                link.answers.pass_on_answer(number, answer);
            }
        }
        Ok(_) if deliveries.len() >= MAX_DELIVERIES => {
            tracing::error!(event = event.id, "a message is left out: {MAX_DELIVERIES} of them wait");
        }
        Ok(ProcessMessage::SessionEnd { session }) => {
            cluster.end_session_lease(&session);
            let table = Arc::clone(table);
            deliveries.spawn(async move { table.forget_ended_session(&session).await });
        }
        Ok(ProcessMessage::Client { session, message }) => {
            // What this process sent is for a request that ran elsewhere.
            if event.writer != cluster.0.log.process && concerns_local_session(&session, &message, table) {
                deliveries.spawn(deliver_message(Arc::clone(table), session, message));
            }
        }
        Ok(ProcessMessage::TaskRequest(request)) => {
            deliveries.spawn(answer_forwarded_task_request(cluster.clone(), Arc::clone(shared), request));
        }
        Err(error) => tracing::error!(event = event.id, %error, "a message of a process cannot be read"),
    }
}

/// Returns `true` if the session is here, and a request that the message cancels runs here.
fn concerns_local_session(session: &str, message: &ClientJsonRpcMessage, table: &SessionTable) -> bool {
    let Some(activity) = table.activity(session) else { return false };
    let JsonRpcMessage::Notification(notification) = message else { return true };
    let ClientNotification::CancelledNotification(cancelled) = &notification.notification else {
        return true;
    };
    cancelled.params.request_id.as_ref().is_some_and(|id| activity.has_request(id))
}

/// Passes a message of a client to the handler of its session, unless that takes none.
async fn deliver_message(table: Arc<SessionTable>, session: String, message: ClientJsonRpcMessage) {
    const MAX_WAIT: Duration = Duration::from_secs(60);
    let session = session.into();
    let accepting = table.local.accept_message(&session, message);
    match tokio::time::timeout(MAX_WAIT, accepting).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a message of a client cannot be passed on"),
        Err(_) => tracing::warn!("a message of a client is left out: its session takes no messages"),
    }
}

/// The link of a server to its cluster.
pub(in crate::server) struct ClusterLink {
    pub(in crate::server) cluster: Cluster,
    /// The changes of other processes.
    pub(in crate::server) changes: broadcast::Sender<ServerSignal>,
    pub(super) answers: PendingTaskAnswers,
    pub(super) ended_tasks: mpsc::UnboundedSender<String>,
}

impl ClusterLink {
    /// Creates the link, and the receiver of the tasks that end.
    pub(in crate::server) fn new(cluster: Cluster) -> (Self, mpsc::UnboundedReceiver<String>) {
        /// The changes that a listener may be behind.
        const MAX_BEHIND: usize = 1024;
        let (ended_tasks, ended) = mpsc::unbounded_channel();
        let changes = broadcast::Sender::new(MAX_BEHIND);
        (Self { cluster, changes, answers: PendingTaskAnswers::default(), ended_tasks }, ended)
    }
}

#[cfg(test)]
mod tests;
