//! The body of a request, without the arguments of a call.

use std::{
    borrow::Cow,
    fmt,
    pin::Pin,
    sync::{Arc, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame};
use rmcp::ErrorData;
use tokio::time::{Instant, Sleep};

use super::{
    HttpRequestFacts,
    current_request::CurrentRequest,
    received_bodies::{BodyPermit, ReceivedBodies},
    refusal::RequestRefusal,
};
use crate::server::{
    plain_call::split_plain_call_arguments,
    requests::{ReadMessage, RefusedMessage, read_message, remove_byte_order_mark},
    server_state::ServerState,
};

/// The limits of a body.
pub(super) struct BodyLimits {
    /// The largest body, in bytes; the SDK refuses a larger one.
    pub(super) max_bytes: usize,
    pub(super) idle_time: Duration,
    pub(super) bodies: Arc<ReceivedBodies>,
}

/// A body whose call, if it has the [plain form](crate::server::plain_call::PlainCall), arrives at the SDK with empty arguments; their text is in the
/// [`HttpRequestFacts`] of the request. Other requests are [read](crate::server::requests) before the SDK does.
pub(super) struct ArgumentStrippingBody<B> {
    body: Pin<Box<B>>,
    facts: Arc<HttpRequestFacts>,
    shared: Arc<ServerState>,
    current: Arc<CurrentRequest>,
    limits: BodyLimits,
    received: Vec<u8>,
    /// Since the body did not arrive with the head.
    waiting: Option<BodyWait>,
    state: BodyState,
}

/// The wait for more of a body.
struct BodyWait {
    permit: BodyPermit,
    idle: Pin<Box<Sleep>>,
}

enum BodyState {
    /// The body is received to its end.
    Receives,
    /// The body is too large: the SDK receives it from here on.
    Passes,
    Ended,
}

/// The error of a body.
#[derive(Debug)]
pub(super) enum RequestBodyError {
    /// It is refused, for the reason of its request.
    Refused,
    Broken(String),
}

impl fmt::Display for RequestBodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("the request is refused"),
            Self::Broken(error) => f.write_str(error),
        }
    }
}

