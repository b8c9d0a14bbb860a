//! Clients that are behind with the changes of an offer: everything may have changed.

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        Prompt, ProtocolVersion, ResourceUpdatedNotificationParam, ServerNotification,
        SubscribeRequestParams, SubscriptionFilter,
    },
    service::NotificationContext,
};
use tokio::sync::mpsc;
use tool_mcp::server::{McpServer, PromptSet, ResourceSet};
use tool_runtime::prelude::*;

use super::connect_to;

/// The number of changes that a client may be behind of.
const MAX_BEHIND: usize = 1_024;

/// Records the changes that it receives.
struct Listener(mpsc::UnboundedSender<String>);

impl ClientHandler for Listener {
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

fn offers() -> (McpServer, ResourceSet, PromptSet) {
    let resources = ResourceSet::new().text("notes://today", "today", "Buy milk.");
    let prompts = PromptSet::new().text(Prompt::new("greet", Some("Greets."), None), |_| "Hello.".to_owned());
    let server = McpServer::new(Registry::default()).resources(resources.clone()).prompts(prompts.clone());
    (server, resources, prompts)
}

/// Announces so many updates of another resource that one of them is lost, and compares what the client receives. The end of a prompt
/// shows that there is no more.
async fn assert_received(
    resources: &ResourceSet,
    prompts: &PromptSet,
    changes: &mut mpsc::UnboundedReceiver<String>,
    expected: &[&str],
) {
    for _ in 0..=MAX_BEHIND {
        resources.updated("notes://other");
    }
    for change in expected {
        assert_eq!(changes.recv().await.as_deref(), Some(*change));
    }
    prompts.remove("greet");
    assert_eq!(changes.recv().await.as_deref(), Some("prompts"));
}

#[tokio::test]
async fn a_session_that_is_behind_learns_that_each_of_its_resources_may_have_changed() {
    let (server, resources, prompts) = offers();
    let (sender, mut changes) = mpsc::unbounded_channel();
    let it = connect_to(server, Listener(sender), ProtocolVersion::V_2025_11_25).await;
    it.client.subscribe(SubscribeRequestParams::new("notes://today")).await.unwrap();
    assert_received(&resources, &prompts, &mut changes, &["notes://today", "resources"]).await;
}

#[tokio::test]
async fn a_subscription_that_is_behind_receives_what_it_asked_for() {
    for (wants_list, expected) in [(true, &["notes://today", "resources"][..]), (false, &["notes://today"])] {
        let (server, resources, prompts) = offers();
        let it = connect_to(server, (), ProtocolVersion::V_2026_07_28).await;
        let filter =
            SubscriptionFilter::builder().prompts_list_changed().resource_subscription("notes://today");
        let filter = if wants_list { filter.resources_list_changed() } else { filter };
        let mut subscription = it.client.peer().listen(filter.build()).await.unwrap();
        let (sender, mut changes) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok(Some(change)) = subscription.next().await {
                let change = match change {
                    ServerNotification::PromptListChangedNotification(_) => "prompts".to_owned(),
                    ServerNotification::ResourceListChangedNotification(_) => "resources".to_owned(),
                    ServerNotification::ResourceUpdatedNotification(it) => it.params.uri,
                    other => format!("{other:?}"),
                };
                sender.send(change).ok();
            }
        });
        assert_received(&resources, &prompts, &mut changes, expected).await;
    }
}
