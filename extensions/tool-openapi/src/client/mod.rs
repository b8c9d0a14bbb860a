//! The HTTP client of the tools of a document, which sends by a client of `tool-http`.
//!
//! Credentials are added to a request just before it is sent, so that the URL that is shown never has one. Redirects are
//! followed by hand: none of the client's own mechanisms sees a credential twice.

use std::time::Duration;

use reqwest::{Request, Response, StatusCode, Url};
use tokio::time::Instant;
use tool_http::{
    HttpClient, HttpError, Origin, RedirectPolicy, RedirectStep, Redirects, RepeatableRequest, deadline_after,
};
use tool_runtime::{ToolContext, ToolError};

use crate::{
    OpenApiError,
    auth::{Authorization, IssuedCredentials},
    connection::{guarded_client, request_failure, unguarded_client},
    settings::Settings,
};

/// The maximum length, in bytes, of the target of a redirect in a note.
const MAX_TARGET_BYTES: usize = 2048;

/// The client of all operations of a document.
pub(crate) struct OperationClient {
    direct: HttpClient,
    /// Refuses addresses that are not public.
    guarded: Option<HttpClient>,
    timeout: Duration,
    redirects: RedirectPolicy,
}

/// The servers that an operation may reach, and its credentials.
pub(crate) struct OperationAccess {
    /// The server was chosen by a document that may be hostile: only public addresses are reached.
    pub(crate) is_guarded: bool,
    pub(crate) authorization: Authorization,
}

/// The answer to a request.
pub(crate) struct HttpAnswer {
    pub(crate) response: Response,
    /// The URL, without credentials.
    pub(crate) url: Url,
    /// The URL of the request, without credentials, if it was redirected.
    pub(crate) redirected: Option<Url>,
    /// A remark for the model about the answer.
    pub(crate) note: Option<String>,
    /// The credentials of the request, which no text may show.
    pub(crate) issued: IssuedCredentials,
}

impl OperationClient {
    /// Creates the client of the operations of a document; `is_foreign` if the document may be hostile.
    pub(crate) fn new(settings: &Settings, is_foreign: bool) -> Result<Self, OpenApiError> {
        let lookup = settings.access.lookup.as_ref();
        let guarded = is_foreign && !settings.access.allow_private_servers;
        Ok(Self {
            direct: unguarded_client(lookup)?,
            guarded: if guarded { Some(guarded_client(lookup)?) } else { None },
            timeout: settings.timeout,
            redirects: RedirectPolicy::Origins(settings.access.redirects.clone()),
        })
    }

    /// Returns the client for servers that the program named.
    pub(crate) fn unguarded_client(&self) -> &HttpClient {
        &self.direct
    }

