//! Authorization of the client by OAuth 2.1, as far as `rmcp` carries it.

use std::{fmt, sync::Arc};

use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    CredentialStore, WWWAuthenticateParams,
};
use tokio::sync::Mutex;
use tool_runtime::{BoxFuture, ToolError};

/// The most times that the user is asked for one HTTP request.
pub(super) const MAX_ATTEMPTS: u32 = 3;

/// Authorization by OAuth 2.1: the authorization code flow with PKCE. A server that answers 401, or 403 for lack of a scope,
/// names its authorization server; the user authorizes the program there, and the request is sent again with the token.
/// Tokens are refreshed.
///
/// The authorization server learns who the program is by [`client`](Self::client), [`client_metadata_url`] or dynamic
/// registration: the first that is set and that it supports.
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
    store: Option<Arc<SetStore>>,
    open: Arc<Open>,
}

/// Shows a URL to the user, and returns the URL that the browser is redirected to.
type Open = dyn Fn(String) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync;

type SetStore = dyn Fn(&mut AuthorizationManager) + Send + Sync;

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
            store: None,
            open: Arc::new(move |url| {
                let open = Arc::clone(&open);
                Box::pin(async move { super::guard::awaited(|| open(url)).await })
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

    /// Sets the id, and the secret if there is one, under which the program is registered. Default: none.
    pub fn client(mut self, id: impl Into<String>, secret: Option<String>) -> Self {
        self.request = self.request.with_preregistered_client(id);
        if let Some(secret) = secret {
            self.request = self.request.with_client_secret(secret);
        }
        self
    }

    /// Sets the scopes. Default: those that the server names.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.request = self.request.with_scopes(scopes);
        self
    }

    /// Sets the store of the tokens. Default: the memory of the toolset.
    pub fn store(mut self, store: impl CredentialStore + Clone + 'static) -> Self {
        self.store = Some(Arc::new(move |manager| manager.set_credential_store(store.clone())));
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
pub(super) struct Authorized {
    oauth: OAuth,
    manager: Mutex<Option<AuthorizationManager>>,
}

impl Authorized {
    pub(super) fn new(oauth: OAuth) -> Self {
        Self { oauth, manager: Mutex::default() }
    }

    async fn manager(&self, url: &str) -> Result<AuthorizationManager, AuthError> {
        let mut manager = match self.oauth.allow_private_addresses {
            true => AuthorizationManager::new_allowing_private_addresses(url).await?,
            false => AuthorizationManager::new(url).await?,
        };
        if let Some(set) = &self.oauth.store {
            set(&mut manager);
        }
        Ok(manager)
    }

    /// Returns the token for the server `url`, refreshed if necessary; `None` if the user has to authorize the program.
    pub(super) async fn token(&self, url: &str) -> Result<Option<String>, AuthError> {
        let mut current = self.manager.lock().await;
        if current.is_none() && self.oauth.store.is_some() {
            let mut manager = self.manager(url).await?;
            if manager.initialize_from_store().await? {
                *current = Some(manager);
            }
        }
        let Some(manager) = &*current else { return Ok(None) };
        match manager.get_access_token().await {
            Ok(token) => Ok(Some(token)),
            Err(
                AuthError::AuthorizationRequired
                | AuthError::TokenExpired
                | AuthError::TokenRefreshRejected(_),
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lets the user authorize the program after the server refused the token `refused`; returns the new token.
    pub(super) async fn authorize(
        &self,
        url: &str,
        refused: Option<&str>,
        challenge: &str,
    ) -> Result<String, AuthError> {
        let mut current = self.manager.lock().await;
        // Another request was first.
        if let Some(manager) = &*current
            && let Ok(token) = manager.get_access_token().await
            && refused != Some(token.as_str())
        {
            return Ok(token);
        }
        let base = reqwest::Url::parse(url)
            .map_err(|_| AuthError::InternalError("the URL is invalid".to_owned()))?;
        let params = WWWAuthenticateParams::parse(challenge, &base);
        if let (Some(manager), true) = (&*current, params.is_insufficient_scope()) {
            let page = manager.request_scope_upgrade(params.scope.as_deref().unwrap_or_default()).await?;
            let callback = AuthorizationCallback::from_redirect_url(&self.ask(page).await?)?;
            let AuthorizationCallback { code, csrf_token, issuer, .. } = callback;
            manager.exchange_code_for_token_with_issuer(&code, &csrf_token, issuer.as_deref()).await?;
            return manager.get_access_token().await;
        }
        let mut manager = self.manager(url).await?;
        let resolved = manager.resolve_metadata_from_challenge(Some(challenge)).await?;
        manager.set_metadata(resolved.metadata);
        let session = AuthorizationSession::new(manager, self.oauth.request.clone())
            .await
            .map_err(|(_, error)| error)?;
        let redirected = self.ask(session.get_authorization_url().to_owned()).await?;
        session.handle_callback_url(&redirected).await?;
        current.insert(session.auth_manager).get_access_token().await
    }

    async fn ask(&self, page: String) -> Result<String, AuthError> {
        // The server chooses the page; what opens it may run programs for other schemes.
        let is_page = reqwest::Url::parse(&page).is_ok_and(|url| ["http", "https"].contains(&url.scheme()));
        if !is_page {
            let reason = "the page of the authorization server is neither `http` nor `https`";
            return Err(AuthError::AuthorizationFailed(reason.to_owned()));
        }
        (self.oauth.open)(page).await.map_err(|error| AuthError::AuthorizationFailed(error.feedback()))
    }
}
