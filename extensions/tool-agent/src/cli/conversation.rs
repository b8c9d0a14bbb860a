//! Turns of a conversation: lines of a person, and answers of the agent.

use std::{
    future::poll_fn,
    io::{self, Write as _},
    task::Context,
};

use futures_util::StreamExt as _;
use tool_cli::{Approvals, Exit, Failure, Program};
use tool_runtime::RunContext;

use super::{interrupts::Interrupts, session::ChatSession, view::TurnView};
use crate::{AgentStream, Runner};

const HELP: &str = "\
/help   list the commands
/tools  list the tools
/new    begin a new conversation
/exit   end the program; so does the end of the input (Ctrl-D)
A message that begins with a slash is written with two: //path. Ctrl-C ends the turn.";

/// A conversation at the terminal, or of the lines of the standard input.
pub(super) struct ChatConversation<'p> {
    program: &'p Program,
    runner: Runner,
    approvals: &'p Approvals,
    json: bool,
    interrupts: Interrupts,
    session: ChatSession,
}

/// A line that a person entered.
#[derive(Debug, PartialEq)]
enum Line<'l> {
    Empty,
    Help,
    Tools,
    New,
    Exit,
    Unknown(&'l str),
    Message(&'l str),
}

impl<'l> Line<'l> {
    fn parse(line: &'l str) -> Self {
        let line = line.trim();
        match line {
            "" => Self::Empty,
            "/help" | "/?" => Self::Help,
            "/tools" => Self::Tools,
            "/new" => Self::New,
            "/exit" | "/quit" => Self::Exit,
            _ => match line.strip_prefix('/') {
                Some(message) if message.starts_with('/') => Self::Message(message),
                Some(_) => Self::Unknown(line.split_whitespace().next().unwrap_or(line)),
                None => Self::Message(line),
            },
        }
    }
}

impl<'p> ChatConversation<'p> {
    /// Begins a conversation, within the runtime of the program.
    pub(super) fn new(
        program: &'p Program,
        runner: Runner,
        approvals: &'p Approvals,
        session: ChatSession,
        json: bool,
    ) -> Self {
        Self { program, runner, approvals, json, interrupts: Interrupts::listen(), session }
    }

    /// Answers one message.
    pub(super) async fn answer_message(&mut self, message: String) -> Result<Exit, Failure> {
        let exit = self.run_turn(message).await?;
        if exit == Exit::Cancelled {
            self.program.tell_error("the turn was cancelled");
        }
        Ok(exit)
    }

    /// Answers each line of the standard input.
    pub(super) async fn answer_lines(&mut self, model: &str) -> Result<Exit, Failure> {
        let is_asked = self.program.can_ask();
        if is_asked {
            self.program.tell("model", &format!("{model}; type a message, /help or /exit"));
            if let Some(description) = self.session.stored_description().await? {
                self.program.tell("session", &description);
            }
        }
        let mut worst = Exit::Done;
        loop {
            let line = tokio::select! {
                biased;
                () = self.interrupts.wait_between_turns() => {
                    self.end_line();
                    return Ok(Exit::Cancelled);
                }
                line = self.program.line("> ") => line,
            };
            let line = line.map_err(|error| {
                Failure::new(Exit::Usage, format!("the standard input cannot be read: {error}"))
            })?;
            let Some(line) = line else {
                self.end_line();
                break;
            };
            match Line::parse(&line) {
                Line::Empty => {}
                Line::Exit => break,
                Line::Help => self.program.tell("commands", &format!("\n{HELP}")),
                Line::Tools => self.show_tools(),
                Line::New => {
                    let name = self.session.begin_next_conversation().await?;
                    let name = name.map(|name| format!(": the session `{name}`")).unwrap_or_default();
                    self.program.note(&format!("a new conversation begins{name}"));
                }
                Line::Unknown(name) => {
                    self.program.note(&format!("there is no command `{name}`; /help lists the commands"));
                }
                Line::Message(message) => {
                    let exit = self.run_turn(message.to_owned()).await?;
                    if exit == Exit::Cancelled {
                        self.program.note("the turn was cancelled");
                    }
                    worst = [worst, exit].into_iter().max_by_key(|exit| exit_rank(*exit)).unwrap_or(exit);
                    if exit == Exit::Cancelled && !is_asked {
                        break;
                    }
                }
            }
        }
        // A person has seen the errors.
        Ok(if is_asked { Exit::Done } else { worst })
    }

    /// Runs the agent for one message.
    async fn run_turn(&mut self, message: String) -> Result<Exit, Failure> {
        let run = RunContext::new().with_session(self.session.name());
        let mut events = self.runner.run_with(run, message);
        let _turn = self.interrupts.begin_turn(events.handle());
        let mut view = TurnView::new(self.program, self.json);
        let next = |events: &mut AgentStream, task: &mut Context<'_>| {
            let polled = events.poll_next_unpin(task);
            if polled.is_pending() {
                // All events so far are shown.
                self.approvals.ask();
            }
            polled
        };
        let first = poll_fn(|task| next(&mut events, task));
        let mut event = match self.session.wait_with_busy_note(self.program, first).await {
            Some(event) => event,
            None => poll_fn(|task| next(&mut events, task)).await,
        };
        while let Some(current) = event {
            view.show_event(&current)?;
            event = poll_fn(|task| next(&mut events, task)).await;
        }
        Ok(view.exit())
    }

    fn show_tools(&self) {
        let tools = match self.program.tools() {
            Ok(tools) => tools,
            Err(error) => return self.program.tell_error(&error.to_string()),
        };
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let lines = tools
            .definitions()
            .iter()
            .map(|tool| format!("\n{}  {}", tool.name(), first(tool.description())));
        self.program.tell("tools", &lines.collect::<String>());
    }

    /// Ends the line of the prompt.
    fn end_line(&self) {
        if self.program.can_ask() {
            // Nothing to do if the terminal is gone.
            let _ = writeln!(io::stderr());
        }
    }
}

/// The rank of an exit code: of several turns, the highest one counts.
fn exit_rank(exit: Exit) -> u8 {
    match exit {
        Exit::Done => 0,
        Exit::Failed => 1,
        Exit::Usage => 2,
        Exit::Refused => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::{Exit, Line, exit_rank};

    #[test]
    fn a_line_is_a_command_or_a_message() {
        for (line, read) in [
            ("  ", Line::Empty),
            ("/help", Line::Help),
            (" /exit ", Line::Exit),
            ("/quit", Line::Exit),
            ("/tools", Line::Tools),
            ("/new", Line::New),
            ("/exti now", Line::Unknown("/exti")),
            ("//etc/hosts?", Line::Message("/etc/hosts?")),
            (" 2 + 3? ", Line::Message("2 + 3?")),
        ] {
            assert_eq!(Line::parse(line), read, "{line}");
        }
    }

    #[test]
    fn exit_codes_of_turns_have_an_order() {
        let exits = [Exit::Done, Exit::Failed, Exit::Usage, Exit::Refused, Exit::Cancelled];
        assert_eq!(exits.map(exit_rank), [0, 1, 2, 3, 4]);
    }
}
