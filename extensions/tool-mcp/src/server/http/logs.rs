//! The log lines of a request, on their way to the stream that answers it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::mpsc;

/// The most log lines of a request that wait until its client reads them.
const LINES: usize = 64;

type Shared = Arc<Mutex<Lines>>;

/// The channel of the lines, made for the first of them: most requests have none.
#[derive(Default)]
struct Lines {
    sender: Option<mpsc::Sender<ServerSseMessage>>,
    /// Until the reader takes it.
    receiver: Option<mpsc::Receiver<ServerSseMessage>>,
    reader: Option<Waker>,
    is_closed: bool,
}

fn lock(lines: &Shared) -> MutexGuard<'_, Lines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates the two sides.
pub(super) fn log_lines() -> (LogSender, LogReceiver) {
    let lines = Shared::default();
    (LogSender(Arc::clone(&lines)), LogReceiver { lines, receiver: None })
}

/// The sending side.
pub(super) struct LogSender(Shared);

impl LogSender {
    /// Returns the channel; `None` if there is no reader any more.
    pub(super) fn channel(&self) -> Option<mpsc::Sender<ServerSseMessage>> {
        let mut lines = lock(&self.0);
        if lines.is_closed {
            return None;
        }
        if lines.sender.is_none() {
            let (sender, receiver) = mpsc::channel(LINES);
            (lines.sender, lines.receiver) = (Some(sender), Some(receiver));
        }
        let (sender, reader) = (lines.sender.clone(), lines.reader.take());
        drop(lines);
        if let Some(reader) = reader {
            reader.wake();
        }
        sender
    }
}

/// The receiving side.
pub(super) struct LogReceiver {
    lines: Shared,
    /// Once there is a line.
    receiver: Option<mpsc::Receiver<ServerSseMessage>>,
}

impl LogReceiver {
    /// Polls for the next line.
    pub(super) fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        if self.receiver.is_none() {
            let mut lines = lock(&self.lines);
            self.receiver = lines.receiver.take();
            if self.receiver.is_none() {
                let before = lines.reader.take().filter(|it| it.will_wake(cx.waker()));
                lines.reader = before.or_else(|| Some(cx.waker().clone()));
            }
        }
        self.receiver.as_mut().map_or(Poll::Pending, |lines| lines.poll_recv(cx))
    }
}

impl Drop for LogReceiver {
    fn drop(&mut self) {
        let mut lines = lock(&self.lines);
        lines.is_closed = true;
        lines.receiver = None;
    }
}
