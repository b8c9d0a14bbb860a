//! The limits of what a server may cause: listings, questions.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::model::{CreateMessageResult, ElicitResult, ElicitationAction, SamplingMessage};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool_mcp::client::{ClientErrorKind, McpToolSet, McpToolSetBuilder, ServerConfig, ServerLimits};

use super::{
    call, config,
    fake::{Fake, Fakes},
    lives::{calling, text, tool},
    names_of,
};

fn limited(change: impl FnOnce(&mut ServerLimits)) -> ServerConfig {
    let mut limits = ServerLimits::default();
    change(&mut limits);
    config().limits(limits)
}

/// A tool of about this size as JSON.
fn large_tool(name: &str, bytes: usize) -> Value {
    let mut tool = tool(name);
    tool["description"] = "x".repeat(bytes).into();
    tool
}

#[tokio::test]
async fn a_listing_beyond_its_size_keeps_the_pages_before() {
    let (builder, fakes) = Fakes::builder(limited(|limits| limits.max_listing_bytes = 10_000));
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.initialize().await;
        for page in 0..3 {
            let request = fake.expect("tools/list").await;
            let tools = json!([large_tool(&format!("t{page}"), 4_000)]);
            fake.answer(&request, json!({ "tools": tools, "nextCursor": page.to_string() })).await;
        }
        fake
    });
    let set = builder.connect().await.unwrap();
    let mut fake = fake.await.unwrap();
    assert_eq!(names_of(&set).await, ["t0", "t1"]);
    let diagnostics = set.diagnostics();
    assert_eq!(diagnostics[0].code, "listing_cut");
    assert!(diagnostics[0].to_string().contains("larger than 10000 bytes"), "{}", diagnostics[0]);

    // Malformed pages count, too, and the first page alone is an error.
    let refreshing = set.clone();
    let refreshed = tokio::spawn(async move { refreshing.refresh().await });
    let request = fake.expect("tools/list").await;
    let tools = json!([large_tool("t", 11_000), { "name": 7 }]);
    fake.answer(&request, json!({ "tools": tools })).await;
    let error = refreshed.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Unusable);
    assert!(error.to_string().contains("`max_listing_bytes`"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_listing_beyond_its_time_keeps_the_pages_before() {
    for pages in [0, 1, 3] {
        let (builder, fakes) = Fakes::builder(config());
        let started = tokio::time::Instant::now();
        let fake = tokio::spawn(async move {
            let mut fake = fakes.next().await;
            fake.initialize().await;
            for page in 0..pages {
                let request = fake.expect("tools/list").await;
                // Each page by itself is in time.
                tokio::time::sleep(Duration::from_secs(19)).await;
                let page = json!({ "tools": [tool(&format!("t{page}"))], "nextCursor": page.to_string() });
                fake.answer(&request, page).await;
            }
            // No page comes: the request, and its cancellation or the end.
            fake.expect("tools/list").await;
            fake.message().await;
            fake
        });
        match (pages, builder.connect().await) {
            (0, Err(error)) => assert_eq!(error.kind(), ClientErrorKind::TimedOut),
            (_, set) => {
                let set = set.unwrap();
                assert_eq!(names_of(&set).await.len(), pages);
                assert_eq!(set.diagnostics()[0].code, "listing_cut");
            }
        }
        assert!(started.elapsed() <= Duration::from_secs(61), "{:?}", started.elapsed());
        drop(fake.await.unwrap());
    }
}

#[tokio::test]
async fn limits_are_a_part_of_the_configuration() {
    let config = limited(|limits| {
        limits.max_questions_per_call = 3;
        limits.min_reconnect_pause = Duration::from_millis(1_500);
    });
    let json = serde_json::to_value(&config).unwrap();
    assert_eq!(json["limits"]["minReconnectPause"], 1_500);
    assert_eq!(serde_json::from_value::<ServerConfig>(json).unwrap(), config);
    let json = json!({ "name": "a", "command": "b", "limits": { "maxConcurrentQuestions": 2 } });
    let read: ServerConfig = serde_json::from_value(json).unwrap();
    assert_eq!((read.limits.max_concurrent_questions, read.limits.max_questions_per_call), (2, 20));
    let json = json!({ "name": "a", "command": "b", "limits": { "maxQuestions": 2 } });
    assert!(serde_json::from_value::<ServerConfig>(json).is_err());
    assert_eq!(serde_json::to_value(super::config()).unwrap().get("limits"), None);
}

/// A question to the model of the client.
fn sampling(id: usize) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "?" } });
    let params = json!({ "messages": [message], "maxTokens": 1 });
    json!({ "jsonrpc": "2.0", "id": format!("q{id}"), "method": "sampling/createMessage", "params": params })
}

/// The answers of a program to questions, as a test counts them.
#[derive(Clone)]
struct Model {
    running: Arc<AtomicUsize>,
    answered: Arc<AtomicUsize>,
    /// A permit for each answer.
    permits: Arc<Semaphore>,
}

impl Model {
    fn new(permits: usize) -> Self {
        Self { running: Arc::default(), answered: Arc::default(), permits: Arc::new(Semaphore::new(permits)) }
    }

