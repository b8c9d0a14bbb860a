use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, Tool};
use serde::Serialize;
use serde_json::{Map, Value};
use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, Arg, ArgAction, ArgMatches},
};
use tool_runtime::{policy::Escape, schema::InputSchema};

use super::target::{server_arguments, server_config};
use crate::client::{ClientError, ClientErrorKind, McpToolSet};

/// The command `mcp`, which lists and calls the tools of an MCP server.
///
/// # Examples
///
/// ```
/// use tool_cli::Cli;
/// use tool_mcp::cli::Mcp;
///
/// let cli = Cli::new().command(Mcp);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Mcp;

const EXAMPLES: &str = "\
mcp list \"npx -y @modelcontextprotocol/server-everything\"
mcp list --json http://127.0.0.1:3001/mcp
mcp list --config ~/.config/servers.json files
mcp call http://127.0.0.1:3001/mcp add '{\"a\": 2, \"b\": 3}'
mcp list --header \"Authorization: Bearer $TOKEN\" https://example.com/mcp";

impl Command for Mcp {
    fn grammar(&self) -> clap::Command {
        let tool = Arg::new("tool").value_name("TOOL").required(true).help("The name of the tool");
        let arguments = Arg::new("arguments")
            .value_name("ARGUMENTS")
            .default_value("{}")
            .hide_default_value(true)
            .help("A JSON object, such as '{\"a\": 2}'; `-` reads the standard input, `@file` a file [default: {}]");
        let json = |help: &'static str| Arg::new("json").long("json").action(ArgAction::SetTrue).help(help);
        let list = clap::Command::new("list")
            .visible_alias("ls")
            .about("List the tools of a server")
            .arg(json("Write the definitions as received"))
            .args(server_arguments());
        let call = clap::Command::new("call")
            .visible_alias("c")
            .about("Call a tool of a server")
            .arg(json("Write the result as received"))
            .args(server_arguments())
            .args([tool, arguments]);
        clap::Command::new("mcp")
            .about("List and call the tools of an MCP server")
            .after_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands([list, call])
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        match matches.subcommand() {
            Some(("list", matches)) => list_tools(program, matches),
            Some(("call", matches)) => call_tool(program, matches),
            _ => Err(Failure::usage("the command of `mcp` is missing")),
        }
    }
}

/// A required text of the command line.
fn text_argument<'m>(matches: &'m ArgMatches, name: &str) -> &'m str {
    matches.get_one::<String>(name).map(String::as_str).unwrap_or_default()
}

fn lazy_toolset(matches: &ArgMatches) -> Result<McpToolSet, Failure> {
    server_config(matches).map(McpToolSet::lazy)
}

fn list_tools(program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
    let set = lazy_toolset(matches)?;
    let tools = program.block_on(async {
        let tools = set.list().await;
        set.close().await;
        tools
    })?;
    let tools = tools.map_err(client_failure)?;
    if matches.get_flag("json") {
        program.print_json(&pretty_json(&tools)?)?;
    } else if tools.is_empty() {
        program.print("There are no tools.\n")?;
    } else {
        let rows = tools.iter().map(|tool| [tool.name.to_string(), first_paragraph(tool), hint_words(tool)]);
        program.print_table(["Tool", "Description", "Hints"], rows)?;
    }
    Ok(Exit::Done)
}

fn call_tool(program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
    let received = program.read(text_argument(matches, "arguments"))?;
    let tool = text_argument(matches, "tool");
    let set = lazy_toolset(matches)?;
    let arguments: Map<String, Value> = match serde_json::from_str(&received) {
        Ok(arguments) => arguments,
        Err(error) => {
            let example =
                program.block_on(close_after(&set, violations_and_example(&set, tool, &Value::Null)))?;
            let mut message = format!(
                "the arguments are not a JSON object: {error}\nreceived: {}",
                bounded_arguments(&received)
            );
            message.extend(example.map(|(_, example)| example));
            return Err(Failure::quoting(Exit::Usage, message));
        }
    };
    let (result, mismatch) = program.block_on(close_after(&set, async {
        let result = set.call_raw(tool, arguments.clone()).await;
        // The server may have refused the arguments in its own words.
        let mismatch = match &result {
            Ok(result) if result.is_error == Some(true) => {
                violations_and_example(&set, tool, &Value::Object(arguments)).await
            }
            _ => None,
        };
        (result, mismatch)
    }))?;
    let result = result.map_err(client_failure)?;
    match matches.get_flag("json") {
        true => program.print_json(&pretty_json(&result)?)?,
        false => program.print(&result_text(&result)?)?,
    }
    if let Some((violations, example)) = mismatch.filter(|(violations, _)| !violations.is_empty()) {
        let message = format!(
            "the arguments do not fit the schema of `{tool}`: {violations}\nreceived: {}{example}",
            bounded_arguments(&received)
        );
        program.note(&message);
    }
    Ok(if result.is_error == Some(true) { Exit::Failed } else { Exit::Done })
}

