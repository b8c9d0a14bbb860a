//! Documents by URL.

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use reqwest::{
    Method, Request, Response, Url,
    header::{ACCEPT, HeaderMap, HeaderName, HeaderValue},
};
use tokio::time::{Instant, timeout_at};
use tool_http::{
    HttpBody, HttpError, HttpErrorKind, Origin, RedirectPolicy, RedirectStep, Redirects, deadline_after,
    has_user, read_body,
};

use super::{Document, DocumentOrigin, FetchedLocation, parse::MAX_DOCUMENT_BYTES};
use crate::{
    OpenApiError, OpenApiErrorKind, Secret,
    connection::{HostLookup, guarded_client, unguarded_client},
};

/// A request for a document.
///
/// It has credentials of its own, which go to the origin of its URL only. At most 5 redirects are followed, and only to public
/// addresses.
///
/// # Examples
///
/// ```no_run
/// use tool_openapi::{Document, Fetch, OpenApiToolSet};
///
/// # async fn example() -> Result<(), tool_openapi::OpenApiError> {
/// let fetch = Fetch::new("https://api.example.com/openapi.json").bearer("hunter2");
/// let api = OpenApiToolSet::import(Document::fetch(fetch).await?)?;
/// # let _ = api;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a request does nothing until `Document::fetch`"]
pub struct Fetch {
    url: String,
    headers: Vec<(String, Secret)>,
    allow_private: bool,
    timeout: Duration,
    lookup: Option<HostLookup>,
}

/// The default time for a document, with all redirects.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The time that a request has beyond the time of the whole fetch, which ends first and has the message.
const REQUEST_GRACE: Duration = Duration::from_secs(1);

impl Fetch {
    /// Creates a request for the document at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            allow_private: false,
            timeout: DEFAULT_TIMEOUT,
            lookup: None,
        }
    }

    /// Sends a bearer token.
    pub fn bearer(self, token: impl Into<Secret>) -> Self {
        let token = token.into();
        self.header("authorization", format!("Bearer {}", token.text()))
    }

    /// Sends a header, whose value is never shown.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Allows the origin of the URL, also as the server of the document, to have an address that is not public. Default:
    /// refused.
    pub fn allow_private(mut self) -> Self {
        self.allow_private = true;
        self
    }

    /// Sets the time for the document, with all redirects. Default: 30 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Resolves names by `lookup`. Default: by the system.
    pub fn resolver<F, Fut>(mut self, lookup: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        self.lookup = Some(Arc::new(move |name| Box::pin(lookup(name))));
        self
    }

    /// Returns the URL, and the headers for its origin.
    fn validated_url_and_headers(&self) -> Result<(Url, HeaderMap), OpenApiError> {
        let invalid =
            || OpenApiError::config("the URL of the document is not an `http` or `https` URL without a user");
        let mut url = Url::parse(&self.url).map_err(|error| invalid().with_source(error))?;
        if Origin::of(&url).is_none() || has_user(&url) {
            return Err(invalid());
        }
        url.set_fragment(None);
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let (Ok(key), Ok(mut value)) = (HeaderName::try_from(name), HeaderValue::try_from(value.text()))
            else {
                let message = format!(
                    "the header `{}` of the request for the document is not valid",
                    name.escape_debug()
                );
                return Err(OpenApiError::config(message));
            };
            value.set_sensitive(true);
            headers.append(key, value);
        }
        Ok((url, headers))
    }

    async fn fetch_response_after_redirects(
        &self,
        deadline: Instant,
    ) -> Result<(Response, FetchedLocation), OpenApiError> {
        let (start, headers) = self.validated_url_and_headers()?;
        let mut redirects = Redirects::new(&start, &RedirectPolicy::Anywhere);
        let mut url = Box::new(start.clone());
        loop {
            let request = document_request(&url, &redirects, &headers);
            let client = match self.allow_private && redirects.is_home(&url) {
                true => unguarded_client(self.lookup.as_ref())?,
                false => guarded_client(self.lookup.as_ref())?,
            };
            let deadline = deadline + REQUEST_GRACE;
            let response =
                client.execute(request, deadline).await.map_err(|error| fetch_failure(&url, error))?;
            match redirects.next(response.status(), response.headers(), true) {
                RedirectStep::Follow(target) => url = target,
                RedirectStep::Refused { reason, .. } => {
                    let message = format!("the document redirects, which is not followed: {reason}");
                    return Err(OpenApiError::new(OpenApiErrorKind::Refused, message));
                }
                RedirectStep::Done if response.status().is_success() => {
                    url.set_query(None);
                    let private = Origin::of(&start).filter(|_| self.allow_private);
                    return Ok((response, FetchedLocation { url: *url, private }));
                }
                RedirectStep::Done => {
                    let message =
                        format!("{} answered with the status {}", url_without_query(&url), response.status());
                    return Err(OpenApiError::new(OpenApiErrorKind::Unreadable, message));
                }
            }
        }
    }
}

