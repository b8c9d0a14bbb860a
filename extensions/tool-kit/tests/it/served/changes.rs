//! Changes of a catalogue, as they reach its clients.

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ResourceUpdatedNotificationParam, ServerNotification, SubscribeRequestParams, SubscriptionFilter,
    },
    service::NotificationContext,
};
use tokio::{sync::mpsc, task::JoinSet};
use tool_kit::{mcp::serve_catalogue, resource::ReadableResource as _, resource::StoredResource};
use tool_runtime::prelude::*;

use super::{BOTH, Service, World, catalogue, connect, connect_http, note, prompt, serve_http};

/// Does nothing.
#[tool(register = false)]
fn added() {}

/// Notes the changes that it receives.
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

/// Subscribes a client of revision 2026-07-28 to all changes, and to those of `notes://today`.
async fn listen(world: &World<()>, tasks: &mut JoinSet<()>) -> mpsc::UnboundedReceiver<String> {
    let filter = SubscriptionFilter::builder()
        .tools_list_changed()
        .prompts_list_changed()
        .resources_list_changed()
        .resource_subscription("notes://today")
        .build();
    let mut subscription = world.client.peer().listen(filter).await.unwrap();
    let (sender, receiver) = mpsc::unbounded_channel();
    tasks.spawn(async move {
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
    receiver
}

#[tokio::test]
async fn two_clients_of_both_revisions_receive_each_change_once() {
    let catalogue = catalogue();
    let mut tasks = JoinSet::new();
    let url = serve_http(serve_catalogue(&catalogue), &mut tasks).await;
    let (sender, first) = mpsc::unbounded_channel();
    let old = connect_http(&url, Listener(sender), BOTH[0].clone()).await;
    old.client.subscribe(SubscribeRequestParams::new("notes://today")).await.unwrap();
    let new = connect_http(&url, (), BOTH[1].clone()).await;
    let second = listen(&new, &mut tasks).await;
    let mut clients = [first, second];
    let mut expect = async |expected: &[&str]| {
        for client in &mut clients {
            let mut received = Vec::new();
            for _ in expected {
                received.push(client.recv().await.unwrap());
            }
            received.sort();
            assert_eq!(received, expected); // O03
        }
    };

    let tools = Registry::builder().tool::<added>().build().unwrap();
    catalogue.tools().add_all(super::tools_of(&tools)).unwrap();
    expect(&["tools"]).await; // O03
    assert_eq!(old.tool_names().await, ["a", "added", "srv__b"]);
    assert_eq!(new.tool_names().await, ["a", "added", "srv__b"]);
    catalogue.add_prompts([prompt("one", "1"), prompt("two", "2")]).unwrap();
    expect(&["prompts"]).await; // O03
    catalogue.add_resource(StoredResource::must_text("other", "text"));
    expect(&["resources"]).await; // O03
    // Under another spelling of its URI.
    catalogue.add_resource(StoredResource::must_text("note", "new").with_uri("NOTES://today").unwrap());
    expect(&["notes://today"]).await; // O03
    catalogue.add_resources([note("notes://unheard", "1")]).unwrap();
    expect(&["resources"]).await; // O03
    catalogue.add_resources([note("notes://unheard", "2")]).unwrap();
    catalogue.connect(Service("later")).unwrap();
    expect(&["prompts", "resources", "tools"]).await; // O03
    catalogue.disconnect("later").unwrap();
    expect(&["prompts", "resources", "tools"]).await; // O03
    // The last change shows that there were no others.
    catalogue.remove("one").unwrap();
    expect(&["prompts"]).await; // O03
    drop(tasks);
}

#[tokio::test]
async fn a_client_subscribes_to_the_spelling_that_is_listed() {
    let world = connect(serve_catalogue(catalogue()), (), BOTH[0].clone()).await;
    for (uri, problem) in [
        ("NOTES://today", "the list would spell it `notes://today`; subscribe to that"),
        ("relative", "no absolute URI"),
    ] {
        let refused = world.client.subscribe(SubscribeRequestParams::new(uri)).await.unwrap_err();
        assert!(refused.to_string().contains(problem), "{refused}");
    }
}
