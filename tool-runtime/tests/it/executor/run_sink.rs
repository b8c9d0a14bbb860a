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
