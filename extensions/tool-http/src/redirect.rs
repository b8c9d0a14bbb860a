//! Redirects, which are followed by hand: the client of a redirect, its credentials and its headers depend on the target.

use reqwest::{
    Body, Method, Request, StatusCode, Url,
    header::{HeaderMap, HeaderName, LOCATION},
};

use crate::origin::{Origin, has_user};

/// Headers that stay in a request that is redirected to another origin.
const NEUTRAL_HEADERS: [&str; 3] = ["accept", "accept-language", "range"];

/// The default of the maximum number of redirects of a request.
pub(crate) const MAX_REDIRECTS: usize = 5;

/// The origins that redirects may lead to. Default: the origin of the request.
///
/// In no case does a redirect lead from `https` to `http`, to a URL with a user name or password, or to a URL that was requested
/// before; only GET and HEAD are redirected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedirectPolicy {
    /// None: a redirect is the response.
    Never,
    /// The origin of the request.
    #[default]
    SameOrigin,
    /// The origin of the request, and these, which receive no credentials.
    Origins(Vec<Origin>),
    /// Any origin, without credentials.
    Anywhere,
}

impl RedirectPolicy {
    fn allows_target(&self, url: &Url, is_home: bool) -> bool {
        match self {
            Self::Never => false,
            Self::SameOrigin => is_home,
            Self::Origins(origins) => is_home || origins.iter().any(|it| it.covers(url)),
            Self::Anywhere => true,
        }
    }
}

/// The redirects of one request, for programs that send each of its requests by themselves.
///
/// # Examples
///
/// ```
/// use tool_http::{RedirectPolicy, RedirectStep, Redirects, reqwest::{StatusCode, Url, header::{HeaderMap, LOCATION}}};
///
/// let policy = RedirectPolicy::SameOrigin;
/// let mut redirects = Redirects::new(&Url::parse("https://a.example/").unwrap(), &policy);
/// let headers = HeaderMap::from_iter([(LOCATION, "https://b.example/".parse().unwrap())]);
/// let step = redirects.next(StatusCode::FOUND, &headers, true);
/// assert!(matches!(step, RedirectStep::Refused { reason: "the target has another origin", .. }));
/// ```
#[derive(Debug)]
pub struct Redirects<'p> {
    home: Option<Origin>,
    policy: &'p RedirectPolicy,
    limit: usize,
    visited: Vec<Url>,
    has_left: bool,
}

/// The continuation after a response.
#[derive(Debug)]
pub enum RedirectStep {
    /// The response is the answer.
    Done,
    /// The response is a redirect that is not followed.
    Refused {
        /// The target, if it is a URL.
        target: Option<Box<Url>>,
        /// The reason.
        reason: &'static str,
    },
    /// The request goes to this URL.
    Follow(Box<Url>),
}

impl<'p> Redirects<'p> {
    /// Creates the redirects of a request to `start`, of which 5 are followed.
    #[must_use]
    pub fn new(start: &Url, policy: &'p RedirectPolicy) -> Self {
        let mut first = start.clone();
        first.set_fragment(None);
        let (home, visited) = (Origin::of(start), vec![first]);
        Self { home, policy, limit: MAX_REDIRECTS, visited, has_left: false }
    }

    /// Sets the maximum number of redirects.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Returns `true` if `url` has the origin of the request.
    #[must_use]
    pub fn is_home(&self, url: &Url) -> bool {
        self.home.as_ref().is_some_and(|home| home.covers(url))
    }

    /// Returns `true` if a redirect led to another origin: no later request may have credentials, also not back at the origin of the
    /// first one.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.has_left
    }

    /// Decides about the response to the last URL that was followed; `may_repeat` if its request can be sent again.
    pub fn next(&mut self, status: StatusCode, headers: &HeaderMap, may_repeat: bool) -> RedirectStep {
        let is_redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
        let (true, Some(location), Some(current)) = (is_redirect, headers.get(LOCATION), self.visited.last())
        else {
            return RedirectStep::Done;
        };
        if self.policy == &RedirectPolicy::Never {
            return RedirectStep::Done;
        }
        let target = std::str::from_utf8(location.as_bytes()).ok().and_then(|it| current.join(it).ok());
        let Some(mut target) = target else {
            return RedirectStep::Refused { target: None, reason: "its `Location` is not a URL" };
        };
        target.set_fragment(None);
        match self.refusal_reason(&target, current, may_repeat) {
            Some(reason) => RedirectStep::Refused { target: Some(Box::new(target)), reason },
            None => {
                self.has_left |= !self.is_home(&target);
                self.visited.push(target.clone());
                RedirectStep::Follow(Box::new(target))
            }
        }
    }

    fn refusal_reason(&self, target: &Url, current: &Url, may_repeat: bool) -> Option<&'static str> {
        match () {
            () if Origin::of(target).is_none() => Some("the target is not an `http` or `https` URL"),
            () if !may_repeat => Some("redirects are followed for GET and HEAD only"),
            () if has_user(target) => Some("the target has a user name or password"),
            () if current.scheme() == "https" && target.scheme() == "http" => {
                Some("it leads from `https` to `http`")
            }
            () if !self.policy.allows_target(target, self.is_home(target)) => {
                Some("the target has another origin")
            }
            () if self.visited.contains(target) => Some("it leads back to a URL that was requested before"),
            () if self.visited.len() > self.limit && self.limit == MAX_REDIRECTS => {
                Some("it is one of more than 5 redirects")
            }
            () if self.visited.len() > self.limit => Some("there are too many redirects"),
            () => None,
        }
    }
}

