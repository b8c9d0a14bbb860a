//! Events for log lines and external calls, and the meta of results.

use tool_runtime::{
    RunContext, ToolCall,
    context::{LogLevel, LogLine},
    dialect::Dialect,
    event::EventKind,
    prelude::*,
    serde_json,
};

use super::{Counter, building, calls, echo, short, texts, ways::each_way};

/// Logs.
#[tool(register = false)]
fn log(cx: &ToolContext) -> Result<(), ToolError> {
    cx.log(LogLine::new(LogLevel::Warning, "stale").with_data(json!({ "days": 3 })))?;
    cx.log(LogLine::new(LogLevel::Debug, "read"))
}

// C12, W07
#[test]
fn log_lines_of_a_call_are_events() {
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<log>());
        assert_eq!(texts(&executor.run(calls(&["log"])).await), [""]);
        let Some(events) = executor.events() else { return };
        assert_eq!(
            events.iter().map(short).collect::<Vec<_>>(),
            ["started 0", "log 0", "log 0", "finished 0"]
        );
        let EventKind::Log { line } = &events[1].kind else { panic!() };
        assert!(
            (line.level, &*line.message) == (LogLevel::Warning, "stale") && line.level > LogLevel::Notice
        );
        let written = serde_json::to_value(&events[1]).unwrap();
        assert_eq!(written["type"], "log");
        assert_eq!(written["line"], json!({ "level": "warning", "message": "stale", "data": { "days": 3 } }));
        let written = serde_json::to_value(&events[2]).unwrap();
        assert_eq!(written["line"], json!({ "level": "debug", "message": "read" }));
    });
}

// X01, X06
#[test]
fn an_external_call_is_an_event_without_secrets() {
    /// Pays externally.
    #[tool(register = false)]
    fn pay(amount: u32, #[arg(secret)] pin: String) {
        drop((amount, pin));
    }
    each_way(async |way| {
        let tools = Registry::builder().tool::<pay>().tool::<echo>().provide(Counter::default());
        let builder = building(tools).external(|call| call.tool() == "pay");
        let executor = way.of(builder);
        let call = |id: &str| ToolCall::new("pay", json!({ "amount": 7, "pin": "4711" })).with_id(id);
        let echo = ToolCall::new("echo", r#"{"text":"a"}"#).with_id("1");
        let run = RunContext::new().with_agent("root");
        let outcomes = executor.drive(executor.batch(vec![call("0"), echo, call("2")]).with_run(run)).await;
        assert_eq!(texts(&outcomes), ["-", "a", "-"]);
        let Some(events) = executor.events() else { return };
        let told: Vec<_> = events.iter().map(short).collect();
        for what in ["external 0", "external 2", "started 1", "finished 1"] {
            assert!(told.iter().any(|event| event == what), "{what} in {told:?}");
        }
        assert_eq!(told.len(), 4);
        for event in &events {
            let EventKind::External { call } = &event.kind else { continue };
            let shown: Value = serde_json::from_str(call.arguments.as_str()).unwrap();
            assert_eq!(shown, json!({ "amount": 7, "pin": "***" }));
            assert_eq!((event.author.as_deref(), &event.address.call_id), (Some("root"), &call.id));
            let open = executor.open_calls().await.unwrap();
            assert!(open.iter().any(|open| *open.address() == event.address), "{event:?}");
        }
    });
}

// H14: a result has a field for additional data.
#[test]
fn the_meta_of_a_result_is_serialized_only_if_present() {
    /// Returns a text.
    #[tool(register = false)]
    fn tagged(tag: bool) -> ToolOutput {
        let meta = json!({ "example.com/n": 1 }).as_object().cloned().unwrap_or_default();
        let output = ToolOutput::from("done");
        if tag { output.with_meta(meta) } else { output }
    }
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<tagged>());
        for (tag, expected) in [(true, json!({ "example.com/n": 1 })), (false, Value::Null)] {
            let outcomes = executor.run(vec![ToolCall::new("tagged", json!({ "tag": tag }))]).await;
            let result = outcomes[0].result().unwrap();
            assert_eq!(json!(result.meta()), expected);
            let bound = Dialect::mcp().bind_tools(executor.tools());
            let wire = bound.results(std::slice::from_ref(result));
            for written in [&serde_json::to_value(result).unwrap(), &wire[0]] {
                assert_eq!(written.get("_meta").is_some(), tag, "{written}");
                assert_eq!(written["_meta"], expected);
            }
            assert_eq!(result.text(), "done");
        }
    });
}
