//! Events of running calls on the standard error, and Ctrl-C.

use std::{
    collections::HashMap,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::signal::ctrl_c;
use tool_runtime::{
    CallOutcome, CancellationToken, RunContext,
    call::CallId,
    context::Progress,
    event::{EventKind, ToolEvent},
    executor::{Batch, StreamItem},
    output::Stream,
};

use crate::{
    Exit,
    sanitize::{escaped_and_indented, escaped_line},
    streamed::StreamedOutput,
    terminal::Terminal,
};

/// The form of events on the standard error.
pub(crate) enum ProgressView<'t> {
    /// Progress bars, with lines above them unless the result is JSON.
    Bars {
        has_lines: bool,
        terminal: &'t Terminal,
        all: MultiProgress,
        by_call: HashMap<CallId, ProgressBar>,
        ended: Vec<CallId>,
    },
    /// A line for each event.
    Lines(&'t Terminal),
    /// An event as JSON in each line.
    Json(&'t Terminal),
    /// No events: on a terminal without bars.
    Nothing,
}

impl<'t> ProgressView<'t> {
    /// Events as text: bars on a terminal, lines in a pipe.
    pub(crate) fn with_text_events(terminal: &'t Terminal) -> Self {
        match terminal.can_draw_bars() {
            true => Self::with_bars(terminal, true),
            false => Self::Lines(terminal),
        }
    }

    /// Events as JSON.
    pub(crate) fn with_json_events(terminal: &'t Terminal) -> Self {
        Self::Json(terminal)
    }

    /// Events beside a result that is JSON: as JSON in a pipe; on a terminal, where they would stand in the midst of the
    /// result, bars only, if it draws them.
    pub(crate) fn for_json_result(terminal: &'t Terminal) -> Self {
        match (terminal.can_draw_bars(), terminal.has_terminal_for_errors()) {
            (true, _) => Self::with_bars(terminal, false),
            (false, true) => Self::Nothing,
            (false, false) => Self::Json(terminal),
        }
    }

    fn with_bars(terminal: &'t Terminal, has_lines: bool) -> Self {
        let all = terminal.stderr().bars();
        Self::Bars { has_lines, terminal, all, by_call: HashMap::new(), ended: Vec::new() }
    }

    fn show_event(&mut self, event: &ToolEvent, streamed: Option<&mut StreamedOutput<'_>>) {
        let name = event.name();
        if let (EventKind::Updated { attempt, update }, Some(streamed)) = (&event.kind, streamed)
            && streamed.push_update(*attempt, update)
        {
            return;
        }
        match (self, &event.kind) {
            (Self::Json(terminal), _) => {
                // Every event can be written as JSON.
                terminal.write_error_json(&serde_json::to_string(event).unwrap_or_default());
            }
            (Self::Lines(terminal), EventKind::Progress { progress }) => {
                terminal.write_labelled_error_text(name, &status_text(progress));
            }
            (Self::Bars { has_lines: false, .. }, EventKind::Updated { .. } | EventKind::Log { .. }) => {}
            (Self::Lines(terminal) | Self::Bars { terminal, .. }, EventKind::Updated { update, .. }) => {
                terminal.write_labelled_error_text(name, &escaped_and_indented(&update.text()));
            }
            (Self::Lines(terminal) | Self::Bars { terminal, .. }, EventKind::Log { line }) => {
                terminal.write_labelled_error_text(name, &escaped_and_indented(&line.message));
            }
            (Self::Bars { terminal, all, by_call, ended, .. }, kind) => {
                if let EventKind::Finished { result } = kind {
                    ended.push(result.id.clone());
                }
                // A bar would be drawn over the question.
                if terminal.stderr().is_asking() {
                    return;
                }
                for bar in ended.drain(..).filter_map(|id| by_call.remove(&id)) {
                    bar.finish_and_clear();
                }
                if let EventKind::Progress { progress } = kind {
                    update_bar(
                        by_call.entry(event.id().clone()).or_insert_with(|| all.add(hidden_bar(name))),
                        progress,
                    );
                }
            }
            _ => {}
        }
    }

    /// Ends the line of a question or of `^C`.
    fn end_interrupted_line(&self) {
        if let Self::Bars { terminal, .. } = self {
            terminal.write_error_page(terminal.error_page().add("\n"));
        }
    }
}

/// Runs `batch` and returns its outcomes. Ctrl-C cancels the batch, and a second one ends the program. Updates that are
/// parts of a text go to `streamed`.
pub(crate) async fn run_batch_with_view(
    batch: Batch,
    mut view: ProgressView<'_>,
    mut streamed: Option<&mut StreamedOutput<'_>>,
) -> Vec<CallOutcome> {
    let stop = CancellationToken::new();
    let mut stream = batch.with_run(RunContext::new().with_cancellation(stop.clone())).stream();
    let mut interrupted = pin!(ctrl_c());
    #[expect(
        clippy::disallowed_methods,
        reason = "until the runtime of the command ends: a second Ctrl-C also ends its output"
    )]
    tokio::spawn(exit_at_second_interrupt());
    let (mut listening, mut outcomes) = (true, Vec::new());
    loop {
        let next = poll_fn(|cx| {
            // Polled first: the signal is handled before anything runs.
            if listening && let Poll::Ready(received) = interrupted.as_mut().poll(cx) {
                listening = false;
                if received.is_ok() {
                    view.end_interrupted_line();
                    stop.cancel();
                }
            }
            Pin::new(&mut stream).poll_next(cx)
        });
        match next.await {
            Some(StreamItem::Event(event)) => view.show_event(&event, streamed.as_deref_mut()),
            Some(StreamItem::Outcomes(all)) => outcomes = all,
            None => return outcomes,
        }
    }
}

