//! The HTTP client of the tools of a document.
//!
//! Credentials are added to a request just before it is sent, so that the URL that is shown never has one. Redirects are
//! followed by hand: none of the client's own mechanisms sees a credential twice.

use std::time::Duration;

use reqwest::{
    Body, Client, Method, Request, Response, StatusCode, Url,
    header::{HeaderMap, HeaderName},
};
use tokio::time::Instant;
pub(crate) use tool_http::{address, origin, redirect};
use tool_runtime::{ToolContext, ToolError};

use self::{
    address::{Lookup, Names, NotPublic, PublicNames},
    origin::Origin,
    redirect::{Next, Redirects, Targets},
};
use crate::{
    OpenApiError,
    auth::{Authorization, Issued},
    response,
    settings::Settings,
};

/// Headers that stay in a request that is redirected to another origin.
const NEUTRAL_HEADERS: [&str; 3] = ["accept", "accept-language", "range"];

/// The maximum length, in bytes, of the target of a redirect in a note.
const LONGEST_TARGET: usize = 2048;

/// The client of all operations of a document.
pub(crate) struct HttpClient {
    direct: Client,
    /// Refuses addresses that are not public.
    guarded: Option<Client>,
    timeout: Duration,
    redirects: Vec<Origin>,
}

/// The servers that an operation may reach, and its credentials.
pub(crate) struct Access {
    /// The server was chosen by a document that may be hostile: only public addresses are reached.
    pub(crate) is_guarded: bool,
    pub(crate) authorization: Authorization,
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) response: Response,
    /// The URL, without credentials.
    pub(crate) url: Url,
    /// The URL of the request, without credentials, if it was redirected.
    pub(crate) redirected: Option<Url>,
    /// A remark for the model about the answer.
    pub(crate) note: Option<String>,
    /// The credentials of the request, which no text may show.
    pub(crate) issued: Issued,
}

impl HttpClient {
    /// Creates the client of the operations of a document; `is_foreign` if the document may be hostile.
    pub(crate) fn new(settings: &Settings, is_foreign: bool) -> Result<Self, OpenApiError> {
        let lookup = settings.reach.lookup.as_ref();
        let guarded = is_foreign && !settings.reach.allow_private_servers;
        Ok(Self {
            direct: direct(lookup)?,
            guarded: if guarded { Some(self::guarded(lookup)?) } else { None },
            timeout: settings.timeout,
            redirects: settings.reach.redirects.clone(),
        })
    }

    /// Returns the client for servers that the program named.
    pub(crate) fn direct(&self) -> &Client {
        &self.direct
    }

    /// Sends a request with the credentials of its operation.
    ///
    /// # Errors
    ///
    /// If a credential cannot be computed, or there is no answer.
    pub(crate) async fn send(
        &self,
        request: Request,
        access: &Access,
        cx: &ToolContext,
    ) -> Result<Answer, ToolError> {
        let authorization = &access.authorization;
        let issued = authorization.issue(cx).await?;
        let spare = if authorization.is_renewable() { request.try_clone() } else { None };
        let mut answer = self.exchange(request, access, issued).await?;
        if let Some(request) = spare
            && answer.response.status() == StatusCode::UNAUTHORIZED
            && answer.note.is_none()
        {
            let issued = Box::pin(authorization.renew(answer.issued)).await?;
            answer = Box::pin(self.exchange(request, access, issued)).await?;
        }
        let status = answer.response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) && answer.note.is_none() {
            answer.note = authorization.missing().map(str::to_owned);
        }
        Ok(answer)
    }

    fn exchange(
        &self,
        mut request: Request,
        access: &Access,
        issued: Issued,
    ) -> impl Future<Output = Result<Answer, ToolError>> {
        let deadline = Instant::now() + self.timeout;
        let (spare, url) = (Spare::of(&request), request.url().clone());
        issued.add_to(&mut request);
        // The future is smaller without the request.
        let response = self.execute(request, access.is_guarded, deadline);
        async move {
            let response = response?.await.map_err(|error| failure(&error))?;
            let is_redirection = response.status().is_redirection();
            let answer = Answer { response, url, redirected: None, note: None, issued };
            match is_redirection {
                // Rare and large.
                true => Box::pin(self.follow(answer, spare, access.is_guarded, deadline)).await,
                false => Ok(answer),
            }
        }
    }

    /// Follows the redirects of `answer` with the request `spare`; without one, only notes them.
    async fn follow(
        &self,
        answer: Answer,
        spare: Option<Spare>,
        is_guarded: bool,
        deadline: Instant,
    ) -> Result<Answer, ToolError> {
        let Answer { mut response, url: first, issued, .. } = answer;
        let mut url = first.clone();
        let mut redirects = Redirects::new(&first, Targets::Listed(&self.redirects));
        let note = loop {
            let target = match redirects.next(&response, spare.is_some()) {
                Next::Follow(target) => target,
                Next::Refused { target, reason } => {
                    break Some(not_followed(target.as_deref(), reason, &issued));
                }
                Next::Done if redirects.has_left() => {
                    break Some("the request was redirected, and sent without credentials".to_owned());
                }
                Next::Done => break None,
            };
            let is_home = redirects.is_home(&target);
            if !is_home && issued.is_in(target.as_str()) {
                break Some(not_followed(Some(&target), "the target has a credential in its URL", &issued));
            }
            let Some(spare) = &spare else { break None };
            url = issued.without_credentials(&target);
            let mut request = spare.request(*target);
            if redirects.has_left() {
                leave(&mut request);
            } else {
                issued.add_to(&mut request);
            }
            // Other origins are those that the program named.
            let next = self.execute(request, is_guarded && is_home, deadline)?;
            response = next.await.map_err(|error| failure(&error))?;
        };
        Ok(Answer { response, url, redirected: Some(first), note, issued })
    }

    fn execute(
        &self,
        mut request: Request,
        is_guarded: bool,
        deadline: Instant,
    ) -> Result<impl Future<Output = reqwest::Result<Response>> + use<>, ToolError> {
        let client = match &self.guarded {
            Some(guarded) if is_guarded => {
                address::check(request.url()).map_err(|error| refused(&error))?;
                guarded
            }
            _ => &self.direct,
        };
        *request.timeout_mut() = Some(deadline.saturating_duration_since(Instant::now()));
        Ok(client.execute(request))
    }
}

