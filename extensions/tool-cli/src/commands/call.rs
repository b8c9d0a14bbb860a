use std::ffi::OsString;

use clap::{
    Arg, ArgAction, ArgMatches,
    error::{ContextKind, ContextValue},
    parser::ValueSource,
};
use serde_json::Value;
use tool_runtime::{
    CallId, CallOutcome, Content, ErrorKind, Reveal, ToolCall, ToolDefinition, ToolOutput, ToolResult,
};

use super::{definition, exit_of, pretty, summary};
use crate::{
    Command, Exit, Failure, Program,
    approve::{self, Approve},
    flags::{self, Given, Property, collect, properties},
    harmless::in_a_line,
    input, refused,
    watch::{Watch, watched},
};

pub(crate) const NAME: &str = "call";

/// Calls one tool.
pub(super) struct Call;

const EXAMPLES: &str = "\
The flags of a tool are made of its schema; `call --help NAME` lists them. Options stand before NAME; \
after it, too, but for those that an argument of the tool is called like.

call forecast --city Paris --days 3
call forecast '{\"city\": \"Paris\"}'
call --json @request.json forecast --days 5";

impl Command for Call {
    fn grammar(&self) -> clap::Command {
        clap::Command::new(NAME)
            .about("Call one tool, with flags made of its schema, or with JSON")
            .subcommand_value_name("NAME [ARGUMENTS]...")
            .disable_help_subcommand(true)
            .after_help(EXAMPLES)
            .disable_help_flag(true)
            .args(own(None))
            .allow_external_subcommands(true)
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        if let Some(text) = matches.get_one::<String>("own json")
            && program.tools()?.get(text).is_some()
        {
            let what = "`--json` takes the arguments; `--output json` writes the result as JSON";
            return Err(Failure::usage(what));
        }
        let Some((name, rest)) = matches.subcommand() else {
            let usage = "which tool? `list` lists them; `call --help` says how to call one";
            return if matches.get_flag("help") { help(program) } else { Err(Failure::usage(usage)) };
        };
        let definition = definition(program, program.tools()?, name)?;
        let mut grammar = grammar_of(program, definition);
        if matches.get_flag("help") {
            return print_help(program, &mut grammar);
        }
        let written = rest.get_many::<OsString>("").into_iter().flatten().cloned();
        let written = std::iter::once(OsString::from(name)).chain(written);
        let of_tool = match grammar.try_get_matches_from_mut(written) {
            Ok(of_tool) => of_tool,
            Err(mut error) => {
                explain_values(&mut error, definition);
                return program.explain(error);
            }
        };
        if of_tool.get_flag("help") {
            return print_help(program, &mut grammar);
        }
        let options = Options { before: matches, after: &of_tool };
        let properties = properties(definition.input_schema().as_value());
        let given = collect(&properties, &of_tool, options.json()?)?;
        let hide = !definition.metadata().secrets.is_empty();
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&given.text) {
            let terminal = program.terminal();
            terminal.tell(&refused::broken(terminal, &given, &error, hide));
            return Ok(Exit::Usage);
        }
        // What does not fit costs nobody an opened database.
        if let Err(error) = program.tools()?.check(name, given.text.clone())
            && error.kind() == ErrorKind::InvalidArguments
        {
            if options.wants_json() {
                return answer(program, &ToolResult::new(CallId::generate(), name, Err(error)), true);
            }
            let terminal = program.terminal();
            terminal.tell(&refused::report(terminal, &properties, &error, &given, hide));
            return Ok(Exit::Usage);
        }
        call(program, name, &options, given)
    }
}

/// Has `clap` keep a secret, and say what helps with a value that looks like a flag.
fn explain_values(error: &mut clap::Error, definition: &ToolDefinition) {
    let (secrets, properties) =
        (&definition.metadata().secrets, properties(definition.input_schema().as_value()));
    let is_secret = |it: &&Property| it.path.first().is_some_and(|name| secrets.iter().any(|it| it == name));
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let argument = said(ContextKind::InvalidArg).split([' ', '[']).next().unwrap_or_default();
    let is_shown = !said(ContextKind::InvalidValue).is_empty();
    if is_shown && properties.iter().filter(is_secret).any(|it| flags::flag(it) == argument) {
        error.insert(ContextKind::InvalidValue, ContextValue::String("***".to_owned()));
    }
    if error.get(ContextKind::Suggested).is_some() {
        let how = "a value that begins with a dash is written as '--FLAG=VALUE'".into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![how]));
    }
}

