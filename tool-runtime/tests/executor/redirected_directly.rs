//! Redirected calls without an executor, and tools that redirect when they are registered.

use serde_json::Value;
use tool_runtime::{
    definition::{Confirmation, Metadata},
    policy::{Rule, Rules},
    prelude::*,
};

use super::{
    Counter,
    redirects::{Caller, bash_call, caller, tools},
    run, texts,
};

// T11
#[test]
fn a_direct_call_of_a_registry_is_redirected() {
    run(async {
        let counter = Counter::default();
        let registry = tools(&counter).build().unwrap();
        let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
        let output = registry.call("call_tool", call("bash", json!({ "command": "ls" }))).await.unwrap();
        assert_eq!(output.text(), "ran ls");
        let error = registry.call("call_tool", call("remove", json!({ "path": "a" }))).await.unwrap_err();
        assert_eq!(error.kind(), tool_runtime::ErrorKind::ApprovalRequired);
        let error = registry.call_unguarded("call_tool", call("call_tool", json!({}))).await.unwrap_err();
        assert_eq!(error.kind(), tool_runtime::ErrorKind::InvalidArguments);
        let cx = registry.context_for("call_tool").unwrap();
        let error = registry.call_in(&cx, call("bash", json!({ "command": "ls" }))).await.unwrap_err();
        assert_eq!(error.kind(), tool_runtime::ErrorKind::Unavailable);
        assert_eq!(counter.get(), 1);
    });
}

#[test]
fn a_tool_that_redirects_cannot_claim_checks_of_its_own() {
    for metadata in [
        Metadata { permission: true, ..Metadata::default() },
        Metadata { confirmation: Confirmation::Always, ..Metadata::default() },
    ] {
        let Caller(definition) = caller("call_tool");
        let built = Registry::builder().add(Caller(definition.with_metadata(metadata))).build();
        assert!(built.unwrap_err().to_string().contains("claims"));
    }
}

// T11
#[test]
fn a_deferred_tool_is_called_and_not_listed() {
    run(async {
        let counter = Counter::default();
        let registry = tools(&counter).build().unwrap();
        let deferring = registry.with_deferred(|tool| tool.name() != "call_tool");
        let names: Vec<_> = deferring.definitions().iter().map(|it| it.name().to_string()).collect();
        assert_eq!(names, ["call_tool"]);
        assert!(deferring.is_deferred("bash") && !deferring.is_deferred("call_tool"));
        assert_eq!(deferring.all_definitions().len(), registry.len());
        let rules = Rules::new([Rule::deny("login")]);
        let executor = tool_runtime::Executor::builder(deferring).rules(rules).build().unwrap();
        // The rule fits a deferred tool.
        assert!(executor.diagnostics().is_empty());
        assert_eq!(texts(&executor.run(bash_call()).await), ["ran ls"]);
    });
}
