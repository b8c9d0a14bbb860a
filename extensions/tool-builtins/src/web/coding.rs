//! The web under names and with arguments on which models were trained.

use tool_runtime::prelude::*;

use super::{
    WebTools,
    fetch::{self, FetchQuery},
    search,
};

/// Characters of a page.
const MAX_PAGE_CHARS: usize = 20_000;

/// `WebFetch` and `WebSearch`.
pub(crate) struct CodingWeb(pub(crate) WebTools);

#[toolset(name = "claudecode")]
impl CodingWeb {
    /// Reads a page of the web as Markdown, or a text, JSON or PDF document.
    ///
    /// A redirect to another host is reported, and not followed.
    #[tool(name = "WebFetch", read_only, trust = "web")]
    async fn web_fetch(
        &self,
        /// URL of the page, with `https://` or `http://`.
        url: String,
        /// Question that the page shall answer; it is repeated above the text.
        prompt: Option<String>,
        /// Number of characters to skip, to continue a page.
        #[arg(default = 0)]
        offset: u64,
    ) -> Result<ToolOutput, ToolError> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        fetch::fetch_page(&self.0, &FetchQuery { url, prompt, max_length: MAX_PAGE_CHARS, offset }).await
    }

    /// Searches the web.
    #[tool(name = "WebSearch", read_only, trust = "web")]
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
    ) -> Result<ToolOutput, ToolError> {
        search::search_web(&self.0.settings, &query, (&allowed_domains, &blocked_domains), 1).await
    }
}
