//! A server in front of another one.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        ListRootsResult, ProgressNotificationParam, Root,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::json;
use tool_mcp::server::{Answer, Caller, McpServer};
use tool_runtime::{Toolbox, context::Progress, prelude::*};

use super::{BOTH, before, server};
use crate::server::{config, connect, text};

/// Greets.
#[tool(register = false)]
async fn greet(caller: Option<&Caller>, cx: &ToolContext) -> Result<String, ToolError> {
    cx.progress(Progress::new(1.0).of(2.0))?;
    let Some(elicitation) = caller.and_then(Caller::elicitation) else { return Ok("Hello".to_owned()) };
    let schema = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    let first = elicitation.form("first", "Your first name?", schema("first")).await?;
    let last = elicitation.form("last", "Your last name?", schema("last")).await?;
    let (Answer::Accepted(first), Answer::Accepted(last)) = (first, last) else {
        return Ok("declined".to_owned());
    };
    Ok(format!("Hello, {} {}", first["first"].as_str().unwrap_or("?"), last["last"].as_str().unwrap_or("?")))
}

/// Returns the folders of the client.
#[tool(register = false)]
async fn folders(caller: Option<&Caller>) -> Result<String, ToolError> {
    let Some(roots) = caller.and_then(Caller::roots) else { return Ok("none".to_owned()) };
    let all = roots.list("roots").await?;
    Ok(all.iter().map(|root| root.uri.as_str()).collect::<Vec<_>>().join(" "))
}

/// Waits for its cancellation.
#[tool(register = false)]
async fn wait(cx: &ToolContext, cancelled: &tokio::sync::Notify, started: &Started) {
    started.0.notify_one();
    cx.cancellation().cancelled().await;
    cancelled.notify_one();
}

#[derive(Default)]
struct Started(tokio::sync::Notify);

/// A user of the outer server.
#[derive(Default)]
struct User(Arc<AtomicUsize>);

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        config(ClientCapabilities::builder().enable_elicitation().build())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else { panic!() };
        let content = match message.contains("first") {
            true => json!({ "first": "Ada" }),
            false => json!({ "last": "Byron" }),
        };
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn questions_and_progress_pass_through_in_all_pairs_of_revisions() {
    for inner in BOTH {
        for outer in BOTH {
            let tools = Registry::builder().tool::<greet>().build().unwrap();
            let set =
                before(server(tools)).protocol(inner.clone()).forward_questions().connect().await.unwrap();
            let toolbox = Toolbox::new();
            toolbox.add_toolset(set).unwrap();
            let progress = Arc::default();
            let it = connect(toolbox.clone(), User(Arc::clone(&progress)), outer.clone()).await;
            assert_eq!(it.client.list_all_tools().await.unwrap()[0].name, "greet");
            assert_eq!(text(&it.call("greet", json!({})).await), "Hello, Ada Byron", "{inner:?} {outer:?}");
            assert!(progress.load(Ordering::Relaxed) > 0);
            // A client without a user.
            let it = connect(toolbox, (), outer.clone()).await;
            assert_eq!(text(&it.call("greet", json!({})).await), "declined");
        }
    }
}

/// A client with a folder.
struct Workspace;

impl ClientHandler for Workspace {
    fn get_info(&self) -> ClientConfig {
        config(ClientCapabilities::builder().enable_roots().build())
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///a"), Root::new("file:///b")]))
    }
}

#[tokio::test]
async fn the_folders_of_the_client_are_those_of_the_server_behind() {
    for inner in BOTH {
        for outer in BOTH {
            let tools = Registry::builder().tool::<folders>().build().unwrap();
            let set =
                before(server(tools)).protocol(inner.clone()).forward_questions().connect().await.unwrap();
            let toolbox = Toolbox::new();
            toolbox.add_toolset(set).unwrap();
            let it = connect(toolbox.clone(), Workspace, outer.clone()).await;
            assert_eq!(
                text(&it.call("folders", json!({})).await),
                "file:///a file:///b",
                "{inner:?} {outer:?}"
            );
            // A client without folders.
            let it = connect(toolbox, (), outer.clone()).await;
            assert_eq!(it.call("folders", json!({})).await.is_error, Some(true));
        }
    }
}

#[tokio::test]
async fn cancellations_and_changes_pass_through() {
    for version in BOTH {
        let (cancelled, started) = (Arc::new(tokio::sync::Notify::new()), Arc::new(Started::default()));
        let tools = Registry::builder()
            .tool::<wait>()
            .tool::<greet>()
            .provide_shared(Arc::clone(&cancelled))
            .provide_shared(Arc::clone(&started))
            .build()
            .unwrap();
        let inner = Toolbox::from_registry(&tools);
        let set = before(McpServer::new(inner.clone())).protocol(version.clone()).connect().await.unwrap();
        let toolbox = Toolbox::new();
        toolbox.add_toolset(set).unwrap();
        let mut changes = toolbox.changes();
        let it = connect(toolbox.clone(), (), version).await;
        assert_eq!(it.client.list_all_tools().await.unwrap().len(), 2);
        tokio::select! {
            _ = it.call("wait", json!({})) => panic!("the call ended"),
            () = started.0.notified() => {}
        }
        cancelled.notified().await;
        inner.remove("greet");
        assert!(changes.changed().await);
        while it.client.list_all_tools().await.unwrap().len() == 2 {
            tokio::task::yield_now().await;
        }
    }
}
