//! Posting a message over streamable HTTP, and reading the response with tolerance.

use std::{borrow::Cow, io, sync::Arc};

use reqwest::{Response, StatusCode, header};
use rmcp::{
    model::{ClientJsonRpcMessage, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        AuthRequiredError, InsufficientScopeError, StreamableHttpError, StreamableHttpPostResponse,
        StreamableHttpResponseLimits,
    },
};

use super::{
    awaited::PostedRequest,
    events::{MessageEvents, ReconnectPauses},
    http_error::{HttpFailure, HttpRefusal},
    http_headers::Headers,
    reception::Reception,
};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
/// The maximum length of the body of an error of which nothing was read, in characters.
const MAX_PREVIEW_CHARS: usize = 256;
/// The maximum length of the text of a refusal, in characters: an explanation, and not the page of a proxy.
const MAX_REFUSAL_CHARS: usize = 4_000;

/// A message to post.
pub(super) struct MessagePost<'a> {
    pub(super) uri: &'a str,
    pub(super) message: &'a ClientJsonRpcMessage,
    pub(super) session: Option<&'a str>,
    pub(super) token: Option<String>,
    pub(super) headers: &'a Headers,
    pub(super) limits: StreamableHttpResponseLimits,
}

impl MessagePost<'_> {
    /// Returns the id of the request, if the message is one.
    fn request_id(&self) -> Option<&RequestId> {
        match self.message {
            JsonRpcMessage::Request(request) => Some(&request.id),
            _ => None,
        }
    }

    /// Sends the message, and reads the response.
    pub(super) async fn send(
        self,
        client: &reqwest::Client,
        reception: &Arc<Reception>,
        pauses: &Arc<ReconnectPauses>,
    ) -> Result<StreamableHttpPostResponse, HttpFailure> {
        reception.note_sent_message(self.message);
        let mut open = OpenRequest { reception, id: self.request_id() };
        let posted = self.send_message(client, reception, pauses).await;
        if matches!(posted, Ok(StreamableHttpPostResponse::Sse(..) | StreamableHttpPostResponse::Accepted)) {
            // The answer comes by a stream.
            open.id = None;
        }
        posted
    }

    async fn send_message(
        &self,
        client: &reqwest::Client,
        reception: &Arc<Reception>,
        pauses: &Arc<ReconnectPauses>,
    ) -> Result<StreamableHttpPostResponse, HttpFailure> {
        let mut request = client.post(self.uri).header(header::ACCEPT, format!("{EVENT_STREAM}, {JSON}"));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        if let Some(session) = self.session {
            request = request.header(SESSION, session);
        }
        let response = request.json(self.message).send().await?;
        let status = response.status();
        if let Some(id) = self.request_id() {
            reception.note_handshake_status(id, status.as_u16());
        }
        check_authorization_challenge(&response)?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && self.session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        match status.is_success() {
            true => self.read_successful_response(response, reception, pauses).await,
            false => self.read_refusal(response, reception).await,
        }
    }

    /// Reads a successful response.
    async fn read_successful_response(
        &self,
        response: Response,
        reception: &Arc<Reception>,
        pauses: &Arc<ReconnectPauses>,
    ) -> Result<StreamableHttpPostResponse, HttpFailure> {
        let session = session_id_in_header(&response);
        let Some(id) = self.request_id() else {
            // The message has no answer: whatever the body is, it was accepted.
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        let content_type = content_type(&response);
        match content_type.as_deref().map(media_type_essence) {
            Some(kind) if kind == EVENT_STREAM => {
                let events = super::event_lines::bounded_events(response, self.limits.max_sse_event_size);
                let events = MessageEvents::of_post(
                    events,
                    Arc::clone(reception),
                    Arc::clone(pauses),
                    Some(id.clone()),
                );
                Ok(StreamableHttpPostResponse::Sse(Box::pin(events), session))
            }
            Some(kind) if kind == JSON || kind.ends_with("+json") => {
                let body = read_bounded_body(response, self.limits.max_json_response_size).await?;
                match answer_in_body(reception, &body, id) {
                    Some(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                    None => Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!(
                        "the response has no answer to the request: {}",
                        body_preview(&body)
                    )))),
                }
            }
            _ => {
                let body = read_body_if_object(response, self.limits.max_json_response_size).await?;
                match body.and_then(|body| answer_in_body(reception, &body, id)) {
                    Some(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                    None => Err(StreamableHttpError::UnexpectedContentType(content_type)),
                }
            }
        }
    }

    /// Reads a response that refuses the request: an error of the protocol, or a text.
    async fn read_refusal(
        &self,
        response: Response,
        reception: &Reception,
    ) -> Result<StreamableHttpPostResponse, HttpFailure> {
        let (status, session) = (response.status(), session_id_in_header(&response));
        let is_forbidden = status == StatusCode::FORBIDDEN;
        let is_json = content_type(&response).is_some_and(|kind| media_type_essence(&kind).ends_with("json"));
        let limit = match is_json {
            true => self.limits.max_json_response_size,
            false => self.limits.max_error_response_size,
        };
        let body = read_body_beginning(response, limit).await;
        let answer = match self.request_id() {
            Some(id) if is_json && !is_forbidden && has_protocol_error(&body) => {
                answer_in_body(reception, &body, id)
            }
            _ => None,
        };
        if let Some(answer @ JsonRpcMessage::Error(_)) = answer {
            return Ok(StreamableHttpPostResponse::Json(answer, session));
        }
        let text: String = String::from_utf8_lossy(&body).trim().chars().take(MAX_REFUSAL_CHARS).collect();
        if let Some(id) = self
            .request_id()
            .filter(|_| self.is_discover_without_session() && status.is_client_error() && !is_forbidden)
        {
            // A server of an earlier revision: the handshake goes on with `initialize`.
            let error = ErrorData::invalid_request(format!("HTTP {status}: {text}"), None);
            return Ok(StreamableHttpPostResponse::Json(
                ServerJsonRpcMessage::error(error, Some(id.clone())),
                None,
            ));
        }
        if is_forbidden {
            return Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!(
                "HTTP {status}: {text}"
            ))));
        }
        Err(StreamableHttpError::Io(io::Error::other(HttpRefusal { status, text })))
    }

    /// Returns `true` for the question for the newest revision, outside of a session.
    fn is_discover_without_session(&self) -> bool {
        use rmcp::model::ClientRequest;
        self.session.is_none()
            && matches!(self.message, JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::DiscoverRequest(_)))
    }
}

