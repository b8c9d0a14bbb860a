//! The transport of a pair of streams: a message in each line.
//!
//! It is the SDK's, behind a reader that takes calls in the [plain form](super::plain_call::PlainCall) out of the stream. Those reach the handler
//! with the text of their arguments. Other requests are [read](super::requests) before the SDK does, so that its errors have their id.

use std::{
    collections::HashSet,
    io,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientNotification, ClientRequest, GetMeta as _, JsonRpcMessage, ProtocolVersion, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, BufReader, ReadBuf};

use super::{
    plain_call::split_plain_call_arguments,
    requests::{ReadMessage, RefusedMessage, read_message, remove_byte_order_mark},
};

type ClientMessage = RxJsonRpcMessage<RoleServer>;

/// A line that the SDK does not read.
enum TakenLine {
    Message(Box<ClientMessage>),
    Refused(Box<RefusedMessage>),
}

type SharedLine = Arc<Mutex<Option<TakenLine>>>;

/// The bytes that are read at once.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// A transport over `R` and `W`.
pub(super) struct StreamTransport<R: AsyncRead + Unpin, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, LinesForSdk<R>, W>,
    taken: SharedLine,
    /// The error for a line. No line is read before it is sent, so that a client that reads nothing is not read either.
    sending: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
    /// A request has opened the session, or was the first that needs none.
    has_begun: bool,
    /// The ids of the requests that are not answered yet.
    open: HashSet<RequestId>,
}

impl<R, W> StreamTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Creates a transport. A line of more than `longest` bytes is dropped, and logged.
    pub(super) fn new(read: R, write: W, longest: usize) -> Self {
        let taken = SharedLine::default();
        let others = LinesForSdk {
            read: BufReader::with_capacity(READ_BUFFER_BYTES, read),
            line: Vec::new(),
            longest,
            is_too_long: false,
            other: Vec::new(),
            given: 0,
            taken: Arc::clone(&taken),
        };
        let inner = AsyncRwTransport::new_server(others, write).with_max_line_length(longest);
        Self { inner, taken, sending: None, has_begun: false, open: HashSet::new() }
    }

    /// Returns `true` for a message that the SDK receives.
    ///
    /// # Errors
    ///
    /// The answer to a request that it does not receive.
    fn admit_message(&mut self, message: &ClientMessage) -> Result<bool, Box<RefusedMessage>> {
        match message {
            JsonRpcMessage::Request(request) => {
                self.has_begun |= opens_sdk_to_all_messages(&request.request);
                if !self.open.insert(request.id.clone()) {
                    // The SDK would answer one of the two.
                    return Err(Box::new(RefusedMessage::with_id_in_use(request.id.clone())));
                }
            }
            // The SDK would end.
            _ if !self.has_begun => {
                tracing::warn!("a message before the first request is left out");
                return Ok(false);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.remove(id);
                }
            }
            _ => {}
        }
        Ok(true)
    }
}

/// Returns `true` for a request after which the SDK receives messages of all kinds.
fn opens_sdk_to_all_messages(request: &ClientRequest) -> bool {
    let is_complete = |request: &ClientRequest| {
        let meta = request.get_meta();
        let version = meta.protocol_version();
        version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
            && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
    };
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => is_complete(request),
    }
}

impl<R, W> Transport<RoleServer> for StreamTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.open.remove(id);
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ClientMessage> {
        // It may be dropped at any time: the SDK does so itself.
        loop {
            if let Some(sending) = &mut self.sending {
                let sent = sending.await;
                self.sending = None;
                if let Err(error) = sent {
                    tracing::debug!(%error, "the error for a line cannot be sent");
                    return None;
                }
            }
            let taken = {
                let mut other = pin!(self.inner.receive());
                std::future::poll_fn(|cx| match other.as_mut().poll(cx) {
                    Poll::Ready(message) => {
                        Poll::Ready(message.map(|message| TakenLine::Message(Box::new(message))))
                    }
                    Poll::Pending => {
                        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner).take();
                        taken.map_or(Poll::Pending, |taken| Poll::Ready(Some(taken)))
                    }
                })
                .await
            };
            let refused = match taken? {
                TakenLine::Message(message) => match self.admit_message(&message) {
                    Ok(true) => return Some(*message),
                    Ok(false) => continue,
                    Err(refused) => refused,
                },
                TakenLine::Refused(refused) => refused,
            };
            let answer = TxJsonRpcMessage::<RoleServer>::error(refused.error, refused.id);
            self.sending = Some(Box::pin(self.inner.send(answer)));
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}

