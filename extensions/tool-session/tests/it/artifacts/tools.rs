//! Tools on artifacts.

use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::{ObjectStore, ObjectStoreExt, memory::InMemory};
use tool_runtime::{
    CallOutcome, RunContext,
    call::merged_actions,
    executor::Executor,
    prelude::*,
    request::{AddedMessage, ModelRequest, RequestHook},
    serde_json::{Value, json},
};
use tool_session::{
    InMemoryStore, SessionArtifacts, SharedArtifacts,
    tools::{PreloadArtifacts, list_artifacts, load_artifacts, save_artifact},
};

fn run() -> RunContext {
    RunContext::new().with_app("shop").with_user("u-7")
}

fn shared() -> SharedArtifacts {
    SharedArtifacts::new(InMemoryStore::new(), InMemory::new()).with_max_load_bytes(100)
}

fn registry() -> Registry {
    let tools = Registry::builder().tool::<save_artifact>().tool::<list_artifacts>().tool::<load_artifacts>();
    tools.provide_per_run::<SessionArtifacts>().build().unwrap()
}

/// Runs calls one after another.
async fn call_all(artifacts: &SessionArtifacts, calls: &[(&str, Value)]) -> Vec<CallOutcome> {
    let (executor, mut outcomes) = (Executor::new(registry()), Vec::new());
    for (tool, arguments) in calls {
        let calls = vec![ToolCall::new(*tool, arguments.to_string())];
        let run = run().provide(artifacts.clone());
        outcomes.extend(executor.batch(calls).with_run(run).run().await);
    }
    outcomes
}

async fn call(artifacts: &SessionArtifacts, tool: &str, arguments: Value) -> (bool, String) {
    let outcomes = call_all(artifacts, &[(tool, arguments)]).await;
    let result = outcomes[0].result().unwrap();
    let content = result.content();
    let texts = content.iter().map(|block| block.as_text().unwrap_or("(no text)"));
    (result.is_error(), texts.collect::<Vec<_>>().join("\n"))
}

#[tokio::test]
async fn a_saved_artifact_is_listed_and_its_versions_are_in_the_actions() {
    let artifacts = shared().for_run(&run()).unwrap();
    let save = |text: &str| {
        ("save_artifact", json!({ "name": "user:a.md", "text": text, "media_type": "text/markdown" }))
    };
    let outcomes = call_all(&artifacts, &[save("first"), save("the second")]).await;
    let actions: Vec<_> = outcomes.iter().map(|it| merged_actions([it]).artifacts).collect();
    assert_eq!(json!(actions), json!([{ "user:a.md": 1 }, { "user:a.md": 2 }])); // V07
    assert_eq!(json!(merged_actions(&outcomes).artifacts), json!({ "user:a.md": 2 }));
    let expected =
        r#"{"artifacts":[{"name":"user:a.md","version":2,"media_type":"text/markdown","bytes":10}]}"#;
    assert_eq!(call(&artifacts, "list_artifacts", json!({})).await, (false, expected.to_owned()));

    let refused = call_all(&artifacts, &[("save_artifact", json!({ "name": "a", "text": "x" }))]).await;
    assert!(merged_actions(&refused).artifacts.is_empty());
    assert!(refused[0].result().unwrap().text().contains("use a name that begins with `user:`"));
}

#[tokio::test]
async fn loaded_contents_are_in_the_result_which_the_next_request_has() {
    let artifacts = shared().for_run(&run()).unwrap();
    artifacts.save("user:a", "text/plain", "the content").await.unwrap();
    artifacts.save("user:b", "image/png", vec![1, 2, 255]).await.unwrap();
    artifacts.save("user:c", "application/pdf", vec![3, 255]).await.unwrap();
    let names = json!({ "names": ["user:a", "user:b", "user:c", "user:a"] });
    let outcomes = call_all(&artifacts, &[("load_artifacts", names)]).await;
    let content = outcomes[0].result().unwrap().content();
    let content = json!(content.iter().collect::<Vec<_>>());
    let expected = json!([
        { "type": "text", "text": "Artifact \"user:a\", version 1, \"text/plain\":" },
        { "type": "text", "text": "the content" },
        { "type": "text", "text": "Artifact \"user:b\", version 1, \"image/png\":" },
        { "type": "image", "data": "AQL/", "mimeType": "image/png" },
        { "type": "text", "text": "Artifact \"user:c\", version 1, \"application/pdf\":" },
        { "type": "resource", "resource": { "uri": "user:c", "mimeType": "application/pdf", "blob": "A/8=" } },
    ]);
    assert_eq!(content, expected); // R24
}

