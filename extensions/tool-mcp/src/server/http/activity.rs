//! The last activity of a session, its open streams and requests.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::{
    model::{
        CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, Notification,
        RequestId, ServerJsonRpcMessage, ServerNotification,
    },
    transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager as _},
};
use tokio::{runtime::Handle, sync::mpsc, task::AbortHandle, time::Instant};

use super::{
    logs::{LogLineReceiver, LogLineSender, log_line_channel},
    table::SessionTable,
};
use crate::server::reports::LogOrigin;

/// The last activity of a session.
pub(super) struct SessionActivity {
    streams: AtomicUsize,
    last: Mutex<Instant>,
    /// The requests whose stream was lost, by the stream.
    lost: Mutex<HashMap<String, (RequestId, AbortHandle)>>,
    /// The requests that are not answered yet.
    requests: Mutex<HashSet<RequestId>>,
    /// Their streams, for their log lines.
    logs: Mutex<HashMap<RequestId, LogLineSender>>,
}

impl Drop for SessionActivity {
    fn drop(&mut self) {
        for (_, task) in self.lost.get_mut().unwrap_or_else(PoisonError::into_inner).values() {
            task.abort();
        }
    }
}

impl Default for SessionActivity {
    fn default() -> Self {
        Self {
            streams: AtomicUsize::new(0),
            last: Mutex::new(Instant::now()),
            lost: Mutex::default(),
            requests: Mutex::default(),
            logs: Mutex::default(),
        }
    }
}

impl SessionActivity {
    pub(super) fn note_use(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns `true` if the session has no stream and no request.
    pub(super) fn is_unused(&self) -> bool {
        self.streams.load(Ordering::Acquire) == 0
            && self.lock_open_requests().is_empty()
            && self.lost.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn lock_open_requests(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request of the client. Returns `false` if one of the same id is not answered yet.
    pub(super) fn begin_request(&self, request: &RequestId) -> bool {
        self.lock_open_requests().insert(request.clone())
    }

    /// Returns `true` if the request is not answered yet.
    #[cfg(feature = "postgres")]
    pub(super) fn has_request(&self, request: &RequestId) -> bool {
        self.lock_open_requests().contains(request)
    }

    /// Forgets a request that the handler does not receive.
    pub(super) fn forget_request(&self, request: &RequestId) {
        self.lock_open_requests().remove(request);
    }

    /// Notes a message of the client.
    pub(super) fn note_received_message(&self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.lock_open_requests().insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.lock_open_requests().remove(id);
                }
            }
            _ => {}
        }
    }

    /// Notes a message of the server.
    pub(super) fn note_sent_message(&self, message: &ServerJsonRpcMessage) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.lock_open_requests().remove(id);
        }
    }

    /// The request that `stream` answers, if the stream was lost.
    pub(super) fn take_lost_request(&self, stream: &str) -> Option<RequestId> {
        let (request, task) = self.lost.lock().unwrap_or_else(PoisonError::into_inner).remove(stream)?;
        task.abort();
        Some(request)
    }

    /// Counts a stream, and keeps the session from being idle.
    pub(super) fn open_stream(self: &Arc<Self>) -> OpenStream {
        self.streams.fetch_add(1, Ordering::AcqRel);
        self.note_use();
        OpenStream(Arc::clone(self))
    }

    pub(super) fn lock_log_senders(&self) -> MutexGuard<'_, HashMap<RequestId, LogLineSender>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the log lines of `request` to the stream that answers it, from now on. The SDK would send them to the stream of
    /// the session, which a client need not open, and where they are in no order with the answer.
    pub(super) fn open_log_channel(&self, request: RequestId) -> LogLineReceiver {
        let (sender, receiver) = log_line_channel();
        self.lock_log_senders().insert(request, sender);
        receiver
    }

    /// The stream of the request that a log line belongs to.
    pub(super) fn log_line_sender(
        &self,
        message: &ServerJsonRpcMessage,
    ) -> Option<mpsc::Sender<ServerSseMessage>> {
        let JsonRpcMessage::Notification(notification) = message else { return None };
        let ServerNotification::LoggingMessageNotification(line) = &notification.notification else {
            return None;
        };
        let LogOrigin(request) = line.extensions.get::<LogOrigin>()?;
        self.lock_log_senders().get(request)?.open_channel()
    }

    /// Cancels the request of a lost stream, unless it is resumed in time.
    pub(super) fn cancel_unless_resumed(self: &Arc<Self>, answers: AnsweredRequest) {
        let (Some(stream), Ok(runtime)) = (answers.stream.clone(), Handle::try_current()) else { return };
        let request = answers.request.clone();
        let activity = Arc::downgrade(self);
        #[expect(clippy::disallowed_methods, reason = "`lost` owns it, and aborts it")]
        let task = runtime.spawn({
            let stream = stream.clone();
            async move {
                tokio::time::sleep(answers.resume_time).await;
                if let Some(activity) = activity.upgrade() {
                    activity.lost.lock().unwrap_or_else(PoisonError::into_inner).remove(&stream);
                }
                answers.cancel_request().await;
            }
        });
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.insert(stream, (request, task.abort_handle()));
    }

    /// The time at which the session has been idle for `timeout`, as things are; `None` if it is beyond the clock.
    pub(super) fn idle_deadline(&self, timeout: Duration) -> Option<Instant> {
        let last = match self.streams.load(Ordering::Acquire) {
            0 => *self.last.lock().unwrap_or_else(PoisonError::into_inner),
            _ => Instant::now(),
        };
        last.checked_add(timeout)
    }
}

