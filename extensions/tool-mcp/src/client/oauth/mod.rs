//! Authorization of the client by OAuth 2.1, as far as `rmcp` carries it.

mod binding;
mod discovery;
mod endpoint_answers;
mod http;
mod store;

use std::{
    fmt,
    sync::{Arc, atomic::AtomicBool},
};

use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationMetadata, AuthorizationRequest,
    AuthorizationSession, CredentialStore, InMemoryCredentialStore, OAuthClientConfig, StoredCredentials,
    WWWAuthenticateParams,
};
use tokio::sync::Mutex;
use tool_runtime::{BoxFuture, ToolError};

use self::{
    binding::IssuerBinding,
    discovery::Discovery,
    http::{AuthorizationHttpClient, EndpointClient},
    store::{BoundCredentialStore, StoredToken},
};

/// The most times that the user is asked for one HTTP request.
pub(super) const MAX_ATTEMPTS: u32 = 3;

/// The longest URL that is shown to the user: servers choose scopes and endpoints.
const MAX_PAGE_BYTES: usize = 16 * 1024;

/// Authorization by OAuth 2.1: the authorization code flow with PKCE. A server that answers 401, or 403 for lack of a scope,
/// names its authorization server; the user authorizes the program there, and the request is sent again with the token.
/// Tokens are refreshed.
///
/// The authorization server learns who the program is by [`client`](Self::client), [`client_metadata_url`] or dynamic
/// registration: the first that is set and that it supports.
///
/// # Issuers
///
/// A server names its authorization server by itself, and may lie. Credentials are therefore bound to an issuer, which is
/// compared with the metadata of the authorization server before anything is sent:
///
/// | | credentials go to |
/// | --- | --- |
/// | with [`issuer`](Self::issuer) | that issuer, whose endpoints may have any origin |
/// | with [`client`](Self::client), without an issuer | the origin of the server |
/// | without both | each issuer that the server names, with endpoints of the origin of the issuer |
///
/// Another authorization server is an error, and the user is not asked. Codes are sent to the issuer that the user was sent
/// to, and refresh tokens to the issuer that they are from. Tokens in a [`store`](Self::store) belong to one server: another
/// server does not receive them.
///
/// Metadata (`resource_metadata`) at another origin than the server is not read, unless
/// [`allow_metadata_origin`](Self::allow_metadata_origin) allows it. Redirects to another origin are not followed, and a
/// server behind `https` has an authorization server behind `https`.
///
/// The time of the user counts towards the [`timeout`](super::ServerConfig::timeout) of the operation.
///
/// [`client_metadata_url`]: Self::client_metadata_url
///
/// # Examples
///
/// ```no_run
/// use tool_mcp::client::{Endpoint, McpToolSet, OAuth, ServerConfig};
///
/// # fn open_browser(_: &str) {}
/// # async fn next_request_to_the_redirect_uri() -> String { String::new() }
/// # async fn example() -> anyhow::Result<()> {
/// let oauth = OAuth::new("http://127.0.0.1:8765/callback", |url| async move {
///     open_browser(&url);
///     Ok(next_request_to_the_redirect_uri().await)
/// });
/// let config = ServerConfig::new("notes", Endpoint::new("https://example.com/mcp"));
/// let notes = McpToolSet::builder(config).oauth(oauth.client_name("Notes")).connect().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "an authorization has no effect until a builder of a toolset has it"]
pub struct OAuth {
    request: AuthorizationRequest,
    allow_private_addresses: bool,
    issuer: Option<String>,
    metadata_origins: Vec<String>,
    store: Arc<dyn CredentialStore>,
    open: Arc<PageOpener>,
}

/// Shows a URL to the user, and returns the URL that the browser is redirected to.
type PageOpener = dyn Fn(String) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync;

impl OAuth {
    /// Creates an authorization. `open` shows the URL of the authorization server to the user, and returns the URL with
    /// `redirect_uri` that the browser is redirected to afterwards, with its query.
    pub fn new<F>(redirect_uri: impl Into<String>, open: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, ToolError>> + Send + 'static,
    {
        let open = Arc::new(open);
        Self {
            request: AuthorizationRequest::new(redirect_uri),
            allow_private_addresses: false,
            issuer: None,
            metadata_origins: Vec::new(),
            store: Arc::new(InMemoryCredentialStore::new()),
            open: Arc::new(move |url| {
                let open = Arc::clone(&open);
                Box::pin(async move { crate::client::run_callback(|| open(url)).await })
            }),
        }
    }

    /// Sets the name of the program for dynamic registration. Default: `MCP Client`.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.request = self.request.with_client_name(name);
        self
    }

