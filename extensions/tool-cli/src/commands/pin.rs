use std::{fs, io};

use clap::{Arg, ArgMatches};
use tool_runtime::pin::{ChangeKind, Pins, PinsError};

use super::{json_option, pretty_json};
use crate::{Command, Exit, Failure, Program, input, page::TextStyle, sanitize::escaped_line};

/// The command `pin`, which writes the definitions to a file.
pub(super) struct Pin;

impl Command for Pin {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("pin")
            .about("Write the definitions of all tools to a file, for `check`")
            .arg(file_argument("The file, which replaces existing pins; - is the standard output"))
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let tools = program.tools()?;
        let (path, text) = (file_path(matches), Pins::of(tools).to_json());
        if path == "-" {
            program.terminal().print_json(&text)?;
            return Ok(Exit::Done);
        }
        check_pins_file_is_replaceable(path)?;
        let unwritten =
            |error| Failure::new(Exit::Failed, format!("{} cannot be written: {error}", escaped_line(path)));
        fs::write(path, text).map_err(unwritten)?;
        let terminal = program.terminal();
        let message = format!(
            "{} in {}\n",
            tool_count_text(tools.len(), "is pinned", "are pinned"),
            escaped_line(path)
        );
        terminal.print_page(terminal.page().add(&message))?;
        Ok(Exit::Done)
    }
}

/// Refuses to replace a file that does not contain pins.
fn check_pins_file_is_replaceable(path: &str) -> Result<(), Failure> {
    let why = match fs::read_to_string(path) {
        Ok(text) if text.trim().is_empty() => return Ok(()),
        Ok(text) => match Pins::parse(&text) {
            // Pins that were edited by hand are replaced.
            Ok(_) | Err(PinsError::Edited { .. }) => return Ok(()),
            Err(error) => error.to_string(),
        },
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            "the file does not contain pins".to_owned()
        }
        // Other errors are reported when the file is written.
        Err(_) => return Ok(()),
    };
    Err(Failure::usage(format!(
        "{}: {why}; nothing was written; remove the file or name another one",
        escaped_line(path)
    )))
}

/// The command `check`, which compares the tools with pins.
pub(super) struct Check;

impl Command for Check {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("check")
            .about("Compare the tools with pins; the exit code is 1 if a tool changed")
            .arg(json_option())
            .arg(file_argument("The file that `pin` wrote; - is the standard input"))
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let path = file_path(matches);
        let pins = Pins::parse(&input::read_file(path)?)
            .map_err(|error| Failure::usage(format!("{}: {error}", escaped_line(path))))?;
        if pins.is_outdated() {
            let note = "has an older version, whose hashes are equal for some integers above 2^53; pin again";
            program.terminal().report_note(&format!("{path} {note}"));
        }
        let tools = program.tools()?;
        let changes = pins.check(tools);
        let terminal = program.terminal();
        let mut page = terminal.page();
        if matches.get_flag("json") {
            terminal.print_json(&pretty_json(&changes)?)?;
        } else if changes.is_empty() {
            page.add(&tool_count_text(tools.len(), "is unchanged", "are unchanged")).add("\n");
        } else {
            for change in &changes {
                let text = change.to_string();
                let (first, rest) = text.split_once('\n').unwrap_or((text.as_str(), ""));
                let style = match change.kind {
                    ChangeKind::Added => TextStyle::Name,
                    ChangeKind::Removed => TextStyle::Error,
                    _ => TextStyle::Warning,
                };
                let between = if rest.is_empty() { "" } else { "\n" };
                page.add_styled_text(style, first).add(between).add(rest).add("\n");
            }
        }
        terminal.print_page(&page)?;
        Ok(if changes.is_empty() { Exit::Done } else { Exit::Failed })
    }
}

fn file_argument(help: &'static str) -> Arg {
    Arg::new("file").value_name("FILE").required(true).help(help)
}

fn file_path(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("file").map_or("-", String::as_str)
}

fn tool_count_text(count: usize, singular: &str, plural: &str) -> String {
    if count == 1 { format!("1 tool {singular}") } else { format!("{count} tools {plural}") }
}

#[cfg(test)]
mod tests {
    use super::tool_count_text;

    #[test]
    fn one_tool_is_counted_in_the_singular() {
        let counts = [0, 1, 2].map(|count| tool_count_text(count, "is pinned", "are pinned"));
        assert_eq!(counts, ["0 tools are pinned", "1 tool is pinned", "2 tools are pinned"]);
    }
}
