//! Access tokens of the grant `client_credentials`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::{
    Method, Request, Response, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use serde_json::Value;
use tokio::time::Instant;
use tool_http::{HttpBody, HttpClient, read_body};
use tool_runtime::{ErrorKind, ToolError};

use super::{ClientCredentials, Secret, carrier::form_escaped};
use crate::connection::request_failure;

/// The maximum time before its expiry at which a token is no longer used.
const EXPIRY_MARGIN: Duration = Duration::from_secs(60);

/// The maximum size of a token response, in bytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The time for a token request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The tokens of a client, by scopes.
pub(super) struct TokenCache {
    http: HttpClient,
    url: Url,
    client: ClientCredentials,
    slots: Mutex<HashMap<Box<str>, Arc<TokenSlot>>>,
}

/// The current token. The lock is a turn: who holds it requests a token while the others wait, and lets the next one request it
/// if it is dropped.
type TokenSlot = tokio::sync::Mutex<Option<Token>>;

struct Token {
    secret: Secret,
    /// `None` if the server does not say.
    expiry: Option<Instant>,
}

impl Token {
    fn is_unexpired(&self) -> bool {
        self.expiry.is_none_or(|expiry| Instant::now() < expiry)
    }
}

impl TokenCache {
    pub(super) fn new(http: HttpClient, url: Url, client: ClientCredentials) -> Self {
        Self { http, url, client, slots: Mutex::default() }
    }

    /// Returns a token for `scopes` that differs from the one that a server `refused`.
    pub(super) async fn token_for(
        &self,
        scopes: &str,
        refused: Option<&Secret>,
    ) -> Result<Secret, ToolError> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(scopes.into()).or_default())
        };
        let mut turn = slot.lock().await;
        if let Some(token) = &*turn
            && token.is_unexpired()
            && refused.is_none_or(|it| it.text() != token.secret.text())
        {
            return Ok(token.secret.clone());
        }
        *turn = None;
        let token = self.request_token(scopes).await?;
        let secret = token.secret.clone();
        *turn = Some(token);
        Ok(secret)
    }

    async fn request_token(&self, scopes: &str) -> Result<Token, ToolError> {
        let client = &self.client;
        let mut form = vec![("grant_type", "client_credentials")];
        if !scopes.is_empty() {
            form.push(("scope", scopes));
        }
        form.extend(client.parameters.iter().map(|(name, value)| (&**name, &**value)));
        if client.in_body {
            form.extend([("client_id", &*client.id), ("client_secret", client.secret.text())]);
        }
        let mut request = Request::new(Method::POST, self.url.clone());
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if !client.in_body {
            let pair = format!("{}:{}", form_escaped(&client.id), form_escaped(client.secret.text()));
            let text = format!("Basic {}", BASE64_STANDARD.encode(pair));
            let mut value =
                HeaderValue::try_from(text).map_err(|_| token_endpoint_error("the client is not valid"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let pairs: Vec<_> = form
            .iter()
            .map(|(name, value)| format!("{}={}", form_escaped(name), form_escaped(value)))
            .collect();
        *request.body_mut() = Some(pairs.join("&").into());
        let requested = Instant::now();
        let response = self.http.execute(request, requested + REQUEST_TIMEOUT).await.map_err(|error| {
            let error = request_failure(&error);
            let message = format!("no access token could be requested: {}", error.reason());
            error.with_message(message)
        })?;
        read_token_response(response, requested).await
    }
}

async fn read_token_response(response: Response, requested: Instant) -> Result<Token, ToolError> {
    let status = response.status();
    let body = read_body(response, MAX_ANSWER_BYTES).await.map_err(|error| request_failure(&error))?;
    let HttpBody { bytes, is_cut: false } = body else {
        return Err(token_endpoint_error("its answer is too long"));
    };
    let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if !status.is_success() {
        // Of the answer, only a code is shown: a description may repeat the request.
        let code = answer.get("error").and_then(Value::as_str).filter(|it| is_oauth_error_code(it));
        let code = code.map(|it| format!(" and the code `{it}`")).unwrap_or_default();
        return Err(token_endpoint_error(&format!("it answered with the status {}{code}", status.as_u16())));
    }
    let token = answer.get("access_token").and_then(Value::as_str).filter(|it| !it.is_empty());
    let Some(token) = token else {
        return Err(token_endpoint_error("its answer is not JSON with an `access_token`"));
    };
    let kind = answer.get("token_type").and_then(Value::as_str).unwrap_or("bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(token_endpoint_error("its tokens are not of the type `bearer`"));
    }
    let seconds = answer.get("expires_in").and_then(|it| match it {
        Value::String(text) => text.parse().ok(),
        it => it.as_u64(),
    });
    let lifetime = seconds.map(Duration::from_secs);
    let expiry = lifetime.and_then(|it| requested.checked_add(it - EXPIRY_MARGIN.min(it / 2)));
    Ok(Token { secret: Secret::new(token), expiry })
}

fn is_oauth_error_code(text: &str) -> bool {
    const CODES: [&str; 6] = [
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
    ];
    CODES.contains(&text)
}

fn token_endpoint_error(problem: &str) -> ToolError {
    ToolError::new(ErrorKind::Failed, format!("the token endpoint gave no access token: {problem}"))
}
