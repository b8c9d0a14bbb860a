//! A command line, and what is said of it beforehand.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    env,
    ffi::OsString,
    panic,
    path::Path,
    process::ExitCode,
};

use tool_runtime::{RegistryBuilder, Reveal};

use crate::{
    Command, Exit, Failure, Program, Provides,
    commands::built_in,
    harmless::inset,
    program::{Provide, Tools},
    stage::write,
    terminal::Terminal,
};

/// The command line of a program with tools, to say more about it than [`main`](fn@crate::main) does.
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
#[must_use = "nothing is done until `main` or `run`"]
#[derive(Default)]
pub struct Cli {
    about: Option<String>,
    tools: Vec<Tools>,
    provide: Option<Provide>,
    commands: Vec<Box<dyn Command>>,
}

impl Cli {
    /// A command line of all tools that this program was linked with.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says what the program is for.
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = Some(about.into());
        self
    }

    /// Adds tools that are not discovered, such as the methods of a `#[toolset]`. It is called for each set of tools
    /// that is made, also where they are only listed: what is costly belongs to [`provide_with`](Self::provide_with).
    pub fn tools(mut self, add: impl Fn(RegistryBuilder) -> RegistryBuilder + 'static) -> Self {
        self.tools.push(Box::new(add));
        self
    }

    /// Gives tools their values. It is called before a tool is called, at most once, and by no command that calls none;
    /// a `tokio` runtime is there, so that `tokio::runtime::Handle::current().block_on(..)` waits for what is opened.
    pub fn provide_with<P: Provides>(mut self, provide: impl FnOnce(RegistryBuilder) -> P + 'static) -> Self {
        self.provide = Some(Box::new(move |builder| provide(builder).provided()));
        self
    }

    /// Adds a command; it takes the place of one of the same name, which may be built in.
    pub fn command(mut self, command: impl Command + 'static) -> Self {
        self.commands.push(Box::new(command));
        self
    }

    /// Does what the program's own arguments say.
    ///
    /// The panic hook of the process is replaced, since a tool may panic with words of a model: the message is shown
    /// like all words of tools, with a backtrace where `RUST_BACKTRACE` asks for one. [`run`](Self::run) leaves it alone.
    #[must_use = "it is what `main` returns"]
    pub fn main(self) -> ExitCode {
        panic::set_hook(Box::new(|info| {
            write(&told(&info.to_string()));
            let backtrace = Backtrace::capture();
            if backtrace.status() == BacktraceStatus::Captured {
                write(&Reveal::LINES.text(&format!("{backtrace}\n")));
            }
        }));
        self.run(env::args_os()).code().into()
    }

    /// Does what `arguments` say, of which the first is the name of the program.
    pub fn run<A: Into<OsString>>(self, arguments: impl IntoIterator<Item = A>) -> Exit {
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let name = arguments.first().and_then(|path| Path::new(path).file_name());
        let name = name.map_or_else(|| "tools".into(), |name| name.to_string_lossy());
        let name = name.strip_suffix(".exe").unwrap_or(&name).to_owned();
        let Self { about, tools, provide, commands: own } = self;
        let mut commands = built_in();
        for command in own {
            let name = command.grammar().get_name().to_owned();
            commands.retain(|it| it.grammar().get_name() != name);
            commands.push(command);
        }
        let program = Program::new(name, about, Terminal::new(), tools, provide, commands);
        program.carry_out(arguments).unwrap_or_else(|Failure { exit, message }| {
            program.terminal().error(&message);
            exit
        })
    }
}

/// A panic, as it is shown.
fn told(panic: &str) -> String {
    format!("{}\n", inset(panic))
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn a_panic_with_words_of_a_model_steers_no_terminal() {
        let panic = "panicked at src/main.rs:3:5:\nno city \u{1b}[8m\u{202e}\nerror: b";
        let shown = "panicked at src/main.rs:3:5:\n    no city \\u{1b}[8m\\u{202e}\n    error: b\n";
        assert_eq!(told(panic), shown);
    }
}
