//! Answers to requests that the server does not work on.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use rmcp::{
    ErrorData,
    model::{ErrorCode, JsonRpcError},
};

use super::session_error::SessionLimit;
use crate::server::{question_round::UNAVAILABLE, requests::RefusedMessage};

/// The reason why the server does not work on a request whose head is valid.
#[derive(Debug, Clone)]
pub(super) enum RequestRefusal {
    Sessions(SessionLimit),
    /// No more of the body was received for this time.
    IdleBody(Duration),
    /// This number of bodies is being received.
    Bodies(usize),
    Message(RefusedMessage),
    /// A store or database that the request needs does not answer.
    Unavailable(String),
}

impl RequestRefusal {
    /// Returns the answer.
    pub(super) fn to_response(&self) -> Response<BoxBody<Bytes, Infallible>> {
        match self {
            Self::Sessions(full) => {
                let mut response = unavailable_response(full.to_string());
                if matches!(full, SessionLimit::Caller(_)) {
                    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                }
                response
            }
            Self::IdleBody(time) => {
                let reason = format!("no more of the body was received for {time:?}");
                with_connection_close(text_response(StatusCode::REQUEST_TIMEOUT, reason))
            }
            Self::Bodies(limit) => with_connection_close(unavailable_response(format!(
                "{limit} bodies are being received, the limit of the server, and this one is the slowest; try again later"
            ))),
            Self::Unavailable(problem) => unavailable_response(problem.clone()),
            Self::Message(refused) => {
                let status = match refused.error.code {
                    // A message of the protocol, which has an error of the protocol.
                    ErrorCode::INVALID_PARAMS => StatusCode::OK,
                    _ => StatusCode::BAD_REQUEST,
                };
                json_response(status, &JsonRpcError::new(refused.id.clone(), refused.error.clone()))
            }
        }
    }
}

/// An answer that says that the server does not take the request now.
pub(super) fn unavailable_response(reason: String) -> Response<BoxBody<Bytes, Infallible>> {
    let error = JsonRpcError::new(None, ErrorData::new(UNAVAILABLE, reason, None));
    let mut response = json_response(StatusCode::SERVICE_UNAVAILABLE, &error);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

fn json_response(status: StatusCode, error: &JsonRpcError) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = text_response(status, serde_json::to_string(error).unwrap_or_default());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Ends the connection after `response`, since the rest of the body is not received.
fn with_connection_close(
    mut response: Response<BoxBody<Bytes, Infallible>>,
) -> Response<BoxBody<Bytes, Infallible>> {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

pub(super) fn text_response(
    status: StatusCode,
    text: impl Into<Bytes>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn a_refusal_has_its_status_its_reason_and_its_headers() {
        let message = |error| RequestRefusal::Message(RefusedMessage { id: None, error });
        let unavailable = ["application/json", "", "5"];
        let closing = ["application/json", "close", "5"];
        for (refusal, status, headers, reason) in [
            (RequestRefusal::Sessions(SessionLimit::Server(2)), 503, unavailable, "2 sessions are open"),
            (
                RequestRefusal::Sessions(SessionLimit::Caller(3)),
                429,
                unavailable,
                "3 sessions of this caller",
            ),
            (RequestRefusal::IdleBody(Duration::from_secs(4)), 408, ["", "close", ""], "was received for 4s"),
            (RequestRefusal::Bodies(5), 503, closing, "5 bodies are being received"),
            (message(ErrorData::invalid_params("a", None)), 200, ["application/json", "", ""], "-32602"),
            (message(ErrorData::invalid_request("a", None)), 400, ["application/json", "", ""], "-32600"),
        ] {
            let answer = refusal.to_response();
            let header = |name| answer.headers().get(name).map_or("", |value| value.to_str().unwrap());
            let found = [header::CONTENT_TYPE, header::CONNECTION, header::RETRY_AFTER].map(header);
            assert_eq!((answer.status().as_u16(), found), (status, headers), "{refusal:?}");
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert!(body.contains(reason), "{body}");
        }
        let answer = unavailable_response("busy".to_owned()).into_body().collect().await.unwrap().to_bytes();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["error"], json!({ "code": -32_000, "message": "busy" }));
    }
}
