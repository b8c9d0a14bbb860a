use clap::{Arg, ArgAction, ArgMatches};
use tool_runtime::ToolDefinition;

use super::{first_paragraph, hint_words, json_option, pretty_json};
use crate::{Command, Exit, Failure, Item, Program, page::TextStyle};

/// The command `list`, which lists the tools, or the items of all kinds.
pub(super) struct List;

impl Command for List {
    fn grammar(&self) -> clap::Command {
        let all = Arg::new("all")
            .long("all")
            .action(ArgAction::SetTrue)
            .help("List items of all kinds, with their origin");
        clap::Command::new("list").visible_alias("ls").about("List the tools").args([all, json_option()])
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        match matches.get_flag("all") {
            true => list_items(program, &program.items()?, matches.get_flag("json")),
            false => list_tools(program, program.tools()?.definitions(), matches.get_flag("json")),
        }
    }
}

fn list_tools(program: &Program, tools: &[ToolDefinition], is_json: bool) -> Result<Exit, Failure> {
    if is_json {
        program.terminal().print_json(&pretty_json(tools)?)?;
        return Ok(Exit::Done);
    }
    if tools.is_empty() {
        program.print("There are no tools.\n")?;
        return Ok(Exit::Done);
    }
    let rows = tools.iter().map(|tool| {
        let is_destructive = tool.metadata().destructive == Some(true);
        let style = if is_destructive { TextStyle::Warning } else { TextStyle::Dim };
        let name = tool.name().as_str();
        [
            (TextStyle::Name, name_with_title(name, Some(tool.title()))),
            (TextStyle::Plain, first_paragraph(tool.description())),
            (style, hint_words(tool).join(", ")),
        ]
    });
    let terminal = program.terminal();
    terminal.print_page(terminal.page().add_table(["Tool", "Description", "Hints"], rows))?;
    Ok(Exit::Done)
}

fn list_items(program: &Program, items: &[Item], is_json: bool) -> Result<Exit, Failure> {
    if is_json {
        program.terminal().print_json(&pretty_json(items)?)?;
        return Ok(Exit::Done);
    }
    if items.is_empty() {
        program.print("There are no items.\n")?;
        return Ok(Exit::Done);
    }
    let rows = items.iter().map(|item| {
        [
            (TextStyle::Name, name_with_title(&item.key, item.title.as_deref())),
            (TextStyle::Plain, item.kind.to_owned()),
            (TextStyle::Plain, first_paragraph(item.description.as_deref().unwrap_or_default())),
            (TextStyle::Dim, item.origin.clone()),
        ]
    });
    let terminal = program.terminal();
    terminal.print_page(terminal.page().add_table(["Item", "Kind", "Description", "Origin"], rows))?;
    Ok(Exit::Done)
}

/// Returns a name with its title. The name comes first: commands and models use it. A title may be any text.
fn name_with_title(name: &str, title: Option<&str>) -> String {
    match title.filter(|title| *title != name) {
        Some(title) => format!("{name} ({title})"),
        None => name.to_owned(),
    }
}
