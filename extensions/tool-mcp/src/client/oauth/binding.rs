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

    #[test]
    fn a_refused_issuer_is_named_with_the_way_to_permit_it() {
        let reason = |binding: &IssuerBinding, issuer: Option<&str>| {
            binding.check_issuer(issuer).unwrap_err().to_string()
        };
        let named = binding("https://s.example/mcp", Some("https://auth.example"), false);
        let expected = "the server names the authorization server `https://evil.example`, but the credentials of this \
                        authorization are for `https://auth.example`";
        assert!(reason(&named, Some("https://evil.example")).ends_with(expected));
        assert!(reason(&named, None).contains("`https://s.example/mcp`"));
        let registered = binding("https://s.example/mcp", None, true);
        let error = reason(&registered, Some("https://evil.example"));
        assert!(error.contains("is for `https://s.example`; name the authorization server"), "{error}");
        let free = binding("https://s.example/mcp", None, false);
        let error = reason(&free, Some("http://auth.example"));
        assert!(
            error.contains("the issuer `http://auth.example`") && error.contains("no `https` URL"),
            "{error}"
        );
    }

    #[test]
    fn only_a_named_issuer_and_the_origin_of_the_server_are_trusted() {
        let named = binding("https://s.example/mcp", Some("https://auth.example"), false);
        let free = binding("https://s.example/mcp", None, false);
        for (binding, issuer, expected) in [
            (&named, Some("https://auth.example"), true),
            (&named, Some("https://s.example"), false),
            (&named, None, false),
            (&free, Some("https://s.example"), true),
            (&free, None, true),
            (&free, Some("https://auth.example"), false),
        ] {
            assert_eq!(binding.trusts_issuer(issuer), expected, "{binding:?} {issuer:?}");
        }
    }

    #[test]
    fn issuers_are_the_same_but_for_the_slash_after_an_authority() {
        for (one, other, expected) in [
            ("https://a", "https://a/", true),
            ("https://a/", "https://a", true),
            ("https://a/b", "https://a/b", true),
            ("https://a/b", "https://a/b/", false),
            ("https://a", "https://b", false),
            ("https://a//", "https://a", false),
        ] {
            assert_eq!(is_same_issuer(one, other), expected, "{one} {other}");
        }
    }

    /// The metadata of an issuer with these endpoints.
    fn metadata(
        issuer: Option<&str>,
        endpoints: [&str; 2],
        registration: Option<&str>,
    ) -> AuthorizationMetadata {
        let mut metadata = AuthorizationMetadata::default();
        metadata.issuer = issuer.map(str::to_owned);
        [metadata.authorization_endpoint, metadata.token_endpoint] = endpoints.map(str::to_owned);
        metadata.registration_endpoint = registration.map(str::to_owned);
        metadata
    }

    #[test]
    fn endpoints_are_of_the_origin_of_their_issuer_unless_it_is_named() {
        let (own, other) = ("https://a.example/x", "https://b.example/x");
        let free = binding("https://s.example/mcp", None, false);
        let named = binding("https://s.example/mcp", Some("https://a.example"), false);
        for (endpoints, registration, member) in [
            ([own, own], None, None),
            ([own, own], Some(own), None),
            ([other, own], Some(own), Some("authorization_endpoint")),
            ([own, other], Some(own), Some("token_endpoint")),
            ([own, own], Some(other), Some("registration_endpoint")),
        ] {
            let metadata = metadata(Some("https://a.example"), endpoints, registration);
            assert!(named.check_endpoints(&metadata).is_ok());
            let problem = free.check_endpoints(&metadata).err().map(|error| error.to_string());
            assert_eq!(problem.is_some(), member.is_some(), "{problem:?}");
            if let (Some(problem), Some(member)) = (problem, member) {
                assert!(
                    problem.contains(&format!("the `{member}` of the authorization server")),
                    "{problem}"
                );
            }
        }
        // Without an issuer, they are those of the server.
        let of_server = "https://s.example/token";
        assert!(free.check_endpoints(&metadata(None, [of_server, of_server], None)).is_ok());
        assert!(free.check_endpoints(&metadata(None, [own, own], None)).is_err());
    }

    #[test]
    fn a_server_behind_https_has_no_endpoint_without_it() {
        let plain = "http://a.example/x";
        let metadata = metadata(Some("http://a.example"), [plain, plain], None);
        let issuer = Some("http://a.example");
        assert!(binding("http://s.example/mcp", issuer, false).check_endpoints(&metadata).is_ok());
        let error = binding("https://s.example/mcp", issuer, false).check_endpoints(&metadata).unwrap_err();
        assert!(error.to_string().contains("the authorization_endpoint `http://a.example/x`"), "{error}");
        let other = binding("http://s.example/mcp", None, false);
        assert!(other.check_issuer(Some("ftp://a.example")).is_err());
    }
}
