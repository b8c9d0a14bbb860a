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

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, Arg, ArgAction, ArgMatches},
};
use tool_runtime::{Registry, diagnostic::Severity};

use crate::{Credential, Document, Fetch, OpenApiError, OpenApiToolSet};

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
Options stand before DOCUMENT. A secret is never part of the command line: its option takes env:NAME for an environment \
variable, @FILE for a file, or - to enter it without echo.

openapi petstore.yaml list
openapi petstore.yaml show getPetById
openapi --base-url http://127.0.0.1:8080 petstore.yaml call getPetById --petId 7
openapi --tag pet --header 'X-Team: tools' petstore.yaml list
openapi --base-url https://api.example.com --credential api_key=env:KEY https://api.example.com/openapi.json list";

impl Command for OpenApi {
    fn grammar(&self) -> clap::Command {
        let option = |name: &'static str, value: &'static str, help: &'static str| {
            Arg::new(name).long(name).value_name(value).help(help)
        };
        let repeated = |name, value, help| option(name, value, help).action(ArgAction::Append);
        let document = Arg::new("document").value_name("DOCUMENT").required(true);
        let private = "Let a document by URL come from, and lead to, addresses that are not public";
        clap::Command::new("openapi")
            .about("List, show, call and lint the operations of an OpenAPI document")
            .after_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .args([
                option("base-url", "URL", "The URL of the API [default: the first server of the document]"),
                repeated(
                    "credential",
                    "SCHEME=SOURCE",
                    "The key or token of a security scheme of the document, for the base URL; may be repeated",
                ),
                repeated("header", "NAME: VALUE", "A header of each request that is no secret; may be repeated"),
                repeated("tag", "TAG", "Only operations with the tag, or another one given; may be repeated"),
                option(
                    "folder",
                    "DIR",
                    "The folder of other files that the document refers to [default: none is read]",
                ),
                option("document-token", "SOURCE", "A bearer token for the URL of the document"),
                Arg::new("readable-names")
                    .long("readable-names")
                    .action(ArgAction::SetTrue)
                    .help("Name tools without a hash where that is unambiguous: `repos_get` for `repos/get`"),
                Arg::new("allow-private").long("allow-private").action(ArgAction::SetTrue).help(private),
                document.help("A file or URL with an OpenAPI document, JSON or YAML"),
            ])
            .subcommands(tool_cli::grammars(COMMANDS))
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let Some((command, rest)) = matches.subcommand() else {
            return Err(Failure::usage("the command of `openapi` is missing"));
        };
        let set = import_toolset(program, matches)?;
        print_import_remarks(program, &set, command, rest);
        if set.tools().is_empty() {
            return Err(Failure::quoting(Exit::Unusable, "the document has no operation that is a tool"));
        }
        let tools = set.tools().iter().fold(Registry::builder(), |tools, tool| tools.add(Arc::clone(tool)));
        let tools = tools.build().map_err(|error| Failure::quoting(Exit::Unusable, error.to_string()))?;
        let name = format!("openapi {}", option_text(matches, "document").unwrap_or_default());
        program.run_on(tools, &name, command, rest)
    }
}

/// Writes what the import says about the operations that a command is about.
fn print_import_remarks(program: &Program, set: &OpenApiToolSet, command: &str, matches: &ArgMatches) {
    let named = match command {
        "show" => option_text(matches, "name"),
        "call" => matches.subcommand_name(),
        _ => None,
    };
    let is_about = |operation: &str| match command {
        "show" | "call" => named == Some(operation),
        _ => true,
    };
    set.skipped().iter().filter(|it| is_about(&it.operation)).for_each(|it| program.note(&it.to_string()));
    let diagnostics = set.diagnostics().iter().filter(|it| it.severity > Severity::Note);
    for diagnostic in
        diagnostics.filter(|it| command == "lint" || named.is_some() && named == it.location.tool.as_deref())
    {
        let tool = diagnostic.location.tool.as_deref().unwrap_or("the document");
        program.note(&format!("`{tool}`: {} (at `{}`)", diagnostic.message, diagnostic.location.pointer));
    }
}

