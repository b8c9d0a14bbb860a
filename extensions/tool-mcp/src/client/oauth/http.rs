//! Requests to an authorization server. Redirects are not followed, addresses are filtered, and answers are bounded: a server that
//! names its authorization server must not reach services of the local network by it.

use std::time::Duration;

use ::http::{Request, Response, StatusCode};
use base64::Engine as _;
use reqwest::{
    Method, Url,
    header::{self, HeaderMap},
};
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadata, OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture,
    OAuthHttpRequest,
};

use tokio::time::Instant;
use tool_http::{AddressPolicy, HttpBody, HttpError, HttpErrorKind, read_body};

use super::endpoint_answers::{EndpointAnswer, normalized_registration_answer, normalized_token_answer};

/// The time for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest answer: 1 MiB.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// The most redirects within one origin.
const MAX_REDIRECTS: usize = 10;

/// A client that reaches public addresses; others only if the URL of the server itself, which the program chose, has such an address.
#[derive(Clone)]
pub(super) struct AuthorizationHttpClient(tool_http::HttpClient);

impl AuthorizationHttpClient {
    pub(super) fn new(server: &Url, allows_private_addresses: bool) -> Result<Self, AuthError> {
        let near = AddressPolicy::near(server);
        let client = tool_http::HttpClient::builder()
            .addresses(if allows_private_addresses { near.allow_private() } else { near })
            .max_redirects(MAX_REDIRECTS)
            .body_limit(MAX_ANSWER_BYTES)
            .timeout(REQUEST_TIMEOUT)
            .proxy_from_environment();
        let client = client.build().map_err(|error| AuthError::InternalError(error.to_string()))?;
        Ok(Self(client))
    }

    async fn send(&self, request: reqwest::Request) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        let mut response = self.0.execute(request, deadline).await.map_err(http_client_error)?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        match read_body(response, MAX_ANSWER_BYTES).await.map_err(http_client_error)? {
            HttpBody { bytes, is_cut: false } => response_with_body(status, headers, bytes),
            HttpBody { is_cut: true, .. } => {
                Err(format!("the answer is larger than {MAX_ANSWER_BYTES} bytes").into())
            }
        }
    }

    /// Reads a public document. Redirects are followed within its origin.
    pub(super) async fn fetch_public_document(&self, url: &Url) -> Result<Response<Vec<u8>>, AuthError> {
        let failed = |source| AuthError::DiscoveryRequestFailed { url: url.clone(), source };
        let mut request = reqwest::Request::new(Method::GET, url.clone());
        request.headers_mut().insert(header::ACCEPT, header::HeaderValue::from_static("application/json"));
        let read = async {
            let response = self.0.send(request).await.map_err(http_client_error)?;
            let (status, headers) = (response.status(), response.headers().clone());
            response_with_body(status, headers, response.bytes().await.map_err(http_client_error)?)
        };
        read.await.map_err(failed)
    }
}

/// Returns the error of a request, with the setting that permits it.
fn http_client_error(error: HttpError) -> OAuthHttpClientError {
    match (error.kind(), error.origin()) {
        (HttpErrorKind::RefusedAddress, Some(origin)) => format!(
            "the address of `{origin}` is not permitted for the authorization; permit private addresses by \
             `OAuth::allow_private_addresses`"
        )
        .into(),
        _ => error.into(),
    }
}

fn response_with_body(
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
    let mut answer = Response::builder().status(status).body(body)?;
    *answer.headers_mut() = headers;
    Ok(answer)
}

/// The requests of the SDK, which go to the endpoints of one authorization server and nowhere else.
pub(super) struct EndpointClient {
    http: AuthorizationHttpClient,
    token: String,
    registration: Option<String>,
    redirect_uri: String,
    resource: String,
}

impl EndpointClient {
    pub(super) fn new(
        http: AuthorizationHttpClient,
        metadata: &AuthorizationMetadata,
        redirect_uri: &str,
        resource: &str,
    ) -> Self {
        let canonical = |url: &str| Url::parse(url).map_or_else(|_| url.to_owned(), String::from);
        Self {
            http,
            token: canonical(&metadata.token_endpoint),
            registration: metadata.registration_endpoint.as_deref().map(canonical),
            redirect_uri: redirect_uri.to_owned(),
            resource: resource.to_owned(),
        }
    }

