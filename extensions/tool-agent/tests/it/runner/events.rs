//! The events of a run, and their documented form.

use tool_agent::{
    Agent, AgentEvent, AgentEventKind, Answers, Part, Runner, ScriptedModel,
    model::{ModelErrorKind, Reply},
};
use tool_runtime::{
    Executor, RunContext, ToolCall, dialect::Usage, event::EventKind, output::stream, prelude::*,
};

/// Counts.
#[tool]
fn count() -> impl Stream<Item = u32> + use<> {
    stream::iter([1, 2, 3])
}

#[tokio::test]
async fn partial_results_are_events_and_the_model_receives_the_final_result() {
    let model = ScriptedModel::new([Reply::call("count", "{}"), Reply::text("Done.")]);
    let tools = Registry::builder().tool::<count>().build().unwrap();
    let agent = Agent::builder("clerk", model.clone()).tools(tools).build().unwrap();
    let mut events = Runner::new(agent).run("Count.");
    let mut updates = Vec::new();
    while let Some(event) = events.next().await {
        let AgentEventKind::Tool { event } = event.kind else { continue };
        if let EventKind::Updated { update, .. } = event.kind {
            updates.push(update.text().into_owned());
        }
    }
    assert_eq!(updates, ["1", "2", "3"]); // K12
    let requests = model.requests();
    let results: Vec<_> = requests[1].messages[2].tool_results().map(|it| it.text().into_owned()).collect();
    assert_eq!(results, ["[1,2,3]"]); // K12: one result, of all items
}

#[tokio::test]
async fn the_model_is_asked_after_the_reader_has_acknowledged_the_results() {
    // H19
    let model = ScriptedModel::new([Reply::call("count", "{}"), Reply::text("Done.")]);
    let tools = Registry::builder().tool::<count>().build().unwrap();
    let agent = Agent::builder("clerk", model.clone()).tools(tools).build().unwrap();
    let mut events = Runner::new(agent).run("Count.");
    let mut acknowledged = 0;
    while let Some(event) = events.next().await {
        if event.requires_completion() {
            assert_eq!(model.requests().len(), 1);
            acknowledged += 1;
        }
    }
    assert_eq!((acknowledged, model.requests().len()), (1, 2));
}

/// Replaces values that differ from run to run.
fn normalize(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "time" | "serial" | "durationMs" | "expiresAtMs" | "finishedAtMs" => *member = json!(0),
                    "hash" | "definition" => *member = json!("hash"),
                    "arguments" => {
                        // The arguments of a virtual call contain an address.
                        let text = member.as_str().unwrap().split(r#""serial":"#).next().unwrap();
                        *member = json!(text);
                    }
                    _ => normalize(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::String(text) if text.starts_with("confirm_") => *text = "confirm".to_owned(),
        _ => {}
    }
}

/// Removes a file.
#[tool(destructive, confirm)]
fn remove(path: String) -> String {
    format!("{path} is removed")
}

#[tokio::test]
async fn each_event_has_a_documented_form() {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (Some(10), Some(5));
    let parts = [
        Part::Reasoning("Remove it.".to_owned()),
        Part::Text("I remove it.".to_owned()),
        Part::Call(ToolCall::new("remove", json!({ "path": "a" })).with_id("c1")),
    ];
    let replies = [
        Reply::error(ModelErrorKind::Malformed, "cut"),
        Reply::parts([]),
        Reply::parts(parts).with_usage(usage),
        Reply::text("Done."),
    ];
    let tools = Registry::builder().tool::<remove>().build().unwrap();
    let agent =
        Agent::builder("clerk", ScriptedModel::new(replies)).tools(Executor::new(tools)).build().unwrap();
    let runner = Runner::new(agent);
    let run = || RunContext::new().with_id("run-1").with_session("s");
    let mut lines = Vec::new();
    let mut first = runner.run_with(run(), "Remove a.");
    while let Some(event) = first.next().await {
        lines.push(event);
    }
    let mut second = runner.resume(run(), Answers::new().approve("c1"));
    while let Some(event) = second.next().await {
        lines.push(event);
    }
    let written: String = lines
        .iter()
        .map(|event| {
            let mut event = serde_json::to_value(event).unwrap();
            normalize(&mut event);
            format!("{event}\n")
        })
        .collect();
    for event in &lines {
        let json = serde_json::to_string(event).unwrap();
        let read: AgentEvent = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        let kind: AgentEventKind = serde_json::from_str(&json).unwrap();
        assert_eq!(
            serde_json::to_value(&kind).unwrap()["type"],
            serde_json::to_value(event).unwrap()["type"]
        );
    }
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/runner/events.jsonl");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, &written).unwrap();
    }
    assert_eq!(written, std::fs::read_to_string(golden).unwrap());
}

#[test]
fn an_event_of_a_newer_version_or_without_its_members_is_not_read() {
    let read = |json: &str| serde_json::from_str::<AgentEvent>(json);
    let versioned = |version: u32| {
        format!(r#"{{"v":{version},"time":0,"run":"r","agent":"a","type":"notice","text":"t"}}"#)
    };
    assert!(read(&versioned(1)).is_ok());
    assert!(read(&versioned(2)).unwrap_err().to_string().contains("version 2 of the format"));
    let error = read(r#"{"time":0,"run":"r","agent":"a","type":"notice"}"#).unwrap_err();
    assert!(error.to_string().contains("missing field `text`"), "{error}");
}
