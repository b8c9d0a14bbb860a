//! Serving the standard streams.

#[cfg(unix)]
use std::{
    fs::{File, Metadata},
    os::{
        fd::OwnedFd,
        unix::{
            fs::{FileTypeExt, MetadataExt},
            net::UnixStream as StdStream,
        },
    },
};
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(unix)]
use tokio::net::{UnixStream, unix::pipe};
use tool_runtime::CancellationToken;

use super::server_state::ServerState;

/// The streams of the protocol.
type StandardStreams = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

/// Returns the standard streams, which are of the protocol alone: what the program prints from now on goes to the standard
/// error, since a line that is not of the protocol would break it, and its standard input is empty, since a request that
/// a tool, or a process that it starts, reads would be lost. The processes do not inherit the streams either.
///
/// Pipes and sockets are polled; a read or write of another file occupies a thread.
#[cfg(unix)]
pub(super) fn take_standard_streams() -> io::Result<StandardStreams> {
    /// The lowest descriptor that is not of a standard stream.
    const OTHERS: i32 = 3;

    let input = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), OTHERS)?);
    let output = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), OTHERS)?);
    let error = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), OTHERS)?).metadata()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    let read: Box<dyn AsyncRead + Send + Unpin> = match StreamKind::of_file(&input.metadata()?, &error) {
        StreamKind::Pipe => Box::new(pipe::Receiver::from_file(input)?),
        StreamKind::Socket => Box::new(socket_stream(input)?),
        StreamKind::Other => Box::new(tokio::fs::File::from_std(input)),
    };
    let write: Box<dyn AsyncWrite + Send + Unpin> = match StreamKind::of_file(&output.metadata()?, &error) {
        StreamKind::Pipe => Box::new(pipe::Sender::from_file(output)?),
        StreamKind::Socket => Box::new(socket_stream(output)?),
        StreamKind::Other => Box::new(tokio::fs::File::from_std(output)),
    };
    Ok((read, write))
}

/// Returns a stream that is a socket, as Node.js has them.
#[cfg(unix)]
fn socket_stream(stream: File) -> io::Result<UnixStream> {
    let stream = StdStream::from(OwnedFd::from(stream));
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// A kind of stream.
#[cfg(unix)]
enum StreamKind {
    Pipe,
    Socket,
    /// Also a stream that is the standard error, too: what can be polled never blocks, and printing to it would fail.
    Other,
}

#[cfg(unix)]
impl StreamKind {
    fn of_file(stream: &Metadata, error: &Metadata) -> Self {
        match stream.file_type() {
            _ if (stream.dev(), stream.ino()) == (error.dev(), error.ino()) => Self::Other,
            kind if kind.is_fifo() => Self::Pipe,
            kind if kind.is_socket() => Self::Socket,
            _ => Self::Other,
        }
    }
}

/// Returns the standard streams. What the program prints breaks the protocol.
#[cfg(not(unix))]
pub(super) fn take_standard_streams() -> io::Result<StandardStreams> {
    Ok((Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())))
}

/// A stream of requests that ends when the server does: after the calls that run. When it ends by itself, subscriptions end,
/// for which the server would wait otherwise.
pub(super) struct StoppableReader<R> {
    read: R,
    stop: CancellationToken,
    subscriptions: CancellationToken,
    /// `None` once it has.
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<R> StoppableReader<R> {
    pub(super) fn new(read: R, stop: CancellationToken, shared: Arc<ServerState>) -> Self {
        let (stopped, subscriptions) = (stop.clone(), shared.stopping.clone());
        let ended: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            stopped.cancelled().await;
            shared.stopping.cancel();
            if tokio::time::timeout(shared.shutdown_time, shared.running.wait_until_idle()).await.is_err() {
                tracing::warn!("the server ends before all its calls do");
            }
        });
        Self { read, stop, subscriptions, ended: Some(ended) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for StoppableReader<R> {
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