/// Closes the connection after `operation`.
async fn close_after<T>(set: &McpToolSet, operation: impl Future<Output = T>) -> T {
    let done = operation.await;
    set.close().await;
    done
}

/// Returns the violations of a tool's schema by `arguments`, and an example of arguments that fit; `None` if the server does not
/// tell.
async fn violations_and_example(set: &McpToolSet, tool: &str, arguments: &Value) -> Option<(String, String)> {
    let tools = set.list().await.ok()?;
    let tool = tools.into_iter().find(|it| it.name == tool)?;
    let schema = InputSchema::new(Value::Object((*tool.input_schema).clone())).ok()?;
    let violations = schema.plan().ok().map(|plan| plan.violations(arguments).to_string());
    let example = schema.example().map(|example| format!("\nexample: '{example}'"));
    Some((violations.unwrap_or_default(), example.unwrap_or_default()))
}

/// The beginning of the arguments as received.
fn bounded_arguments(arguments: &str) -> String {
    Escape::LINE.at_most(300).text(arguments.trim())
}

fn client_failure(error: ClientError) -> Failure {
    let exit = if error.kind() == ClientErrorKind::Config { Exit::Usage } else { Exit::Failed };
    Failure::quoting(exit, error.to_string())
}

fn pretty_json<T: Serialize + ?Sized>(value: &T) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| {
        Failure::new(Exit::Failed, format!("the answer cannot be written as JSON: {error}"))
    })?;
    Ok(text + "\n")
}

