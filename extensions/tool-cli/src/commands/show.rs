use clap::{Arg, ArgMatches};
use serde_json::Value;
use tool_runtime::ToolDefinition;

use super::{definition, hints, json, pretty};
use crate::{
    Command, Exit, Failure, Program, dialects,
    flags::{self, Property, properties},
    harmless::in_a_line,
    page::{Look, Page},
};

/// Says all of one tool.
pub(super) struct Show;

impl Command for Show {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("show")
            .about("Say all of one tool")
            .arg(dialects::option().help("Write it as a provider is told it, as JSON").conflicts_with("json"))
            .arg(json())
            .arg(Arg::new("name").value_name("NAME").required(true).help("The name of the tool"))
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let tools = program.tools()?;
        let name = matches.get_one::<String>("name").map_or("", String::as_str);
        let definition = definition(program, tools, name)?;
        if let Some(dialect) = dialects::chosen(matches).first() {
            let bound = dialect.bind(&tools.resolve([name]).0);
            program.terminal().print_json(&pretty(bound.definitions())?)?;
            return Ok(super::export::left_out(program, &bound));
        }
        if matches.get_flag("json") {
            program.terminal().print_json(&pretty(definition)?)?;
        } else {
            program.terminal().print(&described(program, definition))?;
        }
        Ok(Exit::Done)
    }
}

fn described(program: &Program, definition: &ToolDefinition) -> Page {
    let name = definition.name().as_str();
    let mut page = program.terminal().page();
    page.paint(Look::Name, name);
    if definition.title() != name {
        page.add(&format!(" ({})", in_a_line(definition.title())));
    }
    page.add("\n\n").add_wrapped(definition.description().trim()).add("\n");
    let facts = facts(definition);
    if !facts.is_empty() {
        page.add("\n");
        for (what, value) in facts {
            page.paint(Look::Name, what).add(&format!(": {}\n", in_a_line(&value)));
        }
    }
    let arguments = properties(definition.input_schema().as_value());
    page.add("\n");
    if arguments.is_empty() {
        page.add("It takes no arguments.\n");
    } else {
        let rows =
            arguments.iter().map(|it| [(Look::Name, shown_flag(it)), taken(it), (Look::Plain, it.line())]);
        page.add_table(["Argument", "Takes", "What it is"], rows);
    }
    page.add("\n");
    add_output(&mut page, definition);
    for example in definition.examples() {
        page.add("\n")
            .paint(Look::Name, "Example")
            .add(": ")
            .paint(Look::Plain, &example.to_string())
            .add("\n");
    }
    page
}

fn shown_flag(property: &Property) -> String {
    if property.has_flag {
        flags::flag(property)
    } else {
        format!("{:?} (JSON only)", property.path.join("."))
    }
}

/// What an argument takes, and whether it may be left out.
fn taken(property: &Property) -> (Look, String) {
    let kind = property.kind.words();
    let text = match (&property.default, property.required) {
        (Some(default), _) => format!("{kind} = {}", flags::shown(default)),
        (None, true) => format!("{kind}, required"),
        (None, false) => kind,
    };
    (Look::Plain, text)
}

/// Hints and limits, each with its name.
fn facts(definition: &ToolDefinition) -> Vec<(&'static str, String)> {
    let metadata = definition.metadata();
    let list = |words: &[std::borrow::Cow<'static, str>]| words.join(", ");
    let hints = hints(definition).join(", ");
    let all = [
        ("Hints", (!hints.is_empty()).then_some(hints)),
        ("Streams", metadata.streaming.then(|| "its result comes in parts".to_owned())),
        (
            "Raw name",
            (definition.raw_name() != definition.name().as_str()).then(|| definition.raw_name().to_owned()),
        ),
        ("Set", metadata.toolset.as_deref().map(str::to_owned)),
        ("Tags", (!metadata.tags.is_empty()).then(|| list(&metadata.tags))),
        ("Secret", (!metadata.secrets.is_empty()).then(|| list(&metadata.secrets))),
        ("Timeout", metadata.timeout.map(|limit| format!("{limit:?}"))),
    ];
    all.into_iter().filter_map(|(what, value)| value.map(|value| (what, value))).collect()
}

/// Adds what comes back: a table of its properties where it is an object, or a list of such.
fn add_output(page: &mut Page, definition: &ToolDefinition) {
    page.paint(Look::Name, "Output").add(": ");
    let Some(schema) = definition.output_schema().map(tool_runtime::OutputSchema::as_value) else {
        page.add("not said\n");
        return;
    };
    let items = schema.get("items").filter(|_| schema.get("type") == Some(&Value::from("array")));
    let fields = properties(items.unwrap_or(schema));
    if fields.is_empty() {
        page.add(&in_a_line(&flags::kind_of(schema).words())).add("\n");
        return;
    }
    let rows = fields.iter().map(|it| {
        let name = it.path.join(".");
        [(Look::Name, name), (Look::Plain, it.kind.words()), (Look::Plain, it.line())]
    });
    page.add(if items.is_some() { "a list of objects\n\n" } else { "an object\n\n" });
    page.add_table(["Property", "Is", "What it is"], rows);
}
