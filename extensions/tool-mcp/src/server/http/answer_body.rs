//! The body of an answer.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use tokio_util::{sync::DropGuard, task::task_tracker::TaskTrackerToken};

use super::table::SessionTable;

/// The body of an answer, which keeps the server from ending, and its session from resting.
pub(super) struct AnswerBody {
    pub(super) body: BoxBody<Bytes, Infallible>,
    /// Completes when the token of the caller expires, which ends a stream of changes.
    pub(super) expired: Option<Pin<Box<tokio::time::Sleep>>>,
    /// Tells a subscription that its client is gone.
    pub(super) _departing: Option<DropGuard>,
    pub(super) _open: Option<TaskTrackerToken>,
    pub(super) _settling: Settling,
}

/// Puts sessions to rest when an answer, which is dropped before, has ended.
pub(super) struct Settling(pub(super) Arc<SessionTable>);

impl Drop for Settling {
    fn drop(&mut self) {
        self.0.rest_unused_sessions();
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.expired.as_mut().is_some_and(|expired| expired.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;
    use http_body_util::{BodyExt as _, Empty, Full};
    use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

    use super::*;

    fn answer(body: BoxBody<Bytes, Infallible>, time: Option<Duration>) -> AnswerBody {
        let table = SessionTable::new(LocalSessionManager::default(), 0);
        let expired = time.map(|time| Box::pin(tokio::time::sleep(time)));
        AnswerBody { body, expired, _departing: None, _open: None, _settling: Settling(table) }
    }

    #[tokio::test]
    async fn an_answer_has_the_size_and_the_end_of_its_body() {
        let empty = answer(Empty::new().boxed(), None);
        assert!(empty.is_end_stream());
        assert_eq!(empty.size_hint().exact(), Some(0));
        let mut text = answer(Full::new(Bytes::from("text")).boxed(), None);
        assert!(!text.is_end_stream());
        assert_eq!(text.size_hint().exact(), Some(4));
        let frame = text.frame().await.and_then(Result::ok).and_then(|frame| frame.into_data().ok());
        assert_eq!(frame.as_deref(), Some(&b"text"[..]));
        assert!(text.is_end_stream());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_ends_when_its_token_expires() {
        let time = Duration::from_secs(5);
        let mut body = answer(Full::new(Bytes::from("text")).boxed(), Some(time));
        assert!(body.frame().now_or_never().is_some_and(|frame| frame.is_some()));
        let mut body = answer(Full::new(Bytes::from("text")).boxed(), Some(time));
        tokio::time::sleep(time).await;
        assert!(body.frame().now_or_never().is_some_and(|frame| frame.is_none()));
    }
}
