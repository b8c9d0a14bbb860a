use clap::ArgMatches;
use tool_runtime::{diagnostic::Severity, dialect::BoundTools};

use super::pretty_json;
use crate::{Command, Exit, Failure, Program, dialects};

/// The command `export`, which writes the definitions in a dialect.
pub(super) struct Export;

impl Command for Export {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("export")
            .about("Write the definitions of all tools in a dialect")
            .arg(dialects::dialect_option().required(true).help("The dialect of the definitions"))
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let tools = program.tools()?;
        let mut exit = Exit::Done;
        if let Some(dialect) = dialects::chosen_dialects(matches).first() {
            let bound = dialect.bind_tools(tools);
            program.terminal().print_json(&pretty_json(bound.definitions())?)?;
            exit = report_left_out_tools(program, &bound);
        }
        Ok(exit)
    }
}

/// Writes an error for each tool that the dialect cannot carry.
pub(super) fn report_left_out_tools(program: &Program, bound: &BoundTools) -> Exit {
    let errors = bound.diagnostics().iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let mut exit = Exit::Done;
    for diagnostic in errors {
        let tool = diagnostic.location.tool.as_deref().unwrap_or_default();
        let help = diagnostic.help.as_deref().unwrap_or_default();
        program.terminal().report_error_with_any_text(&format!("`{tool}`: {}; {help}", diagnostic.message));
        exit = Exit::Failed;
    }
    exit
}
