//! Streamable HTTP: headers of each request, errors without credentials.

use std::{sync::Arc, time::Duration};

use ::http::StatusCode;
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, PingRequest, RequestId},
    transport::{
        common::client_side_sse::FixedInterval,
        streamable_http_client::{
            AuthRequiredError, StreamableHttpClient, StreamableHttpClientTransport,
            StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
            StreamableHttpResponseLimits,
        },
    },
};

pub(in crate::client) use super::events::ReconnectPauses;
use super::{
    connection_loss,
    event_lines::EventStream,
    events::MessageEvents,
    http_error::{HttpFailure, UnknownHost, is_not_found},
    http_headers::{Headers, with_request_headers},
    is_temporary_refusal,
    post::MessagePost,
    reception::Reception,
};
use crate::client::config::Endpoint;

/// The transport to an endpoint.
pub(in crate::client) type HttpTransport = StreamableHttpClientTransport<Client>;

/// Creates the transport; `headers` are those of each request.
pub(in crate::client) fn http_transport(
    client: Client,
    endpoint: &Endpoint,
    headers: Headers,
) -> HttpTransport {
    StreamableHttpClientTransport::with_client(client, transport_config(endpoint, headers))
}

fn transport_config(endpoint: &Endpoint, headers: Headers) -> StreamableHttpClientTransportConfig {
    let mut config = StreamableHttpClientTransportConfig::with_uri(endpoint.url.as_str());
    // The pauses are those of the client, which knows how long a stream was open.
    let mut at_once = FixedInterval::default();
    at_once.duration = Duration::ZERO;
    config.retry_config = Arc::new(at_once);
    config
        .custom_headers(headers)
        // A lost session is the decision of the toolset, which knows the tool.
        .reinit_on_expired_session(false)
        .max_concurrent_requests(1_024)
}

/// Creates the client of a connection. Redirects are not followed: they would take credentials to another host.
pub(in crate::client) fn http_client_without_redirects() -> Result<reqwest::Client, reqwest::Error> {
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    builder.dns_resolver(Arc::new(Resolver)).build()
}

/// The resolver of the operating system, whose errors have a type.
struct Resolver;

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
    pub(in crate::client) authorized: Option<Arc<crate::client::oauth::ServerAuthorization>>,
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
            return send(auth_header).await.map_err(failure_without_url);
        };
        let mut token = authorized.token_for(uri).await?;
        let mut attempts = 0;
        loop {
            let failure = match send(token.clone()).await {
                Ok(sent) => return Ok(sent),
                Err(failure) => failure_without_url(failure),
            };
            let Some(challenge) = failure.auth_challenge().filter(|_| attempts < MAX_ATTEMPTS) else {
                return Err(failure);
            };
            attempts += 1;
            token = Some(authorized.authorize_after_refusal(uri, token.as_deref(), challenge).await?);
        }
    }

    /// Returns `true` if a stream that could not be opened may be opened later. Takes note of a lost connection.
    async fn may_open_stream_later(
        &self,
        failure: &HttpFailure,
        uri: &Arc<str>,
        session: &Option<Arc<str>>,
        token: &Option<String>,
        headers: &Headers,
    ) -> bool {
        let failure_of_ping;
        let mut failure = failure;
        if session.is_some() && is_not_found(failure) {
            // Of a session that the server does not know, or of a server without streams: its answer to a request tells which.
            let id = RequestId::String("session".into());
            let ping = ClientRequest::PingRequest(PingRequest::default());
            let (uri, session) = (Arc::clone(uri), session.clone());
            let message = ClientJsonRpcMessage::request(ping, id.clone());
            let answered = self.post_message(uri, message, session, token.clone(), headers.clone()).await;
            // An answer by a stream is not read.
            self.reception.forget_request(&id);
            let Err(refused) = answered else { return false };
            failure_of_ping = refused;
            failure = &failure_of_ping;
        }
        if connection_loss(failure).is_some() {
            self.reception.lost.cancel();
        }
        is_temporary_refusal(failure)
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
        send(auth_header).await.map_err(failure_without_url)
    }
}

