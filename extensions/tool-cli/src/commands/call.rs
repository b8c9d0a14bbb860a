use std::ffi::OsString;

use clap::{
    ArgMatches,
    error::{ContextKind, ContextValue, ErrorKind as ErrorOfClap},
};
use serde_json::Value;
use tool_runtime::{
    CallOutcome, ErrorKind, ToolCall, ToolDefinition, ToolResult, call::CallId, executor::RunSettings,
};

use super::{
    answer::{ResultForm, write_result},
    call_words::CallWords,
    external_call_note, find_definition,
    options::{self, CallOptions, call_options_not_shadowed_by, tool_grammar},
};
use crate::{
    Command, Exit, Failure, Program, argument_errors,
    flags::{self, CallArguments, Property, argument_properties, collect_arguments, read_value},
    progress::{ProgressView, run_batch_with_view},
    secret,
    streamed::StreamedOutput,
};

pub(crate) const NAME: &str = "call";

/// The command `call`, which calls one tool.
pub(super) struct Call;

const EXAMPLES: &str = "\
The flags of a tool are its arguments; `call --help NAME` lists them. Options stand before NAME, or after it if \
the tool has no argument of that name.

A secret is never part of the command line: its flag takes env:NAME for an environment variable, @FILE for a file, or \
- to enter it without echo.

For a tool `forecast` with the arguments `city` and `days`:
  call forecast --city Paris --days 3
  call forecast '{\"city\": \"Paris\"}'
  call --json @request.json forecast --days 5";

impl Command for Call {
    fn grammar(&self) -> clap::Command {
        clap::Command::new(NAME)
            .visible_alias("c")
            .about("Call one tool, with flags or JSON")
            .subcommand_value_name("NAME [ARGUMENTS]...")
            .disable_help_subcommand(true)
            .after_help(EXAMPLES)
            .disable_help_flag(true)
            .args(call_options_not_shadowed_by(None))
            .allow_external_subcommands(true)
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        if let Some(text) = matches.get_one::<String>("own json")
            && program.tools()?.get(text).is_some()
        {
            let fix = "`--json` takes the arguments; `--output json` writes the result as JSON";
            return Err(Failure::usage(fix));
        }
        let Some((name, rest)) = matches.subcommand() else {
            let usage =
                "the name of a tool is missing; `list` lists all tools, `call --help` shows the usage";
            return if matches.get_flag("help") {
                print_call_help(program)
            } else {
                Err(Failure::usage(usage))
            };
        };
        let definition = find_definition(program, program.tools()?, name)?;
        let mut grammar = tool_grammar(program, definition);
        if matches.get_flag("help") {
            return print_help(program, &mut grammar);
        }
        let written: Vec<_> = rest.get_many::<OsString>("").into_iter().flatten().cloned().collect();
        if let Some(words) = CallWords::classify(&grammar, &written) {
            if words.has_help {
                return print_help(program, &mut grammar);
            }
            if let Some(problem) =
                words.problem_page(program, definition, &grammar, options::option_words_before_tool(matches))
            {
                program.terminal().write_error_page(&problem);
                return Ok(Exit::Usage);
            }
        }
        let words: Vec<_> = std::iter::once(OsString::from(name)).chain(written).collect();
        let of_tool = match grammar.try_get_matches_from_mut(&words) {
            Ok(of_tool) => of_tool,
            Err(mut error) => {
                if let Some(exit) = report_all_flag_violations(program, definition, matches, &error, &words)?
                {
                    return Ok(exit);
                }
                redact_and_explain_values(&mut error, definition);
                return program.print_clap_message(error);
            }
        };
        if of_tool.get_flag("help") {
            return print_help(program, &mut grammar);
        }
        let options = CallOptions { before: matches, after: &of_tool };
        read_and_run_call(program, definition, &options)
    }
}