    /// Sets the URL of the program's client metadata document. Default: none.
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.request = self.request.with_client_metadata_url(url);
        self
    }

    /// Sets the id, and the secret if there is one, under which the program is registered. They are for the authorization
    /// server at the origin of the server, unless [`issuer`](Self::issuer) names another one. Default: none.
    pub fn client(mut self, id: impl Into<String>, secret: Option<String>) -> Self {
        self.request = self.request.with_preregistered_client(id);
        if let Some(secret) = secret {
            self.request = self.request.with_client_secret(secret);
        }
        self
    }

    /// Sets the issuer of the authorization server, as its metadata has it, such as `https://auth.example.com`. Credentials
    /// are sent to no other one. Default: see [Issuers](Self#issuers).
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_mcp::client::OAuth;
    /// # fn example(oauth: OAuth) -> OAuth {
    /// oauth.issuer("https://auth.example.com").client("notes-app", Some("secret".to_owned()))
    /// # }
    /// ```
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Allows the server to have its metadata (`resource_metadata` of a challenge) at the origin of this URL. Default: its own
    /// origin. A URL without a host allows nothing.
    pub fn allow_metadata_origin(mut self, url: impl AsRef<str>) -> Self {
        let origin = Url::parse(url.as_ref()).ok().map(|url| url.origin()).filter(|it| it.is_tuple());
        self.metadata_origins.extend(origin.map(|origin| origin.ascii_serialization()));
        self
    }

    /// Sets the scopes. Default: those that the server names. A server that lacks one may name it later (403 with
    /// `insufficient_scope`), and the user is asked again.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.request = self.request.with_scopes(scopes);
        self
    }

    /// Sets the store of the tokens, which are those of one server. Tokens that no toolset stored are used if their issuer is
    /// the named one, or has the origin of the server. Default: the memory of the toolset.
    pub fn store(mut self, store: impl CredentialStore + Clone + 'static) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Allows authorization servers at private addresses also for a server at a public one. Default: they are refused.
    pub fn allow_private_addresses(mut self) -> Self {
        self.allow_private_addresses = true;
        self
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").field("redirect_uri", &self.request.redirect_uri).finish_non_exhaustive()
    }
}

/// The authorization at one server.
pub(super) struct ServerAuthorization {
    oauth: OAuth,
    manager: Mutex<Option<TokenManager>>,
    /// The program knows that its store has tokens that are not used.
    has_warned: Arc<AtomicBool>,
}

/// The manager of the SDK, with the identifier of the server in its requests.
struct TokenManager {
    inner: AuthorizationManager,
    resource: String,
}

impl ServerAuthorization {
    pub(super) fn new(oauth: OAuth) -> Self {
        Self { oauth, manager: Mutex::default(), has_warned: Arc::default() }
    }

    fn binding_for(&self, server: &Url) -> IssuerBinding {
        let is_registered = self.oauth.request.client_id.is_some();
        IssuerBinding::new(server.clone(), self.oauth.issuer.clone(), is_registered)
    }

    fn bound_store(&self, binding: &IssuerBinding) -> BoundCredentialStore {
        let client_id = self.oauth.request.client_id.clone();
        let has_warned = Arc::clone(&self.has_warned);
        BoundCredentialStore::new(Arc::clone(&self.oauth.store), binding.clone(), client_id, has_warned)
    }

