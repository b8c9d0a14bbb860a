//! The search of Brave.

use std::{fmt, sync::atomic::AtomicBool};

use tool_http::reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use tool_runtime::prelude::*;

use super::{
    SearchEngine, SearchQuery, SearchResult,
    request::{EngineServer, server_settings, text_member_or_empty},
};
use crate::web::html::{DOCUMENT, HtmlTree, is_dropped};

/// Results of one page.
const RESULTS_PER_PAGE: &str = "20";

/// Pages that the engine has.
const MAX_PAGES: u32 = 10;

/// Bytes of a text with marks of HTML.
const MAX_TEXT_BYTES: usize = 4096;

/// Characters of one text, before it is bounded for the result.
const MAX_TEXT_CHARS: usize = 2000;

/// [Brave Search](https://brave.com/search/api/), which needs a key. No error and no debug output shows the key.
#[derive(Clone)]
pub struct Brave {
    server: EngineServer,
    /// `None` if it cannot be sent.
    key: Option<HeaderValue>,
}

impl Brave {
    /// The engine with the key of a subscription.
    #[must_use]
    pub fn new(key: impl AsRef<str>) -> Self {
        let key = HeaderValue::from_str(key.as_ref().trim()).ok().filter(|key| !key.is_empty());
        let key = key.map(|mut key| {
            key.set_sensitive(true);
            key
        });
        Self { server: EngineServer::new("https://api.search.brave.com"), key }
    }

    server_settings!();
}

impl fmt::Debug for Brave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brave").field("server", &self.server).finish_non_exhaustive()
    }
}

impl SearchEngine for Brave {
    fn name(&self) -> &str {
        "brave"
    }

    fn check(&self) -> Result<(), String> {
        if self.key.is_none() {
            return Err(
                "the key of `brave` is empty or not valid; give the key of the subscription".to_owned()
            );
        }
        self.server.check()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
        if query.page > MAX_PAGES {
            return Ok(Vec::new());
        }
        let offset = query.page.saturating_sub(1).to_string();
        let parameters = [("q", query.text.as_str()), ("count", RESULTS_PER_PAGE), ("offset", &offset)];
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        if let Some(key) = &self.key {
            headers.insert("x-subscription-token", key.clone());
        }
        let answer = self.server.get_answer("/res/v1/web/search", &parameters, headers).await?;
        if !answer.status.is_success() {
            return Err(answer.status_error(self.name(), "check the key and the limits of the subscription"));
        }
        let answer: Value = serde_json::from_slice(&answer.body)
            .map_err(|_| ToolError::failed("the answer of `brave` is not JSON; check its base URL"))?;
        let results = answer.pointer("/web/results").and_then(Value::as_array);
        Ok(results.into_iter().flatten().map(parse_result).collect())
    }
}

fn parse_result(result: &Value) -> SearchResult {
    let [title, snippet] =
        ["title", "description"].map(|name| text_of_html(&text_member_or_empty(result, name)));
    SearchResult { title, url: text_member_or_empty(result, "url"), snippet }
}

/// Returns a text without the marks of its matches, which are HTML.
fn text_of_html(html: &str) -> String {
    let mut end = html.len().min(MAX_TEXT_BYTES);
    while !html.is_char_boundary(end) {
        end -= 1;
    }
    match HtmlTree::parse(html.get(..end).unwrap_or_default(), &AtomicBool::new(false)) {
        Ok(tree) => tree.text_line(DOCUMENT, MAX_TEXT_CHARS, |id| is_dropped(&tree, id)),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_without_marks_and_bounded() {
        assert_eq!(text_of_html("<strong>a</strong>&amp; <i hidden>no</i> b"), "a& b");
        assert_eq!(text_of_html(""), "");
        assert_eq!(text_of_html(&"a".repeat(2001)).chars().filter(|c| *c == 'a').count(), 2000);
        // The text that is read ends between two characters.
        for (blanks, read) in [(4094, "b"), (4093, "bé")] {
            assert_eq!(text_of_html(&format!("{}béc", " ".repeat(blanks))), read);
        }
    }

    #[test]
    fn a_key_that_cannot_be_sent_ends_the_construction_and_no_key_is_shown() {
        assert_eq!(Brave::new(" key\n").key, Some(HeaderValue::from_static("key")));
        assert!(Brave::new("key").key.is_some_and(|key| key.is_sensitive()));
        assert!(Brave::new("key").check().is_ok());
        for key in ["", " ", "a\nb"] {
            assert!(
                Brave::new(key).check().is_err_and(|error| error.starts_with("the key of `brave` is empty"))
            );
        }
    }
}
