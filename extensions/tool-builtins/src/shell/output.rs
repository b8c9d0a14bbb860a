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
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use std::{
        sync::{
            Arc, Mutex,
            atomic::{AtomicBool, AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use tokio::time;
    use tool_runtime::{BoxFuture, CancellationToken, context::CallSink};

    use super::*;

    /// Keeps what it is shown, and has no room while it is slow; never again if it is dead.
    #[derive(Default)]
    struct Listener {
        is_slow: AtomicBool,
        is_dead: bool,
        attempts: AtomicUsize,
        shown: Mutex<String>,
    }

    impl CallSink for Listener {
        fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
            if self.is_dead {
                return Box::pin(std::future::pending());
            }
            self.shown.lock().unwrap().push_str(&update.text());
            Box::pin(std::future::ready(()))
        }

        fn try_update(&self, update: ToolOutput) -> bool {
            self.attempts.fetch_add(1, Ordering::Relaxed);
            if self.is_slow.load(Ordering::Relaxed) {
                return false;
            }
            self.shown.lock().unwrap().push_str(&update.text());
            true
        }
    }

    impl Listener {
        fn slow(is_dead: bool) -> Arc<Self> {
            Arc::new(Self { is_slow: AtomicBool::new(true), is_dead, ..Self::default() })
        }

        fn context(self: &Arc<Self>) -> ToolContext {
            ToolContext::for_test().with_sink(Arc::clone(self) as Arc<dyn CallSink>)
        }

        fn shown_text(&self) -> String {
            self.shown.lock().unwrap().clone()
        }
    }

    // R02
    #[tokio::test]
    async fn a_text_of_any_length_is_shown_whole_to_a_listener_with_room() {
        let listener = Arc::new(Listener::default());
        let cx = listener.context();
        let mut output = CallOutput::new(&cx, false);
        let lines = "12345678 and so on\n".repeat(1 + MAX_PENDING_BYTES / 10);
        output.receive_stdout(b"line ");
        output.receive_stdout(lines.as_bytes());
        assert_eq!(listener.shown_text(), format!("line {lines}"));
    }

    // R02
    #[tokio::test]
    async fn a_slow_listener_is_shown_the_end_and_told_what_it_lost() {
        let listener = Listener::slow(false);
        let cx = listener.context();
        let mut output = CallOutput::new(&cx, false);
        for name in ["a\n", "b\n", "c\n"] {
            output.receive_stdout(name.repeat(MAX_PENDING_BYTES / 3).as_bytes());
        }
        output.receive_stdout(b"end");
        output.show_held_text();
        assert_eq!(listener.shown_text(), "");
        output.show_rest().await;
        let last = "c\n".repeat(MAX_PENDING_BYTES / 3);
        assert_eq!(listener.shown_text(), format!("[.. some output is not shown ..]\n{last}end"));
    }

    // R02
    #[tokio::test(start_paused = true)]
    async fn a_prompt_of_one_stream_is_shown_while_the_other_one_goes_on() {
        let listener = Arc::new(Listener::default());
        let cx = listener.context();
        let mut output = CallOutput::new(&cx, false);
        output.receive_stderr(b"Your name? ");
        let prompt_at = output.next_show_time().unwrap();
        for _ in 0..10 {
            assert!(!listener.shown_text().contains("Your name? "));
            time::advance(Duration::from_millis(10)).await;
            output.receive_stdout(b"a line\nand ");
            assert_eq!(output.next_show_time(), Some(prompt_at));
        }
        output.show_due_text(Instant::now());
        assert!(listener.shown_text().ends_with("a line\nYour name? "), "{}", listener.shown_text());
        assert!(output.next_show_time() > Some(prompt_at));
    }

    // R02
    #[tokio::test(start_paused = true)]
    async fn a_slow_listener_is_tried_once_for_each_pause() {
        let listener = Listener::slow(false);
        let cx = listener.context();
        let mut output = CallOutput::new(&cx, false);
        for _ in 0..1000 {
            output.receive_stdout(b"a line\n");
        }
        assert_eq!(listener.attempts.load(Ordering::Relaxed), 1);
        time::advance(MAX_HELD).await;
        output.receive_stdout(b"a line\n");
        assert_eq!(listener.attempts.load(Ordering::Relaxed), 2);
    }

    // R02
    #[tokio::test]
    async fn a_long_text_is_tried_again_whole() {
        let listener = Listener::slow(false);
        let cx = listener.context();
        let mut output = CallOutput::new(&cx, false);
        let lines = "a line\n".repeat(MAX_PENDING_BYTES / 5);
        output.receive_stdout(lines.as_bytes());
        output.show_due_text(output.next_show_time().unwrap());
        listener.is_slow.store(false, Ordering::Relaxed);
        output.show_due_text(output.next_show_time().unwrap());
        assert_eq!(listener.shown_text(), lines);
        assert_eq!(output.next_show_time(), None);
    }

    // R02
    #[tokio::test(start_paused = true)]
    async fn a_dead_listener_delays_a_result_by_a_bounded_time_and_the_one_of_a_cancelled_call_not_at_all() {
        let listener = Listener::slow(true);
        let token = CancellationToken::new();
        let cx = listener.context().with_cancellation(token.clone());
        for (is_cancelled, delay) in [(false, MAX_LISTENER_WAIT), (true, Duration::ZERO)] {
            if is_cancelled {
                token.cancel();
            }
            let mut output = CallOutput::new(&cx, false);
            output.receive_stdout(b"a line\n");
            let start = Instant::now();
            output.show_rest().await;
            assert!(start.elapsed() >= delay && start.elapsed() <= delay + Duration::from_millis(1));
        }
        assert_eq!(listener.shown_text(), "");
    }
}
