//! Search engines.

mod brave;
mod duckduckgo;
mod request;
mod searxng;

use std::pin::Pin;

use tool_http::{has_user, reqwest::Url};
use tool_runtime::prelude::*;

pub use self::{brave::Brave, duckduckgo::DuckDuckGo, searxng::SearXng};
use super::{
    builder::WebSettings,
    content::without_invisible_characters,
    domain::DomainRules,
    fetch::{MAX_URL_BYTES, UNTRUSTED_NOTE},
};

/// Characters of a query.
const MAX_QUERY_CHARS: usize = 400;

/// Domains in a query.
const MAX_DOMAINS: usize = 20;

/// Characters of the title of a result.
const MAX_TITLE_CHARS: usize = 120;

/// Characters of the text of a result.
const MAX_SNIPPET_CHARS: usize = 400;

/// A search engine, such as [`DuckDuckGo`], [`SearXng`], [`Brave`], or one of the program.
///
/// # Examples
///
/// ```
/// use tool_builtins::{WebTools, web::search::{SearchEngine, SearchQuery, SearchResult}};
/// use tool_runtime::prelude::*;
///
/// struct Handbook;
///
/// impl SearchEngine for Handbook {
///     fn name(&self) -> &str {
///         "handbook"
///     }
///
///     async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
///         let url = "https://handbook.example/holidays".to_owned();
///         Ok(vec![SearchResult { title: "Holidays".into(), url, snippet: format!("About {}", query.text) }])
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let web = WebTools::builder().search(Handbook).build()?;
/// let tools = Registry::builder().toolset(web).build()?;
/// let result = tools.call("web_search", json!({ "query": "holidays" })).await?;
/// assert!(result.text().contains("1. Holidays\n   https://handbook.example/holidays\n   About holidays\n"));
/// # Ok(())
/// # }
/// ```
pub trait SearchEngine: Send + Sync + 'static {
    /// Returns the name that results show.
    fn name(&self) -> &str;

    /// Returns the mistake in the settings of the engine, which ends the construction of the tools. Default: none.
    ///
    /// # Errors
    ///
    /// If the engine cannot work.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns the results of one page. They are bounded and filtered after it.
    ///
    /// # Errors
    ///
    /// If the engine cannot be reached, or does not answer with results.
    fn search(
        &self,
        query: &SearchQuery,
    ) -> impl Future<Output = Result<Vec<SearchResult>, ToolError>> + Send;
}

/// [`SearchEngine`] behind a pointer.
pub(super) trait BoxedSearchEngine: Send + Sync {
    fn name_boxed(&self) -> &str;

    fn check_boxed(&self) -> Result<(), String>;

    fn search_boxed<'a>(
        &'a self,
        query: &'a SearchQuery,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<SearchResult>, ToolError>> + Send + 'a>>;
}

impl<E: SearchEngine> BoxedSearchEngine for E {
    fn name_boxed(&self) -> &str {
        self.name()
    }

    fn check_boxed(&self) -> Result<(), String> {
        self.check()
    }

    fn search_boxed<'a>(
        &'a self,
        query: &'a SearchQuery,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<SearchResult>, ToolError>> + Send + 'a>> {
        Box::pin(self.search(query))
    }
}

/// A search, as an engine receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchQuery {
    /// The words, with `site:` and `-site:` for the domains of the call.
    pub text: String,
    /// Number of the page of results, from 1.
    pub page: u32,
}

/// A result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchResult {
    /// The title.
    pub title: String,
    /// The address of the page. Results with another scheme than `http` and `https` are left out.
    pub url: String,
    /// A part of the text of the page.
    pub snippet: String,
}