/// Reads the arguments, validates them, and calls the tool.
fn read_and_run_call(
    program: &Program,
    definition: &ToolDefinition,
    options: &CallOptions<'_>,
) -> Result<Exit, Failure> {
    let (terminal, name) = (program.terminal(), definition.name().as_str());
    let properties = argument_properties(definition);
    let form = match (options.wants_json(), options.destination()?) {
        (true, _) => ResultForm::Json,
        (false, save) => ResultForm::Text { streamed: StreamedOutput::new(terminal, name), save },
    };
    let json = options.json_arguments()?;
    if let Some(json) = json.as_ref().filter(|json| json.origin.is_none()) {
        secret::refuse_secret_in_json(definition, &json.text)?;
    }
    secret::refuse_secret_in_json_flags(definition, &properties, options.after)?;
    let read = |property: &Property, text: &str| match property.secret {
        true => secret::read_secret(terminal, property, text),
        false => read_value(property, text),
    };
    let arguments = collect_arguments(&properties, options.after, json, &read)?;
    let arguments = secret::ask_for_missing_secrets(terminal, &properties, arguments)?;
    let hide = !definition.metadata().secrets.is_empty();
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&arguments.text) {
        terminal.write_error_page(&argument_errors::invalid_json_page(terminal, &arguments, &error, hide));
        return Ok(Exit::Usage);
    }
    // Arguments are validated before values are provided, such as a database that takes time to open.
    if let Err(error) = program.tools()?.check(name, arguments.text.clone())
        && error.kind() == ErrorKind::InvalidArguments
    {
        if options.wants_json() {
            return write_result(program, &ToolResult::new(CallId::generate(), name, Err(error)), form);
        }
        terminal.write_error_page(&argument_errors::invalid_arguments_page(
            terminal,
            &properties,
            &error,
            &arguments,
            hide,
        ));
        return Ok(Exit::Usage);
    }
    let is_streaming = definition.metadata().streaming;
    run_call(program, name, options, arguments, form, is_streaming)
}

/// Reports all violations of flags together, where `error` is about the value of one of several. `None` if `error` says it all,
/// or the tool has secrets, whose sources are read once only.
fn report_all_flag_violations(
    program: &Program,
    definition: &ToolDefinition,
    before: &ArgMatches,
    error: &clap::Error,
    words: &[OsString],
) -> Result<Option<Exit>, Failure> {
    let is_value = matches!(error.kind(), ErrorOfClap::InvalidValue | ErrorOfClap::ValueValidation);
    if !is_value || !definition.metadata().secrets.is_empty() {
        return Ok(None);
    }
    let properties = argument_properties(definition);
    let grammar = flags::without_value_parsers(tool_grammar(program, definition), &properties);
    let Ok(after) = grammar.try_get_matches_from(words) else { return Ok(None) };
    let options = CallOptions { before, after: &after };
    // A number outside of its range is reported as a number, any other invalid text as a text.
    let number = |text: &str| text.parse().map_or_else(|_| text.into(), Value::Number);
    let read =
        |property: &Property, text: &str| Ok(property.kind.parse(text).unwrap_or_else(|_| number(text)));
    let Ok(arguments) =
        options.json_arguments().and_then(|json| collect_arguments(&properties, &after, json, &read))
    else {
        return Ok(None);
    };
    let (terminal, name) = (program.terminal(), definition.name().as_str());
    match program.tools()?.check(name, arguments.text.clone()) {
        Err(error) if error.violations().len() > 1 && options.wants_json() => {
            let result = ToolResult::new(CallId::generate(), name, Err(error));
            write_result(program, &result, ResultForm::Json).map(Some)
        }
        Err(error) if error.violations().len() > 1 => {
            terminal.write_error_page(&argument_errors::invalid_arguments_page(
                terminal,
                &properties,
                &error,
                &arguments,
                false,
            ));
            Ok(Some(Exit::Usage))
        }
        _ => Ok(None),
    }
}

/// Replaces the value of a secret in a message of `clap`, and adds a hint for values that begin with a dash.
fn redact_and_explain_values(error: &mut clap::Error, definition: &ToolDefinition) {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let argument = text(ContextKind::InvalidArg).split([' ', '[']).next().unwrap_or_default();
    let has_value = !text(ContextKind::InvalidValue).is_empty();
    if has_value
        && argument_properties(definition).iter().any(|it| it.secret && flags::flag_name(it) == argument)
    {
        error.insert(ContextKind::InvalidValue, ContextValue::String("***".to_owned()));
    }
    if error.get(ContextKind::Suggested).is_some() {
        let how = "a value that begins with a dash is written as '--FLAG=VALUE'".into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![how]));
    }
}

fn run_call(
    program: &Program,
    name: &str,
    options: &CallOptions<'_>,
    arguments: CallArguments,
    mut form: ResultForm<'_>,
    is_streaming: bool,
) -> Result<Exit, Failure> {
    let terminal = program.terminal();
    let (executor, missing_terminal) = options
        .approve_mode()
        .derive_executor(program.executor()?, RunSettings::new(), false, terminal.question_screen(), None)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let batch = executor.batch(vec![ToolCall::new(name, arguments.text)]);
    let streamed = match &mut form {
        ResultForm::Text { streamed, .. } if is_streaming => Some(streamed),
        _ => None,
    };
    let view = match options.wants_json() {
        true => ProgressView::for_json_result(terminal),
        false => ProgressView::with_text_events(terminal),
    };
    let outcomes = program.block_on(run_batch_with_view(batch, view, streamed))?;
    let Some(outcome) = outcomes.first() else { return Ok(Exit::Failed) };
    match outcome.result() {
        Some(result) => {
            let exit = write_result(program, result, form)?;
            missing_terminal.report_missing_terminal(terminal);
            Ok(exit)
        }
        None => {
            terminal.report_note(&match outcome {
                CallOutcome::External(..) => external_call_note(name),
                _ => format!("the call of `{name}` is still running"),
            });
            Ok(Exit::Done)
        }
    }
}

