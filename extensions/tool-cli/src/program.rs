//! A program with tools, as commands see it.

use std::{
    cell::{OnceCell, RefCell},
    error::Error,
    ffi::OsString,
};

use clap::{
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use tokio::runtime::Runtime;
use tool_runtime::{BuildError, Registry, RegistryBuilder, Reveal};

use crate::{Command, Exit, Failure, harmless::in_a_line, terminal::Terminal};

/// Adds tools.
pub(crate) type Tools = Box<dyn Fn(RegistryBuilder) -> RegistryBuilder>;
/// Gives tools their values.
pub(crate) type Provide = Box<dyn FnOnce(RegistryBuilder) -> Result<RegistryBuilder, Box<dyn Error>>>;

/// What comes of giving tools their values: the builder, or why there is none.
pub trait Provides {
    /// The builder with the values.
    ///
    /// # Errors
    ///
    /// If a value could not be made.
    fn provided(self) -> Result<RegistryBuilder, Box<dyn Error>>;
}

impl Provides for RegistryBuilder {
    fn provided(self) -> Result<RegistryBuilder, Box<dyn Error>> {
        Ok(self)
    }
}

impl<E: Into<Box<dyn Error>>> Provides for Result<RegistryBuilder, E> {
    fn provided(self) -> Result<RegistryBuilder, Box<dyn Error>> {
        self.map_err(Into::into)
    }
}

/// A program with tools, as a [`Command`] sees it.
pub struct Program {
    name: String,
    about: Option<String>,
    terminal: Terminal,
    add: Vec<Tools>,
    provide: RefCell<Option<Provide>>,
    commands: Vec<Box<dyn Command>>,
    described: OnceCell<Registry>,
    callable: OnceCell<Registry>,
    runtime: OnceCell<Runtime>,
}

/// How a program ends, as its help says it.
const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    a tool failed, or a check found something
  2    the command line is wrong, or arguments were refused
  3    a call was not permitted or not approved
  4    the tools cannot be used
  130  the call was cancelled";

impl Program {
    pub(crate) fn new(
        name: String,
        about: Option<String>,
        terminal: Terminal,
        add: Vec<Tools>,
        provide: Option<Provide>,
        commands: Vec<Box<dyn Command>>,
    ) -> Self {
        let (described, callable, runtime) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        let provide = RefCell::new(provide);
        Self { name, about, terminal, add, provide, commands, described, callable, runtime }
    }

    /// What the program is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tools, to look at: the values that they need may be missing.
    ///
    /// # Errors
    ///
    /// If something is wrong with the tools.
    pub fn tools(&self) -> Result<&Registry, Failure> {
        match self.described.get() {
            Some(tools) => Ok(tools),
            None => {
                let tools = self.builder().build_without_values().map_err(unusable)?;
                Ok(self.described.get_or_init(|| tools))
            }
        }
    }

    /// The tools, to call: with the values that the program provides, which are made now.
    ///
    /// # Errors
    ///
    /// If something is wrong with the tools, or a value is missing or could not be made.
    pub fn callable(&self) -> Result<&Registry, Failure> {
        if let Some(tools) = self.callable.get() {
            return Ok(tools);
        }
        let mut builder = self.builder();
        if let Some(provide) = self.provide.take() {
            let _entered = self.runtime()?.enter();
            builder = provide(builder).map_err(|error| {
                Failure::new(Exit::Unusable, in_full("what the tools need is not there", &*error))
            })?;
        }
        let tools = builder.build().map_err(unusable)?;
        let described = self.tools()?;
        let is_late = |name: &&str| described.get(name).is_none();
        if let Some(late) = tools.definitions().iter().map(|it| it.name().as_str()).find(is_late) {
            let message =
                format!("the tool `{late}` is added where values are provided, so that no list has it");
            return Err(Failure::new(Exit::Unusable, format!("{message}; add it by `Cli::tools`")));
        }
        Ok(self.callable.get_or_init(|| tools))
    }

    /// Waits for `future`, in a `tokio` runtime that is started by this.
    ///
    /// # Errors
    ///
    /// If no runtime can be started.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, Failure> {
        Ok(self.runtime()?.block_on(future))
    }

    /// Writes `text` to the standard output: to a terminal with all written out that cannot be seen, escape sequences
    /// among it, and to another program as it is.
    ///
    /// # Errors
    ///
    /// If it cannot be written. Where nobody reads it any more, the failure ends the program in silence.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        self.terminal.print_text(text)
    }

    pub(crate) fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    /// All commands, their options and help.
    pub(crate) fn grammar(&self) -> clap::Command {
        let about = self.about.clone().unwrap_or_else(|| format!("The tools of {}", self.name));
        let all = clap::Command::new(self.name.clone())
            .about(about)
            .after_help(EXIT_CODES)
            .term_width(self.terminal.width())
            .subcommand_required(true)
            .arg_required_else_help(true);
        let commands: Vec<_> = self.commands.iter().map(|command| command.grammar()).collect();
        let helps = commands.iter().any(|it| it.get_name() == "help");
        let all = all.disable_help_subcommand(helps);
        (0..commands.len()).fold(all, |all, at| all.subcommand(with_free_aliases(&commands, at)))
    }

    pub(crate) fn carry_out(&self, arguments: Vec<OsString>) -> Result<Exit, Failure> {
        let matches = match self.grammar().try_get_matches_from(arguments) {
            Ok(matches) => matches,
            Err(error) => return self.explain(error),
        };
        let chosen = matches.subcommand().and_then(|(name, matches)| {
            let command = self.commands.iter().find(|it| it.grammar().get_name() == name)?;
            Some((command, matches))
        });
        let Some((command, matches)) = chosen else { return Err(Failure::usage("no command was given")) };
        command.run(self, matches)
    }

    /// Writes what `clap` has to say: help, or what is wrong with the command line, of which it repeats parts.
    pub(crate) fn explain(&self, mut error: clap::Error) -> Result<Exit, Failure> {
        let repeated: Vec<_> = error.context().map(|(kind, value)| (kind, shown(kind, value))).collect();
        for (kind, value) in repeated {
            error.insert(kind, value);
        }
        // Without the styles: those that are seen are the page's own.
        let text = error.render().to_string();
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            self.terminal.print(self.terminal.page().add_help(&text))?;
            return Ok(Exit::Done);
        }
        self.terminal.tell(self.terminal.error_page().add_usage_error(&text));
        Ok(Exit::Usage)
    }

    fn builder(&self) -> RegistryBuilder {
        self.add.iter().fold(Registry::builder().discover(), |builder, add| add(builder))
    }

    fn runtime(&self) -> Result<&Runtime, Failure> {
        match self.runtime.get() {
            Some(runtime) => Ok(runtime),
            None => {
                let started = tokio::runtime::Builder::new_multi_thread().enable_all().build();
                let none =
                    |error| Failure::new(Exit::Unusable, format!("no runtime can be started: {error}"));
                let started = started.map_err(none)?;
                Ok(self.runtime.get_or_init(|| started))
            }
        }
    }
}

