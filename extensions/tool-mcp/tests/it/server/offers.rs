//! Resources and prompts.

use std::sync::Arc;

use rmcp::{
    ClientHandler, RoleClient, ServiceError,
    model::{
        ArgumentInfo, CompleteRequestParams, GetPromptRequestParams, Prompt, PromptArgument, PromptMessage,
        ProtocolVersion, ReadResourceRequestParams, Reference, Resource, ResourceContents, ResourceTemplate,
        ResourceUpdatedNotificationParam, Role, ServerNotification, SubscribeRequestParams,
        SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::NotificationContext,
};
use serde_json::json;
use tokio::sync::mpsc;
use tool_mcp::server::{
    Answer, Caller, ChangeSignal, McpServer, Page, Paging, PromptSet, ResourceSet, Resources,
};
use tool_runtime::{
    BoxFuture, RunContext, Toolbox,
    output::{self, ResourceBody},
    prelude::*,
};

use super::{BOTH, connect, connect_to, questions::User, serve};

fn resources() -> ResourceSet {
    ResourceSet::new()
        .text("notes://today", "today", "Buy milk.")
        .bytes("notes://dot", "dot", "image/png", [1, 2, 3])
        .dynamic(Resource::new("notes://broken", "broken"), |_| async { panic!("no reading") })
        .template(ResourceTemplate::new("notes://{day}/all", "day"), |run, variables| async move {
            let client = run.client().map(|client| client.name.clone()).unwrap_or_default();
            Ok(ResourceBody::Text(format!("{client}: nothing on {}", variables["day"])))
        })
        .unwrap()
        .complete(|_, completing| {
            let days = (0..150).map(|day| format!("day{day}"));
            days.filter(|day| day.starts_with(completing.value)).collect()
        })
}

fn prompts() -> PromptSet {
    let topic = PromptArgument::new("topic").with_required(true);
    PromptSet::new()
        .text(Prompt::new("explain", Some("Explains."), Some(vec![topic])), |arguments| {
            format!("Explain {}.", arguments["topic"])
        })
        .complete(|_, completing| vec![format!("{}s", completing.value)])
        .dynamic(Prompt::new("greet", Some("Greets."), None), |run, _| async move {
            let elicitation = run.provided().get::<Caller>().and_then(Caller::elicitation);
            let Some(elicitation) = elicitation else {
                return Err(ToolError::failed("the client asks no user"));
            };
            let schema = json!({ "type": "object", "properties": { "first": { "type": "string" } } });
            let Answer::Accepted(form) = elicitation.form("first", "Your first name?", schema).await? else {
                return Err(ToolError::failed("no name"));
            };
            Ok(vec![PromptMessage::new_text(Role::User, format!("Greet {}.", form["first"]))])
        })
        .dynamic(Prompt::new("broken", Some("Breaks."), None), |_, _| async { panic!("no prompt") })
}

fn server() -> McpServer {
    McpServer::new(Registry::default()).resources(resources()).prompts(prompts())
}

fn code(error: ServiceError) -> (i32, String, serde_json::Value) {
    let ServiceError::McpError(error) = error else { panic!("{error}") };
    (error.code.0, error.message.into_owned(), error.data.unwrap_or_default())
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    for version in BOTH {
        let it = connect_to(server().page_size(2), (), version.clone()).await;
        // O02
        let listed = it.client.list_all_resources().await.unwrap();
        let uris: Vec<_> = listed.iter().map(|it| it.uri.as_str()).collect();
        assert_eq!(uris, ["notes://broken", "notes://dot", "notes://today"]);
        let templates = it.client.list_resource_templates(None).await.unwrap().resource_templates;
        assert_eq!(templates[0].uri_template, "notes://{day}/all");
        let read = async |uri: &str| it.client.read_resource(ReadResourceRequestParams::new(uri)).await;
        let text = read("notes://today").await.unwrap();
        assert_eq!(text.contents, [ResourceContents::text("Buy milk.", "notes://today")]);
        let blob = read("notes://dot").await.unwrap();
        assert_eq!(
            blob.contents,
            [ResourceContents::blob("AQID", "notes://dot").with_mime_type("image/png")]
        );
        let made = read("notes://monday/all").await.unwrap();
        let ResourceContents::TextResourceContents { text, .. } = &made.contents[0] else { panic!() };
        assert!(text.ends_with(": nothing on monday"), "{text}");
        // Unknown ones name their URI; the code depends on the revision.
        let (number, _, data) = code(read("notes://none").await.unwrap_err());
        let expected = if version.has_initialize() { -32002 } else { -32602 };
        assert_eq!((number, data), (expected, json!({ "uri": "notes://none" })));
        let (number, message, _) = code(read("notes://broken").await.unwrap_err());
        assert_eq!(number, -32603);
        assert!(message.contains("no reading") || message.contains("panicked"), "{message}");
        assert!(read("notes://today").await.is_ok(), "the connection lives");
    }
}

#[tokio::test]
async fn content_is_text_if_it_can_be() {
    let contents: [(&str, &[u8], Option<&str>); 5] = [
        ("a:text", "a t\u{e9}xt\n".as_bytes(), None),
        ("a:empty", b"", None),
        ("a:nul", b"a\0b", Some("YQBi")),
        ("a:latin", b"t\xe9xt", Some("dOl4dA==")),
        ("a:cut", b"a\xc3", Some("YcM=")),
    ];
    let add = |set: ResourceSet, (uri, content, _): (&str, &[u8], Option<&str>)| {
        set.content(Resource::new(uri, uri), content)
    };
    let server =
        McpServer::new(Registry::default()).resources(contents.into_iter().fold(ResourceSet::new(), add));
    let it = connect_to(server, (), BOTH[0].clone()).await;
    for (uri, content, blob) in contents {
        // O02
        let read = it.client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
        let expected = match blob {
            Some(blob) => ResourceContents::blob(blob, uri),
            None => ResourceContents::text(str::from_utf8(content).unwrap(), uri),
        };
        assert_eq!(
            serde_json::to_value(&read.contents[0]).unwrap()["text"],
            serde_json::to_value(&expected).unwrap()["text"]
        );
        assert_eq!(
            serde_json::to_value(&read.contents[0]).unwrap()["blob"],
            serde_json::to_value(&expected).unwrap()["blob"]
        );
    }
}

#[tokio::test]
async fn prompts_are_listed_and_got() {
    for version in BOTH {
        let it = connect_to(server(), (), version).await;
        // O02
        let names: Vec<_> =
            it.client.list_all_prompts().await.unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["broken", "explain", "greet"]);
        let get = async |name: &str, arguments: serde_json::Value| {
            let mut params = GetPromptRequestParams::new(name);
            params.arguments = arguments.as_object().cloned();
            it.client.get_prompt(params).await
        };
        let got = get("explain", json!({ "topic": "traits" })).await.unwrap();
        assert_eq!(got.messages, [PromptMessage::new_text(Role::User, "Explain traits.")]);
        assert_eq!(got.description.as_deref(), Some("Explains."));
        for (name, arguments, expected) in [
            ("explain", json!({}), "`topic`"),
            ("explain", json!({ "topic": 1 }), "`topic`"),
            ("explain", json!({ "topic": "a", "more": "b" }), "`more`"),
            ("unknown", json!({}), "`unknown`"),
        ] {
            let (number, message, _) = code(get(name, arguments).await.unwrap_err());
            assert_eq!(number, -32602, "{message}");
            assert!(message.contains(expected), "{message}");
        }
        assert_eq!(code(get("broken", json!({})).await.unwrap_err()).0, -32603);
        assert!(get("explain", json!({ "topic": "traits" })).await.is_ok(), "the connection lives");
    }
}

