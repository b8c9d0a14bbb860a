//! A server as a resource server of OAuth: bearer tokens, and the metadata that says who issues them.

use std::{collections::BTreeSet, convert::Infallible, fmt, sync::Arc, time::SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use serde_json::{Map, Value, json};
use tool_runtime::{BoxFuture, guard::catch_async};

/// The well-known path of the metadata, by RFC 9728.
pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The caller of a request, by its token. It is a value of the run: a tool receives it as `identity: Option<&Identity>`, and
/// rules and filters as `run.provided().get::<Identity>()`. The run's [user](tool_runtime::RunContext::user) is its subject.
///
/// # Examples
///
/// ```
/// use tool_mcp::server::Identity;
///
/// let identity = Identity::new("alice").scopes(["notes:read"]);
/// assert!(identity.has_scope("notes:read"));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Identity {
    /// The identifier of the caller (`sub`).
    pub subject: String,
    /// The client that the token was issued to (`client_id`).
    pub client_id: Option<String>,
    /// The scopes of the token.
    pub scopes: BTreeSet<String>,
    /// When the token expires; `None` if it does not.
    pub expires: Option<SystemTime>,
    /// All claims of the token.
    pub claims: Map<String, Value>,
}

impl Identity {
    /// Creates an identity with a subject and nothing else.
    pub fn new(subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            client_id: None,
            scopes: BTreeSet::new(),
            expires: None,
            claims: Map::new(),
        }
    }

    /// Sets the client that the token was issued to.
    #[must_use]
    pub fn client_id(mut self, client: impl Into<String>) -> Self {
        self.client_id = Some(client.into());
        self
    }

    /// Adds scopes.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets when the token expires.
    #[must_use]
    pub fn expires(mut self, at: SystemTime) -> Self {
        self.expires = Some(at);
        self
    }

    /// Sets all claims of the token.
    #[must_use]
    pub fn claims(mut self, claims: Map<String, Value>) -> Self {
        self.claims = claims;
        self
    }

    /// Returns `true` if the token permits `scope`.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.contains(scope)
    }
}

/// The reason why a token is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is malformed, expired, revoked, or of another resource: the answer is 401. The text is sent to the client.
    Invalid(String),
    /// The token cannot be validated now: the answer is 503. The text is logged.
    Unavailable(String),
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(reason) => write!(f, "the token is invalid: {reason}"),
            Self::Unavailable(reason) => write!(f, "the token cannot be validated: {reason}"),
        }
    }
}

impl std::error::Error for TokenError {}

/// Validates bearer tokens: their signature or entry at the issuer, their issuer, and that they were issued for this server
/// (their audience). The expiry of the [`Identity`] is checked afterwards.
///
/// A closure `Fn(&str) -> Result<Identity, TokenError>` is a validator without I/O. A panic is [`TokenError::Unavailable`].
pub trait TokenValidator: Send + Sync + 'static {
    /// Validates `token`.
    ///
    /// # Errors
    ///
    /// If the token is not accepted.
    fn validate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Identity, TokenError>>;
}

impl<F: Fn(&str) -> Result<Identity, TokenError> + Send + Sync + 'static> TokenValidator for F {
    fn validate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Identity, TokenError>> {
        Box::pin(async move { self(token) })
    }
}

/// The protection of a server over HTTP by bearer tokens, as a resource server of OAuth 2.1.
///
/// A request without a valid token is answered with 401, one whose token lacks a [required](Self::require) scope with 403, both
/// with `WWW-Authenticate`, which names the metadata and the scopes. The metadata is served at
/// `/.well-known/oauth-protected-resource` and below it, under the path of the resource.
///
/// A session belongs to the subject that opened it, and a question to the subject that was asked: others cannot use them.
///
/// # Examples
///
/// ```
/// use tool_mcp::server::{HttpConfig, Identity, McpServer, ResourceServer, TokenError};
/// use tool_runtime::Registry;
///
/// # fn example() -> anyhow::Result<()> {
/// let protection = ResourceServer::new("https://mcp.example.com/mcp", |token: &str| match token {
///     "secret" => Ok(Identity::new("alice").scopes(["notes:read"])),
///     _ => Err(TokenError::Invalid("unknown".to_owned())),
/// })
/// .issuer("https://login.example.com")
/// .require(["notes:read"]);
/// let config = HttpConfig::new().hosts(["mcp.example.com"]).protect(protection);
/// let server = McpServer::new(Registry::discover()?).http_with(config)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ResourceServer {
    resource: String,
    validator: Arc<dyn TokenValidator>,
    issuers: Vec<String>,
    scopes: Vec<String>,
    required: Vec<String>,
    name: Option<String>,
}

impl fmt::Debug for ResourceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceServer").field("resource", &self.resource).finish_non_exhaustive()
    }
}

impl ResourceServer {
    /// Protects the server at the URL `resource`, as clients know it.
    pub fn new(resource: impl Into<String>, validator: impl TokenValidator) -> Self {
        Self {
            resource: resource.into(),
            validator: Arc::new(validator),
            issuers: Vec::new(),
            scopes: Vec::new(),
            required: Vec::new(),
            name: None,
        }
    }

