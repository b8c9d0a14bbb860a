//! The receiver of a run's reports.

use std::sync::{Arc, Mutex};

use tool_runtime::{
    Executor, RunContext, ToolCall,
    context::{CallSink, LogLevel, LogLine, Progress},
    prelude::*,
};

#[derive(Default)]
struct Reports(Mutex<Vec<String>>);

impl CallSink for Reports {
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        self.0.lock().unwrap().push(format!("{} done", progress.done));
        Ok(())
    }

    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        self.0.lock().unwrap().push(line.message);
        Ok(())
    }
}

/// Reports, and leaves a handle behind that would report again.
#[tool(register = false)]
fn work(left: &Mutex<Vec<ToolContext>>, cx: &ToolContext) -> Result<(), ToolError> {
    cx.progress(Progress::new(1.0))?;
    cx.log(LogLine::new(LogLevel::Info, "half way"))?;
    left.lock().unwrap().push(cx.clone());
    Ok(())
}

#[tokio::test]
async fn a_run_receives_progress_and_lines_of_its_calls_while_they_run() {
    for is_watched in [false, true] {
        let left = Arc::new(Mutex::new(Vec::<ToolContext>::new()));
        let tools = Registry::builder().tool::<work>().provide_shared(Arc::clone(&left)).build().unwrap();
        let executor = Executor::new(tools);
        let listener = is_watched.then(|| executor.subscribe());
        let reports = Arc::new(Reports::default());
        let run = RunContext::new().with_sink(reports.clone());
        executor.batch(vec![ToolCall::new("work", "{}")]).with_run(run).run().await;
        // K02
        for cx in left.lock().unwrap().drain(..) {
            let _ = cx.log(LogLine::new(LogLevel::Info, "too late"));
        }
        assert_eq!(*reports.0.lock().unwrap(), ["1 done", "half way"], "watched: {is_watched}");
        drop(listener);
    }
}

/// A receiver that has gone away.
struct Closed;

impl CallSink for Closed {
    fn progress(&self, _: Progress) -> Result<(), ToolError> {
        Err(ToolError::failed("the client has gone"))
    }

    fn log(&self, _: LogLine) -> Result<(), ToolError> {
        Err(ToolError::failed("the client has gone"))
    }
}

/// Reports, and returns the errors of both reports.
#[tool(register = false)]
fn report(cx: &ToolContext) -> Vec<String> {
    let reports = [cx.progress(Progress::new(1.0)), cx.log(LogLine::new(LogLevel::Info, "half way"))];
    reports
        .into_iter()
        .map(|report| report.map_or_else(|error| error.to_string(), |()| "sent".to_owned()))
        .collect()
}

// C13
#[tokio::test]
async fn a_report_that_is_not_delivered_is_an_error_of_the_report() {
    let run = |run: RunContext| {
        let executor = Executor::new(Registry::builder().tool::<report>().build().unwrap());
        let batch = executor.batch(vec![ToolCall::new("report", "{}")]).with_run(run);
        async move { batch.run().await[0].result().unwrap().text().into_owned() }
    };
    let refused = run(RunContext::new().with_sink(Arc::new(Closed))).await;
    assert_eq!(refused.matches("the client has gone").count(), 2, "{refused}");
    let accepted = run(RunContext::new().with_sink(Arc::new(Reports::default()))).await;
    assert_eq!(accepted, r#"["sent","sent"]"#);
    assert_eq!(run(RunContext::new()).await, r#"["sent","sent"]"#);
}
