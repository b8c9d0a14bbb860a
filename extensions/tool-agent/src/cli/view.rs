//! The events of a turn, for a person.

use std::sync::Arc;

use tool_cli::{Exit, Failure, Program};
use tool_runtime::{
    ErrorKind, ToolResult,
    event::{EventKind, ToolEvent},
    policy::Escape,
};

use crate::{AgentEvent, AgentEventKind, End, EndReason};

/// The maximum number of characters of arguments.
const MAX_ARGUMENTS_CHARS: usize = 300;
/// The maximum number of characters of a result.
const MAX_RESULT_CHARS: usize = 1_000;
/// The maximum number of lines of a result.
const MAX_RESULT_LINES: usize = 12;

/// Shows the events of one turn.
pub(super) struct TurnView<'p> {
    program: &'p Program,
    json: bool,
    /// `true` if text is written as it arrives.
    streams: bool,
    /// `true` if the last line of the standard output has no line break.
    is_open: bool,
    /// The agent whose text was shown last.
    speaker: Option<Arc<str>>,
    /// `true` if text was shown that may be withdrawn.
    has_text: bool,
    is_refused: bool,
    exit: Exit,
}

impl<'p> TurnView<'p> {
    pub(super) fn new(program: &'p Program, json: bool) -> Self {
        let streams = program.is_read_by_a_person() && !json;
        Self {
            program,
            json,
            streams,
            is_open: false,
            speaker: None,
            has_text: false,
            is_refused: false,
            exit: Exit::Failed,
        }
    }

    /// The exit code of the turn.
    pub(super) fn exit(&self) -> Exit {
        match self.exit {
            Exit::Cancelled => Exit::Cancelled,
            _ if self.is_refused => Exit::Refused,
            exit => exit,
        }
    }

    /// Shows an event.
    ///
    /// # Errors
    ///
    /// If the standard output cannot be written.
    pub(super) fn show_event(&mut self, event: &AgentEvent) -> Result<(), Failure> {
        // The first event is one of the agent of the run.
        self.speaker.get_or_insert_with(|| Arc::clone(&event.agent));
        if self.json {
            let json = serde_json::to_string(event).map_err(|error| {
                Failure::new(Exit::Failed, format!("an event cannot be written as JSON: {error}"))
            })?;
            self.program.print_json(&(json + "\n"))?;
        }
        match &event.kind {
            AgentEventKind::Text { delta } if self.streams => {
                self.show_speaker(&event.agent)?;
                self.program.print(delta)?;
                self.is_open = !delta.ends_with('\n');
                self.has_text = true;
            }
            AgentEventKind::Message { .. } => self.has_text = false,
            AgentEventKind::Withdrawn { reason } => {
                let above =
                    if std::mem::take(&mut self.has_text) { "the text above is withdrawn: " } else { "" };
                self.end_line()?;
                self.program.note(&format!("{above}{reason}"));
            }
            AgentEventKind::Transferred { to } => {
                self.end_line()?;
                self.program.note(&format!("{} transfers the conversation to {to}", event.agent));
            }
            AgentEventKind::Notice { text } => {
                self.end_line()?;
                self.program.note(text);
            }
            AgentEventKind::Tool { event } => {
                self.end_line()?;
                self.show_tool_event(event, "");
            }
            AgentEventKind::Child { event, .. } => {
                self.end_line()?;
                self.show_child_event(event, "");
            }
            AgentEventKind::Ended { end } => self.show_end(end)?,
            _ => {}
        }
        Ok(())
    }

    /// Shows the name of the agent whose text follows, if it is another one of several.
    fn show_speaker(&mut self, agent: &Arc<str>) -> Result<(), Failure> {
        let before = self.speaker.replace(Arc::clone(agent));
        if before.is_some_and(|before| before != *agent) {
            self.end_line()?;
            self.program.note(&format!("{agent}:"));
        }
        Ok(())
    }

