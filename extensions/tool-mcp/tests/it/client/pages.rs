//! The pages of a listing: how many, how large, and what ends them.

use serde_json::{Map, Value, json};
use tool_mcp::client::{ClientErrorKind, McpToolSet, ServerConfig, ServerLimits};

use super::{
    config,
    fake::{Fake, Fakes},
    lives::{started, tool},
    names_of,
};

/// The toolset of a server that answers each request for tools with the next of these results or errors.
async fn listing(config: ServerConfig, answers: Vec<Result<Value, i64>>) -> (McpToolSet, Fake) {
    let (set, mut fake, _fakes) = started(config, "before").await;
    let refreshing = set.clone();
    let refreshed = tokio::spawn(async move { refreshing.refresh().await });
    for answer in answers {
        let request = fake.expect("tools/list").await;
        match answer {
            Ok(result) => fake.answer(&request, result).await,
            Err(code) => fake.refuse(&request, code, "no page").await,
        }
    }
    refreshed.await.unwrap().unwrap();
    (set, fake)
}

/// The names of the tools, and the reason why the list ends early.
async fn read(answers: Vec<Result<Value, i64>>) -> (Vec<String>, Option<String>) {
    let (set, _fake) = listing(config(), answers).await;
    let diagnostics = set.diagnostics();
    assert!(
        diagnostics.len() <= 1 && diagnostics.iter().all(|it| it.code == "listing_cut"),
        "{diagnostics:?}"
    );
    let start = "the list of tools ends early, and some may be missing: ";
    let reason = diagnostics.first().map(|it| it.message.strip_prefix(start).unwrap().to_owned());
    (names_of(&set).await, reason)
}

fn tools(count: usize) -> Vec<Value> {
    (0..count).map(|number| tool(&format!("t{number}"))).collect()
}

#[tokio::test]
async fn a_listing_has_ten_thousand_items_at_most() {
    let (names, reason) = read(vec![Ok(json!({ "tools": tools(10_000) }))]).await;
    assert_eq!((names.len(), reason), (10_000, None));
    let (names, reason) = read(vec![Ok(json!({ "tools": tools(10_001) }))]).await;
    assert_eq!((names.len(), reason.as_deref()), (10_000, Some("it has more than 10000 items")));
    // What cannot be read counts, too: the page is read no further.
    let mut some = vec![json!(7); 1_000];
    some.extend(tools(9_500));
    let (set, _fake) = listing(config(), vec![Ok(json!({ "tools": some }))]).await;
    assert_eq!(names_of(&set).await.len(), 9_001);
    assert_eq!(set.diagnostics().len(), 1_001);
}

#[tokio::test]
async fn a_listing_has_a_thousand_pages_at_most() {
    let page = |number: usize, next: Option<String>| {
        Ok(json!({ "tools": [tool(&format!("t{number}"))], "nextCursor": next }))
    };
    let mut pages: Vec<_> = (0..1_000).map(|number| page(number, Some(format!("c{number}")))).collect();
    let (names, reason) = read(pages.clone()).await;
    assert_eq!((names.len(), reason.as_deref()), (1_000, Some("it has more than 1000 pages")));
    pages[999] = page(999, None);
    let (names, reason) = read(pages).await;
    assert_eq!((names.len(), reason), (1_000, None));
}

#[tokio::test]
async fn a_page_that_fails_ends_the_list_with_the_pages_before() {
    let first = || Ok(json!({ "tools": [tool("a")], "nextCursor": "1" }));
    let (names, reason) = read(vec![first(), Err(-32602)]).await;
    assert_eq!(names, ["a"]);
    assert_eq!(reason.as_deref(), Some("the MCP server `remote` answered with error -32602: no page"));
    for other in [json!({ "prompts": [] }), json!({}), json!({ "tools": 7 })] {
        let (names, reason) = read(vec![first(), Ok(other)]).await;
        assert_eq!(
            (names.as_slice(), reason.as_deref()),
            (&["a".to_owned()][..], Some("a page is no list of tools"))
        );
    }
    // Without a page before, it is an error, and the list stays as it was.
    let (set, mut fake, _fakes) = started(config(), "before").await;
    for (answer, kind, expected) in [
        (None, ClientErrorKind::Refused, "error -32602: no page"),
        (Some(json!({ "prompts": [] })), ClientErrorKind::Unusable, "it is no list of tools"),
    ] {
        let refreshing = set.clone();
        let refreshed = tokio::spawn(async move { refreshing.refresh().await });
        let request = fake.expect("tools/list").await;
        match answer {
            Some(result) => fake.answer(&request, result).await,
            None => fake.refuse(&request, -32602, "no page").await,
        }
        let error = refreshed.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(names_of(&set).await, ["before"]);
    }
}

