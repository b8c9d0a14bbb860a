//! Streamable HTTP: headers of each request, errors without credentials.

use std::{collections::HashMap, error::Error, fmt, io, sync::Arc, time::Duration};

use ::http::{HeaderName, HeaderValue, StatusCode};
use rmcp::{
    model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage},
    transport::{
        common::client_side_sse::FixedInterval,
        streamable_http_client::{
            AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpClientTransport,
            StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
            StreamableHttpResponseLimits,
        },
    },
};
use sse_stream::Sse;

pub(in crate::client) use super::events::ReconnectPauses;
use super::{
    events::MessageEvents,
    post::{HttpRefusal, Post},
    reception::Reception,
    sse::SseFailure,
};
use crate::client::config::Endpoint;

/// The headers of a connection or a request.
pub(in crate::client) type Headers = HashMap<HeaderName, HeaderValue>;

/// The headers of one request. As an extension of the request, it never leaves the process by itself.
#[derive(Clone)]
pub(in crate::client) struct RequestHeaders(pub(in crate::client) Arc<Headers>);

/// The transport to an endpoint.
pub(in crate::client) type HttpTransport = StreamableHttpClientTransport<Client>;

/// Creates the transport; `headers` are those of each request.
pub(in crate::client) fn http_transport(
    client: Client,
    endpoint: &Endpoint,
    headers: Headers,
) -> HttpTransport {
    let mut config = StreamableHttpClientTransportConfig::with_uri(endpoint.url.as_str());
    // The pauses are those of the client, which knows how long a stream was open.
    let mut at_once = FixedInterval::default();
    at_once.duration = Duration::ZERO;
    config.retry_config = Arc::new(at_once);
    let config = config
        .custom_headers(headers)
        // A lost session is the decision of the toolset, which knows the tool.
        .reinit_on_expired_session(false)
        .max_concurrent_requests(1_024);
    StreamableHttpClientTransport::with_client(client, config)
}

/// Validates the configured headers.
pub(in crate::client) fn headers_of<'a>(
    headers: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Result<Headers, String> {
    headers.into_iter().map(|(name, value)| checked_header(name, value)).collect()
}

/// Validates one header. The error does not show the value.
pub(in crate::client) fn checked_header(
    name: &str,
    value: &str,
) -> Result<(HeaderName, HeaderValue), String> {
    let header = HeaderName::try_from(name).map_err(|_| format!("the header name `{name}` is invalid"))?;
    if ["accept", "content-type", "last-event-id", "mcp-session-id"].contains(&header.as_str()) {
        return Err(format!("the header `{name}` is set by the protocol"));
    }
    let mut value =
        HeaderValue::try_from(value).map_err(|_| format!("the value of the header `{name}` is invalid"))?;
    value.set_sensitive(true);
    Ok((header, value))
}

/// Creates the client of a connection. Redirects are not followed: they would take credentials to another host.
pub(in crate::client) fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    builder.dns_resolver(Arc::new(Resolver)).build()
}

/// The resolver of the operating system, whose errors have a type.
struct Resolver;

/// The name of a host has no address.
#[derive(Debug)]
struct UnknownHost(io::Error);

impl fmt::Display for UnknownHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name of the host cannot be resolved: {}", self.0)
    }
}

impl Error for UnknownHost {}

impl reqwest::dns::Resolve for Resolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(UnknownHost)?;
            let addresses: Vec<_> = addresses.collect();
            Ok(Box::new(addresses.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

/// A client that adds the headers of each request, and the token of an authorization.
#[derive(Clone)]
pub(in crate::client) struct Client {
    pub(in crate::client) http: reqwest::Client,
    #[cfg(feature = "auth")]
    pub(in crate::client) authorized: Option<Arc<crate::client::oauth::Authorized>>,
    pub(in crate::client) reception: Arc<Reception>,
    pub(in crate::client) pauses: Arc<ReconnectPauses>,
}

impl Client {
    /// Sends a request with the token of the authorization, and again each time the user authorized the program anew.
    #[cfg(feature = "auth")]
    async fn send_authorized<T, F>(
        &self,
        uri: &str,
        auth_header: Option<String>,
        send: impl Fn(Option<String>) -> F,
    ) -> Result<T, HttpFailure>
    where
        F: Future<Output = Result<T, HttpFailure>>,
    {
        use crate::client::oauth::MAX_ATTEMPTS;

        let Some(authorized) = &self.authorized else {
            return send(auth_header).await.map_err(sanitized_failure);
        };
        let mut token = authorized.token_for(uri).await?;
        let mut attempts = 0;
        loop {
            let failure = match send(token.clone()).await {
                Ok(sent) => return Ok(sent),
                Err(failure) => sanitized_failure(failure),
            };
            let Some(challenge) = failure.auth_challenge().filter(|_| attempts < MAX_ATTEMPTS) else {
                return Err(failure);
            };
            attempts += 1;
            token = Some(authorized.authorize_program(uri, token.as_deref(), challenge).await?);
        }
    }

    /// Sends a request.
    #[cfg(not(feature = "auth"))]
    async fn send_authorized<T, F>(
        &self,
        _: &str,
        auth_header: Option<String>,
        send: impl Fn(Option<String>) -> F,
    ) -> Result<T, HttpFailure>
    where
        F: Future<Output = Result<T, HttpFailure>>,
    {
        send(auth_header).await.map_err(sanitized_failure)
    }
}

pub(super) type HttpFailure = StreamableHttpError<reqwest::Error>;

/// Removes the URL from an error, whose query may have credentials, and reads a refusal without a challenge as an empty
/// challenge.
fn sanitized_failure(error: HttpFailure) -> HttpFailure {
    match error {
        StreamableHttpError::Client(error) if error.status() == Some(StatusCode::UNAUTHORIZED) => {
            StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new()))
        }
        StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
        other => other,
    }
}