/// The first paragraph of a description, as one line.
fn first_paragraph(tool: &Tool) -> String {
    let description = tool.description.as_deref().unwrap_or_default();
    let first = description.trim().split("\n\n").next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The hints that a server gives of a tool.
fn hint_words(tool: &Tool) -> String {
    let Some(hints) = &tool.annotations else { return String::new() };
    let hints = [
        (hints.read_only_hint, "read-only"),
        (hints.destructive_hint, "destructive"),
        (hints.idempotent_hint, "idempotent"),
        (hints.open_world_hint, "open-world"),
    ];
    let words: Vec<_> =
        hints.into_iter().filter(|(hint, _)| *hint == Some(true)).map(|(_, word)| word).collect();
    words.join(", ")
}

/// The text of a result: its blocks, or else its structured value.
fn result_text(result: &CallToolResult) -> Result<String, Failure> {
    if let (true, Some(value)) = (result.content.is_empty(), &result.structured_content) {
        return pretty_json(value);
    }
    let mut text = result.content.iter().map(block_text).collect::<Vec<_>>().join("\n");
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn block_text(block: &ContentBlock) -> String {
    let bytes = |kind: &str, base64: &str, mime_type: Option<&str>| {
        let mime_type = mime_type.unwrap_or("application/octet-stream");
        let padding = base64.bytes().rev().take_while(|it| *it == b'=').count();
        let size = (base64.len() / 4 * 3).saturating_sub(padding);
        format!("[{kind}: {mime_type}, {size} bytes; `--json` writes it as base64]")
    };
    match block {
        ContentBlock::Text(it) => it.text.clone(),
        ContentBlock::Image(it) => bytes("image", &it.data, Some(&it.mime_type)),
        ContentBlock::Audio(it) => bytes("audio", &it.data, Some(&it.mime_type)),
        ContentBlock::Resource(it) => match &it.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
                bytes("file", blob, mime_type.as_deref())
            }
            _ => serde_json::to_string(it).unwrap_or_default(),
        },
        ContentBlock::ResourceLink(it) => format!("{}: {}", it.name, it.uri),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_consistent() {
        Mcp.grammar().debug_assert();
    }

    #[tokio::test]
    async fn a_connection_is_closed_after_its_operation() {
        let set = McpToolSet::lazy(crate::client::ServerConfig::new(
            "s",
            crate::client::Endpoint::new("http://127.0.0.1:9"),
        ));
        assert_eq!(close_after(&set, async { 7 }).await, 7);
        let error = set.list().await.map(drop).map_err(|error| error.kind());
        assert_eq!(error, Err(ClientErrorKind::Closed));
    }

    #[test]
    fn a_command_line_has_a_server_and_a_call_a_tool_too() {
        let kind = |arguments: &[&str]| {
            let parsed = Mcp.grammar().try_get_matches_from([&["mcp"], arguments].concat());
            parsed.map_err(|error| error.kind())
        };
        use clap::error::ErrorKind;
        let empty = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        for (arguments, expected) in [
            (&[][..], empty),
            (&["list"], ErrorKind::MissingRequiredArgument),
            (&["call"], ErrorKind::MissingRequiredArgument),
            (&["call", "a"], ErrorKind::MissingRequiredArgument),
            (&["list", "a", "b"], ErrorKind::UnknownArgument),
            (&["list", "--timeout", "0", "a"], ErrorKind::ValueValidation),
        ] {
            assert_eq!(kind(arguments).unwrap_err(), expected, "{arguments:?}");
        }
        assert!(Mcp.grammar().render_usage().to_string().contains("<COMMAND>"));
        let line = ["ls", "--timeout", "1", "--header", "A: 1", "--header", "B: 2", "a"];
        let matches = kind(&line).unwrap();
        let (name, list) = matches.subcommand().unwrap();
        assert_eq!((name, text_argument(list, "server"), list.get_flag("json")), ("list", "a", false));
        assert_eq!(list.get_many::<String>("header").unwrap().collect::<Vec<_>>(), ["A: 1", "B: 2"]);
        let matches = kind(&["c", "--json", "a", "b"]).unwrap();
        let (name, call) = matches.subcommand().unwrap();
        let arguments = ["server", "tool", "arguments"].map(|name| text_argument(call, name));
        assert_eq!((name, arguments, call.get_flag("json")), ("call", ["a", "b", "{}"], true));
        let mut grammar = Mcp.grammar();
        let help = grammar.find_subcommand_mut("call").unwrap().render_help().to_string();
        assert_eq!(help.matches("[default: {}]").count(), 1, "{help}");
    }

    #[test]
    fn a_tool_is_listed_with_its_first_paragraph_and_its_hints() {
        let mut tool = Tool::new("t", "\n Adds\n  two numbers.\n\nSlowly.\n", Map::new());
        assert_eq!((first_paragraph(&tool).as_str(), hint_words(&tool).as_str()), ("Adds two numbers.", ""));
        tool.description = None;
        assert_eq!(first_paragraph(&tool), "");
        let names = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
        let mut hints = |values: [Option<bool>; 4]| {
            let hints = names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value.into()));
            tool.annotations = Some(serde_json::from_value(Value::Object(hints.collect())).unwrap());
            hint_words(&tool)
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(hints([yes, no, None, None]), "read-only");
        assert_eq!(hints([no, yes, yes, no]), "destructive, idempotent");
        assert_eq!(hints([None, None, no, yes]), "open-world");
    }

    #[test]
    fn a_result_is_its_blocks_or_else_its_value() {
        let link = serde_json::json!({ "type": "resource_link", "name": "notes", "uri": "n://1" });
        let file = |file: Value| serde_json::json!({ "type": "resource", "resource": file });
        let blocks = [
            (ContentBlock::text("a"), "a\n"),
            (ContentBlock::text("a\n"), "a\n"),
            (ContentBlock::text(""), ""),
            (
                ContentBlock::image("AAAA", "image/png"),
                "[image: image/png, 3 bytes; `--json` writes it as base64]\n",
            ),
            (
                ContentBlock::audio("AAA=", "audio/wav"),
                "[audio: audio/wav, 2 bytes; `--json` writes it as base64]\n",
            ),
            (
                serde_json::from_value(file(serde_json::json!({ "uri": "f://a", "blob": "AAAAAA==" })))
                    .unwrap(),
                "[file: application/octet-stream, 4 bytes; `--json` writes it as base64]\n",
            ),
            (ContentBlock::embedded_text("f://a", "of a file"), "of a file\n"),
            (serde_json::from_value(link).unwrap(), "notes: n://1\n"),
        ];
        let all = blocks[..3].iter().map(|(block, _)| block.clone()).collect();
        for (block, expected) in blocks {
            assert_eq!(result_text(&CallToolResult::success(vec![block])).unwrap(), expected);
        }
        let mut result = CallToolResult::success(all);
        result.structured_content = Some(serde_json::json!({ "n": 1 }));
        assert_eq!(result_text(&result).unwrap(), "a\na\n\n");
        result.content.clear();
        assert_eq!(result_text(&result).unwrap(), "{\n  \"n\": 1\n}\n");
        result.structured_content = None;
        assert_eq!(result_text(&result).unwrap(), "");
    }

    #[test]
    fn received_arguments_are_shown_as_far_as_300_characters() {
        assert_eq!(bounded_arguments(" a\n"), "a");
        assert_eq!(bounded_arguments(&"a".repeat(300)), "a".repeat(300));
        let cut = bounded_arguments(&"a".repeat(301));
        assert!(cut.starts_with(&"a".repeat(300)) && !cut.starts_with(&"a".repeat(301)), "{cut}");
        assert!(bounded_arguments(&"a".repeat(1_000)).chars().count() < 400);
    }
}
