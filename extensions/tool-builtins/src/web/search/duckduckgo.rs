//! The pages of DuckDuckGo for browsers without scripts.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use tokio::sync::Semaphore;
use tool_http::reqwest::{Url, header::HeaderMap};
use tool_runtime::prelude::*;

use super::{
    SearchEngine, SearchQuery, SearchResult,
    request::{EngineServer, server_settings},
};
use crate::web::{
    content::{MAX_CONVERSIONS, run_conversion},
    html::{DOCUMENT, HtmlTree, NodeId, TreeLimit, is_dropped},
};

/// Results on one page of the engine.
const RESULTS_PER_PAGE: u32 = 30;

/// The time to read a page of results.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Characters of one text, before it is bounded for the result.
const MAX_TEXT_CHARS: usize = 2000;

/// DuckDuckGo, which needs no key. It refuses programs that send many queries; for those, use another engine.
#[derive(Debug, Clone)]
pub struct DuckDuckGo {
    server: EngineServer,
    conversions: Arc<Semaphore>,
}

impl DuckDuckGo {
    /// The engine at `https://html.duckduckgo.com`.
    #[must_use]
    pub fn new() -> Self {
        let conversions = Arc::new(Semaphore::new(MAX_CONVERSIONS));
        Self { server: EngineServer::new("https://html.duckduckgo.com"), conversions }
    }

    server_settings!();
}

impl Default for DuckDuckGo {
    fn default() -> Self {
        Self::new()
    }
}

impl SearchEngine for DuckDuckGo {
    fn name(&self) -> &str {
        "duckduckgo"
    }

    fn check(&self) -> Result<(), String> {
        self.server.check()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
        let start = query.page.saturating_sub(1).saturating_mul(RESULTS_PER_PAGE).to_string();
        let parameters = [("q", query.text.as_str()), ("s", &start)];
        let parameters = if query.page > 1 { &parameters[..] } else { &parameters[..1] };
        let answer = self.server.get_answer("/html/", parameters, HeaderMap::new()).await?;
        let refused = "it refuses programs that send many queries; try again later, or set another engine";
        if answer.status.as_u16() != 200 {
            return Err(answer.status_error(self.name(), refused));
        }
        let read = move |stop: &AtomicBool| {
            let text = String::from_utf8_lossy(&answer.body);
            let results = parse_results(&text, stop)?;
            let is_challenge = results.is_empty() && text.contains("anomaly-modal");
            Ok((results, is_challenge))
        };
        let (results, is_challenge) =
            run_conversion(&self.conversions, READ_TIMEOUT, read).await.map_err(|_| {
                let message =
                    "the page of `duckduckgo` cannot be read; try again later, or set another engine";
                ToolError::failed(message)
            })?;
        if is_challenge {
            Err(ToolError::failed(format!("`duckduckgo` asks for a person; {refused}")))
        } else {
            Ok(results)
        }
    }
}

fn parse_results(html: &str, stop: &AtomicBool) -> Result<Vec<SearchResult>, TreeLimit> {
    let tree = HtmlTree::parse(html, stop)?;
    let mut results: Vec<SearchResult> = Vec::new();
    let mut is_advertisement = false;
    for id in tree.descendants(DOCUMENT, |_| false) {
        if tree.has_class(id, "result") {
            is_advertisement = tree.has_class(id, "result--ad");
        }
        if is_advertisement {
            continue;
        }
        if tree.has_class(id, "result__a") {
            if let Some(url) = tree.attribute(id, "href").and_then(target_of_result_link) {
                results.push(SearchResult { title: visible_line(&tree, id), url, snippet: String::new() });
            }
        } else if tree.has_class(id, "result__snippet")
            && let Some(result) = results.last_mut().filter(|it| it.snippet.is_empty())
        {
            result.snippet = visible_line(&tree, id);
        }
    }
    Ok(results)
}

fn visible_line(tree: &HtmlTree, id: NodeId) -> String {
    tree.text_line(id, MAX_TEXT_CHARS, |it| is_dropped(tree, it))
}

/// Returns the address of a result, which a link of the engine may have as its parameter `uddg`.
fn target_of_result_link(href: &str) -> Option<String> {
    let url = Url::parse("https://html.duckduckgo.com/html/").ok()?.join(href).ok()?;
    let host = url.host_str().unwrap_or_default();
    let is_own = host == "duckduckgo.com" || host.ends_with(".duckduckgo.com");
    match url.query_pairs().find(|(name, _)| name == "uddg") {
        Some((_, target)) if is_own => Some(target.into_owned()),
        // Links of the engine that lead nowhere else, such as those of advertisements.
        None if is_own => None,
        _ => Some(url.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_the_engine_leads_to_its_parameter_and_another_one_to_itself() {
        for (href, expected) in [
            ("//duckduckgo.com/l/?rut=1&uddg=https%3A%2F%2Fa.example%2F", Some("https://a.example/")),
            ("/l/?uddg=https%3A%2F%2Fa.example", Some("https://a.example")),
            ("//duckduckgo.com/y.js?u=x", None),
            ("/html/", None),
            ("https://a.example/?uddg=x", Some("https://a.example/?uddg=x")),
            ("https://notduckduckgo.com/", Some("https://notduckduckgo.com/")),
            ("//a.example/b", Some("https://a.example/b")),
            ("https://[", None),
        ] {
            assert_eq!(target_of_result_link(href).as_deref(), expected, "{href}");
        }
    }

    #[test]
    fn results_have_the_first_snippet_and_advertisements_are_left_out() {
        let page = "<a class=result__snippet>before</a>\
             <div class='result result--ad'><a class=result__a href='https://ad.example/'>Ad</a>\
             <a class=result__snippet>buy</a></div>\
             <div class=result><a class='x result__a' href='https://a.example/'>One <i>two</i><b hidden>no</b></a>\
             <a class=result__snippet>first</a><a class=result__snippet>second</a></div>\
             <div class=result><a class=result__a>No address</a><a class=result__a href='/html/'>Own</a></div>\
             <div class=result><a class=result__a href='https://b.example/'></a></div>";
        let result = |title: &str, url: &str, snippet: &str| SearchResult {
            title: title.to_owned(),
            url: url.to_owned(),
            snippet: snippet.to_owned(),
        };
        let results = parse_results(page, &AtomicBool::new(false)).ok();
        let expected =
            vec![result("One two", "https://a.example/", "first"), result("", "https://b.example/", "")];
        assert_eq!(results, Some(expected));
    }
}
