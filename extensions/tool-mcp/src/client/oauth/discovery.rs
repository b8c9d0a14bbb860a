//! Discovery of the authorization server: metadata of the protected resource (RFC 9728), and of the authorization server (RFC
//! 8414, OpenID Connect). Nothing that is read here is believed before the [`IssuerBinding`] has checked it.

use reqwest::Url;
use rmcp::transport::auth::{AuthError, AuthorizationMetadata, WWWAuthenticateParams};
use serde_json::{Map, Value};

use super::{
    binding::{IssuerBinding, authorization_error, is_same_issuer},
    endpoint_answers::parse_json_body,
    http::AuthorizationHttpClient,
};

const RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource";
const OAUTH_PATH: &str = "/.well-known/oauth-authorization-server";
const OPENID_PATH: &str = "/.well-known/openid-configuration";

/// The most authorization servers of a protected resource that are tried.
const MAX_ISSUERS: usize = 8;

/// The authorization server of an MCP server.
pub(super) struct AuthorizationServer {
    pub(super) metadata: AuthorizationMetadata,
    /// The identifier of the MCP server in requests for tokens, as its metadata has it.
    pub(super) resource: String,
    /// The scopes that the MCP server names.
    pub(super) scopes: Vec<String>,
}

/// The metadata of a protected resource.
#[derive(Default)]
struct ResourceMetadata {
    resource: Option<String>,
    issuers: Vec<String>,
    scopes: Vec<String>,
}

/// A discovery at one MCP server.
pub(super) struct Discovery<'a> {
    pub(super) http: &'a AuthorizationHttpClient,
    pub(super) binding: &'a IssuerBinding,
    /// Other origins that may have metadata of the protected resource.
    pub(super) metadata_origins: &'a [String],
}