pub(super) async fn search_web(
    settings: &WebSettings,
    query: &str,
    (allowed, blocked): (&[String], &[String]),
    page: u32,
) -> Result<ToolOutput, ToolError> {
    let words = query.trim();
    if words.is_empty() {
        return Err(ToolError::failed("`query` is empty; give the words to search for"));
    }
    if words.chars().count() > MAX_QUERY_CHARS {
        let message = format!("`query` is longer than {MAX_QUERY_CHARS} characters; give fewer words");
        return Err(ToolError::failed(message));
    }
    if !allowed.is_empty() && !blocked.is_empty() {
        let message = "`allowed_domains` and `blocked_domains` exclude each other; give one of them";
        return Err(ToolError::failed(message));
    }
    if allowed.len().max(blocked.len()) > MAX_DOMAINS {
        return Err(ToolError::failed(format!("there are more than {MAX_DOMAINS} domains; give fewer")));
    }
    let rules = DomainRules::parse(allowed, blocked).map_err(ToolError::failed)?;
    let query = SearchQuery { text: query_text(words, &rules), page: page.max(1) };
    let engine = &settings.engine;
    let found = tokio::time::timeout(settings.timeout, engine.search_boxed(&query)).await;
    let name = engine.name_boxed();
    let found = found.map_err(|_| {
        ToolError::failed(format!("`{name}` did not answer in time; try again later")).retryable(true)
    })??;
    let is_kept =
        |url: &Url| rules.refusal_reason(url).or_else(|| settings.rules.refusal_reason(url)).is_none();
    let has_more = !found.is_empty();
    let results: Vec<SearchResult> =
        found.into_iter().filter_map(|it| bounded_result(it, is_kept)).take(settings.max_results).collect();
    Ok(search_report(name, words, &results, has_more.then(|| query.page.saturating_add(1))))
}

/// Adds the domains of the call to its words; the results are filtered besides, since an engine may not know them.
fn query_text(words: &str, rules: &DomainRules) -> String {
    let sites: Vec<String> = rules.allowed.iter().map(|it| format!("site:{it}")).collect();
    let mut text = words.to_owned();
    match sites.as_slice() {
        [] => {}
        [site] => text.push_str(&format!(" {site}")),
        sites => text.push_str(&format!(" ({})", sites.join(" OR "))),
    }
    for domain in &rules.blocked {
        text.push_str(&format!(" -site:{domain}"));
    }
    text
}

/// Returns the result with bounded texts on one line each, if its address is one of the web.
fn bounded_result(result: SearchResult, is_kept: impl Fn(&Url) -> bool) -> Option<SearchResult> {
    if result.url.len() > MAX_URL_BYTES {
        return None;
    }
    let url = Url::parse(&result.url).ok()?;
    let is_web =
        matches!(url.scheme(), "http" | "https") && !has_user(&url) && url.as_str().len() <= MAX_URL_BYTES;
    if !is_web || !is_kept(&url) {
        return None;
    }
    let title = bounded_line(&result.title, MAX_TITLE_CHARS);
    let title = if title.is_empty() { "(no title)".to_owned() } else { title };
    let snippet = bounded_line(&result.snippet, MAX_SNIPPET_CHARS);
    Some(SearchResult { title, url: url.into(), snippet })
}

fn bounded_line(text: &str, max_chars: usize) -> String {
    // Blanks and invisible characters may be many; a text of the engine has a limit by its body.
    let mut line = String::new();
    for word in without_invisible_characters(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(max_chars) {
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}

fn search_report(name: &str, words: &str, results: &[SearchResult], next_page: Option<u32>) -> ToolOutput {
    let mut text = match results.len() {
        0 => format!("`{name}` found nothing for `{words}`.\n"),
        count => format!("{count} results of `{name}`. {UNTRUSTED_NOTE}\n\n"),
    };
    for (number, SearchResult { title, url, snippet }) in (1..).zip(results) {
        text.push_str(&format!("{number}. {title}\n   {url}\n"));
        if !snippet.is_empty() {
            text.push_str(&format!("   {snippet}\n"));
        }
    }
    if let Some(page) = next_page {
        text.push_str(&format!("\n[continue with `web_search`, the same `query` and `page` {page}]\n"));
    }
    let list: Vec<Value> =
        results.iter().map(|it| json!({ "title": it.title, "url": it.url, "snippet": it.snippet })).collect();
    let details = json!({ "engine": name, "results": list, "next_page": next_page, "trust": "web" });
    ToolOutput::new([]).with_text(text).with_details(details)
}

#[cfg(test)]
mod tests;