/// Adds the headers of a request, which replace those of the connection.
pub(super) fn with_own(mut headers: Headers, message: &ClientJsonRpcMessage) -> Headers {
    if let JsonRpcMessage::Request(request) = message
        && let Some(RequestHeaders(own)) = request.request.extensions().get::<RequestHeaders>()
    {
        headers.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    headers
}

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpFailure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpFailure> {
        let headers = with_own(headers, &message);
        let send = |token| {
            let (message, session, headers) = (&message, session.as_deref(), &headers);
            let post = Post { uri: &uri, message, session, token, headers, limits };
            post.send(&self.http, &self.reception, &self.pauses)
        };
        self.send_authorized(&uri, token, send).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), HttpFailure> {
        let send =
            |token| self.http.delete_session(Arc::clone(&uri), Arc::clone(&session), token, headers.clone());
        self.send_authorized(&uri, token, send).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<EventStream, HttpFailure> {
        let size = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session, last, token, headers, size).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
        size: usize,
    ) -> Result<EventStream, HttpFailure> {
        let pause = self.pauses.wait_before(last.as_deref()).await;
        let send = |token| {
            let (uri, session, last) = (Arc::clone(&uri), session.clone(), last.clone());
            self.http.get_stream_with_max_sse_event_size(uri, session, last, token, headers.clone(), size)
        };
        match self.send_authorized(&uri, token, send).await {
            Ok(events) => {
                let (reception, pauses) = (Arc::clone(&self.reception), Arc::clone(&self.pauses));
                Ok(Box::pin(
                    MessageEvents::of_post(events, reception, pauses, None).reopened_after(pause, last),
                ))
            }
            Err(failure) => {
                self.pauses.note_end(last.as_deref(), pause, Duration::ZERO, None);
                Err(failure)
            }
        }
    }
}

/// The events of a server.
type EventStream = futures_core::stream::BoxStream<'static, Result<Sse, SseError>>;

/// Returns the events of a response, the size of each of which is bounded.
pub(super) fn bounded_events(response: reqwest::Response, max_event_bytes: usize) -> EventStream {
    let bytes = super::event_lines::EventLines::new(response.bytes_stream(), max_event_bytes);
    Box::pin(sse_stream::SseStream::from_bytes_stream(bytes))
}

/// Returns the text for an answer that no server of the protocol gives.
pub(super) fn explanation_of(error: &(dyn Error + 'static)) -> Option<String> {
    const PATH: &str = "check the path of the URL, which is often `/mcp`";
    match error.downcast_ref::<HttpFailure>()? {
        StreamableHttpError::UnexpectedContentType(kind) => {
            let kind = kind.as_deref().map_or("no content type".to_owned(), |kind| format!("`{kind}`"));
            Some(format!("the answer has {kind} in place of JSON or an event stream; {PATH}"))
        }
        failure => refusal_of(failure).map(|refusal| match refusal.status {
            reqwest::StatusCode::NOT_FOUND => format!("the answer is HTTP 404, not found; {PATH}"),
            _ => refusal.to_string(),
        }),
    }
}

/// Returns the refusal that an error is.
fn refusal_of(failure: &HttpFailure) -> Option<&HttpRefusal> {
    match failure {
        StreamableHttpError::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Returns `true` if the server does not know the session.
pub(super) fn is_session_expired(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref::<HttpFailure>(), Some(StreamableHttpError::SessionExpired))
}

/// Returns `Some` for an error of HTTP: `Some(Some(never_sent))` if the connection is lost.
pub(super) fn connection_loss(error: &(dyn Error + 'static)) -> Option<Option<bool>> {
    if let Some(failure) = error.downcast_ref::<SseFailure>() {
        return Some(failure.connection_loss());
    }
    let failure = error.downcast_ref::<HttpFailure>()?;
    Some(match failure {
        StreamableHttpError::SessionExpired => Some(true),
        StreamableHttpError::Client(error) => loss_of(error),
        failure if refusal_of(failure).is_some() => None,
        StreamableHttpError::Io(_)
        | StreamableHttpError::TransportChannelClosed
        | StreamableHttpError::UnexpectedEndOfStream => Some(false),
        _ => None,
    })
}

/// Returns `Some` if the connection is lost, with `true` if the request cannot have been sent.
pub(super) fn loss_of(error: &reqwest::Error) -> Option<bool> {
    match error {
        error if error.is_timeout() => None,
        error if error.is_connect() => is_reachable_host(error).then_some(true),
        error => (error.is_request() || error.is_body()).then_some(false),
    }
}

/// Returns `false` if the name of the host is unknown: connecting again does not help.
fn is_reachable_host(error: &reqwest::Error) -> bool {
    !super::error_sources(error).any(|error| error.is::<UnknownHost>())
}

#[cfg(test)]
mod tests {
    use super::{http_client, loss_of};

    #[tokio::test]
    async fn only_a_host_with_an_address_is_worth_another_connection() -> Result<(), reqwest::Error> {
        // Longer than a name may be: no resolver asks the network for it.
        let unknown = http_client()?.get(format!("http://{}.invalid/", "a".repeat(64))).send().await;
        assert_eq!(unknown.as_ref().err().map(loss_of), Some(None));
        let refused = http_client()?.get("http://127.0.0.1:1/").send().await;
        assert_eq!(refused.as_ref().err().map(loss_of), Some(Some(true)));
        Ok(())
    }
}
