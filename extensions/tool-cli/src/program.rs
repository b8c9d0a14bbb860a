//! The program as commands use it: tools with and without values, and output.

use std::{
    cell::{OnceCell, RefCell},
    error::Error,
    ffi::OsString,
};

use clap::{ArgMatches, error::ErrorKind};
use tokio::runtime::Runtime;
use tool_runtime::{
    Executor, Registry, ToolDefinition,
    registry::{BuildError, RegistryBuilder},
};

use crate::{
    Command, Exit, Extension, Failure, Item,
    closures::ProgramClosures,
    grammar::program_grammar,
    input,
    page::TextStyle,
    secret,
    terminal::Terminal,
    usage_error::{escaped_context, replace_suggested_aliases},
};

/// The program that a [`Command`] runs in: its tools, its runtime and its output.
pub struct Program {
    name: String,
    about: Option<String>,
    terminal: Terminal,
    closures: RefCell<ProgramClosures>,
    commands: Vec<Box<dyn Command>>,
    extensions: Vec<Box<dyn Extension>>,
    /// Creates the built-in commands, for [`run_on`](Self::run_on).
    built_in: fn() -> Vec<Box<dyn Command>>,
    described: OnceCell<Registry>,
    callable: OnceCell<Registry>,
    executor: OnceCell<Executor>,
    runtime: OnceCell<Runtime>,
}

/// The note of each command that looks at the tools of a program without tools.
const WITHOUT_TOOLS: &str = "the program has no tools: put `#[tool]` on functions; the linker drops tools of a library that the \
                             program does not refer to: keep them with `tool_runtime::link!`; add methods with `Cli::tools`";

impl Program {
    pub(crate) fn new(
        name: String,
        about: Option<String>,
        terminal: Terminal,
        closures: ProgramClosures,
        commands: Vec<Box<dyn Command>>,
        built_in: fn() -> Vec<Box<dyn Command>>,
    ) -> Self {
        Self {
            name,
            about,
            terminal,
            closures: RefCell::new(closures),
            commands,
            extensions: Vec::new(),
            built_in,
            described: OnceCell::new(),
            callable: OnceCell::new(),
            executor: OnceCell::new(),
            runtime: OnceCell::new(),
        }
    }

    pub(crate) fn with_extensions(mut self, extensions: Vec<Box<dyn Extension>>) -> Self {
        self.extensions = extensions;
        self
    }

    /// Returns the name of the program, as in its help.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tools without the values that they need: they can be listed and validated, not called.
    ///
    /// # Errors
    ///
    /// If a definition is invalid.
    pub fn tools(&self) -> Result<&Registry, Failure> {
        match self.described.get() {
            Some(tools) => Ok(tools),
            None => {
                let tools = self.registry_builder().build_without_values().map_err(unusable_tools_failure)?;
                // An extension may have all that the program offers.
                if tools.is_empty() && self.extensions.is_empty() {
                    self.terminal.report_note(WITHOUT_TOOLS);
                }
                Ok(self.described.get_or_init(|| tools))
            }
        }
    }

    /// Lists the items of all kinds: the tools of the program, then the items of its [extensions](crate::Extension).
    ///
    /// # Errors
    ///
    /// As [`tools`](Self::tools), and if the items of an extension cannot be listed.
    pub fn items(&self) -> Result<Vec<Item>, Failure> {
        let mut items = self.tools()?.definitions().iter().map(tool_item).collect::<Result<Vec<_>, _>>()?;
        for extension in &self.extensions {
            items.extend(extension.items(self)?);
        }
        Ok(items)
    }

    /// Returns the tools with the values that they need. The first call creates the values.
    ///
    /// # Errors
    ///
    /// If a definition is invalid, or a value is missing or could not be created.
    pub fn callable(&self) -> Result<&Registry, Failure> {
        if let Some(tools) = self.callable.get() {
            return Ok(tools);
        }
        let mut builder = self.registry_builder();
        let provide = self.closures.borrow_mut().provide.take();
        if let Some(provide) = provide {
            let _entered = self.runtime()?.enter();
            builder = provide(builder).map_err(|error| {
                Failure::new(
                    Exit::Unusable,
                    error_chain("the values of the tools cannot be provided", &*error),
                )
            })?;
        }
        let tools = builder.build().map_err(unusable_tools_failure)?;
        let described = self.tools()?;
        let is_late = |name: &&str| described.get(name).is_none();
        if let Some(late) = tools.definitions().iter().map(|it| it.name().as_str()).find(is_late) {
            let message =
                format!("the tool `{late}` is added by `Cli::provide_with`, so that no command can list it");
            return Err(Failure::new(Exit::Unusable, format!("{message}; add it with `Cli::tools`")));
        }
        Ok(self.callable.get_or_init(|| tools))
    }

