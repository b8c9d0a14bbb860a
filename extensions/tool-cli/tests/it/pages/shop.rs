//! The program of the transcripts: tools with every property that a page shows.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tool_cli::{Cli, Command, Exit, Extension, Failure, Item, Program, clap};
use tool_runtime::{
    Content, ErrorKind, ToolDefinition,
    builder::ExternalTool,
    context::{LogLevel, LogLine, Progress},
    definition::{Metadata, Permission},
    output::{Blob, Resource, ResourceBody},
    prelude::*,
    registry::RegistryBuilder,
    schema::{InputSchema, OutputSchema},
};

use crate::Database;

/// Arguments of any names and types.
type Any = BTreeMap<String, Value>;

#[tool_args]
struct Nothing {}

/// A command line with the tools of a shop.
pub(super) fn cli() -> Cli {
    let cli = Cli::new().about("Sells cakes.").tools(|builder| asking(answering(described(builder))));
    cli.provide_with(|builder| builder.provide(Database(3)))
        .executor(|builder| builder.external(|call| call.tool() == "deliver"))
        .command(Other("empty"))
        .command(Other("few"))
        .command(Words)
        .extension(Recipes)
}

/// Items of another kind than tools, of another place.
struct Recipes;

impl Extension for Recipes {
    fn commands(&self) -> Vec<Box<dyn Command>> {
        Vec::new()
    }

    fn items(&self, _: &Program) -> Result<Vec<Item>, Failure> {
        let cake = Item::new("recipe", "cake", "grandmother").with_title("Apple \u{1b}[31mcake");
        Ok(vec![cake.with_description("A cake of apples.\n\nBake it for an hour.")])
    }
}

/// `empty list`, `empty show` and so on are commands of a registry without tools, `few list` of one with two tools.
struct Other(&'static str);

impl Command for Other {
    fn grammar(&self) -> clap::Command {
        let names = ["show", "no such command", "list", "call", "lint", "check", "pin"];
        clap::Command::new(self.0).about("Works with other tools").subcommands(tool_cli::grammars(names))
    }

    fn run(&self, program: &Program, matches: &clap::ArgMatches) -> Result<Exit, Failure> {
        let (command, matches) = matches.subcommand().ok_or_else(|| Failure::usage("no command"))?;
        let mut builder = Registry::builder();
        if self.0 == "few" {
            builder = builder.tool::<parts>().tool::<values>();
        }
        program.run_on(builder.build().unwrap(), self.0, command, matches)
    }
}

/// `words` writes with each method of a program.
struct Words;

impl Command for Words {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("words").about("Writes words").arg(clap::Arg::new("input").default_value("text"))
    }

    fn run(&self, program: &Program, matches: &clap::ArgMatches) -> Result<Exit, Failure> {
        let input = matches.get_one::<String>("input").unwrap();
        if let Some(source) = input.strip_prefix("secret=") {
            let secret = program.read_secret("key\u{7}", source)?;
            program.print(&format!("{} characters\n", secret.chars().count()))?;
            return Ok(Exit::Done);
        }
        if let Some(command) = input.strip_prefix("run=") {
            let tools = Registry::builder().build_without_values().unwrap();
            return program.run_on(tools, "words", command, matches);
        }
        if input == "line" {
            while let Some(line) = program.block_on(program.line("> "))?? {
                program.print(&format!("{line:?}\n"))?;
            }
            return Ok(Exit::Done);
        }
        program.print(&format!("{:?}\n", program.read(input)?))?;
        program.print("text\u{7}\n")?;
        program.print_json("{\"json\": \"\u{202e}\"}\n")?;
        let rows = [["tea", "hot\u{7}"], ["cake", "sweet"]];
        program.print_table(["Food", "Taste"], rows.map(|row| row.map(str::to_owned)))?;
        program.note("a note\nof two lines\u{7}");
        program.tell("label\u{7}", "told\nin two lines\u{7}");
        program.tell_error("an error\nerror: of two lines\u{7}");
        program.print(&format!("{} {}\n", program.is_read_by_a_person(), program.can_ask()))?;
        Err(Failure::quoting(Exit::Refused, "quoted\nerror: in two lines\u{7}\n"))
    }
}