/// Ends the program at the second Ctrl-C, for which one listener waits from the start, so that none is missed between two. A tool
/// may block the thread that handles the first one.
async fn exit_at_second_interrupt() {
    #[cfg(unix)]
    let presses = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    #[cfg(windows)]
    let presses = tokio::signal::windows::ctrl_c();
    let Ok(mut presses) = presses else { return };
    if presses.recv().await.is_some() && presses.recv().await.is_some() {
        std::process::exit(i32::from(Exit::Cancelled.code()));
    }
}

/// A bar that is not drawn before it is added to the other bars.
fn hidden_bar(name: &str) -> ProgressBar {
    ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_prefix(escaped_line(name))
}

/// Updates `bar`. The total may become known while the call runs.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative values become 0")]
fn update_bar(bar: &ProgressBar, progress: &Progress) {
    const STEPS: f64 = 1000.0;
    let template = match progress.total {
        // A message that is wider than the terminal is wrapped; `wide_msg` would cut it.
        Some(_) => "{prefix} {bar:30} {msg}",
        None => "{prefix} {spinner} {msg}",
    };
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    if let Some(total) = progress.total {
        bar.set_length(STEPS as u64);
        bar.set_position((progress.done / total * STEPS) as u64);
    }
    bar.set_message(status_text(progress));
    bar.tick();
}

/// A text such as `3 of 5 file c`.
fn status_text(progress: &Progress) -> String {
    let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = progress.message.as_ref().map(|message| format!(" {message}")).unwrap_or_default();
    escaped_and_indented(&format!("{}{total}{message}", progress.done))
}

#[cfg(test)]
mod tests {
    use super::{Progress, hidden_bar, status_text, update_bar};

    #[test]
    fn a_bar_has_the_share_and_the_text_of_its_progress() {
        let bar = hidden_bar("it\u{7}");
        assert_eq!(bar.prefix(), "it\\u{7}");
        for (progress, position, length, text) in [
            (Progress::new(2.0).message("a\u{7}"), 0, None, "2 a\\u{7}"),
            (Progress::new(1.0).of(4.0), 250, Some(1000), "1 of 4"),
            (
                Progress::new(4.0).of(4.0).message("done\nerror: no"),
                1000,
                Some(1000),
                "4 of 4 done\n    error: no",
            ),
            (Progress::new(-1.0).of(4.0), 0, Some(1000), "-1 of 4"),
        ] {
            update_bar(&bar, &progress);
            assert_eq!((bar.position(), bar.length(), bar.message()), (position, length, text.to_owned()));
            assert_eq!(status_text(&progress), text);
        }
    }
}
