//! Requests that are refused.

use axum::{
    http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE},
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::service::json_response;

/// A request that is refused, and why. Nothing has run.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// The refusal of an error whose text may name internals: the client does not read it.
    pub(crate) fn internal(error: &impl std::fmt::Display) -> Self {
        eprintln!("{error}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the service failed; send the request again later")
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = json_response(self.status, &json!({ "error": self.message }));
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