impl<B: Body> ArgumentStrippingBody<B>
where
    B::Error: fmt::Display,
{
    pub(super) fn new(
        body: B,
        facts: Arc<HttpRequestFacts>,
        shared: Arc<ServerState>,
        current: Arc<CurrentRequest>,
        limits: BodyLimits,
    ) -> Self {
        Self {
            body: Box::pin(body),
            facts,
            shared,
            current,
            limits,
            received: Vec::new(),
            waiting: None,
            state: BodyState::Receives,
        }
    }

    /// Returns the body for the SDK.
    fn body_for_sdk(&mut self) -> Result<Bytes, RequestBodyError> {
        self.waiting = None;
        let mut body = std::mem::take(&mut self.received);
        remove_byte_order_mark(&mut body);
        if let Some(shortened) = self.store_arguments_apart(&body) {
            return Ok(shortened);
        }
        match read_message(&body) {
            ReadMessage::Forwarded(message, id) => {
                if let Some(id) = id {
                    self.current.set_id(id);
                }
                match message {
                    Cow::Borrowed(_) => Ok(body.into()),
                    Cow::Owned(message) => {
                        Ok(self.store_arguments_apart(&message).unwrap_or_else(|| message.into()))
                    }
                }
            }
            ReadMessage::Refused(refused) => Err(self.refuse_request(RequestRefusal::Message(*refused))),
            ReadMessage::Dropped(problem) => {
                let error = ErrorData::invalid_request(problem, None);
                Err(self.refuse_request(RequestRefusal::Message(RefusedMessage { id: None, error })))
            }
        }
    }

    /// Returns the call without its arguments, if it has the plain form.
    fn store_arguments_apart(&self, body: &[u8]) -> Option<Bytes> {
        let (arguments, shortened) = split_plain_call_arguments(body, |call, arguments| {
            // The SDK compares arguments of such tools with headers.
            let is_in_headers = self.shared.has_header_parameters(call.name());
            // In a cluster, the ids of events name their request.
            #[cfg(feature = "postgres")]
            if self.shared.cluster.get().is_some()
                && let Some(id) = call.request_id()
            {
                self.current.set_id(id);
            }
            (!is_in_headers).then(|| arguments.to_owned())
        })?;
        *self.facts.arguments.lock().unwrap_or_else(PoisonError::into_inner) = Some(arguments);
        Some(shortened.into())
    }

    fn refuse_request(&mut self, refusal: RequestRefusal) -> RequestBodyError {
        self.state = BodyState::Ended;
        self.waiting = None;
        self.received = Vec::new();
        self.current.refuse(refusal);
        RequestBodyError::Refused
    }

    /// Waits for more of the body.
    ///
    /// # Errors
    ///
    /// If it takes too long, or too many bodies are received.
    fn poll_wait_limits(&mut self, cx: &mut Context<'_>) -> Result<(), RequestBodyError> {
        let limit = self.limits.bodies.limit();
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            None => match self.limits.bodies.admit_body_displacing_slowest() {
                Some(permit) => {
                    permit.count_received(self.received.len());
                    let idle = Box::pin(tokio::time::sleep(self.limits.idle_time));
                    self.waiting.insert(BodyWait { permit, idle })
                }
                None => return Err(self.refuse_request(RequestRefusal::Bodies(limit))),
            },
        };
        if waiting.permit.poll_given_way(cx) {
            return Err(self.refuse_request(RequestRefusal::Bodies(limit)));
        }
        if waiting.idle.as_mut().poll(cx).is_ready() {
            let time = self.limits.idle_time;
            return Err(self.refuse_request(RequestRefusal::IdleBody(time)));
        }
        Ok(())
    }

    /// Adds `data` to what is received.
    fn receive_data(&mut self, mut data: impl Buf) {
        let bytes = data.remaining();
        if let Some(waiting) = &mut self.waiting
            && bytes > 0
        {
            waiting.permit.count_received(bytes);
            // Beyond the clock, it never ends.
            if let Some(deadline) = Instant::now().checked_add(self.limits.idle_time) {
                waiting.idle.as_mut().reset(deadline);
            }
        }
        let (length, capacity) = (self.received.len(), self.received.capacity());
        let needed = length.saturating_add(bytes);
        if needed > capacity {
            // Doubled, as far as the largest body, and no further.
            let target = capacity.saturating_mul(2).min(self.limits.max_bytes).max(needed);
            self.received.reserve_exact(target - length);
        }
        while data.has_remaining() {
            let length = data.chunk().len();
            self.received.extend_from_slice(data.chunk());
            data.advance(length);
        }
    }
}