/// Removes the URL from an error, whose query may have credentials, and reads a refusal without a challenge as an empty
/// challenge.
fn failure_without_url(error: HttpFailure) -> HttpFailure {
    match error {
        StreamableHttpError::Client(error) if error.status() == Some(StatusCode::UNAUTHORIZED) => {
            StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new()))
        }
        StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
        other => other,
    }
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
        let headers = with_request_headers(headers, &message);
        let send = |token| {
            let (message, session, headers) = (&message, session.as_deref(), &headers);
            let post = MessagePost { uri: &uri, message, session, token, headers, limits };
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
        loop {
            let pause = self.pauses.wait_before_opening(last.as_deref()).await;
            let send = |token| {
                let (uri, session, last) = (Arc::clone(&uri), session.clone(), last.clone());
                self.http.get_stream_with_max_sse_event_size(uri, session, last, token, headers.clone(), size)
            };
            let failure = match self.send_authorized(&uri, token.clone(), send).await {
                Ok(events) => {
                    let (reception, pauses) = (Arc::clone(&self.reception), Arc::clone(&self.pauses));
                    return Ok(Box::pin(
                        MessageEvents::of_post(events, reception, pauses, None).reopened_after(pause, last),
                    ));
                }
                Err(failure) => failure,
            };
            self.pauses.schedule_next_pause(last.as_deref(), pause, Duration::ZERO, None);
            // Tried again here: the SDK gives up a stream that was never open.
            if !self.may_open_stream_later(&failure, &uri, &session, &token, &headers).await {
                return Err(failure);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::dns::Resolve as _;

    use super::{Duration, Endpoint, Headers, Resolver, http_client_without_redirects, transport_config};
    use crate::client::transport::http_error::connection_loss_of_http;

    #[test]
    fn the_transport_leaves_pauses_and_lost_sessions_to_the_client() {
        let headers = Headers::from_iter([(http::header::ACCEPT, http::HeaderValue::from_static("a/b"))]);
        let config = transport_config(&Endpoint::new("http://h.example/mcp"), headers.clone());
        assert_eq!((&*config.uri, &config.custom_headers), ("http://h.example/mcp", &headers));
        for attempts in [0, 1, 1_000] {
            assert_eq!(config.retry_config.retry(attempts), Some(Duration::ZERO));
        }
        assert!(!config.reinit_on_expired_session);
        assert_eq!(config.max_concurrent_requests, 1_024);
    }

    #[tokio::test]
    async fn only_a_host_with_an_address_is_worth_another_connection() -> Result<(), reqwest::Error> {
        // Longer than a name may be: no resolver asks the network for it.
        let unknown =
            http_client_without_redirects()?.get(format!("http://{}.invalid/", "a".repeat(64))).send().await;
        assert_eq!(unknown.as_ref().err().map(connection_loss_of_http), Some(None));
        let refused = http_client_without_redirects()?.get("http://127.0.0.1:1/").send().await;
        assert_eq!(refused.as_ref().err().map(connection_loss_of_http), Some(Some(true)));
        Ok(())
    }

    #[tokio::test]
    async fn an_address_has_no_port_of_its_own() {
        // The port of the URL applies.
        let Ok(name) = "localhost".parse() else { return };
        let Ok(addresses) = Resolver.resolve(name).await else { return };
        assert!(addresses.map(|address| address.port()).all(|port| port == 0));
    }

    /// Sends a request to a server that reads it, answers with this text and ends the connection.
    async fn loss_after(answer: &str) -> Result<Option<Option<bool>>, std::io::Error> {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let serving = async {
            let (mut stream, _) = listener.accept().await?;
            let _ = stream.read(&mut [0; 4_096]).await?;
            stream.write_all(answer.as_bytes()).await
        };
        let client = http_client_without_redirects().map_err(std::io::Error::other)?;
        let read = async { client.get(url).send().await?.chunk().await };
        let (read, served) = tokio::join!(read, serving);
        served.map(|()| read.as_ref().err().map(connection_loss_of_http))
    }

    #[tokio::test]
    async fn a_request_may_have_arrived_at_a_server_that_ends_the_connection() -> Result<(), std::io::Error> {
        assert_eq!(loss_after("").await?, Some(Some(false)));
        for cut in ["content-length: 9\r\n\r\n", "transfer-encoding: chunked\r\n\r\nff\r\n"] {
            let answer = format!("HTTP/1.1 200 OK\r\n{cut}");
            assert_eq!(loss_after(&answer).await?, Some(Some(false)), "{cut:?}");
        }
        assert_eq!(loss_after("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab").await?, None);
        Ok(())
    }
}
