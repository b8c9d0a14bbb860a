//! A command line and its configuration.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    env,
    ffi::OsString,
    panic,
    path::Path,
    process::ExitCode,
};

use tool_runtime::{executor::ExecutorBuilder, policy::Escape, registry::RegistryBuilder};

use crate::{
    Command, Exit, Extension, Failure, Program, Provides, closures::ProgramClosures,
    commands::built_in_commands, sanitize::escaped_and_indented, stderr::write_stderr, terminal::Terminal,
};

/// A builder for the command line of a program with tools. [`main`](fn@crate::main) runs one with default settings.
///
/// # Examples
///
/// ```standalone_crate
/// use tool_cli::{Cli, Exit};
/// use tool_runtime::prelude::*;
///
/// #[derive(Default)]
/// struct Notes;
///
/// #[toolset]
/// impl Notes {
///     /// Lists the notes.
///     #[tool(read_only)]
///     fn notes(&self) -> Vec<String> {
///         Vec::new()
///     }
/// }
///
/// struct Database;
///
/// let cli = Cli::new()
///     .about("Keeps notes.")
///     .tools(|builder| builder.toolset(Notes))
///     .provide_with(|builder| builder.provide(Database));
/// // In a program: `fn main() -> ExitCode { cli.main() }`.
/// assert_eq!(cli.run(["notes", "call", "notes"]), Exit::Done);
/// ```
#[must_use = "a command line does nothing until `main` or `run`"]
#[derive(Default)]
pub struct Cli {
    about: Option<String>,
    closures: ProgramClosures,
    commands: Vec<Box<dyn Command>>,
    extensions: Vec<Box<dyn Extension>>,
}

impl Cli {
    /// Creates a command line of all tools that this program is linked with.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the description of the program in its help. Default: `The tools of NAME`.
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = Some(about.into());
        self
    }

    /// Adds tools that are not discovered, such as the methods of a `#[toolset]`. `add` is called for each registry that is
    /// built, also by commands that only list tools: expensive work belongs to [`provide_with`](Self::provide_with).
    pub fn tools(mut self, add: impl Fn(RegistryBuilder) -> RegistryBuilder + 'static) -> Self {
        self.closures.tools.push(Box::new(add));
        self
    }

    /// Provides the values that tools need. `provide` is called before a tool is called, at most once, and only by commands
    /// that call tools. It runs within a `tokio` runtime: `tokio::runtime::Handle::current().block_on(..)` waits for a future.
    pub fn provide_with<P: Provides>(mut self, provide: impl FnOnce(RegistryBuilder) -> P + 'static) -> Self {
        self.closures.provide = Some(Box::new(move |builder| provide(builder).provided()));
        self
    }

    /// Configures the executor of `call`, `run` and [`Program::executor`]: rules, a permission policy, hooks, timeouts,
    /// limits. Without it, these commands use an executor with default settings, which allows every call. A program that
    /// also calls its tools elsewhere should pass the same function here.
    ///
    /// `configure` is called before a tool is called, at most once. It runs within a `tokio` runtime, like
    /// the closure of [`provide_with`](Self::provide_with). The options of a command apply in addition, and cannot weaken the configuration:
    ///
    /// - A denial by a rule or the policy applies with every `--approve`.
    /// - If there is an approver, it decides on calls that require approval, also with `--approve always`; `--approve
    ///   never` rejects them without asking it. Without an approver, `--approve` decides, also on an `ask` of a rule.
    /// - Of the strategy and `--strategy`, the one that runs fewer calls at once applies.
    ///
    /// # Examples
    ///
    /// ```standalone_crate
    /// use tool_cli::{Cli, Exit};
    /// use tool_runtime::{policy::{Rule, Rules}, prelude::*};
    ///
    /// /// Deletes an account.
    /// #[tool(destructive, confirm)]
    /// fn delete(account: String) -> String {
    ///     account
    /// }
    ///
    /// let cli = Cli::new().executor(|builder| {
    ///     let rules = Rules::new([Rule::deny("delete").at("/account", "admin").reason("it is in use")]);
    ///     builder.rules(rules).timeout(std::time::Duration::from_secs(30))
    /// });
    /// let exit = cli.run(["accounts", "call", "--approve", "always", "delete", "--account", "admin"]);
    /// assert_eq!(exit, Exit::Refused);
    /// ```
    pub fn executor<P: Provides<ExecutorBuilder>>(
        mut self,
        configure: impl FnOnce(ExecutorBuilder) -> P + 'static,
    ) -> Self {
        self.closures.guard = Some(Box::new(move |builder| configure(builder).provided()));
        self
    }

    /// Adds a command, which replaces a command of the same name, also a built-in one.
    pub fn command(mut self, command: impl Command + 'static) -> Self {
        self.commands.push(Box::new(command));
        self
    }

    /// Adds the commands and the items of an extension.
    pub fn extension(mut self, extension: impl Extension + 'static) -> Self {
        self.commands.extend(extension.commands());
        self.extensions.push(Box::new(extension));
        self
    }

    /// Runs the command line of the process, and returns its exit code.
    ///
    /// Replaces the panic hook of the process, since the message of a panic may contain text of a model: control characters
    /// in it are escaped. `RUST_BACKTRACE` adds a backtrace. [`run`](Self::run) does not replace the hook.
    #[must_use = "return the exit code from `main`"]
    pub fn main(self) -> ExitCode {
        panic::set_hook(Box::new(|info| {
            write_stderr(&escaped_panic(&info.to_string()));
            let backtrace = Backtrace::capture();
            if backtrace.status() == BacktraceStatus::Captured {
                write_stderr(&Escape::LINES.text(&format!("{backtrace}\n")));
            }
        }));
        self.run(env::args_os()).code().into()
    }

    /// Runs the command line `arguments`; the first one is the name of the program.
    pub fn run<A: Into<OsString>>(self, arguments: impl IntoIterator<Item = A>) -> Exit {
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let name = arguments.first().and_then(|path| Path::new(path).file_name());
        let name = name.map_or_else(|| "tools".into(), |name| name.to_string_lossy());
        let name = name.strip_suffix(".exe").unwrap_or(&name).to_owned();
        let Self { about, closures, commands: own, extensions } = self;
        let mut commands = built_in_commands();
        for command in own {
            let name = command.grammar().get_name().to_owned();
            commands.retain(|it| it.grammar().get_name() != name);
            commands.push(command);
        }
        let program = Program::new(name, about, Terminal::new(), closures, commands, built_in_commands);
        let program = program.with_extensions(extensions);
        program.run_command(arguments).unwrap_or_else(|Failure { exit, message }| {
            program.terminal().report_error(&message);
            exit
        })
    }
}

/// The message of a panic, with control characters escaped.
fn escaped_panic(panic: &str) -> String {
    format!("{}\n", escaped_and_indented(panic))
}

#[cfg(test)]
mod tests {
    use super::escaped_panic;

    #[test]
    fn control_characters_in_a_panic_message_are_escaped() {
        let panic = "panicked at src/main.rs:3:5:\nno city \u{1b}[8m\u{202e}\nerror: b";
        let shown = "panicked at src/main.rs:3:5:\n    no city \\u{1b}[8m\\u{202e}\n    error: b\n";
        assert_eq!(escaped_panic(panic), shown);
    }
}
