//! The streams of a session, with the log lines that belong to them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::{
        Transport,
        streamable_http_server::session::{ServerSseMessage, SessionId},
    },
};
use tokio_util::either::Either;

use super::{
    activity::{AnsweredRequest, OpenStream, SessionActivity, stream_of_event_id},
    logs::LogLineReceiver,
    table::SessionEnd,
};
use crate::server::{server_state::ServerState, session_state::SessionState};

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

/// The session and the request that the ids of stored events are sealed for.
pub(super) struct EventSealing {
    pub(super) shared: Arc<ServerState>,
    pub(super) session: SessionId,
    /// The request that the stream answers. A stored event does not name it.
    pub(super) request: Option<RequestId>,
}

impl EventSealing {
    fn seal_event_id(&self, event: &str) -> String {
        let request = serde_json::to_string(&self.request).unwrap_or_default();
        self.shared.seals.sealed_event_id(&format!("{request}\n{event}"), &self.session)
    }

    /// Returns the id of an event in its store, and the request that its stream answers.
    pub(super) fn unseal_event_id(
        shared: &ServerState,
        sealed: &str,
        session: &str,
    ) -> Option<(String, Option<RequestId>)> {
        let opened = shared.seals.opened_event_id(sealed, session)?;
        let (request, event) = opened.split_once('\n')?;
        Some((event.to_owned(), serde_json::from_str(request).ok()?))
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
    pub(super) logs: Option<LogLineReceiver>,
    /// The answer was received, after which the stream ends.
    pub(super) is_answered: bool,
    /// An event that lines precede.
    pub(super) held: Option<ServerSseMessage>,
    pub(super) sealing: Option<EventSealing>,
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
                answers.stream = event.event_id.as_deref().and_then(stream_of_event_id).map(str::to_owned);
            }
            _ => {}
        }
    }

    /// The next line, if there is one.
    fn poll_log_line(&mut self, cx: &mut Context<'_>) -> Option<ServerSseMessage> {
        match self.logs.as_mut()?.poll_line(cx) {
            Poll::Ready(line) => line,
            Poll::Pending => None,
        }
    }

    /// Forgets the request. Returns it, if it was not answered.
    fn take_request(&mut self) -> Option<AnsweredRequest> {
        let answers = self.answers.take()?;
        self.opened.0.lock_log_senders().remove(&answers.request);
        Some(answers)
    }
}

