//! Additions of one tool to a request, for another process, and messages in the format of a provider.

use serde_json::json;
use tool_runtime::{
    Registry, RunContext, ToolBuilder, ToolError,
    builder::ClosureTool,
    dialect::Dialect,
    prelude::*,
    request::{ModelRequest, request_fn},
};

use crate::run;

#[tool_args]
struct Nothing {}

fn silent(name: &'static str) -> ClosureTool {
    ToolBuilder::new(name)
        .description("Answers.")
        .expect_handler(|_: Nothing, _| async { Ok::<_, ToolError>("pong") })
}

#[test]
fn additions_of_one_tool_are_those_of_no_other_one() {
    let saying = |name: &'static str, text: &'static str| {
        silent(name).with_on_request(move |request| async move {
            request.instruct(text);
            Ok(())
        })
    };
    let failing = silent("fails").with_on_request(|_| async { Err(ToolError::failed("no index")) });
    let crashing = silent("crashes").with_on_request(|_| async { panic!("boom") });
    let tools = [saying("ping", "Ping."), saying("pong", "Pong."), failing, crashing, silent("silent")];
    let tools =
        tools.into_iter().fold(Registry::builder(), |builder, tool| builder.add(tool)).build().unwrap();
    let additions = |name: &str| {
        let request = ModelRequest::new("my-model", json!({}), RunContext::new().into());
        run(tools.additions_of(name, request)).map(|additions| additions.instructions)
    };
    assert_eq!(additions("ping").unwrap(), ["Ping."]);
    assert_eq!(additions("pong").unwrap(), ["Pong."]);
    assert_eq!(additions("silent").unwrap(), [""; 0]);
    assert_eq!(additions("fails").unwrap_err().reason(), "no index");
    assert_eq!(additions("crashes").unwrap_err().reason(), "it panicked: boom");
    assert!(additions("nothing").unwrap_err().feedback().contains("nothing"));
}

#[test]
fn a_message_in_the_format_of_the_provider_follows_all_messages() {
    let message = json!({ "role": "user", "content": [{ "type": "text", "text": "b" }] });
    let added = message.clone();
    let hook = request_fn(move |request| {
        let added = added.clone();
        async move {
            request.add_message(added);
            Ok(())
        }
    });
    let tools = Registry::builder().request_hook(hook).build().unwrap();
    let bound = Dialect::anthropic().bind_tools(&tools);
    let before = json!({ "messages": [{ "role": "user", "content": "a" }] });
    let request = run(bound.build_request(before, RunContext::new())).unwrap();
    assert_eq!(request["messages"], json!([{ "role": "user", "content": "a" }, message]));
}
