//! A catalogue with a delegate: its prompts are run, its events are logged, and its items are listed on each change. The server that it connects to
//! is part of the program.
//!
//! ```sh
//! cargo run --bin kit-delegate
//! ```

mod librarian;

use std::sync::Arc;

use anyhow::Context as _;
use kit_examples::LocalServer;
use tool_kit::{
    catalogue::{Catalogue, json_input},
    prompt::PromptFile,
};
use tool_runtime::{RunContext, output::ResourceBody, prelude::json};

use self::librarian::{Librarian, connect, list_on_change};

const SUGGEST: &str = "\
---
name: suggest
description: Suggests a book.
input: { type: object, properties: { topic: { type: string } }, required: [topic] }
---
Suggest a book about {{ .topic }}.
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let server = LocalServer::start(None).await?;
    let catalogue = Catalogue::new().with_delegate(Librarian::new()?);
    let (run, mut listener) = (Arc::new(RunContext::new()), catalogue.subscribe());
    catalogue.add_prompt(PromptFile::parse(SUGGEST)?)?;
    list_on_change(&catalogue, &mut listener).await?;

    let books = connect("books", &server.url()).await?;
    catalogue.connect(books.clone())?;
    list_on_change(&catalogue, &mut listener).await?;

    server.add_tool()?;
    list_on_change(&catalogue, &mut listener).await?;

    let items = catalogue.snapshot(&run).await?;
    let hours = items.lookup("library://hours")?.resource().context("`library://hours` is a resource")?;
    hours.subscribe().await?;
    server.change_hours()?;
    list_on_change(&catalogue, &mut listener).await?;

    let answer = catalogue.call(&run, "suggest", vec![json_input(&json!({ "topic": "tides" }))]).await?;
    println!("the prompt: {}", text_of(answer));
    let lent = catalogue.call(&run, "books.lend", vec![json_input(&json!({ "title": "Tides" }))]).await?;
    println!("the tool: {}\n", text_of(lent));

    catalogue.disconnect("books")?;
    list_on_change(&catalogue, &mut listener).await?;
    books.server().close().await;
    server.stop().await?;
    Ok(())
}

fn text_of(resource: Option<tool_runtime::output::Resource>) -> String {
    match resource.map(|resource| resource.body) {
        Some(ResourceBody::Text(text)) => text,
        _ => "no text".to_owned(),
    }
}
