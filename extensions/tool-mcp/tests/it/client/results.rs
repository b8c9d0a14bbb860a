//! Results, reports and questions of a server.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use rmcp::model::{
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction, Root, SamplingMessage,
};
use serde_json::{Map, Value, json};
use tool_mcp::{
    client::McpToolSet,
    server::{Answer, Caller},
};
use tool_runtime::{
    Content, ToolResult, Toolbox,
    context::{LogLevel, LogLine, Progress},
    definition::Retry,
    event::EventKind,
    executor::StreamItem,
    hook::{CallView, Hook},
    policy::{RetryInfo, RetryPolicy},
    prelude::*,
};

use super::{BOTH, before, call, config, fake::Fakes, server};

/// The result of a call whose server answers so.
async fn result_of(answer: Value) -> ToolResult {
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        let request = fake.expect("tools/call").await;
        fake.answer(&request, answer).await;
        fake
    });
    let set = builder.connect().await.unwrap();
    let result = call(set, "one", json!({})).await;
    drop(fake.await.unwrap());
    result
}

#[tokio::test]
async fn structured_results_come_first_and_content_stays() {
    let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
    let result = result_of(json!({
        "content": [{ "type": "text", "text": "One item." }, image],
        "structuredContent": { "n": 1, "of": 2 },
        "_meta": { "example.com/k": "v" },
    }))
    .await;
    // M15
    assert_eq!(result.structured(), Some(json!({ "n": 1, "of": 2 })));
    let content = result.content();
    assert_eq!(content[0], Content::text("{\"n\":1,\"of\":2}"));
    assert_eq!(content[1], Content::text("One item."));
    assert_eq!(content[2], Content::image(b"hi".to_vec(), "image/png"));
    // M19
    assert_eq!(result.meta().unwrap()["example.com/k"], "v");
    let alone = result_of(json!({ "content": [], "structuredContent": { "n": 1 } })).await;
    assert_eq!(alone.text(), "{\"n\":1}");
    let alone = result_of(json!({ "structuredContent": [1, 2], "isError": true })).await;
    assert_eq!((alone.text().as_ref(), alone.is_error()), ("[1,2]", true));
}

#[tokio::test]
async fn a_structured_value_that_the_texts_have_is_not_repeated() {
    for (texts, value) in [
        (vec!["{\"n\":1}"], json!({ "n": 1 })),
        (vec!["{ \"b\": 2, \"a\": 1 }"], json!({ "a": 1, "b": 2 })),
        (vec!["5"], json!({ "result": 5 })),
        (vec!["The text of a file."], json!({ "content": "The text of a file." })),
        (vec!["a", "{\"n\":1}"], json!({ "result": ["a", { "n": 1 }] })),
        (vec!["Found:", "{\"n\":1}"], json!({ "n": 1 })),
    ] {
        let content: Vec<_> = texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        let result = result_of(json!({ "content": content, "structuredContent": value })).await;
        // M15
        assert_eq!(result.text(), texts.join("\n"));
        assert_eq!(result.structured(), Some(value));
    }
}

/// The results of a tool that fails once and then succeeds, by an executor of `build`.
async fn retried(build: impl FnOnce(Registry) -> Executor, answers: Vec<Value>) -> ToolResult {
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        for answer in answers {
            let request = fake.expect("tools/call").await;
            fake.answer(&request, answer).await;
        }
        fake
    });
    let set = builder.connect().await.unwrap();
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let outcomes = build(tools).run(vec![ToolCall::new("one", "{}")]).await;
    drop(fake.await.unwrap());
    outcomes[0].result().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_server_is_one_for_retry_rules() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let infos = Arc::clone(&seen);
    let rule = move |info: &RetryInfo<'_>| {
        infos.lock().unwrap().push((info.is_result_failure(), info.outcome.is_ok()));
        info.is_result_failure()
    };
    let policy = RetryPolicy::new(Retry { attempts: 3, ..Retry::DEFAULT }).any_tool().rule(rule);
    let boom = json!({ "content": [{ "type": "text", "text": "boom" }], "isError": true });
    let done = json!({ "content": [{ "type": "text", "text": "done" }] });
    let build = |tools| Executor::builder(tools).retry(policy).build().unwrap();
    let result = retried(build, vec![boom, done]).await;
    // M16
    assert_eq!((result.text().as_ref(), result.is_error(), result.attempts), ("done", false, 2));
    assert_eq!(seen.lock().unwrap()[0], (true, true));
}