    /// Returns the executor of the [callable](Self::callable) tools, with the guards that [`Cli::executor`](crate::Cli::executor)
    /// sets. The first call configures it.
    ///
    /// # Errors
    ///
    /// If the tools cannot be called, or the executor cannot be configured or built.
    pub fn executor(&self) -> Result<&Executor, Failure> {
        if let Some(executor) = self.executor.get() {
            return Ok(executor);
        }
        let mut builder = Executor::builder(self.callable()?.clone());
        let failure = |error: &dyn Error| {
            Failure::new(Exit::Unusable, error_chain("the executor of the tools cannot be built", error))
        };
        let guard = self.closures.borrow_mut().guard.take();
        if let Some(guard) = guard {
            let _entered = self.runtime()?.enter();
            builder = guard(builder).map_err(|error| failure(&*error))?;
        }
        let executor = builder.build().map_err(|error| failure(&error))?;
        // A rule that fits no tool guards nothing.
        for diagnostic in executor.diagnostics() {
            self.terminal.report_note(&diagnostic.to_string());
        }
        Ok(self.executor.get_or_init(|| executor))
    }

    /// Runs `future` to its end, in a multi-threaded `tokio` runtime that the first call starts.
    ///
    /// # Errors
    ///
    /// If the runtime cannot be started.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, Failure> {
        Ok(self.runtime()?.block_on(future))
    }

    /// Writes `text` to the standard output. Escape sequences and invisible characters are escaped on a terminal, and
    /// unchanged in a pipe.
    ///
    /// # Errors
    ///
    /// If the output cannot be written. If the reader closed it, the failure has no message and the exit code 0.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        self.terminal.print_text(text)
    }

    /// Writes a note to the standard error. It may contain text of others, which is escaped.
    pub fn note(&self, message: &str) {
        self.terminal.report_note(message);
    }

    /// Writes JSON to the standard output, with invisible characters as JSON escapes. On a terminal, the number of characters
    /// takes the place of long base64.
    ///
    /// # Errors
    ///
    /// As [`print`](Self::print).
    pub fn print_json(&self, json: &str) -> Result<(), Failure> {
        self.terminal.print_json(json)
    }

    /// Writes a table to the standard output, as wide as the terminal. Invisible characters are escaped.
    ///
    /// # Errors
    ///
    /// As [`print`](Self::print).
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_cli::{Exit, Failure, Program};
    /// fn run(program: &Program) -> Result<Exit, Failure> {
    ///     let sizes = [("a.txt", 3), ("b.txt", 4)];
    ///     program.print_table(["File", "Bytes"], sizes.map(|(file, bytes)| [file.to_owned(), bytes.to_string()]))?;
    ///     Ok(Exit::Done)
    /// }
    /// ```
    pub fn print_table<const N: usize>(
        &self,
        header: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Result<(), Failure> {
        let rows = rows.into_iter().map(|row| {
            let mut looks = [TextStyle::Name].into_iter().chain(std::iter::repeat(TextStyle::Plain));
            row.map(|text| (looks.next().unwrap_or(TextStyle::Plain), text))
        });
        self.terminal.print_page(self.terminal.page().add_table(header, rows))
    }

    /// Reads an argument of the command line that may stand elsewhere: `-` reads the standard input, `@file` a file, and any
    /// other text stands for itself.
    ///
    /// # Errors
    ///
    /// If the input cannot be read or is empty. The exit code is 2.
    pub fn read(&self, argument: &str) -> Result<String, Failure> {
        Ok(input::load_arguments(argument)?.text)
    }

    /// Reads the secret `name`, such as a key, from a source that an option of a command names: `env:NAME` for an environment
    /// variable, `@FILE` for a file without the line end, `-` to enter it without echo.
    ///
    /// # Errors
    ///
    /// If `source` is none of these, or cannot be read. The message never contains the secret. The exit code is 2.
    pub fn read_secret(&self, name: &str, source: &str) -> Result<String, Failure> {
        secret::read_secret_text(&self.terminal, name, source)
    }

    /// Runs a built-in command on other tools, such as those of a document. The tools are called by an executor with default
    /// settings: [`Cli::executor`](crate::Cli::executor) is about the tools of the program.
    ///
    /// `name` is how the command line continues after the name of the program, for messages; `command` and `matches` are a
    /// command of [`grammars`](crate::grammars) and its arguments.
    ///
    /// # Errors
    ///
    /// If there is no such command, and as the command itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_cli::{Cli, Command, Exit, Failure, Program, clap};
    /// use tool_runtime::Registry;
    ///
    /// /// `other list` lists tools that are not the program's.
    /// struct Other;
    ///
    /// impl Command for Other {
    ///     fn grammar(&self) -> clap::Command {
    ///         clap::Command::new("other").subcommands(tool_cli::grammars(["list"]))
    ///     }
    ///
    ///     fn run(&self, program: &Program, matches: &clap::ArgMatches) -> Result<Exit, Failure> {
    ///         let (command, matches) = matches.subcommand().ok_or_else(|| Failure::usage("no command"))?;
    ///         program.run_on(Registry::builder().build_without_values().unwrap(), "other", command, matches)
    ///     }
    /// }
    ///
    /// assert_eq!(Cli::new().command(Other).run(["program", "other", "list"]), Exit::Done);
    /// ```
    pub fn run_on(
        &self,
        tools: Registry,
        name: &str,
        command: &str,
        matches: &ArgMatches,
    ) -> Result<Exit, Failure> {
        let (terminal, built_in) = (self.terminal.clone(), self.built_in);
        let name = format!("{} {name}", self.name);
        let closures = ProgramClosures::default();
        let mut program = Self::new(name, self.about.clone(), terminal, closures, built_in(), built_in);
        (program.described, program.callable) = (tools.clone().into(), tools.into());
        match program.commands.iter().find(|it| it.grammar().get_name() == command) {
            Some(command) => command.run(&program, matches),
            None => Err(Failure::usage(format!("there is no command `{command}`"))),
        }
    }

    pub(crate) fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    /// The grammar of all commands.
    pub(crate) fn grammar(&self) -> clap::Command {
        program_grammar(&self.name, self.about.as_deref(), self.terminal.width(), &self.commands)
    }

    pub(crate) fn run_command(&self, arguments: Vec<OsString>) -> Result<Exit, Failure> {
        let matches = match self.grammar().try_get_matches_from(arguments) {
            Ok(matches) => matches,
            Err(error) => return self.print_clap_message(error),
        };
        let chosen = matches.subcommand().and_then(|(name, matches)| {
            let command = self.commands.iter().find(|it| it.grammar().get_name() == name)?;
            Some((command, matches))
        });
        let Some((command, matches)) = chosen else { return Err(Failure::usage("the command is missing")) };
        command.run(self, matches)
    }

    /// Writes a message of `clap`: help, or an error that may repeat parts of the command line.
    pub(crate) fn print_clap_message(&self, mut error: clap::Error) -> Result<Exit, Failure> {
        replace_suggested_aliases(&mut error, &self.grammar());
        let repeated: Vec<_> =
            error.context().map(|(kind, value)| (kind, escaped_context(kind, value))).collect();
        for (kind, value) in repeated {
            error.insert(kind, value);
        }
        // Without styles: the page adds its own.
        let text = error.render().to_string();
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            self.terminal.print_page(self.terminal.page().add_clap_help(&text))?;
            return Ok(Exit::Done);
        }
        self.terminal.write_error_page(self.terminal.error_page().add_usage_error(&text));
        Ok(Exit::Usage)
    }

    fn registry_builder(&self) -> RegistryBuilder {
        self.closures.borrow().tools.iter().fold(Registry::builder().discover(), |builder, add| add(builder))
    }

    fn runtime(&self) -> Result<&Runtime, Failure> {
        match self.runtime.get() {
            Some(runtime) => Ok(runtime),
            None => {
                let started = tokio::runtime::Builder::new_multi_thread().enable_all().build();
                let none =
                    |error| Failure::new(Exit::Unusable, format!("the runtime cannot be started: {error}"));
                let started = started.map_err(none)?;
                Ok(self.runtime.get_or_init(|| started))
            }
        }
    }
}

/// Does not wait for threads that are blocked, such as by a question without an answer.
impl Drop for Program {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Returns a tool of the program as an item. Its origin is its toolset, or else the program.
fn tool_item(definition: &ToolDefinition) -> Result<Item, Failure> {
    let origin = definition.metadata().toolset.as_deref().unwrap_or("builtin");
    let name = definition.name().as_str();
    let mut item = Item::new("tool", name, origin).with_description(definition.description());
    item.title = Some(definition.title().to_owned()).filter(|title| title != name);
    let definition = serde_json::to_value(definition).map_err(|error| {
        Failure::new(Exit::Failed, format!("the tool `{name}` cannot be written as JSON: {error}"))
    })?;
    Ok(item.with_definition(definition))
}

fn unusable_tools_failure(error: BuildError) -> Failure {
    Failure::new(Exit::Unusable, error.to_string())
}

/// The text of an error with its sources.
fn error_chain(context: &str, error: &dyn Error) -> String {
    let mut text = format!("{context}: {error}");
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

#[allow(clippy::unwrap_used, reason = "a test may")]
#[cfg(test)]
mod tests;
