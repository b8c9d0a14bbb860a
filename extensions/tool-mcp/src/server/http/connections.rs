//! The connections of a server, with a deadline for the head of each request.

use std::{
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::{Duration, Instant as StdInstant},
};

use axum::{
    body::Body,
    serve::{Listener, ListenerExt as _, TapIo},
};
use http::Request;
use hyper::{
    body::Incoming,
    rt::{Read, ReadBufCursor, Sleep, Timer, Write},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    time::Instant,
};
use tokio_util::task::TaskTracker;
use tool_runtime::CancellationToken;
use tower_service::Service as _;

/// The largest head of a request, in bytes: a connection does not buffer more.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The deadlines of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionTimes {
    /// For the head of a request, from its first byte.
    pub(super) head: Duration,
    /// Between two requests.
    pub(super) keep_alive: Duration,
    /// For answers when the server ends.
    pub(super) shutdown: Duration,
}

impl ConnectionTimes {
    /// The longest deadline: `hyper` adds it to the time, which has an end.
    pub(super) const MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);
}

/// Serves the connections of `listener` until `stop` completes; then those that are open end with the request that they work on.
pub(super) async fn serve_connections(
    listener: TcpListener,
    router: axum::Router,
    times: ConnectionTimes,
    stop: impl Future<Output = ()>,
) {
    let (open, ending, abandoned) = (TaskTracker::new(), CancellationToken::new(), CancellationToken::new());
    let mut listener = with_nodelay(listener);
    let mut stop = pin!(stop);
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let serving = serve_connection(stream, address, router.clone(), times, ending.clone());
        let abandoned = abandoned.clone();
        open.spawn(async move {
            tokio::select! {
                () = serving => {}
                () = abandoned.cancelled() => {}
            }
        });
    }
    drop(listener);
    ending.cancel();
    open.close();
    if tokio::time::timeout(times.shutdown, open.wait()).await.is_err() {
        tracing::warn!(connections = open.len(), "the server ends before its clients have read all answers");
        abandoned.cancel();
        open.wait().await;
    }
}

async fn serve_connection(
    stream: TcpStream,
    address: SocketAddr,
    router: axum::Router,
    times: ConnectionTimes,
    ending: CancellationToken,
) {
    let reads = Arc::new(AtomicU64::new(0));
    let io = CountedReads { io: TokioIo::new(stream), reads: Arc::clone(&reads) };
    let service = service_fn(move |request: Request<Incoming>| router.clone().call(request.map(Body::new)));
    let connection = http1::Builder::new()
        .timer(HeadTimer { reads, times })
        .header_read_timeout(times.head)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(io, service);
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%address, %error, "a connection ended");
    }
}

/// Returns a listener whose connections send small packets at once. The end of a stream of events would wait until the client has
/// acknowledged the event, for up to 40 ms.
fn with_nodelay(listener: TcpListener) -> TapIo<TcpListener, impl FnMut(&mut TcpStream) + Send + 'static> {
    listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection delays small packets");
        }
    })
}

/// A connection that counts its reads.
struct CountedReads<T> {
    io: TokioIo<T>,
    reads: Arc<AtomicU64>,
}

impl<T: tokio::io::AsyncRead + Unpin> Read for CountedReads<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.io).poll_read(cx, buffer));
        self.reads.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(read)
    }
}

impl<T: tokio::io::AsyncWrite + Unpin> Write for CountedReads<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }
}

/// The timer of a connection. `hyper` starts it when it begins to wait for a head, also between two requests.
struct HeadTimer {
    reads: Arc<AtomicU64>,
    times: ConnectionTimes,
}

impl Timer for HeadTimer {
    fn sleep(&self, _: Duration) -> Pin<Box<dyn Sleep>> {
        let reads_before = self.reads.load(Ordering::Relaxed);
        // A new connection has to send a head; a used one may wait.
        let is_between = reads_before > 0;
        let time = if is_between { self.times.keep_alive } else { self.times.head };
        Box::pin(HeadDeadline {
            sleep: Box::pin(tokio::time::sleep(time)),
            reads: Arc::clone(&self.reads),
            reads_before,
            is_between,
            head: self.times.head,
        })
    }

