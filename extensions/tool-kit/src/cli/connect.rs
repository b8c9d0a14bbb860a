//! The command `connect`: the items of a server, for one session.

use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, ArgMatches},
};
use tool_mcp::{
    cli::{server_arguments, server_config},
    client::{ClientError, ClientErrorKind, McpToolSet},
};
use tool_runtime::{RunContext, Toolbox};

use super::{
    catalogue_commands::error_chain,
    prompts,
    request::{
        CatalogueRequest, escape_to_line, first_paragraph, json_option, kind_name, list_entry_of,
        text_argument,
    },
    resources,
};
use crate::{
    catalogue::{Catalogue, CatalogueItem, ItemObject},
    mcp::McpConnector,
    problem::problem_text,
};

/// The namespace of the server. It is not shown.
const NAMESPACE: &str = "server";

/// The commands that work on the tools of a server as on those of the program.
const TOOL_COMMANDS: [&str; 2] = ["show", "call"];

const EXAMPLES: &str = "\
Options stand before SERVER.

connect http://127.0.0.1:3001/mcp
connect \"npx -y @modelcontextprotocol/server-everything\" call echo --message hello
connect http://127.0.0.1:3001/mcp prompts render explain '{\"topic\": \"tides\"}'
connect --config servers.json library resources read notes://today";

/// The command `connect`.
pub(super) struct Connect;

impl Command for Connect {
    fn grammar(&self) -> clap::Command {
        clap::Command::new("connect")
            .about("List, call, render and read what an MCP server has, for one session")
            .after_help(EXAMPLES)
            .arg(json_option())
            .args(server_arguments())
            .subcommands(tool_cli::grammars(TOOL_COMMANDS))
            .subcommands([prompts::grammar(), resources::grammar()])
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let mut config = server_config(matches)?;
        NAMESPACE.clone_into(&mut config.name);
        let connecting = McpConnector::connect(McpToolSet::builder(config));
        let connector = program.block_on(connecting)?.map_err(|error| client_failure(&error))?;
        let server = connector.server().clone();
        let done = run_on_server(program, connector, matches);
        program.block_on(server.close())?;
        done
    }
}

fn run_on_server(program: &Program, connector: McpConnector, matches: &ArgMatches) -> Result<Exit, Failure> {
    let words = format!("connect {}", text_argument(matches, "server"));
    let server = connector.server().clone();
    let catalogue = Catalogue::new();
    catalogue.connect(connector).map_err(|error| Failure::quoting(Exit::Failed, problem_text(&error)))?;
    let request = CatalogueRequest::of_server(program, &catalogue, &words);
    match matches.subcommand() {
        None => list_items(&request, matches),
        Some(("prompts", matches)) => prompts::run_command(&request, matches),
        Some(("resources", matches)) => resources::run_command(&request, matches),
        Some((command, matches)) => {
            // Without a prefix: the tools have the names that the server gives them.
            let tools = Toolbox::new();
            let failure = |error: &dyn std::error::Error| Failure::quoting(Exit::Failed, error.to_string());
            tools.add_toolset(server).map_err(|error| failure(&error))?;
            let snapshot = program.block_on(async { tools.snapshot(&RunContext::new()).await })?;
            let snapshot = snapshot.map_err(|error| failure(&error))?;
            snapshot.diagnostics().iter().for_each(|problem| program.note(&problem.to_string()));
            program.run_on(snapshot.into_tools(), &escape_to_line(&words), command, matches)
        }
    }
}

/// Lists what the server has.
fn list_items(request: &CatalogueRequest<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let snapshot = request.snapshot_with_notes()?;
    let items = snapshot.items();
    if matches.get_flag("json") {
        let named = items.iter().map(|item| {
            let mut listed = list_entry_of(item);
            request.command_key(item).clone_into(&mut listed.key);
            if item.tool().is_some() {
                listed.definition["name"] = listed.key.clone().into();
            }
            listed
        });
        return request.print_json(&named.collect::<Vec<_>>());
    }
    let cells = |item| {
        let key = request.command_key(item).to_owned();
        (item, [key, kind_name(item.kind()).to_owned(), first_paragraph(description_of(item))])
    };
    request.print_items(["Item", "Kind", "Description"], items.iter().map(cells))
}

fn description_of(item: &CatalogueItem) -> Option<&str> {
    match item.object() {
        ItemObject::Tool(tool) => Some(tool.definition().description()),
        ItemObject::Prompt(prompt) => prompt.definition().description(),
        ItemObject::Resource(resource) => resource.description().or_else(|| Some(resource.name())),
    }
}

fn client_failure(error: &ClientError) -> Failure {
    let exit = if error.kind() == ClientErrorKind::Config { Exit::Usage } else { Exit::Failed };
    Failure::quoting(exit, error_chain(error))
}