impl Stream for ActiveStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // The lines of a call precede its answer, also those that arrive with it.
        if let Some(line) = self.poll_log_line(cx) {
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
                if let Some(sealing) = &self.sealing
                    && let Some(id) = event.event_id.take()
                {
                    // An event without an id is one that is not stored yet.
                    event.event_id = (!id.is_empty()).then(|| sealing.seal_event_id(&id));
                }
            }
            Poll::Pending => {}
        }
        if let Poll::Ready(Some(_)) = &polled
            && let Some(line) = self.poll_log_line(cx)
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
    pub(super) activity: Arc<SessionActivity>,
    /// Names this process in questions.
    #[cfg(feature = "postgres")]
    pub(super) cluster: Option<super::Cluster>,
    /// The session ends with its transport.
    pub(super) _end: SessionEnd,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for SessionTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        #[cfg_attr(not(feature = "postgres"), expect(unused_mut, reason = "a cluster changes it"))]
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        #[cfg(feature = "postgres")]
        if let Some(cluster) = &self.cluster {
            cluster.add_process_to_question_id(&mut message);
        }
        self.activity.note_sent_message(&message);
        match self.activity.log_line_sender(&message) {
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
        self.activity.note_received_message(&message);
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::{sync::Weak, time::Duration};

    use futures_util::{FutureExt as _, StreamExt as _, stream};
    use rmcp::model::{RequestId, ServerResult};

    use super::*;

    /// A stream that answers the request 1; its ids are sealed for `sealing`.
    fn answering(sealing: Option<EventSealing>) -> ActiveStream {
        let answers = AnsweredRequest {
            request: RequestId::Number(1),
            stream: None,
            sessions: Weak::new(),
            session: "session".into(),
            resume_time: Duration::ZERO,
        };
        ActiveStream {
            stream: Box::pin(stream::pending()),
            opened: Arc::new(SessionActivity::default()).open_stream(),
            answers: Some(answers),
            _listening: None,
            logs: None,
            is_answered: false,
            held: None,
            sealing,
        }
    }

    #[tokio::test]
    async fn the_first_event_names_the_stream_unless_its_ids_are_those_of_a_store() {
        let event = |id: Option<&str>| {
            let message = ServerJsonRpcMessage::request(
                rmcp::model::ServerRequest::PingRequest(Default::default()),
                RequestId::Number(1),
            );
            let mut event = ServerSseMessage::from_message(message);
            event.event_id = id.map(str::to_owned);
            event
        };
        let name = |stream: &ActiveStream| stream.answers.as_ref().and_then(|it| it.stream.clone());
        let mut own = answering(None);
        for (id, expected) in
            [(None, None), (Some("0"), None), (Some("0/7"), Some("7")), (Some("1/8"), Some("7"))]
        {
            own.note_event(&event(id));
            assert_eq!(name(&own).as_deref(), expected, "{id:?}");
        }
        assert!(!own.is_answered);
        let state =
            crate::server::McpServer::new(tool_runtime::Registry::default()).into_server_state().unwrap();
        let mut stored =
            answering(Some(EventSealing { shared: state, session: "session".into(), request: None }));
        stored.note_event(&event(Some("0/7")));
        assert_eq!(name(&stored), None);
    }

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
            let activity = Arc::new(SessionActivity::default());
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

    /// An event of this id, without a message.
    fn event_of_id(id: Option<&str>) -> ServerSseMessage {
        let mut event = ServerSseMessage::default();
        event.event_id = id.map(str::to_owned);
        event
    }

    #[tokio::test]
    async fn the_ids_of_stored_events_are_sealed_for_their_session_and_name_their_request() {
        let server = crate::server::McpServer::new(tool_runtime::Registry::default());
        let (shared, request) = (server.into_server_state().unwrap(), Some(RequestId::Number(7)));
        let sealing =
            EventSealing { shared: Arc::clone(&shared), session: "session".into(), request: request.clone() };
        let mut active = answering(Some(sealing));
        active.stream = Box::pin(stream::iter([Some("0/1"), Some(""), None].map(event_of_id)));
        let ids: Vec<_> = active.map(|event| event.event_id).collect().await;
        let sealed = ids[0].clone().unwrap();
        assert_eq!(ids[1..], [None, None]);
        let unsealed = |sealed: &str, session: &str| EventSealing::unseal_event_id(&shared, sealed, session);
        assert_eq!(unsealed(&sealed, "session"), Some(("0/1".to_owned(), request)));
        assert_eq!([unsealed(&sealed, "other"), unsealed("0/1", "session")], [None, None]);
    }

    #[tokio::test]
    async fn a_line_that_comes_with_an_event_precedes_it() {
        let (sender, receiver) = super::super::logs::log_line_channel();
        let mut active = answering(None);
        active.logs = Some(receiver);
        active.stream = Box::pin(stream::once(async move {
            sender.open_channel().unwrap().try_send(event_of_id(Some("line"))).unwrap();
            event_of_id(Some("event"))
        }));
        let ids: Vec<_> = active.map(|event| event.event_id.unwrap()).collect().await;
        assert_eq!(ids, ["line", "event"]);
    }

    #[tokio::test]
    async fn a_request_whose_stream_ended_has_no_lines_and_is_not_cancelled() {
        for ends in [true, false] {
            let mut active = answering(None);
            let activity = Arc::clone(&active.opened.0);
            active.logs = Some(activity.open_log_channel(RequestId::Number(1)));
            let first = stream::iter([event_of_id(Some("0/7"))]);
            active.stream = match ends {
                true => Box::pin(first),
                false => Box::pin(first.chain(stream::pending())),
            };
            assert!(active.next().await.is_some());
            assert_eq!(active.next().now_or_never().is_some(), ends);
            assert_eq!(activity.lock_log_senders().is_empty(), ends);
            drop(active);
            assert!(activity.lock_log_senders().is_empty());
            // What was lost can be resumed.
            assert_eq!(activity.take_lost_request("7").is_some(), !ends);
        }
    }

    #[tokio::test]
    async fn a_listener_counts_while_its_stream_is_open() {
        let server = crate::server::McpServer::new(tool_runtime::Registry::default());
        let state = Arc::new(SessionState::new(&server.into_server_state().unwrap()));
        let count = state.listener_count();
        let [one, other] = [(); 2].map(|()| StreamListener::new(Arc::clone(&state)));
        assert_eq!(*count.borrow(), 2);
        drop(one);
        assert_eq!(*count.borrow(), 1);
        drop(other);
        assert_eq!(*count.borrow(), 0);
        state.remove_listener();
        assert_eq!(*count.borrow(), 0);
    }
}
