//! Messages by lines, over a pair of streams.

use std::{collections::VecDeque, io, sync::Arc};

use rmcp::{
    RoleClient,
    model::{ErrorData, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Mutex,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    awaited::PostedRequest,
    reception::{MAX_HEAD_BYTES, Reception},
};

/// The maximum length of a line, in bytes: 16 MiB, as over HTTP.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// The maximum size of what waits for a server to read, beyond which its malformed requests have no answer.
const MAX_PENDING_BYTES: usize = 64 * 1024;
/// The capacity of a line that is kept for the next one.
const KEPT_LINE_BYTES: usize = 64 * 1024;

/// The transport of messages by lines.
pub(in crate::client) struct LineTransport<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// `true` until the end of a line that is too long.
    is_discarding: bool,
    received: VecDeque<RxJsonRpcMessage<RoleClient>>,
    write: Arc<Mutex<LineWriter<W>>>,
    /// Writes the answer to a malformed request; ends with the transport.
    refusal: Option<AbortOnDropHandle<io::Result<()>>>,
    reception: Arc<Reception>,
}

impl<R: AsyncRead + Unpin, W> LineTransport<R, W> {
    pub(in crate::client) fn new(read: R, write: W, reception: Arc<Reception>) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            is_discarding: false,
            received: VecDeque::new(),
            write: Arc::new(Mutex::new(LineWriter { stream: Some(write), pending: Vec::new() })),
            refusal: None,
            reception,
        }
    }

    /// Answers a malformed request of the server, unless the server does not read its answers.
    fn refuse_malformed_request(&mut self, id: RequestId)
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let error = ErrorData::invalid_request("the request is malformed", None);
        let answer = TxJsonRpcMessage::<RoleClient>::error(error, Some(id));
        let Ok(mut write) = Arc::clone(&self.write).try_lock_owned() else { return };
        if write.pending.len() < MAX_PENDING_BYTES && write.queue_message(&answer).is_ok() {
            #[expect(clippy::disallowed_methods, reason = "`refusal` aborts it")]
            let flushing = tokio::spawn(async move { write.flush().await });
            self.refusal = Some(AbortOnDropHandle::new(flushing));
        }
    }

    /// Reads until the end of a line; `false` at the end of the stream. A cancelled read goes on with the next one.
    async fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(false);
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            if self.line.len() + part.len() > MAX_LINE_BYTES {
                self.is_discarding = true;
                self.line.truncate(MAX_HEAD_BYTES);
                self.line.shrink_to_fit();
            }
            if !self.is_discarding {
                self.line.extend_from_slice(part);
            }
            let consumed = part.len() + usize::from(end.is_some());
            self.read.consume(consumed);
            if end.is_none() {
                continue;
            }
            if !std::mem::take(&mut self.is_discarding) {
                return Ok(true);
            }
            self.received.extend(self.reception.fail_oversized_answer(&self.line, MAX_LINE_BYTES));
            self.line.clear();
            if !self.received.is_empty() {
                return Ok(true);
            }
        }
    }
}

/// The stream to a server, and what it has not taken yet: a message whose sender gave up is written to its end.
struct LineWriter<W> {
    /// `None` once it is closed.
    stream: Option<W>,
    pending: Vec<u8>,
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    /// Adds a message with the end of its line.
    fn queue_message(&mut self, message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
        let line = serde_json::to_vec(message)?;
        self.pending.extend(line);
        self.pending.push(b'\n');
        Ok(())
    }

    /// Writes what is pending. If this is cancelled, the next call goes on.
    async fn flush(&mut self) -> io::Result<()> {
        let stream = self.stream.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
        let mut written = WrittenBytes { pending: &mut self.pending, bytes: 0 };
        while written.bytes < written.pending.len() {
            match stream.write(&written.pending[written.bytes..]).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                bytes => written.bytes += bytes,
            }
        }
        drop(written);
        stream.flush().await
    }
}

/// Removes what was written when it is dropped.
struct WrittenBytes<'a> {
    pending: &'a mut Vec<u8>,
    bytes: usize,
}

impl Drop for WrittenBytes<'_> {
    fn drop(&mut self) {
        self.pending.drain(..self.bytes);
        self.pending.shrink_to(KEPT_LINE_BYTES);
    }
}

impl<R, W> Transport<RoleClient> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.reception.note_sent_message(&message);
        let write = Arc::clone(&self.write);
        async move {
            let mut write = write.lock().await;
            // No message is added to what a server does not read.
            write.flush().await?;
            write.queue_message(&message)?;
            write.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(message) = self.received.pop_front() {
                return Some(message);
            }
            match self.read_line().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    tracing::debug!(%error, "the stream of an MCP server cannot be read");
                    return None;
                }
            }
            let line = self.line.trim_ascii();
            if !line.is_empty() {
                let received = self.reception.read_messages(line, PostedRequest::None);
                self.received.extend(received.messages);
                received.malformed_requests.into_iter().for_each(|id| self.refuse_malformed_request(id));
            }
            self.line.clear();
            self.line.shrink_to(KEPT_LINE_BYTES);
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // It holds the lock until the server reads.
        self.refusal = None;
        drop(self.write.lock().await.stream.take());
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::pin::pin;

    use futures_util::poll;
    use tokio::task::yield_now;

    use super::*;
    use crate::client::notices::Notices;

    #[tokio::test]
    async fn a_transport_closes_although_the_server_reads_no_refusal() {
        let (write, unread) = tokio::io::duplex(1);
        let reception = Arc::new(Reception::new(Arc::new(Notices::new("it".into()))));
        let mut transport = LineTransport::new(tokio::io::empty(), write, reception);
        transport.refuse_malformed_request(RequestId::String("q".into()));
        yield_now().await;
        assert!(transport.write.try_lock().is_err(), "the refusal waits for the server");
        let mut polls = 0;
        {
            let mut closing = pin!(transport.close());
            while poll!(&mut closing).is_pending() {
                polls += 1;
                assert!(polls < 100, "the transport waits for the server");
                yield_now().await;
            }
        }
        assert!(transport.write.try_lock().unwrap().stream.is_none());
        drop(unread);
    }

    #[tokio::test]
    async fn a_long_message_leaves_little_memory_behind() {
        let list_changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let text = format!("{}\n{list_changed}\n", "x".repeat(4 * KEPT_LINE_BYTES));
        let reception = Arc::new(Reception::new(Arc::new(Notices::new("it".into()))));
        let mut transport =
            LineTransport::new(io::Cursor::new(text), tokio::io::sink(), Arc::clone(&reception));
        assert!(transport.receive().await.is_some());
        assert!(transport.line.capacity() <= KEPT_LINE_BYTES, "{}", transport.line.capacity());
        let error = ErrorData::invalid_request("x".repeat(4 * KEPT_LINE_BYTES), None);
        let answer = TxJsonRpcMessage::<RoleClient>::error(error, Some(RequestId::Number(1)));
        transport.send(answer).await.unwrap();
        let write = transport.write.lock().await;
        assert_eq!(write.pending.len(), 0);
        assert!(write.pending.capacity() <= KEPT_LINE_BYTES, "{}", write.pending.capacity());
    }
}
