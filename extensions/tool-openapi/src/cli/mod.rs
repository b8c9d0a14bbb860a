//! The command `openapi` for `tool-cli`: the operations of a document as commands, without a line of code.
//!
//! ```no_run
//! use tool_cli::Cli;
//! use tool_openapi::cli::OpenApi;
//!
//! fn main() -> std::process::ExitCode {
//!     Cli::new().command(OpenApi).main()
//! }
//! ```

use std::sync::Arc;

use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, Arg, ArgAction, ArgMatches},
};
use tool_runtime::Registry;

use crate::{Document, OpenApiError, OpenApiToolSet, SkippedOperation};

/// The command `openapi`, which lists, shows, calls and lints the operations of a document.
///
/// # Examples
///
/// ```
/// use tool_cli::Cli;
/// use tool_openapi::cli::OpenApi;
///
/// let cli = Cli::new().command(OpenApi);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenApi;

/// The commands that work on the tools of a document as on those of the program.
const COMMANDS: [&str; 4] = ["list", "show", "call", "lint"];

const EXAMPLES: &str = "\
Options stand before DOCUMENT.

openapi petstore.yaml list
openapi petstore.yaml show getPetById
openapi --base-url http://127.0.0.1:8080 petstore.yaml call getPetById --petId 7
openapi --tag pet --header 'X-Team: tools' petstore.yaml list";

impl Command for OpenApi {
    fn grammar(&self) -> clap::Command {
        let option = |name: &'static str, value: &'static str, help: &'static str| {
            Arg::new(name).long(name).value_name(value).help(help)
        };
        let repeated = |name, value, help| option(name, value, help).action(ArgAction::Append);
        let document = Arg::new("document").value_name("DOCUMENT").required(true);
        clap::Command::new("openapi")
            .about("List, show, call and lint the operations of an OpenAPI document")
            .after_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .args([
                option("base-url", "URL", "The URL of the API [default: the first server of the document]"),
                option(
                    "folder",
                    "DIR",
                    "The folder of other files that the document refers to [default: none is read]",
                ),
                repeated(
                    "header",
                    "NAME: VALUE",
                    "A header of each request that is no secret; may be repeated",
                ),
                repeated("tag", "TAG", "Only operations with the tag, or another one given; may be repeated"),
                document.help("A file with an OpenAPI document, JSON or YAML"),
            ])
            .subcommands(tool_cli::grammars(COMMANDS))
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let Some((command, rest)) = matches.subcommand() else {
            return Err(Failure::usage("the command of `openapi` is missing"));
        };
        let set = toolset(matches)?;
        for skipped in set.skipped() {
            let SkippedOperation { operation, pointer, reason, .. } = skipped;
            program.note(&format!("`{operation}` is skipped: {reason} (at `{pointer}`)"));
        }
        let tools = set.tools().iter().fold(Registry::builder(), |tools, tool| tools.add(Arc::clone(tool)));
        let tools = tools.build().map_err(|error| Failure::quoting(Exit::Unusable, error.to_string()))?;
        let name = format!("openapi {}", document(matches));
        program.run_on(tools, &name, command, rest)
    }
}

fn document(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("document").map(String::as_str).unwrap_or_default()
}

fn toolset(matches: &ArgMatches) -> Result<OpenApiToolSet, Failure> {
    let mut document = Document::from_file(document(matches)).map_err(failure)?;
    if let Some(folder) = matches.get_one::<String>("folder") {
        document = document.with_folder(folder);
    }
    let mut builder = OpenApiToolSet::builder(document);
    if let Some(url) = matches.get_one::<String>("base-url") {
        builder = builder.base_url(url);
    }
    for header in all(matches, "header") {
        let Some((name, value)) = header.split_once(':') else {
            let message = format!("`--header` takes `NAME: VALUE`, not `{header}`");
            return Err(Failure::quoting(Exit::Usage, message));
        };
        builder = builder.header(name.trim(), value.trim());
    }
    let tags: Vec<String> = all(matches, "tag").cloned().collect();
    if !tags.is_empty() {
        builder = builder.filter(move |operation| tags.iter().any(|tag| operation.has_tag(tag)));
    }
    builder.build().map_err(failure)
}

/// The values of an option that may be repeated.
fn all<'m>(matches: &'m ArgMatches, name: &str) -> impl Iterator<Item = &'m String> {
    matches.get_many::<String>(name).into_iter().flatten()
}

fn failure(error: OpenApiError) -> Failure {
    Failure::quoting(Exit::Usage, error.to_string())
}