impl<B: Body> Body for ArgumentStrippingBody<B>
where
    B::Error: fmt::Display,
{
    type Data = Bytes;
    type Error = RequestBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestBodyError>>> {
        let it = &mut *self;
        loop {
            if matches!(it.state, BodyState::Ended) {
                return Poll::Ready(None);
            }
            let frame = match it.body.as_mut().poll_frame(cx) {
                Poll::Ready(frame) => frame,
                Poll::Pending if matches!(it.state, BodyState::Passes) => return Poll::Pending,
                Poll::Pending => {
                    return match it.poll_wait_limits(cx) {
                        Ok(()) => Poll::Pending,
                        Err(error) => Poll::Ready(Some(Err(error))),
                    };
                }
            };
            let data = match frame {
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(RequestBodyError::Broken(error.to_string()))));
                }
                // Trailers have no meaning here.
                Some(Ok(frame)) => frame.into_data().ok(),
                None if matches!(it.state, BodyState::Passes) => return Poll::Ready(None),
                None => {
                    it.state = BodyState::Ended;
                    return Poll::Ready(Some(it.body_for_sdk().map(Frame::data)));
                }
            };
            let Some(mut data) = data else { continue };
            if matches!(it.state, BodyState::Passes) {
                return Poll::Ready(Some(Ok(Frame::data(data.copy_to_bytes(data.remaining())))));
            }
            it.receive_data(data);
            if it.received.len() > it.limits.max_bytes {
                it.state = BodyState::Passes;
                it.waiting = None;
                let received = std::mem::take(&mut it.received);
                return Poll::Ready(Some(Ok(Frame::data(received.into()))));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
    use tokio::sync::mpsc;
    use tool_runtime::Registry;

    use super::*;

    type Parts = mpsc::UnboundedSender<Result<Frame<Bytes>, std::io::Error>>;

    const MAX_BYTES: usize = 100;

    /// A body of at most [`MAX_BYTES`] bytes, whose parts are sent.
    fn body() -> (ArgumentStrippingBody<BoxBody<Bytes, std::io::Error>>, Parts, Arc<ReceivedBodies>) {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let parts = futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx));
        let bodies = Arc::new(ReceivedBodies::new(1));
        let idle_time = Duration::from_secs(5);
        let limits = BodyLimits { max_bytes: MAX_BYTES, idle_time, bodies: Arc::clone(&bodies) };
        let shared = crate::server::McpServer::new(Registry::default()).into_server_state().unwrap();
        let facts = Arc::new(HttpRequestFacts::new(None, None, None));
        let body = BodyExt::boxed(StreamBody::new(SyncStream(parts)));
        (ArgumentStrippingBody::new(body, facts, shared, Arc::default(), limits), sender, bodies)
    }

    /// A stream that is polled by one task at a time.
    struct SyncStream<S>(S);

    impl<S: futures_core::Stream + Unpin> futures_core::Stream for SyncStream<S> {
        type Item = S::Item;

        fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
            Pin::new(&mut self.0).poll_next(cx)
        }
    }

    fn part(bytes: usize) -> Result<Frame<Bytes>, std::io::Error> {
        Ok(Frame::data(vec![b'x'; bytes].into()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_takes_no_more_memory_than_the_largest() {
        let (mut body, ..) = body();
        let mut taken = 0;
        for bytes in [30, 35, 5, 30] {
            taken += bytes;
            body.receive_data(Bytes::from(vec![b'x'; bytes]));
            assert_eq!(body.received.len(), taken);
            assert!(body.received.capacity() <= MAX_BYTES, "{taken}: {}", body.received.capacity());
        }
        assert_eq!(body.received.capacity(), MAX_BYTES);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_large_is_passed_on_and_holds_no_place() {
        let (mut body, parts, bodies) = body();
        let mut frame = Box::pin(body.frame());
        assert!(futures_util::poll!(&mut frame).is_pending());
        assert!(bodies.admit_body_displacing_slowest().is_none(), "it holds the only place");
        parts.send(part(MAX_BYTES)).unwrap();
        assert!(futures_util::poll!(&mut frame).is_pending());
        parts.send(part(1)).unwrap();
        let first = frame.await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first.len(), MAX_BYTES + 1);
        assert!(bodies.admit_body_displacing_slowest().is_some());
        parts.send(part(7)).unwrap();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap().len(), 7);
        drop(parts);
        assert!(body.frame().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_breaks_off_or_stays_away_is_an_error() {
        let (mut body, parts, _) = body();
        parts.send(Err(std::io::Error::other("it broke"))).unwrap();
        let error = body.frame().await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "it broke");

        let (mut body, parts, bodies) = self::body();
        for _ in 0..3 {
            parts.send(part(1)).unwrap();
            let waiting = tokio::time::timeout(Duration::from_secs(4), body.frame()).await;
            assert!(waiting.is_err(), "each part has its own time");
        }
        let error = tokio::time::timeout(Duration::from_secs(4), body.frame()).await.unwrap().unwrap();
        assert_eq!(error.unwrap_err().to_string(), "the request is refused");
        assert!(matches!(body.current.refusal(), Some(RequestRefusal::IdleBody(_))));
        assert!(bodies.admit_body_displacing_slowest().is_some(), "it holds no place");
        assert_eq!(body.received.capacity(), 0, "it holds no memory");
        assert!(body.frame().await.is_none());
    }
}
