//! Tools that a server should have and does not.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use serde_json::json;
use tool_mcp::server::McpServer;
use tool_runtime::{
    BoxFuture, Executor, Tool, ToolSet, Toolbox,
    context::ReadonlyContext,
    policy::{Rule, Rules},
    prelude::*,
    toolbox::Visibility,
    toolset::NamedTools,
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

use super::{BOTH, connect_to, modern, serve};

/// Returns 5.
#[tool(register = false)]
fn five() -> i64 {
    5
}

/// Returns 6.
#[tool(register = false)]
fn six() -> i64 {
    6
}

/// A set whose server is down.
struct Down;

impl ToolSet for Down {
    fn name(&self) -> &str {
        "shop"
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(async { Err(ToolError::failed("the shop is closed")) })
    }
}

/// A toolbox of which a set is down, a tool has the name of another one, and the visibility of a third panics.
fn toolbox() -> Toolbox {
    let tools = Registry::builder().tool::<five>().tool::<six>().build().unwrap();
    let toolbox = Toolbox::from_registry(&tools);
    toolbox.strict_names(false);
    toolbox.add_toolset(Down).unwrap();
    let five = Arc::clone(tools.get("five").unwrap());
    toolbox.add_toolset(NamedTools::new("", [five])).unwrap();
    toolbox
        .show(Visibility::all().when(|_, tool| tool.name().as_str() != "six" || panic!("no list of guests")));
    toolbox
}

/// The messages of a log.
#[derive(Clone, Default)]
pub(super) struct Log(pub(super) Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        struct Message<'a>(&'a Log);

        impl Visit for Message<'_> {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                if field.name() == "message" {
                    self.0.0.lock().unwrap().push(format!("{value:?}"));
                }
            }
        }

        event.record(&mut Message(self));
    }
}

#[tokio::test]
async fn tools_that_a_server_lost_are_log_lines_and_diagnostics() {
    test_support::collectors::each_thread_for_itself();
    let lost = [("dropped", "`five`"), ("hidden", "no list of guests"), ("not_listed", "the shop is closed")];
    for version in BOTH {
        let (log, received) = (Log::default(), Arc::new(Mutex::new(Vec::new())));
        let collector = tracing_subscriber::registry().with(log.clone());
        let _collecting = tracing::subscriber::set_default(collector);
        let receiver = Arc::clone(&received);
        let server = McpServer::new(toolbox()).on_diagnostic(move |diagnostic| {
            receiver.lock().unwrap().push((diagnostic.code, diagnostic.message.clone()));
        });
        let it = connect_to(server, (), version).await;
        for _ in 0..2 {
            let listed = it.client.list_all_tools().await.unwrap();
            assert_eq!(listed.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(), ["five"]);
            it.call("five", json!({})).await;
        }
        let mut received = std::mem::take(&mut *received.lock().unwrap());
        received.sort();
        assert_eq!(received.iter().map(|it| it.0).collect::<Vec<_>>(), lost.map(|it| it.0), "{received:?}");
        let log = log.0.lock().unwrap().join("\n");
        for ((code, part), (_, message)) in lost.iter().zip(&received) {
            assert!(message.contains(part), "{code}: {message}");
            assert_eq!(log.matches(message.as_str()).count(), 1, "{message}\n{log}");
        }
    }
}

#[tokio::test]
async fn a_server_over_http_lists_its_diagnostics() {
    let server = McpServer::new(toolbox()).http().unwrap();
    assert!(server.diagnostics().is_empty());
    let served = serve(server).await;
    served.post(&modern("tools/list", json!({})), &BOTH[1]).send().await.unwrap();
    let codes: Vec<_> = served.server.diagnostics().iter().map(|it| it.code).collect();
    assert_eq!(codes, ["dropped", "hidden", "not_listed"]);

    let executor = Executor::builder(Registry::builder().tool::<five>().build().unwrap());
    let executor = executor.rules(Rules::new([Rule::deny("bash")])).build().unwrap();
    let diagnostics = McpServer::new(executor).http().unwrap().diagnostics();
    assert!(diagnostics[0].message.contains("bash"), "{diagnostics:?}");
}

#[tokio::test]
async fn a_listener_that_panics_costs_the_server_nothing() {
    let server = McpServer::new(toolbox()).on_diagnostic(|_| panic!("a listener that breaks"));
    let it = connect_to(server, (), BOTH[0].clone()).await;
    assert_eq!(it.client.list_all_tools().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_clash_that_leaves_no_tools_is_a_diagnostic() {
    let toolbox = toolbox();
    toolbox.strict_names(true);
    let served = serve(McpServer::new(toolbox).http().unwrap()).await;
    let answer = served.post(&modern("tools/list", json!({})), &BOTH[1]).send().await.unwrap();
    assert!(answer.text().await.unwrap().contains("cannot be listed"));
    let diagnostics = served.server.diagnostics();
    assert!(
        diagnostics.iter().any(|it| it.code == "same_name" && it.message.contains("five")),
        "{diagnostics:?}"
    );
}
