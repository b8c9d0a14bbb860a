//! The streams of clients, which any process continues from the stored events.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use rmcp::{
    ErrorData,
    model::{
        Notification, NotificationNoParam, RequestId, ResourceUpdatedNotificationParam, ServerJsonRpcMessage,
        ServerNotification,
    },
    transport::streamable_http_server::session::ServerSseMessage,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::{
    Cluster, ClusterError,
    event_log::{LoggedEvent, StreamKey, StreamPosition},
    processes::BEATS_PER_TIMEOUT,
    reader::EventReader,
};
use crate::server::{announce::ServerSignal, session_state::SessionState};

/// The place of the tokens of events, which no row has.
const TOKEN_PLACE: [&str; 1] = ["token"];

/// The looks in a row, each a beat apart, at which a process has ended that is not seen.
const DEAD_BEATS: u32 = 3;

/// The messages that wait for a client.
const MAX_WAITING_MESSAGES: usize = 16;

/// An event as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredEvent {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Arc<ServerJsonRpcMessage>>,
    /// The session has ended, and its stream with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_end: bool,
}

impl StoredEvent {
    pub(super) fn of(event: &ServerSseMessage) -> Self {
        Self { message: event.message.clone(), is_end: false }
    }

    fn of_message(message: Option<ServerJsonRpcMessage>) -> Self {
        Self { message: message.map(Arc::new), is_end: false }
    }

    /// Returns `true` for the answer of a request, which is the last event of its stream.
    pub(super) fn is_answer(message: Option<&ServerJsonRpcMessage>) -> bool {
        matches!(message, Some(ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)))
    }

    /// Returns the text of the last event of a session.
    pub(super) fn end_of_stream_json() -> Result<String, ClusterError> {
        serde_json::to_string(&Self { is_end: true, ..Self::of_message(None) })
            .map_err(|error| ClusterError::Failed(format!("an event cannot be written: {error}")))
    }

    fn into_sse_message(self, id: Option<String>) -> ServerSseMessage {
        let mut message = ServerSseMessage::default();
        message.event_id = id;
        message.message = self.message;
        message
    }
}

/// The id of an event for a client: what it has received, and the process that wrote it. It is encrypted, so that none can be guessed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::server::http) struct EventToken {
    positions: Vec<StreamPosition>,
    writer: Option<String>,
    /// The request without a session that the stream answers, and the identity of its caller.
    pub(super) request: Option<RequestId>,
    pub(super) caller: Option<String>,
    /// The request is answered.
    pub(super) is_end: bool,
}

impl EventToken {
    /// Creates the token of the event at `position`, which this process wrote.
    pub(super) fn of_own(cluster: &Cluster, position: StreamPosition) -> Self {
        let writer = Some(cluster.0.log.process.clone());
        Self { positions: vec![position], writer, ..Self::default() }
    }

    pub(super) fn seal(&self, cluster: &Cluster) -> Result<String, ClusterError> {
        let text = serde_json::to_string(self).map_err(|error| {
            ClusterError::Failed(format!("the id of an event cannot be written: {error}"))
        })?;
        cluster.0.log.seal(&text, &TOKEN_PLACE)
    }

    /// Opens a token; `None` if it is none of this server.
    pub(in crate::server::http) fn unseal(cluster: &Cluster, sealed: &str) -> Option<Self> {
        serde_json::from_str(&cluster.0.log.unseal(sealed, &TOKEN_PLACE)?).ok()
    }

    /// Returns the positions of the stream of `session` itself, if it is one of that.
    fn session_positions(&self, session: &str) -> Option<Vec<StreamPosition>> {
        let own = StreamKey::of_session(session);
        let common = self.positions.iter().find(|position| position.stream == own)?;
        let changes = StreamKey::of_changes();
        let last_change = self.positions.iter().find(|position| position.stream == changes).unwrap_or(common);
        Some(vec![common.clone(), StreamPosition { stream: changes, last: last_change.last }])
    }