#[tokio::test]
async fn a_page_that_comes_again_ends_the_list_unless_it_is_empty() {
    let page = |names: &[&str], next: &str| {
        let tools: Vec<_> = names.iter().map(|name| tool(name)).collect();
        Ok(json!({ "tools": tools, "nextCursor": next }))
    };
    let again = Some("its pages repeat: a page comes again".to_owned());
    let (names, reason) = read(vec![page(&["a", "b"], "1"), page(&["b"], "2")]).await;
    assert_eq!((names, reason), (vec!["a".to_owned(), "b".to_owned()], again));
    let last = Ok(json!({ "tools": [tool("c")] }));
    let (names, reason) = read(vec![page(&["a"], "1"), page(&[], "2"), page(&[], "3"), last]).await;
    assert_eq!((names, reason), (vec!["a".to_owned(), "c".to_owned()], None));
    let (names, reason) = read(vec![page(&["a"], "1"), page(&["b"], "1")]).await;
    let cursor = Some("its pages repeat: a cursor comes again".to_owned());
    assert_eq!((names, reason), (vec!["a".to_owned(), "b".to_owned()], cursor));
}

#[tokio::test]
async fn a_listing_is_as_large_as_its_items_and_cursors() {
    let item = json!([{ "name": "one", "inputSchema": { "type": "object" } }]);
    let bytes = item.to_string().len();
    // As the SDK reads it, and part by part.
    for (page, bytes) in [
        (json!({ "tools": item, "nextCursor": "12345" }), bytes + 5),
        (json!({ "tools": item, "nextCursor": "12345", "_meta": 7 }), 0),
    ] {
        let bytes = if bytes == 0 { page.to_string().len() } else { bytes };
        for (limit, is_within) in [(bytes, true), (bytes - 1, false)] {
            let mut limits = ServerLimits::default();
            limits.max_listing_bytes = limit;
            let (builder, fakes) = Fakes::builder(config().limits(limits));
            let page = page.clone();
            let fake = tokio::spawn(async move {
                let mut fake = fakes.next().await;
                fake.initialize().await;
                let request = fake.expect("tools/list").await;
                fake.answer(&request, page).await;
                if is_within {
                    let request = fake.expect("tools/list").await;
                    fake.answer(&request, json!({ "tools": [] })).await;
                }
                fake
            });
            let connected = builder.connect().await;
            drop(fake.await.unwrap());
            match connected {
                Ok(set) => {
                    assert!(is_within, "{limit}");
                    // The last page is beyond the limit.
                    assert_eq!(set.diagnostics().len(), 1, "{:?}", set.diagnostics());
                    assert_eq!(names_of(&set).await, ["one"]);
                }
                Err(error) => {
                    assert!(!is_within, "{limit}: {error}");
                    let reason = format!("it is larger than {limit} bytes (`max_listing_bytes`)");
                    assert!(error.to_string().ends_with(&reason), "{error}");
                }
            }
        }
    }
}

/// The loss of a connection by which the server was asked for a list.
async fn lose(mut fake: Fake, method: &str) {
    fake.expect(method).await;
    drop(fake);
}

#[tokio::test]
async fn a_request_is_repeated_as_often_as_is_allowed() {
    for allowed in [1, 2] {
        let (set, fake, fakes) = started(config().reconnect(allowed), "one").await;
        let asking = set.clone();
        let asked = tokio::spawn(async move { asking.list_prompts().await });
        lose(fake, "prompts/list").await;
        for _ in 0..allowed {
            let mut fake = fakes.next().await;
            fake.initialize().await;
            lose(fake, "prompts/list").await;
        }
        // M12
        assert_eq!(asked.await.unwrap().unwrap_err().kind(), ClientErrorKind::Lost);
        assert_eq!(fakes.waiting(), 0);
        // The next request has a new connection.
        let asking = set.clone();
        let asked = tokio::spawn(async move { asking.get_prompt("p", Map::new()).await });
        let mut fake = fakes.next().await;
        fake.initialize().await;
        let request = fake.expect("prompts/get").await;
        fake.answer(&request, json!({ "messages": [] })).await;
        assert!(asked.await.unwrap().unwrap().messages.is_empty());
    }
}