fn call(program: &Program, name: &str, options: &Options<'_>, given: Given) -> Result<Exit, Failure> {
    let terminal = program.terminal();
    let (builder, unasked) =
        options.approve().executor(program.callable()?.clone(), false, terminal.screen());
    let executor = builder.build().map_err(|error| Failure::usage(error.to_string()))?;
    let batch = executor.batch(vec![ToolCall::new(name, given.text)]);
    let outcomes = program.block_on(watched(batch, Watch::new(terminal, options.wants_json())))?;
    let Some(outcome) = outcomes.first() else { return Ok(Exit::Failed) };
    match outcome.result() {
        Some(result) => {
            let exit = answer(program, result, options.wants_json())?;
            unasked.remark(terminal);
            Ok(exit)
        }
        None => {
            let what = if matches!(outcome, CallOutcome::External(..)) {
                "is left to its caller"
            } else {
                "goes on"
            };
            terminal.note(&format!("the call {what}"));
            Ok(Exit::Done)
        }
    }
}

/// Writes the result of a call.
fn answer(program: &Program, result: &ToolResult, json: bool) -> Result<Exit, Failure> {
    let terminal = program.terminal();
    let exit = exit_of(result);
    if json {
        terminal.print_json(&pretty(result)?)?;
        return Ok(exit);
    }
    for correction in result.corrections() {
        terminal.note(&in_a_line(&correction.to_string()));
    }
    match &result.outcome {
        Ok(output) => {
            let text = written(output, terminal.is_read_by_a_person())?;
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            terminal.print_text(&format!("{text}{end}"))?;
            if output.is_failure() {
                terminal.error_of(&format!("`{}` says that it failed", result.name));
            }
        }
        Err(error) if error.kind() == ErrorKind::Cancelled => terminal.error("the call was cancelled"),
        Err(error) => terminal.error_of(&format!("`{}`: {}", result.name, error.feedback())),
    }
    Ok(exit)
}

/// What a tool gave, as text; for a person, JSON is spread out.
fn written(output: &ToolOutput, for_a_person: bool) -> Result<String, Failure> {
    let text = output.text();
    // Words that say something else than the value are what was meant to be read.
    let is_all = |value: &Value| serde_json::from_str::<Value>(&text).is_ok_and(|said| said == *value);
    let structured = output.structured().filter(|value| value.is_object() || value.is_array());
    match structured {
        Some(value) if for_a_person && is_all(&value) => pretty(&value),
        _ => Ok(output.content().iter().map(block).collect::<Vec<_>>().join("\n")),
    }
}

