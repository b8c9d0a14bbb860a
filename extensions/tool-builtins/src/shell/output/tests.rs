#![allow(clippy::unwrap_used, reason = "tests may")]

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

#[test]
fn a_result_has_both_streams_a_note_of_its_end_and_its_details() {
    let all = [
        (CommandEnd::Exited(0), "", 0, true, false),
        (CommandEnd::Exited(7), "[exit code 7]", 7, false, false),
        (CommandEnd::TimedOut, "[timed out and was killed; exit code 124]", 124, false, true),
        (CommandEnd::Cancelled, "[stopped]", 137, false, false),
        (CommandEnd::NotStarted, "[the sandbox did not start; nothing was run]", 126, false, false),
    ];
    let cut = "[.. a process that left the command holds its output; what it writes is left out ..]\n";
    for (command_end, note, exit_code, success, timed_out) in all {
        for (stdout, stderr, is_cut, text) in [
            ("", "", false, "[no output]".to_owned()),
            ("one", "", false, "one".to_owned()),
            ("one\n", "two", false, "one\n[stderr]\ntwo".to_owned()),
            ("one", "two\n", false, "one\n[stderr]\ntwo\n".to_owned()),
            ("", "two", true, format!("[stderr]\ntwo\n{cut}")),
            ("", "", true, cut.to_owned()),
        ] {
            let mut output = CommandOutput::new(false);
            output.stdout.push(stdout.as_bytes());
            output.stderr.push(stderr.as_bytes());
            output.is_cut = is_cut;
            let enforced = Enforced::nothing("a reason");
            let result = output.build_result(command_end, &enforced, None);
            let gap = if note.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            assert_eq!(result.text(), format!("{text}{gap}{note}"));
            let details = json!({
                "exit_code": exit_code,
                "success": success,
                "timed_out": timed_out,
                "stdout_bytes": stdout.len(),
                "stderr_bytes": stderr.len(),
                "enforced": {
                    "files": null, "network": null, "processes": null, "memory": null, "missing": ["a reason"],
                },
            });
            assert_eq!(result.details(), Some(&details));
        }
    }
}

#[test]
fn a_sandbox_that_did_not_start_is_unavailable_with_up_to_400_characters_of_the_reason() {
    for (written, shown) in
        [("\n no namespace \n", "no namespace".to_owned()), (&*"é".repeat(401), "é".repeat(400))]
    {
        let mut output = CommandOutput::default();
        output.stderr.push(written.as_bytes());
        let error = output.start_failure_error();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let message = format!("the sandbox of the command did not start: {shown}; nothing was run");
        assert!(error.to_string().ends_with(&message), "{error}");
    }
}

// R02
#[tokio::test]
async fn up_to_64_kib_wait_for_a_slow_listener() {
    let half = "a\n".repeat(MAX_PENDING_BYTES / 4);
    for (more, expected) in
        [("", format!("{half}{half}")), ("b\n", "[.. some output is not shown ..]\nb\n".to_owned())]
    {
        let listener = Listener::slow(false);
        let cx = listener.context();
        let mut output = CallOutput::new(&cx, false);
        output.receive_stdout(half.as_bytes());
        output.receive_stderr(half.as_bytes());
        output.receive_stderr(more.as_bytes());
        output.show_rest().await;
        assert_eq!(listener.shown_text(), expected);
    }
    let cx = ToolContext::for_test();
    let mut output = CallOutput::new(&cx, false);
    output.receive_stdout(b"unseen\n");
    output.mark_possibly_incomplete();
    assert_eq!((output.pending.as_str(), output.output.is_cut), ("", true));
}
