//! The settings of [`WebTools`].

use std::{fmt, sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use tool_http::{HttpClient, reqwest::header::HeaderValue};

use super::{
    WebTools,
    content::{BoxedPdfConverter, MAX_CONVERSIONS, PdfConverter},
    domain::DomainRules,
    robots::{RobotsCache, product_token},
    search::{BoxedSearchEngine, DuckDuckGo, SearchEngine},
};

/// The default of the user agent.
pub(super) const USER_AGENT: &str = concat!("tool-builtins/", env!("CARGO_PKG_VERSION"));

pub(super) struct WebSettings {
    pub(super) client: HttpClient,
    pub(super) user_agent: HeaderValue,
    pub(super) rules: DomainRules,
    pub(super) honours_robots: bool,
    pub(super) body_limit: usize,
    pub(super) timeout: Duration,
    pub(super) conversion_timeout: Duration,
    pub(super) pdf: Option<Box<dyn BoxedPdfConverter>>,
    pub(super) engine: Box<dyn BoxedSearchEngine>,
    pub(super) max_results: usize,
}

/// A builder for [`WebTools`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tool_builtins::{WebTools, web::search::SearXng};
///
/// let web = WebTools::builder()
///     .user_agent("docs-bot/1.0 (+https://example.com/bot)")
///     .allow_domain("docs.rs")
///     .timeout(Duration::from_secs(10))
///     .search(SearXng::new("https://search.example.com"))
///     .build();
/// assert!(web.is_ok());
/// let error = WebTools::builder().search(SearXng::new("search.example.com")).build().unwrap_err();
/// assert!(error.to_string().contains("base URL"));
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct WebToolsBuilder {
    client: Option<HttpClient>,
    user_agent: String,
    allowed: Vec<String>,
    blocked: Vec<String>,
    honours_robots: bool,
    body_limit: usize,
    timeout: Duration,
    conversion_timeout: Duration,
    pdf: Option<Box<dyn BoxedPdfConverter>>,
    engine: Box<dyn BoxedSearchEngine>,
    max_results: usize,
}

impl WebToolsBuilder {
    pub(super) fn new() -> Self {
        Self {
            client: None,
            user_agent: USER_AGENT.to_owned(),
            allowed: Vec::new(),
            blocked: Vec::new(),
            honours_robots: true,
            body_limit: 5 << 20,
            timeout: Duration::from_secs(30),
            conversion_timeout: Duration::from_secs(10),
            pdf: default_pdf_converter(),
            engine: Box::new(DuckDuckGo::new()),
            max_results: 10,
        }
    }

    /// Sets the client that fetches pages. Its limits of addresses and origins apply; those of time, size and redirects are set here.
    /// Default: public addresses.
    pub fn client(mut self, client: HttpClient) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the user agent of fetches, whose first word is also the name in `robots.txt`. Default: `tool-builtins/` and the version.
    pub fn user_agent(mut self, agent: impl Into<String>) -> Self {
        self.user_agent = agent.into();
        self
    }

    /// Allows a domain and all below it; others than those that were allowed are refused. Default: all.
    pub fn allow_domain(mut self, domain: impl Into<String>) -> Self {
        self.allowed.push(domain.into());
        self
    }

    /// Blocks a domain and all below it, also if it is allowed. Default: none.
    pub fn block_domain(mut self, domain: impl Into<String>) -> Self {
        self.blocked.push(domain.into());
        self
    }

    /// Fetches pages that the `robots.txt` of their site forbids. Default: they are refused.
    pub fn ignore_robots(mut self) -> Self {
        self.honours_robots = false;
        self
    }

    /// Sets the maximum size of a page, in bytes after its decompression; the rest of a larger one is not read. Default: 5 MiB.
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Sets the time for all requests of a fetch. Default: 30 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the time for the conversion of a page or a PDF document. Default: 10 seconds.
    pub fn conversion_timeout(mut self, timeout: Duration) -> Self {
        self.conversion_timeout = timeout;
        self
    }

    /// Sets the converter of PDF documents. Default: with the feature `shell`, `pdftotext` in a sandbox (`PdfToText`) where the
    /// program is found; otherwise none, and a document is an error that says what to install.
    pub fn pdf_converter(mut self, converter: impl PdfConverter) -> Self {
        self.pdf = Some(Box::new(converter));
        self
    }

    /// Sets the search engine. Default: [`DuckDuckGo`].
    pub fn search(mut self, engine: impl SearchEngine) -> Self {
        self.engine = Box::new(engine);
        self
    }

    /// Sets the maximum number of results of a search. Default: 10.
    pub fn max_results(mut self, count: usize) -> Self {
        self.max_results = count;
        self
    }

    /// Builds the tools.
    ///
    /// # Errors
    ///
    /// If a domain, the user agent or the search engine is not valid, or the system lacks what TLS needs.
    pub fn build(self) -> Result<WebTools, WebBuildError> {
        let rules = DomainRules::parse(&self.allowed, &self.blocked).map_err(WebBuildError)?;
        let agent = HeaderValue::from_str(&self.user_agent).ok().filter(|it| it.to_str().is_ok());
        let user_agent = agent.filter(|_| !product_token(&self.user_agent).is_empty()).ok_or_else(|| {
            WebBuildError("the user agent is not valid; write it like `my-bot/1.0`, in ASCII".to_owned())
        })?;
        self.engine.check_boxed().map_err(WebBuildError)?;
        let client = match self.client {
            Some(client) => client,
            None => HttpClient::new().map_err(|error| WebBuildError(error.to_string()))?,
        };
        let settings = WebSettings {
            client,
            user_agent,
            rules,
            honours_robots: self.honours_robots,
            body_limit: self.body_limit,
            timeout: self.timeout,
            conversion_timeout: self.conversion_timeout,
            pdf: self.pdf,
            engine: self.engine,
            max_results: self.max_results,
        };
        Ok(WebTools {
            settings: Arc::new(settings),
            robots: Arc::new(RobotsCache::default()),
            conversions: Arc::new(Semaphore::new(MAX_CONVERSIONS)),
        })
    }
}

fn default_pdf_converter() -> Option<Box<dyn BoxedPdfConverter>> {
    #[cfg(feature = "shell")]
    return crate::PdfToText::find().map(|converter| Box::new(converter) as _);
    #[cfg(not(feature = "shell"))]
    None
}

impl fmt::Debug for WebToolsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebToolsBuilder").field("user_agent", &self.user_agent).finish_non_exhaustive()
    }
}

