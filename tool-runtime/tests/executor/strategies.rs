//! Execution strategies, and the order of starts and ends.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Barrier, time::sleep};
use tool_runtime::{
    ErrorKind, Executor, ToolCall,
    call::merged_actions,
    definition::Retry,
    executor::{ExecutionStrategy, ExecutorError, Finish, InvalidStrategy},
    output::Actions,
    prelude::*,
    serde_json,
};

use super::{
    Timeline, building, calls, executor, on_both_runtimes, one, registry, texts,
    ways::{each_way, each_way_paused},
};

/// Waits until `n` calls of this tool run.
#[tool(register = false)]
pub(super) async fn meet(meeting: &Barrier) -> &'static str {
    meeting.wait().await;
    "met"
}

/// Takes a time that depends on its id.
#[tool(register = false)]
pub(super) async fn nap(timeline: &Timeline, cx: &ToolContext) -> String {
    timeline.note(format!("begin {}", cx.call_id()));
    let seconds: u64 = cx.call_id().to_string().parse().unwrap();
    sleep(Duration::from_secs(10 - seconds)).await;
    timeline.note(format!("end {}", cx.call_id()));
    format!("nap {seconds}")
}

/// Fails.
#[tool(register = false)]
pub(super) fn fail() -> Result<(), String> {
    Err("disk full".to_owned())
}

/// Panics.
#[tool(register = false)]
pub(super) fn crash() {
    panic!("boom")
}

// G02, G03, G04, G05, G06, A21
#[test]
fn only_bodies_of_a_wave_overlap() {
    each_way_paused(async |way| {
        let timeline = Timeline::default();
        let executor = way.executor(Registry::builder().tool::<nap>().provide(timeline.clone()));
        let outcomes = executor.run(calls(&["nap"; 3])).await;
        assert_eq!(texts(&outcomes), ["nap 0", "nap 1", "nap 2"]);
        let expected = match way.strategy {
            ExecutionStrategy::Parallel => ["begin 0", "begin 1", "begin 2", "end 2", "end 1", "end 0"],
            ExecutionStrategy::Sequential => ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"],
            ExecutionStrategy::Batched { .. } => ["begin 0", "begin 1", "end 1", "end 0", "begin 2", "end 2"],
        };
        assert_eq!(timeline.all(), expected);
        match (way.finish, way.strategy) {
            (Finish::InOrder, _) | (_, ExecutionStrategy::Sequential) => {
                executor.assert_calls_told(&["0", "1", "2"]);
            }
            (Finish::AsCompleted, ExecutionStrategy::Parallel) => {
                let ended = ["finished 2", "finished 1", "finished 0"];
                executor.assert_told(["started 0", "started 1", "started 2"].iter().chain(&ended));
            }
            (Finish::AsCompleted, ExecutionStrategy::Batched { .. }) => {
                let first = ["started 0", "started 1", "finished 1", "finished 0"];
                executor.assert_told(first.iter().chain(&["started 2", "finished 2"]));
            }
        }
    });
}

// G03
#[test]
fn parallel_calls_overlap() {
    each_way(async |way| {
        let together = way.size().min(3);
        let executor = way.executor(Registry::builder().tool::<meet>().provide(Barrier::new(together)));
        assert_eq!(texts(&executor.run(calls(&vec!["meet"; together])).await), vec!["met"; together]);
    });
}

// G04
#[test]
fn a_wave_has_at_least_one_call() {
    let tools = registry(Registry::builder().tool::<fail>());
    let none = Executor::builder(tools).strategy(ExecutionStrategy::Batched { size: 0 }).build();
    let error = none.unwrap_err();
    assert!(matches!(error, ExecutorError::Strategy(_)));
    assert_eq!(error.to_string(), "batches of 0 calls would never run a call; set `size` to at least 1");
}

// G08, J10, E02, D04
#[test]
fn outcomes_of_calls_are_independent() {
    each_way(async |way| {
        // The first and the last call are in the same wave only if all calls are.
        let meeting = Barrier::new(if way.size() < 5 { 1 } else { 2 });
        let tools = Registry::builder().tool::<meet>().tool::<fail>().tool::<crash>().provide(meeting);
        let executor = way.executor(tools);
        let outcomes = executor.run(calls(&["meet", "fail", "crash", "met", "meet"])).await;
        assert_eq!(
            texts(&outcomes),
            [
                "met",
                "disk full",
                "The tool crash panicked: boom",
                "Tool not found: met\nDid you mean `meet`?",
                "met"
            ]
        );
        let ids: Vec<_> = outcomes.iter().map(|outcome| outcome.id().to_string()).collect();
        assert_eq!(ids, ["0", "1", "2", "3", "4"]);
        executor.assert_calls_told(&["0", "1", "2", "3", "4"]);
    });
}