/// A request without its URL, which a redirect repeats; only of methods that may be repeated.
struct Spare {
    method: Method,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl Spare {
    fn of(request: &Request) -> Option<Self> {
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

    fn request(&self, url: Url) -> Request {
        let mut request = Request::new(self.method.clone(), url);
        request.headers_mut().clone_from(&self.headers);
        *request.body_mut() = self.body.clone().map(Body::from);
        request
    }
}

/// The error of a request without an answer. Its text has no URL, which may have a credential.
pub(crate) fn failure(error: &reqwest::Error) -> ToolError {
    NotPublic::of(error).map_or_else(|| response::unavailable(error), refused)
}

fn refused(error: &NotPublic) -> ToolError {
    ToolError::failed(format!("{error}; allow it with `allow_private_servers`, or set `base_url`"))
        .with_feedback("the server of this operation has no public address, so that no request was sent")
}

/// Removes all headers that another origin need not have.
fn leave(request: &mut Request) {
    let kept = NEUTRAL_HEADERS.map(HeaderName::from_static);
    let headers = std::mem::take(request.headers_mut());
    for (name, value) in &headers {
        if kept.contains(name) {
            request.headers_mut().append(name, value.clone());
        }
    }
}

fn not_followed(target: Option<&Url>, reason: &str, issued: &Issued) -> String {
    match target {
        Some(target) if target.as_str().len() > LONGEST_TARGET => {
            let origin = Origin::of(target).map(|it| it.to_string()).unwrap_or_default();
            format!("the response redirects to a long URL at `{origin}`, which was not followed: {reason}")
        }
        Some(target) => {
            let target = issued.without_credentials(target);
            format!(
                "the response redirects to {}, which was not followed: {reason}",
                issued.hide(target.as_str())
            )
        }
        None => format!("the response is a redirect that was not followed: {reason}"),
    }
}

/// A client without redirects, for any address.
pub(crate) fn direct(lookup: Option<&Lookup>) -> Result<Client, OpenApiError> {
    let builder = Client::builder().redirect(reqwest::redirect::Policy::none());
    created(match lookup {
        Some(lookup) => builder.dns_resolver(Names(lookup.clone())),
        None => builder,
    })
}

/// A client without redirects, for public addresses. A proxy would resolve names by itself.
pub(crate) fn guarded(lookup: Option<&Lookup>) -> Result<Client, OpenApiError> {
    let builder = Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    created(builder.dns_resolver(PublicNames(lookup.cloned())))
}

/// Only the executor repeats requests.
fn created(builder: reqwest::ClientBuilder) -> Result<Client, OpenApiError> {
    builder
        .retry(reqwest::retry::never().max_retries_per_request(0))
        .build()
        .map_err(|error| OpenApiError::config("the HTTP client cannot be created").with_source(error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use reqwest::ResponseBuilderExt as _;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    // No test reaches a public server, which alone may answer a guarded request: this one starts at its answer.
    #[tokio::test]
    async fn an_origin_that_the_program_named_may_be_private_after_a_guarded_request() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let named = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        });
        let client = HttpClient {
            direct: direct(None).unwrap(),
            guarded: Some(guarded(None).unwrap()),
            timeout: Duration::from_secs(5),
            redirects: vec![Origin::parse(&named).unwrap()],
        };
        let url = Url::parse("http://a.example/x").unwrap();
        let response = axum::http::Response::builder().status(302).header("location", &named);
        let response = response.url(url.clone()).body("").unwrap().into();
        let spare = Spare::of(&Request::new(Method::GET, url.clone()));
        let answer = Answer { response, url, redirected: None, note: None, issued: Issued::default() };
        let deadline = Instant::now() + client.timeout;
        let answer = client.follow(answer, spare, true, deadline).await.unwrap();
        assert_eq!(answer.response.status(), StatusCode::NO_CONTENT);
        serving.await.unwrap();
    }
}
