//! Headers of HTTP requests that depend on the run.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use tool_runtime::{BoxFuture, ToolContext, ToolError};

use super::{
    config::Endpoint,
    error::{Cause, ClientError},
    link::Link,
    transport::http::{Headers, RequestHeaders, client, headers_of},
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
pub(super) type Provide =
    dyn for<'a> Fn(HeaderRequest<'a>) -> BoxFuture<'a, Result<HeaderMap, ToolError>> + Send + Sync;

impl Link {
    pub(super) fn http_client(&self) -> Result<reqwest::Client, ClientError> {
        client().map_err(|error| self.error(Cause::Connect(error.to_string())))
    }

    /// The headers of each request of a connection.
    pub(super) async fn connection_headers(&self, endpoint: &Endpoint) -> Result<Headers, ClientError> {
        let mut headers =
            headers_of(&endpoint.headers).map_err(|problem| self.error(Cause::Config(problem)))?;
        if let Some(RequestHeaders(own)) = self.request_headers(None).await? {
            headers.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        Ok(headers)
    }

    /// The headers of one request, if the program gives any.
    pub(super) async fn request_headers(
        &self,
        call: Option<&ToolContext>,
    ) -> Result<Option<RequestHeaders>, ClientError> {
        let Some(provide) = &self.headers else { return Ok(None) };
        let given = super::guard::awaited(|| provide(HeaderRequest { server: &self.name, call })).await;
        let given = given.map_err(|error| self.error(Cause::Program(Box::new(error))))?;
        if given.is_empty() {
            return Ok(None);
        }
        let headers = given.iter().map(|(name, value)| sensitive(name, value)).collect();
        Ok(Some(RequestHeaders(Arc::new(headers))))
    }
}

fn sensitive(name: &HeaderName, value: &HeaderValue) -> (HeaderName, HeaderValue) {
    let mut value = value.clone();
    value.set_sensitive(true);
    (name.clone(), value)
}