// G01
#[test]
fn the_default_strategy_is_parallel_and_strategies_round_trip_through_json() {
    assert_eq!(ExecutionStrategy::default(), ExecutionStrategy::Parallel);
    let written = [
        (ExecutionStrategy::Sequential, json!("sequential")),
        (ExecutionStrategy::Parallel, json!("parallel")),
        (ExecutionStrategy::Batched { size: 2 }, json!({ "batched": { "size": 2 } })),
    ];
    for (strategy, json) in written {
        assert_eq!(serde_json::to_value(strategy).unwrap(), json);
        assert_eq!(serde_json::from_value::<ExecutionStrategy>(json).unwrap(), strategy);
    }
    assert_eq!(
        InvalidStrategy.to_string(),
        "batches of 0 calls would never run a call; set `size` to at least 1"
    );
}

// G07
#[test]
fn a_sequential_tool_makes_its_batch_sequential() {
    each_way_paused(async |way| {
        /// Never runs in parallel with other calls.
        #[tool(register = false, sequential)]
        fn alone(timeline: &Timeline, cx: &ToolContext) {
            timeline.note(format!("alone {}", cx.call_id()));
        }
        let timeline = Timeline::default();
        let tools = Registry::builder().tool::<nap>().tool::<alone>().provide(timeline.clone());
        let outcomes = way.executor(tools).run(calls(&["nap", "alone", "nap"])).await;
        assert_eq!(texts(&outcomes), ["nap 0", "", "nap 2"]);
        assert_eq!(timeline.all(), ["begin 0", "end 0", "alone 1", "begin 2", "end 2"]);
    });
}

// G03, G07
#[test]
fn a_setting_makes_every_strategy_sequential() {
    each_way_paused(async |way| {
        let timeline = Timeline::default();
        let tools = Registry::builder().tool::<nap>().provide(timeline.clone());
        let executor = way.of(building(tools).parallel(false));
        executor.run(calls(&["nap"; 2])).await;
        assert_eq!(timeline.all(), ["begin 0", "end 0", "begin 1", "end 1"]);
        executor.assert_told(["started 0", "finished 0", "started 1", "finished 1"]);
    });
}

// G16
#[test]
fn a_blocking_body_does_not_delay_other_calls() {
    /// Blocks its thread until the other call runs.
    #[tool(register = false, blocking)]
    fn block(signal: &Arc<std::sync::Barrier>) -> &'static str {
        signal.wait();
        "unblocked"
    }
    /// Unblocks the other call.
    #[tool(register = false)]
    async fn unblock(signal: &Arc<std::sync::Barrier>) -> &'static str {
        let signal = Arc::clone(signal);
        tokio::task::spawn_blocking(move || signal.wait()).await.unwrap();
        "done"
    }
    on_both_runtimes(async || {
        let signal = Arc::new(std::sync::Barrier::new(2));
        let tools = Registry::builder().tool::<block>().tool::<unblock>().provide(signal);
        let outcomes = executor(tools).run(calls(&["block", "unblock"])).await;
        assert_eq!(texts(&outcomes), ["unblocked", "done"]);
    });
}

// A15
#[test]
fn a_tool_without_a_body_has_an_error_and_the_batch_continues() {
    each_way(async |way| {
        let schema = tool_runtime::schema::InputSchema::new(json!({ "type": "object" })).unwrap();
        let declared = ToolBuilder::new("declared").description("Elsewhere.").input_schema(schema).external();
        let tools = Registry::builder().add(declared.unwrap()).tool::<fail>();
        let outcomes = way.executor(tools).run(calls(&["declared", "fail"])).await;
        assert_eq!(
            texts(&outcomes),
            ["Tool unavailable: the tool is declared only; this program cannot run it", "disk full"]
        );
        assert!(outcomes[0].result().unwrap().is_error());
    });
}

// A21
#[test]
fn a_batch_may_call_a_tool_many_times() {
    each_way(async |way| {
        /// Echoes a text with its call id.
        #[tool(register = false)]
        fn repeat(text: String, cx: &ToolContext) -> String {
            format!("{text} for {}", cx.call_id())
        }
        let call = |n: u32| tool_runtime::ToolCall::new("repeat", json!({ "text": n.to_string() }));
        let calls: Vec<_> = (0..5).map(|n| call(n).with_id(format!("id-{n}"))).collect();
        let outcomes = way.executor(Registry::builder().tool::<repeat>()).run(calls).await;
        let expected: Vec<_> = (0..5).map(|n| format!("{n} for id-{n}")).collect();
        assert_eq!(texts(&outcomes), expected);
    });
}

// E02, E03
#[test]
fn a_failed_call_does_not_fail_the_batch() {
    let tools = registry(Registry::builder().tool::<fail>());
    let error = crate::run(tools.call("fail", "{}")).unwrap_err();
    assert_eq!((error.kind(), error.feedback()), (ErrorKind::Failed, "disk full".to_owned()));
    let outcomes = crate::run(Executor::new(tools).run(one("fail", "{}")));
    let result = outcomes[0].result().unwrap();
    assert!(result.is_error());
    assert_eq!(result.text(), "disk full");
    assert_eq!(result.attempts, 1);
}

