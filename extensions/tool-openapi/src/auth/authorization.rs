//! The credentials of an operation, and of one of its requests.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use reqwest::{Request, Url};
use tool_runtime::{ToolContext, ToolError};

use super::{
    Secret,
    carrier::{Carrier, CredentialItem, form_escaped},
    credential::SecretFn,
    redaction::SecretNeedles,
    token::TokenCache,
};

/// The text in place of a secret.
const HIDDEN: &str = "***";

/// The credentials of an operation.
#[derive(Default)]
pub(crate) struct Authorization {
    pub(super) grants: Vec<CredentialGrant>,
    /// The note for an answer that requires a credential, if none was sent.
    pub(super) missing: Option<Box<str>>,
}

/// One credential of an operation.
pub(super) struct CredentialGrant {
    pub(super) scheme: Arc<str>,
    pub(super) carrier: Carrier,
    pub(super) issuer: CredentialIssuer,
}

/// The source of a credential.
#[derive(Clone)]
pub(super) enum CredentialIssuer {
    Fixed(Secret, CredentialItem),
    Computed(SecretFn),
    Token(Arc<TokenCache>, Box<str>),
}

/// The credentials of a request.
#[derive(Default)]
pub(crate) struct IssuedCredentials {
    items: Vec<(Secret, CredentialItem)>,
    needles: OnceLock<SecretNeedles>,
}

impl Authorization {
    /// Returns `true` if a credential may be replaced after an answer with the status 401.
    pub(crate) fn is_renewable(&self) -> bool {
        self.grants.iter().any(|grant| matches!(grant.issuer, CredentialIssuer::Token(..)))
    }

    /// The places that the credentials take in a request.
    pub(crate) fn credential_carriers(&self) -> impl Iterator<Item = &Carrier> {
        self.grants.iter().map(|grant| &grant.carrier)
    }

    pub(crate) fn missing_credential_note(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Returns the credentials for a request.
    pub(crate) async fn issue_credentials(&self, cx: &ToolContext) -> Result<IssuedCredentials, ToolError> {
        let mut items = Vec::with_capacity(self.grants.len());
        for grant in &self.grants {
            items.push(match &grant.issuer {
                CredentialIssuer::Fixed(secret, item) => (secret.clone(), item.clone()),
                CredentialIssuer::Computed(compute) => grant.secret_and_item(compute(cx).await?)?,
                CredentialIssuer::Token(tokens, scopes) => {
                    grant.secret_and_item(Box::pin(tokens.token_for(scopes, None)).await?)?
                }
            });
        }
        Ok(IssuedCredentials { items, needles: OnceLock::new() })
    }

    /// Replaces the tokens that a server refused.
    pub(crate) async fn renew_tokens(
        &self,
        mut refused: IssuedCredentials,
    ) -> Result<IssuedCredentials, ToolError> {
        for (grant, issued) in self.grants.iter().zip(&mut refused.items) {
            if let CredentialIssuer::Token(tokens, scopes) = &grant.issuer {
                *issued = grant.secret_and_item(tokens.token_for(scopes, Some(&issued.0)).await?)?;
            }
        }
        refused.needles = OnceLock::new();
        Ok(refused)
    }
}

impl CredentialGrant {
    fn secret_and_item(&self, secret: Secret) -> Result<(Secret, CredentialItem), ToolError> {
        match self.carrier.item_with_secret(&secret) {
            Ok(item) => Ok((secret, item)),
            Err(problem) => Err(ToolError::failed(format!("the credential for `{}` {problem}", self.scheme))),
        }
    }
}

impl IssuedCredentials {
    /// Adds the credentials to a request.
    pub(crate) fn add_credentials_to(&self, request: &mut Request) {
        self.items.iter().for_each(|(_, item)| item.set_in_request(request));
    }

    /// Returns `url` without credentials in its query, and without user and password; `***` is in place of a secret that a server
    /// repeats elsewhere in it.
    pub(crate) fn url_without_credentials(&self, url: &Url) -> Url {
        let mut url = url.clone();
        self.items.iter().for_each(|(_, item)| item.remove_from_query(&mut url));
        // Both fail only for URLs without a host, which have neither.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        if let Cow::Owned(hidden) = self.redacted_text(url.as_str()) {
            if let Ok(hidden) = Url::parse(&hidden) {
                return hidden;
            }
            url.set_path(HIDDEN);
            url.set_query(None);
            url.set_fragment(None);
        }
        url
    }

    /// Returns `true` if `text` has one of the secrets, also a short one.
    pub(crate) fn has_any_secret_in(&self, text: &str) -> bool {
        let has_short =
            |secret: &str| text.contains(secret) || text.contains(&form_escaped(secret).to_string());
        self.items.iter().flat_map(secret_and_password_texts).any(has_short)
            || matches!(self.redacted_text(text), Cow::Owned(_))
    }

