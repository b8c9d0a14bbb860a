//! MCP servers as connectors.

use std::{collections::BTreeMap, env, path::Path, sync::Arc};

use tool_kit::{
    catalogue::{Catalogue, CatalogueChange, ItemKind, ItemQuery},
    mcp::{McpConnector, offer_prompt, offer_resource},
    prompt::{Prompt as _, PromptFile, PromptRole},
    resource::{ReadableResource as _, StoredResource},
};
use tool_mcp::{
    client::{McpToolSet, McpToolSetBuilder, Process, ServerConfig},
    rmcp::model::Prompt,
    server::{McpServer, PromptSet, ResourceSet},
};
use tool_runtime::{CancellationToken, ErrorKind, RunContext, output::ResourceBody, prelude::*};

use super::{add, keys, prompt, snapshot, told};

/// A builder of the set `remote`, whose connections reach `server` over streams in memory.
fn before(server: McpServer) -> McpToolSetBuilder {
    McpToolSet::builder(ServerConfig::new("remote", Process::new("unused"))).over(move || {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(far);
        let serving = server.clone().serve(read, write, CancellationToken::new());
        #[expect(clippy::disallowed_methods, reason = "it ends with the connection")]
        tokio::spawn(serving);
        async { Ok(tokio::io::split(near)) }
    })
}

