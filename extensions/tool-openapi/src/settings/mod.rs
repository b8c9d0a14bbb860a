//! The settings of an import and of the calls.

mod access;
mod calls;

use std::{collections::BTreeMap, time::Duration};

use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use tool_http::has_user;

pub(crate) use self::{access::ServerAccess, calls::CallSettings};
use crate::{Document, OpenApiError, choice::OperationChoice};

/// A builder for the tools of a document.
///
/// # Examples
///
/// ```
/// use tool_openapi::{Document, OpenApiToolSet};
///
/// # let text = r#"{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"paths":{"/pets":{"get":{"tags":["pets"]}}}}"#;
/// let pets = OpenApiToolSet::builder(Document::from_text(text)?)
///     .base_url("https://pets.example/v1")
///     .filter(|operation| operation.has_tag("pets"))
///     .build()?;
/// assert_eq!(pets.tools()[0].definition().name().as_str(), "get_pets");
/// # use tool_runtime::Tool;
/// # Ok::<(), tool_openapi::OpenApiError>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct OpenApiToolSetBuilder {
    pub(crate) document: Document,
    pub(crate) settings: Settings,
    pub(crate) invalid: Option<OpenApiError>,
}

/// The settings of an import, and of the calls of its tools.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) name: Option<String>,
    pub(crate) base_url: Option<Url>,
    pub(crate) server_variables: BTreeMap<String, String>,
    pub(crate) skip_unnamed: bool,
    pub(crate) readable_names: bool,
    pub(crate) choice: OperationChoice,
    pub(crate) headers: HeaderMap,
    pub(crate) access: ServerAccess,
    pub(crate) timeout: Duration,
    pub(crate) response_limit: usize,
    pub(crate) definitions_limit: usize,
    pub(crate) calls: CallSettings,
}

/// The default time for a request.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The default of the maximum size of the text of a response that a model receives, in bytes.
const DEFAULT_RESPONSE_LIMIT_BYTES: usize = 64 << 10;

/// The default of the maximum size of the definitions of all tools together, in bytes of JSON.
const DEFAULT_DEFINITIONS_LIMIT_BYTES: usize = 64 << 20;

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: None,
            base_url: None,
            server_variables: BTreeMap::new(),
            skip_unnamed: false,
            readable_names: false,
            choice: OperationChoice::default(),
            headers: HeaderMap::new(),
            access: ServerAccess::default(),
            timeout: DEFAULT_TIMEOUT,
            response_limit: DEFAULT_RESPONSE_LIMIT_BYTES,
            definitions_limit: DEFAULT_DEFINITIONS_LIMIT_BYTES,
            calls: CallSettings::default(),
        }
    }
}

impl OpenApiToolSetBuilder {
    pub(crate) fn new(document: Document) -> Self {
        Self { document, settings: Settings::default(), invalid: None }
    }

    /// Sets the name of the toolset. Default: the title of the document.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = Some(name.into());
        self
    }

    /// Sets the URL that the paths of all operations are appended to, in place of the servers of the document. It has no user
    /// and password: those are a [`Credential::basic`](crate::Credential::basic).
    pub fn base_url(mut self, url: &str) -> Self {
        let parsed = Url::parse(url).map_err(|error| error.to_string());
        match parsed {
            // The text is not shown, since it has a password.
            Ok(url) if has_user(&url) => self.record_first_invalid_setting(
                "the base URL has a user name or password; remove it, and add it with `credential`"
                    .to_owned(),
            ),
            Ok(url)
                if matches!(url.scheme(), "http" | "https")
                    && url.query().is_none()
                    && url.fragment().is_none() =>
            {
                self.settings.base_url = Some(url);
            }
            Ok(_) => self.record_first_invalid_setting(
                "the base URL is not an `http` or `https` URL without query and fragment".to_owned(),
            ),
            Err(error) => self.record_first_invalid_setting(format!("the base URL is not a URL: {error}")),
        }
        self
    }

    /// Sets the value of a variable in the URLs of servers. Default: the one in the document.
    pub fn server_variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.server_variables.insert(name.into(), value.into());
        self
    }

    /// Skips operations without an `operationId`. Default: they are named by method and path.
    pub fn skip_unnamed(mut self) -> Self {
        self.settings.skip_unnamed = true;
        self
    }

    /// Names tools without a hash where the document has no other operation of that name: `repos/get` becomes `repos_get`. Default:
    /// such a name has a hash, `repos_get_ade197a8ff`, so that it stays when the document grows.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_openapi::{Document, OpenApiToolSet};
    /// use tool_runtime::Tool;
    ///
    /// # let text = r#"{"openapi":"3.1.0","info":{"title":"Git","version":"1"},"servers":[{"url":"https://git.example"}],
    /// #   "paths":{"/repos":{"get":{"operationId":"repos/get"}}}}"#;
    /// let git = OpenApiToolSet::builder(Document::from_text(text)?).readable_names().build()?;
    /// assert_eq!(git.tools()[0].definition().name().as_str(), "repos_get");
    /// # Ok::<(), tool_openapi::OpenApiError>(())
    /// ```
    pub fn readable_names(mut self) -> Self {
        self.settings.readable_names = true;
        self
    }

    /// Adds a header to every request. A value that is secret belongs to a credential.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(value)) => drop(self.settings.headers.append(name, value)),
            (Err(_), _) => self.record_first_invalid_setting(format!("`{name}` is not the name of a header")),
            (_, Err(_)) => self.record_first_invalid_setting(format!(
                "the value of the header `{name}` has characters that no header has"
            )),
        }
        self
    }

    /// Sets the time for a request, from the connection to the last byte of the response. Default: 30 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// Sets the maximum size, in bytes, of the text of a response that a model receives. A longer one is cut, with a note.
    /// Default: 64 KiB.
    pub fn response_limit(mut self, bytes: usize) -> Self {
        self.settings.response_limit = bytes;
        self
    }

    /// Sets the maximum size, in bytes of JSON, of the definitions of all tools together. An operation beyond it is
    /// [skipped](crate::OpenApiToolSet::skipped), as few lines of a document may refer to a large schema many times. Default: 64 MiB.
    pub fn definitions_limit(mut self, bytes: usize) -> Self {
        self.settings.definitions_limit = bytes;
        self
    }

    pub(crate) fn record_first_invalid_setting(&mut self, message: String) {
        self.invalid.get_or_insert_with(|| OpenApiError::config(message));
    }
}
