//! A public document as tools, on a server of this program.
//!
//! ```sh
//! cargo run --bin openapi-petstore
//! cargo run --bin openapi-petstore -- serve
//! ```
//!
//! `serve` only prints the URL of the server, for `openapi-command -- openapi --base-url URL petstore.yaml call ..`.

mod server;

use tool_openapi::{Credential, Document, OpenApiToolSet};
use tool_runtime::{
    Executor, RunContext, ToolCall, Toolbox,
    policy::{Rule, Rules},
};

/// The public petstore, as its authors publish it.
const DOCUMENT: &str = include_str!("../../../extensions/tool-openapi/tests/documents/petstore-3.0.yaml");

/// The key of the server, which a real program reads from its environment.
const KEY: &str = "special-key";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let server = server::start().await?;
    if std::env::args().nth(1).as_deref() == Some("serve") {
        println!("{}", server.url);
        tokio::signal::ctrl_c().await?;
        return Ok(());
    }
    let pets = OpenApiToolSet::builder(Document::from_text(DOCUMENT)?)
        .base_url(&server.url)
        .credential("api_key", Credential::secret(KEY))
        .filter(|operation| operation.has_tag("pet") || operation.id == Some("getInventory"))
        .build()?;

    let toolbox = Toolbox::new();
    toolbox.add_toolset(pets)?;
    let tools = toolbox.snapshot(&RunContext::new()).await?.into_tools();
    // A model may read and add, and never delete.
    let rules = Rules::new([Rule::deny("deletePet").reason("pets are not deleted here")]);
    let executor = Executor::builder(tools).rules(rules).build()?;

    let calls = [
        ("addPet", r#"{"body":{"name":"Rex","photoUrls":[],"status":"available"}}"#),
        ("getPetById", r#"{"petId":1}"#),
        ("getPetById", r#"{"petId":9}"#),
        ("findPetsByStatus", r#"{"status":["available","lost"]}"#),
        ("getInventory", "{}"),
        ("deletePet", r#"{"petId":1}"#),
    ];
    for (name, arguments) in calls {
        for outcome in executor.batch(vec![ToolCall::new(name, arguments)]).run().await {
            let text = outcome.result().map(|result| result.text().into_owned()).unwrap_or_default();
            println!("\n> {name} {arguments}\n{}", text.replace(&server.url, "http://petstore"));
        }
    }
    Ok(())
}
