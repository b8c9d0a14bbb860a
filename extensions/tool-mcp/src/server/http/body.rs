//! The body of a request, without the arguments of a call.

use std::{
    pin::Pin,
    sync::{Arc, PoisonError},
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame};

use super::Via;
use crate::server::{handler::Shared, received::take_apart};

/// A body whose call, if it has the [plain form](crate::server::received::PlainCall), arrives at the SDK with empty arguments; their text is in the
/// [`Via`] of the request. Any other body arrives unchanged.
pub(super) struct WithoutArguments<B> {
    body: Pin<Box<B>>,
    via: Arc<Via>,
    shared: Arc<Shared>,
    /// The largest body; the SDK refuses a larger one.
    largest: usize,
    received: Vec<u8>,
    state: State,
}

enum State {
    /// The body is received to its end.
    Receives,
    /// The body is too large: the SDK receives it from here on.
    Passes,
    Ended,
}

impl<B: Body> WithoutArguments<B> {
    pub(super) fn new(body: B, via: Arc<Via>, shared: Arc<Shared>, largest: usize) -> Self {
        Self { body: Box::pin(body), via, shared, largest, received: Vec::new(), state: State::Receives }
    }

    /// Returns the body for the SDK.
    fn shortened(&mut self) -> Bytes {
        let body = std::mem::take(&mut self.received);
        let taken = take_apart(&body, |call, arguments| {
            // The SDK compares arguments of such tools with headers.
            let is_in_headers = self.shared.has_header_parameters(call.name());
            (!is_in_headers).then(|| arguments.to_owned())
        });
        let Some((arguments, shortened)) = taken else { return body.into() };
        *self.via.arguments.lock().unwrap_or_else(PoisonError::into_inner) = Some(arguments);
        shortened.into()
    }
}

impl<B: Body> Body for WithoutArguments<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        loop {
            let frame = match self.state {
                State::Ended => return Poll::Ready(None),
                State::Receives | State::Passes => ready!(self.body.as_mut().poll_frame(cx)),
            };
            let data = match frame {
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                // Trailers have no meaning here.
                Some(Ok(frame)) => frame.into_data().ok(),
                None if matches!(self.state, State::Passes) => return Poll::Ready(None),
                None => {
                    self.state = State::Ended;
                    return Poll::Ready(Some(Ok(Frame::data(self.shortened()))));
                }
            };
            let Some(mut data) = data else { continue };
            if matches!(self.state, State::Passes) {
                return Poll::Ready(Some(Ok(Frame::data(data.copy_to_bytes(data.remaining())))));
            }
            while data.has_remaining() {
                let length = data.chunk().len();
                self.received.extend_from_slice(data.chunk());
                data.advance(length);
            }
            if self.received.len() > self.largest {
                self.state = State::Passes;
                let received = std::mem::take(&mut self.received);
                return Poll::Ready(Some(Ok(Frame::data(received.into()))));
            }
        }
    }
}
