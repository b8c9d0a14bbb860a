//! Delegates that change the catalogue, fail, panic and block.

use std::sync::{Arc, Mutex};

use tool_kit::{
    catalogue::{Catalogue, Delegate, PromptCall, json_input},
    prompt::PromptFile,
};
use tool_runtime::{
    BoxFuture, CancellationToken, ErrorKind, RunContext,
    output::{Resource, ResourceBody},
    prelude::*,
};

use super::{Fixed, prompt};

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

/// Renders prompts, and does something to the catalogue before.
#[derive(Clone, Default)]
struct Rendering {
    catalogue: Arc<Mutex<Option<Catalogue>>>,
    panics: bool,
}

impl Delegate for Rendering {
    fn call<'a>(&'a self, call: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            assert!(!self.panics, "a mistake");
            let catalogue = self.catalogue.lock().unwrap().clone().unwrap();
            if catalogue.disconnect("library").is_ok() {
                catalogue.add_prompts([prompt("added")])?;
            }
            let input = match &call.resources[0].body {
                ResourceBody::Text(text) => serde_json::from_str(text).unwrap_or_default(),
                ResourceBody::Blob(_) => Value::Null,
            };
            let text = call.prompt.render(call.run, &input).await?.text();
            Ok(ToolOutput::from(format!("{text} {}", call.resources.len())))
        })
    }
}

#[tokio::test]
async fn a_prompt_is_run_by_the_delegate_which_may_change_the_catalogue() {
    let delegate = Rendering::default();
    let catalogue = Catalogue::new().with_delegate(delegate.clone());
    *delegate.catalogue.lock().unwrap() = Some(catalogue.clone());
    catalogue.connect(Fixed::named("library")).unwrap();
    let explain = PromptFile::parse("---\nname: explain\n---\nExplain {{ .topic }}.").unwrap();
    catalogue.add_prompt(explain).unwrap();
    let resources = || vec![json_input(&json!({ "topic": "tides" })), document("a:1", "text/plain", "x")];
    let rendered = catalogue.call(&run(), "explain", resources()).await.unwrap().unwrap();
    assert_eq!(rendered.body, ResourceBody::Text("Explain tides. 2".to_owned())); // U27 U26
    let gone = catalogue.call(&run(), "library.search", Vec::new()).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound); // U08
    assert!(catalogue.call(&run(), "added", resources()).await.is_ok()); // U08
    *delegate.catalogue.lock().unwrap() = None;

    let catalogue = Catalogue::new().with_delegate(Rendering { panics: true, ..Rendering::default() });
    catalogue.add_prompts([prompt("greet")]).unwrap();
    let error = catalogue.call(&run(), "greet", Vec::new()).await.unwrap_err().to_string();
    assert!(error.contains("the delegate panicked: a mistake"), "{error}");
}

/// Removes the connector whose prompt it runs.
struct Removing;

impl Delegate for Removing {
    fn call<'a>(&'a self, call: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            call.catalogue.disconnect("library")?;
            Ok(call.prompt.render(call.run, &json!({})).await?.text().into())
        })
    }
}

async fn the_connector_of_a_prompt_may_be_removed_while_it_runs() {
    let catalogue = Catalogue::new().with_delegate(Removing);
    catalogue.connect(Fixed::named("library")).unwrap();
    let called = catalogue.call(&run(), "library.greet", Vec::new()).await.unwrap().unwrap();
    assert_eq!(called, document("text:greet", "text/plain", "greet")); // U08
    let again = catalogue.call(&run(), "library.greet", Vec::new()).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::NotFound); // U08
}

#[tokio::test]
async fn the_connector_of_a_prompt_may_be_removed_while_it_runs_on_one_thread() {
    the_connector_of_a_prompt_may_be_removed_while_it_runs().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connector_of_a_prompt_may_be_removed_while_it_runs_on_two_threads() {
    the_connector_of_a_prompt_may_be_removed_while_it_runs().await;
}

/// Waits forever, and tells when it begins and when it is dropped.
#[derive(Clone, Default)]
struct Blocking {
    has_begun: Arc<tokio::sync::Notify>,
    is_dropped: Arc<Mutex<bool>>,
}

struct SetOnDrop(Arc<Mutex<bool>>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = true;
    }
}

impl Delegate for Blocking {
    fn call<'a>(&'a self, _: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let _dropped = SetOnDrop(Arc::clone(&self.is_dropped));
            self.has_begun.notify_one();
            std::future::pending().await
        })
    }
}

async fn a_delegate_that_blocks_ends_with_the_token_of_the_caller() {
    let delegate = Blocking::default();
    let catalogue = Catalogue::new().with_delegate(delegate.clone());
    catalogue.add_prompts([prompt("greet")]).unwrap();
    let token = CancellationToken::new();
    let caller = Arc::new(RunContext::new().with_cancellation(token.clone()));
    let cancel = async {
        delegate.has_begun.notified().await;
        token.cancel();
    };
    let (called, ()) = futures_util::future::join(catalogue.call(&caller, "greet", Vec::new()), cancel).await;
    assert_eq!(called.unwrap_err().kind(), ErrorKind::Cancelled); // U28
    assert!(*delegate.is_dropped.lock().unwrap());
    // Others are called meanwhile, and afterwards.
    assert!(catalogue.add_prompts([prompt("other")]).is_ok());
}

#[tokio::test]
async fn a_delegate_that_blocks_ends_with_the_token_of_the_caller_on_one_thread() {
    a_delegate_that_blocks_ends_with_the_token_of_the_caller().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegate_that_blocks_ends_with_the_token_of_the_caller_on_two_threads() {
    a_delegate_that_blocks_ends_with_the_token_of_the_caller().await;
}

#[tokio::test]
async fn no_delegate_is_called_in_a_run_that_is_over() {
    let delegate = Blocking::default();
    let catalogue = Catalogue::new().with_delegate(delegate.clone());
    catalogue.add_prompts([prompt("greet")]).unwrap();
    let token = CancellationToken::new();
    token.cancel();
    let cancelled = Arc::new(RunContext::new().with_cancellation(token));
    let error = catalogue.call(&cancelled, "greet", Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let past = RunContext::new().with_deadline(std::time::Instant::now());
    assert!(catalogue.call(&Arc::new(past), "greet", Vec::new()).await.is_err());
    assert!(!*delegate.is_dropped.lock().unwrap(), "it was called");
}
