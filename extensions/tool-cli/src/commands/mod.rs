//! The built-in commands, one file each.

mod answer;
mod call;
mod call_words;
mod completions;
mod export;
mod lint;
mod list;
mod options;
mod pin;
mod run;
mod show;

use clap::{Arg, ArgAction};
use serde::Serialize;
use tool_runtime::{ErrorKind, Registry, Tool, ToolDefinition, ToolResult};

use crate::{Command, Exit, Failure, Program, sanitize::escaped_line};

pub(crate) fn built_in_commands() -> Vec<Box<dyn Command>> {
    vec![
        Box::new(list::List),
        Box::new(show::Show),
        Box::new(call::Call),
        Box::new(run::Run),
        Box::new(lint::Lint),
        Box::new(export::Export),
        Box::new(pin::Pin),
        Box::new(pin::Check),
        Box::new(completions::Completions),
    ]
}

/// Returns the grammars of built-in commands by their names, in this order, for a command that runs them on other tools by
/// [`Program::run_on`]. Names of no command are left out.
pub fn grammars<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<clap::Command> {
    let all: Vec<_> = built_in_commands().iter().map(|command| command.grammar()).collect();
    names.into_iter().filter_map(|name| all.iter().find(|it| it.get_name() == name).cloned()).collect()
}

pub(crate) use self::{call::NAME as CALL, options::tool_grammar};

/// The option `--json`.
fn json_option() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write JSON")
}

fn pretty_json<T: Serialize + ?Sized>(value: &T) -> Result<String, Failure> {
    let unwritable =
        |error| Failure::new(Exit::Failed, format!("the output cannot be written as JSON: {error}"));
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(unwritable)
}

/// The definition of the tool `name`, or of the only one with this name at its origin, or an error with similar names.
fn find_definition<'p>(
    program: &Program,
    tools: &'p Registry,
    name: &str,
) -> Result<&'p ToolDefinition, Failure> {
    if let Some(tool) = tools.get(name) {
        return Ok(tool.definition());
    }
    let mut raw = tools.definitions().iter().filter(|it| it.raw_name() == name);
    if let (Some(only), None) = (raw.next(), raw.next()) {
        return Ok(only);
    }
    if tools.is_empty() {
        let name = escaped_line(name);
        return Err(Failure::usage(format!("there is no tool `{name}`: there are no tools")));
    }
    let (_, unknown) = tools.resolve([name]);
    let close = unknown.iter().flat_map(|error| error.suggestions()).map(|name| format!("`{name}`"));
    let close: Vec<_> = close.collect();
    let meant = match close.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    };
    let name = escaped_line(name);
    let message = format!("there is no tool `{name}`{meant}\n\n`{} list` lists all tools", program.name());
    Err(Failure::usage(message))
}

/// The exit code for a result.
fn exit_of_result(result: &ToolResult) -> Exit {
    match &result.outcome {
        Ok(_) if !result.is_error() => Exit::Done,
        Ok(_) => Exit::Failed,
        Err(error) => match error.kind() {
            ErrorKind::UnknownTool | ErrorKind::InvalidArguments => Exit::Usage,
            ErrorKind::Denied | ErrorKind::ApprovalRequired => Exit::Refused,
            ErrorKind::Cancelled => Exit::Cancelled,
            _ => Exit::Failed,
        },
    }
}

/// The note about an external call of the tool `name`.
fn external_call_note(name: &str) -> String {
    format!("`{}` was not run; its calls are executed by the caller", escaped_line(name))
}

/// The hints of a tool, one word each.
fn hint_words(definition: &ToolDefinition) -> Vec<&'static str> {
    let metadata = definition.metadata();
    let hints = [
        (metadata.read_only == Some(true), "read-only"),
        (metadata.destructive == Some(true), "destructive"),
        (metadata.idempotent == Some(true), "idempotent"),
        (metadata.open_world == Some(true), "open-world"),
        (metadata.is_long_running(), "long-running"),
        (metadata.confirmation != tool_runtime::definition::Confirmation::Never, "confirm"),
        (metadata.permission, "permission"),
        (metadata.strict == Some(true), "strict"),
        (metadata.sequential, "sequential"),
        (metadata.blocking, "blocking"),
    ];
    hints.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect()
}

/// The first paragraph of a description, as one line.
fn first_paragraph(description: &str) -> String {
    let first = description.trim().split("\n\n").next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}
