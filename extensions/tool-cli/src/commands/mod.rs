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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use tool_runtime::{
        Content, ToolError, ToolName, ToolOutput,
        call::CallId,
        definition::{Confirmation, Metadata},
        schema::InputSchema,
    };

    use super::*;

    #[test]
    fn the_exit_code_follows_from_the_result() {
        let end = |outcome| exit_of_result(&ToolResult::new(CallId::generate(), "it", outcome));
        assert_eq!(end(Ok("done".into())), Exit::Done);
        assert_eq!(end(Ok(ToolOutput::new([Content::text("no flour")]).as_failure())), Exit::Failed);
        for (kind, exit) in [
            (ErrorKind::UnknownTool, Exit::Usage),
            (ErrorKind::InvalidArguments, Exit::Usage),
            (ErrorKind::Denied, Exit::Refused),
            (ErrorKind::ApprovalRequired, Exit::Refused),
            (ErrorKind::Cancelled, Exit::Cancelled),
            (ErrorKind::Failed, Exit::Failed),
            (ErrorKind::TimedOut, Exit::Failed),
        ] {
            assert_eq!(end(Err(ToolError::new(kind, "it"))), exit, "{kind:?}");
        }
    }

    #[test]
    fn each_hint_has_its_words() {
        let words = |metadata: Metadata| {
            let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
            let definition = ToolDefinition::new(ToolName::new("it").unwrap(), "It.", schema);
            hint_words(&definition.with_metadata(metadata))
        };
        assert_eq!(words(Metadata::default()), Vec::<&str>::new());
        let none = Metadata {
            read_only: Some(false),
            destructive: Some(false),
            idempotent: Some(false),
            open_world: Some(false),
            long_running: Some(false),
            strict: Some(false),
            timeout: Some(Duration::from_secs(1)),
            ..Metadata::default()
        };
        assert_eq!(words(none), Vec::<&str>::new());
        let all = Metadata {
            read_only: Some(true),
            destructive: Some(true),
            idempotent: Some(true),
            open_world: Some(true),
            long_running: Some(true),
            confirmation: Confirmation::Always,
            permission: true,
            strict: Some(true),
            sequential: true,
            blocking: true,
            ..Metadata::default()
        };
        let expected = [
            "read-only",
            "destructive",
            "idempotent",
            "open-world",
            "long-running",
            "confirm",
            "permission",
            "strict",
            "sequential",
            "blocking",
        ];
        assert_eq!(words(all), expected);
    }

    #[test]
    fn the_first_paragraph_is_one_line() {
        for (text, first) in [
            ("One.", "One."),
            (" One\n\ttwo.\n\nThree.", "One two."),
            ("\n\nOne.\n \nTwo.", "One. Two."),
            ("", ""),
        ] {
            assert_eq!(first_paragraph(text), first, "{text:?}");
        }
    }

    #[test]
    fn grammars_are_those_of_the_names_in_their_order() {
        let names = |names: &[&str]| -> Vec<String> {
            grammars(names.iter().copied()).iter().map(|it| it.get_name().to_owned()).collect()
        };
        assert_eq!(names(&["show", "none", "list"]), ["show", "list"]);
        assert_eq!(names(&[]), Vec::<String>::new());
        let all = ["list", "show", "call", "run", "lint", "export", "pin", "check", "completions"];
        assert_eq!(names(&all), all);
    }
}
