//! Instances of SearXNG.

use tool_http::reqwest::header::HeaderMap;
use tool_runtime::prelude::*;

use super::{
    SearchEngine, SearchQuery, SearchResult,
    request::{EngineServer, server_settings, text_member_or_empty},
};

/// An instance of [SearXNG](https://docs.searxng.org), whose `search.formats` include `json`.
#[derive(Debug, Clone)]
pub struct SearXng {
    server: EngineServer,
}

impl SearXng {
    /// The instance at `base_url`, such as `https://search.example.com`. It may have a private address.
    #[must_use]
    pub fn new(base_url: impl Into<String>) -> Self {
        Self { server: EngineServer::new(base_url) }
    }

    server_settings!();
}

impl SearchEngine for SearXng {
    fn name(&self) -> &str {
        "searxng"
    }

    fn check(&self) -> Result<(), String> {
        self.server.check()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
        let page = query.page.to_string();
        let parameters = [("q", query.text.as_str()), ("format", "json"), ("pageno", &page)];
        let answer = self.server.get_answer("/search", &parameters, HeaderMap::new()).await?;
        let advice = "add `json` to `search.formats` in the settings of the instance";
        if !answer.status.is_success() {
            return Err(answer.status_error(self.name(), advice));
        }
        let answer: Value = serde_json::from_slice(&answer.body)
            .map_err(|_| ToolError::failed(format!("the answer of `searxng` is not JSON; {advice}")))?;
        let results = answer.get("results").and_then(Value::as_array);
        Ok(results.into_iter().flatten().map(parse_result).collect())
    }
}

fn parse_result(result: &Value) -> SearchResult {
    let [title, url, snippet] = ["title", "url", "content"].map(|name| text_member_or_empty(result, name));
    SearchResult { title, url, snippet }
}
