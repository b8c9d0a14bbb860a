//! Headers of HTTP requests that depend on the run.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use tool_runtime::{BoxFuture, ToolContext, ToolError};

use super::{
    config::Endpoint,
    error::{ClientError, ClientErrorCause},
    transport::http_headers::{Headers, RequestHeaders, validated_headers},
};

/// An HTTP request before it is sent.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HeaderRequest<'a> {
    /// The name of the server.
    pub server: &'a str,
    /// The call that the request belongs to; `None` for connecting and listing.
    pub call: Option<&'a ToolContext>,
}

/// Returns the headers of a request.
pub(super) type HeaderProvider =
    dyn for<'a> Fn(HeaderRequest<'a>) -> BoxFuture<'a, Result<HeaderMap, ToolError>> + Send + Sync;

/// The headers that the program gives for each request to a server.
pub(super) struct HeaderSource {
    server: Arc<str>,
    provide: Option<Arc<HeaderProvider>>,
}

impl HeaderSource {
    pub(super) fn new(server: Arc<str>, provide: Option<Arc<HeaderProvider>>) -> Self {
        Self { server, provide }
    }

    /// Returns the headers of each request of a connection.
    pub(super) async fn connection_headers(&self, endpoint: &Endpoint) -> Result<Headers, ClientError> {
        let mut headers = validated_headers(&endpoint.headers)
            .map_err(|problem| ClientError::new(&self.server, ClientErrorCause::Config(problem)))?;
        if let Some(RequestHeaders(own)) = self.request_headers(None).await? {
            headers.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        Ok(headers)
    }

    /// Returns the headers of one request, if the program gives any.
    pub(super) async fn request_headers(
        &self,
        call: Option<&ToolContext>,
    ) -> Result<Option<RequestHeaders>, ClientError> {
        let Some(provide) = &self.provide else { return Ok(None) };
        let provided = super::run_callback(|| provide(HeaderRequest { server: &self.server, call })).await;
        let headers = provided
            .map_err(|error| ClientError::new(&self.server, ClientErrorCause::Program(Box::new(error))))?;
        let headers = headers.iter().map(|(name, value)| sensitive_header(name, value)).collect();
        Ok(Some(RequestHeaders(Arc::new(headers))))
    }
}

fn sensitive_header(name: &HeaderName, value: &HeaderValue) -> (HeaderName, HeaderValue) {
    let mut value = value.clone();
    value.set_sensitive(true);
    (name.clone(), value)
}