#[tokio::test]
async fn a_prompt_asks_the_user_in_both_protocols() {
    for version in BOTH {
        let it = connect_to(server(), User, version).await;
        let got = it.client.get_prompt(GetPromptRequestParams::new("greet")).await.unwrap();
        assert_eq!(got.messages, [PromptMessage::new_text(Role::User, "Greet \"Ada\".")]);
    }
}

#[tokio::test]
async fn arguments_are_completed() {
    for version in BOTH {
        let it = connect_to(server(), (), version).await;
        let complete = async |of: Reference, name: &str, value: &str| {
            let argument = ArgumentInfo::new(name, value);
            it.client.complete(CompleteRequestParams::new(of, argument)).await.map(|it| it.completion)
        };
        let found = complete(Reference::for_prompt("explain"), "topic", "trait").await.unwrap();
        assert_eq!(
            (found.values.as_slice(), found.has_more),
            (["traits".to_owned()].as_slice(), Some(false))
        );
        let found = complete(Reference::for_resource("notes://{day}/all"), "day", "day").await.unwrap();
        assert_eq!((found.values.len(), found.total, found.has_more), (100, Some(150), Some(true)));
        let unknown = complete(Reference::for_prompt("unknown"), "topic", "").await.unwrap_err();
        assert_eq!(code(unknown).0, -32602);
    }
}