fn schema(schema: Value) -> InputSchema {
    InputSchema::new(schema).unwrap()
}

fn output(schema: Value) -> OutputSchema {
    OutputSchema::new(schema).unwrap()
}

/// Adds tools whose definitions have every part.
fn described(builder: RegistryBuilder) -> RegistryBuilder {
    let hints = Metadata {
        read_only: Some(true),
        destructive: Some(false),
        idempotent: Some(true),
        open_world: Some(true),
        long_running: Some(true),
        sequential: true,
        strict: Some(false),
        timeout: Some(Duration::from_millis(1500)),
        tags: vec!["sweet".into(), "warm".into()],
        toolset: Some("counter".into()),
        ..Metadata::default()
    };
    let hints =
        ToolBuilder::new("hints").description("Has hints.\nAll\tof them.\n\nTwo paragraphs.").metadata(hints);
    let hints = hints.title("Hints of a tool").examples(vec![json!({}), json!({ "a": "\u{7}" })]);
    let hints = hints.expect_handler(|_: Any, _| async { Ok::<_, ToolError>("served") });
    let wipe = Metadata { destructive: Some(true), strict: Some(true), ..Metadata::default() };
    let wipe = ToolBuilder::new("wipe").description("Wipes the tables.").metadata(wipe);
    let wipe = wipe.expect_handler(|_: Nothing, _| async { Ok::<_, ToolError>(3) });
    let blocking = ToolBuilder::new("block").description("Blocks.").confirm();
    let blocking = blocking.body(tool_body!(blocking |_: Nothing| "blocked")).unwrap();
    let far = tool_runtime::ToolName::new("far-away").unwrap();
    let near = tool_runtime::ToolName::new("far_away").unwrap();
    let far = ToolDefinition::new(far, "Is elsewhere.", schema(json!({ "type": "object" }))).with_name(near);
    let far = ExternalTool::new(far);
    with_outputs(with_arguments(builder.add(far).add(hints).add(wipe).add(blocking)))
}

/// Adds tools with arguments of every type.
fn with_arguments(builder: RegistryBuilder) -> RegistryBuilder {
    let bake = ToolBuilder::new("bake").description("Bakes a cake, and returns its arguments.").input_schema(schema(json!({
        "type": "object",
        "required": ["name", "oven", "eggs"],
        "properties": {
            "name": { "type": "string", "description": "The name.\nIt is written on the cake.", "minLength": 1, "maxLength": 9 },
            "eggs": { "type": "integer", "minimum": 1, "maximum": 12, "description": "Number of eggs." },
            "grams_of_sugar": { "type": "number", "minimum": 0.5, "default": 100 },
            "vegan": { "type": "boolean", "description": "Without eggs.", "default": false },
            "glaze": { "enum": ["sugar", "none", null], "default": "none" },
            "layers": { "type": "array", "items": { "type": "string" }, "minItems": 1, "uniqueItems": true },
            "sizes": { "type": "array", "items": { "enum": [1, 2] } },
            "oven": {
                "type": "object", "description": "The oven.", "required": ["degrees"],
                "properties": { "degrees": { "type": "integer", "maximum": 300 }, "fan": { "type": "boolean" } },
            },
            "guests": { "type": "array", "items": {
                "type": "object", "required": ["name"],
                "properties": {
                    "name": { "type": "string", "description": "A guest.", "pattern": "^[A-Z]" },
                    "seat": { "type": "object", "properties": { "row": { "type": "integer", "default": 1 } } },
                },
            } },
            "remark": { "type": ["string", "integer"] },
            "a b": { "type": "string", "description": "Has a blank in its name." },
        },
    })));
    let bake = bake.expect_handler(|arguments: Any, _| async move { ToolOutput::json(&arguments) });
    let many =
        (0..25).map(|at| (format!("flag_{at}"), json!({ "type": "string", "description": "A flag." })));
    let many = json!({ "type": "object", "properties": many.collect::<serde_json::Map<_, _>>() });
    let many = ToolBuilder::new("many").description("Has many flags.").input_schema(schema(many));
    let many = many.expect_handler(|_: Any, _| async { Ok::<_, ToolError>("many") });
    builder.add(bake).add(many)
}