/// Records a value of the metadata of each result.
struct MetaReader(Arc<Mutex<Vec<Value>>>);

impl Hook for MetaReader {
    async fn after(&self, _: &CallView<'_>, result: &mut ToolResult) -> Result<ControlFlow<()>, ToolError> {
        let value = result.meta().and_then(|meta| meta.get("example.com/k")).cloned();
        self.0.lock().unwrap().extend(value);
        Ok(ControlFlow::Continue(()))
    }
}

#[tokio::test]
async fn a_hook_after_a_call_reads_the_metadata_of_the_result() {
    let answer = json!({ "content": [], "_meta": { "example.com/k": "v" } });
    let read = Arc::new(Mutex::new(Vec::new()));
    let build = |tools| Executor::builder(tools).hook(MetaReader(Arc::clone(&read))).build().unwrap();
    retried(build, vec![answer]).await;
    // M19
    assert_eq!(*read.lock().unwrap(), ["v"]);
}

#[tokio::test]
async fn content_of_every_kind_is_kept() {
    let result = result_of(json!({ "content": [
        { "type": "text", "text": "a" },
        { "type": "image", "data": "aGk=", "mimeType": "image/png" },
        { "type": "audio", "data": "aGk=", "mimeType": "audio/wav" },
        { "type": "resource", "resource": { "uri": "a://b", "mimeType": "text/x", "text": "t" } },
        { "type": "resource", "resource": { "uri": "a://c", "blob": "aGk=" } },
        { "type": "resource_link", "uri": "a://d", "name": "d" },
        { "type": "image", "data": "!", "mimeType": "image/png" },
        { "type": "text", "text": "b" },
    ] }))
    .await;
    // M15
    let content = result.content();
    assert_eq!(content.len(), 8);
    assert_eq!(content[1], Content::image(b"hi".to_vec(), "image/png"));
    assert_eq!(content[2], Content::audio(b"hi".to_vec(), "audio/wav"));
    assert!(matches!(&content[3], Content::Resource { resource } if resource.uri == "a://b"));
    assert!(matches!(&content[5], Content::ResourceLink { uri, .. } if uri == "a://d"));
    assert!(content[6].as_text().unwrap().contains("not base64"));
    assert!(!result.is_error());
}

#[tokio::test]
async fn failures_are_results_with_their_text() {
    let content = json!([{ "type": "text", "text": "boom" }, { "type": "text", "text": "twice" }]);
    let result = result_of(json!({ "content": content, "isError": true })).await;
    // M16
    assert_eq!((result.text().as_ref(), result.is_error()), ("boom\ntwice", true));
    let result = result_of(json!({ "content": [], "isError": true })).await;
    assert_eq!((result.text().as_ref(), result.is_error()), ("The tool failed, and gave no reason.", true));
    let result = result_of(json!({ "content": [] })).await;
    assert_eq!((result.text().as_ref(), result.is_error()), ("", false));
}

/// A result as its text and its failure, and the codes of the diagnostics.
async fn read(answer: &str) -> (String, bool, Vec<&'static str>) {
    let (builder, fakes) = Fakes::builder(config());
    let answer = answer.to_owned();
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        let request = fake.expect("tools/call").await;
        fake.line(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{answer}}}"#, request["id"])).await;
        fake
    });
    let set = builder.connect().await.unwrap();
    let result = call(set.clone(), "one", json!({})).await;
    drop(fake.await.unwrap());
    let mut codes: Vec<_> = set.diagnostics().iter().map(|it| it.code).collect();
    codes.dedup();
    (result.text().into_owned(), result.is_error(), codes)
}