#[tokio::test]
async fn capabilities_are_declared_for_what_exists() {
    for version in BOTH {
        let it = connect(Registry::default(), (), version.clone()).await;
        let capabilities = it.client.peer_info().unwrap().capabilities.clone();
        assert!(capabilities.resources.is_none() && capabilities.prompts.is_none());
        assert!(capabilities.completions.is_none());
        assert_eq!(capabilities.tools.unwrap().list_changed, None);
        // O06
        assert_eq!(code(it.client.list_resources(None).await.unwrap_err()).0, -32601);
        assert_eq!(code(it.client.list_prompts(None).await.unwrap_err()).0, -32601);
        let get = GetPromptRequestParams::new("explain");
        assert_eq!(code(it.client.get_prompt(get).await.unwrap_err()).0, -32601);

        let it = connect_to(server(), (), version).await;
        let capabilities = it.client.peer_info().unwrap().capabilities.clone();
        let resources = capabilities.resources.unwrap();
        assert_eq!((resources.subscribe, resources.list_changed), (Some(true), Some(true)));
        assert_eq!(capabilities.prompts.unwrap().list_changed, Some(true));
        assert!(capabilities.completions.is_some());
    }
}

/// Records the changes that it receives.
struct Listener(mpsc::UnboundedSender<String>);

impl ClientHandler for Listener {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send("tools".to_owned()).ok();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send("prompts".to_owned()).ok();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send("resources".to_owned()).ok();
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.send(params.uri).ok();
    }
}

/// Makes one change of each kind, and awaits it at all clients. The last shows that there were no others.
async fn change(
    toolbox: &Toolbox,
    resources: &ResourceSet,
    prompts: &PromptSet,
    clients: &mut [mpsc::UnboundedReceiver<String>],
) {
    let mut expect = async |expected: &str| {
        for client in &mut *clients {
            assert_eq!(client.recv().await.unwrap(), expected);
        }
    };
    toolbox.remove("first");
    expect("tools").await;
    resources.remove("notes://dot");
    expect("resources").await;
    prompts.remove("broken");
    expect("prompts").await;
    resources.updated("notes://other");
    let _ = resources.clone().text("notes://today", "today", "Buy eggs.");
    expect("notes://today").await;
}

/// Does something.
#[tool(register = false)]
fn first() {}

fn changing() -> (McpServer, Toolbox, ResourceSet, PromptSet) {
    let tools = Registry::builder().tool::<first>().build().unwrap();
    let (toolbox, resources, prompts) = (Toolbox::from_registry(&tools), resources(), prompts());
    let server = McpServer::new(toolbox.clone()).resources(resources.clone()).prompts(prompts.clone());
    (server, toolbox, resources, prompts)
}

#[tokio::test]
async fn each_session_receives_each_change_once() {
    // O03, M20
    let (server, toolbox, resources, prompts) = changing();
    let served = serve(server.http().unwrap()).await;
    let mut clients = Vec::new();
    let mut received = Vec::new();
    for _ in 0..2 {
        let (sender, receiver) = mpsc::unbounded_channel();
        let it = served.connect(Listener(sender), ProtocolVersion::V_2025_11_25).await;
        it.client.subscribe(SubscribeRequestParams::new("notes://today")).await.unwrap();
        let long = format!("notes://{}", "x".repeat(4_096));
        let refused = it.client.subscribe(SubscribeRequestParams::new(long)).await.unwrap_err();
        assert!(refused.to_string().contains("4096 URIs of 4096 bytes"), "{refused}");
        clients.push(it);
        received.push(receiver);
    }
    change(&toolbox, &resources, &prompts, &mut received).await;
}