/// Adds tools with output schemas of every form.
fn with_outputs(builder: RegistryBuilder) -> RegistryBuilder {
    let cakes = ToolBuilder::new("cakes").description("Lists the cakes.").output_schema(output(json!({
        "type": "array", "items": { "type": "object", "properties": {
            "name": { "type": "string", "description": "The name.", "maxLength": 9 },
            "parts": { "type": "array", "items": { "type": "object", "properties": { "of": { "type": "string" } } } },
        } },
    })));
    let cakes =
        cakes.expect_handler(|_: Nothing, _| async { ToolOutput::json(&json!([{ "name": "tart" }])) });
    let price = ToolBuilder::new("price").description("Returns the price.").output_schema(output(json!({
        "type": "object", "properties": { "euros": { "type": "number", "minimum": 0 } },
    })));
    let price = price.expect_handler(|_: Nothing, _| async { ToolOutput::json(&json!({ "euros": 2.5 })) });
    let names = ToolBuilder::new("names").description("Lists names.").output_schema(output(json!({
        "type": "array", "items": { "type": "string" },
    })));
    let names = names.expect_handler(|_: Nothing, _| async { ToolOutput::json(&["tart"]) });
    let deliver = ToolBuilder::new("deliver")
        .description("Delivers a cake.")
        .input_schema(schema(json!({ "type": "object" })));
    let deliver: ExternalTool = deliver.external().unwrap();
    builder.add(cakes).add(price).add(names).add(deliver)
}

/// Adds tools whose results have every form.
fn answering(builder: RegistryBuilder) -> RegistryBuilder {
    #[tool_args]
    struct Which {
        /// The form.
        form: String,
    }
    let answer = ToolBuilder::new("answer").description("Answers in a form.").expect_handler(
        |it: Which, _| async move {
            let file = |body, mime_type: &str| {
                let resource = Resource { uri: "file:///a".into(), mime_type: mime_type.into(), body };
                Content::Resource { resource }
            };
            Ok(match it.form.as_str() {
                "empty" => ToolOutput::empty(),
                "line" => ToolOutput::from("a line\n"),
                "failure" => ToolOutput::from("no flour").as_failure(),
                "error" => {
                    return Err(ToolError::new(ErrorKind::Failed, "the oven is cold\nerror: very cold\u{7}"));
                }
                "denied" => return Err(ToolError::new(ErrorKind::Denied, "closed")),
                "files" => ToolOutput::new([
                    Content::text("Files:"),
                    Content::image([1; 1234], "image/png"),
                    Content::audio([1], "audio/mpeg"),
                    file(ResourceBody::Text("a text".into()), "text/plain"),
                    file(ResourceBody::Blob(Blob(vec![1, 2])), ""),
                    Content::ResourceLink {
                        uri: "https://a.example".into(),
                        name: "a link".into(),
                        mime_type: None,
                    },
                ]),
                "base64" => ToolOutput::new([
                    Content::image([1; 192], "image/png"),
                    Content::image([1; 193], "image/png"),
                ]),
                other => ToolOutput::json(&json!({ "form": other, "bell": "\u{7}\u{202e}" }))?,
            })
        },
    );
    with_secrets(with_events(builder.add(answer)))
}

/// Adds tools whose calls have events.
fn with_events(builder: RegistryBuilder) -> RegistryBuilder {
    let chatty = ToolBuilder::new("chatty").description("Says what it does.").expect_handler(
        |_: Nothing, cx| async move {
            let _ = cx.progress(Progress::new(1.0));
            let _ = cx.progress(Progress::new(2.0).of(4.0).message("half\nerror: done\u{7}"));
            let _ = cx.log(LogLine::new(LogLevel::Info, "a log line\nerror: a second\u{7}"));
            cx.update("an update\nerror: a second\u{7}").await;
            Ok::<_, ToolError>("done")
        },
    );
    let wait = ToolBuilder::new("wait").description("Waits for a guest.").expect_handler(
        |_: Nothing, cx| async move {
            let _ = cx.progress(Progress::new(0.0).message("the door is open"));
            std::future::pending::<Result<(), ToolError>>().await
        },
    );
    builder.add(chatty).add(wait).tool::<parts>().tool::<values>()
}

