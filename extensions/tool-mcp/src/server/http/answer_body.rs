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
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::table::SessionTable;

/// The body of an answer, which keeps the server from ending, and its session from resting.
pub(super) struct AnswerBody {
    pub(super) body: BoxBody<Bytes, Infallible>,
    /// Completes when the token of the caller expires, which ends a stream of changes.
    pub(super) expired: Option<Pin<Box<tokio::time::Sleep>>>,
    pub(super) _open: Option<TaskTrackerToken>,
    pub(super) _settling: Settling,
}

/// Puts sessions to rest when an answer, which is dropped before, has ended.
pub(super) struct Settling(pub(super) Arc<SessionTable>);

impl Drop for Settling {
    fn drop(&mut self) {
        self.0.rest_unused();
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
