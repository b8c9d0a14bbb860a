//! Lists, look-ups and calls.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ArgumentInfo, CompleteRequestParams, LoggingLevel, LoggingMessageNotificationParam, Reference,
        ResourceContents, SetLevelRequestParams,
    },
    service::{NotificationContext, ServiceError},
};
use tokio::sync::mpsc;
use tool_kit::{
    catalogue::{Catalogue, Connector},
    mcp::{McpConnector, offer_catalogue, serve_catalogue},
    prompt::Prompt,
    resource::{ReadableResource, ResourceTemplate, UriTemplate},
};
use tool_mcp::{
    client::{McpToolSet, Process, ServerConfig},
    server::{McpServer, ResourceSet},
};
use tool_runtime::{
    BoxFuture, CancellationToken, Executor, RunContext,
    output::Resource,
    policy::{Rule, Rules},
    prelude::*,
};

use super::{BOTH, Service, catalogue, connect, prompt};

#[tokio::test]
async fn tools_of_the_program_and_of_connectors_are_listed_and_called() {
    for version in BOTH {
        let world = connect(serve_catalogue(catalogue()), (), version).await;
        assert_eq!(world.tool_names().await, ["a", "srv__b"]); // O01
        assert_eq!(world.call("a", json!({ "a": 2, "b": 3 })).await, "5"); // O01
        assert_eq!(world.call("srv__b", json!({})).await, "counted"); // O01
    }
}

#[tokio::test]
async fn calls_have_the_settings_of_the_executor_of_the_catalogue() {
    let executor = Executor::builder(Registry::default()).rules(Rules::new([Rule::deny("srv__*")]));
    let catalogue = catalogue().with_executor(executor.build().unwrap());
    let world = connect(serve_catalogue(&catalogue), (), BOTH[0].clone()).await;
    let denied = world.call("srv__b", json!({})).await;
    assert!(denied.contains("a rule denies it: srv__*"), "{denied}");
    assert_eq!(world.call("a", json!({ "a": 2, "b": 3 })).await, "5");
}

#[tokio::test]
async fn prompts_have_legal_names_that_are_mapped_back() {
    for version in BOTH {
        let world = connect(serve_catalogue(catalogue()).page_size(2), (), version).await;
        let names = ["explain", "srv__explain", "srv__greet", "user__mine"];
        assert_eq!(world.prompt_names().await, names); // O01 O02
        for (name, arguments, text) in [
            ("explain", json!({ "topic": "tides" }), "Explain tides."),
            ("srv__explain", json!({}), "of the service"),
            ("srv__greet", json!({}), "hello"),
            ("user__mine", json!({}), "of the user"),
        ] {
            assert_eq!(world.text_of(name, arguments).await.unwrap(), text); // O01 O02
        }
        for (name, arguments, problem) in [
            ("explain", json!({}), "the argument `topic` of the prompt is missing"),
            ("greet", json!({}), "there is no prompt `greet`"),
            ("srv.greet", json!({}), "there is no prompt `srv.greet`"),
        ] {
            let error = world.text_of(name, arguments).await.unwrap_err();
            assert!(error.contains(problem) && error.contains("-32602"), "{error}"); // O02
        }
        let argument = ArgumentInfo::new("style", "sho");
        let params = CompleteRequestParams::new(Reference::for_prompt("explain"), argument);
        assert_eq!(world.client.complete(params).await.unwrap().completion.values, ["short", "shorter"]);
    }
}

#[tokio::test]
async fn resources_of_all_namespaces_are_listed_and_read_as_text_or_base64() {
    for version in BOTH {
        let world = connect(serve_catalogue(catalogue()), (), version.clone()).await;
        let uris = ["data:dot", "notes://mine", "notes://srv", "notes://today"];
        assert_eq!(world.uris().await, uris); // O02
        for (uri, expected) in [
            ("notes://today", "Buy milk."),
            ("NOTES://today", "Buy milk."),
            ("notes://srv", "of the service"),
            ("notes://mine", "of the user"),
        ] {
            let read = world.read(uri).await.unwrap();
            assert_eq!(read, ResourceContents::text(expected, uri).with_mime_type("text/plain")); // O02
        }
        let dot = world.read("data:dot").await.unwrap();
        assert_eq!(dot, ResourceContents::blob("iVBORw0KGgo=", "data:dot").with_mime_type("image/png")); // O02
        for uri in ["notes://none", "relative", "notes://today#srv"] {
            let Err(ServiceError::McpError(ErrorData { code, data, .. })) = world.read(uri).await else {
                panic!("{uri}")
            };
            let expected = if version.has_initialize() { -32_002 } else { -32_602 };
            assert_eq!((code.0, data), (expected, Some(json!({ "uri": uri })))); // O02
        }
    }
}