#[tokio::test]
async fn each_subscription_receives_each_change_once() {
    // O03, M20
    let (server, toolbox, resources, prompts) = changing();
    let served = serve(server.http().unwrap()).await;
    let mut clients = Vec::new();
    let mut received = Vec::new();
    for _ in 0..2 {
        let (sender, receiver) = mpsc::unbounded_channel();
        let it = served.connect((), ProtocolVersion::V_2026_07_28).await;
        let filter = SubscriptionFilter::builder()
            .tools_list_changed()
            .prompts_list_changed()
            .resources_list_changed()
            .resource_subscription("notes://today")
            .build();
        let mut subscription = it.client.peer().listen(filter.clone()).await.unwrap();
        assert_eq!(subscription.acknowledged(), &filter);
        clients.push(it);
        received.push(receiver);
        tokio::spawn(async move {
            while let Ok(Some(change)) = subscription.next().await {
                let change = match change {
                    ServerNotification::ToolListChangedNotification(_) => "tools".to_owned(),
                    ServerNotification::PromptListChangedNotification(_) => "prompts".to_owned(),
                    ServerNotification::ResourceListChangedNotification(_) => "resources".to_owned(),
                    ServerNotification::ResourceUpdatedNotification(it) => it.params.uri,
                    other => format!("{other:?}"),
                };
                sender.send(change).ok();
            }
        });
    }
    change(&toolbox, &resources, &prompts, &mut received).await;
}

/// Resources that note who watches them.
struct Watched(ResourceSet, mpsc::UnboundedSender<String>);

impl Resources for Watched {
    fn list<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Resource>, ToolError>> {
        self.0.list(run, page)
    }

    fn read<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<output::Resource>, ToolError>> {
        self.0.read(run, uri)
    }

    fn changes(&self) -> Option<&ChangeSignal> {
        self.0.changes()
    }

    fn subscribe(&self, _: &Arc<RunContext>, uri: &str) -> Result<(), ToolError> {
        if uri == "notes://none" {
            return Err(ToolError::not_found("there are no such notes"));
        }
        self.1.send(format!("+{uri}")).ok();
        Ok(())
    }

    fn unsubscribe(&self, uri: &str) {
        self.1.send(format!("-{uri}")).ok();
        panic!("contained");
    }
}

#[tokio::test]
async fn subscriptions_end_with_their_client() {
    for version in BOTH {
        let (sender, mut noted) = mpsc::unbounded_channel();
        let server = McpServer::new(Registry::default()).resources(Watched(resources(), sender));
        let it = connect_to(server, (), version.clone()).await;
        let mut all = Vec::new();
        let subscription = if version.has_initialize() {
            for uri in ["notes://today", "notes://dot"] {
                it.client.subscribe(SubscribeRequestParams::new(uri)).await.unwrap();
            }
            let refused = it.client.subscribe(SubscribeRequestParams::new("notes://none")).await.unwrap_err();
            assert_eq!(code(refused).0, -32002);
            it.client.unsubscribe(UnsubscribeRequestParams::new("notes://dot")).await.unwrap();
            while let Ok(note) = noted.try_recv() {
                all.push(note);
            }
            // Ended by its request, not by the end of the client.
            assert_eq!(all, ["+notes://today", "+notes://dot", "-notes://dot"]);
            None
        } else {
            let both = ["notes://today", "notes://dot"];
            let filter = SubscriptionFilter::builder().resource_subscriptions(both).build();
            Some(it.client.peer().listen(filter).await.unwrap())
        };
        drop(subscription);
        drop(it);
        while all.len() < 4 {
            all.extend(noted.recv().await);
        }
        all.sort();
        assert_eq!(all, ["+notes://dot", "+notes://today", "-notes://dot", "-notes://today"]);
    }
}
