//! The client and its settings.

use std::{fmt, io, net::IpAddr, sync::Arc, time::Duration};

use reqwest::{Client, Request, Response, Url};
use tokio::time::Instant;

use crate::{
    AddressPolicy, HttpError, HttpErrorKind, HttpResponse, Origin, RedirectPolicy, RedirectStep, Redirects,
    RepeatableRequest,
    address::{GuardedResolver, Lookup, canonical_host},
    origin::has_user,
    redirect::MAX_REDIRECTS,
};

/// The variables that name the proxies of `reqwest`.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// The default of the maximum size of a body, in bytes.
const DEFAULT_BODY_LIMIT_BYTES: usize = 8 << 20;

/// The default time for a request with its redirects.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// A client for URLs that the program did not choose. Clones share their connections.
///
/// # Examples
///
/// ```
/// use tool_http::{HttpClient, HttpErrorKind, reqwest::{Method, Request, Url}};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = HttpClient::new()?;
/// // Clouds serve credentials there.
/// let url = Url::parse("http://169.254.169.254/latest/meta-data/?token=hunter2")?;
/// let error = client.send(Request::new(Method::GET, url)).await.unwrap_err();
/// assert_eq!(error.kind(), HttpErrorKind::RefusedAddress);
/// assert_eq!(
///     error.to_string(),
///     "`http://169.254.169.254`: `169.254.169.254` is not a host of the public Internet"
/// );
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct HttpClient {
    client: Client,
    settings: Arc<HttpClientBuilder>,
}

/// A builder for an [`HttpClient`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tool_http::{AddressPolicy, HttpClient, Origin, RedirectPolicy};
///
/// # fn example() -> Result<(), tool_http::HttpError> {
/// let client = HttpClient::builder()
///     .only_origin("https://api.example.com")
///     .only_origin("https://files.example.com")
///     .redirects(RedirectPolicy::Anywhere)
///     .body_limit(1 << 20)
///     .timeout(Duration::from_secs(10))
///     .build()?;
/// # let _ = client;
/// # Ok(())
/// # }
/// # example().unwrap();
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct HttpClientBuilder {
    addresses: AddressPolicy,
    origins: Vec<Origin>,
    redirects: RedirectPolicy,
    max_redirects: usize,
    body_limit: usize,
    timeout: Duration,
    lookup: Option<Lookup>,
    has_environment_proxy: bool,
    invalid: Option<String>,
}

impl HttpClientBuilder {
    fn new() -> Self {
        Self {
            addresses: AddressPolicy::public(),
            origins: Vec::new(),
            redirects: RedirectPolicy::default(),
            max_redirects: MAX_REDIRECTS,
            body_limit: DEFAULT_BODY_LIMIT_BYTES,
            timeout: DEFAULT_TIMEOUT,
            lookup: None,
            has_environment_proxy: false,
            invalid: None,
        }
    }

    /// Sets the addresses that requests may reach. Default: [public](AddressPolicy::public) ones.
    pub fn addresses(mut self, policy: AddressPolicy) -> Self {
        self.addresses = policy;
        self
    }

    /// Adds an origin, such as `https://api.example.com`; requests and redirects to others than those that were added are refused.
    /// Default: all origins.
    pub fn only_origin(mut self, origin: &str) -> Self {
        match Origin::parse(origin) {
            Ok(origin) => self.origins.push(origin),
            Err(problem) => drop(self.invalid.get_or_insert(format!("the origin is not valid: {problem}"))),
        }
        self
    }

    /// Sets the origins that redirects may lead to. Default: the origin of the request.
    pub fn redirects(mut self, policy: RedirectPolicy) -> Self {
        self.redirects = policy;
        self
    }

    /// Sets the maximum number of redirects of a request. Default: 5.
    pub fn max_redirects(mut self, count: usize) -> Self {
        self.max_redirects = count;
        self
    }

    /// Sets the maximum size of a body, in bytes after its decompression. Default: 8 MiB.
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Sets the time for a request with its redirects, from the connection to the last byte of the body. Default: 30 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Resolves names by `lookup`. Default: by the system. Either way, only permitted addresses are connected to.
    pub fn resolver<F, Fut>(mut self, lookup: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        self.lookup = Some(Arc::new(move |name| Box::pin(lookup(name))));
        self
    }

    /// Sends requests by the proxies that the environment names (`HTTPS_PROXY` and others). A proxy resolves the names of targets by
    /// itself, so that their addresses are not checked. Default: no proxy.
    pub fn proxy_from_environment(mut self) -> Self {
        self.has_environment_proxy = true;
        self
    }

    /// Builds the client.
    ///
    /// # Errors
    ///
    /// If an origin is not valid, or the system lacks what TLS needs.
    pub fn build(self) -> Result<HttpClient, HttpError> {
        if let Some(problem) = self.invalid {
            return Err(HttpError::new(HttpErrorKind::Invalid, None, problem));
        }
        let resolver = GuardedResolver {
            policy: self.addresses.clone(),
            lookup: self.lookup.clone(),
            proxies: if self.has_environment_proxy { environment_proxy_hosts() } else { Arc::default() },
        };
        let builder = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            // A program repeats its requests by itself.
            .retry(reqwest::retry::never())
            .dns_resolver(resolver);
        let builder = if self.has_environment_proxy { builder } else { builder.no_proxy() };
        let client = builder.build().map_err(|error| {
            HttpError::new(HttpErrorKind::Invalid, None, "the HTTP client cannot be created")
                .with_source(error)
        })?;
        Ok(HttpClient { client, settings: Arc::new(self) })
    }
}