/// A block of content as text.
fn block(content: &Content) -> String {
    match content {
        Content::Text { text, .. } => text.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// The options of `call` itself, but for those that a property of `tool` is called like.
fn own(tool: Option<&[Property]>) -> Vec<Arg> {
    let is =
        |it: &Property, name: &str| it.has_flag && (it.flag == name || it.alias.as_deref() == Some(name));
    let is_free = |name: &str| !tool.unwrap_or_default().iter().any(|it| is(it, name));
    let json = Arg::new("own json")
        .long("json")
        .value_name("JSON")
        .help("The arguments as JSON; @FILE is a file, - the standard input. Flags stand over it");
    let output = Arg::new("own output")
        .long("output")
        .value_name("FORM")
        .value_parser(["text", "json"])
        .help("How the result is written; text if nothing is said");
    let options = [json, output, approve::option()].into_iter();
    // In few words, since the help of a tool is about the tool.
    let is_brief = tool.is_some();
    let free = options.filter(|it| it.get_long().is_none_or(is_free));
    let free = free.map(|it| it.hide_possible_values(is_brief).hide_default_value(is_brief));
    let help = Arg::new("help").short('h').action(ArgAction::SetTrue).help("Print help");
    let help = if is_free("help") { help.long("help") } else { help };
    free.chain([help]).map(|it| it.help_heading("Options of the program")).collect()
}

/// The grammar of one tool.
pub(crate) fn grammar_of(program: &Program, definition: &ToolDefinition) -> clap::Command {
    let name = definition.name().to_string();
    let properties = properties(definition.input_schema().as_value());
    let required = properties.iter().filter(|it| it.indispensable && !it.opens && it.has_flag);
    let required: Vec<_> =
        required.map(|it| format!("{} <{}>", flags::flag(it), it.kind.placeholder())).collect();
    let required = in_a_line(&required.join(" "));
    let usage = format!(
        "{} call {name} {required}{}[OPTIONS]",
        program.name(),
        if required.is_empty() { "" } else { " " }
    );
    let unwritable = properties.iter().filter(|it| !it.has_flag).map(|it| format!("{:?}", it.path.join(".")));
    let unwritable: Vec<_> = unwritable.collect();
    let grammar = clap::Command::new(name)
        .about(in_a_line(&summary(definition)))
        .long_about(Reveal::LINES.text(definition.description().trim()))
        .override_usage(usage)
        .term_width(program.terminal().width())
        .disable_help_flag(true)
        .args(flags::arguments(&properties))
        .args(own(Some(&properties)))
        .arg(
            Arg::new("own arguments")
                .value_name("ARGUMENTS")
                .help("The arguments as JSON; @FILE is a file, - the standard input")
                .help_heading("Options of the program"),
        );
    if unwritable.is_empty() {
        grammar
    } else {
        grammar.after_help(in_a_line(&format!("Only as JSON: {}", unwritable.join(", "))))
    }
}

/// Help for `call` itself, as the whole command line has it.
fn help(program: &Program) -> Result<Exit, Failure> {
    let mut all = program.grammar();
    all.build();
    match all.find_subcommand_mut(NAME) {
        Some(call) => print_help(program, call),
        None => Ok(Exit::Done),
    }
}

fn print_help(program: &Program, grammar: &mut clap::Command) -> Result<Exit, Failure> {
    let terminal = program.terminal();
    terminal.print(terminal.page().add_help(&grammar.render_long_help().to_string()))?;
    Ok(Exit::Done)
}

/// The options before the name of the tool, and those after it, which count more.
struct Options<'m> {
    before: &'m ArgMatches,
    after: &'m ArgMatches,
}

impl Options<'_> {
    fn get(&self, id: &str) -> Option<&str> {
        let of = |matches: &'_ ArgMatches| {
            matches.try_get_one::<String>(id).ok().flatten().is_some()
                && matches.value_source(id) == Some(ValueSource::CommandLine)
        };
        let chosen = if of(self.after) { self.after } else { self.before };
        chosen.try_get_one::<String>(id).ok().flatten().map(String::as_str)
    }

    /// The arguments as they were written as JSON.
    fn json(&self) -> Result<Option<Given>, Failure> {
        let text = |matches: &'_ ArgMatches, id| matches.try_get_one::<String>(id).ok().flatten().cloned();
        let all =
            [text(self.before, "own json"), text(self.after, "own json"), text(self.after, "own arguments")];
        let mut all = all.into_iter().flatten();
        match (all.next(), all.next()) {
            (Some(_), Some(_)) => Err(Failure::usage("the arguments are given twice as JSON")),
            (text, _) => text.map(|text| input::arguments(&text)).transpose(),
        }
    }

    fn wants_json(&self) -> bool {
        self.get("own output") == Some("json")
    }

    fn approve(&self) -> Approve {
        Approve::named(self.get("approve"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;
    use tool_runtime::{InputSchema, Metadata, ToolName};

    use super::*;
    use crate::terminal::Terminal;

    #[test]
    fn json_is_spread_out_for_a_person_and_other_words_stay() {
        let value = json!({ "rows": [1] });
        let spread = "{\n  \"rows\": [\n    1\n  ]\n}\n";
        let output = ToolOutput::json(&value).unwrap();
        assert_eq!(written(&output, true).unwrap(), spread);
        assert_eq!(written(&output, false).unwrap(), r#"{"rows":[1]}"#);
        let output = ToolOutput::empty().with_text("One row.").with_structured(value);
        assert_eq!(written(&output, true).unwrap(), "One row.");
    }

    #[test]
    fn a_secret_that_does_not_fit_is_not_repeated() {
        let integer = json!({ "type": "integer" });
        let schema = json!({ "type": "object", "properties": { "my_pin": integer, "days": integer } });
        let metadata = Metadata { secrets: vec!["my_pin".into()], ..Metadata::default() };
        let name = ToolName::new("tool").unwrap();
        let definition =
            ToolDefinition::new(name, "Does.", InputSchema::new(schema).unwrap()).with_metadata(metadata);
        let program = Program::new("it".into(), None, Terminal::new(), Vec::new(), None, Vec::new());
        let told = |written: &str| {
            let written = written.split(' ');
            let mut error = grammar_of(&program, &definition).try_get_matches_from(written).unwrap_err();
            explain_values(&mut error, &definition);
            error.render().to_string()
        };
        for written in ["tool --my-pin 12e4", "tool --my_pin=\t12e4"] {
            let expected = "error: invalid value '***' for '--my-pin <INTEGER>': expected an integer";
            assert_eq!(told(written).trim_end(), expected);
        }
        let expected = "error: a value is required for '--my-pin <INTEGER>' but none was supplied";
        assert_eq!(told("tool --my-pin").trim_end(), expected);
        assert!(told("tool --days 12e4").contains("invalid value '12e4' for '--days <INTEGER>'"));
    }
}
