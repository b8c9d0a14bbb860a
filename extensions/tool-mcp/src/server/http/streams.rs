//! The streams of a session: which are open, which were lost, and the log lines that belong to them.

use std::{
    collections::{HashMap, HashSet},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use rmcp::{
    RoleServer,
    model::{
        CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, Notification,
        RequestId, ServerJsonRpcMessage, ServerNotification,
    },
    transport::{
        Transport,
        streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager},
    },
};
use tokio::{runtime::Handle, sync::mpsc, task::AbortHandle, time::Instant};
use tokio_util::either::Either;

use super::{
    logs::{LogReceiver, LogSender, log_lines},
    table::{SessionEnd, SessionTable},
};
use crate::server::{handler::ServerState, reports::LogOrigin, session::SessionState};

/// The last activity of a session.
pub(super) struct Activity {
    streams: AtomicUsize,
    last: Mutex<Instant>,
    /// The requests whose stream was lost, by the stream.
    lost: Mutex<HashMap<String, (RequestId, AbortHandle)>>,
    /// The requests that are not answered yet.
    requests: Mutex<HashSet<RequestId>>,
    /// Their streams, for their log lines.
    logs: Mutex<HashMap<RequestId, LogSender>>,
}

impl Drop for Activity {
    fn drop(&mut self) {
        for (_, task) in self.lost.get_mut().unwrap_or_else(PoisonError::into_inner).values() {
            task.abort();
        }
    }
}

impl Default for Activity {
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

impl Activity {
    pub(super) fn note_use(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns `true` if the session has no stream and no request.
    pub(super) fn is_unused(&self) -> bool {
        self.streams.load(Ordering::Acquire) == 0
            && self.open_requests().is_empty()
            && self.lost.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn open_requests(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request of the client. Returns `false` if one of the same id is not answered yet.
    pub(super) fn begin_request(&self, request: &RequestId) -> bool {
        self.open_requests().insert(request.clone())
    }

    /// Forgets a request that the handler does not receive.
    pub(super) fn forget_request(&self, request: &RequestId) {
        self.open_requests().remove(request);
    }

    /// Notes a message of the client.
    fn note_received(&self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.open_requests().insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open_requests().remove(id);
                }
            }
            _ => {}
        }
    }