#[tokio::test]
async fn of_one_name_or_uri_the_first_in_the_order_of_lookup_is_served() {
    let catalogue = Catalogue::new();
    catalogue.connect(Service("srv")).unwrap();
    catalogue.connect(Service("other")).unwrap();
    catalogue.add_prompts([prompt("srv__greet", "of the program")]).unwrap();
    let noted = Arc::new(Mutex::new(Vec::new()));
    let diagnostics = Arc::clone(&noted);
    let server = serve_catalogue(&catalogue)
        .on_diagnostic(move |it| diagnostics.lock().unwrap().push((it.code, it.message.clone())));
    let world = connect(server, (), BOTH[1].clone()).await;
    assert_eq!(world.prompt_names().await, ["other__explain", "other__greet", "srv__explain", "srv__greet"]);
    assert_eq!(world.text_of("srv__greet", json!({})).await.unwrap(), "of the program"); // U18
    assert_eq!(world.uris().await, ["notes://srv", "notes://today"]);
    assert_eq!(
        world.read("notes://today").await.unwrap(),
        ResourceContents::text("hidden", "notes://today").with_mime_type("text/plain")
    );
    let noted = noted.lock().unwrap();
    let hidden: Vec<_> = noted.iter().filter(|(code, _)| *code == "hidden_item").collect();
    let keys = ["srv.greet", "notes://today#other", "notes://srv#other"];
    assert_eq!(hidden.len(), keys.len(), "{hidden:?}");
    for key in keys {
        assert!(
            hidden.iter().any(|(_, it)| it.contains(&format!("the item `{key}` is not served"))),
            "{key}"
        );
    }
}

/// A connector whose lists never end.
struct Hanging;

impl Connector for Hanging {
    fn namespace(&self) -> &str {
        "hanging"
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        Box::pin(std::future::pending())
    }
}

/// A connector whose lists fail.
struct Down;

impl Connector for Down {
    fn namespace(&self) -> &str {
        "down"
    }

    fn resources<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn ReadableResource>>, ToolError>> {
        Box::pin(async { Err(ToolError::failed("no answer")) })
    }
}

#[tokio::test]
async fn items_of_the_program_do_not_wait_for_connectors() {
    let catalogue = catalogue();
    catalogue.connect(Hanging).unwrap();
    let world = connect(serve_catalogue(&catalogue), (), BOTH[0].clone()).await;
    assert_eq!(world.text_of("explain", json!({ "topic": "tides" })).await.unwrap(), "Explain tides.");
    assert!(world.read("notes://today").await.is_ok());
}

#[tokio::test]
async fn a_connector_that_fails_costs_its_own_items_with_a_diagnostic() {
    let catalogue = catalogue();
    catalogue.connect(Down).unwrap();
    let (sender, mut diagnostics) = mpsc::unbounded_channel();
    let server = serve_catalogue(&catalogue).on_diagnostic(move |it| drop(sender.send(it.message.clone())));
    let world = connect(server, (), BOTH[0].clone()).await;
    assert_eq!(world.uris().await.len(), 4); // U23
    let problem = diagnostics.recv().await.unwrap();
    assert_eq!(problem, "the connector `down`: its resources cannot be listed: no answer");
}

/// A template of one form, whose name panics if the program says so.
struct Form {
    uri: UriTemplate,
    panics: bool,
}

impl ResourceTemplate for Form {
    fn uri_template(&self) -> &UriTemplate {
        &self.uri
    }

    fn name(&self) -> &str {
        if self.panics { panic!("a mistake") } else { "form" }
    }

    fn read<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        _: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<Resource, ToolError>> {
        Box::pin(async { Err(ToolError::failed("no answer")) })
    }
}