    async fn send_to_endpoint(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
        let mut request = reqwest::Request::try_from(request)?;
        let url = request.url().as_str();
        let (is_token, is_registration) = (url == self.token, self.registration.as_deref() == Some(url));
        if !is_token && !is_registration {
            let origin = request.url().origin().ascii_serialization();
            return Err(format!("`{origin}` has no endpoint of this authorization").into());
        }
        let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
        let is_form = request
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|it| it.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
        let is_refresh = String::from_utf8_lossy(body).split('&').any(|it| it == "grant_type=refresh_token");
        if is_form {
            let form = form_with_resource(body, &self.resource);
            *request.body_mut() = Some(form.into());
        }
        let secrets = request_secrets(&request);
        let response = self.http.send(request).await?;
        let (mut head, body) = response.into_parts();
        let answer = EndpointAnswer { status: head.status.as_u16(), body };
        // A server may have both at one URL.
        let answer = match is_form {
            true => normalized_token_answer(&answer, is_refresh).with_secrets_redacted(&secrets),
            false => normalized_registration_answer(answer, &self.redirect_uri),
        };
        head.status = ::http::StatusCode::from_u16(answer.status)?;
        head.headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        Ok(Response::from_parts(head, answer.body))
    }
}

/// Returns the secrets of a request, which an authorization server may repeat in the text of an error.
fn request_secrets(request: &reqwest::Request) -> Vec<String> {
    let mut secrets = Vec::new();
    let authorization = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Some(basic) = authorization.and_then(|value| value.strip_prefix("Basic ")) {
        secrets.push(basic.to_owned());
        let decoded = base64::engine::general_purpose::STANDARD.decode(basic).unwrap_or_default();
        let decoded = String::from_utf8_lossy(&decoded).into_owned();
        secrets.extend(decoded.split_once(':').map(|(_, secret)| secret.to_owned()));
    }
    let form = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
    for pair in String::from_utf8_lossy(form).split('&') {
        let Some((name, value)) = pair.split_once('=') else { continue };
        if ["client_secret", "code", "code_verifier", "refresh_token"].contains(&name) {
            secrets.push(value.to_owned());
        }
    }
    // As they are sent, and as they are.
    let decoded: Vec<_> = secrets.iter().filter_map(|secret| decode_form_value(secret)).collect();
    secrets.extend(decoded);
    secrets
}

/// Decodes a value of a form.
fn decode_form_value(encoded: &str) -> Option<String> {
    let url = Url::parse(&format!("http://form/?{encoded}")).ok()?;
    let (value, _) = url.query_pairs().next()?;
    Some(value.into_owned())
}

/// Sets the `resource` of a form: the SDK adds a slash to one without a path, and authorization servers compare exactly.
fn form_with_resource(form: &[u8], resource: &str) -> String {
    let form = String::from_utf8_lossy(form);
    let Ok(mut url) = Url::parse("http://form/") else { return form.into_owned() };
    url.set_query(Some(&form));
    page_with_resource(&url, resource).query().unwrap_or_default().to_owned()
}

/// Sets the `resource` of the page of an authorization server.
pub(super) fn page_with_resource(page: &Url, resource: &str) -> Url {
    // Another encoding of the same parameters is another page.
    if page.query_pairs().all(|(name, value)| name != "resource" || value == resource) {
        return page.clone();
    }
    let mut changed = page.clone();
    let value =
        |name: &str, value: &str| if name == "resource" { resource.to_owned() } else { value.to_owned() };
    let pairs: Vec<_> = page.query_pairs().map(|(name, it)| (name.to_string(), value(&name, &it))).collect();
    changed.query_pairs_mut().clear().extend_pairs(pairs);
    changed
}

impl OAuthHttpClient for EndpointClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.send_to_endpoint(request.request))
    }
}

#[cfg(test)]
mod tests;