/// The request that a stream answers.
pub(super) struct AnsweredRequest {
    pub(super) request: RequestId,
    /// The part of the stream's event ids that identifies it, once there was an event.
    pub(super) stream: Option<String>,
    pub(super) sessions: Weak<SessionTable>,
    pub(super) session: SessionId,
    pub(super) resume_time: Duration,
}

impl AnsweredRequest {
    /// Cancels the request, as its client would.
    async fn cancel_request(self) {
        let reason = "the client closed the connection".to_owned();
        let param = CancelledNotificationParam::new(Some(self.request), Some(reason));
        let cancelled = ClientNotification::CancelledNotification(Notification::new(param));
        if let Some(sessions) = self.sessions.upgrade() {
            let message = ClientJsonRpcMessage::notification(cancelled);
            sessions.local.accept_message(&self.session, message).await.ok();
        }
    }
}

/// The part of an event's id that identifies its stream.
pub(super) fn stream_of_event_id(event: &str) -> Option<&str> {
    event.split_once('/').map(|(_, stream)| stream)
}

/// An open stream of a session.
pub(super) struct OpenStream(pub(super) Arc<SessionActivity>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.note_use();
        self.0.streams.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_is_idle_since_the_end_of_its_last_stream() {
        let (activity, time) = (Arc::new(SessionActivity::default()), Duration::from_secs(5));
        let stream = activity.open_stream();
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(activity.idle_deadline(time), Some(Instant::now() + time));
        drop(stream);
        assert_eq!(activity.idle_deadline(time), Some(Instant::now() + time));
        let ended = Instant::now();
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(activity.idle_deadline(time), Some(ended + time));
        activity.note_use();
        assert_eq!(activity.idle_deadline(time), Some(ended + Duration::from_secs(8)));
        assert_eq!(activity.idle_deadline(Duration::MAX), None);
    }

    fn received(message: serde_json::Value) -> ClientJsonRpcMessage {
        serde_json::from_value(message).unwrap()
    }

    fn answered_request(number: i64, stream: Option<&str>) -> AnsweredRequest {
        AnsweredRequest {
            request: RequestId::Number(number),
            stream: stream.map(str::to_owned),
            sessions: Weak::new(),
            session: "session".into(),
            resume_time: Duration::from_secs(5),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_unused_without_stream_request_and_lost_stream() {
        let activity = Arc::new(SessionActivity::default());
        assert!(activity.is_unused());
        let stream = activity.open_stream();
        assert!(!activity.is_unused());
        drop(stream);
        assert!(activity.is_unused());
        let one = RequestId::Number(1);
        assert!(activity.begin_request(&one) && !activity.begin_request(&one));
        assert!(!activity.is_unused());
        activity.forget_request(&one);
        assert!(activity.is_unused());

        let ping = |id: i64| received(serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        activity.note_received_message(&ping(1));
        activity.note_received_message(&ping(2));
        let cancelled = serde_json::json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 }
        });
        activity.note_received_message(&received(cancelled));
        assert!(!activity.is_unused(), "the other one is open");
        let answer =
            ServerJsonRpcMessage::response(rmcp::model::ServerResult::empty(()), RequestId::Number(2));
        activity.note_sent_message(&answer);
        assert!(activity.is_unused());
        activity.note_received_message(&ping(3));
        let error = rmcp::ErrorData::internal_error("it broke", None);
        activity.note_sent_message(&ServerJsonRpcMessage::error(error, Some(RequestId::Number(3))));
        assert!(activity.is_unused());

        activity.cancel_unless_resumed(answered_request(4, None));
        assert!(activity.is_unused(), "a stream without an event cannot be resumed");
        activity.cancel_unless_resumed(answered_request(5, Some("5")));
        activity.cancel_unless_resumed(answered_request(6, Some("6")));
        assert!(!activity.is_unused());
        assert_eq!(activity.take_lost_request("7"), None);
        assert_eq!(activity.take_lost_request("5"), Some(RequestId::Number(5)));
        assert_eq!(activity.take_lost_request("5"), None);
        assert!(!activity.is_unused());
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert!(activity.is_unused() && activity.take_lost_request("6").is_none());
    }

    #[test]
    fn a_log_line_goes_to_the_stream_of_its_request() {
        let activity = SessionActivity::default();
        let line = |origin: Option<i64>| {
            let level = rmcp::model::LoggingLevel::Info;
            let param = rmcp::model::LoggingMessageNotificationParam::new(level, serde_json::json!("a"));
            let mut notification = Notification::new(param);
            if let Some(origin) = origin {
                notification.extensions.insert(LogOrigin(RequestId::Number(origin)));
            }
            ServerJsonRpcMessage::notification(ServerNotification::LoggingMessageNotification(notification))
        };
        let receiver = activity.open_log_channel(RequestId::Number(1));
        assert!(activity.log_line_sender(&line(Some(1))).is_some());
        assert!(activity.log_line_sender(&line(Some(2))).is_none());
        assert!(activity.log_line_sender(&line(None)).is_none());
        let answer =
            ServerJsonRpcMessage::response(rmcp::model::ServerResult::empty(()), RequestId::Number(1));
        assert!(activity.log_line_sender(&answer).is_none());
        drop(receiver);
        assert!(activity.log_line_sender(&line(Some(1))).is_none());
        assert_eq!(
            (stream_of_event_id("7/1"), stream_of_event_id("7/1/2"), stream_of_event_id("7")),
            (Some("1"), Some("1/2"), None)
        );
    }
}
