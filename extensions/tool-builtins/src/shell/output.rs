//! The output of a command, as it comes and as a result.

use std::time::Duration;

use serde::Serialize;
use tokio::time::{self, Instant};
use tool_runtime::{policy::ResultStore, prelude::*};

use super::{
    capture::StreamCapture,
    update::{LineBuffer, MAX_HELD},
};
use crate::sandbox::{CommandEnd, Enforced, OutputSink};

/// The exit code of a command that reached its time limit, as of `timeout`.
pub(crate) const TIMED_OUT_EXIT_CODE: i32 = 124;

/// The text of updates that waits while a listener has no room.
const MAX_PENDING_BYTES: usize = 64 << 10;

/// The time for which the result of a command that ended waits for its listener.
const MAX_LISTENER_WAIT: Duration = Duration::from_secs(5);

const MAX_REASON_CHARS: usize = 400;

/// Both streams of a command.
#[derive(Debug, Default)]
pub(crate) struct CommandOutput {
    pub(crate) stdout: StreamCapture,
    pub(crate) stderr: StreamCapture,
    /// A process that left the group may still write.
    pub(crate) is_cut: bool,
}

/// The details of a result.
#[derive(Serialize)]
struct CommandDetails<'a> {
    exit_code: i32,
    success: bool,
    timed_out: bool,
    stdout_bytes: u64,
    stderr_bytes: u64,
    enforced: &'a Enforced,
}

impl CommandOutput {
    pub(crate) fn new(keeps_all: bool) -> Self {
        let (stdout, stderr) = (StreamCapture::new(keeps_all), StreamCapture::new(keeps_all));
        Self { stdout, stderr, is_cut: false }
    }

    /// The text of both streams.
    pub(crate) fn text_of_streams(&mut self, store: Option<&ResultStore>) -> String {
        let mut text = self.stdout.excerpt_and_store_whole(store);
        if self.stderr.total_bytes() > 0 {
            push_missing_line_end(&mut text);
            text.push_str("[stderr]\n");
            text.push_str(&self.stderr.excerpt_and_store_whole(store));
        }
        if self.is_cut {
            push_missing_line_end(&mut text);
            text.push_str(
                "[.. a process that left the command holds its output; what it writes is left out ..]\n",
            );
        }
        text
    }

    /// The error of a command whose sandbox did not start.
    pub(crate) fn start_failure_error(&mut self) -> ToolError {
        let reason: String =
            self.stderr.excerpt_and_store_whole(None).trim().chars().take(MAX_REASON_CHARS).collect();
        let message = format!("the sandbox of the command did not start: {reason}; nothing was run");
        ToolError::new(ErrorKind::Unavailable, message)
    }

    /// The result of a command that ended.
    pub(crate) fn build_result(
        &mut self,
        command_end: CommandEnd,
        enforced: &Enforced,
        store: Option<&ResultStore>,
    ) -> ToolOutput {
        let mut text = self.text_of_streams(store);
        if text.is_empty() {
            text.push_str("[no output]");
        }
        let note = match command_end {
            CommandEnd::Exited(0) => None,
            CommandEnd::Exited(code) => Some(format!("[exit code {code}]")),
            CommandEnd::TimedOut => {
                Some(format!("[timed out and was killed; exit code {TIMED_OUT_EXIT_CODE}]"))
            }
            CommandEnd::Cancelled => Some("[stopped]".to_owned()),
            CommandEnd::NotStarted => Some("[the sandbox did not start; nothing was run]".to_owned()),
        };
        if let Some(note) = note {
            push_missing_line_end(&mut text);
            text.push_str(&note);
        }
        let details = CommandDetails {
            exit_code: result_exit_code(command_end),
            success: command_end == CommandEnd::Exited(0),
            timed_out: command_end == CommandEnd::TimedOut,
            stdout_bytes: self.stdout.total_bytes(),
            stderr_bytes: self.stderr.total_bytes(),
            enforced,
        };
        ToolOutput::from(text).with_details(json!(details))
    }
}