    /// Returns `true` if a server repeats one of the secrets in `bytes`.
    pub(crate) fn has_redactable_secret_in(&self, bytes: &[u8]) -> bool {
        !self.items.is_empty() && matches!(self.redacted_text(&String::from_utf8_lossy(bytes)), Cow::Owned(_))
    }

    /// Does the same as [`redacted_text`](Self::redacted_text) with a text of which the end was cut off, perhaps within a secret.
    pub(crate) fn redacted_cut_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.replace_secrets(text, true)
    }

    /// Returns `text` with `***` in place of the secrets, for what a server repeats of a request: in any letter case, and with the
    /// escapes of JSON, HTML and URLs, also around each other.
    pub(crate) fn redacted_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.replace_secrets(text, false)
    }

    fn replace_secrets<'t>(&self, text: &'t str, is_cut: bool) -> Cow<'t, str> {
        let needles = self
            .needles
            .get_or_init(|| SecretNeedles::new(self.items.iter().flat_map(secret_and_password_texts)));
        let ranges = needles.secret_ranges(text, is_cut);
        if ranges.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut shown, mut end) = (String::with_capacity(text.len()), 0);
        for range in ranges {
            shown.push_str(text.get(end..range.start).unwrap_or_default());
            shown.push_str(HIDDEN);
            end = range.end;
        }
        shown.push_str(text.get(end..).unwrap_or_default());
        Cow::Owned(shown)
    }
}

/// The texts of a secret: as it is given, as the request has it, and for a user and a password the latter.
fn secret_and_password_texts((secret, item): &(Secret, CredentialItem)) -> impl Iterator<Item = &str> {
    let password = secret.text().split_once(':').map(|(_, password)| password);
    [Some(secret.text()), item.secret_as_sent(), password].into_iter().flatten().filter(|it| !it.is_empty())
}

impl fmt::Debug for IssuedCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedCredentials").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    /// The credentials of a request with one secret.
    fn issued(carrier: &Carrier, secret: &str) -> IssuedCredentials {
        let secret = Secret::new(secret);
        let item = carrier.item_with_secret(&secret).unwrap();
        IssuedCredentials { items: vec![(secret, item)], needles: OnceLock::new() }
    }

    #[test]
    fn a_secret_is_replaced_in_each_of_its_forms() {
        let basic = issued(&Carrier::Basic, "aladdin:open sesame");
        for (text, expected) in [
            ("aladdin:open sesame", "***"),
            ("open sesame, aladdin, open+sesame", "***, aladdin, ***"),
            ("Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Basic ***"),
            ("éopen sesameé", "é***é"),
            ("open", "open"),
        ] {
            assert_eq!(basic.redacted_text(text), expected, "{text}"); // E10
            assert_eq!(basic.has_redactable_secret_in(text.as_bytes()), text != expected, "{text}");
        }
        assert_eq!(basic.redacted_cut_text("it is open ses"), "it is ***"); // E10
        assert_eq!(basic.redacted_text("it is open ses"), "it is open ses");
        let none = IssuedCredentials::default();
        assert_eq!((none.redacted_text("a"), none.has_any_secret_in("a")), (Cow::Borrowed("a"), false));
        assert!(!none.has_redactable_secret_in(b"a"));
    }

    #[test]
    fn a_short_secret_is_found_as_it_is_and_as_a_part_of_a_query() {
        let issued = issued(&Carrier::Query("key".into()), "a&");
        for (text, is_found) in [("xa&", true), ("xa%26", true), ("xa", false), ("", false)] {
            assert_eq!(issued.has_any_secret_in(text), is_found, "{text}"); // E10
            assert_eq!(issued.redacted_text(text), text);
        }
        let long = self::issued(&Carrier::Http("Bearer".into()), "hunter2");
        assert!(long.has_any_secret_in("x%68unter2") && !long.has_any_secret_in("hunter"));
    }

    #[test]
    fn a_url_has_no_credential_in_any_of_its_parts() {
        let cleaned = |carrier: &Carrier, secret: &str, url: &str| {
            issued(carrier, secret).url_without_credentials(&Url::parse(url).unwrap()).to_string()
        };
        let (query, header) = (Carrier::Query("key".into()), Carrier::Http("Bearer".into()));
        for (carrier, secret, url, expected) in [
            (&query, "hunter2", "https://a.example/b?c&key=hunter2&d#e", "https://a.example/b?c&d#e"),
            (&query, "a", "https://a.example/?key=a", "https://a.example/"),
            (&header, "hunter2", "https://u:p@a.example/b", "https://a.example/b"),
            (
                &header,
                "hunter2",
                "https://a.example/hunter2?a=hunter2#hunter2",
                "https://a.example/***?a=***#***",
            ),
            // Without the secret, the text is no URL.
            (&header, "https:", "https://a.example/b?c#d", "https://a.example/***"),
        ] {
            assert_eq!(cleaned(carrier, secret, url), expected, "{url}"); // E10
        }
    }
}
