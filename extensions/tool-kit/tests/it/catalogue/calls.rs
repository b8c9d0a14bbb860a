//! Calls of tools and prompts by their keys.

use std::sync::Arc;

use tool_kit::catalogue::{Catalogue, json_input};
use tool_runtime::{
    ErrorKind, Executor, RunContext, Toolbox,
    output::{Resource, ResourceBody},
    policy::{Rule, Rules},
    prelude::*,
};

use super::{Fixed, prompt, resource, tool};

/// Returns the names of the documents of the call, and the text.
#[tool(register = false)]
fn read_all(text: String, cx: &ToolContext) -> String {
    let uris: Vec<_> = cx.resources().iter().map(|resource| &*resource.uri).collect();
    format!("{text} {}", uris.join(" "))
}

/// Returns numbers.
#[tool(register = false)]
fn numbers() -> Vec<u8> {
    vec![1, 2]
}

/// Returns nothing.
#[tool(register = false)]
fn nothing() {}

/// Removes everything.
#[tool(register = false, confirm)]
fn remove_all() {}

fn tools() -> Registry {
    Registry::builder()
        .tool::<read_all>()
        .tool::<numbers>()
        .tool::<nothing>()
        .tool::<remove_all>()
        .build()
        .unwrap()
}

fn document(uri: &str, mime_type: &str, text: &str) -> Resource {
    Resource {
        uri: uri.to_owned(),
        mime_type: mime_type.to_owned(),
        body: ResourceBody::Text(text.to_owned()),
    }
}

fn run() -> Arc<RunContext> {
    Arc::new(RunContext::new())
}

#[tokio::test]
async fn a_tool_is_called_with_its_input_and_reads_the_other_resources() {
    let catalogue = Catalogue::of_tools(Toolbox::from_registry(&tools()));
    let input = json_input(&json!({ "text": "hi" }));
    let others = ["a:1", "b:2"].map(|uri| document(uri, "text/plain", "x"));
    let resources = [input.clone()].into_iter().chain(others).collect();
    let read = catalogue.call(&run(), "builtin.read_all", resources).await.unwrap().unwrap();
    assert_eq!(read, document("text:read_all", "text/plain", "hi a:1 b:2")); // C16 U24 U26
    let alone = catalogue.call(&run(), "read_all", vec![input]).await.unwrap().unwrap();
    let direct = tools().call("read_all", r#"{"text":"hi"}"#).await.unwrap();
    assert_eq!(alone.body, ResourceBody::Text(direct.text().into_owned())); // U24
    let numbers = catalogue.call(&run(), "numbers", Vec::new()).await.unwrap().unwrap();
    assert_eq!(numbers, document("json:numbers", "application/json", "[1,2]")); // U02
    assert_eq!(catalogue.call(&run(), "nothing", Vec::new()).await.unwrap(), None); // U02
}

#[tokio::test]
async fn what_cannot_be_called_is_an_error_that_says_why() {
    let catalogue = Catalogue::of_tools(Toolbox::from_registry(&tools()));
    catalogue.add_resources([resource("notes://today")]).unwrap();
    catalogue.add_prompts([prompt("greet")]).unwrap();
    let json = |text: &str| document("json:input", "application/json; charset=utf-8", text);
    for (key, resources, kind, expected) in [
        ("nope", vec![], ErrorKind::NotFound, "there is no item `nope`"), // U24
        ("a b", vec![], ErrorKind::BadParameter, "is no key"),
        ("notes://today", vec![], ErrorKind::BadParameter, "is a resource; read it"), // U24
        ("greet", vec![], ErrorKind::BadParameter, "the catalogue has none; set one by `with_delegate`"), // U27
        ("read_all", vec![document("a:1", "text/plain", "{}")], ErrorKind::BadParameter, "is its input"), // U25
        ("read_all", vec![json("{")], ErrorKind::InvalidArguments, ""), // U25
        ("read_all", vec![json("{}")], ErrorKind::InvalidArguments, "text"), // U25
        ("remove_all", vec![], ErrorKind::ApprovalRequired, ""),
    ] {
        let error = catalogue.call(&run(), key, resources).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{key}: {error}");
        assert!(error.to_string().contains(expected), "{key}: {error}");
    }
}

#[tokio::test]
async fn rules_of_the_executor_hold_for_calls() {
    let executor = Executor::builder(tools()).rules(Rules::new([Rule::deny("library__*")])).build().unwrap();
    let catalogue = Catalogue::new().with_executor(executor);
    catalogue.connect(Fixed::named("library")).unwrap();
    catalogue.tools().add_all([tool("own")]).unwrap();
    let denied = catalogue.call(&run(), "library.search", Vec::new()).await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied);
    assert!(catalogue.call(&run(), "own", Vec::new()).await.is_ok());
}
