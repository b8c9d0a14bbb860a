//! Credentials as the program gives them.

use std::{fmt, sync::Arc};

use tool_runtime::{BoxFuture, ToolContext, ToolError};

use super::Secret;
use tool_http::Origin;

/// Computes a secret for a call.
pub(crate) type SecretFn =
    Arc<dyn Fn(&ToolContext) -> BoxFuture<'static, Result<Secret, ToolError>> + Send + Sync>;

/// A credential for a security scheme of a document.
///
/// It is sent only to the origins for which the program gave it: those of [`for_origin`](Self::for_origin), or else the one of
/// [`base_url`](crate::OpenApiToolSetBuilder::base_url); never to another server of the document, and not along a
/// redirect to another origin. It stands in no `Debug` text, error, diagnostic, event, span or result; where a response repeats
/// it, the result has `***`, unless it has fewer than 6 bytes.
///
/// # Examples
///
/// ```
/// use tool_openapi::{Credential, Document, OpenApiToolSet};
///
/// # let text = r#"{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"paths":{"/pets":{"get":{}}},
/// #   "security":[{"key":[]}],"components":{"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Key"}}}}"#;
/// let pets = OpenApiToolSet::builder(Document::from_text(text)?)
///     .base_url("https://pets.example/v1")
///     .credential("key", Credential::secret("hunter2"))
///     .build()?;
/// assert!(pets.diagnostics().is_empty());
/// # Ok::<(), tool_openapi::OpenApiError>(())
/// ```
#[derive(Clone)]
pub struct Credential {
    pub(super) source: CredentialSource,
    pub(super) origins: Vec<Result<Origin, String>>,
}

#[derive(Clone)]
pub(super) enum CredentialSource {
    Secret(Secret),
    Basic(Secret),
    Client(ClientCredentials),
    Computed(SecretFn),
    /// A mistake, as a clause after the name of the scheme.
    Invalid(&'static str),
}

impl Credential {
    fn new(source: CredentialSource) -> Self {
        Self { source, origins: Vec::new() }
    }

    /// Creates a credential from a secret: the value of an API key, a bearer token, the access token of `oauth2` or
    /// `openIdConnect`, or the value after the name of any other HTTP scheme.
    pub fn secret(secret: impl Into<Secret>) -> Self {
        Self::new(CredentialSource::Secret(secret.into()))
    }

    /// Creates the credential of an HTTP scheme `basic`. A user name has no `:`.
    pub fn basic(user: &str, password: &str) -> Self {
        Self::new(match user.contains(':') {
            true => {
                CredentialSource::Invalid("has a user name with `:`, which separates it from the password")
            }
            false => CredentialSource::Basic(Secret::basic(user, password)),
        })
    }

    /// Creates a credential whose access tokens are requested from the token endpoint of a scheme.
    pub fn client_credentials(client: ClientCredentials) -> Self {
        Self::new(CredentialSource::Client(client))
    }

    /// Creates a credential that is computed for each call, from the values of its run.
    ///
    /// The future does not borrow the context: the closure takes what it needs first. Its error is the result of the call.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_openapi::{Credential, Secret};
    /// use tool_runtime::{ToolContext, ToolError};
    ///
    /// #[derive(Clone)]
    /// struct Tenant(String);
    ///
    /// # async fn token_of(_: &str) -> Result<String, ToolError> { Ok(String::new()) }
    /// let credential = Credential::computed(|cx: &ToolContext| {
    ///     let tenant = cx.require::<Tenant>().cloned();
    ///     async move { Ok(Secret::new(token_of(&tenant?.0).await?)) }
    /// });
    /// # let _ = credential;
    /// ```
    pub fn computed<F, Fut>(compute: F) -> Self
    where
        F: Fn(&ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Secret, ToolError>> + Send + 'static,
    {
        Self::new(CredentialSource::Computed(Arc::new(move |cx| Box::pin(compute(cx)))))
    }

    /// Adds an origin that receives the credential, such as `https://api.example.com`. Default: the origin of the base URL.
    #[must_use]
    pub fn for_origin(mut self, origin: &str) -> Self {
        self.origins.push(Origin::parse(origin));
        self
    }
}

/// Prints no secret.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.source {
            CredentialSource::Secret(_) => "secret",
            CredentialSource::Basic(_) => "basic",
            CredentialSource::Client(_) => "client_credentials",
            CredentialSource::Computed(_) => "computed",
            CredentialSource::Invalid(_) => "invalid",
        };
        let origins: Vec<_> = self.origins.iter().flatten().map(ToString::to_string).collect();
        f.debug_struct("Credential").field("kind", &kind).field("origins", &origins).finish_non_exhaustive()
    }
}

/// The client of the grant `client_credentials` ([RFC 6749, section
/// 4.4](https://www.rfc-editor.org/rfc/rfc6749#section-4.4)).
///
/// A token is requested when a call first needs it, once for all calls that wait, and kept until shortly before it expires.
/// After an answer with the status 401, it is requested anew, and the call is repeated once.
///
/// # Examples
///
/// ```
/// use tool_openapi::{ClientCredentials, Credential};
///
/// let client = ClientCredentials::new("billing", "hunter2")
///     .token_url("https://login.example.com/token")
///     .scopes(["invoices:read"]);
/// let credential = Credential::client_credentials(client);
/// assert!(!format!("{credential:?}").contains("hunter2"));
/// ```
#[derive(Clone)]
pub struct ClientCredentials {
    pub(super) id: String,
    pub(super) secret: Secret,
    pub(super) token_url: Option<String>,
    pub(super) scopes: Option<String>,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) in_body: bool,
}

impl ClientCredentials {
    /// Creates a client from its id and its secret.
    pub fn new(id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        Self {
            id: id.into(),
            secret: secret.into(),
            token_url: None,
            scopes: None,
            parameters: Vec::new(),
            in_body: false,
        }
    }

    /// Sets the token endpoint, which receives id and secret. Default: the one of the document, if its origin is an origin of
    /// the credential.
    #[must_use]
    pub fn token_url(mut self, url: impl Into<String>) -> Self {
        self.token_url = Some(url.into());
        self
    }

    /// Sets the scopes. Default: those that the document lists for the operation.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let scopes: Vec<_> = scopes.into_iter().map(|it| it.as_ref().to_owned()).collect();
        self.scopes = Some(scopes.join(" "));
        self
    }

    /// Adds a parameter to token requests, such as `audience`.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Sends id and secret in the body of token requests. Default: as HTTP `basic`.
    #[must_use]
    pub fn in_body(mut self) -> Self {
        self.in_body = true;
        self
    }
}

/// Prints neither the secret nor the parameters.
impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCredentials").field("id", &self.id).finish_non_exhaustive()
    }
}