/// Returns an error if the server demands an authorization, and says which.
fn check_authorization_challenge(response: &Response) -> Result<(), HttpFailure> {
    let status = response.status();
    if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Ok(());
    }
    let challenges = response.headers().get_all(header::WWW_AUTHENTICATE).iter();
    let challenges: Vec<_> = challenges.map(|it| String::from_utf8_lossy(it.as_bytes())).collect();
    // Without a challenge, 401 demands an authorization all the same, and 403 may have any reason.
    if challenges.is_empty() && status == StatusCode::FORBIDDEN {
        return Ok(());
    }
    // A server may challenge for several schemes, in as many headers.
    let challenge = challenges.join(", ");
    Err(match status {
        StatusCode::UNAUTHORIZED => StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)),
        _ => {
            let scope = scope_in_challenge(&challenge);
            StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge, scope))
        }
    })
}

/// Returns the parameter `scope` of a challenge.
fn scope_in_challenge(challenge: &str) -> Option<String> {
    let start = challenge.to_ascii_lowercase().find("scope=")? + "scope=".len();
    let value = challenge.get(start..)?;
    let scope = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => value.split([',', ' ']).next(),
    };
    scope.filter(|scope| !scope.is_empty()).map(str::to_owned)
}

/// A request that is no longer open when this is dropped, unless its answer comes by a stream.
struct OpenRequest<'a> {
    reception: &'a Reception,
    id: Option<&'a RequestId>,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.reception.forget_request(id);
        }
    }
}

/// Returns `true` if a body has an error of the protocol, in whatever form.
fn has_protocol_error(body: &[u8]) -> bool {
    super::json::parse_lenient_json(body)
        .is_ok_and(|body| body.get("error").is_some_and(|error| !error.is_null()))
}

/// Returns the answer to a request in a body.
fn answer_in_body(reception: &Reception, body: &[u8], id: &RequestId) -> Option<ServerJsonRpcMessage> {
    let messages = reception.read_messages(body, PostedRequest::Whole(id)).messages;
    let is_answer =
        |it: &ServerJsonRpcMessage| matches!(it, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
    messages.into_iter().find(is_answer)
}

fn session_id_in_header(response: &Response) -> Option<String> {
    let session = response.headers().get(SESSION).and_then(|session| session.to_str().ok());
    // An empty header names no session.
    session.filter(|session| !session.is_empty()).map(str::to_owned)
}

fn content_type(response: &Response) -> Option<String> {
    let kind = response.headers().get(header::CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(kind.as_bytes()).into_owned())
}

/// Returns a media type without its parameters.
fn media_type_essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads a whole body.
async fn read_bounded_body(mut response: Response, max_size: usize) -> Result<Vec<u8>, HttpFailure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > max_size {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads a body of another type, if it begins as a JSON object does.
async fn read_body_if_object(
    mut response: Response,
    max_size: usize,
) -> Result<Option<Vec<u8>>, HttpFailure> {
    let Some(first) = response.chunk().await? else { return Ok(None) };
    if !first.trim_ascii_start().starts_with(b"{") {
        return Ok(None);
    }
    let rest = read_bounded_body(response, max_size.saturating_sub(first.len())).await?;
    Ok(Some([first.as_ref(), &rest].concat()))
}

/// Reads the beginning of a body, as far as it comes.
async fn read_body_beginning(mut response: Response, max_size: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() >= max_size {
            body.truncate(max_size);
            break;
        }
    }
    body
}

/// Returns the beginning of a body, as a text.
fn body_preview(body: &[u8]) -> String {
    match String::from_utf8_lossy(body).trim() {
        "" => "it is empty".to_owned(),
        text => text.chars().take(MAX_PREVIEW_CHARS).collect(),
    }
}

#[cfg(test)]
mod tests;