    /// Shows an event of a run below a call; `above` are the names of the agents that it belongs to.
    fn show_child_event(&mut self, event: &AgentEvent, above: &str) {
        let above = format!("{above}{} > ", event.agent);
        match &event.kind {
            AgentEventKind::Child { event, .. } => self.show_child_event(event, &above),
            AgentEventKind::Tool { event } => self.show_tool_event(event, &above),
            AgentEventKind::Transferred { to } => {
                self.program.note(&format!("{above}transfers the conversation to {to}"));
            }
            AgentEventKind::Notice { text } => self.program.note(&format!("{above}{text}")),
            _ => {}
        }
    }

    fn end_line(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_open) { self.program.print("\n") } else { Ok(()) }
    }

    /// Shows an event of a call; `above` are the names of the calls that it belongs to.
    fn show_tool_event(&mut self, event: &ToolEvent, above: &str) {
        let name = format!("{above}{}", event.name());
        if let EventKind::Finished { result } = &event.kind {
            let kind = result.outcome.as_ref().err().map(tool_runtime::ToolError::kind);
            self.is_refused |= matches!(kind, Some(ErrorKind::Denied | ErrorKind::ApprovalRequired));
        }
        match &event.kind {
            EventKind::Child { event } => self.show_tool_event(event, &format!("{name} > ")),
            // The events are on the standard output.
            _ if self.json => {}
            EventKind::Started { call } => {
                let arguments = Escape::LINE.at_most(MAX_ARGUMENTS_CHARS).text(call.arguments.as_str());
                self.program.tell(&format!("about to call {name}"), &arguments);
            }
            EventKind::Finished { result } if result.is_error() => {
                self.program.tell(&format!("{name} failed"), &shortened_lines(&result_text(result)));
            }
            EventKind::Finished { result } => {
                self.program.tell(&name, &shortened_lines(&result_text(result)))
            }
            EventKind::Updated { update, .. } => self.program.tell(&name, &shortened_lines(&update.text())),
            EventKind::Log { line } => self.program.tell(&name, &shortened_lines(&line.message)),
            EventKind::Progress { progress } => {
                let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
                let message = progress.message.as_ref().map(|text| format!(" {text}")).unwrap_or_default();
                self.program.tell(&name, &shortened_lines(&format!("{}{total}{message}", progress.done)));
            }
            EventKind::External { .. } => {
                self.program.note(&format!("{name}: the call must be executed by the caller"));
            }
            _ => {}
        }
    }

    fn show_end(&mut self, end: &End) -> Result<(), Failure> {
        self.end_line()?;
        let text = || match (&end.output, end.text.is_empty()) {
            (Some(output), true) => output.to_string(),
            _ => end.text.clone(),
        };
        self.exit = match &end.reason {
            reason if reason.is_success() => Exit::Done,
            EndReason::Cancelled => Exit::Cancelled,
            _ => Exit::Failed,
        };
        if self.exit == Exit::Done {
            // The text of a model that answered was written as it arrived.
            let is_written = self.json || self.streams && end.reason == EndReason::Answered;
            return if is_written { Ok(()) } else { self.program.print(&with_line_end(text())) };
        }
        if !self.json && !self.streams && !end.text.is_empty() {
            self.program.tell("the text before the end", &shortened_lines(&end.text));
        }
        if self.exit == Exit::Failed {
            self.program.tell_error(&end_reason_text(&end.reason));
        }
        Ok(())
    }
}

/// The reason of an end that is no answer, in terms of the command line.
fn end_reason_text(reason: &EndReason) -> String {
    match reason {
        EndReason::Busy { run } => format!(
            "the session is in use: the run `{run}` of another process did not end; wait longer by `--wait`, or name another \
             `--session`"
        ),
        reason => reason.to_string(),
    }
}

