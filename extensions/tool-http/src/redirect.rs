//! Redirects, which are followed by hand: the client of a redirect, its credentials and its headers depend on the target.

use reqwest::{Response, StatusCode, Url, header::LOCATION};

use crate::origin::{Origin, has_user};

/// The maximum number of redirects of a request.
const MOST: usize = 5;

/// The origins that redirects may lead to.
pub enum Targets<'o> {
    /// The origin of the request, and those of a list.
    Listed(&'o [Origin]),
    Any,
}

/// The redirects of one request.
pub struct Redirects<'o> {
    home: Option<Origin>,
    targets: Targets<'o>,
    visited: Vec<Url>,
    has_left: bool,
}

/// The continuation after a response.
pub enum Next {
    /// The response is the answer.
    Done,
    /// The response is a redirect that is not followed.
    Refused { target: Option<Box<Url>>, reason: &'static str },
    /// The request goes to this URL.
    Follow(Box<Url>),
}

impl<'o> Redirects<'o> {
    /// The redirects of a request to `start`.
    pub fn new(start: &Url, targets: Targets<'o>) -> Self {
        Self { home: Origin::of(start), targets, visited: vec![start.clone()], has_left: false }
    }

    /// Returns `true` if `url` has the origin of the request.
    pub fn is_home(&self, url: &Url) -> bool {
        self.home.as_ref().is_some_and(|home| home.covers(url))
    }

    /// Returns `true` if a redirect led to another origin: no later request has credentials, also not back at the origin of the
    /// first one.
    pub fn has_left(&self) -> bool {
        self.has_left
    }

    /// Decides about `response`, which is the answer to a request to the last URL that was followed.
    pub fn next(&mut self, response: &Response, may_follow: bool) -> Next {
        if !is_redirect(response.status()) {
            return Next::Done;
        }
        let (Some(location), Some(current)) = (response.headers().get(LOCATION), self.visited.last()) else {
            return Next::Done;
        };
        let target = std::str::from_utf8(location.as_bytes()).ok().and_then(|it| current.join(it).ok());
        let Some(mut target) = target else {
            return Next::Refused { target: None, reason: "its `Location` is not a URL" };
        };
        target.set_fragment(None);
        match self.refusal(&target, current, may_follow) {
            Some(reason) => Next::Refused { target: Some(Box::new(target)), reason },
            None => {
                self.has_left |= !self.is_home(&target);
                self.visited.push(target.clone());
                Next::Follow(Box::new(target))
            }
        }
    }

    fn refusal(&self, target: &Url, current: &Url, may_follow: bool) -> Option<&'static str> {
        let is_listed = match self.targets {
            Targets::Any => true,
            Targets::Listed(origins) => self.is_home(target) || origins.iter().any(|it| it.covers(target)),
        };
        match () {
            () if Origin::of(target).is_none() => Some("the target is not an `http` or `https` URL"),
            () if !may_follow => Some("redirects are followed for GET and HEAD only"),
            () if has_user(target) => Some("the target has a user name or password"),
            () if current.scheme() == "https" && target.scheme() == "http" => {
                Some("it leads from `https` to `http`")
            }
            () if !is_listed => Some("the target has another origin"),
            () if self.visited.contains(target) => Some("it leads back to a URL that was requested before"),
            () if self.visited.len() > MOST => Some("it is one of more than 5 redirects"),
            () => None,
        }
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]
mod tests {
    use reqwest::ResponseBuilderExt as _;

    use super::*;

    fn next(from: &str, to: &str, targets: Targets<'_>) -> Next {
        let url = Url::parse(from).unwrap();
        let response = axum::http::Response::builder().status(307).header("location", to).url(url.clone());
        Redirects::new(&url, targets).next(&response.body("").unwrap().into(), true)
    }

    #[test]
    fn a_request_that_left_its_origin_never_returns() {
        let url = Url::parse("https://a.example/").unwrap();
        let mut redirects = Redirects::new(&url, Targets::Any);
        for (to, has_left) in [("/x", false), ("https://b.example/", true), ("https://a.example/y", true)] {
            let response = axum::http::Response::builder().status(302).header("location", to);
            assert!(matches!(redirects.next(&response.body("").unwrap().into(), true), Next::Follow(_)));
            assert_eq!(redirects.has_left(), has_left, "{to}");
        }
    }

    #[test]
    fn no_redirect_leads_from_https_to_http() {
        let http = [Origin::parse("http://a.example").unwrap()];
        for targets in [Targets::Any, Targets::Listed(&http)] {
            match next("https://a.example/x", "http://a.example/x", targets) {
                Next::Refused { reason, .. } => assert!(reason.contains("`http`"), "{reason}"),
                Next::Done | Next::Follow(_) => panic!("a downgrade"),
            }
        }
        assert!(matches!(next("http://a.example/", "https://a.example/", Targets::Any), Next::Follow(_)));
        assert!(matches!(
            next("http://a.example/", "https://a.example/", Targets::Listed(&[])),
            Next::Refused { .. }
        ));
        assert!(matches!(next("https://a.example/", "/x", Targets::Listed(&[])), Next::Follow(_)));
    }
}
