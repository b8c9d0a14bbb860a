//! A hostile server: what it can cause by listings, questions and reconnections.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::model::{ElicitResult, ElicitationAction, ProtocolVersion, Root};
use serde_json::{Map, Value, json};
use tool_mcp::client::{ClientErrorKind, ServerLimits};

use super::{
    config,
    fake::{Fake, Fakes},
    lives::{calling, started, text, tool},
    names_of,
};

#[tokio::test]
async fn cursors_count_towards_the_size_of_a_listing() {
    let mut limits = ServerLimits::default();
    limits.max_listing_bytes = 10_000;
    for with_odd_item in [false, true] {
        let (builder, fakes) = Fakes::builder(config().limits(limits));
        let server = tokio::spawn(async move {
            let mut fake = fakes.next().await;
            fake.initialize().await;
            let mut pages = 0;
            while let Some(request) = fake.message().await {
                let items = if with_odd_item { json!([{ "name": 7 }]) } else { json!([]) };
                let cursor = format!("{pages}{}", "x".repeat(3_000));
                let answer = json!({ "tools": items, "nextCursor": cursor });
                fake.answer(&request, answer).await;
                pages += 1;
            }
            pages
        });
        let set = builder.connect().await.unwrap();
        assert_eq!(set.diagnostics().last().unwrap().code, "listing_cut");
        drop(set);
        assert_eq!(server.await.unwrap(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_listing_goes_on_over_new_connections() {
    let (builder, fakes) = Fakes::builder(config().reconnect(10));
    let begun = tokio::time::Instant::now();
    let server = tokio::spawn(async move {
        let mut connections = 0;
        loop {
            let Ok(mut fake) = tokio::time::timeout(Duration::from_secs(600), fakes.next()).await else {
                break;
            };
            connections += 1;
            fake.initialize().await;
            // Each page by itself is in time, and then the connection is lost.
            fake.expect("tools/list").await;
            tokio::time::sleep(Duration::from_secs(25)).await;
        }
        connections
    });
    let error = builder.connect().await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::TimedOut, "{error}");
    assert!(begun.elapsed() <= Duration::from_secs(61), "{:?}", begun.elapsed());
    server.abort();
}

/// A question to the user, as a request of the server.
fn elicitation(id: usize) -> Value {
    let params = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
    json!({ "jsonrpc": "2.0", "id": format!("q{id}"), "method": "elicitation/create", "params": params })
}

#[tokio::test]
async fn a_question_ends_with_the_last_call_that_may_have_asked_it() {
    let (asked, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (begun, over) = (Arc::clone(&asked), Arc::clone(&ended));
    let (builder, fakes) = Fakes::builder(config());
    let builder = builder.on_elicitation(move |_| {
        begun.fetch_add(1, Ordering::SeqCst);
        let over = Arc::clone(&over);
        async move {
            let _over = Ended(over);
            std::future::pending().await
        }
    });
    let server = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        fake
    });
    let set = builder.connect().await.unwrap();
    let mut fake = server.await.unwrap();
    let calls = [calling(&set, "one"), calling(&set, "one")];
    let requests = [fake.expect("tools/call").await, fake.expect("tools/call").await];
    for id in 0..4 {
        fake.send(&elicitation(id)).await;
    }
    until(&asked, 4).await;
    fake.answer(&requests[0], text("done")).await;
    let [first, second] = calls;
    first.await.unwrap().unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    fake.answer(&requests[1], text("done")).await;
    second.await.unwrap().unwrap();
    until(&ended, 4).await;
    for _ in 0..4 {
        assert!(fake.message().await.unwrap()["error"].is_object());
    }
}

/// Counts when it is dropped.
struct Ended(Arc<AtomicUsize>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn until(count: &AtomicUsize, number: usize) {
    while count.load(Ordering::SeqCst) < number {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn neither_a_listing_nor_an_acknowledgement_allows_questions() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let (builder, fakes) = Fakes::builder(config());
    let builder = builder.on_elicitation(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(ElicitResult::new(ElicitationAction::Decline)) }
    });
    let server = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        fake
    });
    let set = builder.connect().await.unwrap();
    let mut fake = server.await.unwrap();
    let listing = set.clone();
    let listed = tokio::spawn(async move { listing.list_prompts().await });
    let request = fake.expect("prompts/list").await;
    refused(&mut fake, 1).await;
    fake.answer(&request, json!({ "prompts": [] })).await;
    listed.await.unwrap().unwrap();
    let logging = set.clone();
    let logged = tokio::spawn(async move { logging.set_log_level(rmcp::model::LoggingLevel::Info).await });
    let request = fake.expect("logging/setLevel").await;
    refused(&mut fake, 2).await;
    fake.answer(&request, json!({})).await;
    logged.await.unwrap().unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

/// Asks a question, which the client refuses.
async fn refused(fake: &mut Fake, id: usize) {
    fake.send(&elicitation(id)).await;
    let answer = fake.message().await.unwrap();
    assert!(answer["error"]["message"].as_str().unwrap().contains("outside of calls"), "{answer}");
}

#[tokio::test]
async fn a_round_with_thousands_of_questions_is_refused_before_the_first_answer() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let (builder, fakes) = Fakes::builder(config());
    let builder = builder.protocol(ProtocolVersion::V_2026_07_28).on_roots(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(vec![Root::new("file:///work")]) }
    });
    let server = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        let discover = fake.expect("server/discover").await;
        let result = json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
            "ttlMs": 0, "cacheScope": "private",
        });
        fake.answer(&discover, result).await;
        fake.list(json!([tool("one")])).await;
        fake
    });
    let set = builder.connect().await.unwrap();
    assert_eq!(names_of(&set).await, ["one"]);
    let mut fake = server.await.unwrap();
    let calling = set.clone();
    let call = tokio::spawn(async move { calling.call_raw("one", Map::new()).await });
    let request = fake.expect("tools/call").await;
    let questions: Map<_, _> =
        (0..5_000).map(|id| (format!("q{id}"), json!({ "method": "roots/list" }))).collect();
    let result = json!({ "resultType": "input_required", "inputRequests": questions, "requestState": "s" });
    fake.answer(&request, result).await;
    let error = call.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("100 questions in one round"), "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    assert!(set.diagnostics().iter().any(|it| it.code == "question_refused"));
}

#[tokio::test]
async fn a_server_that_loses_each_connection_is_connected_to_as_often_as_is_allowed() {
    let (set, fake, fakes) = started(config().reconnect(3), "one").await;
    drop(fake);
    let call = calling(&set, "one");
    // The handshake fails each time.
    let mut connections = 0;
    let error = loop {
        tokio::select! {
            fake = fakes.next() => {
                connections += 1;
                drop(fake);
            }
            () = async { while !call.is_finished() { tokio::task::yield_now().await; } } => break call.await.unwrap().unwrap_err(),
        }
    };
    assert!(connections <= 4, "{connections}: {error}");
    assert_ne!(error.kind(), ClientErrorKind::TimedOut);
}