    /// Notes that an event was received.
    fn note_event(&mut self, event: &LoggedEvent) {
        self.writer = Some(event.writer.clone());
        if let Some(position) = self.positions.iter_mut().find(|it| it.stream == event.stream) {
            position.last = event.id;
        }
    }
}

/// A stream whose events are read by a task, which ends with it.
pub(in crate::server::http) struct FollowedStream {
    messages: mpsc::Receiver<ServerSseMessage>,
    _task: AbortOnDropHandle<()>,
}

impl Stream for FollowedStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        self.messages.poll_recv(cx)
    }
}

impl Cluster {
    /// Waits until this process has applied what clients had set at other processes before a change, by which it may concern them.
    async fn wait_for_settings_before(&self, change: i64) {
        const MAX_WAIT: Duration = Duration::from_secs(10);
        let mut last_change = self.0.last_change.subscribe();
        let applied = last_change.wait_for(|last| *last >= change);
        if tokio::time::timeout(MAX_WAIT, applied).await.is_err() {
            tracing::warn!(event = change, "a change may be left out: the messages of other processes wait");
        }
    }

    fn spawn_reader<F: Future<Output = ()> + Send + 'static>(
        &self,
        reading: impl FnOnce(mpsc::Sender<ServerSseMessage>) -> F,
    ) -> FollowedStream {
        let (sender, messages) = mpsc::channel(MAX_WAITING_MESSAGES);
        #[expect(clippy::disallowed_methods, reason = "the stream aborts it")]
        let task = AbortOnDropHandle::new(self.0.runtime.spawn(reading(sender)));
        FollowedStream { messages, _task: task }
    }

    /// Follows the stream of a request after an event, up to its answer. If the process that ran the request has ended, the answer is an error.
    pub(in crate::server::http) fn follow_request_stream(
        &self,
        token: EventToken,
        request: RequestId,
    ) -> FollowedStream {
        let cluster = self.clone();
        self.spawn_reader(|sender| async move {
            if let Err(error) = send_request_events(&cluster, token, request, &sender).await {
                tracing::error!(%error, "a stream ends before its answer");
            }
        })
    }

    /// Follows the stream of a session itself: after the event of `token`, or after the last stream without one.
    ///
    /// # Errors
    ///
    /// If the database does not answer, or the event is one of another stream.
    pub(in crate::server::http) async fn follow_session_stream(
        &self,
        session: &str,
        state: Arc<SessionState>,
        token: Option<EventToken>,
    ) -> Result<FollowedStream, ClusterError> {
        let positions = match token {
            None => self.next_stream_positions(session).await?,
            Some(token) => token.session_positions(session).ok_or_else(|| {
                ClusterError::Invalid("the event is none of the stream of this session".to_owned())
            })?,
        };
        let (cluster, token) = (self.clone(), EventToken { positions, ..EventToken::default() });
        Ok(self.spawn_reader(|sender| async move {
            if let Err(error) = send_session_events(&cluster, token, &state, &sender).await {
                tracing::error!(%error, "the stream of a session ends");
            }
        }))
    }
}

async fn send_request_events(
    cluster: &Cluster,
    mut token: EventToken,
    request: RequestId,
    sender: &mpsc::Sender<ServerSseMessage>,
) -> Result<(), ClusterError> {
    if token.is_end {
        return Ok(());
    }
    let mut reader = EventReader::new(Arc::clone(&cluster.0.log), token.positions.clone());
    let writer = token.writer.clone().unwrap_or_default();
    let mut dead_beats = 0;
    loop {
        for event in reader.available_events().await.unwrap_or_default() {
            token.note_event(&event);
            let event = decoded_event(&event)?;
            token.is_end = StoredEvent::is_answer(event.message.as_deref());
            let message = event.into_sse_message(Some(token.seal(cluster)?));
            if sender.send(message).await.is_err() || token.is_end {
                return Ok(());
            }
        }
        // What it had stored before it ended was read above.
        if dead_beats == DEAD_BEATS {
            let error = ErrorData::internal_error(
                "the process that ran the request ended before its answer; it is not known whether the request took \
                 effect, and it is not run again",
                None,
            );
            let message = StoredEvent::of_message(Some(ServerJsonRpcMessage::error(error, Some(request))));
            token.is_end = true;
            sender.send(message.into_sse_message(Some(token.seal(cluster)?))).await.ok();
            return Ok(());
        }
        match cluster.0.processes.is_alive(&writer).await {
            Ok(true) => dead_beats = 0,
            // After a failure of the database, all processes look as if they had ended, until their next beat.
            Ok(false) => dead_beats += 1,
            Err(error) => tracing::warn!(%error, "it is not known whether a process lives; trying again"),
        }
        if dead_beats < DEAD_BEATS {
            reader.wait_for_events(cluster.0.processes.timeout / BEATS_PER_TIMEOUT).await;
        }
    }
}