/// The text with a line break at its end.
fn with_line_end(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The text of a result, or the number of its images and files.
fn result_text(result: &ToolResult) -> String {
    let text = result.text();
    let files = result.content().iter().filter(|block| block.as_text().is_none()).count();
    match (text.trim().is_empty(), files) {
        (true, 0) => "no output".to_owned(),
        (true, files) => format!("[{files} images or files]"),
        (false, 0) => text.into_owned(),
        (false, files) => format!("{text}\n[{files} images or files]"),
    }
}

/// At most [`MAX_RESULT_CHARS`] characters in [`MAX_RESULT_LINES`] lines.
fn shortened_lines(text: &str) -> String {
    let text = Escape::LINES.at_most(MAX_RESULT_CHARS).text(text.trim_end());
    let more = text.lines().count().saturating_sub(MAX_RESULT_LINES);
    let mut lines: Vec<_> = text.lines().take(MAX_RESULT_LINES).map(str::to_owned).collect();
    if more > 0 {
        lines.push(format!("[{more} more lines]"));
    }
    lines.join("\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may")]
mod tests {
    mod transcripts;

    use tool_cli::{Cli, Command, clap};

    use super::*;

    /// A command that runs a test in a program.
    struct Test(fn(&Program));

    impl Command for Test {
        fn grammar(&self) -> clap::Command {
            clap::Command::new("test")
        }

        fn run(&self, program: &Program, _: &clap::ArgMatches) -> Result<Exit, Failure> {
            (self.0)(program);
            Ok(Exit::Done)
        }
    }

    fn in_program(test: fn(&Program)) {
        assert_eq!(Cli::new().command(Test(test)).run(["program", "test"]), Exit::Done);
    }

    #[test]
    fn text_is_streamed_to_a_person_alone() {
        in_program(|program| {
            assert_eq!(TurnView::new(program, false).streams, program.is_read_by_a_person());
            assert!(!TurnView::new(program, true).streams);
            assert_eq!(TurnView::new(program, false).exit(), Exit::Failed, "a turn without an end");
        });
    }

    #[test]
    fn a_refused_call_is_the_exit_code_unless_the_turn_was_cancelled() {
        in_program(|program| {
            for (exit, is_refused, expected) in [
                (Exit::Done, false, Exit::Done),
                (Exit::Done, true, Exit::Refused),
                (Exit::Failed, true, Exit::Refused),
                (Exit::Cancelled, true, Exit::Cancelled),
                (Exit::Cancelled, false, Exit::Cancelled),
            ] {
                let mut view = TurnView::new(program, true);
                (view.exit, view.is_refused) = (exit, is_refused);
                assert_eq!(view.exit(), expected);
            }
        });
    }

    #[test]
    fn a_result_is_its_text_and_the_number_of_its_files() {
        use tool_runtime::{Content, ToolOutput};

        let image = || Content::image(vec![1], "image/png");
        for (contents, expected) in [
            (vec![], "no output"),
            (vec![Content::text(" \n")], "no output"),
            (vec![Content::text("a")], "a"),
            (vec![image()], "[1 images or files]"),
            (vec![Content::text("a"), image(), image()], "a\n[2 images or files]"),
        ] {
            let result = ToolResult::new("c1".to_owned().into(), "t", Ok(ToolOutput::new(contents)));
            assert_eq!(result_text(&result), expected);
        }
    }

    #[test]
    fn a_text_is_shown_in_few_lines() {
        assert_eq!(with_line_end("a".to_owned()), "a\n");
        assert_eq!(with_line_end("a\n".to_owned()), "a\n");
        let lines = |count: usize| vec!["a"; count].join("\n");
        assert_eq!(shortened_lines(&lines(MAX_RESULT_LINES)), lines(MAX_RESULT_LINES));
        let expected = format!("{}\n[1 more lines]", lines(MAX_RESULT_LINES));
        assert_eq!(shortened_lines(&lines(MAX_RESULT_LINES + 1)), expected);
        assert_eq!(shortened_lines("a \n\n"), "a");
        assert!(shortened_lines(&"a".repeat(2 * MAX_RESULT_CHARS)).chars().count() < 2 * MAX_RESULT_CHARS);
    }
}
