//! The HTTP request of a run.

use std::{
    mem,
    sync::{Arc, Mutex, OnceLock},
};

use http::{HeaderMap, request::Parts};
use tool_runtime::CancellationToken;

use super::Identity;

/// The facts of an HTTP request that its run receives.
pub(in crate::server) struct HttpRequestFacts {
    headers: OnceLock<Arc<RequestHeaders>>,
    pub(in crate::server) session: Option<String>,
    pub(in crate::server) identity: Option<Arc<Identity>>,
    /// The text of a call's arguments; it is known once the body is received.
    pub(in crate::server) arguments: Mutex<Option<String>>,
    /// Cancelled when the client of a request without a session is gone, of which the SDK does not tell if events are stored.
    pub(in crate::server) departure: Option<CancellationToken>,
}

impl HttpRequestFacts {
    pub(super) fn new(
        session: Option<String>,
        identity: Option<Arc<Identity>>,
        departure: Option<CancellationToken>,
    ) -> Self {
        Self { headers: OnceLock::new(), session, identity, arguments: Mutex::default(), departure }
    }

    /// Returns the headers of the request with these `parts`.
    pub(in crate::server) fn request_headers(&self, parts: &Parts) -> Arc<RequestHeaders> {
        let headers = self.headers.get_or_init(|| Arc::new(RequestHeaders(parts.headers.clone())));
        Arc::clone(headers)
    }

    /// Moves the headers out of `parts`, in place of a copy.
    pub(in crate::server) fn move_headers_to_facts(parts: &mut Parts) {
        if let Some(via) = parts.extensions.get::<Arc<Self>>() {
            let headers = mem::take(&mut parts.headers);
            via.headers.get_or_init(|| Arc::new(RequestHeaders(headers)));
        }
    }
}

/// The headers of the HTTP request of a run. It is a value of the run: a tool receives it as
/// `headers: Option<&RequestHeaders>`.
#[derive(Debug, Clone)]
pub struct RequestHeaders(HeaderMap);

impl std::ops::Deref for RequestHeaders {
    type Target = HeaderMap;

    fn deref(&self) -> &HeaderMap {
        &self.0
    }
}
