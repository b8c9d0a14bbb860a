//! HTTP with server-sent events, the transport of revision 2024-11-05: the server sends on one stream, whose first event
//! names the URL for what the client sends.

use std::{fmt, pin::Pin, sync::Arc};

use futures_core::Stream;
use reqwest::{Url, header};
use rmcp::{
    RoleClient,
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use sse_stream::{Sse, SseStream};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::{
    awaited::PostedRequest,
    event_lines::NormalizedEventLines,
    http_headers::{Headers, with_request_headers},
    reception::Reception,
};
use crate::client::config::Endpoint;

/// The largest event, in bytes: 16 MiB, as over streamable HTTP.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// The most bytes of an explanation of a server.
const MAX_EXPLANATION_BYTES: usize = 2_000;

/// The transport to an endpoint.
pub(in crate::client) struct SseTransport {
    client: reqwest::Client,
    /// The URL for what the client sends.
    url: Url,
    headers: Arc<Headers>,
    messages: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    reception: Arc<Reception>,
    /// Reads the stream; ends with the transport.
    reader: AbortOnDropHandle<()>,
}

/// The reason why a message was not sent.
#[derive(Debug)]
pub(in crate::client) enum SseFailure {
    Url(String),
    Http(reqwest::Error),
    /// The server refused, with its explanation.
    Status(u16, String),
    Ended,
    Elsewhere(String),
}

impl fmt::Display for SseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(reason) => write!(f, "the URL cannot be used: {reason}"),
            Self::Http(error) => write!(f, "{error}"),
            Self::Status(status, text) if text.is_empty() => write!(f, "HTTP {status}"),
            Self::Status(status, text) => write!(f, "HTTP {status}: {text}"),
            Self::Ended => f.write_str("the stream ended before the server named its endpoint"),
            Self::Elsewhere(origin) => write!(f, "the server names an endpoint of another origin: {origin}"),
        }
    }
}

impl std::error::Error for SseFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Http(error) => Some(error),
            _ => None,
        }
    }
}

impl From<reqwest::Error> for SseFailure {
    fn from(error: reqwest::Error) -> Self {
        // The URL may have credentials.
        Self::Http(error.without_url())
    }
}

/// Opens the stream of the server and waits for its first event.
pub(in crate::client) async fn connect(
    client: reqwest::Client,
    endpoint: &Endpoint,
    headers: Headers,
    reception: Arc<Reception>,
) -> Result<SseTransport, SseFailure> {
    let base = Url::parse(&endpoint.url).map_err(|error| SseFailure::Url(error.to_string()))?;
    let mut request = client.get(base.clone()).header(header::ACCEPT, "text/event-stream");
    for (name, value) in &headers {
        request = request.header(name, value);
    }
    let response = successful_response(request.send().await?).await?;
    let mut events =
        SseStream::from_byte_stream(NormalizedEventLines::new(response.bytes_stream(), MAX_EVENT_BYTES));
    let url = loop {
        let Some(Ok(event)) = next_event(&mut events).await else { return Err(SseFailure::Ended) };
        if event.event.as_deref() == Some("endpoint") {
            break same_origin_endpoint(&base, event.data.as_deref().unwrap_or_default().trim())?;
        }
    };
    let (sender, messages) = mpsc::channel(16);
    let reading = Arc::clone(&reception);
    #[expect(clippy::disallowed_methods, reason = "the transport aborts it")]
    let reader = tokio::spawn(async move {
        while let Some(Ok(event)) = next_event(&mut events).await {
            for message in event_messages(&event, &reading) {
                if sender.send(message).await.is_err() {
                    return;
                }
            }
        }
    });
    let (headers, reader) = (Arc::new(headers), AbortOnDropHandle::new(reader));
    Ok(SseTransport { client, url, headers, messages, reception, reader })
}

/// Returns the URL that the server names. It has the origin of the stream: credentials go nowhere else.
fn same_origin_endpoint(base: &Url, named: &str) -> Result<Url, SseFailure> {
    let url = base.join(named).map_err(|error| SseFailure::Url(error.to_string()))?;
    match url.origin() == base.origin() {
        true => Ok(url),
        false => Err(SseFailure::Elsewhere(url.origin().ascii_serialization())),
    }
}

fn event_messages(event: &Sse, reception: &Reception) -> Vec<RxJsonRpcMessage<RoleClient>> {
    let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
    match event.data.as_deref().filter(|data| is_message && !data.trim().is_empty()) {
        Some(data) => reception.read_messages(data.as_bytes(), PostedRequest::None).messages,
        None => Vec::new(),
    }
}

async fn next_event<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    std::future::poll_fn(|task| Pin::new(&mut *stream).poll_next(task)).await
}