/// A request without its URL, which redirects repeat.
#[derive(Debug)]
pub struct RepeatableRequest {
    method: Method,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl RepeatableRequest {
    /// Returns a copy of `request`; `None` for methods that may not be repeated, and for bodies that are streams.
    #[must_use]
    pub fn of(request: &Request) -> Option<Self> {
        let method = request.method().clone();
        if !matches!(method, Method::GET | Method::HEAD) {
            return None;
        }
        let body = match request.body() {
            Some(body) => Some(body.as_bytes()?.to_vec()),
            None => None,
        };
        Some(Self { method, headers: request.headers().clone(), body })
    }

    /// Returns the request for `url`.
    #[must_use]
    pub fn request(&self, url: Url) -> Request {
        let mut request = Request::new(self.method.clone(), url);
        request.headers_mut().clone_from(&self.headers);
        *request.body_mut() = self.body.clone().map(Body::from);
        request
    }

    /// Returns the request for a `url` of another origin: it has no body, and of its headers `accept`, `accept-language` and
    /// `range`.
    #[must_use]
    pub fn request_elsewhere(&self, url: Url) -> Request {
        let mut request = self.request(url);
        *request.body_mut() = None;
        let kept = NEUTRAL_HEADERS.map(HeaderName::from_static);
        let headers = std::mem::take(request.headers_mut());
        for (name, value) in headers.iter().filter(|(name, _)| kept.contains(name)) {
            request.headers_mut().append(name, value.clone());
        }
        request
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]
mod tests {
    use super::*;

    fn to(target: &str) -> HeaderMap {
        HeaderMap::from_iter([(LOCATION, target.parse().unwrap())])
    }

    fn next(from: &str, target: &str, policy: &RedirectPolicy) -> RedirectStep {
        let mut redirects = Redirects::new(&Url::parse(from).unwrap(), policy);
        redirects.next(StatusCode::TEMPORARY_REDIRECT, &to(target), true)
    }

    #[test]
    fn a_request_that_left_its_origin_never_returns() {
        let url = Url::parse("https://a.example/").unwrap();
        let mut redirects = Redirects::new(&url, &RedirectPolicy::Anywhere);
        for (target, has_left) in [("/x", false), ("https://b.example/", true), ("https://a.example/y", true)]
        {
            let step = redirects.next(StatusCode::FOUND, &to(target), true);
            assert!(matches!(step, RedirectStep::Follow(_)));
            assert_eq!(redirects.has_left(), has_left, "{target}");
        }
    }

    #[test]
    fn no_redirect_leads_from_https_to_http() {
        let http = RedirectPolicy::Origins(vec![Origin::parse("http://a.example").unwrap()]);
        for policy in [&RedirectPolicy::Anywhere, &http] {
            match next("https://a.example/x", "http://a.example/x", policy) {
                RedirectStep::Refused { reason, .. } => assert!(reason.contains("`http`"), "{reason}"),
                RedirectStep::Done | RedirectStep::Follow(_) => panic!("a downgrade"),
            }
        }
        let same = RedirectPolicy::SameOrigin;
        let follows =
            |from: &str, target: &str, policy| matches!(next(from, target, policy), RedirectStep::Follow(_));
        assert!(follows("http://a.example/", "https://a.example/", &RedirectPolicy::Anywhere));
        assert!(!follows("http://a.example/", "https://a.example/", &same));
        assert!(follows("https://a.example/", "/x", &same));
        let never = next("https://a.example/", "/x", &RedirectPolicy::Never);
        assert!(matches!(never, RedirectStep::Done));
    }

    #[test]
    fn a_response_is_a_redirect_by_its_status_and_its_location() {
        let url = Url::parse("https://a.example/").unwrap();
        let step = |status: u16, headers: &HeaderMap| {
            let status = StatusCode::from_u16(status).unwrap();
            Redirects::new(&url, &RedirectPolicy::SameOrigin).next(status, headers, true)
        };
        for status in [301, 302, 303, 307, 308] {
            assert!(matches!(step(status, &to("/x")), RedirectStep::Follow(_)), "{status}");
            assert!(matches!(step(status, &HeaderMap::new()), RedirectStep::Done), "{status}");
        }
        for status in [200, 201, 300, 304, 305, 400, 503] {
            assert!(matches!(step(status, &to("/x")), RedirectStep::Done), "{status}");
        }
    }

    #[test]
    fn a_refused_redirect_has_a_reason_and_its_target() {
        let start = Url::parse("https://a.example/x#part").unwrap();
        let refusal = |target: &str, may_repeat: bool, limit: usize| {
            let mut redirects = Redirects::new(&start, &RedirectPolicy::SameOrigin).with_limit(limit);
            match redirects.next(StatusCode::FOUND, &to(target), may_repeat) {
                RedirectStep::Refused { target, reason } => (target.map(|it| it.to_string()), reason),
                RedirectStep::Done | RedirectStep::Follow(_) => panic!("{target} is not refused"),
            }
        };
        let again = "it leads back to a URL that was requested before";
        for (target, may_repeat, limit, url, reason) in [
            ("https://[", true, 5, None, "its `Location` is not a URL"),
            (
                "ftp://a.example/",
                true,
                5,
                Some("ftp://a.example/"),
                "the target is not an `http` or `https` URL",
            ),
            ("/y", false, 5, Some("https://a.example/y"), "redirects are followed for GET and HEAD only"),
            (
                "https://u@a.example/",
                true,
                5,
                Some("https://u@a.example/"),
                "the target has a user name or password",
            ),
            (
                "https://:p@a.example/",
                true,
                5,
                Some("https://:p@a.example/"),
                "the target has a user name or password",
            ),
            ("http://a.example/", true, 5, Some("http://a.example/"), "it leads from `https` to `http`"),
            ("https://b.example/", true, 5, Some("https://b.example/"), "the target has another origin"),
            // A fragment is not sent.
            ("/x", true, 5, Some("https://a.example/x"), again),
            ("#other", true, 5, Some("https://a.example/x"), again),
            ("/y", true, 0, Some("https://a.example/y"), "there are too many redirects"),
        ] {
            assert_eq!(refusal(target, may_repeat, limit), (url.map(str::to_owned), reason), "{target}");
        }
    }

    #[test]
    fn the_sixth_redirect_is_refused_by_default() {
        let url = Url::parse("https://a.example/").unwrap();
        let mut redirects = Redirects::new(&url, &RedirectPolicy::SameOrigin);
        for target in ["/1", "/2", "/3", "/4", "/5#part"] {
            let step = redirects.next(StatusCode::FOUND, &to(target), true);
            assert!(matches!(step, RedirectStep::Follow(url) if url.fragment().is_none()));
        }
        match redirects.next(StatusCode::FOUND, &to("/6"), true) {
            RedirectStep::Refused { reason, .. } => assert_eq!(reason, "it is one of more than 5 redirects"),
            RedirectStep::Done | RedirectStep::Follow(_) => panic!("a sixth redirect"),
        }
    }

    #[test]
    fn the_listed_origins_and_the_own_one_are_targets() {
        let policy = RedirectPolicy::Origins(vec![Origin::parse("https://b.example").unwrap()]);
        for (target, is_followed) in [
            ("https://a.example/y", true),
            ("https://b.example/", true),
            ("https://c.example/", false),
            ("https://b.example:8443/", false),
        ] {
            let step = next("https://a.example/x", target, &policy);
            assert_eq!(matches!(step, RedirectStep::Follow(_)), is_followed, "{target}");
        }
    }

    fn request(method: Method, body: Option<Body>) -> Request {
        let mut request = Request::new(method, Url::parse("https://a.example/x").unwrap());
        for (name, value) in [
            ("accept", "text/html"),
            ("accept", "text/plain"),
            ("accept-language", "de"),
            ("range", "bytes=0-9"),
            ("authorization", "Bearer hunter2"),
            ("x-trace", "1"),
        ] {
            request.headers_mut().append(name, value.parse().unwrap());
        }
        *request.body_mut() = body;
        request
    }

    #[test]
    fn a_request_is_repeated_whole_and_without_its_secrets_elsewhere() {
        let first = request(Method::GET, Some("the body".into()));
        let repeatable = RepeatableRequest::of(&first).unwrap();
        let url = Url::parse("https://a.example/y").unwrap();
        let again = repeatable.request(url.clone());
        assert_eq!((again.method(), again.url(), again.headers()), (&Method::GET, &url, first.headers()));
        assert_eq!(again.body().unwrap().as_bytes(), Some(&b"the body"[..]));
        let elsewhere = repeatable.request_elsewhere(url.clone());
        assert_eq!((elsewhere.method(), elsewhere.url()), (&Method::GET, &url));
        assert!(elsewhere.body().is_none());
        let text = |(name, value): (&HeaderName, &reqwest::header::HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        assert_eq!(
            elsewhere.headers().iter().map(text).collect::<Vec<_>>(),
            ["accept: text/html", "accept: text/plain", "accept-language: de", "range: bytes=0-9"]
        );
    }

    #[test]
    fn only_get_and_head_are_repeatable() {
        for (method, is_repeatable) in [
            (Method::GET, true),
            (Method::HEAD, true),
            (Method::POST, false),
            (Method::PUT, false),
            (Method::DELETE, false),
            (Method::OPTIONS, false),
        ] {
            let copy = RepeatableRequest::of(&request(method.clone(), None));
            assert_eq!(copy.is_some(), is_repeatable, "{method}");
            if let Some(copy) = copy {
                let again = copy.request(Url::parse("https://a.example/").unwrap());
                assert!(again.method() == method && again.body().is_none());
            }
        }
    }
}
