//! Events of child runs at a worker that does not end them.

use std::{sync::Arc, time::Duration};

use tool_fleet::MemoryTransport;
use tool_runtime::{
    CancellationToken, Executor, RunContext, ToolCall, ToolResult,
    event::{EventKind, ToolEvent},
    executor::{CallStream, StreamItem},
    prelude::*,
};

use super::{Probe, connect, serve};

/// Waits for ever.
#[tool(register = false)]
async fn wait_forever(probe: &Probe) {
    probe.entered.notify_one();
    std::future::pending().await
}

/// Calls `wait_forever` in a child run of a child run.
#[tool(register = false)]
async fn outer(levels: u32, probe: &Arc<Probe>, cx: &ToolContext) -> Result<String, ToolError> {
    let tools = Registry::builder().tool::<wait_forever>().tool::<outer>().provide_shared(Arc::clone(probe));
    let executor = Executor::new(tools.provide(Arc::clone(probe)).build().map_err(ToolError::from_source)?);
    let call = match levels {
        0 => ToolCall::new("wait_forever", json!({})),
        levels => ToolCall::new("outer", json!({ "levels": levels - 1 })),
    };
    executor.batch(vec![call]).with_run(cx.child_run("child")?).run().await;
    Ok("never".to_owned())
}

/// Returns `child/child/wait_forever started` for an event.
fn line_of(event: &ToolEvent) -> String {
    match &event.kind {
        EventKind::Child { event } => format!("child/{}", line_of(event)),
        EventKind::Started { .. } => format!("{} started", event.name),
        EventKind::Finished { result } => format!("{} finished: {}", event.name, result.is_error()),
        other => format!("{other:?}"),
    }
}

/// Reads a stream until a body waits, then calls `interrupt`, and reads to the end.
async fn read(mut stream: CallStream, probe: &Probe, interrupt: impl FnOnce()) -> (Vec<String>, ToolResult) {
    let (mut lines, mut interrupt) = (Vec::new(), Some(interrupt));
    loop {
        let item = tokio::select! {
            biased;
            item = stream.next() => item,
            () = probe.entered.notified(), if interrupt.is_some() => {
                // The events of the start have arrived.
                tokio::time::sleep(Duration::from_millis(10)).await;
                if let Some(interrupt) = interrupt.take() {
                    interrupt();
                }
                continue;
            }
        };
        match item.unwrap() {
            StreamItem::Event(event) => lines.push(line_of(&event)),
            StreamItem::Outcomes(outcomes) => return (lines, outcomes[0].result().cloned().unwrap()),
        }
    }
}

const STARTS: [&str; 3] = ["trip__outer started", "child/outer started", "child/child/wait_forever started"];

fn check_ends(lines: &[String]) {
    assert_eq!(lines[..3], STARTS);
    let mut ends = lines[3..].to_vec();
    ends.sort();
    let expected = [
        "child/child/wait_forever finished: true",
        "child/outer finished: true",
        "trip__outer finished: true",
    ];
    assert_eq!(ends, expected, "{lines:?}");
    assert_eq!(lines.last().unwrap(), "trip__outer finished: true");
}

fn tools(probe: &Arc<Probe>) -> Registry {
    Registry::builder().tool::<outer>().provide(Arc::clone(probe)).build().unwrap()
}

fn calls() -> Vec<ToolCall> {
    vec![ToolCall::new("trip__outer", json!({ "levels": 1 }))]
}

#[tokio::test(start_paused = true)]
async fn calls_of_child_runs_end_if_their_worker_is_lost() {
    let (transport, probe) = (MemoryTransport::new(), Arc::new(Probe::default()));
    let worker = serve(&transport, "trip", Executor::new(tools(&probe)));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let (lines, result) = read(executor.stream(calls()), &probe, || worker.abort()).await;
    assert!(result.text().contains("1 worker ended during it"), "{}", result.text());
    check_ends(&lines);
}

/// The caller drops the call at the end of the grace period, before the worker reports the ends.
#[tokio::test(start_paused = true)]
async fn calls_of_child_runs_end_if_the_call_is_cancelled() {
    let (transport, probe) = (MemoryTransport::new(), Arc::new(Probe::default()));
    let worker = serve(&transport, "trip", Executor::new(tools(&probe)));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let executor = Executor::builder(executor.tools().clone()).grace_period(Duration::ZERO).build().unwrap();
    let token = CancellationToken::new();
    let run = RunContext::new().with_cancellation(token.clone());
    let stream = executor.batch(calls()).with_run(run).stream();
    let (lines, result) = read(stream, &probe, || token.cancel()).await;
    assert_eq!(result.text(), "Cancelled");
    check_ends(&lines); // Q05
    worker.abort();
}

/// Begins calls that never end.
#[tool(register = false)]
async fn crowd(calls: usize, probe: &Arc<Probe>, cx: &ToolContext) -> Result<String, ToolError> {
    let tools = Registry::builder().tool::<wait_forever>().provide_shared(Arc::clone(probe));
    let executor = Executor::new(tools.build().map_err(ToolError::from_source)?);
    let calls = (0..calls).map(|_| ToolCall::new("wait_forever", json!({}))).collect();
    executor.batch(calls).with_run(cx.child_run("child")?).run().await;
    Ok("never".to_owned())
}

#[tokio::test(start_paused = true)]
async fn more_open_calls_of_child_runs_than_the_limit_end_the_call_with_an_error_that_names_it() {
    let transport = MemoryTransport::new();
    let probe = Arc::new(Probe::default());
    let tools = Registry::builder().tool::<crowd>().provide(Arc::clone(&probe));
    let worker = serve(&transport, "trip", Executor::new(tools.build().unwrap()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let mut stream = executor.stream(vec![ToolCall::new("trip__crowd", json!({ "calls": 4097 }))]);
    let (mut started, mut finished) = (0, 0);
    let result = loop {
        match stream.next().await.unwrap() {
            StreamItem::Event(event) if line_of(&event) == "child/wait_forever started" => started += 1,
            StreamItem::Event(event) if line_of(&event).starts_with("child/wait_forever finished") => {
                finished += 1
            }
            StreamItem::Event(_) => {}
            StreamItem::Outcomes(outcomes) => break outcomes[0].result().cloned().unwrap(),
        }
    };
    assert!(
        result.is_error() && result.text().contains("more than 4096 calls of child runs"),
        "{}",
        result.text()
    );
    // Each call that was shown has an end.
    assert_eq!((started, finished), (4096, 4096));
    worker.abort();
}
