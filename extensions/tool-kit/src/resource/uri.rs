//! The URI of a resource.

use std::{fmt, sync::Arc};

use fluent_uri::Uri;
use tool_runtime::policy::Escape;

use super::ResourceError;

/// The maximum length of a URI, in bytes.
const MAX_URI_BYTES: usize = 4 << 10;

/// An absolute URI without user information.
///
/// Two that mean the same are equal: scheme and host in lower case, without a default port, a dot segment and an escape that is none
/// (RFC 3986, section 6.2.2). The spelling stays as it was given.
///
/// # Examples
///
/// ```
/// use tool_kit::resource::ResourceUri;
///
/// let uri = ResourceUri::parse("HTTP://Example.com:80/a/../b")?;
/// assert_eq!(uri, ResourceUri::parse("http://example.com/b")?);
/// assert_eq!(uri.as_str(), "HTTP://Example.com:80/a/../b");
/// assert!(ResourceUri::parse("notes/today").is_err());
/// # Ok::<(), tool_kit::resource::ResourceError>(())
/// ```
#[derive(Clone)]
pub struct ResourceUri {
    text: Arc<str>,
    normalized: Arc<str>,
}

impl ResourceUri {
    /// Reads a URI.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not an absolute URI of at most 4 KiB, or has user information, which is no place for secrets.
    pub fn parse(text: &str) -> Result<Self, ResourceError> {
        // What is before `@` may be a secret.
        let shown = || match text.rsplit_once('@') {
            Some((_, rest)) => format!("..@{}", Escape::LINE.at_most(100).text(rest)),
            None => Escape::LINE.at_most(100).text(text),
        };
        if text.len() > MAX_URI_BYTES {
            return Err(ResourceError::new(format!(
                "the URI `{}` exceeds {MAX_URI_BYTES} bytes; use a shorter one",
                shown()
            )));
        }
        let uri = Uri::parse(text).map_err(|_| {
            ResourceError::new(format!("`{}` is no absolute URI; use one such as `notes://today`", shown()))
        })?;
        if uri.authority().is_some_and(|authority| authority.has_userinfo()) {
            let problem = "the URI has user information, which everyone would see who lists it; remove what is before `@`";
            return Err(ResourceError::new(problem));
        }
        let normalized = uri.normalize();
        let normalized = if normalized.as_str() == text { None } else { Some(normalized.as_str().into()) };
        let text: Arc<str> = text.into();
        Ok(Self { normalized: normalized.unwrap_or_else(|| Arc::clone(&text)), text })
    }

    /// Returns the URI as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the one spelling of all equal URIs.
    #[must_use]
    pub fn normalized(&self) -> &str {
        &self.normalized
    }
}

impl PartialEq for ResourceUri {
    fn eq(&self, other: &Self) -> bool {
        self.normalized == other.normalized
    }
}

impl Eq for ResourceUri {}

impl std::hash::Hash for ResourceUri {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.normalized.hash(state);
    }
}

impl fmt::Debug for ResourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl fmt::Display for ResourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_has_at_most_4_kib_and_no_user_information() {
        let uri = |bytes: usize| ResourceUri::parse(&format!("a:{}", "x".repeat(bytes - 2)));
        assert!(uri(MAX_URI_BYTES).is_ok_and(|uri| uri.as_str().len() == 4_096));
        assert!(uri(MAX_URI_BYTES + 1).is_err_and(|error| error.to_string().contains("exceeds 4096 bytes")));
        assert!(
            ResourceUri::parse("http://user@h/")
                .is_err_and(|error| error.to_string().contains("has user information"))
        );
        assert!(ResourceUri::parse("mailto:user@h").is_ok());
    }

    #[test]
    fn a_uri_is_shown_as_it_was_given() {
        let uri = ResourceUri::parse("HTTP://h/%7Ea").ok();
        let shown = uri.map(|uri| (uri.to_string(), format!("{uri:?}"), uri.normalized().to_owned()));
        assert_eq!(
            shown,
            Some(("HTTP://h/%7Ea".to_owned(), "\"HTTP://h/%7Ea\"".to_owned(), "http://h/~a".to_owned()))
        );
    }
}
