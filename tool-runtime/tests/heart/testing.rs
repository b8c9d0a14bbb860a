//! The feature `testing`.

use std::time::Duration;

use tool_runtime::{
    Executor, Registry, Tool, ToolCall,
    definition::Metadata,
    testing::{Gate, Recorder, ScriptedTool, paused},
};

fn executor(tool: ScriptedTool) -> Executor {
    Executor::new(Registry::builder().add(tool).build().unwrap())
}

fn call(id: &str) -> Vec<ToolCall> {
    vec![ToolCall::new("scripted", "{}").with_id(id)]
}

#[test]
fn a_script_is_followed_call_by_call_and_its_last_step_stays() {
    paused(async {
        let tool =
            ScriptedTool::new("scripted").updates(["half"], "one").fails("no").panics("boom").gives("on");
        let calls = tool.calls();
        let executor = executor(tool);
        let recorder = Recorder::of(&executor);
        for id in ["a", "b", "c", "d", "e"] {
            executor.run(call(id)).await;
        }
        assert_eq!(calls.count(), 5);
        assert_eq!(
            recorder.texts().unwrap(),
            [
                "started a",
                "updated a: half",
                "finished a: one",
                "started b",
                "finished b: no",
                "started c",
                "finished c: The tool scripted panicked: boom",
                "started d",
                "finished d: on",
                "started e",
                "finished e: on",
            ]
        );
        assert!(recorder.texts().unwrap().is_empty());
    });
}

#[test]
fn a_gate_holds_calls_until_it_is_opened() {
    paused(async {
        let gate = Gate::new();
        let executor = executor(ScriptedTool::new("scripted").waits_for(&gate, "through"));
        let batch = tokio::spawn({
            let executor = executor.clone();
            async move { executor.run(call("a")).await }
        });
        gate.arrival().await;
        assert!(!batch.is_finished());
        gate.open();
        assert_eq!(batch.await.unwrap()[0].result().unwrap().text(), "through");
        assert_eq!(executor.run(call("b")).await[0].result().unwrap().text(), "through");
    });
}

#[test]
fn a_paused_clock_advances_at_once() {
    paused(async {
        let tools = Registry::builder().add(ScriptedTool::new("scripted").hangs()).build().unwrap();
        let executor = Executor::builder(tools).timeout(Duration::from_secs(7200)).build().unwrap();
        let before = tokio::time::Instant::now();
        let outcomes = executor.run(call("a")).await;
        assert_eq!(outcomes[0].result().unwrap().text(), "Timed out: no result after 7200s");
        assert!(before.elapsed() >= Duration::from_secs(7200));
    });
}

#[test]
fn a_scripted_tool_has_its_metadata_and_records_its_arguments() {
    paused(async {
        let metadata = Metadata { read_only: Some(true), ..Metadata::default() };
        let tool = ScriptedTool::new("scripted").metadata(metadata.clone()).gives("one");
        assert_eq!(*tool.definition().metadata(), metadata);
        let calls = tool.calls();
        let executor = executor(tool);
        for arguments in [r#"{"a":1}"#, "{}"] {
            executor.run(vec![ToolCall::new("scripted", arguments)]).await;
        }
        assert_eq!(calls.arguments(), [r#"{"a":1}"#, "{}"]);
    });
}