#[tokio::test]
async fn the_items_of_a_server_are_those_of_its_namespace_and_follow_its_changes() {
    let explain = PromptFile::parse(
        "---\nname: explain\ndescription: Explains.\ninput:\n  type: object\n  properties: { topic: { type: string } }\n  required: [topic]\n---\nExplain {{ .topic }}.",
    );
    let prompts = offer_prompt(PromptSet::new(), explain.unwrap());
    let prompts = prompts.text(Prompt::new("not an identifier", None::<&str>, None), |_| String::new());
    let resources = offer_resource(ResourceSet::new(), StoredResource::must_text("notes", "Buy milk."));
    let resources = resources.text("https://user:secret@host/", "secret", "x");
    let tools = Registry::builder().tool::<add>().build().unwrap();
    let server = McpServer::new(tools).prompts(prompts.clone()).resources(resources.clone());
    let connector = McpConnector::connect(before(server)).await.unwrap();
    let catalogue = Catalogue::new();
    catalogue.connect(connector.clone()).unwrap();
    assert_eq!(keys(&catalogue).await, ["remote.add", "remote.explain", "text:notes#remote"]); // U22 O01
    let items = snapshot(&catalogue).await;
    let left_out: Vec<_> = items.diagnostics().iter().map(|it| (it.code, &*it.message)).collect();
    let [("unusable_item", prompt_problem), ("unusable_item", uri_problem)] = left_out[..] else {
        panic!("{left_out:?}")
    };
    assert!(prompt_problem.starts_with("the connector `remote`: a prompt of the server is left out: "));
    assert!(prompt_problem.contains("`not an identifier`, is no identifier"), "{prompt_problem}");
    assert!(uri_problem.contains("has user information") && !uri_problem.contains("secret"), "{uri_problem}");
    let run = Arc::new(RunContext::new());
    let found = items.lookup("explain").unwrap().prompt().unwrap();
    assert_eq!(found.definition().description(), Some("Explains."));
    let arguments: Vec<_> =
        found.definition().arguments().into_iter().map(|it| (it.name, it.required)).collect();
    assert_eq!(arguments, [("topic".to_owned(), true)]); // U36
    let rendered = found.render(&run, &json!({ "topic": "tides" })).await.unwrap();
    assert_eq!((rendered.text(), rendered.messages[0].role), ("Explain tides.".to_owned(), PromptRole::User));
    assert_eq!(found.render(&run, &json!({})).await.unwrap_err().kind(), ErrorKind::BadParameter);
    let read = items.lookup("text:notes").unwrap().resource().unwrap().read(&run).await.unwrap();
    assert_eq!((&*read.mime_type, read.body), ("text/plain", ResourceBody::Text("Buy milk.".to_owned())));
    let tool = items.lookup("remote.add").unwrap().tool().unwrap().definition().name();
    assert_eq!(items.tools().call(tool, r#"{ "a": 2, "b": 3 }"#).await.unwrap().text(), "5"); // O01

    let mut listener = catalogue.subscribe();
    let prompts = offer_prompt(prompts, prompt("greet"));
    assert!(prompts.remove("explain"));
    while listener.next().await.unwrap().unwrap().change != CatalogueChange::Prompts {}
    // Both changes may come as one or two.
    while keys(&catalogue).await != ["remote.add", "remote.greet", "text:notes#remote"] {
        listener.next().await.unwrap().unwrap(); // U43
    }
    told(&mut listener);
    connector.server().subscribe("text:notes").await.unwrap();
    drop(offer_resource(resources, StoredResource::must_text("notes", "Buy bread.")));
    let updated = CatalogueChange::Resource { uri: "text:notes".to_owned() };
    let event = loop {
        let event = listener.next().await.unwrap().unwrap();
        if event.change == updated {
            break event;
        }
    };
    assert_eq!(event.namespace.as_deref(), Some("remote")); // U07 U43
    connector.server().close().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_costs_its_own_items() {
    let nowhere = McpToolSet::builder(ServerConfig::new("gone", Process::new("/nonexistent/server")));
    let catalogue = Catalogue::new();
    catalogue.add_prompts([prompt("own")]).unwrap();
    catalogue.connect(McpConnector::lazy(nowhere)).unwrap();
    let items = snapshot(&catalogue).await;
    assert_eq!(keys(&catalogue).await, ["own"]); // U23
    let diagnostics = items.diagnostics();
    assert_eq!(diagnostics.len(), 2, "{diagnostics:?}"); // U23
    assert!(diagnostics.iter().all(|it| it.message.starts_with("the connector `gone`: its "))); // U23
}

/// The server `everything` from npm, as a process; `None`, with a report, if it is not installed.
fn everything() -> Option<ServerConfig> {
    let (Ok(peers), Ok(node)) = (env::var("MCP_PEERS"), env::var("MCP_NODE")) else {
        test_support::skipped::report(
            "`MCP_PEERS` is not set; run `. \"$(.ci/mcp/install)/environment\"` for tests with real servers",
        );
        return None;
    };
    let script = format!("{peers}/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    assert!(Path::new(&script).exists(), "{script}");
    Some(ServerConfig::new("everything", Process::new(node).args([script.as_str(), "stdio"])))
}

#[tokio::test]
async fn items_of_a_program_and_of_a_real_server_are_one_list() {
    let Some(config) = everything() else { return };
    let tools = Registry::builder().tool::<add>().build().unwrap();
    let catalogue = Catalogue::of_tools(tool_runtime::Toolbox::from_registry(&tools));
    let explain = PromptFile::parse("---\nname: explain\n---\nExplain {{ .topic }}.").unwrap();
    catalogue.add_prompt(explain).unwrap();
    catalogue.add_resource(StoredResource::must_text("notes", "Buy milk."));
    catalogue.add_resource(StoredResource::must_json("limits", &json!({ "days": 14 })));
    let connector = McpConnector::connect(McpToolSet::builder(config)).await.unwrap();
    catalogue.connect(connector.clone()).unwrap();
    let items = snapshot(&catalogue).await;
    assert!(items.diagnostics().is_empty(), "{:?}", items.diagnostics());
    let count = |namespace: &str, kind: ItemKind| {
        items.list(&ItemQuery::all().in_namespace(namespace).of_kind(kind)).count
    };
    assert_eq!(
        [ItemKind::Tool, ItemKind::Prompt, ItemKind::Resource].map(|kind| count("builtin", kind)),
        [1, 1, 2]
    );
    for kind in [ItemKind::Tool, ItemKind::Prompt, ItemKind::Resource] {
        assert!(count("everything", kind) > 1, "{kind:?}"); // U02 O01
    }
    let run = Arc::new(RunContext::new());
    let sum = items.lookup("everything.get-sum").unwrap().tool().unwrap().definition().name();
    assert!(items.tools().call(sum, r#"{ "a": 2, "b": 3 }"#).await.unwrap().text().contains('5')); // U17 O01
    let simple = items.list(&ItemQuery::all().in_namespace("everything").of_kind(ItemKind::Prompt));
    let without_input = simple.items.iter().map(|item| item.prompt().unwrap());
    let without_input = without_input.into_iter().find(|it| it.definition().arguments().is_empty()).unwrap();
    assert!(!without_input.render(&run, &json!({})).await.unwrap().messages.is_empty()); // U02
    let resources = items.list(&ItemQuery::all().in_namespace("everything").of_kind(ItemKind::Resource));
    let mut bodies = BTreeMap::new();
    for item in &resources.items {
        let found = items.lookup(item.key()).unwrap().resource().unwrap();
        bodies.insert(item.key().to_owned(), found.read(&run).await.unwrap().body);
    }
    assert_eq!(bodies.len(), resources.count); // U17 U22
    assert!(bodies.values().all(|body| *body != ResourceBody::Text(String::new())), "{bodies:?}");
    connector.server().close().await;
}