/// The request for `url`, with the headers of the program only while no redirect led to another origin.
fn document_request(url: &Url, redirects: &Redirects<'_>, headers: &HeaderMap) -> Request {
    let mut request = Request::new(Method::GET, url.clone());
    if !redirects.has_left() {
        *request.headers_mut() = headers.clone();
    }
    let accepted = "application/json, application/yaml;q=0.9, */*;q=0.8";
    request.headers_mut().entry(ACCEPT).or_insert(HeaderValue::from_static(accepted));
    request
}

/// Prints neither headers nor the query of the URL.
impl std::fmt::Debug for Fetch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let url = Url::parse(&self.url).map(|url| url_without_query(&url)).unwrap_or_default();
        f.debug_struct("Fetch").field("url", &url).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl From<&str> for Fetch {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

impl Document {
    /// Fetches a document of at most 64 MiB, without its compression. Its servers must be public, unless
    /// [allowed](crate::OpenApiToolSetBuilder::allow_private_servers), and its references to other documents are not followed.
    ///
    /// # Errors
    ///
    /// If the URL is not valid; if the address of the URL or of a redirect is not public; if the server does not answer with a
    /// document; and as [`from_text`](Self::from_text).
    pub async fn fetch(fetch: impl Into<Fetch>) -> Result<Self, OpenApiError> {
        let fetch = fetch.into();
        let deadline = deadline_after(fetch.timeout);
        let (text, fetched) = match timeout_at(deadline, fetch_text(&fetch, deadline)).await {
            Ok(fetched) => fetched?,
            Err(_) => {
                let message = format!("the document did not arrive within {:?}", fetch.timeout);
                return Err(OpenApiError::new(OpenApiErrorKind::Unreadable, message));
            }
        };
        let named = |error: OpenApiError| {
            let message = format!("{}: {error}", url_without_query(&fetched.url));
            OpenApiError::new(error.kind(), message).with_source(error)
        };
        let document = Self::from_text(&text).map_err(named)?;
        Ok(Self { origin: DocumentOrigin::Url(Box::new(fetched)), ..document })
    }
}

async fn fetch_text(fetch: &Fetch, deadline: Instant) -> Result<(String, FetchedLocation), OpenApiError> {
    let (response, fetched) = fetch.fetch_response_after_redirects(deadline).await?;
    let limit = usize::try_from(MAX_DOCUMENT_BYTES).unwrap_or(usize::MAX);
    let body = read_body(response, limit).await.map_err(|error| fetch_failure(&fetched.url, error))?;
    let HttpBody { bytes, is_cut: false } = body else {
        let message = format!("the document is longer than {MAX_DOCUMENT_BYTES} bytes");
        return Err(OpenApiError::new(OpenApiErrorKind::Unreadable, message));
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        OpenApiError::new(OpenApiErrorKind::Malformed, "the document is not UTF-8")
            .with_source(error.utf8_error())
    })?;
    Ok((text, fetched))
}

fn fetch_failure(url: &Url, error: HttpError) -> OpenApiError {
    match error.kind() {
        HttpErrorKind::RefusedAddress => {
            let message = format!(
                "the document is not fetched, since {}; allow it with `Fetch::allow_private`",
                error.reason()
            );
            OpenApiError::new(OpenApiErrorKind::Refused, message)
        }
        _ => {
            let message = format!(
                "{} did not answer with a document: {}",
                url_without_query(url),
                root_cause_text(&error)
            );
            OpenApiError::new(OpenApiErrorKind::Unreadable, message).with_source(error)
        }
    }
}

/// The text of the error at the beginning of a chain, such as a refused connection.
fn root_cause_text(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .last()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// A URL without its query, which may have a credential.
fn url_without_query(url: &Url) -> String {
    let origin = Origin::of(url).map(|it| it.to_string()).unwrap_or_default();
    format!("`{origin}{}`", url.path())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]
mod tests {
    use super::*;

    // No test reaches a server of a public address, which all other origins must have.
    #[test]
    fn headers_of_the_program_stay_at_the_origin_of_the_document() {
        let start = Url::parse("https://a.example/").unwrap();
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static("authorization"),
            HeaderValue::from_static("Bearer hunter2"),
        )]);
        let mut redirects = Redirects::new(&start, &RedirectPolicy::Anywhere);
        let targets = [("/x", true), ("https://b.example/", false), ("https://a.example/y", false)];
        for (target, has_them) in targets {
            let location = HeaderMap::from_iter([(reqwest::header::LOCATION, target.parse().unwrap())]);
            let RedirectStep::Follow(url) = redirects.next(reqwest::StatusCode::FOUND, &location, true)
            else {
                panic!("a redirect that is not followed")
            };
            let sent = document_request(&url, &redirects, &headers);
            assert_eq!(sent.headers().contains_key("authorization"), has_them, "{target}"); // E10
            assert!(sent.headers().contains_key(ACCEPT));
        }
    }

    #[test]
    fn headers_are_marked_as_secrets_and_a_fragment_is_removed() {
        let fetch = Fetch::new("https://a.example/b?c#d").bearer("hunter2").header("x-key", "k");
        let (url, headers) = fetch.validated_url_and_headers().unwrap();
        assert_eq!(url.as_str(), "https://a.example/b?c");
        let names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["authorization", "x-key"]);
        assert!(headers.values().all(HeaderValue::is_sensitive));
    }
}
