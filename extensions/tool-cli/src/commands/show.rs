use clap::{Arg, ArgMatches};
use serde_json::Value;
use tool_runtime::ToolDefinition;

use super::{find_definition, hint_words, json_option, pretty_json};
use crate::{
    Command, Exit, Failure, Program, dialects,
    flags::{self, JsonProperty, Property, argument_properties, schema_properties},
    page::{Page, TextStyle},
    sanitize::escaped_line,
};

/// The command `show`, which shows one tool.
pub(super) struct Show;

impl Command for Show {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("show")
            .visible_alias("s")
            .about("Show one tool")
            .arg(
                dialects::dialect_option()
                    .help("Write the definition in this dialect, as JSON")
                    .conflicts_with("json"),
            )
            .arg(json_option())
            .arg(Arg::new("name").value_name("NAME").required(true).help("The name of the tool"))
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let tools = program.tools()?;
        let name = matches.get_one::<String>("name").map_or("", String::as_str);
        let definition = find_definition(program, tools, name)?;
        if let Some(dialect) = dialects::chosen_dialects(matches).first() {
            let bound = dialect.bind_tools(&tools.resolve([definition.name().as_str()]).0);
            program.terminal().print_json(&pretty_json(bound.definitions())?)?;
            return Ok(super::export::report_left_out_tools(program, &bound));
        }
        if matches.get_flag("json") {
            program.terminal().print_json(&pretty_json(definition)?)?;
        } else {
            program.terminal().print_page(&tool_page(program, definition))?;
        }
        Ok(Exit::Done)
    }
}

/// The header of a table of arguments.
pub(super) const HEADER: [&str; 3] = ["Argument", "Takes", "Description"];

/// The row of an argument.
pub(super) fn property_row(property: &Property) -> [(TextStyle, String); 3] {
    [(TextStyle::Name, flag_text(property)), type_cell(property), (TextStyle::Plain, property.summary_line())]
}

fn tool_page(program: &Program, definition: &ToolDefinition) -> Page {
    let name = definition.name().as_str();
    let mut page = program.terminal().page();
    page.add_styled_text(TextStyle::Name, name);
    if definition.title() != name {
        page.add(&format!(" ({})", escaped_line(definition.title())));
    }
    page.add("\n\n").add_wrapped_text(definition.description().trim()).add("\n");
    let facts = metadata_lines(definition);
    if !facts.is_empty() {
        page.add("\n");
        for (what, value) in facts {
            page.add_styled_text(TextStyle::Name, what).add(&format!(": {}\n", escaped_line(&value)));
        }
    }
    let arguments = argument_properties(definition);
    page.add("\n");
    if arguments.is_empty() {
        page.add("No arguments.\n");
    } else {
        let rows = arguments
            .iter()
            .flat_map(|it| [property_row(it)].into_iter().chain(it.shape.iter().map(json_property_row)));
        page.add_table(HEADER, rows);
    }
    page.add("\n");
    add_output_schema(&mut page, definition);
    for example in definition.examples() {
        page.add("\n")
            .add_styled_text(TextStyle::Name, "Example")
            .add(": ")
            .add_styled_text(TextStyle::Plain, &example.to_string())
            .add("\n");
    }
    page
}

/// The row of a property inside the value above it, indented.
fn json_property_row(property: &JsonProperty) -> [(TextStyle, String); 3] {
    let name = format!("{}{}", "  ".repeat(property.depth + 1), property.name);
    [
        (TextStyle::Plain, name),
        (TextStyle::Plain, property.takes.clone()),
        (TextStyle::Plain, property.about.clone()),
    ]
}

fn flag_text(property: &Property) -> String {
    if property.has_flag {
        flags::flag_name(property)
    } else {
        format!("{:?} (JSON only)", property.path.join("."))
    }
}

/// The type of an argument, with its default or `required`.
fn type_cell(property: &Property) -> (TextStyle, String) {
    let kind = property.kind.description();
    let text = match (&property.default, property.required) {
        (Some(default), _) => format!("{kind} = {}", flags::value_text(default)),
        (None, true) => format!("{kind}, required"),
        (None, false) => kind,
    };
    (TextStyle::Plain, text)
}

/// Hints and limits with their labels.
fn metadata_lines(definition: &ToolDefinition) -> Vec<(&'static str, String)> {
    let metadata = definition.metadata();
    let list = |words: &[std::borrow::Cow<'static, str>]| words.join(", ");
    let hints = hint_words(definition).join(", ");
    let all = [
        ("Hints", (!hints.is_empty()).then_some(hints)),
        ("Streams", metadata.streaming.then(|| "the result arrives in parts".to_owned())),
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

/// Adds the output: a table of properties for an object or a list of objects, otherwise its type.
fn add_output_schema(page: &mut Page, definition: &ToolDefinition) {
    page.add_styled_text(TextStyle::Name, "Output").add(": ");
    let Some(schema) = definition.output_schema().map(tool_runtime::schema::OutputSchema::as_value) else {
        page.add("not declared\n");
        return;
    };
    let items = schema.get("items").filter(|_| schema.get("type") == Some(&Value::from("array")));
    let fields = schema_properties(items.unwrap_or(schema));
    if fields.is_empty() {
        page.add(&escaped_line(&flags::schema_kind(schema).description())).add("\n");
        return;
    }
    let rows = fields.iter().flat_map(|it| {
        let row = [
            (TextStyle::Name, it.path.join(".")),
            (TextStyle::Plain, it.kind.description()),
            (TextStyle::Plain, it.summary_line()),
        ];
        [row].into_iter().chain(it.shape.iter().map(json_property_row))
    });
    page.add(if items.is_some() { "a list of objects\n\n" } else { "an object\n\n" });
    page.add_table(["Property", "Type", "Description"], rows);
}