/// The lines that are not calls in the plain form.
struct LinesForSdk<R> {
    read: BufReader<R>,
    /// The line that is read, as far as it is.
    line: Vec<u8>,
    longest: usize,
    /// The rest of the line belongs to one that is too long, which the SDK drops.
    is_too_long: bool,
    /// A line for the SDK, or a part of one, and the number of its bytes that the SDK has.
    other: Vec<u8>,
    given: usize,
    /// A line that was taken out of the stream.
    taken: SharedLine,
}

impl<R: AsyncRead + Unpin> LinesForSdk<R> {
    /// Reads a part of a line; returns `true` at its end, and `None` at the end of the stream.
    fn poll_line_part(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<bool>>> {
        let available = ready!(Pin::new(&mut self.read).poll_fill_buf(cx))?;
        if available.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let end = memchr::memchr(b'\n', available).map(|at| at + 1);
        let length = end.unwrap_or(available.len());
        self.line.extend_from_slice(&available[..length]);
        Pin::new(&mut self.read).consume(length);
        Poll::Ready(Ok(Some(end.is_some())))
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LinesForSdk<R> {
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
            let Some(is_end) = ready!(it.poll_line_part(cx))? else { return Poll::Ready(Ok(())) };
            it.is_too_long |= it.line.len() > it.longest;
            if !is_end && !it.is_too_long {
                continue;
            }
            let taken = if it.is_too_long { None } else { taken_line(&mut it.line) };
            it.is_too_long &= !is_end;
            if let Some(taken) = taken {
                it.line.clear();
                *it.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
                // The transport, which polls, looks for the line now.
                return Poll::Pending;
            }
            std::mem::swap(&mut it.line, &mut it.other);
            it.line.clear();
            it.given = 0;
        }
    }
}

/// Returns what is taken out of the stream in the place of `line`, which may be changed for the SDK.
fn taken_line(line: &mut Vec<u8>) -> Option<TakenLine> {
    let call_of = |line: &[u8]| {
        let (message, _) = split_plain_call_arguments(line, |call, arguments| call.into_message(arguments))?;
        Some(TakenLine::Message(Box::new(message)))
    };
    remove_byte_order_mark(line);
    if let Some(call) = call_of(line) {
        return Some(call);
    }
    if line.trim_ascii().is_empty() {
        return None;
    }
    let forwarded = match read_message(line) {
        ReadMessage::Refused(refused) => return Some(TakenLine::Refused(refused)),
        ReadMessage::Dropped(problem) => {
            tracing::warn!(problem, "a message cannot be read, and has no answer");
            line.clear();
            return None;
        }
        ReadMessage::Forwarded(message, id) => {
            let is_changed = matches!(message, std::borrow::Cow::Owned(_));
            let message = is_changed.then(|| message.into_owned());
            (message, id)
        }
    };
    let (message, id) = forwarded;
    if let Some(message) = message {
        *line = message;
        if let Some(call) = call_of(line) {
            return Some(call);
        }
    }
    // The SDK would answer a request that it cannot decode without its id.
    let id = id?;
    Some(match serde_json::from_slice(line) {
        Ok(message) => TakenLine::Message(Box::new(message)),
        Err(error) => {
            let error = ErrorData::invalid_request(format!("the request cannot be read: {error}"), None);
            TakenLine::Refused(Box::new(RefusedMessage { id: Some(id), error }))
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const META: &str = "io.modelcontextprotocol/";

    /// The metadata of a request of revision `version`.
    fn meta(version: &str) -> Value {
        json!({
            (format!("{META}protocolVersion")): version,
            (format!("{META}clientCapabilities")): {},
            (format!("{META}clientInfo")): { "name": "a", "version": "1" },
        })
    }

    fn opens(method: &str, params: Value) -> bool {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let message: ClientMessage = serde_json::from_value(request).unwrap();
        let JsonRpcMessage::Request(request) = message else { unreachable!() };
        opens_sdk_to_all_messages(&request.request)
    }

    #[test]
    fn a_session_or_a_request_with_all_of_its_metadata_opens_the_sdk() {
        let client = json!({ "name": "a", "version": "1" });
        let initialize = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        assert!(opens("initialize", initialize));
        let list = |meta: Value| opens("tools/list", json!({ "_meta": meta }));
        assert!(list(meta("2026-07-28")));
        assert!(!list(meta("2999-01-01")) && !list(json!({})) && !opens("tools/list", json!({})));
        for missing in ["protocolVersion", "clientCapabilities"] {
            let mut meta = meta("2026-07-28");
            meta.as_object_mut().unwrap().remove(&format!("{META}{missing}"));
            assert!(!list(meta), "{missing}");
        }
        for method in ["ping", "server/discover"] {
            assert!(!opens(method, json!({ "_meta": meta("2026-07-28") })), "{method}");
        }
    }

    fn take_line(text: &str) -> (Option<TakenLine>, String) {
        let mut line = text.as_bytes().to_vec();
        let taken = taken_line(&mut line);
        (taken, String::from_utf8(line).unwrap())
    }

    #[test]
    fn lines_with_a_request_are_taken_and_others_left_to_the_sdk() {
        let id = |text: &str| match take_line(text).0 {
            Some(TakenLine::Message(message)) => match *message {
                JsonRpcMessage::Request(request) => Some(request.id.to_string()),
                _ => None,
            },
            Some(TakenLine::Refused(refused)) => refused.id.map(|id| format!("refused {id}")),
            None => None,
        };
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{}}}"#;
        for (text, expected) in [
            (call.to_owned(), "7"),
            (format!("\u{feff}{call}\n"), "7"),
            // Changed, it has the plain form.
            (call.replace("{}", "[]"), "7"),
            (call.replace("tools/call", "ping"), "7"),
            (call.replace(r#""name":"t","#, ""), "refused 7"),
        ] {
            assert_eq!(id(&text).as_deref(), Some(expected), "{text}");
        }
        let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        for (text, left) in [
            ("", ""),
            (" \r\n", " \r\n"),
            (notification, notification),
            // What cannot be read and has no answer.
            (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#, ""),
        ] {
            let (taken, line) = take_line(text);
            assert!(taken.is_none(), "{text}");
            assert_eq!(line, left);
        }
    }

    /// The lines that the SDK reads of `text`, of at most `longest` bytes each, in parts of `part` bytes.
    async fn read_by_sdk(text: &str, longest: usize, part: usize) -> String {
        use tokio::io::AsyncReadExt as _;

        let (read, line, other) = (BufReader::with_capacity(part, text.as_bytes()), Vec::new(), Vec::new());
        let taken = SharedLine::default();
        let mut lines = LinesForSdk { read, line, longest, is_too_long: false, other, given: 0, taken };
        let mut received = String::new();
        lines.read_to_string(&mut received).await.unwrap();
        received
    }

    #[tokio::test]
    async fn the_sdk_reads_the_lines_that_are_not_taken_whatever_their_parts_are() {
        let notification = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        let text = format!("\n{notification}{notification}");
        for part in [1, 7, notification.len(), 1_000] {
            assert_eq!(read_by_sdk(&text, 1_000, part).await, text, "{part}");
            assert_eq!(read_by_sdk(&text, notification.len(), part).await, text, "{part}");
            // Too long, a line is passed on as it is, for the SDK to drop it.
            let read = read_by_sdk(&text, notification.len() - 1, part).await;
            assert_eq!(read, text, "{part}");
        }
    }
}
