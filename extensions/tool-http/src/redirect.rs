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
        let (home, visited) = (Origin::of(start), vec![start.clone()]);
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
}
