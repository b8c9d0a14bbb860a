//! Requests to an authorization server. Redirects are not followed, addresses are filtered, and answers are bounded.

use std::time::Duration;

use ::http::{Request, Response};
use base64::Engine as _;
use reqwest::{Url, header};
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadata, OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture,
    OAuthHttpRequest,
};

use super::{
    addresses::AddressPolicy,
    wire::{Answer, registration_answer, token_answer},
};

/// The time for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest answer: 1 MiB.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// The most redirects within one origin.
const MAX_REDIRECTS: usize = 10;

/// A client that reaches permitted addresses only.
#[derive(Clone)]
pub(super) struct HttpClient {
    client: reqwest::Client,
    addresses: AddressPolicy,
}

impl HttpClient {
    pub(super) fn new(server: &Url, allows_private_addresses: bool) -> Result<Self, AuthError> {
        let addresses = AddressPolicy::new(server, allows_private_addresses);
        let client = reqwest::Client::builder()
            .timeout(REQUEST_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(addresses.clone())
            .build()?;
        Ok(Self { client, addresses })
    }

    async fn send(&self, request: reqwest::Request) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
        if !self.addresses.permits_url(request.url()) {
            let origin = request.url().origin().ascii_serialization();
            return Err(format!(
                "the address of `{origin}` is not permitted for the authorization; permit private addresses by \
                 `OAuth::allow_private_addresses`"
            )
            .into());
        }
        let mut response = self.client.execute(request).await?;
        let mut read = Response::builder().status(response.status());
        if let Some(headers) = read.headers_mut() {
            *headers = response.headers().clone();
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if chunk.len() > MAX_ANSWER_BYTES - body.len() {
                return Err(format!("the answer is larger than {MAX_ANSWER_BYTES} bytes").into());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(read.body(body)?)
    }

    /// Reads a public document. Redirects are followed within its origin.
    pub(super) async fn get(&self, url: &Url) -> Result<Response<Vec<u8>>, AuthError> {
        let failed = |source| AuthError::DiscoveryRequestFailed { url: url.clone(), source };
        let mut current = url.clone();
        for _ in 0..MAX_REDIRECTS {
            let request = self.client.get(current.clone()).header(header::ACCEPT, "application/json");
            let response = self.send(request.build()?).await.map_err(failed)?;
            let Some(location) =
                response.headers().get(header::LOCATION).filter(|_| response.status().is_redirection())
            else {
                return Ok(response);
            };
            let next = location.to_str().ok().and_then(|location| current.join(location).ok());
            match next.filter(|next| next.origin() == current.origin()) {
                Some(next) => current = next,
                None => return Err(failed("a redirect to another origin is not followed".into())),
            }
        }
        Err(failed(format!("there are more than {MAX_REDIRECTS} redirects").into()))
    }
}

/// The requests of the SDK, which go to the endpoints of one authorization server and nowhere else.
pub(super) struct EndpointClient {
    http: HttpClient,
    token: String,
    registration: Option<String>,
    redirect_uri: String,
    resource: String,
}

impl EndpointClient {
    pub(super) fn new(
        http: HttpClient,
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

    async fn exchange(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
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
            let form = with_resource(body, &self.resource);
            *request.body_mut() = Some(form.into());
        }
        let secrets = secrets_of(&request);
        let response = self.http.send(request).await?;
        let (mut head, body) = response.into_parts();
        let answer = Answer { status: head.status.as_u16(), body };
        // A server may have both at one URL.
        let answer = match is_form {
            true => token_answer(&answer, is_refresh).without(&secrets),
            false => registration_answer(answer, &self.redirect_uri),
        };
        head.status = ::http::StatusCode::from_u16(answer.status)?;
        head.headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        Ok(Response::from_parts(head, answer.body))
    }
}

/// Returns the secrets of a request, which an authorization server may repeat in the text of an error.
fn secrets_of(request: &reqwest::Request) -> Vec<String> {
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
    let decoded: Vec<_> = secrets.iter().filter_map(|secret| form_value(secret)).collect();
    secrets.extend(decoded);
    secrets
}

/// Decodes a value of a form.
fn form_value(encoded: &str) -> Option<String> {
    let url = Url::parse(&format!("http://form/?{encoded}")).ok()?;
    let (value, _) = url.query_pairs().next()?;
    Some(value.into_owned())
}

/// Sets the `resource` of a form: the SDK adds a slash to one without a path, and authorization servers compare exactly.
fn with_resource(form: &[u8], resource: &str) -> String {
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
        Box::pin(self.exchange(request.request))
    }
}