/// The exit code that a result has.
pub(crate) fn result_exit_code(command_end: CommandEnd) -> i32 {
    match command_end {
        CommandEnd::Exited(code) => code,
        CommandEnd::TimedOut => TIMED_OUT_EXIT_CODE,
        // As of a shell whose command was killed.
        CommandEnd::Cancelled => 137,
        // As of a program that cannot be run.
        CommandEnd::NotStarted => 126,
    }
}

fn push_missing_line_end(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Keeps the output of a call, and shows it to listeners by lines as it comes.
pub(crate) struct CallOutput<'a> {
    pub(crate) output: CommandOutput,
    cx: &'a ToolContext,
    stdout_text: LineBuffer,
    stderr_text: LineBuffer,
    /// The text for which the listener had no room, and the moment of the next attempt.
    pending: String,
    retry_at: Option<Instant>,
}

impl<'a> CallOutput<'a> {
    pub(crate) fn new(cx: &'a ToolContext, keeps_all: bool) -> Self {
        Self {
            output: CommandOutput::new(keeps_all),
            cx,
            stdout_text: LineBuffer::default(),
            stderr_text: LineBuffer::default(),
            pending: String::new(),
            retry_at: None,
        }
    }

    /// A listener that is slow loses text: the command does not wait for it.
    fn queue_and_try_to_show(&mut self, text: &str, now: Instant) {
        let is_full = !self.pending.is_empty()
            && !text.is_empty()
            && self.pending.len() + text.len() > MAX_PENDING_BYTES;
        if is_full {
            self.pending.clear();
            self.pending.push_str("[.. some output is not shown ..]\n");
        }
        self.pending.push_str(text);
        // Each attempt copies all of it.
        if self.pending.is_empty() || self.retry_at.is_some_and(|moment| now < moment) {
            return;
        }
        if self.cx.try_update(self.pending.clone()) {
            self.pending.clear();
            self.retry_at = None;
        } else {
            self.retry_at = Some(now + MAX_HELD);
        }
    }

    /// Shows what the listener had no room for. The command has ended: this waits for the listener, but neither without end nor in a
    /// call that is cancelled.
    pub(crate) async fn show_rest(&mut self) {
        let rest = std::mem::take(&mut self.pending);
        if rest.is_empty() {
            return;
        }
        tokio::select! {
            biased;
            () = self.cx.cancellation().cancelled() => {}
            () = self.cx.update(rest) => {}
            () = time::sleep(MAX_LISTENER_WAIT) => {}
        }
    }
}

impl OutputSink for CallOutput<'_> {
    fn receive_stdout(&mut self, bytes: &[u8]) {
        self.output.stdout.push(bytes);
        if self.cx.has_sink() {
            let text = self.stdout_text.push_and_take_lines(bytes);
            self.queue_and_try_to_show(&text, Instant::now());
        }
    }

    fn receive_stderr(&mut self, bytes: &[u8]) {
        self.output.stderr.push(bytes);
        if self.cx.has_sink() {
            let text = self.stderr_text.push_and_take_lines(bytes);
            self.queue_and_try_to_show(&text, Instant::now());
        }
    }

    fn next_show_time(&self) -> Option<Instant> {
        let moments = [self.stdout_text.next_show_time(), self.stderr_text.next_show_time(), self.retry_at];
        moments.into_iter().flatten().min()
    }

    fn show_due_text(&mut self, now: Instant) {
        let text = self.stdout_text.take_due(now) + &self.stderr_text.take_due(now);
        self.queue_and_try_to_show(&text, now);
    }

    fn show_held_text(&mut self) {
        let text = self.stdout_text.take_rest() + &self.stderr_text.take_rest();
        self.queue_and_try_to_show(&text, Instant::now());
    }

    fn mark_possibly_incomplete(&mut self) {
        self.output.is_cut = true;
    }
}

#[cfg(test)]
mod tests;