/// Writes the help of `call` itself.
fn print_call_help(program: &Program) -> Result<Exit, Failure> {
    let mut all = program.grammar();
    all.build();
    match all.find_subcommand_mut(NAME) {
        Some(call) => print_help(program, call),
        None => Ok(Exit::Done),
    }
}

fn print_help(program: &Program, grammar: &mut clap::Command) -> Result<Exit, Failure> {
    let terminal = program.terminal();
    terminal.print_page(terminal.page().add_clap_help(&grammar.render_long_help().to_string()))?;
    Ok(Exit::Done)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;
    use tool_runtime::{ToolName, definition::Metadata, schema::InputSchema};

    use super::*;
    use crate::{closures::ProgramClosures, terminal::Terminal};

    #[test]
    fn a_nested_secret_in_json_on_the_command_line_is_refused() {
        let text = json!({ "type": "string" });
        let login = json!({ "type": "object", "properties": { "pin": text, "user": text } });
        let schema = json!({ "type": "object", "additionalProperties": false, "properties": {
            "pin": text, "login": login, "all": { "type": "array", "items": login },
            "any": { "type": "object", "additionalProperties": login },
        }});
        let metadata = Metadata { secrets: vec!["pin".into()], ..Metadata::default() };
        let definition =
            ToolDefinition::new(ToolName::new("tool").unwrap(), "Does.", InputSchema::new(schema).unwrap())
                .with_metadata(metadata);
        let program = Program::new(
            "it".into(),
            None,
            Terminal::new(),
            ProgramClosures::default(),
            Vec::new(),
            Vec::new,
        );
        let properties = argument_properties(&definition);
        let refused = |flag: &str, json: &str| {
            let matches =
                tool_grammar(&program, &definition).try_get_matches_from(["tool", flag, json]).unwrap();
            secret::refuse_secret_in_json_flags(&definition, &properties, &matches).is_err()
        };
        for (name, value, is_refused) in [
            ("login", r#"{"user": "***", "pin": null}"#, false),
            ("login", r#"{"user": "a", "p\u0069n": "1"}"#, true),
            ("all", r#"{"pin": "1"}"#, true),
            ("any", r#"{"a": {"pin": ["***", "1"]}}"#, true),
            ("any", r#"{"a": {"user": "pin"}}"#, false),
        ] {
            assert_eq!(refused(&format!("--{name}"), value), is_refused, "{name} {value}");
            let whole = if name == "all" { format!("[{value}]") } else { value.to_owned() };
            let whole = secret::refuse_secret_in_json(&definition, &format!(r#"{{"{name}": {whole}}}"#));
            assert_eq!(whole.is_err(), is_refused, "{name} {value}");
        }
        // A nested secret has a flag that takes a source.
        let flag = properties.iter().find(|it| it.path == ["login", "pin"]).unwrap();
        assert!(flag.secret && flag.has_flag);
    }

    #[test]
    fn a_secret_on_the_command_line_is_refused_and_not_repeated() {
        let integer = json!({ "type": "integer" });
        let schema = json!({ "type": "object", "properties": { "my_pin": integer, "days": integer } });
        let metadata = Metadata { secrets: vec!["my_pin".into()], ..Metadata::default() };
        let name = ToolName::new("tool").unwrap();
        let definition =
            ToolDefinition::new(name, "Does.", InputSchema::new(schema).unwrap()).with_metadata(metadata);
        let program = Program::new(
            "it".into(),
            None,
            Terminal::new(),
            ProgramClosures::default(),
            Vec::new(),
            Vec::new,
        );
        let told = |written: &str| {
            let written = written.split(' ');
            let mut error = tool_grammar(&program, &definition).try_get_matches_from(written).unwrap_err();
            redact_and_explain_values(&mut error, &definition);
            error.render().to_string()
        };
        for written in ["tool --my-pin 1234", "tool --my_pin=\t1234"] {
            let expected = "error: invalid value '***' for '--my-pin <SOURCE>': a secret must not be part of the \
                            command line; use env:NAME, @FILE, or - to enter it";
            assert_eq!(told(written).trim_end(), expected);
        }
        let expected = "error: a value is required for '--my-pin <SOURCE>' but none was supplied";
        assert_eq!(told("tool --my-pin").trim_end(), expected);
        assert!(told("tool --days 12e4").contains("invalid value '12e4' for '--days <INTEGER>'"));
    }
}
