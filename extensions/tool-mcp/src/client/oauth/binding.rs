//! The authorization servers that may receive credentials. A server of the protocol names its authorization server by
//! itself, so its word alone decides nothing about a secret.

use reqwest::Url;
use rmcp::transport::auth::{AuthError, AuthorizationMetadata};

/// The binding of an authorization to authorization servers.
#[derive(Debug, Clone)]
pub(super) struct IssuerBinding {
    /// The URL of the MCP server.
    server: Url,
    /// The issuer that the program names.
    issuer: Option<String>,
    /// The program is registered under an id already.
    is_registered: bool,
}

impl IssuerBinding {
    pub(super) fn new(server: Url, issuer: Option<String>, is_registered: bool) -> Self {
        Self { server, issuer, is_registered }
    }

    pub(super) fn server_url(&self) -> &Url {
        &self.server
    }

    /// Returns the issuer that the program names.
    pub(super) fn named_issuer(&self) -> Option<&str> {
        self.issuer.as_deref()
    }

    /// Returns an error unless the issuer may receive credentials. `None` is the origin of the server, without metadata.
    pub(super) fn check_issuer(&self, issuer: Option<&str>) -> Result<(), AuthError> {
        let named = issuer.unwrap_or_else(|| self.server.as_str());
        let is_server = Url::parse(named).is_ok_and(|url| url.origin() == self.server.origin());
        let problem = match &self.issuer {
            Some(expected) if issuer.is_some_and(|issuer| is_same_issuer(issuer, expected)) => return Ok(()),
            Some(expected) => format!("the credentials of this authorization are for `{expected}`"),
            None if self.is_registered && !is_server => format!(
                "the client id of this authorization is for `{}`; name the authorization server that issued it by \
                 `OAuth::issuer`",
                self.server.origin().ascii_serialization()
            ),
            None => return self.check_scheme("issuer", named),
        };
        Err(authorization_error(format!(
            "the server names the authorization server `{named}`, but {problem}"
        )))
    }

    /// Returns `true` for the issuer that the program names, and for the origin of the server: neither is the server's word.
    pub(super) fn trusts_issuer(&self, issuer: Option<&str>) -> bool {
        Self { is_registered: true, ..self.clone() }.check_issuer(issuer).is_ok()
    }

    /// Returns an error unless the endpoints belong to the issuer. Those of an issuer that the program names may have any
    /// origin.
    pub(super) fn check_endpoints(&self, metadata: &AuthorizationMetadata) -> Result<(), AuthError> {
        let issuer = metadata.issuer.as_deref().unwrap_or_else(|| self.server.as_str());
        let origin = Url::parse(issuer)?.origin();
        let endpoints = [
            ("authorization_endpoint", Some(&metadata.authorization_endpoint)),
            ("token_endpoint", Some(&metadata.token_endpoint)),
            ("registration_endpoint", metadata.registration_endpoint.as_ref()),
        ];
        for (name, endpoint) in endpoints {
            let Some(endpoint) = endpoint else { continue };
            self.check_scheme(name, endpoint)?;
            if self.issuer.is_none() && Url::parse(endpoint)?.origin() != origin {
                return Err(authorization_error(format!(
                    "the `{name}` of the authorization server `{issuer}` is `{endpoint}`, of another origin; if that is \
                     right, name the authorization server by `OAuth::issuer`"
                )));
            }
        }
        Ok(())
    }

    /// Returns an error for a URL without encryption, unless the server itself has none.
    fn check_scheme(&self, name: &str, url: &str) -> Result<(), AuthError> {
        let scheme = Url::parse(url)?.scheme().to_owned();
        match scheme == "https" || (scheme == "http" && self.server.scheme() == "http") {
            true => Ok(()),
            false => Err(authorization_error(format!(
                "the {name} `{url}` of the authorization server is no `https` URL"
            ))),
        }
    }
}

/// Compares issuers exactly, but for the slash after an authority.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    let without_root = |issuer: &str| {
        let authority = issuer.strip_suffix('/').filter(|it| it.matches('/').count() == 2);
        authority.unwrap_or(issuer).to_owned()
    };
    without_root(one) == without_root(other)
}

pub(super) fn authorization_error(reason: String) -> AuthError {
    AuthError::AuthorizationFailed(reason)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn binding(server: &str, issuer: Option<&str>, is_registered: bool) -> IssuerBinding {
        IssuerBinding::new(Url::parse(server).unwrap(), issuer.map(str::to_owned), is_registered)
    }

    #[test]
    fn credentials_go_to_the_issuer_they_are_bound_to() {
        let check = |binding: &IssuerBinding, issuer: Option<&str>, expected: bool| {
            assert_eq!(binding.check_issuer(issuer).is_ok(), expected, "{binding:?} {issuer:?}");
        };
        let named = binding("https://s.example/mcp", Some("https://auth.example"), true);
        check(&named, Some("https://auth.example"), true);
        check(&named, Some("https://auth.example/"), true);
        for other in ["https://auth.example/tenant", "https://auth.example.evil.com", "http://auth.example"] {
            check(&named, Some(other), false);
        }
        for other in ["https://auth.example@evil.com", "https://AUTH.example", "https://s.example"] {
            check(&named, Some(other), false);
        }
        check(&named, None, false);
        let tenant = binding("https://s.example/mcp", Some("https://auth.example/a"), true);
        for other in ["https://auth.example/a/", "https://auth.example/b", "https://auth.example"] {
            check(&tenant, Some(other), false);
        }

        let registered = binding("https://s.example/mcp", None, true);
        for same in [None, Some("https://s.example"), Some("https://S.example:443/tenant")] {
            check(&registered, same, true);
        }
        for other in ["https://s.example:8443", "http://s.example", "https://auth.s.example", "s.example"] {
            check(&registered, Some(other), false);
        }

        let free = binding("https://s.example/mcp", None, false);
        check(&free, Some("https://auth.example"), true);
        check(&free, Some("http://auth.example"), false);
        check(&binding("http://127.0.0.1/mcp", None, false), Some("http://127.0.0.1:9"), true);
    }
}
