//! The output of a command, as it comes and as a result.

use serde::Serialize;
use tool_runtime::{policy::ResultStore, prelude::*};

use super::{capture::StreamCapture, update::LineText};
use crate::sandbox::{Ending, Enforced, OutputSink};

/// The exit code of a command that reached its time limit, as of `timeout`.
pub(crate) const TIMED_OUT_EXIT_CODE: i32 = 124;

/// The text of updates that waits while a listener has no room.
const MAX_PENDING_BYTES: usize = 64 << 10;

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
    pub(crate) fn text(&mut self, store: Option<&ResultStore>) -> String {
        let mut text = self.stdout.text(store);
        if self.stderr.total_bytes() > 0 {
            end_line(&mut text);
            text.push_str("[stderr]\n");
            text.push_str(&self.stderr.text(store));
        }
        if self.is_cut {
            end_line(&mut text);
            text.push_str(
                "[.. a process that left the command holds its output; what it writes is left out ..]\n",
            );
        }
        text
    }

    /// The error of a command whose sandbox did not start.
    pub(crate) fn start_failure(&mut self) -> ToolError {
        let reason: String = self.stderr.text(None).trim().chars().take(MAX_REASON_CHARS).collect();
        let message = format!("the sandbox of the command did not start: {reason}; nothing was run");
        ToolError::new(ErrorKind::Unavailable, message)
    }

    /// The result of a command that ended.
    pub(crate) fn result(
        &mut self,
        ending: Ending,
        enforced: &Enforced,
        store: Option<&ResultStore>,
    ) -> ToolOutput {
        let mut text = self.text(store);
        if text.is_empty() {
            text.push_str("[no output]");
        }
        let note = match ending {
            Ending::Exited(0) => None,
            Ending::Exited(code) => Some(format!("[exit code {code}]")),
            Ending::TimedOut => Some(format!("[timed out and was killed; exit code {TIMED_OUT_EXIT_CODE}]")),
            Ending::Cancelled => Some("[stopped]".to_owned()),
            Ending::NotStarted => Some("[the sandbox did not start; nothing was run]".to_owned()),
        };
        if let Some(note) = note {
            end_line(&mut text);
            text.push_str(&note);
        }
        let details = CommandDetails {
            exit_code: exit_code(ending),
            success: ending == Ending::Exited(0),
            timed_out: ending == Ending::TimedOut,
            stdout_bytes: self.stdout.total_bytes(),
            stderr_bytes: self.stderr.total_bytes(),
            enforced,
        };
        ToolOutput::from(text).with_details(json!(details))
    }
}

/// The exit code that a result has.
pub(crate) fn exit_code(ending: Ending) -> i32 {
    match ending {
        Ending::Exited(code) => code,
        Ending::TimedOut => TIMED_OUT_EXIT_CODE,
        // As of a shell whose command was killed.
        Ending::Cancelled => 137,
        // As of a program that cannot be run.
        Ending::NotStarted => 126,
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Keeps the output of a call, and shows it to listeners by lines as it comes.
pub(crate) struct CallOutput<'a> {
    pub(crate) output: CommandOutput,
    cx: &'a ToolContext,
    stdout_text: LineText,
    stderr_text: LineText,
    pending: String,
    /// Changes with each text that is shown.
    shown_parts: u64,
}

impl<'a> CallOutput<'a> {
    pub(crate) fn new(cx: &'a ToolContext, keeps_all: bool) -> Self {
        Self {
            output: CommandOutput::new(keeps_all),
            cx,
            stdout_text: LineText::default(),
            stderr_text: LineText::default(),
            pending: String::new(),
            shown_parts: 0,
        }
    }

    /// A listener that is slow loses text: the command does not wait for it.
    fn show(&mut self, text: &str) {
        if self.pending.len() + text.len() > MAX_PENDING_BYTES {
            self.pending.clear();
            self.pending.push_str("[.. some output is not shown ..]\n");
        }
        self.pending.push_str(text);
        if !self.pending.is_empty() && self.cx.try_update(self.pending.clone()) {
            self.pending.clear();
        }
        self.shown_parts += u64::from(!text.is_empty());
    }
}

impl OutputSink for CallOutput<'_> {
    fn receive_stdout(&mut self, bytes: &[u8]) {
        self.output.stdout.push(bytes);
        if self.cx.has_sink() {
            let text = self.stdout_text.push(bytes);
            self.show(&text);
        }
    }

    fn receive_stderr(&mut self, bytes: &[u8]) {
        self.output.stderr.push(bytes);
        if self.cx.has_sink() {
            let text = self.stderr_text.push(bytes);
            self.show(&text);
        }
    }

    fn held_part(&self) -> Option<u64> {
        let is_held =
            !self.stdout_text.is_empty() || !self.stderr_text.is_empty() || !self.pending.is_empty();
        is_held.then_some(self.shown_parts)
    }

    fn show_held(&mut self) {
        let text = self.stdout_text.take_rest() + &self.stderr_text.take_rest();
        self.show(&text);
    }

    fn mark_cut(&mut self) {
        self.output.is_cut = true;
    }
}
