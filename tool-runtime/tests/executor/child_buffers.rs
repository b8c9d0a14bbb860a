//! Reports of child runs, whose events share the buffer of the stream above.

use std::sync::{Arc, Mutex};

use tool_runtime::{Executor, ToolCall, context::Progress, executor::StreamItem, prelude::*};

use super::{building, executor};

/// The executor of child runs.
struct Inner(Executor);

/// The results of reports.
#[derive(Clone, Default)]
struct Reports(Arc<Mutex<Vec<String>>>);

/// Reports its progress.
#[tool(register = false)]
fn report(cx: &ToolContext, reports: &Reports) {
    let report = cx.progress(Progress::new(1.0));
    let text = report.map_or_else(|error| error.reason().into_owned(), |()| "sent".to_owned());
    reports.0.lock().unwrap().push(text);
}

/// Runs `report` in a child run.
#[tool(register = false)]
async fn forward(cx: &ToolContext, to: &Inner) -> Result<(), ToolError> {
    let run = cx.child_run("inner")?;
    drop(to.0.batch(vec![ToolCall::new("report", "{}")]).with_run(run).run().await);
    Ok(())
}

// Q23, K06
#[test]
fn a_report_of_a_child_run_is_an_error_if_the_reader_above_has_no_room() {
    crate::run(async {
        let slow = "the reader of the stream is too slow: its buffer is full";
        for (capacity, expected, count) in [(1, slow, 4), (16, "sent", 5)] {
            let reports = Reports::default();
            let inner = executor(Registry::builder().tool::<report>().provide(reports.clone()));
            let tools = Registry::builder().tool::<forward>().provide(Inner(inner));
            let executor = building(tools).event_buffer(capacity).build().unwrap();
            let mut stream = executor.stream(vec![ToolCall::new("forward", "{}")]);
            let mut events = 0;
            while let Some(StreamItem::Event(_)) = stream.next().await {
                events += 1;
            }
            let reports = reports.0.lock().unwrap().clone();
            assert_eq!((events, reports), (count, vec![expected.to_owned()]));
        }
    });
}
