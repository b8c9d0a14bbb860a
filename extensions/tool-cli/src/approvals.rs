//! Conversations with a person, for commands of extensions: messages, prompts, and approval of the calls of a model.

use std::{io, sync::Arc};

use clap::{Arg, ArgMatches};
use tokio::sync::Notify;
use tool_runtime::{Executor, executor::RunSettings};

use crate::{
    Exit, Failure, Program,
    approver::{self, ApproveMode, MissingTerminalFlag},
    sanitize::escaped_and_indented,
    stderr::write_stderr,
};

/// The executor of a program for the calls of a model, with the option `--approve`: calls that require approval, and
/// calls of destructive tools, are decided by the option, or by a person at the terminal. Guards of
/// [`Cli::executor`](crate::Cli::executor) apply in addition.
///
/// # Examples
///
/// ```
/// use tool_cli::{Approvals, Command, Exit, Failure, Program, clap};
///
/// struct Chat;
///
/// impl Command for Chat {
///     fn grammar(&self) -> clap::Command {
///         clap::Command::new("chat").arg(Approvals::option())
///     }
///
///     fn run(&self, program: &Program, matches: &clap::ArgMatches) -> Result<Exit, Failure> {
///         let approvals = Approvals::new(program, matches)?;
///         let _executor = approvals.executor();
///         approvals.remark(program);
///         Ok(Exit::Done)
///     }
/// }
///
/// assert_eq!(tool_cli::Cli::new().command(Chat).run(["program", "chat"]), Exit::Done);
/// ```
pub struct Approvals {
    executor: Executor,
    missing_terminal: MissingTerminalFlag,
    events_shown: Arc<Notify>,
}

impl Approvals {
    /// Returns the option `--approve`.
    #[must_use]
    pub fn option() -> Arg {
        approver::approve_option()
    }

    /// Derives the executor from [`Program::executor`]; `matches` are those of a command with the
    /// [option](Self::option).
    ///
    /// # Errors
    ///
    /// As [`Program::executor`].
    pub fn new(program: &Program, matches: &ArgMatches) -> Result<Self, Failure> {
        let how = matches.try_get_one::<String>("approve").ok().flatten();
        let approve = ApproveMode::from_name(how.map(String::as_str));
        let screen = program.terminal().question_screen();
        let events_shown = Arc::<Notify>::default();
        let gate = Some(Arc::clone(&events_shown));
        let derived = approve.derive_executor(program.executor()?, RunSettings::new(), true, screen, gate);
        let (executor, missing_terminal) = derived.map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self { executor, missing_terminal, events_shown })
    }

    /// Returns the executor.
    #[must_use]
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Asks the question that waits, if there is one. A question waits until all events before it are shown: call this
    /// whenever the events of the run are pending.
    pub fn ask(&self) {
        self.events_shown.notify_waiters();
    }

    /// Writes a note with the fix if a question could not be asked because the standard input is not a terminal.
    pub fn remark(&self, program: &Program) {
        self.missing_terminal.report_missing_terminal(program.terminal());
    }
}

impl std::fmt::Debug for Approvals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Approvals").field("executor", &self.executor).finish_non_exhaustive()
    }
}

impl Program {
    /// Writes a text to the standard error, after a label such as the name of a tool. Both may be text of others: they
    /// are escaped, and limited to 8000 characters in 60 lines. Held back while a question is open.
    pub fn tell(&self, label: &str, text: &str) {
        self.terminal().write_labelled_error_text(label, &escaped_and_indented(text));
    }

    /// Writes an error to the standard error, with text of others as in [`tell`](Self::tell).
    pub fn tell_error(&self, text: &str) {
        self.terminal().report_error_with_any_text(text);
    }

    /// Returns `true` if the standard output is a terminal, so that a person reads it.
    #[must_use]
    pub fn is_read_by_a_person(&self) -> bool {
        self.terminal().is_read_by_a_person()
    }

    /// Returns `true` if a person can be asked: the standard input and the standard error are terminals.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.terminal().can_ask()
    }

    /// Asks a person a question that `y` and `yes` confirm; any other line, and the end of the input, does not. Returns `None`
    /// without a question unless a person [can be asked](Self::can_ask). Text of others in `question` is escaped. Keys that were
    /// pressed before the question do not answer it.
    ///
    /// # Errors
    ///
    /// If the standard input cannot be read.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_cli::{Exit, Failure, Program};
    /// fn run(program: &Program) -> Result<Exit, Failure> {
    ///     match program.confirm("delete all files?")? {
    ///         Some(true) => Ok(Exit::Done),
    ///         Some(false) => Err(Failure::new(Exit::Refused, "nothing was deleted")),
    ///         None => Err(Failure::new(Exit::Refused, "stdin is not a terminal; give `--yes`")),
    ///     }
    /// }
    /// ```
    pub fn confirm(&self, question: &str) -> Result<Option<bool>, Failure> {
        if !self.can_ask() {
            return Ok(None);
        }
        self.terminal().keyboard().discard_input();
        let line = self.block_on(self.line(&format!("{} [y/N] ", escaped_and_indented(question))))?;
        let line = line.map_err(|error| {
            Failure::new(Exit::Usage, format!("the standard input cannot be read: {error}"))
        })?;
        let answer = line.unwrap_or_default().trim().to_lowercase();
        Ok(Some(matches!(&*answer, "y" | "yes")))
    }

    /// Writes `prompt` to the standard error if a person [can be asked](Self::can_ask), and waits for a line of the
    /// standard input, without its line break; `None` at its end. Within [`block_on`](Self::block_on) only. Can be
    /// dropped: the next prompt or question then receives the line.
    ///
    /// # Errors
    ///
    /// If the standard input cannot be read.
    pub async fn line(&self, prompt: &str) -> io::Result<Option<String>> {
        if self.can_ask() {
            write_stderr(prompt);
        }
        let line = self.terminal().keyboard().read_line().await?;
        Ok(line.map(|line| {
            let line = line.strip_suffix('\n').unwrap_or(&line);
            line.strip_suffix('\r').unwrap_or(line).to_owned()
        }))
    }
}
