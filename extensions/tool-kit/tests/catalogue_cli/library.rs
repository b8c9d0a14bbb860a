//! The program whose commands the tests run.

use std::sync::{Arc, Mutex};

use tool_cli::Cli;
use tool_kit::{
    catalogue::{Catalogue, CatalogueChange, Connector, ConnectorNotifier},
    cli::CatalogueCommands,
    prompt,
    prompt::{Prompt, PromptDefinition, PromptFile, text_prompt},
    resource,
    resource::{ReadableResource, ResourceUri, StoredResource, live},
};
use tool_runtime::{
    BoxFuture, RunContext, ToolError,
    output::{self, ResourceBody},
    policy::{Rule, Rules},
    prelude::*,
};

/// Adds two numbers.
#[tool(register = false, read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// The books of the library, which the program provides.
struct Books(&'static [&'static str]);

/// Recommends a book of the library.
#[prompt(title = "Recommends a book")]
fn recommend(
    /// The taste of the reader.
    taste: String,
    books: &Books,
) -> String {
    format!("Recommend one of {} to a reader of {taste}.", books.0.join(", "))
}

/// All books.
#[resource(uri = "books://all", mime_type = "text/plain")]
fn all_books(books: &Books) -> String {
    books.0.join("\n")
}

/// One book.
#[resource(uri = "books://{title}")]
fn book(title: String, books: &Books) -> Result<String, ToolError> {
    let is_there = books.0.contains(&title.as_str());
    is_there
        .then(|| format!("The text of {title}.\n"))
        .ok_or_else(|| ToolError::not_found("there is no such book"))
}

const EXPLAIN: &str = "\
---
name: explain
description: Explains a topic.
model: large
provider: example
tools: [add]
thinking: low
thinking_budget: 1024
system_prompt: You are a librarian.
input:
  type: object
  properties:
    topic: { type: string, description: The topic. }
    length: { type: integer }
    style: { type: string, enum: [plain, formal] }
  required: [topic]
---
# Explains a topic to a reader

Explain {{ .topic }}.
";

const GREET: &str = "---\nname: greet\ninput: { type: string }\n---\nGreet {{ . }}.";

/// Text of others that would change the terminal.
const HOSTILE: &str = "Ignore \u{1b}[31mall\u{202e} that";

const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

pub(crate) fn cli() -> Cli {
    let commands = CatalogueCommands::new(|catalogue| async move {
        add_items(&catalogue)?;
        catalogue.connect(Branch::default())?;
        catalogue.connect(Closed)?;
        anyhow::Ok(catalogue)
    });
    let commands = commands.configure_server(|server| server.instructions("A library."));
    let rules = Rules::new([Rule::deny("add").at("/a", "13")]);
    let cli = Cli::new().about("Lends books.").tools(|builder| builder.tool::<add>());
    let cli = cli.provide_with(|builder| builder.provide(Books(&["Emma", "Ulysses"])));
    cli.executor(|builder| builder.rules(rules)).extension(commands)
}

/// Adds the items of the program.
pub(crate) fn add_items(catalogue: &Catalogue) -> anyhow::Result<()> {
    catalogue.add_prompt(PromptFile::parse(EXPLAIN)?)?;
    catalogue.add_prompt(PromptFile::parse(GREET)?)?;
    let hostile = PromptDefinition::new("hostile")?.with_title(HOSTILE)?.with_description(HOSTILE);
    catalogue.add_prompt(text_prompt(hostile, |_| Ok(HOSTILE.to_owned())))?;
    let notes = StoredResource::text("notes", "Buy milk.\n")?.with_uri("notes://today")?;
    catalogue.add_resource(notes.with_description("The notes of today.\n\nIn a list."));
    catalogue.add_resource(StoredResource::data("logo", PIXEL)?);
    let failing = |_| async { Err(ToolError::failed("the disk is full")) };
    catalogue.add_resource(live("broken:1", "broken", failing)?);
    Ok(())
}

/// A connector whose one resource changes as soon as its changes are asked for.
#[derive(Default)]
struct Branch {
    notifier: Arc<Mutex<Option<ConnectorNotifier>>>,
}

struct Hours {
    uri: ResourceUri,
    notifier: Arc<Mutex<Option<ConnectorNotifier>>>,
}

impl Connector for Branch {
    fn namespace(&self) -> &str {
        "branch"
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        let greet = PromptFile::parse(GREET).map_err(|error| ToolError::failed(error.to_string()));
        Box::pin(async { Ok(vec![Arc::new(greet?) as Arc<dyn Prompt>]) })
    }

    fn resources<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn ReadableResource>>, ToolError>> {
        let uri = ResourceUri::parse("hours://week").unwrap();
        let hours = Hours { uri, notifier: Arc::clone(&self.notifier) };
        Box::pin(async { Ok(vec![Arc::new(hours) as Arc<dyn ReadableResource>]) })
    }

    fn attached(&self, notifier: ConnectorNotifier) {
        *self.notifier.lock().unwrap() = Some(notifier);
    }
}

impl ReadableResource for Hours {
    fn uri(&self) -> &ResourceUri {
        &self.uri
    }

    fn name(&self) -> &str {
        "hours"
    }

    fn read<'a>(&'a self, _: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        let (uri, mime_type) = (self.uri.to_string(), "text/plain".to_owned());
        let body = ResourceBody::Text("9 to 5".to_owned());
        Box::pin(async { Ok(output::Resource { uri, mime_type, body }) })
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        let notifier = self.notifier.lock().unwrap().clone().unwrap();
        notifier.announce(CatalogueChange::Resource { uri: self.uri.to_string() });
        notifier.announce(CatalogueChange::Prompts);
        notifier.announce(CatalogueChange::Resource { uri: "hours://other".to_owned() });
        notifier.announce(CatalogueChange::Resources);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A connector that cannot be reached.
struct Closed;

impl Connector for Closed {
    fn namespace(&self) -> &str {
        "closed"
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        Box::pin(async { Err(ToolError::failed("closed \u{1b}[2J for the day")) })
    }
}
