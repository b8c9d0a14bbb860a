//! The credentials of operations, chosen at the import.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use reqwest::Url;
use tool_http::{HttpClient, Origin, has_user};

use super::{
    Authorization, Carrier, ClientCredentials, Credential,
    authorization::{CredentialGrant, CredentialIssuer},
    credential::CredentialSource,
    token::TokenCache,
};
use crate::OpenApiError;

/// A security scheme of a document.
pub(crate) struct Scheme {
    pub(crate) kind: SchemeKind,
    pub(crate) carrier: Carrier,
    /// The token endpoint that the document names.
    pub(crate) token_url: Option<Url>,
}

/// The kind of a [`Scheme`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemeKind {
    ApiKey,
    Basic,
    Http,
    OAuth2,
    OpenIdConnect,
}

/// The schemes of a document; an error is the reason why one cannot be carried.
pub(crate) type Schemes = BTreeMap<String, Result<Scheme, String>>;

/// A scheme that an operation requires, with its scopes.
pub(crate) struct RequiredScheme {
    pub(crate) scheme: String,
    pub(crate) scopes: String,
}

/// An alternative of the `security` of an operation: the schemes that are required together.
pub(crate) type SecurityRequirement = Vec<RequiredScheme>;

/// A remark about the credentials of an operation: its code, and a clause after the operation.
pub(crate) struct CredentialRemark {
    pub(crate) code: &'static str,
    pub(crate) clause: String,
}

/// The credentials of the program, matched with the schemes of a document.
pub(crate) struct ResolvedCredentials {
    schemes: Schemes,
    given: Vec<SchemeCredential>,
    /// The origins of the operations, for a suggestion.
    operation_origins: RefCell<BTreeMap<Origin, usize>>,
    /// Origins that receive credentials without encryption.
    exposed: RefCell<BTreeSet<String>>,
}

/// A credential of the program for a scheme.
struct SchemeCredential {
    scheme: Arc<str>,
    carrier: Carrier,
    origins: Vec<Origin>,
    issuer: CredentialIssuer,
    /// The scopes are those of the operation.
    takes_scopes: bool,
    is_used: Cell<bool>,
}

impl ResolvedCredentials {
    /// Matches the credentials of the program with the schemes of the document.
    ///
    /// # Errors
    ///
    /// If there is no such scheme, the credential does not fit it, or its token endpoint is not allowed.
    pub(crate) fn new(
        schemes: Schemes,
        credentials: Vec<(String, Credential)>,
        base: Option<&Url>,
        http: &HttpClient,
    ) -> Result<Self, OpenApiError> {
        let mut given: Vec<SchemeCredential> = Vec::with_capacity(credentials.len());
        for (name, credential) in credentials {
            let scheme = match schemes.get(&name) {
                Some(Ok(scheme)) => scheme,
                Some(Err(reason)) => {
                    return Err(OpenApiError::config(format!(
                        "no credential can be given for `{name}`: {reason}"
                    )));
                }
                None => return Err(unknown_scheme_error(&name, &schemes)),
            };
            let one = SchemeCredential::new(&name, scheme, credential, base, http)
                .map_err(|problem| OpenApiError::config(format!("the credential for `{name}` {problem}")))?;
            let overlaps = |it: &&SchemeCredential| {
                *it.scheme == *name && it.origins.iter().any(|it| one.origins.contains(it))
            };
            if given.iter().any(|it| overlaps(&it)) {
                return Err(OpenApiError::config(format!(
                    "there are two credentials for `{name}` and one origin"
                )));
            }
            given.push(one);
        }
        Ok(Self { schemes, given, operation_origins: RefCell::default(), exposed: RefCell::default() })
    }

    /// Returns the credentials of an operation at `base`: those of the first alternative for which all are given and may be
    /// sent there.
    pub(crate) fn authorize_operation(
        &self,
        requirements: &[SecurityRequirement],
        base: &Url,
    ) -> (Authorization, Vec<CredentialRemark>) {
        let mut remarks = Vec::new();
        if let Some(origin) = Origin::of(base) {
            *self.operation_origins.borrow_mut().entry(origin).or_default() += 1;
        }
        let named = requirements.iter().filter(|it| !it.is_empty());
        let mut usable = Vec::new();
        for requirement in named {
            match self.unusable_requirement_remark(requirement) {
                Some(remark) => remarks.push(remark),
                None => usable.push(requirement),
            }
        }
        for requirement in &usable {
            let credentials: Option<Vec<_>> =
                requirement.iter().map(|it| self.credential_for(it, base)).collect();
            if let Some(credentials) = credentials {
                return (self.grant_credentials(&credentials, requirement, base), remarks);
            }
        }
        let remark = unsent_credential_remark(
            &usable,
            |required| self.given.iter().any(|it| *it.scheme == *required.scheme),
            base,
        );
        let note = match &remark {
            Some(remark) => format!("no credential was sent, since this operation {}", remark.clause),
            None => "no credential was sent, since the document requires none for this operation".to_owned(),
        };
        if !requirements.is_empty() && requirements.iter().all(|it| !it.is_empty()) {
            remarks.extend(remark);
        }
        (Authorization { grants: Vec::new(), missing: Some(note.into()) }, remarks)
    }