#[tokio::test]
async fn a_template_that_panics_costs_itself_with_a_diagnostic() {
    let catalogue = Catalogue::new();
    for (uri, panics) in [("good://{a}", false), ("wrong://{a}", true)] {
        catalogue.add_template(Form { uri: UriTemplate::parse(uri).unwrap(), panics }).unwrap();
    }
    let (sender, mut diagnostics) = mpsc::unbounded_channel();
    let server = serve_catalogue(&catalogue).on_diagnostic(move |it| drop(sender.send(it.message.clone())));
    let world = connect(server, (), BOTH[0].clone()).await;
    let templates = world.client.list_all_resource_templates().await.unwrap();
    assert_eq!(templates.iter().map(|it| &*it.uri_template).collect::<Vec<_>>(), ["good://{a}"]);
    let problem = diagnostics.recv().await.unwrap();
    assert_eq!(problem, "the item `template 1 of the program` is not served, because it panicked: a mistake");
}

#[tokio::test]
async fn a_server_that_another_part_created_keeps_its_own_offers() {
    let own = ResourceSet::new().text("manuals://start", "start", "Turn it on.");
    let server = offer_catalogue(McpServer::new(Registry::default()).resources(own), catalogue());
    let world = connect(server, (), BOTH[0].clone()).await;
    assert_eq!(world.tool_names().await, ["a", "srv__b"]);
    assert_eq!(
        world.uris().await,
        ["data:dot", "manuals://start", "notes://mine", "notes://srv", "notes://today"]
    );
    assert!(world.read("manuals://start").await.is_ok() && world.read("notes://mine").await.is_ok());
}

/// A client that notes log lines.
struct Lines(mpsc::UnboundedSender<Value>);

impl ClientHandler for Lines {
    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.send(tool_runtime::serde_json::to_value(params).unwrap()).ok();
    }
}

#[tokio::test]
async fn log_lines_of_the_tools_of_a_catalogue_are_messages_to_the_client() {
    let (sender, mut lines) = mpsc::unbounded_channel();
    let world = connect(serve_catalogue(catalogue()), Lines(sender), BOTH[0].clone()).await;
    assert_eq!(world.call("srv__b", json!({})).await, "counted");
    let slow = json!({
        "level": "warning", "logger": "srv__b", "data": { "message": "slow", "data": { "ms": 5 } },
    });
    assert_eq!(
        lines.recv().await.unwrap(),
        json!({ "level": "info", "logger": "srv__b", "data": "counting" })
    ); // W07
    assert_eq!(lines.recv().await.unwrap(), slow); // W07
    world.client.set_level(SetLevelRequestParams::new(LoggingLevel::Warning)).await.unwrap();
    world.call("srv__b", json!({})).await;
    assert_eq!(lines.recv().await.unwrap(), slow); // W07
}

#[tokio::test]
async fn log_lines_of_the_tools_of_another_server_are_messages_to_the_client_of_this_one() {
    let remote = serve_catalogue(catalogue());
    let set = McpToolSet::builder(ServerConfig::new("remote", Process::new("unused"))).over(move || {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(far);
        let serving = remote.clone().serve(read, write, CancellationToken::new());
        #[expect(clippy::disallowed_methods, reason = "it ends with the connection")]
        tokio::spawn(serving);
        async { Ok(tokio::io::split(near)) }
    });
    let catalogue = Catalogue::new();
    // A client of a later revision says of each request which lines it wants.
    let connector = McpConnector::connect(set.log_level(LoggingLevel::Info)).await.unwrap();
    catalogue.connect(connector.clone()).unwrap();
    let (sender, mut lines) = mpsc::unbounded_channel();
    let world = connect(serve_catalogue(&catalogue), Lines(sender), BOTH[0].clone()).await;
    assert_eq!(world.tool_names().await, ["remote__a", "remote__srv__b"]); // O01
    assert_eq!(world.call("remote__srv__b", json!({})).await, "counted"); // O01
    let line = lines.recv().await.unwrap();
    assert_eq!((&line["level"], &line["logger"]), (&json!("info"), &json!("remote__srv__b")), "{line}"); // W07
    assert!(line["data"].to_string().contains("counting"), "{line}"); // W07
    assert_eq!(world.prompt_names().await[0], "remote__explain"); // O01
    assert_eq!(world.text_of("remote__srv__greet", json!({})).await.unwrap(), "hello"); // O01
    connector.server().close().await;
}