    fn answering(&self, builder: McpToolSetBuilder) -> McpToolSetBuilder {
        let model = self.clone();
        builder.on_sampling(move |_| {
            let model = model.clone();
            async move {
                model.running.fetch_add(1, Ordering::SeqCst);
                model.permits.acquire().await.unwrap().forget();
                model.running.fetch_sub(1, Ordering::SeqCst);
                model.answered.fetch_add(1, Ordering::SeqCst);
                Ok(CreateMessageResult::new(SamplingMessage::assistant_text("!"), "m".to_owned()))
            }
        })
    }

    /// Waits until this many questions run.
    async fn until_running(&self, questions: usize) {
        while self.running.load(Ordering::SeqCst) < questions {
            tokio::task::yield_now().await;
        }
    }
}

async fn connected(builder: McpToolSetBuilder, fakes: Fakes) -> (McpToolSet, Fake) {
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        fake
    });
    (builder.connect().await.unwrap(), fake.await.unwrap())
}

#[tokio::test]
async fn a_call_has_a_number_of_questions_and_some_at_once() {
    let model = Model::new(0);
    let (builder, fakes) = Fakes::builder(config());
    let (set, mut fake) = connected(model.answering(builder), fakes).await;
    let calling = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    for id in 0..200 {
        fake.send(&sampling(id)).await;
    }
    // 180 are refused at once, while 4 are answered and 16 wait.
    for _ in 0..180 {
        let refused = fake.message().await.unwrap();
        assert_eq!(refused["error"]["message"], "the client answers 20 questions during a call", "{refused}");
    }
    model.until_running(4).await;
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(model.running.load(Ordering::SeqCst), 4);
    model.permits.add_permits(20);
    for _ in 0..20 {
        assert_eq!(fake.message().await.unwrap()["result"]["model"], "m");
    }
    assert_eq!(model.answered.load(Ordering::SeqCst), 20);
    fake.answer(&request, text("done")).await;
    assert_eq!(calling.await.unwrap().unwrap(), "done");
    assert_eq!(set.diagnostics().iter().map(|it| it.code).collect::<Vec<_>>(), ["question_refused"]);
}

#[tokio::test]
async fn questions_outside_of_calls_are_refused_unless_they_are_allowed() {
    for is_allowed in [false, true] {
        let model = Model::new(if is_allowed { 0 } else { 100 });
        let (builder, fakes) = Fakes::builder(limited(|limits| limits.questions_outside_calls = is_allowed));
        let (set, mut fake) = connected(model.answering(builder), fakes).await;
        for id in 0..10 {
            fake.send(&sampling(id)).await;
        }
        let refused = if is_allowed { 6 } else { 10 };
        for _ in 0..refused {
            let answer = fake.message().await.unwrap();
            assert!(answer["error"]["message"].is_string(), "{answer}");
        }
        model.permits.add_permits(4);
        for _ in refused..10 {
            assert_eq!(fake.message().await.unwrap()["result"]["model"], "m");
        }
        assert_eq!(model.answered.load(Ordering::SeqCst), 10 - refused);
        drop(set);
    }
}

#[tokio::test]
async fn elicitation_is_limited_and_a_call_that_ended_allows_none() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let (builder, fakes) = Fakes::builder(limited(|limits| limits.max_questions_per_call = 1));
    let builder = builder.on_elicitation(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(ElicitResult::new(ElicitationAction::Decline)) }
    });
    let (set, mut fake) = connected(builder, fakes).await;
    let params = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
    let question = json!({ "jsonrpc": "2.0", "id": 77, "method": "elicitation/create", "params": params });
    for _ in 0..2 {
        let calling = tokio::spawn(call(set.clone(), "one", json!({})));
        let request = fake.expect("tools/call").await;
        fake.send(&question).await;
        assert_eq!(fake.message().await.unwrap()["result"]["action"], "decline");
        fake.send(&question).await;
        assert!(fake.message().await.unwrap()["error"].is_object());
        fake.answer(&request, text("done")).await;
        calling.await.unwrap();
    }
    fake.send(&question).await;
    assert!(fake.message().await.unwrap()["error"].is_object());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_rounds_of_a_call_share_its_questions() {
    let model = Model::new(1_000);
    let (builder, fakes) = Fakes::builder(config());
    let builder = model.answering(builder).protocol(rmcp::model::ProtocolVersion::V_2026_07_28);
    let fake = tokio::spawn(async move {
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
    let mut fake = fake.await.unwrap();
    let call = calling(&set, "one");
    for round in 0..3 {
        let Some(request) = fake.message().await else { break };
        if request["method"] != "tools/call" {
            break;
        }
        let questions: serde_json::Map<_, _> = (0..15)
            .map(|id| {
                let mut question = sampling(id);
                question.as_object_mut().unwrap().retain(|name, _| name == "method" || name == "params");
                (format!("q{id}"), question)
            })
            .collect();
        let result =
            json!({ "resultType": "input_required", "inputRequests": questions, "requestState": "s" });
        fake.answer(&request, result).await;
        if round == 1 {
            break;
        }
    }
    let error = call.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("20 questions during a call"), "{error}");
    assert_eq!(model.answered.load(Ordering::SeqCst), 20);
}