#[tokio::test]
async fn a_block_that_cannot_be_read_is_its_json_and_the_others_stay() {
    for (blocks, expected) in [
        (
            r#"[{"type":"text","text":"before"},{"type":"future","z":1}]"#,
            "before\n{\"type\":\"future\",\"z\":1}",
        ),
        (
            r#"[{"type":"text","text":"before"},{"type":"image","data":"aGk="}]"#,
            "before\n{\"type\":\"image\",\"data\":\"aGk=\"}",
        ),
        (
            r#"[{"type":"text","text":null},{"type":"text","text":"after"}]"#,
            "{\"type\":\"text\",\"text\":null}\nafter",
        ),
        (r#"[{"type":"text","text":"odd","annotations":{"audience":"me","priority":"high"}}]"#, "odd"),
        (r#"[{"type":"text","text":"odd","annotations":[],"_meta":7}]"#, "odd"),
        (r#"[7,"loose",{"type":"text","text":"after"}]"#, "7\nloose\nafter"),
        (r#"[null,[],{}]"#, "null\n[]\n{}"),
        (r#""a text""#, "a text"),
        (r#"{"type":"text","text":"one block"}"#, "one block"),
    ] {
        for is_error in ["false", "true"] {
            let (text, failed, codes) =
                read(&format!(r#"{{"content":{blocks},"isError":{is_error}}}"#)).await;
            assert_eq!((text.as_str(), failed), (expected, is_error == "true"), "{blocks}");
            assert_eq!(codes, ["unreadable_content"], "{blocks}");
        }
    }
}

#[tokio::test]
async fn a_link_without_a_name_is_named_by_its_address() {
    let content = json!([{ "type": "resource_link", "uri": "a://d" }]);
    let result = result_of(json!({ "content": content })).await;
    assert!(
        matches!(&result.content()[0], Content::ResourceLink { uri, name, .. } if uri == "a://d" && name == "a://d")
    );
}

#[tokio::test]
async fn what_a_server_answers_to_a_call_is_a_result() {
    for (answer, expected, failed) in [
        ("{}", "", false),
        ("[]", "", false),
        ("null", "", false),
        ("\"done\"", "done", false),
        ("7", "7", false),
        (r#"[{"type":"text","text":"loose"}]"#, "loose", false),
        (r#"{"tools":[]}"#, r#"{"tools":[]}"#, false),
        (r#"{"content":[{"type":"text","text":"a"}],"tools":[]}"#, "a", false),
        (r#"{"content":null,"isError":true}"#, "The tool failed, and gave no reason.", true),
        (r#"{"content":[{"type":"text","text":"a"}],"isError":"true"}"#, "a", true),
        (r#"{"content":[{"type":"text","text":"a"}],"isError":1}"#, "a", true),
        (r#"{"content":[{"type":"text","text":"a"}],"isError":"false"}"#, "a", false),
        (r#"{"content":[{"type":"text","text":"a"}],"_meta":[],"resultType":5}"#, "a", false),
    ] {
        let (text, is_error, _) = read(answer).await;
        assert_eq!((text.as_str(), is_error), (expected, failed), "{answer}");
    }
}

#[tokio::test]
async fn the_json_of_a_block_is_bounded_and_says_so() {
    let (text, ..) =
        read(&format!(r#"{{"content":[{{"type":"future","z":"{}"}}]}}"#, "ä".repeat(100_000))).await;
    assert!(text.chars().count() < 4_100 && text.contains("bytes more"), "{}", text.len());
}

/// Reports.
#[tool(register = false, read_only)]
fn report(cx: &ToolContext) -> Result<&'static str, ToolError> {
    for done in 1..=20 {
        cx.progress(Progress::new(f64::from(done)).of(20.0).message(format!("step {done}")))?;
    }
    cx.log(LogLine::new(LogLevel::Warning, "careful").with_data(json!({ "n": 1 })))?;
    Ok("done")
}

#[tokio::test]
async fn reports_of_a_server_are_reports_of_the_call_in_their_order() {
    for version in BOTH {
        let tools = Registry::builder().tool::<report>().build().unwrap();
        let set = before(server(tools))
            .protocol(version)
            .log_level(rmcp::model::LoggingLevel::Info)
            .connect()
            .await
            .unwrap();
        let toolbox = Toolbox::new();
        toolbox.add_toolset(set).unwrap();
        let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
        let executor = Executor::new(tools);
        let mut events = executor.batch(vec![ToolCall::new("report", "{}")]).stream();
        let (mut progress, mut lines) = (Vec::new(), Vec::new());
        while let Some(item) = events.next().await {
            match item {
                StreamItem::Event(event) => match &event.kind {
                    EventKind::Progress { progress: it } => progress.push(it.clone()),
                    EventKind::Log { line } => lines.push(line.clone()),
                    _ => {}
                },
                StreamItem::Outcomes(outcomes) => assert_eq!(outcomes[0].result().unwrap().text(), "done"),
            }
        }
        // C13
        let expected: Vec<_> = (1..=20).map(f64::from).collect();
        assert_eq!(progress.iter().map(|it| it.done).collect::<Vec<_>>(), expected);
        assert_eq!((progress[0].total, progress[0].message.as_deref()), (Some(20.0), Some("step 1")));
        // C14
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0].level, lines[0].message.as_str()), (LogLevel::Warning, "careful"));
        assert_eq!(lines[0].data, json!({ "n": 1 }));
    }
}

/// Asks for everything that a client may answer.
#[tool(register = false)]
async fn ask(caller: Option<&Caller>) -> Result<String, ToolError> {
    let caller = caller.ok_or_else(|| ToolError::failed("no client"))?;
    let mut answers = Vec::new();
    if let Some(elicitation) = caller.elicitation() {
        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
        answers.push(match elicitation.form("name", "Your name?", schema).await? {
            Answer::Accepted(form) => form["name"].to_string(),
            other => format!("{other:?}"),
        });
    }
    if let Some(sampling) = caller.sampling() {
        let params = rmcp::model::CreateMessageRequestParams::new(vec![SamplingMessage::user_text("Hi")], 10);
        let result = sampling.create("greeting", params).await?;
        answers.push(result.model);
    }
    if let Some(roots) = caller.roots() {
        answers.push(roots.list("roots").await?[0].uri.clone());
    }
    Ok(answers.join(" "))
}

fn asking() -> Registry {
    Registry::builder().tool::<ask>().build().unwrap()
}

#[tokio::test]
async fn questions_of_a_server_are_answered_by_the_program() {
    for version in BOTH {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&calls);
        let set = before(server(asking()))
            .protocol(version)
            .on_elicitation(move |question| {
                let call = question.call.map(|call| call.tool_name().to_string());
                seen.lock().unwrap().push((question.server, call));
                async move {
                    let ElicitRequestParams::FormElicitationParams { message, .. } = question.params else {
                        panic!()
                    };
                    assert_eq!(message, "Your name?");
                    Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "name": "Ada" })))
                }
            })
            .on_sampling(|_| async {
                Ok(CreateMessageResult::new(SamplingMessage::assistant_text("Hello"), "m1".to_owned()))
            })
            .on_roots(|_| async { Ok(vec![Root::new("file:///work")]) })
            .connect()
            .await
            .unwrap();
        assert_eq!(call(set, "ask", json!({})).await.text(), "\"Ada\" m1 file:///work");
        // The call that a question belongs to is known.
        assert_eq!(*calls.lock().unwrap(), [("remote".to_owned(), Some("ask".to_owned()))]);
    }
}

#[tokio::test]
async fn a_program_without_answers_has_no_such_capabilities_and_one_that_panics_answers_an_error() {
    for version in BOTH {
        let set = super::connected(asking(), &version).await;
        assert_eq!(call(set, "ask", json!({})).await.text(), "");
        let set = before(server(asking()))
            .protocol(version)
            .on_elicitation(|_| async { panic!("an answer of the program") })
            .connect()
            .await
            .unwrap();
        let result = call(set, "ask", json!({})).await;
        assert!(result.is_error(), "{}", result.text());
    }
}

/// Returns the metadata of the call.
#[tool(register = false)]
fn meta(cx: &ToolContext) -> Value {
    cx.meta().cloned().map_or(Value::Null, Value::Object)
}

#[tokio::test]
async fn metadata_is_sent_with_a_call() {
    for version in BOTH {
        let tools = Registry::builder().tool::<meta>().build().unwrap();
        let set: McpToolSet = before(server(tools))
            .protocol(version)
            .call_meta(|cx| {
                Map::from_iter([("example.com/call".to_owned(), cx.call_id().to_string().into())])
            })
            .connect()
            .await
            .unwrap();
        let result = call(set, "meta", json!({})).await;
        // M19
        assert!(result.structured().unwrap()["example.com/call"].is_string(), "{}", result.text());
        // W05
        assert_eq!(result.structured().unwrap().get("traceparent"), None);
    }
}