fn read_document(program: &Program, matches: &ArgMatches) -> Result<Document, Failure> {
    let source = option_text(matches, "document").unwrap_or_default();
    if !source.starts_with("http://") && !source.starts_with("https://") {
        if let Some((scheme, _)) = source.split_once("://") {
            let message = format!("a document comes from a file, or by `http` or `https`, not by `{scheme}`");
            return Err(Failure::quoting(Exit::Usage, message));
        }
        if let Some(folder) = option_text(matches, "folder").filter(|it| !Path::new(it).is_dir()) {
            return Err(Failure::quoting(Exit::Usage, format!("`--folder`: there is no folder `{folder}`")));
        }
        let document = Document::from_file(source).map_err(usage_failure)?;
        return Ok(match option_text(matches, "folder") {
            Some(folder) => document.with_folder(folder),
            None => document,
        });
    }
    let mut fetch = Fetch::new(source);
    if let Some(token) = option_text(matches, "document-token") {
        fetch = fetch.bearer(program.read_secret("document-token", token)?);
    }
    if matches.get_flag("allow-private") {
        fetch = fetch.allow_private();
    }
    program.block_on(Document::fetch(fetch))?.map_err(usage_failure)
}

fn import_toolset(program: &Program, matches: &ArgMatches) -> Result<OpenApiToolSet, Failure> {
    let mut builder = OpenApiToolSet::builder(read_document(program, matches)?);
    let base_url = option_text(matches, "base-url");
    if let Some(url) = base_url {
        builder = builder.base_url(url);
    }
    if matches.get_flag("allow-private") {
        builder = builder.allow_private_servers();
    }
    if matches.get_flag("readable-names") {
        builder = builder.readable_names();
    }
    for credential in option_values(matches, "credential") {
        let Some((scheme, source)) = credential.split_once('=') else {
            return Err(Failure::usage("`--credential` takes `SCHEME=SOURCE`, such as `api_key=env:KEY`"));
        };
        if base_url.is_none() {
            let why = "the document must not decide which server receives the credential";
            return Err(Failure::usage(format!("`--credential` needs `--base-url`: {why}")));
        }
        builder = builder.credential(scheme, Credential::secret(program.read_secret(scheme, source)?));
    }
    for header in option_values(matches, "header") {
        let Some((name, value)) = header.split_once(':') else {
            let message = format!("`--header` takes `NAME: VALUE`, not `{header}`");
            return Err(Failure::quoting(Exit::Usage, message));
        };
        builder = builder.header(name.trim(), value.trim());
    }
    let tags: Vec<String> = option_values(matches, "tag").cloned().collect();
    if tags.is_empty() {
        return builder.build().map_err(usage_failure);
    }
    let known = Arc::new(Mutex::new(BTreeSet::new()));
    let (wanted, seen) = (tags.clone(), Arc::clone(&known));
    builder = builder.filter(move |operation| {
        let tags = operation.tags.iter().map(|tag| (*tag).to_owned());
        seen.lock().unwrap_or_else(PoisonError::into_inner).extend(tags);
        wanted.iter().any(|tag| operation.has_tag(tag))
    });
    let set = builder.build().map_err(usage_failure)?;
    let known = known.lock().unwrap_or_else(PoisonError::into_inner);
    match tags.iter().find(|tag| !known.contains(*tag)) {
        Some(tag) => {
            if known.is_empty() {
                let message = format!("no operation has the tag `{tag}`; no operation has tags");
                return Err(Failure::quoting(Exit::Usage, message));
            }
            let mut all: Vec<_> = known.iter().take(MAX_LISTED_TAGS).map(|tag| format!("`{tag}`")).collect();
            if known.len() > MAX_LISTED_TAGS {
                all.push(format!("and {} more", known.len() - MAX_LISTED_TAGS));
            }
            let message = format!("no operation has the tag `{tag}`; the tags are {}", all.join(", "));
            Err(Failure::quoting(Exit::Usage, message))
        }
        None => Ok(set),
    }
}

fn option_text<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    matches.get_one::<String>(name).map(String::as_str)
}

/// The values of an option that may be repeated.
fn option_values<'m>(matches: &'m ArgMatches, name: &str) -> impl Iterator<Item = &'m String> {
    matches.get_many::<String>(name).into_iter().flatten()
}

/// The maximum number of tags in a message.
const MAX_LISTED_TAGS: usize = 20;

/// The names of settings in messages, and the options that set them.
const OPTIONS: [(&str, &str); 3] = [
    ("`Fetch::allow_private`", "`--allow-private`"),
    ("`allow_private_servers`", "`--allow-private`"),
    ("`base_url`", "`--base-url`"),
];

fn usage_failure(error: OpenApiError) -> Failure {
    let message = error.to_string();
    let named = |message: String, (setting, option): &(&str, &str)| message.replace(setting, option);
    Failure::quoting(Exit::Usage, OPTIONS.iter().fold(message, named))
}