    /// Returns why no request can carry the credentials of `requirement`.
    fn unusable_requirement_remark(&self, requirement: &[RequiredScheme]) -> Option<CredentialRemark> {
        let mut carriers: Vec<&Carrier> = Vec::new();
        for RequiredScheme { scheme: name, .. } in requirement {
            match self.schemes.get(name) {
                None => {
                    let clause =
                        format!("names the security scheme `{name}`, which the document does not have");
                    return Some(CredentialRemark { code: "unknown_scheme", clause });
                }
                Some(Err(reason)) => {
                    let clause = format!("requires `{name}`, for which no credential can be sent: {reason}");
                    return Some(CredentialRemark { code: "unsupported_scheme", clause });
                }
                Some(Ok(scheme)) if carriers.iter().any(|it| it.conflicts_with(&scheme.carrier)) => {
                    let clause =
                        format!("requires `{name}` in a place of the request that another scheme takes");
                    return Some(CredentialRemark { code: "unsupported_scheme", clause });
                }
                Some(Ok(scheme)) => carriers.push(&scheme.carrier),
            }
        }
        None
    }

    fn credential_for(&self, required: &RequiredScheme, base: &Url) -> Option<&SchemeCredential> {
        self.given
            .iter()
            .find(|it| *it.scheme == *required.scheme && it.origins.iter().any(|it| it.covers(base)))
    }

    fn grant_credentials(
        &self,
        given: &[&SchemeCredential],
        requirement: &[RequiredScheme],
        base: &Url,
    ) -> Authorization {
        let grant = |(given, required): (&&SchemeCredential, &RequiredScheme)| {
            given.is_used.set(true);
            let issuer = match &given.issuer {
                CredentialIssuer::Token(tokens, _) if given.takes_scopes => {
                    CredentialIssuer::Token(Arc::clone(tokens), required.scopes.as_str().into())
                }
                issuer => issuer.clone(),
            };
            CredentialGrant { scheme: Arc::clone(&given.scheme), carrier: given.carrier.clone(), issuer }
        };
        if let Some(origin) = Origin::of(base).filter(Origin::is_exposed) {
            self.exposed.borrow_mut().insert(origin.to_string());
        }
        Authorization { grants: given.iter().zip(requirement).map(grant).collect(), missing: None }
    }

    /// Returns remarks about the credentials as a whole, after all operations were read.
    ///
    /// # Errors
    ///
    /// If a credential was given for no origin.
    pub(crate) fn into_final_remarks(self) -> Result<Vec<CredentialRemark>, OpenApiError> {
        let operation_origins = self.operation_origins.into_inner();
        if let Some(given) = self.given.iter().find(|it| it.origins.is_empty()) {
            let most = operation_origins.iter().max_by_key(|(_, count)| **count).map(|(origin, _)| origin);
            let hint = most.map(|it| format!("`.for_origin(\"{it}\")` if that server may receive it, or "));
            return Err(OpenApiError::config(format!(
                "the credential for `{}` is given for no origin; add {}`base_url`",
                given.scheme,
                hint.unwrap_or_default()
            )));
        }
        let unused = self.given.iter().filter(|it| !it.is_used.get()).map(|given| CredentialRemark {
            code: "unused_credential",
            clause: format!("the credential for `{}` is sent with no operation", given.scheme),
        });
        let exposed = self.exposed.into_inner().into_iter().map(|origin| CredentialRemark {
            code: "plain_http",
            clause: format!("credentials are sent to `{origin}` without encryption"),
        });
        Ok(unused.chain(exposed).collect())
    }
}