/// A mistake in the settings of [`WebTools`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebBuildError(String);

impl fmt::Display for WebBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WebBuildError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use super::*;
    use crate::web::search::Brave;

    #[test]
    fn settings_have_their_defaults_and_are_those_of_the_builder() {
        let web = WebToolsBuilder::new().build().unwrap();
        let settings = &web.settings;
        assert_eq!(settings.user_agent, USER_AGENT);
        assert!(settings.rules.allowed.is_empty() && settings.rules.blocked.is_empty());
        assert!(settings.honours_robots);
        assert_eq!(settings.body_limit, 5 * 1024 * 1024);
        assert_eq!((settings.timeout.as_secs(), settings.conversion_timeout.as_secs()), (30, 10));
        assert_eq!((settings.engine.name_boxed(), settings.max_results), ("duckduckgo", 10));
        assert_eq!(web.conversions.available_permits(), 4);
        let web = WebToolsBuilder::new()
            .client(HttpClient::new().unwrap())
            .user_agent("my-bot/1.0")
            .allow_domain("A.example")
            .allow_domain("b.example.")
            .block_domain("c.example")
            .ignore_robots()
            .body_limit(7)
            .timeout(Duration::from_secs(8))
            .conversion_timeout(Duration::from_secs(9))
            .search(Brave::new("key"))
            .max_results(3)
            .build()
            .unwrap();
        let settings = &web.settings;
        assert_eq!(settings.user_agent, "my-bot/1.0");
        assert_eq!(settings.rules.allowed, ["a.example", "b.example"]);
        assert_eq!(settings.rules.blocked, ["c.example"]);
        assert!(!settings.honours_robots);
        assert_eq!((settings.body_limit, settings.max_results), (7, 3));
        assert_eq!((settings.timeout.as_secs(), settings.conversion_timeout.as_secs()), (8, 9));
        assert_eq!(settings.engine.name_boxed(), "brave");
        let error = WebToolsBuilder::new().user_agent("/1").build().unwrap_err();
        assert_eq!(error.to_string(), "the user agent is not valid; write it like `my-bot/1.0`, in ASCII");
    }
}
