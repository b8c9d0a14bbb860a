//! Timeouts: of silence, in all, and of servers that do not read.

use std::time::Duration;

use serde_json::json;
use tool_mcp::client::ClientErrorKind;
use tool_runtime::{Toolbox, prelude::*};

use super::{
    config,
    fake::Fakes,
    lives::{calling, started, text},
};

#[tokio::test(start_paused = true)]
async fn a_mute_server_times_out_and_its_late_answer_belongs_to_no_other_call() {
    let (set, mut fake, _fakes) = started(config().timeout(Duration::from_millis(50)), "one").await;
    let late = calling(&set, "late");
    let request = fake.expect("tools/call").await;
    let error = late.await.unwrap().unwrap_err();
    // M10
    assert_eq!(error.kind(), ClientErrorKind::TimedOut);
    assert_eq!(error.to_string(), "the MCP server `remote` did not answer within 50ms");
    let cancelled = fake.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    let next = calling(&set, "next");
    let other = fake.expect("tools/call").await;
    fake.answer(&request, text("late")).await;
    fake.answer(&other, text("next")).await;
    assert_eq!(next.await.unwrap().unwrap(), "next");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_agrees_times_out_and_the_next_use_connects_again() {
    let (builder, fakes) = Fakes::builder(config().timeout(Duration::from_millis(50)));
    let set = builder.lazy();
    // M10
    let error = set.refresh().await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::TimedOut);
    drop(fakes.next().await);
    let next = calling(&set, "one");
    let mut fake = fakes.next().await;
    fake.initialize().await;
    let request = fake.expect("tools/call").await;
    fake.answer(&request, text("done")).await;
    assert_eq!(next.await.unwrap().unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_a_connection_share_its_error() {
    let (builder, fakes) = Fakes::builder(config().timeout(Duration::from_millis(50)));
    let set = builder.lazy();
    let calls: Vec<_> = (0..8).map(|_| calling(&set, "one")).collect();
    for call in calls {
        // M12
        assert_eq!(call.await.unwrap().unwrap_err().kind(), ClientErrorKind::TimedOut);
    }
    assert_eq!(fakes.waiting(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_run_replaces_the_timeout() {
    let (set, mut fake, _fakes) = started(config().timeout(Duration::from_millis(20)), "one").await;
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let run = RunContext::new().with_deadline(std::time::Instant::now() + Duration::from_secs(60));
    let executor = Executor::new(toolbox.snapshot(&run).await.unwrap().into_tools());
    let batch = async move { executor.batch(vec![ToolCall::new("one", "{}")]).with_run(run).run().await };
    let batch = tokio::spawn(batch);
    let request = fake.expect("tools/call").await;
    // M10
    let cancelled = tokio::time::timeout(Duration::from_millis(100), fake.message()).await;
    assert!(cancelled.is_err(), "{cancelled:?}");
    fake.answer(&request, text("done")).await;
    assert_eq!(batch.await.unwrap()[0].result().unwrap().text(), "done");
}

#[tokio::test(start_paused = true)]
async fn progress_starts_the_timeout_anew() {
    let (set, mut fake, _fakes) = started(config().timeout(Duration::from_secs(1)), "one").await;
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    let token = &request["params"]["_meta"]["progressToken"];
    for done in 1..=4 {
        let quiet = tokio::time::timeout(Duration::from_millis(300), fake.message()).await;
        // M10
        assert!(quiet.is_err(), "{quiet:?}");
        let params = json!({ "progressToken": token, "progress": done });
        fake.send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })).await;
    }
    fake.answer(&request, text("done")).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_keep_a_call_alive_beyond_the_total_timeout() {
    let config = config().timeout(Duration::from_secs(2)).total_timeout(Duration::from_secs(4));
    let (set, mut fake, _fakes) = started(config, "one").await;
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    let token = &request["params"]["_meta"]["progressToken"];
    let cancelled = loop {
        let params = json!({ "progressToken": token, "progress": 1 });
        fake.send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })).await;
        if let Ok(message) = tokio::time::timeout(Duration::from_secs(1), fake.message()).await {
            break message.unwrap();
        }
    };
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::TimedOut);
    assert_eq!(error.to_string(), "the MCP server `remote` did not answer within 4s");
}

#[tokio::test(start_paused = true)]
async fn neither_a_timeout_nor_a_failure_is_a_reason_to_connect_again() {
    let config = config().timeout(Duration::from_millis(50)).reconnect(3);
    let (set, mut fake, fakes) = started(config, "one").await;
    let call = calling(&set, "one");
    fake.expect("tools/call").await;
    let error = call.await.unwrap().unwrap_err();
    // M12
    assert_eq!(error.kind(), ClientErrorKind::TimedOut);
    fake.expect("notifications/cancelled").await;
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    fake.answer(&request, json!({ "content": [{ "type": "text", "text": "boom" }], "isError": true })).await;
    assert_eq!(call.await.unwrap().unwrap(), "boom");
    assert_eq!(fakes.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn reconnections_are_counted_by_call() {
    let (builder, fakes) = Fakes::builder(config().reconnect(1));
    let far = fakes.clone();
    let fake = tokio::spawn(async move {
        let mut fake = far.next().await;
        fake.initialize().await;
        fake.list(json!([{ "name": "one", "annotations": { "readOnlyHint": true } }])).await;
        fake
    });
    let set = builder.connect().await.unwrap();
    let mut fake = fake.await.unwrap();
    // M12
    for _ in 0..2 {
        let call = calling(&set, "one");
        fake.expect("tools/call").await;
        drop(fake);
        let mut second = fakes.next().await;
        second.initialize().await;
        second.expect("tools/call").await;
        drop(second);
        assert_eq!(call.await.unwrap().unwrap_err().kind(), ClientErrorKind::Lost);
        assert_eq!(fakes.waiting(), 0);
        // The next call has its own.
        let call = calling(&set, "one");
        fake = fakes.next().await;
        fake.initialize().await;
        let request = fake.expect("tools/call").await;
        fake.answer(&request, text("done")).await;
        assert_eq!(call.await.unwrap().unwrap(), "done");
    }
}

#[tokio::test(start_paused = true)]
async fn times_beyond_the_clock_are_no_limits() {
    let (set, mut fake, _fakes) =
        started(config().timeout(Duration::MAX).total_timeout(Duration::MAX), "one").await;
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    let token = &request["params"]["_meta"]["progressToken"];
    let params = json!({ "progressToken": token, "progress": 1 });
    fake.send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })).await;
    fake.answer(&request, text("done")).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_reads_nothing_times_out() {
    let (set, _fake, _fakes) = started(config().timeout(Duration::from_millis(50)), "one").await;
    // More than the stream takes.
    let large = json!({ "text": "x".repeat(2_000_000) });
    let error = set.call_raw("one", large.as_object().unwrap().clone()).await.unwrap_err();
    // M10
    assert_eq!(error.kind(), ClientErrorKind::TimedOut);
}