    /// Sends a request with the credentials of its operation.
    ///
    /// # Errors
    ///
    /// If a credential cannot be computed, or there is no answer.
    pub(crate) async fn send_authorized_request(
        &self,
        request: Request,
        access: &OperationAccess,
        cx: &ToolContext,
    ) -> Result<HttpAnswer, ToolError> {
        let authorization = &access.authorization;
        let issued = authorization.issue_credentials(cx).await?;
        let repeatable = if authorization.is_renewable() { request.try_clone() } else { None };
        let mut answer = self.send_with_credentials(request, access, issued).await?;
        if let Some(request) = repeatable
            && answer.response.status() == StatusCode::UNAUTHORIZED
            && answer.note.is_none()
        {
            let issued = Box::pin(authorization.renew_tokens(answer.issued)).await?;
            answer = Box::pin(self.send_with_credentials(request, access, issued)).await?;
        }
        let status = answer.response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) && answer.note.is_none() {
            answer.note = authorization.missing_credential_note().map(str::to_owned);
        }
        Ok(answer)
    }

    fn send_with_credentials(
        &self,
        mut request: Request,
        access: &OperationAccess,
        issued: IssuedCredentials,
    ) -> impl Future<Output = Result<HttpAnswer, ToolError>> {
        let deadline = deadline_after(self.timeout);
        let (repeatable, url) = (RepeatableRequest::of(&request), request.url().clone());
        issued.add_credentials_to(&mut request);
        // The future is smaller without the request.
        let response = self.send_without_redirects(request, access.is_guarded, deadline);
        async move {
            let response = response.await.map_err(|error| request_failure(&error))?;
            let is_redirection = response.status().is_redirection();
            let answer = HttpAnswer { response, url, redirected: None, note: None, issued };
            match is_redirection {
                // Rare and large.
                true => {
                    Box::pin(self.follow_redirects(answer, repeatable, access.is_guarded, deadline)).await
                }
                false => Ok(answer),
            }
        }
    }

    /// Follows the redirects of `answer` with the request `repeatable`; without one, only notes them.
    async fn follow_redirects(
        &self,
        answer: HttpAnswer,
        repeatable: Option<RepeatableRequest>,
        is_guarded: bool,
        deadline: Instant,
    ) -> Result<HttpAnswer, ToolError> {
        let HttpAnswer { mut response, url: first, issued, .. } = answer;
        let mut url = first.clone();
        let mut redirects = Redirects::new(&first, &self.redirects);
        let note = loop {
            let target = match redirects.next(response.status(), response.headers(), repeatable.is_some()) {
                RedirectStep::Follow(target) => target,
                RedirectStep::Refused { target, reason } => {
                    break Some(refused_redirect_note(target.as_deref(), reason, &issued));
                }
                RedirectStep::Done if redirects.has_left() => {
                    break Some("the request was redirected, and sent without credentials".to_owned());
                }
                RedirectStep::Done => break None,
            };
            let is_home = redirects.is_home(&target);
            if !is_home && issued.has_any_secret_in(target.as_str()) {
                break Some(refused_redirect_note(
                    Some(&target),
                    "the target has a credential in its URL",
                    &issued,
                ));
            }
            let Some(repeatable) = &repeatable else { break None };
            url = issued.url_without_credentials(&target);
            let request = match redirects.has_left() {
                true => repeatable.request_elsewhere(*target),
                false => {
                    let mut request = repeatable.request(*target);
                    issued.add_credentials_to(&mut request);
                    request
                }
            };
            // Other origins are those that the program named.
            let next = self.send_without_redirects(request, is_guarded && is_home, deadline);
            response = next.await.map_err(|error| request_failure(&error))?;
        };
        Ok(HttpAnswer { response, url, redirected: Some(first), note, issued })
    }

    fn send_without_redirects(
        &self,
        request: Request,
        is_guarded: bool,
        deadline: Instant,
    ) -> impl Future<Output = Result<Response, HttpError>> + use<> {
        let guarded = self.guarded.as_ref().filter(|_| is_guarded);
        guarded.unwrap_or(&self.direct).execute(request, deadline)
    }
}

fn refused_redirect_note(target: Option<&Url>, reason: &str, issued: &IssuedCredentials) -> String {
    match target {
        Some(target) if target.as_str().len() > MAX_TARGET_BYTES => {
            let origin = Origin::of(target).map(|it| it.to_string()).unwrap_or_default();
            format!("the response redirects to a long URL at `{origin}`, which was not followed: {reason}")
        }
        Some(target) => {
            let target = issued.url_without_credentials(target);
            format!(
                "the response redirects to {}, which was not followed: {reason}",
                issued.redacted_text(target.as_str())
            )
        }
        None => format!("the response is a redirect that was not followed: {reason}"),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests may")]
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
        let client = OperationClient {
            direct: unguarded_client(None).unwrap(),
            guarded: Some(guarded_client(None).unwrap()),
            timeout: Duration::from_secs(5),
            redirects: RedirectPolicy::Origins(vec![Origin::parse(&named).unwrap()]),
        };
        let url = Url::parse("http://a.example/x").unwrap();
        let response = axum::http::Response::builder().status(302).header("location", &named);
        let response = response.url(url.clone()).body("").unwrap().into();
        let repeatable = RepeatableRequest::of(&Request::new(reqwest::Method::GET, url.clone()));
        let answer =
            HttpAnswer { response, url, redirected: None, note: None, issued: IssuedCredentials::default() };
        let deadline = deadline_after(client.timeout);
        let answer = client.follow_redirects(answer, repeatable, true, deadline).await.unwrap();
        assert_eq!(answer.response.status(), StatusCode::NO_CONTENT);
        serving.await.unwrap();
    }

    #[test]
    fn the_note_of_a_redirect_has_a_short_target_only() {
        let issued = IssuedCredentials::default();
        let note = |bytes: usize| {
            let start = "https://a.example/";
            let url = Url::parse(&format!("{start}{}", "x".repeat(bytes - start.len()))).unwrap();
            (refused_redirect_note(Some(&url), "no", &issued), url)
        };
        let (text, url) = note(MAX_TARGET_BYTES);
        assert_eq!(text, format!("the response redirects to {url}, which was not followed: no"));
        let (text, _) = note(MAX_TARGET_BYTES + 1);
        assert_eq!(
            text,
            "the response redirects to a long URL at `https://a.example`, which was not followed: no"
        );
        let text = refused_redirect_note(None, "no", &issued);
        assert_eq!(text, "the response is a redirect that was not followed: no");
        assert_eq!(format!("{issued:?}"), "IssuedCredentials { .. }");
    }
}
