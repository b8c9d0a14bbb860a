//! The log lines of a request, on their way to the stream that answers it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::mpsc;

/// The most log lines of a request that wait until its client reads them.
const MAX_WAITING_LINES: usize = 64;

type SharedLogLines = Arc<Mutex<LogLines>>;

/// The channel of the lines, made for the first of them: most requests have none.
#[derive(Default)]
struct LogLines {
    sender: Option<mpsc::Sender<ServerSseMessage>>,
    /// Until the reader takes it.
    receiver: Option<mpsc::Receiver<ServerSseMessage>>,
    reader: Option<Waker>,
    is_closed: bool,
}

fn lock_lines(lines: &SharedLogLines) -> MutexGuard<'_, LogLines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates the two sides.
pub(super) fn log_line_channel() -> (LogLineSender, LogLineReceiver) {
    let lines = SharedLogLines::default();
    (LogLineSender(Arc::clone(&lines)), LogLineReceiver { lines, receiver: None })
}

/// The sending side.
pub(super) struct LogLineSender(SharedLogLines);

impl LogLineSender {
    /// Returns the channel; `None` if there is no reader any more.
    pub(super) fn open_channel(&self) -> Option<mpsc::Sender<ServerSseMessage>> {
        let mut lines = lock_lines(&self.0);
        if lines.is_closed {
            return None;
        }
        if lines.sender.is_none() {
            let (sender, receiver) = mpsc::channel(MAX_WAITING_LINES);
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
pub(super) struct LogLineReceiver {
    lines: SharedLogLines,
    /// Once there is a line.
    receiver: Option<mpsc::Receiver<ServerSseMessage>>,
}

impl LogLineReceiver {
    /// Polls for the next line.
    pub(super) fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        if self.receiver.is_none() {
            let mut lines = lock_lines(&self.lines);
            self.receiver = lines.receiver.take();
            if self.receiver.is_none() {
                let before = lines.reader.take().filter(|it| it.will_wake(cx.waker()));
                lines.reader = before.or_else(|| Some(cx.waker().clone()));
            }
        }
        self.receiver.as_mut().map_or(Poll::Pending, |lines| lines.poll_recv(cx))
    }
}

impl Drop for LogLineReceiver {
    fn drop(&mut self) {
        let mut lines = lock_lines(&self.lines);
        lines.is_closed = true;
        lines.receiver = None;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::{future::poll_fn, pin::pin};

    use super::*;

    fn line(id: &str) -> ServerSseMessage {
        let mut line = ServerSseMessage::default();
        line.event_id = Some(id.to_owned());
        line
    }

    #[tokio::test]
    async fn a_line_wakes_the_reader_that_waits_for_the_first_one() {
        let (sender, mut receiver) = log_line_channel();
        let reader = tokio::spawn(async move {
            let first = poll_fn(|cx| receiver.poll_line(cx)).await;
            let second = poll_fn(|cx| receiver.poll_line(cx)).await;
            [first, second].map(|it| it.and_then(|line| line.event_id))
        });
        tokio::task::yield_now().await;
        for id in ["1", "2"] {
            sender.open_channel().unwrap().send(line(id)).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(reader.await.unwrap(), [Some("1".to_owned()), Some("2".to_owned())]);
    }

    #[tokio::test]
    async fn nothing_is_sent_to_a_reader_that_left() {
        let (sender, receiver) = log_line_channel();
        let channel = sender.open_channel().unwrap();
        for _ in 0..MAX_WAITING_LINES {
            channel.try_send(line("1")).unwrap();
        }
        let mut waiting = pin!(channel.send(line("2")));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop(receiver);
        assert!(waiting.await.is_err(), "a sender does not wait for a reader that never comes");
        assert!(sender.open_channel().is_none());
    }
}