async fn send_session_events(
    cluster: &Cluster,
    mut token: EventToken,
    state: &SessionState,
    sender: &mpsc::Sender<ServerSseMessage>,
) -> Result<(), ClusterError> {
    let mut reader = EventReader::new(Arc::clone(&cluster.0.log), token.positions.clone());
    let changes = StreamKey::of_changes();
    // The client knows from the first moment where to go on.
    let first = StoredEvent::of_message(None).into_sse_message(Some(token.seal(cluster)?));
    if sender.send(first).await.is_err() {
        return Ok(());
    }
    loop {
        for event in reader.next_events().await {
            token.note_event(&event);
            let id = token.seal(cluster)?;
            let messages = if event.stream == changes {
                cluster.wait_for_settings_before(event.id).await;
                change_messages(&event, state)
            } else {
                vec![decoded_event(&event)?]
            };
            if messages.iter().any(|message| message.is_end) {
                return Ok(());
            }
            let last = messages.len().saturating_sub(1);
            for (number, message) in messages.into_iter().enumerate() {
                // After a part of the messages of a change, the client receives all of them again.
                let id = (number == last).then(|| id.clone());
                if sender.send(message.into_sse_message(id)).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
}

fn decoded_event(event: &LoggedEvent) -> Result<StoredEvent, ClusterError> {
    serde_json::from_str(&event.text)
        .map_err(|error| ClusterError::Failed(format!("the event {} cannot be read: {error}", event.id)))
}

/// Returns the messages about a change for the client of a session.
fn change_messages(event: &LoggedEvent, state: &SessionState) -> Vec<StoredEvent> {
    let updated = |uri: String| {
        let param = ResourceUpdatedNotificationParam::new(uri);
        ServerNotification::ResourceUpdatedNotification(Notification::new(param))
    };
    let list = || {
        ServerNotification::ResourceListChangedNotification(NotificationNoParam {
            method: Default::default(),
            extensions: Default::default(),
        })
    };
    let notifications = match serde_json::from_str(&event.text) {
        Ok(ServerSignal::Tools) => {
            vec![ServerNotification::ToolListChangedNotification(NotificationNoParam {
                method: Default::default(),
                extensions: Default::default(),
            })]
        }
        Ok(ServerSignal::Prompts) => {
            vec![ServerNotification::PromptListChangedNotification(NotificationNoParam {
                method: Default::default(),
                extensions: Default::default(),
            })]
        }
        Ok(ServerSignal::Resources) => vec![list()],
        Ok(ServerSignal::Updated(uri)) if state.subscribed.contains(&uri) => vec![updated(uri)],
        Ok(ServerSignal::Updated(_)) => Vec::new(),
        Ok(ServerSignal::AllResources) => {
            state.subscribed.uris().into_iter().map(updated).chain([list()]).collect()
        }
        Err(error) => {
            tracing::error!(%error, "a change of another process cannot be read");
            Vec::new()
        }
    };
    let stored =
        |notification| StoredEvent::of_message(Some(ServerJsonRpcMessage::notification(notification)));
    notifications.into_iter().map(stored).collect()
}

#[cfg(test)]
mod tests;