/// Returns a successful response; another one is an error with the server's explanation.
async fn successful_response(mut response: reqwest::Response) -> Result<reqwest::Response, SseFailure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let mut text = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        text.extend_from_slice(&chunk);
        if text.len() >= MAX_EXPLANATION_BYTES {
            text.truncate(MAX_EXPLANATION_BYTES);
            break;
        }
    }
    Err(SseFailure::Status(status.as_u16(), String::from_utf8_lossy(&text).trim().to_owned()))
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseFailure;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseFailure>> + Send + 'static {
        self.reception.note_sent_message(&message);
        let headers = match &message {
            JsonRpcMessage::Request(_) => with_request_headers((*self.headers).clone(), &message),
            _ => (*self.headers).clone(),
        };
        let mut request = self.client.post(self.url.clone());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        async move {
            successful_response(request.json(&message).send().await?).await?;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), SseFailure> {
        self.reader.abort();
        self.messages.close();
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::client::notices::Notices;

    #[test]
    fn an_endpoint_has_the_origin_of_the_stream() {
        let base = Url::parse("https://h.example/a/sse?key=1").unwrap();
        for (named, expected) in [
            ("/messages?s=1", "https://h.example/messages?s=1"),
            ("messages", "https://h.example/a/messages"),
            ("?s=1", "https://h.example/a/sse?s=1"),
            ("https://H.example:443/m", "https://h.example/m"),
        ] {
            assert_eq!(same_origin_endpoint(&base, named).unwrap().as_str(), expected);
        }
        for (named, origin) in [
            ("http://h.example/m", "http://h.example"),
            ("//evil.example/m", "https://evil.example"),
            ("https://h.example:444/m", "https://h.example:444"),
        ] {
            let error = same_origin_endpoint(&base, named).unwrap_err().to_string();
            assert_eq!(error, format!("the server names an endpoint of another origin: {origin}"));
        }
        let error = same_origin_endpoint(&base, "http://[").unwrap_err().to_string();
        assert!(error.starts_with("the URL cannot be used: "), "{error}");
    }

    #[test]
    fn only_events_with_data_of_a_message_are_messages() {
        let reception = Reception::new(Arc::new(Notices::new("s".into())));
        let message = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let count = |event: Option<&str>, data: Option<&str>| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            let event = Sse { event: own(event), data: own(data), id: None, retry: None };
            event_messages(&event, &reception).len()
        };
        for event in [None, Some(""), Some("message")] {
            assert_eq!(count(event, Some(message)), 1, "{event:?}");
        }
        assert_eq!(count(Some("endpoint"), Some(message)), 0);
        assert_eq!(count(None, Some(&format!("[{message},{message}]"))), 2);
        for data in [None, Some(" "), Some("no JSON")] {
            assert_eq!(count(None, data), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_transport_that_is_closed_reads_no_more() {
        let (sender, messages) = mpsc::channel(1);
        #[expect(clippy::disallowed_methods, reason = "the transport aborts it")]
        let reader = tokio::spawn(std::future::pending());
        let mut transport = SseTransport {
            client: reqwest::Client::new(),
            url: Url::parse("http://h.example").unwrap(),
            headers: Arc::default(),
            messages,
            reception: Arc::new(Reception::new(Arc::new(Notices::new("s".into())))),
            reader: AbortOnDropHandle::new(reader),
        };
        transport.close().await.unwrap();
        assert!(transport.receive().await.is_none() && sender.is_closed());
        let end = tokio::time::timeout(std::time::Duration::from_secs(60), &mut transport.reader).await;
        assert!(end.unwrap().unwrap_err().is_cancelled());
    }

    /// A response with this status.
    fn response(status: u16, body: String) -> reqwest::Response {
        ::http::Response::builder().status(status).body(body).unwrap().into()
    }

    #[tokio::test]
    async fn a_refusal_has_the_beginning_of_its_explanation() {
        for status in [200, 202, 299] {
            assert!(successful_response(response(status, String::new())).await.is_ok(), "{status}");
        }
        let text = async |status, body: String| {
            successful_response(response(status, body)).await.unwrap_err().to_string()
        };
        assert_eq!(text(300, " moved ".to_owned()).await, "HTTP 300: moved");
        assert_eq!(text(503, " ".to_owned()).await, "HTTP 503");
        let longest = "x".repeat(MAX_EXPLANATION_BYTES);
        assert_eq!(text(400, longest.clone()).await, format!("HTTP 400: {longest}"));
        assert_eq!(text(400, format!("{longest}y")).await, format!("HTTP 400: {longest}"));
    }

    #[tokio::test]
    async fn an_explanation_that_is_long_enough_is_not_waited_for() {
        use futures_util::{FutureExt as _, StreamExt as _, stream};

        for (length, is_read) in [(MAX_EXPLANATION_BYTES - 1, false), (MAX_EXPLANATION_BYTES, true)] {
            let begun = stream::iter([Ok::<_, std::io::Error>("x".repeat(length))]);
            let body = reqwest::Body::wrap_stream(begun.chain(stream::pending()));
            let response = ::http::Response::builder().status(400).body(body).unwrap();
            assert_eq!(successful_response(response.into()).now_or_never().is_some(), is_read, "{length}");
        }
    }
}
