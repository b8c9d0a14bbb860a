//! Two long calls in parallel: their progress is shown as bars on a terminal, and as lines in a pipe.
//!
//! ```sh
//! cargo run -p examples --bin progress
//! cargo run -p examples --bin progress | cat
//! ```

use std::{
    collections::HashMap,
    io::{self, IsTerminal},
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tokio::time::sleep;
use tool_runtime::{
    Executor, ToolCall, ToolResult, call::CallId, context::Progress, event::EventKind, executor::StreamItem,
    prelude::*,
};

/// Copies a number of files, one at a time.
#[tool]
async fn copy(
    /// The number of files.
    #[schemars(range(min = 1, max = 100))]
    files: u8,
    cx: &ToolContext,
) -> String {
    for file in 1..=files {
        sleep(Duration::from_millis(40)).await;
        let progress = Progress::new(f64::from(file)).of(f64::from(files));
        // Progress that is not delivered, for example to a slow listener, does not fail the call.
        let _ = cx.progress(progress.message(format!("file {file}")));
    }
    format!("{files} files copied")
}

/// Displays the events of calls.
trait Display {
    fn started(&mut self, call: &ToolCall);
    fn progress(&mut self, id: &CallId, progress: &Progress);
    fn finished(&mut self, result: &ToolResult);
}

/// Progress bars for a person at a terminal.
#[derive(Default)]
struct Bars {
    all: MultiProgress,
    by_call: HashMap<CallId, ProgressBar>,
}

impl Display for Bars {
    fn started(&mut self, call: &ToolCall) {
        // A bar of 30 columns between the id of the call and the latest message.
        let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {msg}");
        let bar = ProgressBar::new(1).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(call.id.to_string());
        self.by_call.insert(call.id.clone(), self.all.add(bar));
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "files are few and whole")]
    fn progress(&mut self, id: &CallId, progress: &Progress) {
        if let Some(bar) = self.by_call.get(id) {
            bar.set_length(progress.total.unwrap_or_default() as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(progress.message.clone().unwrap_or_default());
        }
    }

    fn finished(&mut self, result: &ToolResult) {
        if let Some(bar) = self.by_call.remove(&result.id) {
            bar.finish_with_message(result.text().into_owned());
        }
    }
}

/// Lines for another program.
struct Lines;

impl Display for Lines {
    fn started(&mut self, call: &ToolCall) {
        println!("{} started", call.id);
    }

    fn progress(&mut self, id: &CallId, progress: &Progress) {
        println!("{id} {} of {}", progress.done, progress.total.unwrap_or_default());
    }

    fn finished(&mut self, result: &ToolResult) {
        println!("{} finished: {}", result.id, result.text());
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let executor = Executor::new(Registry::discover()?);
    let copy = |id: &str, files: u8| ToolCall::new("copy", json!({ "files": files })).with_id(id);
    let mut stream = executor.stream(vec![copy("photos", 5), copy("songs", 3)]);

    let mut display: Box<dyn Display> =
        if io::stdout().is_terminal() { Box::new(Bars::default()) } else { Box::new(Lines) };
    while let Some(item) = stream.next().await {
        let StreamItem::Event(event) = item else { break };
        match &event.kind {
            EventKind::Started { call } => display.started(call),
            EventKind::Progress { progress } => display.progress(event.id(), progress),
            EventKind::Finished { result } => display.finished(result),
            // The tool of this example sends no updates and asks no questions.
            _ => {}
        }
    }
    Ok(())
}
