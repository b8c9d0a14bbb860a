//! The commands `connect` and `serve`.

use std::{
    io::{BufRead as _, BufReader},
    process::Child,
};

use tokio::{net::TcpListener, sync::oneshot};
use tool_kit::{
    catalogue::{Catalogue, ItemQuery, json_input},
    mcp::{McpConnector, offer_prompt, offer_resource},
    prompt::PromptFile,
    resource::StoredResource,
};
use tool_mcp::{
    client::{Endpoint, McpToolSet, ServerConfig},
    server::{McpServer, PromptSet, ResourceSet},
};
use tool_runtime::{CancellationToken, RunContext, prelude::*};

use super::{hold, program, transcript};

/// Finds books.
#[tool(register = false, read_only)]
fn search(
    /// The text to find.
    query: String,
) -> String {
    format!("no book has \u{1b}[31m{query}")
}

/// A server for `connect` that ends with its token.
async fn serve(stop: CancellationToken, address: oneshot::Sender<String>) {
    let explain = "---\nname: explain\ninput: { type: object, properties: { topic: { type: string } } }\n---\nExplain {{ .topic }}.";
    let explain = PromptFile::parse(explain).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    address.send(listener.local_addr().unwrap().to_string()).unwrap();
    McpServer::new(Registry::builder().tool::<search>().build().unwrap())
        .named("books", "1.0.0")
        .prompts(offer_prompt(PromptSet::new(), explain))
        .resources(offer_resource(ResourceSet::new(), StoredResource::must_text("notes", "Buy milk.")))
        .http()
        .unwrap()
        .serve(listener, stop)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_listed_and_used_for_one_session() {
    let (stop, (sender, address)) = (CancellationToken::new(), oneshot::channel());
    let lines = async {
        let address = address.await.unwrap();
        let url = format!("http://{address}/mcp");
        let commands: [&[&str]; 12] = [
            &["connect", &url],
            &["connect", "--json", &url],
            &["connect", &url, "show", "search"],
            &["connect", &url, "call", "search", "--query", "tides"],
            &["connect", &url, "call", "search"],
            &["connect", &url, "prompts", "list"],
            &["connect", &url, "prompts", "render", "explain", r#"{"topic": "tides"}"#],
            &["connect", &url, "prompts", "render", "explian"],
            &["connect", &url, "resources", "read", "text:notes"],
            &["connect", &url, "resources", "list"],
            &["connect", "localhost:1/mcp"],
            &["connect"],
        ];
        let commands: Vec<Vec<String>> =
            commands.iter().map(|words| words.iter().map(|it| (*it).to_owned()).collect()).collect();
        let run = move || {
            let transcripts = commands
                .iter()
                .map(|words| transcript(&words.iter().map(String::as_str).collect::<Vec<_>>(), ""));
            transcripts.collect::<Vec<_>>().join("\n")
        };
        let seen = tokio::task::spawn_blocking(run).await.unwrap();
        stop.cancel();
        seen.replace(&address, "127.0.0.1:PORT").replace('\u{1b}', "<ESC>")
    };
    let ((), seen) = tokio::join!(serve(stop.clone(), sender), lines);
    hold("connect", &seen);
}

/// The URL that `serve` writes.
fn url_of(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.find_map(|line| line.unwrap().strip_prefix("http://").map(|rest| format!("http://{rest}"))).unwrap()
}

#[tokio::test]
async fn the_whole_catalogue_is_served() {
    let mut child = program(&["serve", "--http", "127.0.0.1:0"]).spawn().unwrap();
    let config = ServerConfig::new("library", Endpoint::new(url_of(&mut child)));
    let connector = McpConnector::connect(McpToolSet::builder(config)).await.unwrap();
    let catalogue = Catalogue::new();
    catalogue.connect(connector).unwrap();
    let run = std::sync::Arc::new(RunContext::new());
    let items = catalogue.snapshot(&run).await.unwrap();
    let keys: Vec<_> = items.list(&ItemQuery::all()).items.iter().map(|it| it.key().to_owned()).collect();
    // The rules of the program hold for remote calls.
    let add = async |a: i64| {
        catalogue.call(&run, "library.add", vec![json_input(&json!({ "a": a, "b": 1 }))]).await
    };
    let [added, denied] = [add(12).await, add(13).await].map(|answer| format!("{answer:?}"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(added.contains("\"13\"") && denied.contains("a rule denies it"), "{added} {denied}");
    for key in ["library.add", "library.explain", "notes://today#library", "hours://week#library"] {
        assert!(keys.iter().any(|it| it == key), "{key} {keys:?}");
    }
}
