use clap::ArgMatches;

use super::{first_paragraph, hint_words, json_option, pretty_json};
use crate::{Command, Exit, Failure, Program, page::TextStyle};

/// The command `list`, which lists the tools.
pub(super) struct List;

impl Command for List {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("list").visible_alias("ls").about("List the tools").arg(json_option())
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let tools = program.tools()?;
        if matches.get_flag("json") {
            program.terminal().print_json(&pretty_json(tools.definitions())?)?;
            return Ok(Exit::Done);
        }
        if tools.is_empty() {
            program.print("There are no tools.\n")?;
            return Ok(Exit::Done);
        }
        let row = |definition| {
            let of: &tool_runtime::ToolDefinition = definition;
            let style =
                if of.metadata().destructive == Some(true) { TextStyle::Warning } else { TextStyle::Dim };
            let name = of.name().as_str();
            // The name comes first: a model calls the tool by it. A title may be any text.
            let named = if of.title() == name { name.to_owned() } else { format!("{name} ({})", of.title()) };
            [
                (TextStyle::Name, named),
                (TextStyle::Plain, first_paragraph(of)),
                (style, hint_words(of).join(", ")),
            ]
        };
        let (terminal, rows) = (program.terminal(), tools.definitions().iter().map(row));
        terminal.print(terminal.page().add_table(["Tool", "Description", "Hints"], rows))?;
        Ok(Exit::Done)
    }
}
