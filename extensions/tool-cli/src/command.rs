use clap::ArgMatches;

use crate::{Exit, Failure, Program};

/// A command of the command line. Those that are built in are made in the same way.
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
    /// Its name, options and help.
    fn grammar(&self) -> clap::Command;

    /// Carries it out.
    ///
    /// # Errors
    ///
    /// If it cannot be carried out; the message is told to the person.
    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure>;
}