    /// Notes a message of the server.
    fn note_sent(&self, message: &ServerJsonRpcMessage) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.open_requests().remove(id);
        }
    }

    /// The request that `stream` answers, if the stream was lost.
    pub(super) fn resume_request(&self, stream: &str) -> Option<RequestId> {
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

    fn log_senders(&self) -> MutexGuard<'_, HashMap<RequestId, LogSender>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the log lines of `request` to the stream that answers it, from now on. The SDK would send them to the stream of
    /// the session, which a client need not open, and where they are in no order with the answer.
    pub(super) fn log_to(&self, request: RequestId) -> LogReceiver {
        let (sender, receiver) = log_lines();
        self.log_senders().insert(request, sender);
        receiver
    }

    /// The stream of the request that a log line belongs to.
    fn log_stream(&self, message: &ServerJsonRpcMessage) -> Option<mpsc::Sender<ServerSseMessage>> {
        let JsonRpcMessage::Notification(notification) = message else { return None };
        let ServerNotification::LoggingMessageNotification(line) = &notification.notification else {
            return None;
        };
        let LogOrigin(request) = line.extensions.get::<LogOrigin>()?;
        self.log_senders().get(request)?.open_channel()
    }

    /// Cancels the request of a lost stream, unless it is resumed in time.
    fn cancel_unless_resumed(self: &Arc<Self>, answers: AnsweredRequest) {
        let (Some(stream), Ok(runtime)) = (answers.stream.clone(), Handle::try_current()) else { return };
        let request = answers.request.clone();
        let activity = Arc::downgrade(self);
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

    /// The time at which the session has been idle for `time`, as things are; `None` if it is beyond the clock.
    pub(super) fn idle_at(&self, time: Duration) -> Option<Instant> {
        let last = match self.streams.load(Ordering::Acquire) {
            0 => *self.last.lock().unwrap_or_else(PoisonError::into_inner),
            _ => Instant::now(),
        };
        last.checked_add(time)
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
pub(super) fn stream_of(event: &str) -> Option<&str> {
    event.split_once('/').map(|(_, stream)| stream)
}

/// An open stream of a session.
pub(super) struct OpenStream(Arc<Activity>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.note_use();
        self.0.streams.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A stream on which a client receives changes.
pub(super) struct StreamListener(Arc<SessionState>);

impl StreamListener {
    pub(super) fn new(state: Arc<SessionState>) -> Self {
        state.add_listener();
        Self(state)
    }
}

impl Drop for StreamListener {
    fn drop(&mut self) {
        self.0.remove_listener();
    }
}

/// A stream of a session.
pub(super) struct ActiveStream {
    pub(super) stream: Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>,
    pub(super) opened: OpenStream,
    /// The request that the stream answers, as long as it is not answered.
    pub(super) answers: Option<AnsweredRequest>,
    /// Of a stream of the session itself.
    pub(super) _listening: Option<StreamListener>,
    pub(super) logs: Option<LogReceiver>,
    /// The answer was received, after which the stream ends.
    pub(super) is_answered: bool,
    /// An event that lines precede.
    pub(super) held: Option<ServerSseMessage>,
    /// The session that the ids of stored events are sealed for.
    pub(super) sealing: Option<(Arc<ServerState>, SessionId)>,
}

impl ActiveStream {
    /// Notes what an event says of the stream.
    fn note_event(&mut self, event: &ServerSseMessage) {
        let is_answer = event.message.as_deref().is_some_and(|message| {
            matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
        });
        match &mut self.answers {
            Some(_) if is_answer => {
                self.is_answered = true;
                self.take_request();
            }
            // The ids of stored events are the store's, and their calls go on without their client.
            Some(answers) if answers.stream.is_none() && self.sealing.is_none() => {
                answers.stream = event.event_id.as_deref().and_then(stream_of).map(str::to_owned);
            }
            _ => {}
        }
    }

    /// The next line, if there is one.
    fn next_line(&mut self, cx: &mut Context<'_>) -> Option<ServerSseMessage> {
        match self.logs.as_mut()?.poll_line(cx) {
            Poll::Ready(line) => line,
            Poll::Pending => None,
        }
    }

    /// Forgets the request. Returns it, if it was not answered.
    fn take_request(&mut self) -> Option<AnsweredRequest> {
        let answers = self.answers.take()?;
        self.opened.0.log_senders().remove(&answers.request);
        Some(answers)
    }
}

impl Stream for ActiveStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // The lines of a call precede its answer, also those that arrive with it.
        if let Some(line) = self.next_line(cx) {
            return Poll::Ready(Some(line));
        }
        if let Some(event) = self.held.take() {
            return Poll::Ready(Some(event));
        }
        // The SDK's stream ends later; the client would wait for that before its next request.
        if self.is_answered {
            return Poll::Ready(None);
        }
        let mut polled = self.stream.as_mut().poll_next(cx);
        match &mut polled {
            Poll::Ready(None) => drop(self.take_request()),
            Poll::Ready(Some(event)) => {
                self.note_event(event);
                if let (Some((shared, session)), Some(id)) = (&self.sealing, &mut event.event_id) {
                    *id = shared.seals.sealed_event(id, session);
                }
            }
            Poll::Pending => {}
        }
        if let Poll::Ready(Some(_)) = &polled
            && let Some(line) = self.next_line(cx)
            && let Poll::Ready(event) = std::mem::replace(&mut polled, Poll::Ready(Some(line)))
        {
            self.held = event;
        }
        polled
    }
}

impl Drop for ActiveStream {
    fn drop(&mut self) {
        if let Some(answers) = self.take_request() {
            self.opened.0.cancel_unless_resumed(answers);
        }
    }
}

/// The transport of a session, whose log lines go to the streams of their requests.
pub(super) struct SessionTransport<T> {
    pub(super) transport: T,
    pub(super) activity: Arc<Activity>,
    /// The session ends with its transport.
    pub(super) _end: SessionEnd,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for SessionTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.activity.note_sent(&message);
        match self.activity.log_stream(&message) {
            // Small, since the SDK moves the future of each message several times.
            Some(stream) => Either::Left(Box::pin(async move {
                // The reports of the call wait with it; without a reader, they are left out.
                stream.send(ServerSseMessage::from_message(message)).await.ok();
                Ok(())
            })),
            None => Either::Right(self.transport.send(message)),
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.transport.receive().await?;
        self.activity.note_received(&message);
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use futures_util::{FutureExt as _, StreamExt as _, stream};
    use rmcp::model::ServerResult;

    use super::*;

    #[tokio::test]
    async fn a_stream_ends_with_the_answer_and_the_lines_before_it() {
        let answer = || {
            let message = ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(1));
            ServerSseMessage::from_message(message)
        };
        let answers = || AnsweredRequest {
            request: RequestId::Number(1),
            stream: None,
            sessions: Weak::new(),
            session: "session".into(),
            resume_time: Duration::ZERO,
        };
        // One of the stream of a session itself is not its end.
        for (answers, ends) in [(Some(answers()), true), (None, false)] {
            let activity = Arc::new(Activity::default());
            let mut active = ActiveStream {
                stream: Box::pin(stream::iter([answer()]).chain(stream::pending())),
                opened: activity.open_stream(),
                answers,
                _listening: None,
                logs: None,
                is_answered: false,
                held: Some(answer()),
                sealing: None,
            };
            assert!(active.next().await.is_some() && active.next().await.is_some());
            assert_eq!(active.next().now_or_never().is_some_and(|event| event.is_none()), ends);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_idle_since_the_end_of_its_last_stream() {
        let (activity, time) = (Arc::new(Activity::default()), Duration::from_secs(5));
        let stream = activity.open_stream();
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(activity.idle_at(time), Some(Instant::now() + time));
        drop(stream);
        assert_eq!(activity.idle_at(time), Some(Instant::now() + time));
        let ended = Instant::now();
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(activity.idle_at(time), Some(ended + time));
        activity.note_use();
        assert_eq!(activity.idle_at(time), Some(ended + Duration::from_secs(8)));
        assert_eq!(activity.idle_at(Duration::MAX), None);
    }
}