#[tokio::test]
async fn a_load_beyond_the_limit_names_what_it_leaves_out() {
    let artifacts = shared().for_run(&run()).unwrap();
    for (name, bytes) in [("user:a", 60), ("user:b", 41), ("user:c", 40)] {
        artifacts.save(name, "text/plain", "x".repeat(bytes)).await.unwrap();
    }
    let names = json!({ "names": ["user:a", "user:b", "user:c", "user:\"gone\""] });
    let (is_error, text) = call(&artifacts, "load_artifacts", names).await;
    assert!(!is_error && text.contains(&"x".repeat(60)), "{text}");
    let omissions = "There are no artifacts of these names: [\"user:\\\"gone\\\"\"]. Left out, since at most 100 bytes are loaded at \
                     once: \"user:b\" (41 bytes). Load fewer artifacts at once.";
    assert_eq!(text.lines().last(), Some(omissions)); // R24
    let (is_error, text) = call(&artifacts, "load_artifacts", json!({ "names": ["user:d"] })).await;
    assert!(is_error && text.contains("There are no artifacts of these names: [\"user:d\"]."), "{text}");
}

// R24: a content that is lost costs itself.
#[tokio::test]
async fn an_artifact_whose_content_is_lost_is_named_and_the_others_are_loaded() {
    let bodies = Arc::new(InMemory::new());
    let shared = SharedArtifacts::new(InMemoryStore::new(), Arc::clone(&bodies));
    let artifacts = shared.for_run(&run()).unwrap();
    let lost = artifacts.save("user:a", "text/plain", "lost").await.unwrap();
    artifacts.save("user:b", "text/plain", "kept").await.unwrap();
    let mut objects = bodies.list(None);
    while let Some(object) = objects.try_next().await.unwrap() {
        if object.location.to_string().contains(&*lost.hash) {
            bodies.delete(&object.location).await.unwrap();
        }
    }
    let (is_error, text) = call(&artifacts, "load_artifacts", json!({ "names": ["user:a", "user:b"] })).await;
    assert!(!is_error && text.contains("kept"), "{text}");
    let omissions =
        "Left out, since their contents are missing or were changed: [\"user:a\"]. Save them again.";
    assert_eq!(text.lines().last(), Some(omissions));
    let (is_error, text) = call(&artifacts, "load_artifacts", json!({ "names": ["user:a"] })).await;
    assert!(is_error && text.contains(omissions), "{text}");
}

#[tokio::test]
async fn a_run_without_artifacts_is_a_clear_error() {
    let calls = vec![ToolCall::new("list_artifacts", "{}")];
    let outcomes = Executor::new(registry()).batch(calls).with_run(run()).run().await;
    let result = outcomes[0].result().unwrap();
    assert!(
        result.is_error() && result.text().contains("SessionArtifacts` was provided"),
        "{}",
        result.text()
    );
}

#[tokio::test]
async fn a_request_with_load_artifacts_names_them() {
    let artifacts = shared().for_run(&run()).unwrap();
    let instructions = async |run: RunContext| {
        let request = ModelRequest::new("neutral", json!({}), Arc::new(run));
        registry()
            .get("load_artifacts")
            .unwrap()
            .on_request(request.of_tool("load_artifacts"))
            .await
            .unwrap();
        request.finish().1.instructions
    };
    assert!(instructions(run()).await.is_empty());
    assert!(instructions(run().provide(artifacts.clone())).await.is_empty());
    for number in 0..60 {
        artifacts.save(&format!("user:\"{number:02}"), "text/plain", "x").await.unwrap();
    }
    let instructions = instructions(run().provide(artifacts.clone())).await;
    assert_eq!(instructions.len(), 1); // R24
    assert!(instructions[0].contains(r#"["user:\"00","user:\"01","#), "{instructions:?}");
    assert!(
        instructions[0].contains("10 more are not listed here. Call `load_artifacts`"),
        "{instructions:?}"
    );
}

#[tokio::test]
async fn preloaded_texts_are_in_each_request() {
    let shared = shared();
    let artifacts = shared.for_run(&run()).unwrap();
    artifacts.save("user:a", "text/plain; charset=utf-8", "the \"content\"").await.unwrap();
    artifacts.save("user:b", "image/png", vec![1]).await.unwrap();
    artifacts.save("user:c", "application/json", vec![255]).await.unwrap();
    artifacts.save("user:d", "text/csv", "x".repeat(101)).await.unwrap();
    let names = ["of the session", "user:a", "user:missing", "user:b", "user:c", "user:d"];
    let request = ModelRequest::new("neutral", json!({}), Arc::new(run()));
    PreloadArtifacts::new(shared, names).on_request(request.clone()).await.unwrap();
    let added = request.finish().1.messages;
    let expected = [
        "Artifact \"user:a\", version 1, \"text/plain; charset=utf-8\": (as JSON) \"the \\\"content\\\"\"",
        "Left out, since they are no texts: [\"user:b\",\"user:c\"]. Left out, since at most 100 bytes are loaded at once: \
         \"user:d\" (101 bytes). Load fewer artifacts at once.",
    ];
    assert_eq!(added, expected.map(|text| AddedMessage::Text(text.to_owned()))); // R24
}