impl HttpClient {
    /// Creates a client with the defaults of its [builder](HttpClientBuilder).
    ///
    /// # Errors
    ///
    /// If the system lacks what TLS needs.
    pub fn new() -> Result<Self, HttpError> {
        Self::builder().build()
    }

    /// Creates a builder.
    pub fn builder() -> HttpClientBuilder {
        HttpClientBuilder::new()
    }

    /// Sends a request, and follows its redirects. Another origin receives none of its headers but `accept`, `accept-language` and
    /// `range`.
    ///
    /// # Errors
    ///
    /// If the address, the origin or a redirect is refused, or there is no response in time.
    pub async fn send(&self, request: Request) -> Result<HttpResponse, HttpError> {
        let settings = &*self.settings;
        let deadline = deadline_after(settings.timeout);
        let mut redirects =
            Redirects::new(request.url(), &settings.redirects).with_limit(settings.max_redirects);
        let (repeatable, mut is_redirected) = (RepeatableRequest::of(&request), false);
        let mut response = self.execute(request, deadline).await?;
        loop {
            match (redirects.next(response.status(), response.headers(), repeatable.is_some()), &repeatable) {
                (RedirectStep::Follow(target), Some(repeatable)) => {
                    let request = match redirects.has_left() {
                        true => repeatable.request_elsewhere(*target),
                        false => repeatable.request(*target),
                    };
                    response = self.execute(request, deadline).await?;
                    is_redirected = true;
                }
                (RedirectStep::Refused { target, reason }, _) => {
                    let origin =
                        target.as_deref().and_then(Origin::of).or_else(|| Origin::of(response.url()));
                    let reason = format!("the redirect is not followed: {reason}");
                    return Err(HttpError::new(HttpErrorKind::RefusedRedirect, origin, reason));
                }
                (RedirectStep::Done | RedirectStep::Follow(_), _) => {
                    return Ok(HttpResponse::new(response, is_redirected, settings.body_limit));
                }
            }
        }
    }

    /// Sends one request, whose body arrives until `deadline`; a redirect is its response. See [`Redirects`].
    ///
    /// # Errors
    ///
    /// If the address or the origin is refused, or there is no response in time.
    pub fn execute(
        &self,
        mut request: Request,
        deadline: Instant,
    ) -> impl Future<Output = Result<Response, HttpError>> + use<> {
        let checked = self.check(request.url());
        *request.timeout_mut() = Some(deadline.saturating_duration_since(Instant::now()));
        // The future is smaller without the request.
        let response = checked.map(|()| self.client.execute(request));
        async move { Ok(response?.await?) }
    }

    /// Checks the URL of a request: its scheme, its origin and its address. [`send`](Self::send) does so by itself.
    ///
    /// # Errors
    ///
    /// If a request to `url` would be refused before a connection.
    pub fn check(&self, url: &Url) -> Result<(), HttpError> {
        let Some(origin) = Origin::of(url) else {
            let reason = "the URL is not an `http` or `https` URL with a host";
            return Err(HttpError::new(HttpErrorKind::Invalid, None, reason));
        };
        if has_user(url) {
            let reason = "the URL has a user name or password; send them in a header";
            return Err(HttpError::new(HttpErrorKind::Invalid, Some(origin), reason));
        }
        let origins = &self.settings.origins;
        if !origins.is_empty() && !origins.contains(&origin) {
            let reason = "the origin is not one of those that are allowed; add it by `only_origin`";
            return Err(HttpError::new(HttpErrorKind::RefusedOrigin, Some(origin), reason));
        }
        self.settings.addresses.check(url).map_err(|error| HttpError::refused_address(error, Some(origin)))
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HttpClientBuilder { addresses, origins, redirects, body_limit, timeout, .. } = &*self.settings;
        f.debug_struct("HttpClient")
            .field("addresses", addresses)
            .field("origins", origins)
            .field("redirects", redirects)
            .field("body_limit", body_limit)
            .field("timeout", timeout)
            .finish_non_exhaustive()
    }
}

/// The hosts of the proxies that the environment names.
fn environment_proxy_hosts() -> Arc<[String]> {
    let hosts = PROXY_VARIABLES.iter().filter_map(|name| {
        let proxy = std::env::var(name).ok()?;
        let proxy = if proxy.contains("://") { proxy } else { format!("http://{proxy}") };
        Some(canonical_host(Url::parse(&proxy).ok()?.host_str()?))
    });
    hosts.collect()
}

/// Returns the deadline for [`HttpClient::execute`]: the instant after `timeout`, at most thirty years from now, since a clock
/// cannot add every duration.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// assert!(tool_http::deadline_after(Duration::MAX) > tool_http::deadline_after(Duration::from_secs(60)));
/// ```
#[must_use]
pub fn deadline_after(timeout: Duration) -> Instant {
    const MAX_TIMEOUT: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    Instant::now() + timeout.min(MAX_TIMEOUT)
}
