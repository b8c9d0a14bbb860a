use clap::ArgMatches;

use super::{hints, json, pretty, summary};
use crate::{Command, Exit, Failure, Program, page::Look};

/// The command `list`, which lists the tools.
pub(super) struct List;

impl Command for List {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("list").visible_alias("ls").about("List the tools").arg(json())
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let tools = program.tools()?;
        if matches.get_flag("json") {
            program.terminal().print_json(&pretty(tools.definitions())?)?;
            return Ok(Exit::Done);
        }
        if tools.is_empty() {
            program.print("There are no tools.\n")?;
            return Ok(Exit::Done);
        }
        let row = |definition| {
            let of: &tool_runtime::ToolDefinition = definition;
            let look = if of.metadata().destructive == Some(true) { Look::Odd } else { Look::Faint };
            let name = of.name().as_str();
            // The name comes first: a model calls the tool by it. A title may be any text.
            let named = if of.title() == name { name.to_owned() } else { format!("{name} ({})", of.title()) };
            [(Look::Name, named), (Look::Plain, summary(of)), (look, hints(of).join(", "))]
        };
        let (terminal, rows) = (program.terminal(), tools.definitions().iter().map(row));
        terminal.print(terminal.page().add_table(["Tool", "Description", "Hints"], rows))?;
        Ok(Exit::Done)
    }
}