    /// Adds the issuer URL of an authorization server that issues the tokens.
    #[must_use]
    pub fn issuer(mut self, url: impl Into<String>) -> Self {
        self.issuers.push(url.into());
        self
    }

    /// Adds scopes to the metadata, beside the required ones.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Adds scopes that each request requires. What a single tool requires is a rule of the executor.
    #[must_use]
    pub fn require(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.required.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets the name of the server for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The path of the resource, empty for the root.
    fn resource_path(&self) -> String {
        let uri = self.resource.parse::<Uri>().ok();
        uri.map(|uri| uri.path().trim_end_matches('/').to_owned()).unwrap_or_default()
    }

    /// The paths at which the metadata is served.
    pub(super) fn metadata_paths(&self) -> Vec<String> {
        match self.resource_path() {
            path if path.is_empty() => vec![WELL_KNOWN.to_owned()],
            path => vec![WELL_KNOWN.to_owned(), format!("{WELL_KNOWN}{path}")],
        }
    }

    /// The URL of the metadata.
    fn metadata_url(&self) -> String {
        let path = self.resource_path();
        let origin = self.resource.trim_end_matches('/');
        format!("{}{WELL_KNOWN}{path}", origin.strip_suffix(&*path).unwrap_or(origin))
    }

    /// The metadata, by RFC 9728.
    pub(super) fn metadata(&self) -> Value {
        let scopes: BTreeSet<_> = self.required.iter().chain(&self.scopes).collect();
        let mut metadata = json!({
            "resource": self.resource,
            "authorization_servers": self.issuers,
            "bearer_methods_supported": ["header"],
        });
        if !scopes.is_empty() {
            metadata["scopes_supported"] = json!(scopes);
        }
        if let Some(name) = &self.name {
            metadata["resource_name"] = json!(name);
        }
        metadata
    }

    /// Returns the caller of a request with `headers`, or the answer that refuses it.
    pub(super) async fn identify_caller(
        &self,
        headers: &HeaderMap,
    ) -> Result<Identity, Response<BoxBody<Bytes, Infallible>>> {
        let refused =
            |reason: &str| self.challenge_response(StatusCode::UNAUTHORIZED, Some(("invalid_token", reason)));
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else {
            return Err(self.challenge_response(StatusCode::UNAUTHORIZED, None));
        };
        let token = value.to_str().ok().and_then(|value| value.split_once(' '));
        let Some(token) = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
            return Err(self.challenge_response(StatusCode::UNAUTHORIZED, None));
        };
        let identity = match self.validated_identity(token.1.trim()).await {
            Ok(identity) => identity,
            Err(TokenError::Invalid(reason)) => return Err(refused(&reason)),
            Err(TokenError::Unavailable(reason)) => {
                tracing::error!(reason, "a token cannot be validated");
                return Err(super::unavailable_response("tokens cannot be validated now".to_owned()));
            }
        };
        if identity.expires.is_some_and(|at| at <= SystemTime::now()) {
            return Err(refused("it is expired"));
        }
        match self.required.iter().all(|scope| identity.has_scope(scope)) {
            true => Ok(identity),
            false => {
                let reason = "the token lacks a scope";
                Err(self.challenge_response(StatusCode::FORBIDDEN, Some(("insufficient_scope", reason))))
            }
        }
    }

    /// Validates inside the panic barrier.
    async fn validated_identity(&self, token: &str) -> Result<Identity, TokenError> {
        let validated = catch_async(|| self.validator.validate(token)).await;
        validated.unwrap_or_else(|panic| Err(TokenError::Unavailable(panic.into_message())))
    }

    /// An answer that says what token is wanted.
    fn challenge_response(
        &self,
        status: StatusCode,
        error: Option<(&str, &str)>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        let mut parameters = vec![format!("resource_metadata={}", quoted_string(&self.metadata_url()))];
        if !self.required.is_empty() {
            parameters.push(format!("scope={}", quoted_string(&self.required.join(" "))));
        }
        if let Some((error, reason)) = error {
            parameters.push(format!("error={}", quoted_string(error)));
            parameters.push(format!("error_description={}", quoted_string(reason)));
        }
        let body = error.map_or("a bearer token is required", |(_, reason)| reason);
        let mut response = Response::new(Full::new(Bytes::from(body.to_owned())).boxed());
        *response.status_mut() = status;
        if let Ok(value) = HeaderValue::from_str(&format!("Bearer {}", parameters.join(", "))) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}

/// A quoted string of a header: other characters than visible ASCII and spaces are replaced.
fn quoted_string(text: &str) -> String {
    let clean = text.chars().map(|it| match it {
        '"' | '\\' => '\'',
        ' '..='~' => it,
        _ => '?',
    });
    format!("\"{}\"", clean.collect::<String>())
}

#[cfg(test)]
mod tests;
