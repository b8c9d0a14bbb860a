//! Clients of `tool-http` for this crate, and their errors.

use std::{io, net::IpAddr, sync::Arc};

use tool_http::{AddressPolicy, HttpClient, HttpClientBuilder, HttpError, HttpErrorKind};
use tool_runtime::{BoxFuture, ToolError};

use crate::OpenApiError;

/// A function that replaces the name resolution of the system.
pub(crate) type HostLookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// A client for any address.
pub(crate) fn unguarded_client(lookup: Option<&HostLookup>) -> Result<HttpClient, OpenApiError> {
    build_client(HttpClient::builder().addresses(AddressPolicy::any()).proxy_from_environment(), lookup)
}

/// A client for public addresses. A proxy would resolve names by itself.
pub(crate) fn guarded_client(lookup: Option<&HostLookup>) -> Result<HttpClient, OpenApiError> {
    build_client(HttpClient::builder(), lookup)
}

fn build_client(builder: HttpClientBuilder, lookup: Option<&HostLookup>) -> Result<HttpClient, OpenApiError> {
    let builder = match lookup.cloned() {
        Some(lookup) => builder.resolver(move |name| lookup(name)),
        None => builder,
    };
    builder
        .build()
        .map_err(|error| OpenApiError::config("the HTTP client cannot be created").with_source(error))
}

/// The error of a request without an answer. Its text has no URL, which may have a credential.
pub(crate) fn request_failure(error: &HttpError) -> ToolError {
    match error.kind() {
        HttpErrorKind::RefusedAddress => {
            let message =
                format!("{}; allow it with `allow_private_servers`, or set `base_url`", error.reason());
            let feedback = "the server of this operation has no public address, so that no request was sent";
            ToolError::failed(message).with_feedback(feedback)
        }
        _ => unavailable_error(error),
    }
}

/// The error of a request without an answer. Its text has the origin only: a URL may have a credential.
pub(crate) fn unavailable_error(error: &HttpError) -> ToolError {
    let server = match error.origin() {
        Some(origin) => format!("the server `{origin}`"),
        None => "the server".to_owned(),
    };
    let what = match error.kind() {
        HttpErrorKind::Timeout => format!("{server} did not answer in time; try again later"),
        HttpErrorKind::Unreachable => format!("{server} cannot be reached; try again later"),
        HttpErrorKind::Invalid => format!("{}; give shorter values", error.reason()),
        HttpErrorKind::Interrupted => {
            format!("the response of {server} broke off, or cannot be decompressed; try again later")
        }
        _ => format!("the connection to {server} failed; try again later"),
    };
    ToolError::failed(what).retryable(error.kind() != HttpErrorKind::Invalid)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use reqwest::Url;

    use super::*;

    #[test]
    fn a_request_that_is_refused_is_explained_to_the_program_and_to_the_model() {
        let client = guarded_client(None).unwrap();
        let refused = |url: &str| client.check(&Url::parse(url).unwrap()).unwrap_err();
        let error = request_failure(&refused("http://127.0.0.1/?key=hunter2"));
        assert_eq!(
            error.feedback(),
            "the server of this operation has no public address, so that no request was sent"
        );
        let message = "`127.0.0.1` is not a host of the public Internet; allow it with `allow_private_servers`, or set `base_url`";
        assert!(error.to_string().contains(message), "{error}");
        assert!(!error.is_retryable());
        let error = request_failure(&refused("http://user@a.example/"));
        let reason = "the URL has a user name or password; send them in a header; give shorter values";
        assert_eq!((&*error.reason(), error.is_retryable()), (reason, false));
        assert!(unguarded_client(None).unwrap().check(&Url::parse("http://127.0.0.1/").unwrap()).is_ok());
    }
}
