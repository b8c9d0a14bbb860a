//! Pages and searches of the web.
//!
//! Requests are sent by [`tool_http`], which reaches public addresses only, in any spelling of a host and behind any name.
//!
//! | | default | setting |
//! | --- | --- | --- |
//! | domains | all | [`allow_domain`](WebToolsBuilder::allow_domain), [`block_domain`](WebToolsBuilder::block_domain) |
//! | redirects | on the host of the URL, and from `http` to `https` there; others are reported | |
//! | `robots.txt` | honoured; 512 KiB of it, kept for an hour, of 64 origins | [`ignore_robots`](WebToolsBuilder::ignore_robots) |
//! | body | 5 MiB after decompression | [`body_limit`](WebToolsBuilder::body_limit) |
//! | time | 30 seconds for all requests, 10 for the conversion | [`timeout`](WebToolsBuilder::timeout), [`conversion_timeout`](WebToolsBuilder::conversion_timeout) |
//! | page | 512 levels, 400,000 nodes; 4 conversions at once | |
//! | result | 20,000 characters, at most 100,000 | arguments of the call |
//!
//! A page becomes Markdown: its `main` part or only `article`, else its body without menus, asides and footers. Links are
//! absolute. Dropped is what a browser does not show: comments, scripts, styles, `noscript`, templates, frames, graphics; elements with
//! `hidden`, `aria-hidden`, a closed `dialog`; what an inline style or a `<style>` element hides; and invisible characters. The
//! result counts what style sheets hide, and shows a page that they hide in full.
//!
//! | hidden by | read | not read |
//! | --- | --- | --- |
//! | properties | no display, visibility, opacity or size; places outside of the page; clips, filters and transformations that leave nothing; transparent letters, and those in the colour behind them | variables, animations, masks, what covers a text or cuts it off, a colour equal to a picture |
//! | selectors | names, classes, ids, attributes, all combinators, nested rules, `:is`, `:where`, `:not`, positions; `:hover` and other states hold for no element | `:has`, `:lang`, `:dir`, `nth-child(.. of ..)`: the result has their number |
//! | rules | `@media` for a window of 1280 by 800 pixels, `@supports`, `@layer`, `@container` and `@scope` as if they held | style sheets with an address (`<link>`, `@import`), which are not requested, and what scripts do |
//! | amount | 16,384 selectors, 24 levels, 4,000,000 comparisons | the result has the number of the others |
//!
//! Each result says that its text is data of the web, and both tools declare `trust = "web"`, by which
//! [`Sanitizer`](tool_runtime::hook::Sanitizer) encloses their results. Neither makes an injected instruction harmless.

mod builder;
mod charset;
#[cfg(all(feature = "files", feature = "shell"))]
mod coding;
mod content;
mod domain;
mod fetch;
mod html;
mod robots;
pub mod search;

use std::sync::Arc;

use tokio::sync::Semaphore;
use tool_runtime::prelude::*;

#[cfg(all(feature = "files", feature = "shell"))]
pub(crate) use self::coding::CodingWeb;
use self::{builder::WebSettings, fetch::FetchQuery, robots::RobotsCache};
pub use self::{
    builder::{WebBuildError, WebToolsBuilder},
    content::PdfConverter,
};

/// Tools that read the web: `web_fetch` and `web_search`.
///
/// A clone shares connections, the rules of sites, and the limit of conversions.
///
/// # Examples
///
/// ```
/// use tool_builtins::WebTools;
/// use tool_runtime::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let web = WebTools::builder().block_domain("ads.example").build()?;
/// let tools = Registry::builder().toolset(web).build()?;
/// // Neither sends a request.
/// let error = tools.call("web_fetch", json!({ "url": "https://x.ads.example/" })).await.unwrap_err();
/// assert!(error.to_string().contains("`x.ads.example` is blocked"));
/// let error = tools.call("web_fetch", json!({ "url": "http://0x7f.1/" })).await.unwrap_err();
/// assert!(error.to_string().contains("is not a host of the public Internet"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct WebTools {
    settings: Arc<WebSettings>,
    robots: Arc<RobotsCache>,
    conversions: Arc<Semaphore>,
}

impl std::fmt::Debug for WebTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebTools").field("client", &self.settings.client).finish_non_exhaustive()
    }
}

impl WebTools {
    /// Creates a builder.
    pub fn builder() -> WebToolsBuilder {
        WebToolsBuilder::new()
    }
}

#[toolset(name = "web")]
impl WebTools {
    /// Reads a page of the web as Markdown, or a text, JSON or PDF document.
    ///
    /// A redirect to another host is reported, and not followed. The result says which call continues a long page.
    #[tool(read_only, trust = "web")]
    async fn web_fetch(
        &self,
        /// URL of the page, with `https://` or `http://`.
        url: String,
        /// Question that the page shall answer; it is repeated above the text.
        prompt: Option<String>,
        /// Maximum number of characters.
        #[arg(default = 20000)]
        #[schemars(range(min = 1, max = 100_000))]
        max_length: u64,
        /// Number of characters to skip, to continue a page.
        #[arg(default = 0)]
        offset: u64,
    ) -> Result<ToolOutput, ToolError> {
        let count = |value| usize::try_from(value).unwrap_or(usize::MAX);
        let query = FetchQuery { url, prompt, max_length: count(max_length), offset: count(offset) };
        fetch::fetch_page(self, &query).await
    }

    /// Searches the web.
    #[tool(read_only, trust = "web")]
    async fn web_search(
        &self,
        /// Words to search for.
        query: String,
        /// Domains that results come from, such as `example.com`; not together with `blocked_domains`.
        #[arg(default)]
        allowed_domains: Vec<String>,
        /// Domains that no result comes from; not together with `allowed_domains`.
        #[arg(default)]
        blocked_domains: Vec<String>,
        /// Number of the page of results, from 1.
        #[arg(default = 1)]
        #[schemars(range(min = 1, max = 50))]
        page: u32,
    ) -> Result<ToolOutput, ToolError> {
        search::search_web(&self.settings, &query, (&allowed_domains, &blocked_domains), page).await
    }
}