/// What still blocks a thread, such as a question that nobody answers, holds up no exit.
impl Drop for Program {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The command at `at` without the aliases that another command has as its name, or a later one as its alias: commands of
/// the program come after those that are built in, and take precedence.
fn with_free_aliases(commands: &[clap::Command], at: usize) -> clap::Command {
    let is_taken = |alias: &str| {
        let (name, later) = (|it: &clap::Command| it.get_name() == alias, commands.iter().skip(at + 1));
        commands.iter().any(name) || later.flat_map(clap::Command::get_all_aliases).any(|it| it == alias)
    };
    let command = &commands[at];
    if !command.get_all_aliases().any(is_taken) {
        return command.clone();
    }
    let kept: Vec<_> =
        command.get_visible_aliases().filter(|alias| !is_taken(alias)).map(str::to_owned).collect();
    command.clone().visible_alias(None).visible_aliases(kept)
}

/// A part of a message of `clap`, in which the command line may be repeated.
fn shown(kind: ContextKind, value: &ContextValue) -> ContextValue {
    let text = |text: &StyledStr| match kind {
        ContextKind::Usage => Reveal::LINES.text(&text.to_string()),
        _ => in_a_line(&text.to_string()),
    };
    match value {
        ContextValue::String(text) => ContextValue::String(in_a_line(text)),
        ContextValue::Strings(texts) => {
            ContextValue::Strings(texts.iter().map(|text| in_a_line(text)).collect())
        }
        ContextValue::StyledStr(styled) => ContextValue::StyledStr(text(styled).into()),
        ContextValue::StyledStrs(all) => {
            ContextValue::StyledStrs(all.iter().map(|styled| text(styled).into()).collect())
        }
        other => other.clone(),
    }
}

fn unusable(error: BuildError) -> Failure {
    Failure::new(Exit::Unusable, error.to_string())
}

/// An error with all that lies beneath it.
fn in_full(what: &str, error: &dyn Error) -> String {
    let mut text = format!("{what}: {error}");
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;
    use crate::commands::built_in;

    // Z19: to list is no reason to start threads.
    #[test]
    fn no_runtime_is_started_before_a_call() {
        let terminal = Terminal::new();
        let program = Program::new("program".to_owned(), None, terminal, Vec::new(), None, built_in());
        program.grammar().debug_assert();
        assert!(program.tools().unwrap().is_empty() && program.callable().unwrap().is_empty());
        assert!(program.runtime.get().is_none());
        assert_eq!(program.block_on(async { 3 }).unwrap(), 3);
        assert!(program.runtime.get().is_some());
    }
}
