//! The command `resources`.

use std::{
    fs::OpenOptions,
    io::{self, IsTerminal as _, Write as _},
    path::Path,
    sync::Arc,
};

use tool_cli::{
    Exit, Failure,
    clap::{self, Arg, ArgAction, ArgMatches, value_parser},
};
use tool_runtime::{
    guard::catch_async,
    output::{self, ResourceBody},
    serde_json::{Value, json},
};

use super::{
    request::{CatalogueRequest, escape_to_line, first_paragraph, json_option, text_argument, tool_failure},
    watch::watch_resources,
};
use crate::{
    catalogue::{BUILTIN, CatalogueSnapshot, ItemKind},
    resource::{ReadableResource, ResourceTemplate},
};

const EXAMPLES: &str = "\
resources list
resources read notes://today
resources read --save logo.png https://example.com/logo.png#library
resources watch --count 1 notes://today";

pub(super) fn grammar() -> clap::Command {
    let uri = || Arg::new("uri").value_name("URI").help("The URI of the resource, or URI#namespace");
    let save = Arg::new("save").long("save").value_name("FILE").help("Save the content as a file");
    let force = Arg::new("force").long("force").action(ArgAction::SetTrue).requires("save");
    let count = Arg::new("count")
        .long("count")
        .value_name("NUMBER")
        .value_parser(value_parser!(u64).range(1..))
        .help("End after this number of changes [default: Ctrl-C ends it]");
    let list = clap::Command::new("list").visible_alias("ls").about("List the resources").arg(json_option());
    let read = clap::Command::new("read").visible_alias("r").about("Write the content of a resource").args([
        json_option(),
        save.conflicts_with("json"),
        force.help("Replace an existing file when saving"),
        uri().required(true),
    ]);
    let watch = clap::Command::new("watch")
        .visible_alias("w")
        .about("Write a line for each change of resources, and of the list of them")
        .args([json_option(), count, uri().action(ArgAction::Append)]);
    clap::Command::new("resources")
        .about("List, read and watch resources")
        .after_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([list, read, watch])
}

pub(super) fn run_command(request: &CatalogueRequest<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    match matches.subcommand() {
        Some(("list", matches)) => list_resources(request, matches),
        Some(("read", matches)) => read_resource(request, matches),
        Some(("watch", matches)) => watch_resources(request, matches),
        _ => Err(Failure::usage("the command of `resources` is missing")),
    }
}

fn list_resources(request: &CatalogueRequest<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let snapshot = request.snapshot_with_notes()?;
    let resources = snapshot.items().iter().filter_map(|item| Some((item, item.resource()?)));
    if matches.get_flag("json") {
        let described = resources.map(|(item, resource)| {
            let mut described = described_resource(&**resource);
            described["key"] = json!(request.command_key(item));
            described["origin"] = json!(item.namespace());
            described
        });
        let templates = snapshot.templates().iter().map(|template| {
            let mut described = described_template(&**template);
            described["origin"] = json!(BUILTIN);
            described
        });
        return request.print_json(&described.chain(templates).collect::<Vec<_>>());
    }
    let cells = resources.map(|(item, resource)| {
        let named = format!("{} ({})", request.command_key(item), resource.name());
        let description = first_paragraph(resource.description());
        (item, [named, description, resource.mime_type().to_owned()])
    });
    let exit = request.print_items(["Resource", "Description", "Type"], cells)?;
    let templates = snapshot.templates().iter().map(|template| {
        let named = format!("{} ({})", template.uri_template().as_str(), template.name());
        [named, first_paragraph(template.description()), template.mime_type().to_owned()]
    });
    if !snapshot.templates().is_empty() {
        request.program.print("\n")?;
        request.program.print_table(["Template", "Description", "Type"], templates)?;
    }
    Ok(exit)
}

/// Returns a template as the protocol describes it.
pub(super) fn described_template(template: &dyn ResourceTemplate) -> Value {
    let mut described = json!({ "uriTemplate": template.uri_template().as_str(), "name": template.name() });
    if let Some(description) = template.description() {
        described["description"] = json!(description);
    }
    if !template.mime_type().is_empty() {
        described["mimeType"] = json!(template.mime_type());
    }
    described
}

/// Returns a resource as the protocol describes it.
pub(super) fn described_resource(resource: &dyn ReadableResource) -> Value {
    let mut described = json!({ "uri": resource.uri().as_str(), "name": resource.name() });
    if let Some(description) = resource.description() {
        described["description"] = json!(description);
    }
    if !resource.mime_type().is_empty() {
        described["mimeType"] = json!(resource.mime_type());
    }
    described
}

fn read_resource(request: &CatalogueRequest<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    let destination = matches.get_one::<String>("save").map(Path::new);
    let is_replacing = matches.get_flag("force");
    if let Some(path) = destination.filter(|path| path.exists() && !is_replacing) {
        return Err(existing_file_failure(path));
    }
    let snapshot = request.snapshot()?;
    let resource = find_resource(request, &snapshot, text_argument(matches, "uri"))?;
    let read = request.program.block_on(catch_async(|| resource.read(&request.run)))?;
    let content = read
        .map_err(|panic| {
            Failure::quoting(Exit::Failed, format!("the resource panicked: {}", panic.message()))
        })?
        .map_err(|error| tool_failure(&error))?;
    if matches.get_flag("json") {
        return request.print_json(&content);
    }
    match destination {
        Some(path) => save_content(request, &content, path, is_replacing),
        None => print_content(request, &content),
    }
}

/// Finds the resource of a URI, or of a template that matches it.
pub(super) fn find_resource(
    request: &CatalogueRequest<'_>,
    snapshot: &CatalogueSnapshot,
    uri: &str,
) -> Result<Arc<dyn ReadableResource>, Failure> {
    let found = snapshot.resource(uri);
    found.map_err(|error| request.lookup_failure(snapshot, ItemKind::Resource, uri, &error))
}

fn print_content(request: &CatalogueRequest<'_>, content: &output::Resource) -> Result<Exit, Failure> {
    match &content.body {
        ResourceBody::Text(text) => {
            request.program.print(text)?;
            if io::stdout().is_terminal() && !text.ends_with('\n') {
                request.program.print("\n")?;
            }
        }
        ResourceBody::Blob(data) => {
            let (kind, count) = (escape_to_line(&content.mime_type), data.0.len());
            request.program.print(&format!("[{kind}, {count} bytes; `--save FILE` saves it]\n"))?;
        }
    }
    Ok(Exit::Done)
}

fn save_content(
    request: &CatalogueRequest<'_>,
    content: &output::Resource,
    path: &Path,
    is_replacing: bool,
) -> Result<Exit, Failure> {
    let bytes = match &content.body {
        ResourceBody::Text(text) => text.as_bytes(),
        ResourceBody::Blob(data) => &data.0,
    };
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(!is_replacing).create(is_replacing).truncate(is_replacing);
    let written = options.open(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => existing_file_failure(path),
        _ => Failure::quoting(Exit::Failed, format!("{} cannot be written: {error}", path.display())),
    })?;
    let (path, count, kind) =
        (escape_to_line(&path.to_string_lossy()), bytes.len(), escape_to_line(&content.mime_type));
    request.program.print(&format!("{path}: {kind}, {count} bytes\n"))?;
    Ok(Exit::Done)
}

fn existing_file_failure(path: &Path) -> Failure {
    Failure::quoting(Exit::Usage, format!("{} exists; `--force` replaces it", path.display()))
}