/// The remark about an operation none of whose alternatives are given.
fn unsent_credential_remark(
    usable: &[&SecurityRequirement],
    is_given_for_any_origin: impl Fn(&RequiredScheme) -> bool,
    base: &Url,
) -> Option<CredentialRemark> {
    if usable.is_empty() {
        return None;
    }
    let text = |requirement: &SecurityRequirement| {
        let names: Vec<_> = requirement.iter().map(|it| format!("`{}`", it.scheme)).collect();
        names.join(" with ")
    };
    if let Some(elsewhere) = usable.iter().find(|it| it.iter().all(&is_given_for_any_origin)) {
        let origin = Origin::of(base).map(|it| it.to_string()).unwrap_or_default();
        let clause = format!(
            "is at `{origin}`, and the credential for {} is given for other origins",
            text(elsewhere)
        );
        return Some(CredentialRemark { code: "foreign_origin", clause });
    }
    let names: Vec<_> = usable.iter().map(|it| text(it)).collect();
    let clause = format!("requires a credential for {}, and none is given", names.join(", or for "));
    Some(CredentialRemark { code: "no_credential", clause })
}

fn unknown_scheme_error(name: &str, schemes: &Schemes) -> OpenApiError {
    let names: Vec<_> = schemes.keys().map(|it| format!("`{it}`")).collect();
    OpenApiError::config(match names.is_empty() {
        true => format!("a credential is given for `{name}`, but the document has no security schemes"),
        false => format!(
            "a credential is given for `{name}`, but the security schemes of the document are {}",
            names.join(", ")
        ),
    })
}

impl SchemeCredential {
    /// Returns the credential for `scheme`. The error is a clause after its name.
    fn new(
        name: &str,
        scheme: &Scheme,
        credential: Credential,
        base: Option<&Url>,
        http: &HttpClient,
    ) -> Result<Self, String> {
        let Credential { source, origins } = credential;
        let mut origins = origins
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
            .map_err(|problem| format!("has an origin that is not valid: {problem}"))?;
        if origins.is_empty() {
            origins.extend(base.and_then(Origin::of));
        }
        let kind = scheme.kind;
        let mut takes_scopes = false;
        let issuer = match source {
            CredentialSource::Basic(_) if kind != SchemeKind::Basic => {
                return Err(
                    "is a user with a password, which is not for this scheme; use `Credential::secret`"
                        .into(),
                );
            }
            CredentialSource::Secret(secret) | CredentialSource::Basic(secret) => {
                let item = scheme.carrier.item_with_secret(&secret)?;
                CredentialIssuer::Fixed(secret, item)
            }
            CredentialSource::Invalid(problem) => return Err(problem.to_owned()),
            CredentialSource::Computed(compute) => CredentialIssuer::Computed(compute),
            CredentialSource::Client(_) if matches!(kind, SchemeKind::ApiKey | SchemeKind::Basic) => {
                return Err("is a client of OAuth 2, which is not for this scheme".into());
            }
            CredentialSource::Client(client) => {
                let url = token_endpoint_url(&client, scheme, &origins)?;
                takes_scopes = client.scopes.is_none();
                let scopes = client.scopes.clone().unwrap_or_default();
                CredentialIssuer::Token(Arc::new(TokenCache::new(http.clone(), url, client)), scopes.into())
            }
        };
        let carrier = scheme.carrier.clone();
        Ok(Self { scheme: name.into(), carrier, origins, issuer, takes_scopes, is_used: Cell::new(false) })
    }
}

/// The token endpoint: the one of the program, or the one of the document at an origin of the credential.
fn token_endpoint_url(
    client: &ClientCredentials,
    scheme: &Scheme,
    origins: &[Origin],
) -> Result<Url, String> {
    if let Some(text) = &client.token_url {
        let url = Url::parse(text).map_err(|error| format!("has a token URL that is not a URL: {error}"))?;
        return match Origin::of(&url) {
            Some(_) if !has_user(&url) => Ok(url),
            _ => Err("has a token URL that is not an `http` or `https` URL without a user".into()),
        };
    }
    let Some(url) = &scheme.token_url else {
        return Err(
            "has no token endpoint, and neither has the scheme; set `ClientCredentials::token_url`".into()
        );
    };
    match origins.iter().any(|it| it.covers(url)) && !has_user(url) {
        true => Ok(url.clone()),
        false => {
            let mut shown = url.clone();
            // Both fail only for URLs without a host, which have neither.
            let _ = shown.set_username("");
            let _ = shown.set_password(None);
            Err(format!(
                "is not given for the origin of the token endpoint of the document; add `.token_url(\"{shown}\")` if that \
                 server may receive it"
            ))
        }
    }
}