    fn discovery_for<'a>(
        &'a self,
        http: &'a AuthorizationHttpClient,
        binding: &'a IssuerBinding,
    ) -> Discovery<'a> {
        Discovery { http, binding, metadata_origins: &self.oauth.metadata_origins }
    }

    /// Creates a manager that sends credentials to the endpoints of `metadata` only.
    async fn create_token_manager(
        &self,
        http: AuthorizationHttpClient,
        binding: &IssuerBinding,
        resource: String,
        metadata: AuthorizationMetadata,
    ) -> Result<TokenManager, AuthError> {
        let client = EndpointClient::new(http, &metadata, &self.oauth.request.redirect_uri, &resource);
        let server = binding.server_url().clone();
        let mut manager = AuthorizationManager::new_with_oauth_http_client(server, Arc::new(client)).await?;
        manager.set_credential_store(
            self.bound_store(binding).bound_to_issuer(metadata.issuer.clone(), resource.clone()),
        );
        manager.set_metadata(metadata);
        Ok(TokenManager { inner: manager, resource })
    }

    /// Returns the token for the server `url`, refreshed if necessary; `None` if the user has to authorize the program.
    pub(super) async fn token_for(&self, url: &str) -> Result<Option<String>, AuthError> {
        let mut current = self.manager.lock().await;
        self.current_token(&mut current, &parse_server_url(url)?).await
    }

    async fn current_token(
        &self,
        current: &mut Option<TokenManager>,
        server: &Url,
    ) -> Result<Option<String>, AuthError> {
        if current.is_none() {
            let binding = self.binding_for(server);
            let Some(stored) = self.bound_store(&binding).stored_credentials().await? else {
                return Ok(None);
            };
            match StoredToken::read(&stored) {
                None => return Ok(None),
                Some(token) if !token.expires_soon => return Ok(Some(token.access_token)),
                Some(token) if !token.is_refreshable => return Ok(None),
                Some(_) => *current = Some(self.manager_of_stored_tokens(&binding, &stored).await?),
            }
        }
        let Some(manager) = &*current else { return Ok(None) };
        match manager.inner.get_access_token().await {
            Ok(token) => Ok(Some(token)),
            Err(
                AuthError::AuthorizationRequired
                | AuthError::TokenExpired
                | AuthError::TokenRefreshRejected(_),
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates a manager that refreshes stored tokens at the issuer that they are from.
    async fn manager_of_stored_tokens(
        &self,
        binding: &IssuerBinding,
        stored: &StoredCredentials,
    ) -> Result<TokenManager, AuthError> {
        let http = AuthorizationHttpClient::new(binding.server_url(), self.oauth.allow_private_addresses)?;
        let metadata = self
            .discovery_for(&http, binding)
            .fetch_permitted_issuer_metadata(stored.issuer.as_deref())
            .await?;
        let resource =
            store::resource_of_stored_token(stored).unwrap_or_else(|| binding.server_url().to_string());
        let mut manager = self.create_token_manager(http, binding, resource, metadata).await?;
        let request = &self.oauth.request;
        let mut client = OAuthClientConfig::new(&stored.client_id, &request.redirect_uri);
        if let Some(secret) = request.client_secret.as_ref().filter(|_| request.client_id.is_some()) {
            client = client.with_client_secret(secret);
        }
        manager.inner.configure_client(client)?;
        Ok(manager)
    }

    /// Lets the user authorize the program after the server refused the token `refused`; returns the new token.
    pub(super) async fn authorize_after_refusal(
        &self,
        url: &str,
        refused: Option<&str>,
        challenge: &str,
    ) -> Result<String, AuthError> {
        let mut current = self.manager.lock().await;
        let server = parse_server_url(url)?;
        // Another request was first.
        if let Ok(Some(token)) = self.current_token(&mut current, &server).await
            && refused != Some(token.as_str())
        {
            return Ok(token);
        }
        let params = WWWAuthenticateParams::parse(challenge, &server);
        if let (Some(manager), true) = (&*current, params.is_insufficient_scope()) {
            let page =
                manager.inner.request_scope_upgrade(params.scope.as_deref().unwrap_or_default()).await?;
            return self.authorize_at_page(manager, page).await;
        }
        let binding = self.binding_for(&server);
        let http = AuthorizationHttpClient::new(&server, self.oauth.allow_private_addresses)?;
        let discovered = self.discovery_for(&http, &binding).find_authorization_server(challenge).await?;
        let manager =
            self.create_token_manager(http, &binding, discovered.resource, discovered.metadata).await?;
        let mut request = self.oauth.request.clone();
        if request.scopes.is_empty() {
            request.scopes = discovered.scopes;
        }
        let TokenManager { inner, resource } = manager;
        let session = AuthorizationSession::new(inner, request).await.map_err(|(_, error)| error)?;
        let page = session.get_authorization_url().to_owned();
        let manager = TokenManager { inner: session.auth_manager, resource };
        let token = self.authorize_at_page(&manager, page).await?;
        *current = Some(manager);
        Ok(token)
    }

    /// Lets the user authorize the program at `page`, and exchanges the code for a token.
    async fn authorize_at_page(&self, manager: &TokenManager, page: String) -> Result<String, AuthError> {
        let page = http::page_with_resource(&Url::parse(&page)?, &manager.resource).to_string();
        let state = url_parameter(&page, "state");
        let redirected = self.open_authorization_page(page).await?;
        if let Some(error) = url_parameter(&redirected, "error").filter(|error| !error.is_empty()) {
            let description = url_parameter(&redirected, "error_description").unwrap_or_default();
            let reason = endpoint_answers::describe_error(&error, &description);
            return Err(binding::authorization_error(format!("the authorization server answered {reason}")));
        }
        let callback = AuthorizationCallback::from_redirect_url(&redirected)?;
        if state.is_some_and(|state| state != callback.csrf_token) {
            let reason = "the redirect belongs to another authorization: its `state` differs";
            return Err(binding::authorization_error(reason.to_owned()));
        }
        let AuthorizationCallback { code, csrf_token, issuer, .. } = callback;
        let manager = &manager.inner;
        manager.exchange_code_for_token_with_issuer(&code, &csrf_token, issuer.as_deref()).await?;
        manager.get_access_token().await
    }

    async fn open_authorization_page(&self, page: String) -> Result<String, AuthError> {
        // The server chooses the page; what opens it may run programs for other schemes.
        let is_page = Url::parse(&page).is_ok_and(|url| ["http", "https"].contains(&url.scheme()));
        if !is_page {
            let reason = "the page of the authorization server is neither `http` nor `https`";
            return Err(AuthError::AuthorizationFailed(reason.to_owned()));
        }
        if page.len() > MAX_PAGE_BYTES {
            let reason = format!("the URL of the authorization server is longer than {MAX_PAGE_BYTES} bytes");
            return Err(AuthError::AuthorizationFailed(reason));
        }
        (self.oauth.open)(page).await.map_err(|error| AuthError::AuthorizationFailed(error.feedback()))
    }
}

fn parse_server_url(url: &str) -> Result<Url, AuthError> {
    Url::parse(url).map_err(|_| AuthError::InternalError("the URL is invalid".to_owned()))
}

/// Returns a parameter of a URL, of its query or else of its fragment.
fn url_parameter(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let mut fragment = url.clone();
    fragment.set_query(url.fragment());
    let find =
        |url: &Url| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    find(&url).or_else(|| find(&fragment))
}