    fn sleep_until(&self, deadline: StdInstant) -> Pin<Box<dyn Sleep>> {
        self.sleep(deadline.saturating_duration_since(StdInstant::now()))
    }
}

/// Completes at the deadline of a head.
struct HeadDeadline {
    sleep: Pin<Box<tokio::time::Sleep>>,
    reads: Arc<AtomicU64>,
    reads_before: u64,
    /// No byte of the head has been received.
    is_between: bool,
    head: Duration,
}

impl Sleep for HeadDeadline {}

impl Future for HeadDeadline {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_between && self.reads.load(Ordering::Relaxed) > self.reads_before {
            self.is_between = false;
            let deadline = Instant::now() + self.head;
            self.sleep.as_mut().reset(deadline);
        }
        self.sleep.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn connections_send_small_packets_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = with_nodelay(listener).accept().await;
        assert!(stream.nodelay().unwrap() && !client.nodelay().unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_its_deadline_from_its_first_byte() {
        let [head, keep_alive] = [10, 60].map(Duration::from_secs);
        let reads = Arc::new(AtomicU64::new(0));
        let times = ConnectionTimes { head, keep_alive, shutdown: Duration::ZERO };
        let timer = HeadTimer { reads: Arc::clone(&reads), times };
        let ends_after = async |mut deadline: Pin<Box<dyn Sleep>>, time: Duration| {
            assert!(deadline.as_mut().now_or_never().is_none());
            tokio::time::advance(time - Duration::from_millis(2)).await;
            assert!(deadline.as_mut().now_or_never().is_none());
            tokio::time::advance(Duration::from_millis(3)).await;
            deadline.as_mut().now_or_never().is_some()
        };
        assert!(ends_after(timer.sleep(head), head).await, "a new connection");
        reads.store(1, Ordering::Relaxed);
        assert!(ends_after(timer.sleep(head), keep_alive).await, "between two requests");
        let mut begun = timer.sleep(head);
        assert!(begun.as_mut().now_or_never().is_none());
        tokio::time::advance(keep_alive - Duration::from_secs(1)).await;
        reads.store(2, Ordering::Relaxed);
        assert!(ends_after(begun, head).await, "a head that has begun");
    }

    #[tokio::test]
    async fn a_connection_is_read_written_and_shut_down() {
        use std::future::poll_fn;

        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let reads = Arc::new(AtomicU64::new(0));
        let (near, mut far) = tokio::io::duplex(64);
        let mut io = Box::pin(CountedReads { io: TokioIo::new(near), reads: Arc::clone(&reads) });
        assert_eq!(poll_fn(|cx| io.as_mut().poll_write(cx, b"ab")).await.unwrap(), 2);
        let slices = [io::IoSlice::new(b"c"), io::IoSlice::new(b"d")];
        let written = poll_fn(|cx| io.as_mut().poll_write_vectored(cx, &slices)).await.unwrap();
        assert!(written >= 1);
        poll_fn(|cx| io.as_mut().poll_flush(cx)).await.unwrap();
        poll_fn(|cx| io.as_mut().poll_shutdown(cx)).await.unwrap();
        let mut received = String::new();
        far.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, &"abcd"[..2 + written]);
        assert_eq!(reads.load(Ordering::Relaxed), 0);
        far.write_all(b"e").await.unwrap();
        let mut bytes = [0; 4];
        let mut buffer = hyper::rt::ReadBuf::new(&mut bytes);
        poll_fn(|cx| io.as_mut().poll_read(cx, buffer.unfilled())).await.unwrap();
        assert_eq!((buffer.filled(), reads.load(Ordering::Relaxed)), (&b"e"[..], 1));
    }
}
