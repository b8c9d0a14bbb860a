//! Recordings of runs as scripts, and their replay.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use proptest::{collection::vec, prelude::*};
use serde_json::Value;
use tool_agent::{
    Agent, AgentEventKind, Limits, Model, Runner, ScriptedModel,
    model::{Fallback, ModelErrorKind, RecordingModel, Reply, Request, SharedModel},
};
use tool_runtime::{RunContext, ToolCall, prelude::*};

/// Repeats a value.
#[tool(read_only)]
fn echo(value: Value) -> Value {
    value
}

/// Fails.
#[tool(read_only)]
fn fail(reason: String) -> anyhow::Result<()> {
    anyhow::bail!("it failed: {reason}")
}

/// A path for a new file.
fn path() -> PathBuf {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = format!("{}/recording-{}-{number}.jsonl", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    drop(fs::remove_file(&path));
    path.into()
}

fn runner(model: impl Into<SharedModel>) -> Runner {
    let tools = Registry::builder().tool::<echo>().tool::<fail>().build().unwrap();
    let limits = Limits { rounds: Some(6), repeated_calls: None, ..Limits::default() };
    let agent = Agent::builder("echo", model).instruction("Repeat.").tools(tools).limits(limits);
    Runner::new(agent.build().unwrap())
}

/// An event without the members that differ from run to run.
fn lasting(mut value: Value) -> Value {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for name in
                    ["time", "run", "at", "atMs", "finishedAtMs", "durationMs", "timeMs", "serial", "address"]
                {
                    members.remove(name);
                }
                members.values_mut().for_each(clean);
            }
            Value::Array(items) => items.iter_mut().for_each(clean),
            _ => {}
        }
    }
    clean(&mut value);
    value
}

/// The events of one run after another in one session.
async fn events(model: impl Into<SharedModel>, turns: &[String]) -> Vec<Value> {
    let runner = runner(model);
    let mut events = Vec::new();
    for turn in turns {
        let mut stream = runner.run_with(RunContext::new().with_session("s"), turn.as_str());
        while let Some(event) = stream.next().await {
            if !matches!(event.kind, AgentEventKind::Tool { .. }) {
                events.push(lasting(serde_json::to_value(&event).unwrap()));
            }
        }
    }
    events
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// JSON with numbers that no float holds, and with white space.
fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1.0".to_owned()),
        Just("1e2".to_owned()),
        Just("-0".to_owned()),
        Just("0.10000000000000000000000000000000001".to_owned()),
        Just("123456789012345678901234567890".to_owned()),
        "[ -~\u{e9}\u{202e}\n]{0,8}".prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|items| format!("[ {} ]", items.join(" ,\n"))),
            inner.prop_map(|value| format!("{{ \"a b\" : {value} }}")),
        ]
    })
}

