//! Serving the standard streams.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tool_runtime::CancellationToken;

use super::handler::Shared;

/// Returns the standard input, and the standard output for the protocol alone: what the program prints from now on goes to
/// the standard error, since a line that is not of the protocol would break it.
#[cfg(unix)]
pub(super) fn streams() -> io::Result<(impl AsyncRead + Send + Unpin, impl AsyncWrite + Send + Unpin)> {
    let protocol = rustix::io::dup(rustix::stdio::stdout())?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok((tokio::io::stdin(), tokio::fs::File::from_std(protocol.into())))
}

/// Returns the standard streams. What the program prints breaks the protocol.
#[cfg(not(unix))]
pub(super) fn streams() -> io::Result<(impl AsyncRead + Send + Unpin, impl AsyncWrite + Send + Unpin)> {
    Ok((tokio::io::stdin(), tokio::io::stdout()))
}

/// A stream of requests that ends when the server does: after the calls that run. When it ends by itself, subscriptions end,
/// for which the server would wait otherwise.
pub(super) struct Stopping<R> {
    read: R,
    stop: CancellationToken,
    subscriptions: CancellationToken,
    /// `None` once it has.
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<R> Stopping<R> {
    pub(super) fn new(read: R, stop: CancellationToken, shared: Arc<Shared>) -> Self {
        let (stopped, subscriptions) = (stop.clone(), shared.stopping.clone());
        let ended: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            stopped.cancelled().await;
            shared.stopping.cancel();
            if tokio::time::timeout(shared.shutdown_time, shared.running.ended()).await.is_err() {
                tracing::warn!("the server ends before all its calls do");
            }
        });
        Self { read, stop, subscriptions, ended: Some(ended) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Stopping<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ended.as_mut().is_none_or(|ended| ended.as_mut().poll(cx).is_ready()) {
            self.ended = None;
            return Poll::Ready(Ok(()));
        }
        match self.stop.is_cancelled() {
            // No new requests while those that run are answered.
            true => Poll::Pending,
            false => {
                let (before, room) = (buffer.filled().len(), buffer.remaining());
                let read = ready!(Pin::new(&mut self.read).poll_read(cx, buffer));
                if read.is_err() || (room > 0 && buffer.filled().len() == before) {
                    self.subscriptions.cancel();
                }
                Poll::Ready(read)
            }
        }
    }
}
