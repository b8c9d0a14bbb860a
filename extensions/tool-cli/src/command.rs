use clap::ArgMatches;

use crate::{Exit, Failure, Program};

/// A command of the command line. Built-in commands implement this trait, too.
///
/// # Examples
///
/// ```
/// use tool_cli::{Cli, Command, Exit, Failure, Program, clap};
///
/// struct Count;
///
/// impl Command for Count {
///     fn grammar(&self) -> clap::Command {
///         clap::Command::new("count").about("Counts the tools")
///     }
///
///     fn run(&self, program: &Program, _: &clap::ArgMatches) -> Result<Exit, Failure> {
///         program.print(&format!("{} tools\n", program.tools()?.len()))?;
///         Ok(Exit::Done)
///     }
/// }
///
/// let exit = Cli::new().command(Count).run(["program", "count"]);
/// assert_eq!(exit, Exit::Done);
/// ```
pub trait Command {
    /// Returns the name, the options and the help of the command.
    fn grammar(&self) -> clap::Command;

    /// Returns the grammar of the command in the program `name`, for help that depends on it. Default:
    /// [`grammar`](Self::grammar).
    fn grammar_in(&self, name: &str) -> clap::Command {
        let _ = name;
        self.grammar()
    }

    /// Runs the command.
    ///
    /// # Errors
    ///
    /// If the command cannot be run. The message is written to the standard error.
    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure>;
}
