//! The tokens of one server: a token that another server or another issuer caused is none, even if the program shares a
//! store.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use reqwest::Url;
use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};

use super::binding::{IssuerBinding, is_same_issuer};

/// The member of stored tokens with the server that they are for.
const SERVER_MEMBER: &str = "mcp_server";

/// The member of stored tokens with the identifier of the server in requests for tokens.
const RESOURCE_MEMBER: &str = "mcp_resource";

/// The longest time before the end of a token at which it is refreshed.
const MAX_REFRESH_MARGIN_SECS: u64 = 30;

/// The tokens of a store that belong to a binding.
#[derive(Clone)]
pub(super) struct BoundCredentialStore {
    store: Arc<dyn CredentialStore>,
    binding: IssuerBinding,
    client_id: Option<String>,
    /// The issuer of the tokens, once it is known.
    issuer: Option<Option<String>>,
    resource: Option<String>,
    has_warned: Arc<AtomicBool>,
}

impl BoundCredentialStore {
    pub(super) fn new(
        store: Arc<dyn CredentialStore>,
        binding: IssuerBinding,
        client_id: Option<String>,
        has_warned: Arc<AtomicBool>,
    ) -> Self {
        Self { store, binding, client_id, issuer: None, resource: None, has_warned }
    }

    /// Returns the store for the tokens of one issuer; `None` is an authorization server without metadata.
    pub(super) fn bound_to_issuer(&self, issuer: Option<String>, resource: String) -> Self {
        Self { issuer: Some(issuer), resource: Some(resource), ..self.clone() }
    }

    /// Returns the stored tokens, if they belong to the server, the client and an issuer that may receive them.
    pub(super) async fn stored_credentials(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let stored = self.store.load().await?.filter(|stored| self.owns_credentials(stored));
        Ok(stored)
    }

    fn owns_credentials(&self, stored: &StoredCredentials) -> bool {
        let token = stored.token_response.as_ref();
        let server = token.and_then(|token| token.extra_fields().0.get(SERVER_MEMBER));
        let is_of_server = match server {
            Some(server) => *server == url_without_query(self.binding.server_url()),
            None => self.binding.trusts_issuer(stored.issuer.as_deref()),
        };
        let is_of_client = self.client_id.as_ref().is_none_or(|id| *id == stored.client_id);
        let is_of_issuer = self.binding.check_issuer(stored.issuer.as_deref()).is_ok()
            && self.issuer.as_ref().is_none_or(|issuer| match (issuer, &stored.issuer) {
                (Some(issuer), Some(stored)) => is_same_issuer(issuer, stored),
                (None, None) => true,
                _ => false,
            });
        let is_owned = is_of_server && is_of_client && is_of_issuer;
        if !is_owned && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                is_of_server,
                is_of_client,
                is_of_issuer,
                "stored tokens of an MCP server are not used: they belong to another server, client or issuer"
            );
        }
        is_owned
    }
}

/// Returns the identifier of the server that stored tokens were requested for.
pub(super) fn resource_of_stored_token(stored: &StoredCredentials) -> Option<String> {
    let members = stored.token_response.as_ref()?.extra_fields();
    members.0.get(RESOURCE_MEMBER)?.as_str().map(str::to_owned)
}

/// Returns the URL of a server without its query, which may have credentials.
fn url_without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

impl CredentialStore for BoundCredentialStore {
    fn load<'s, 'a>(&'s self) -> StoreFuture<'a, Option<StoredCredentials>>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(self.stored_credentials())
    }

    fn save<'s, 'a>(&'s self, mut credentials: StoredCredentials) -> StoreFuture<'a, ()>
    where
        's: 'a,
        Self: 'a,
    {
        if let Some(token) = &mut credentials.token_response {
            let mut members = token.extra_fields().clone();
            members.0.insert(SERVER_MEMBER.to_owned(), url_without_query(self.binding.server_url()).into());
            let resource =
                self.resource.clone().map(|resource| (RESOURCE_MEMBER.to_owned(), resource.into()));
            members.0.extend(resource);
            token.set_extra_fields(members);
        }
        self.store.save(credentials)
    }

    fn clear<'s, 'a>(&'s self) -> StoreFuture<'a, ()>
    where
        's: 'a,
        Self: 'a,
    {
        self.store.clear()
    }

    fn on_refresh_token_rejected<'s, 'c, 'a>(&'s self, rejected: &'c StoredCredentials) -> StoreFuture<'a, ()>
    where
        's: 'a,
        'c: 'a,
        Self: 'a,
    {
        self.store.on_refresh_token_rejected(rejected)
    }

    fn acquire_refresh_guard<'s, 'a>(&'s self) -> StoreFuture<'a, Option<CredentialRefreshGuard>>
    where
        's: 'a,
        Self: 'a,
    {
        self.store.acquire_refresh_guard()
    }
}

/// A stored token, as far as it decides about a refresh.
pub(super) struct StoredToken {
    pub(super) access_token: String,
    pub(super) expires_soon: bool,
    pub(super) is_refreshable: bool,
}

impl StoredToken {
    pub(super) fn read(stored: &StoredCredentials) -> Option<Self> {
        let token = serde_json::to_value(stored.token_response.as_ref()?).ok()?;
        let lifetime = token["expires_in"].as_u64();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let expires_soon = lifetime
            .zip(stored.token_received_at)
            .is_some_and(|(lifetime, received_at)| needs_refresh(lifetime, received_at, now));
        Some(Self {
            access_token: token["access_token"].as_str()?.to_owned(),
            expires_soon,
            is_refreshable: token["refresh_token"].is_string(),
        })
    }
}

/// Returns `true` for a token to refresh; all in seconds.
fn needs_refresh(lifetime: u64, received_at: u64, now: u64) -> bool {
    let margin = MAX_REFRESH_MARGIN_SECS.min(lifetime / 2).max(1);
    received_at.saturating_add(lifetime).saturating_sub(now) < margin
}

#[cfg(test)]
mod tests;
