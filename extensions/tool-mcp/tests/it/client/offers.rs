//! Prompts, resources and completions of a server; many calls; the trace of a call.

use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, ElicitResult, ElicitationAction, Prompt, PromptArgument,
    PromptMessage, Reference, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::{Map, Value, json};
use tool_mcp::{
    client::{ClientErrorKind, ServerChange},
    server::{Answer, Caller, McpServer, PromptSet, ResourceSet},
};
use tool_runtime::{output::ResourceBody, prelude::*};

use super::{BOTH, before, call, server};

fn offering() -> (McpServer, ResourceSet) {
    let resources = ResourceSet::new()
        .text("notes://today", "today", "Buy milk.")
        .dynamic(Resource::new("notes://live", "live"), |_| async {
            Ok(ResourceBody::Text("now".to_owned()))
        })
        .template(ResourceTemplate::new("notes://{day}/all", "day"), |_, variables| async move {
            Ok(ResourceBody::Text(format!("nothing on {}", variables["day"])))
        })
        .unwrap();
    let topic = PromptArgument::new("topic").with_required(true);
    let prompts = PromptSet::new()
        .text(Prompt::new("explain", Some("Explains."), Some(vec![topic])), |arguments| {
            format!("Explain {}.", arguments["topic"])
        })
        .complete(|_, completing| vec![format!("{}s", completing.value)])
        .dynamic(Prompt::new("greet", Some("Greets."), None), |run, _| async move {
            let caller = run.provided().get::<Caller>().and_then(Caller::elicitation);
            let elicitation = caller.ok_or_else(|| ToolError::failed("no user"))?;
            let schema = json!({ "type": "object", "properties": { "first": { "type": "string" } } });
            let Answer::Accepted(form) = elicitation.form("first", "Your first name?", schema).await? else {
                return Err(ToolError::failed("no name"));
            };
            Ok(vec![PromptMessage::new_text(Role::User, format!("Greet {}.", form["first"]))])
        });
    let server =
        McpServer::new(Registry::default()).page_size(1).resources(resources.clone()).prompts(prompts);
    (server, resources)
}

#[tokio::test]
async fn prompts_resources_and_completions_of_a_server_are_reachable() {
    for version in BOTH {
        let set = before(offering().0)
            .protocol(version)
            .on_elicitation(|_| async {
                Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "first": "Ada" })))
            })
            .connect()
            .await
            .unwrap();
        let names: Vec<_> = set.list_prompts().await.unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["explain", "greet"]);
        let arguments = Map::from_iter([("topic".to_owned(), Value::from("traits"))]);
        let prompt = set.get_prompt("explain", arguments).await.unwrap();
        assert_eq!(prompt.messages, [PromptMessage::new_text(Role::User, "Explain traits.")]);
        let asked = set.get_prompt("greet", Map::new()).await.unwrap();
        assert_eq!(asked.messages, [PromptMessage::new_text(Role::User, "Greet \"Ada\".")]);
        let error = set.get_prompt("none", Map::new()).await.unwrap_err();
        assert_eq!((error.kind(), error.refusal().unwrap().code.0), (ClientErrorKind::Refused, -32602));

        assert_eq!(set.list_resources().await.unwrap().len(), 2);
        assert_eq!(set.list_resource_templates().await.unwrap()[0].name, "day");
        let read = set.read_resource("notes://today").await.unwrap();
        assert_eq!(read.contents, [ResourceContents::text("Buy milk.", "notes://today")]);
        let params =
            CompleteRequestParams::new(Reference::for_prompt("explain"), ArgumentInfo::new("topic", "trait"));
        assert_eq!(set.complete(params).await.unwrap().completion.values, ["traits"]);
    }
}

#[tokio::test]
async fn changes_of_a_resource_are_announced_to_those_who_subscribe() {
    for version in BOTH {
        let (server, resources) = offering();
        let (heard, mut changes) = tokio::sync::mpsc::unbounded_channel();
        let set = before(server)
            .protocol(version)
            .on_change(move |change| drop(heard.send(change)))
            .connect()
            .await
            .unwrap();
        set.subscribe("notes://live").await.unwrap();
        resources.updated("notes://today");
        resources.updated("notes://live");
        // M20
        let expected = ServerChange::Resource { uri: "notes://live".to_owned() };
        assert_eq!(changes.recv().await, Some(expected));
        set.unsubscribe("notes://live").await.unwrap();
    }
}

/// Adds two numbers.
#[tool(register = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Returns its text.
#[tool(register = false)]
fn echo(text: String) -> String {
    text
}

#[tokio::test]
async fn a_thousand_calls_at_once_and_large_texts_are_answered() {
    for version in BOTH {
        let tools = Registry::builder().tool::<add>().tool::<echo>().build().unwrap();
        let set = before(server(tools)).protocol(version).connect().await.unwrap();
        let mut calls = tokio::task::JoinSet::new();
        for a in 0..1_000 {
            let set = set.clone();
            let arguments = json!({ "a": a, "b": 1 }).as_object().unwrap().clone();
            calls.spawn(async move { (a, set.call_raw("add", arguments).await.unwrap()) });
        }
        // M06
        while let Some(done) = calls.join_next().await {
            let (a, result) = done.unwrap();
            assert_eq!(result.content[0].as_text().unwrap().text, (a + 1).to_string());
        }
        let text = "ä".repeat(335_000);
        assert_eq!(call(set, "echo", json!({ "text": text })).await.text(), text);
    }
}

/// Returns the trace of its call, as the client sent it.
#[cfg(feature = "opentelemetry")]
#[tool(register = false)]
fn trace(cx: &ToolContext) -> Value {
    cx.meta().and_then(|meta| meta.get("traceparent")).cloned().unwrap_or_default()
}

#[cfg(feature = "opentelemetry")]
#[test]
fn the_trace_of_a_call_is_sent_with_it() {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
    use tracing_subscriber::layer::SubscriberExt as _;

    test_support::collectors::each_thread_for_itself();
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let layer = tracing_subscriber::Layer::with_filter(
        layer,
        tracing_subscriber::filter::filter_fn(|it| it.target().starts_with("tool")),
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        runtime.block_on(async {
            let tools = Registry::builder().tool::<trace>().build().unwrap();
            let set = before(server(tools)).connect().await.unwrap();
            call(set, "trace", json!({})).await.text().into_owned()
        })
    });
    // W05
    let spans = exporter.get_finished_spans().unwrap();
    let ids: Vec<_> = spans.iter().map(|span| span.span_context.trace_id().to_string()).collect();
    assert!(ids.iter().any(|id| text.contains(id.as_str())), "{text} {ids:?}");
}
