//! The transport of a pair of streams: a message in each line.
//!
//! It is the SDK's, behind a reader that takes calls in the [plain form](super::received::PlainCall) out of the stream. Those reach the handler
//! with the text of their arguments; the SDK reads all other lines.

use std::{
    io,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use rmcp::{
    RoleServer,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, BufReader, ReadBuf};

use super::received::take_apart;

type Message = RxJsonRpcMessage<RoleServer>;

/// The bytes that are read at once.
const BUFFER: usize = 64 * 1024;

/// A transport over `R` and `W`.
pub(super) struct Lines<R: AsyncRead + Unpin, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, Others<R>, W>,
    call: Arc<Mutex<Option<Message>>>,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Creates a transport. A line of more than `longest` bytes is dropped, and logged.
    pub(super) fn new(read: R, write: W, longest: usize) -> Self {
        let call = Arc::default();
        let others = Others {
            read: BufReader::with_capacity(BUFFER, read),
            line: Vec::new(),
            longest,
            is_too_long: false,
            other: Vec::new(),
            given: 0,
            call: Arc::clone(&call),
        };
        Self { inner: AsyncRwTransport::new_server(others, write).with_max_line_length(longest), call }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<Message> {
        // It may be dropped at any time: the SDK does so itself.
        let mut other = pin!(self.inner.receive());
        std::future::poll_fn(|cx| match other.as_mut().poll(cx) {
            Poll::Ready(message) => Poll::Ready(message),
            Poll::Pending => {
                let call = self.call.lock().unwrap_or_else(PoisonError::into_inner).take();
                call.map_or(Poll::Pending, |call| Poll::Ready(Some(call)))
            }
        })
        .await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}

/// The lines that are not calls in the plain form.
struct Others<R> {
    read: BufReader<R>,
    /// The line that is read, as far as it is.
    line: Vec<u8>,
    longest: usize,
    /// The rest of the line belongs to one that is too long, which the SDK drops.
    is_too_long: bool,
    /// A line for the SDK, or a part of one, and the number of its bytes that the SDK has.
    other: Vec<u8>,
    given: usize,
    /// A call that was taken out of the stream.
    call: Arc<Mutex<Option<Message>>>,
}

impl<R: AsyncRead + Unpin> Others<R> {
    /// Reads a part of a line; returns `true` at its end, and `None` at the end of the stream.
    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<bool>>> {
        let available = ready!(Pin::new(&mut self.read).poll_fill_buf(cx))?;
        if available.is_empty() {
            return Poll::Ready(Ok(None));
        }
        // `contains` is much faster than `position`.
        let end = match available.contains(&b'\n') {
            true => available.iter().position(|byte| *byte == b'\n').map(|at| at + 1),
            false => None,
        };
        let length = end.unwrap_or(available.len());
        self.line.extend_from_slice(&available[..length]);
        Pin::new(&mut self.read).consume(length);
        Poll::Ready(Ok(Some(end.is_some())))
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Others<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let it = &mut *self;
        loop {
            let rest = it.other.get(it.given..).unwrap_or_default();
            if !rest.is_empty() {
                let length = rest.len().min(buffer.remaining());
                buffer.put_slice(&rest[..length]);
                it.given += length;
                return Poll::Ready(Ok(()));
            }
            let Some(is_end) = ready!(it.poll_part(cx))? else { return Poll::Ready(Ok(())) };
            it.is_too_long |= it.line.len() > it.longest;
            if !is_end && !it.is_too_long {
                continue;
            }
            let call = match it.is_too_long {
                true => None,
                false => take_apart(&it.line, |call, arguments| call.into_message(arguments))
                    .map(|(message, _)| message),
            };
            it.is_too_long &= !is_end;
            if let Some(call) = call {
                it.line.clear();
                *it.call.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
                // The transport, which polls, looks for the call now.
                return Poll::Pending;
            }
            std::mem::swap(&mut it.line, &mut it.other);
            it.line.clear();
            it.given = 0;
        }
    }
}
