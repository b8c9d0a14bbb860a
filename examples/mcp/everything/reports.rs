//! Reports of running calls: progress, log lines, cancellation.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tokio::time::sleep;
use tool_runtime::{
    context::{LogLevel, LogLine, Progress},
    prelude::*,
};

/// The pause between two reports.
const PAUSE: Duration = Duration::from_millis(50);

/// Writes three lines to the log.
#[tool]
async fn test_tool_with_logging(cx: &ToolContext) -> Result<&'static str, ToolError> {
    for (at, line) in
        ["Tool execution started", "Tool processing data", "Tool execution completed"].iter().enumerate()
    {
        if at > 0 {
            sleep(PAUSE).await;
        }
        cx.log(LogLine::new(LogLevel::Info, *line))?;
    }
    Ok("The log has three lines.")
}

/// Writes one line to the log. From revision 2026-07-28 on, a client requests log lines with each call.
#[tool]
fn test_logging_tool(cx: &ToolContext) -> Result<&'static str, ToolError> {
    cx.log(LogLine::new(LogLevel::Info, "A line of the log"))?;
    Ok("The log has one line.")
}

/// Reports its progress.
#[tool]
async fn test_tool_with_progress(cx: &ToolContext) -> Result<&'static str, ToolError> {
    for done in [0.0, 50.0, 100.0] {
        if done > 0.0 {
            sleep(PAUSE).await;
        }
        cx.progress(Progress::new(done).of(100.0))?;
    }
    Ok("The work is done.")
}

/// The number of calls of `test_wait` that were cancelled.
static CANCELLED: AtomicUsize = AtomicUsize::new(0);

/// Waits until the call is cancelled.
#[tool]
async fn test_wait(cx: &ToolContext) {
    cx.cancellation().cancelled().await;
    CANCELLED.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of calls of `test_wait` that were cancelled.
#[tool(read_only)]
fn test_cancelled_calls() -> usize {
    CANCELLED.load(Ordering::Relaxed)
}