// D10
#[test]
fn a_result_that_cannot_be_serialized_is_an_error_and_the_batch_continues() {
    each_way(async |way| {
        /// Returns a value that JSON cannot represent.
        #[tool(register = false, output_schema = false)]
        fn odd() -> std::collections::BTreeMap<Vec<u8>, u8> {
            [(vec![1], 2)].into()
        }
        let tools = Registry::builder().tool::<odd>().tool::<fail>();
        let outcomes = way.executor(tools).run(calls(&["odd", "fail"])).await;
        assert_eq!(
            texts(&outcomes),
            ["Invalid output: the result cannot be written as JSON: key must be a string", "disk full"]
        );
    });
}

/// Requests an action of its run.
#[tool(register = false)]
fn ask(terminate: bool, key: u32) -> ToolOutput {
    let state = serde_json::from_value(json!({ "key": key })).unwrap();
    ToolOutput::from("asked").with_actions(Actions { terminate, state, ..Actions::default() })
}

// G15, D14
#[test]
fn a_run_terminates_if_all_calls_request_it_and_later_calls_override_earlier_ones() {
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<ask>().tool::<fail>());
        let merged = async |calls: &[(&str, Value)]| {
            let calls =
                calls.iter().map(|(name, arguments)| tool_runtime::ToolCall::new(*name, arguments.clone()));
            merged_actions(&executor.run(calls.collect()).await)
        };
        let asks = |terminate: bool, key: u32| ("ask", json!({ "terminate": terminate, "key": key }));
        let both = merged(&[asks(true, 1), asks(true, 2)]).await;
        assert!(both.terminate);
        assert_eq!(Value::Object(both.state), json!({ "key": 2 }));
        assert!(!merged(&[asks(true, 1), asks(false, 2)]).await.terminate);
        assert!(!merged(&[asks(true, 1), ("fail", json!({}))]).await.terminate);
        assert!(!merged(&[]).await.terminate);
    });
}

// D14
#[test]
fn a_run_does_not_terminate_while_a_call_of_the_batch_is_open() {
    each_way(async |way| {
        let tools = Registry::builder().tool::<ask>();
        let executor = way.of(building(tools).external(|call| call.id().to_string() == "away"));
        let terminates = async |ids: &[&str]| {
            let arguments = json!({ "terminate": true, "key": 1 });
            let call = |id: &&str| ToolCall::new("ask", arguments.clone()).with_id(*id);
            merged_actions(&executor.run(ids.iter().map(call).collect()).await).terminate
        };
        assert!(terminates(&["here", "too"]).await);
        for ids in [&["here", "away"], &["away", "here"]] {
            assert!(!terminates(ids).await); // D14
        }
        assert!(!terminates(&["away"]).await); // D14
    });
}

// D13
#[test]
fn a_tool_may_always_request_the_end_of_its_turn() {
    each_way(async |way| {
        /// Shows a picture, and ends the turn.
        #[tool(register = false, skip_summarization)]
        fn show(fail: bool) -> Result<&'static str, &'static str> {
            if fail { Err("no picture") } else { Ok("shown") }
        }
        let executor = way.executor(Registry::builder().tool::<show>());
        let actions = async |fail: bool| {
            let call = tool_runtime::ToolCall::new("show", json!({ "fail": fail }));
            merged_actions(&executor.run(vec![call]).await)
        };
        assert!(actions(false).await.skip_summarization);
        assert!(!actions(true).await.skip_summarization);
    });
}

/// Is unavailable at first.
#[tool(register = false, read_only)]
fn flicker(seen: &AtomicU32) -> Result<&'static str, ToolError> {
    match seen.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Err(ToolError::failed("not yet").retryable(true)),
        _ => Ok("there"),
    }
}

// G14
#[test]
fn an_executor_alone_answers_messages_without_a_model() {
    each_way_paused(async |way| {
        let tools = Registry::builder().tool::<flicker>().provide(AtomicU32::new(0));
        let executor = way.of(building(tools).retry(Retry::DEFAULT));
        let message: Vec<ToolCall> =
            serde_json::from_value(json!([{ "name": "flicker" }, { "name": "flicker" }])).unwrap();
        let outcomes = executor.run(message).await;
        assert_eq!(texts(&outcomes), ["there", "there"]);
        // Calls without ids got generated ones.
        assert_ne!(outcomes[0].id(), outcomes[1].id());
    });
}

/// Waits in each attempt until another call runs; is unavailable at first.
#[tool(register = false, read_only)]
async fn meet_again(seen: &AtomicU32, meeting: &Barrier) -> Result<&'static str, ToolError> {
    let met = tokio::time::timeout(Duration::from_secs(3600), meeting.wait()).await;
    met.map_err(|_| ToolError::failed("no other call ran at the same time"))?;
    match seen.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Err(ToolError::failed("not yet").retryable(true)),
        _ => Ok("met again"),
    }
}

// G14
#[test]
fn attempts_of_parallel_calls_overlap() {
    each_way_paused(async |way| {
        let tools =
            Registry::builder().tool::<meet_again>().provide(AtomicU32::new(0)).provide(Barrier::new(2));
        let executor = way.of(building(tools).retry(Retry::DEFAULT));
        let outcomes = executor.run(calls(&["meet_again"; 2])).await;
        let expected = match way.size() {
            1 => "no other call ran at the same time",
            _ => "met again",
        };
        assert_eq!(texts(&outcomes), [expected; 2]);
    });
}