#[tokio::test]
async fn without_reconnections_a_lost_connection_stays_lost() {
    let (set, fake, fakes) = started(config(), "one").await;
    let asking = set.clone();
    let asked = tokio::spawn(async move { asking.list_prompts().await });
    lose(fake, "prompts/list").await;
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ClientErrorKind::Lost);
    let error = set.read_resource("a://b").await.unwrap_err();
    // M12
    assert_eq!(error.to_string(), "the connection to the MCP server `remote` was lost: the server closed it");
    assert_eq!(fakes.waiting(), 0);
}

#[tokio::test]
async fn a_failure_that_is_no_loss_is_not_repeated() {
    let (set, mut fake, fakes) = started(config().reconnect(3), "one").await;
    let asking = set.clone();
    let asked = tokio::spawn(async move { asking.list_resources().await });
    let request = fake.expect("resources/list").await;
    fake.refuse(&request, -32601, "no resources").await;
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ClientErrorKind::Refused);
    // The connection is the same.
    let asking = set.clone();
    let asked = tokio::spawn(async move { asking.list_resource_templates().await });
    let request = fake.expect("resources/templates/list").await;
    fake.answer(&request, json!({ "resourceTemplates": [] })).await;
    assert!(asked.await.unwrap().unwrap().is_empty());
    assert_eq!(fakes.waiting(), 0);
}

#[tokio::test]
async fn a_closed_toolset_makes_no_connection() {
    let (set, mut fake, fakes) = started(config().reconnect(3), "one").await;
    set.close().await;
    assert_eq!(fake.message().await, None);
    set.close().await;
    for error in [set.refresh().await.unwrap_err(), set.list_prompts().await.unwrap_err()] {
        assert_eq!(error.kind(), ClientErrorKind::Closed);
    }
    assert_eq!(fakes.waiting(), 0);
}

#[tokio::test]
async fn a_request_that_asks_for_input_again_and_again_ends() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let question = json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "s" });
    let (asking, calling) = (set.clone(), set.clone());
    let asked = tokio::spawn(async move { asking.get_prompt("p", Map::new()).await.map(drop) });
    let called = async move { calling.call_raw("one", Map::new()).await.map(drop) };
    let mut rounds = 0;
    while !asked.is_finished() {
        tokio::select! {
            request = fake.message() => {
                let request = request.unwrap();
                let state = request["params"].get("requestState");
                assert_eq!((request["method"].as_str(), state.is_some()), (Some("prompts/get"), rounds > 0));
                rounds += 1;
                fake.answer(&request, question.clone()).await;
            }
            () = async { while !asked.is_finished() { tokio::task::yield_now().await } } => {}
        }
    }
    let error = asked.await.unwrap().unwrap_err();
    assert!(error.to_string().ends_with("it asks for input again and again"), "{error}");
    let called = tokio::spawn(called);
    for _ in 0..rounds {
        let request = fake.expect("tools/call").await;
        fake.answer(&request, question.clone()).await;
    }
    let error = called.await.unwrap().unwrap_err();
    assert!(error.to_string().ends_with(&format!("it asked for input {rounds} times")), "{error}");
    assert_eq!(rounds, rmcp::model::DEFAULT_MRTR_MAX_ROUNDS);
}

#[tokio::test]
async fn a_question_without_a_question_and_a_task_are_no_results() {
    for (answer, expected) in [
        (json!({ "resultType": "input_required", "inputRequests": {} }), "asks for input"),
        (
            json!({
                "resultType": "task", "taskId": "t", "status": "working", "createdAt": "2026-01-01T00:00:00Z",
                "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null,
            }),
            "it is a task, which this client did not ask for",
        ),
    ] {
        let (set, mut fake, _fakes) = started(config(), "one").await;
        let called = tokio::spawn(async move { set.call_raw("one", Map::new()).await });
        let request = fake.expect("tools/call").await;
        fake.answer(&request, answer).await;
        let error = called.await.unwrap().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
