#![allow(clippy::unwrap_used, reason = "tests may")]

use std::sync::{Arc, Mutex};

use super::*;
use crate::web::WebTools;

fn rules(allowed: &[&str], blocked: &[&str]) -> DomainRules {
    let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    DomainRules::parse(&owned(allowed), &owned(blocked)).unwrap()
}

fn result(title: &str, url: &str, snippet: &str) -> SearchResult {
    SearchResult { title: title.to_owned(), url: url.to_owned(), snippet: snippet.to_owned() }
}

/// Keeps its queries, and has results on its first two pages; never ends if it is dead.
#[derive(Clone, Default)]
struct Engine {
    queries: Arc<Mutex<Vec<SearchQuery>>>,
    is_dead: bool,
}

impl SearchEngine for Engine {
    fn name(&self) -> &str {
        "own"
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchResult>, ToolError> {
        if self.is_dead {
            std::future::pending::<()>().await;
        }
        self.queries.lock().unwrap().push(query.clone());
        match query.page {
            1 => Ok(vec![
                result("One", "https://a.example/", "first"),
                result("", "https://b.example/", ""),
                result("Three", "https://c.example/", ""),
            ]),
            2 => Ok(vec![result("Data", "data:text/plain,a", "")]),
            _ => Ok(Vec::new()),
        }
    }
}

async fn search(engine: Engine, query: &str, page: u32) -> Result<ToolOutput, ToolError> {
    let web =
        WebTools::builder().search(engine).block_domain("blocked.example").max_results(2).build().unwrap();
    search_web(&web.settings, query, (&[], &["d.example".to_owned()]), page).await
}

#[tokio::test]
async fn a_page_of_results_is_numbered_and_names_the_next_one() {
    let engine = Engine::default();
    let output = search(engine.clone(), " words ", 0).await.unwrap();
    assert_eq!(
        output.text(),
        format!(
            "2 results of `own`. {UNTRUSTED_NOTE}\n\n1. One\n   https://a.example/\n   first\n2. (no title)\n   \
             https://b.example/\n\n[continue with `web_search`, the same `query` and `page` 2]\n"
        )
    );
    let details = json!({
        "engine": "own",
        "results": [
            { "title": "One", "url": "https://a.example/", "snippet": "first" },
            { "title": "(no title)", "url": "https://b.example/", "snippet": "" },
        ],
        "next_page": 2,
        "trust": "web",
    });
    assert_eq!(output.details(), Some(&details));
    for (page, note, next_page) in [
        (2, "\n[continue with `web_search`, the same `query` and `page` 3]\n", json!(3)),
        (3, "", Value::Null),
    ] {
        let output = search(engine.clone(), "words", page).await.unwrap();
        assert_eq!(output.text(), format!("`own` found nothing for `words`.\n{note}"));
        let details = json!({ "engine": "own", "results": [], "next_page": next_page, "trust": "web" });
        assert_eq!(output.details(), Some(&details));
    }
    let text = "words -site:d.example".to_owned();
    let expected = [1, 2, 3].map(|page| SearchQuery { text: text.clone(), page });
    assert_eq!(*engine.queries.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn an_engine_has_the_time_of_the_settings() {
    let error = search(Engine { is_dead: true, ..Engine::default() }, "x", 1).await.unwrap_err();
    assert!(error.to_string().ends_with("`own` did not answer in time; try again later"), "{error}");
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_query_has_up_to_400_characters_and_20_domains() {
    let web = WebTools::builder().search(Engine::default()).build().unwrap();
    let domains = |count: usize| vec!["a.example".to_owned(); count];
    let check = async |query: &str, allowed: usize, blocked: usize| {
        let (allowed, blocked) = (domains(allowed), domains(blocked));
        let found = search_web(&web.settings, query, (&allowed, &blocked), 1).await;
        found.err().map(|error| error.reason().into_owned())
    };
    let long = "é".repeat(401);
    assert_eq!(check(&long[2..], 20, 0).await, None);
    assert_eq!(check("x", 0, 20).await, None);
    for (query, allowed, blocked, message) in [
        (" \t", 0, 0, "`query` is empty; give the words to search for"),
        (&*long, 0, 0, "`query` is longer than 400 characters; give fewer words"),
        ("x", 1, 1, "`allowed_domains` and `blocked_domains` exclude each other; give one of them"),
        ("x", 21, 0, "there are more than 20 domains; give fewer"),
        ("x", 0, 21, "there are more than 20 domains; give fewer"),
    ] {
        assert_eq!(check(query, allowed, blocked).await.as_deref(), Some(message));
    }
}

#[test]
fn the_domains_of_a_call_are_words_of_the_query() {
    for (allowed, blocked, expected) in [
        (&[][..], &[][..], "a b"),
        (&["x.example"], &[], "a b site:x.example"),
        (&["x.example", "y.example"], &[], "a b (site:x.example OR site:y.example)"),
        (&[], &["x.example", "y.example"], "a b -site:x.example -site:y.example"),
    ] {
        assert_eq!(query_text("a b", &rules(allowed, blocked)), expected);
    }
}

#[test]
fn a_result_has_an_address_of_the_web_that_is_kept() {
    let long = |bytes: usize| format!("https://a.example/{}", "x".repeat(bytes - 18));
    for (url, expected) in [
        ("https://a.example", Some("https://a.example/")),
        ("http://A.example/b", Some("http://a.example/b")),
        ("ftp://a.example/", None),
        ("https://u@a.example/", None),
        ("https://:p@a.example/", None),
        ("https://no.example/", None),
        ("a.example", None),
        ("javascript:x", None),
        (&*long(2000), Some(&*long(2000))),
        (&*long(2001), None),
        (
            &*format!("https://a.example/{}", "é".repeat(330)),
            Some(&*format!("https://a.example/{}", "%C3%A9".repeat(330))),
        ),
        // It is longer as it is read.
        (&*format!("https://a.example/{}", "é".repeat(340)), None),
    ] {
        let found = bounded_result(result("T", url, "S"), |url| url.host_str() != Some("no.example"));
        assert_eq!(found.as_ref().map(|found| &*found.url), expected, "{url}");
    }
    let found = bounded_result(result(" \u{200b} ", "https://a.example/", &"s".repeat(401)), |_| true);
    let expected = result("(no title)", "https://a.example/", &format!("{}…", "s".repeat(400)));
    assert_eq!(found, Some(expected));
    let found = bounded_result(result(&"t".repeat(120), "https://a.example/", ""), |_| true);
    assert_eq!(found.map(|found| found.title), Some("t".repeat(120)));
}

#[test]
fn a_line_has_single_blanks_and_a_limit() {
    for (text, expected) in [
        ("", ""),
        (" a \n b\t", "a b"),
        ("abcd", "abcd"),
        ("abc d", "abc …"),
        ("abcde", "abcd…"),
        ("éééé", "éééé"),
        ("ééééé f", "éééé…"),
        ("a\u{200b}b", "ab"),
    ] {
        assert_eq!(bounded_line(text, 4), expected, "{text:?}");
    }
}