impl Discovery<'_> {
    /// Finds the authorization server, starting from the challenge of the MCP server.
    pub(super) async fn find_authorization_server(
        &self,
        challenge: &str,
    ) -> Result<AuthorizationServer, AuthError> {
        let server = self.binding.server_url();
        let params = WWWAuthenticateParams::parse(challenge, server);
        let mut scopes = params.scope.as_deref().map(split_at_whitespace).unwrap_or_default();
        let resource = self.fetch_resource_metadata(params.resource_metadata_url).await?;
        let metadata = match resource.issuers.as_slice() {
            [] => self.fetch_named_or_own_metadata().await?,
            issuers => self.fetch_first_issuer_metadata(issuers).await?,
        };
        let issuer = metadata.issuer.as_deref();
        self.binding.check_issuer(issuer)?;
        self.binding.check_endpoints(&metadata)?;
        for scope in resource.scopes {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        let resource = resource.resource.unwrap_or_else(|| server.to_string());
        Ok(AuthorizationServer { metadata, resource, scopes })
    }

    /// Reads the metadata of an issuer that the binding permits.
    pub(super) async fn fetch_permitted_issuer_metadata(
        &self,
        issuer: Option<&str>,
    ) -> Result<AuthorizationMetadata, AuthError> {
        self.binding.check_issuer(issuer)?;
        let metadata = match issuer {
            Some(issuer) => self
                .fetch_issuer_metadata(issuer)
                .await?
                .ok_or_else(|| missing_metadata_error(&[issuer.to_owned()]))?,
            None => default_endpoints(self.binding.server_url()),
        };
        self.binding.check_endpoints(&metadata)?;
        Ok(metadata)
    }

    /// Reads the metadata of the protected resource, at another origin only if it is allowed.
    async fn fetch_resource_metadata(&self, advertised: Option<Url>) -> Result<ResourceMetadata, AuthError> {
        let server = self.binding.server_url();
        let is_permitted = |url: &Url| {
            url.origin() == server.origin()
                || self.metadata_origins.contains(&url.origin().ascii_serialization())
        };
        let foreign = advertised.as_ref().filter(|url| !is_permitted(url)).cloned();
        let advertised = advertised.filter(is_permitted);
        if let Some(url) = &advertised
            && let Some(document) = self.fetch_json_object(url).await?
        {
            let resource = self.read_resource_metadata(&document);
            return resource
                .map_err(|problem| authorization_error(format!("the metadata at `{url}` {problem}")));
        }
        let mut failure = None;
        for url in well_known_urls(server, &[RESOURCE_PATH]) {
            match self.fetch_json_object(&url).await {
                Ok(Some(document)) => match self.read_resource_metadata(&document) {
                    Ok(resource) => return Ok(resource),
                    Err(problem) => tracing::debug!(%url, problem, "metadata of an MCP server is not used"),
                },
                Ok(None) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        match (failure, foreign) {
            (Some(error), _) => Err(error),
            (None, Some(url)) => Err(authorization_error(format!(
                "the server names metadata of another origin, `{url}`, which is not read; if that is right, allow it by \
                 `OAuth::allow_metadata_origin`"
            ))),
            (None, None) => Ok(ResourceMetadata::default()),
        }
    }

    /// Reads the metadata of the protected resource, which describes this server.
    fn read_resource_metadata(
        &self,
        document: &Map<String, Value>,
    ) -> Result<ResourceMetadata, &'static str> {
        let mut issuers = document.get("authorization_servers").map(strings_or_words).unwrap_or_default();
        issuers.extend(document.get("authorization_server").and_then(Value::as_str).map(str::to_owned));
        let resource = document.get("resource").and_then(Value::as_str);
        if resource.is_none() && issuers.is_empty() {
            return Err("is none of a protected resource");
        }
        let resource = resource.ok_or("names no `resource`")?;
        let url = Url::parse(resource).map_err(|_| "has a `resource` that is no URL")?;
        if !is_at_or_below(self.binding.server_url(), &url) {
            return Err("describes another `resource`");
        }
        let scopes = document.get("scopes_supported").map(strings_or_words).unwrap_or_default();
        Ok(ResourceMetadata { resource: Some(resource.to_owned()), issuers, scopes })
    }

    /// Reads the metadata of the first permitted issuer that has any.
    async fn fetch_first_issuer_metadata(
        &self,
        issuers: &[String],
    ) -> Result<AuthorizationMetadata, AuthError> {
        let mut failure = None;
        for issuer in issuers.iter().take(MAX_ISSUERS) {
            let issuer = match Url::parse(issuer) {
                Ok(url) => issuer_of_metadata_url(&url).map_or_else(|| issuer.clone(), String::from),
                // A path at the server.
                Err(_) => self.binding.server_url().join(issuer)?.into(),
            };
            let read = match self.binding.check_issuer(Some(&issuer)) {
                Ok(()) => self.fetch_issuer_metadata(&issuer).await,
                Err(error) => Err(error),
            };
            match read {
                Ok(Some(metadata)) => return Ok(metadata),
                Ok(None) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| missing_metadata_error(issuers)))
    }

    /// Reads the metadata for a server that names no authorization server: of the named issuer, or of its own origin.
    async fn fetch_named_or_own_metadata(&self) -> Result<AuthorizationMetadata, AuthError> {
        if let Some(issuer) = self.binding.named_issuer() {
            return self.fetch_permitted_issuer_metadata(Some(issuer)).await;
        }
        let server = self.binding.server_url();
        let found = self.fetch_issuer_metadata(server.as_str()).await?;
        Ok(found.unwrap_or_else(|| default_endpoints(server)))
    }

    /// Reads the metadata that an issuer has at its well-known URLs. `None` if it has none.
    async fn fetch_issuer_metadata(&self, issuer: &str) -> Result<Option<AuthorizationMetadata>, AuthError> {
        let base = Url::parse(issuer)?;
        let is_server = issuer == self.binding.server_url().as_str();
        let mut failure = None;
        for (url, path) in issuer_metadata_urls(&base) {
            let document = match self.fetch_json_object(&url).await {
                Ok(document) => document,
                Err(error) => {
                    failure = failure.or(Some(error));
                    continue;
                }
            };
            let Some(metadata) = document.and_then(read_issuer_metadata) else { continue };
            let expected = match is_server {
                true => url_at_path(&base, &path).to_string(),
                false => issuer.to_owned(),
            };
            match metadata.issuer.clone() {
                Some(received) if is_same_issuer(&received, &expected) => return Ok(Some(metadata)),
                Some(received_issuer) => {
                    failure.get_or_insert(AuthError::AuthorizationServerMismatch {
                        expected_issuer: expected,
                        received_issuer,
                    });
                }
                None => {
                    failure.get_or_insert(AuthError::AuthorizationServerMissingIssuer {
                        expected_issuer: expected,
                    });
                }
            }
        }
        failure.map_or(Ok(None), Err)
    }

    /// Reads a document; `None` if there is no JSON object.
    async fn fetch_json_object(&self, url: &Url) -> Result<Option<Map<String, Value>>, AuthError> {
        let response = self.http.fetch_public_document(url).await?;
        let status = response.status();
        if status.is_server_error() || [408, 425, 429].contains(&status.as_u16()) {
            let source = format!("the answer is HTTP {}", status.as_u16()).into();
            return Err(AuthError::DiscoveryRequestFailed { url: url.clone(), source });
        }
        if status != ::http::StatusCode::OK {
            return Ok(None);
        }
        Ok(match parse_json_body(response.body()) {
            Some(Value::Object(document)) => Some(document),
            _ => None,
        })
    }
}

/// Reads the metadata of an authorization server, member by member. `None` without endpoints.
fn read_issuer_metadata(mut document: Map<String, Value>) -> Option<AuthorizationMetadata> {
    let lists = ["scopes_supported", "response_types_supported", "code_challenge_methods_supported"];
    for name in lists {
        if let Some(value) = document.get_mut(name) {
            match strings_or_words(value) {
                list if list.is_empty() && !value.is_array() => *value = Value::Null,
                list => *value = list.into(),
            }
        }
    }
    let optional = ["registration_endpoint", "issuer", "jwks_uri"];
    document.retain(|name, value| !optional.contains(&name.as_str()) || value.is_string());
    serde_json::from_value(Value::Object(document)).ok()
}

/// Returns the endpoints of a server without metadata, of revision 2025-03-26.
fn default_endpoints(server: &Url) -> AuthorizationMetadata {
    let mut metadata = AuthorizationMetadata::default();
    metadata.authorization_endpoint = url_at_path(server, "/authorize").into();
    metadata.token_endpoint = url_at_path(server, "/token").into();
    metadata.registration_endpoint = Some(url_at_path(server, "/register").into());
    metadata
}

fn missing_metadata_error(issuers: &[String]) -> AuthError {
    let issuers: Vec<_> = issuers.iter().take(MAX_ISSUERS).map(|issuer| format!("`{issuer}`")).collect();
    authorization_error(format!("the authorization server {} has no metadata", issuers.join(", ")))
}

/// Returns the URLs of metadata for `base`: each path in front of its own path, the last one behind it, and each without it.
fn well_known_urls(base: &Url, paths: &[&str]) -> Vec<Url> {
    let own = base.path().trim_matches('/');
    let mut urls = Vec::new();
    if !own.is_empty() {
        for path in paths {
            urls.push(url_at_path(base, &format!("{path}/{own}")));
        }
        if let Some(path) = paths.last() {
            urls.push(url_at_path(base, &format!("/{own}{path}")));
        }
    }
    urls.extend(paths.iter().map(|path| url_at_path(base, path)));
    urls
}

/// Returns the URLs of the metadata of an issuer, with the path of the issuer that each of them describes.
fn issuer_metadata_urls(issuer: &Url) -> Vec<(Url, String)> {
    let own = issuer.path().trim_matches('/');
    let own = if own.is_empty() { String::new() } else { format!("/{own}") };
    let with_path = |url: Url| {
        let path = if url.path() == OAUTH_PATH || url.path() == OPENID_PATH { "" } else { &own };
        let path = path.to_owned();
        (url, path)
    };
    well_known_urls(issuer, &[OAUTH_PATH, OPENID_PATH]).into_iter().map(with_path).collect()
}

/// Returns the issuer if a server names the URL of its metadata in place of it.
fn issuer_of_metadata_url(url: &Url) -> Option<Url> {
    let path = url.path();
    let own = [OAUTH_PATH, OPENID_PATH].iter().find_map(|known| path.strip_prefix(known));
    let own = own.filter(|own| own.is_empty() || own.starts_with('/'));
    own.or_else(|| path.strip_suffix(OPENID_PATH)).map(|own| url_at_path(url, own))
}

fn url_at_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    // A user in the URL of a server is for the server, not for its metadata.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.set_path(path);
    url
}

/// Returns `true` if `resource` is the server or a path above it. A slash at the end makes no difference.
fn is_at_or_below(server: &Url, resource: &Url) -> bool {
    let (path, above) = (server.path(), resource.path().trim_end_matches('/'));
    let is_above = path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    server.origin() == resource.origin() && resource.fragment().is_none() && is_above
}

/// Returns the texts of a list, or the words of a text.
fn strings_or_words(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => {
            // A list of descriptions, where one of names belongs.
            let name =
                |item: &Value| item.as_str().or_else(|| item.get("issuer")?.as_str()).map(str::to_owned);
            items.iter().filter_map(name).collect()
        }
        Value::String(text) => split_at_whitespace(text),
        _ => Vec::new(),
    }
}

fn split_at_whitespace(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