fn reply() -> impl Strategy<Value = Reply> {
    let text = || "\\PC{0,12}";
    let call = prop_oneof![
        3 => json_text().prop_map(|value| ToolCall::new("echo", format!("{{\"value\": {value}}}"))),
        1 => text().prop_map(|reason| ToolCall::new("fail", json!({ "reason": reason }))),
        1 => text().prop_map(|text| ToolCall::new("echo", text)),
        1 => Just(ToolCall::new("none", "{}").with_id("call_1")),
    ];
    let kind = prop_oneof![
        Just(ModelErrorKind::Unavailable),
        Just(ModelErrorKind::RateLimited),
        Just(ModelErrorKind::Other)
    ];
    prop_oneof![
        3 => text().prop_map(|text| Reply::text(format!("a{text}"))),
        1 => vec(text(), 1..4).prop_map(|texts| Reply::text(texts.concat()).with_stream(texts)),
        1 => (text(), text()).prop_map(|(one, other)| Reply::text(format!("{one} {other}")).with_words()),
        6 => vec(call, 1..3).prop_map(Reply::calls),
        1 => (kind, text()).prop_map(|(kind, text)| Reply::error(kind, text)),
        1 => (vec(text(), 1..3), text()).prop_map(|(texts, text)| {
            Reply::error(ModelErrorKind::Connection, text).with_stream(texts)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_recorded_run_replays_identically(replies in vec(reply(), 1..10), turns in vec("\\PC{1,12}", 1..4)) {
        let path = path();
        let model = RecordingModel::create(ScriptedModel::new(replies), &path).unwrap();
        let recorded = block_on(events(model.clone(), &turns));
        prop_assert_eq!(model.failure(), None);
        let script = ScriptedModel::from_file(&path).unwrap();
        let replayed = block_on(events(script.clone(), &turns));
        prop_assert_eq!(recorded, replayed);
        script.finished().unwrap();
        // A recording of the replay is the same file.
        let again = self::path();
        let model = RecordingModel::create(ScriptedModel::from_file(&path).unwrap(), &again).unwrap();
        block_on(events(model, &turns));
        prop_assert_eq!(fs::read_to_string(&path).unwrap(), fs::read_to_string(&again).unwrap());
        fs::remove_file(path).unwrap();
        fs::remove_file(again).unwrap();
    }
}

#[tokio::test]
async fn a_recording_has_one_line_for_each_exchange() {
    let path = path();
    let call = ToolCall::new("echo", "{\"value\": 1.50}").with_id("call_1");
    let model = ScriptedModel::new([Reply::calls([call]), Reply::text("One and a half.").with_words()]);
    let model = RecordingModel::create(model, &path).unwrap();
    runner(model).run("Echo 1.5.").answer().await.unwrap();
    let request =
        r#"{"request":{"instruction":"Repeat.","messages":[{"role":"user","parts":[{"text":"Echo 1.5."}]}"#;
    let settings = r#"],"tools":["echo","fail"],"tool_choice":"auto","output":null}"#;
    let call = r#"{"call":{"id":"call_1","name":"echo","arguments":"{\"value\": 1.50}"}}"#;
    let result = r#"{"result":{"id":"call_1","name":"echo","text":"1.5"}}"#;
    let expected = format!(
        "{request}{settings},\"response\":{{\"parts\":[{call}]}}}}\n\
         {request},{{\"role\":\"assistant\",\"parts\":[{call}]}},{{\"role\":\"tool\",\"parts\":[{result}]}}{settings},\
         \"response\":{{\"parts\":[{{\"text\":\"One and a half.\"}}],\"stream\":[\"One \",\"and \",\"a \",\"half.\"]}}}}\n"
    );
    // Z20
    assert_eq!(fs::read_to_string(path).unwrap(), expected);
}

#[tokio::test]
async fn generated_ids_of_calls_replay() {
    let path = path();
    let model = RecordingModel::create(
        ScriptedModel::new([Reply::call("echo", json!({ "value": 1 })), Reply::text("1")]),
        &path,
    );
    let model = model.unwrap();
    let first = events(model, &["Echo 1.".to_owned()]).await;
    let id = first[1]["message"]["parts"][0]["call"]["id"].as_str().unwrap();
    assert!(!id.is_empty());
    let second = events(ScriptedModel::from_file(path).unwrap(), &["Echo 1.".to_owned()]).await;
    assert_eq!(second[1]["message"]["parts"][0]["call"]["id"], id);
}

#[tokio::test]
async fn models_of_a_fallback_are_one_exchange_without_withdrawn_text() {
    let path = path();
    let first = Reply::error(ModelErrorKind::Unavailable, "overloaded").with_stream(["wrong"]);
    let fallback = Fallback::new(ScriptedModel::new([first])).or(ScriptedModel::new([Reply::text("right")]));
    let runner = runner(RecordingModel::create(fallback, &path).unwrap());
    assert_eq!(runner.run("Hi.").answer().await.unwrap(), "right");
    let lines = fs::read_to_string(path).unwrap();
    assert_eq!(lines.lines().count(), 1);
    assert!(
        !lines.contains("wrong") && lines.contains(r#""response":{"parts":[{"text":"right"}]"#),
        "{lines}"
    );
}

/// A model that never answers.
struct Silent;

impl Model for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn respond(&self, _: Request) -> tool_agent::model::ResponseStream {
        tool_agent::model::ResponseStream::of_future(std::future::pending())
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_is_recorded_as_cancelled() {
    let path = path();
    let model = RecordingModel::create(Silent, &path).unwrap();
    drop(model.respond(Request::new([])));
    assert_eq!(fs::read_to_string(&path).unwrap(), "", "nothing was requested");
    let mut events = model.respond(Request::new([]));
    assert!(futures_util::poll!(std::pin::pin!(events.next())).is_pending());
    drop(events);
    let line = fs::read_to_string(&path).unwrap();
    assert!(
        line.ends_with("\"error\":{\"kind\":\"cancelled\",\"message\":\"the request was cancelled\"}}\n"),
        "{line}"
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_reported_and_the_run_continues() {
    let path = path();
    fs::write(&path, "").unwrap();
    // Open for reading: each write fails.
    let replies = [Reply::call("echo", json!({ "value": 1 })), Reply::text("1")];
    let model = RecordingModel::to_file(ScriptedModel::new(replies), fs::File::open(path).unwrap());
    let mut stream = runner(model.clone()).run("Echo 1.");
    let (mut notices, mut end) = (Vec::new(), None);
    while let Some(event) = stream.next().await {
        match event.kind {
            AgentEventKind::Notice { text } => notices.push(text),
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    assert_eq!(end.unwrap().text, "1");
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].starts_with("the recording ended: "), "{notices:?}");
    assert_eq!(model.failure().as_deref(), Some(&*notices[0]));
}

#[tokio::test]
async fn a_response_follows_the_one_notice_that_its_recording_ended() {
    use tool_agent::model::ModelEvent;
    let path = path();
    fs::write(&path, "").unwrap();
    let replies = [Reply::text("1"), Reply::text("2")];
    let model = RecordingModel::to_file(ScriptedModel::new(replies), fs::File::open(path).unwrap());
    for (text, notices) in [("1", 1), ("2", 0)] {
        let mut stream = model.respond(Request::new([]));
        let (mut reported, mut responses) = (0, Vec::new());
        while let Some(event) = stream.next().await {
            match event.unwrap() {
                ModelEvent::Notice(_) => reported += 1,
                ModelEvent::Finished(response) => responses.push(response.message.text()),
                _ => {}
            }
        }
        assert_eq!((reported, responses), (notices, vec![text.into()]));
    }
}

#[test]
fn an_existing_file_is_not_replaced() {
    let path = path();
    fs::write(&path, "kept").unwrap();
    let error = RecordingModel::create(ScriptedModel::new([]), &path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(path).unwrap(), "kept");
}

#[tokio::test]
async fn requests_of_concurrent_runs_replay_in_any_order() {
    let path = path();
    let model =
        RecordingModel::create(ScriptedModel::new([Reply::text("one"), Reply::text("two")]), &path).unwrap();
    let one = runner(model.clone()).run("1").answer().await.unwrap();
    let two = runner(model).run("2").answer().await.unwrap();
    let script = ScriptedModel::from_file(path).unwrap();
    assert_eq!(runner(script.clone()).run("2").answer().await.unwrap(), two);
    assert_eq!(runner(script.clone()).run("1").answer().await.unwrap(), one);
    script.finished().unwrap();
}

/// A sum.
#[tool_args]
#[derive(Debug, PartialEq)]
struct Sum {
    total: i64,
}

#[tokio::test]
async fn a_structured_output_replays_in_the_format_of_the_recorded_model() {
    for is_strict in [true, false] {
        let (path, output) = (path(), json!({ "total": 5 }));
        let reply = match is_strict {
            true => Reply::text(output.to_string()),
            false => Reply::call("submit_output", output),
        };
        let recorded = ScriptedModel::new([reply]).with_strict_output(is_strict);
        let recording = RecordingModel::create(recorded, &path).unwrap();
        assert_eq!(runner(recording).run_structured::<Sum>("2 + 3?").await.unwrap(), Sum { total: 5 });
        let replayed = ScriptedModel::from_file(&path).unwrap();
        let sum = runner(replayed.clone()).run_structured::<Sum>("2 + 3?").await.unwrap();
        assert_eq!(sum, Sum { total: 5 });
        replayed.finished().unwrap();
        assert_eq!(replayed.requests()[0].output.is_some(), is_strict);
    }
}

/// A model that goes on after its response.
struct Talkative;

impl Model for Talkative {
    fn name(&self) -> &str {
        "talkative"
    }

    fn respond(&self, _: Request) -> tool_agent::model::ResponseStream {
        use tool_agent::model::{ModelEvent, Response};
        let finished = || Ok(ModelEvent::Finished(Response::new(tool_agent::Message::assistant([]))));
        let events = [finished(), Ok(ModelEvent::Text("more".to_owned())), finished()];
        tool_agent::model::ResponseStream::new(futures_util::stream::iter(events))
    }
}

#[tokio::test]
async fn nothing_follows_the_response_of_a_recorded_model() {
    let path = path();
    let model = RecordingModel::create(Talkative, &path).unwrap();
    let mut stream = model.respond(Request::new([]));
    let mut events = 0;
    while stream.next().await.is_some() {
        events += 1;
    }
    assert_eq!((events, fs::read_to_string(&path).unwrap().lines().count()), (1, 1));
}

/// A model that promises more than a model has to.
struct Promising;

impl Model for Promising {
    fn name(&self) -> &str {
        "promising"
    }

    fn provider(&self) -> &str {
        "promises"
    }

    fn context_window(&self) -> Option<u64> {
        Some(9)
    }

    fn has_strict_output(&self) -> bool {
        true
    }

    fn has_strict_output_for(&self, request: &Request) -> bool {
        request.output.is_some()
    }

    fn asks_request_hooks(&self) -> bool {
        true
    }

    fn respond(&self, _: Request) -> tool_agent::model::ResponseStream {
        tool_agent::model::ResponseStream::of_future(std::future::pending())
    }
}

#[test]
fn a_recorded_model_promises_what_the_model_promises() {
    use tool_agent::model::OutputFormat;
    let mut with_output = Request::new([]);
    with_output.output = Some(OutputFormat { name: "it".into(), schema: json!({}).into() });
    let promises = |model: &dyn Model| {
        let of_requests = [Request::new([]), with_output.clone()].map(|it| model.has_strict_output_for(&it));
        let of_all = (model.has_strict_output(), model.asks_request_hooks());
        (model.name().to_owned(), model.provider().to_owned(), model.context_window(), of_all, of_requests)
    };
    let recording = RecordingModel::create(Promising, path()).unwrap();
    let expected = ("promising".to_owned(), "promises".to_owned(), Some(9), (true, true), [false, true]);
    assert_eq!(promises(&recording), expected);
    let recording = RecordingModel::create(Silent, path()).unwrap();
    let expected = ("silent".to_owned(), "unknown".to_owned(), None, (false, false), [false, false]);
    assert_eq!(promises(&recording), expected);
    assert_eq!(format!("{recording:?}"), "RecordingModel { model: SharedModel(unknown:silent), .. }");
}