/// Adds tools with secrets, and with the names of options.
fn with_secrets(builder: RegistryBuilder) -> RegistryBuilder {
    let login = Metadata { secrets: vec!["pin".into(), "key".into()], ..Metadata::default() };
    let login = ToolBuilder::new("login").description("Logs in.").metadata(login).input_schema(schema(json!({
        "type": "object", "required": ["pin"], "additionalProperties": false, "properties": {
            "pin": { "type": "integer", "description": "The secret number.", "minimum": 1000 },
            "user": { "type": "string", "minLength": 2 },
            "box": { "type": "object", "required": ["key"], "properties": { "key": { "type": "string" }, "size": { "type": "integer" } } },
        },
    })));
    let login = login.expect_handler(|it: Any, _| async move {
        let mut text = String::new();
        for (name, value) in it {
            let _ = write!(text, "{name}: {} characters; ", value.to_string().len());
        }
        Ok::<_, ToolError>(text)
    });
    let settings = ToolBuilder::new("settings").description("Has the names of options.").input_schema(schema(json!({
        "type": "object", "properties": {
            "help": { "type": "boolean" }, "json": { "type": "string" }, "save": { "type": "integer" }, "o b": {},
        },
    })));
    let settings = settings.expect_handler(|it: Any, _| async move { ToolOutput::json(&it) });
    builder.add(login).add(settings)
}

/// Items that are ready at once.
struct Ready<T>(VecDeque<T>);

impl<T: Unpin> Stream for Ready<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<T>> {
        Poll::Ready(self.0.pop_front())
    }
}

/// Reads a recipe in parts.
#[tool(register = false, read_only)]
fn parts(
    /// The parts, separated by `|`; `!` fails.
    text: String,
) -> impl Stream<Item = Result<String, ToolError>> + use<> {
    let part = |part: &str| match part {
        "!" => Err(ToolError::new(ErrorKind::Failed, "a page is missing")),
        part => Ok(part.replace('/', "\n")),
    };
    Ready(text.split('|').map(part).collect())
}

/// Counts, value by value.
#[tool(register = false, read_only)]
fn values(
    /// The last number.
    most: u32,
) -> impl Stream<Item = Result<u32, ToolError>> + use<> {
    let end = (most > 2).then(|| Err(ToolError::new(ErrorKind::Failed, "only two fingers")));
    Ready((1..=most.min(2)).map(Ok).chain(end).collect())
}

/// Adds tools that ask before they run.
fn asking(builder: RegistryBuilder) -> RegistryBuilder {
    let sell = ToolBuilder::new("sell").description("Sells a cake.").confirm();
    let sell = sell.expect_handler(|_: Any, _| async { Ok::<_, ToolError>("sold") });
    let lend = ToolBuilder::new("lend").description("Lends a tin.");
    let lend = lend.permission(|it: &Any, _| match it.get("to").and_then(Value::as_str) {
        Some("Zoe") => Permission::deny("it is the last one"),
        _ => Permission::ask(format!("lend it to {}?", json!(it))),
    });
    let lend = lend.expect_handler(|_: Any, _| async { Ok::<_, ToolError>("lent") });
    let taste = ToolBuilder::new("taste").description("Asks while it runs.").expect_handler(
        |_: Any, cx| async move {
            match cx.confirmation() {
                Some(answer) if answer.confirmed => Ok("tasted"),
                Some(_) => Ok("not tasted"),
                None => Err(cx.request_confirmation("is it warm?\nRun it?", json!({ "degrees": 40 }))),
            }
        },
    );
    builder.add(sell).add(lend).add(taste)
}
