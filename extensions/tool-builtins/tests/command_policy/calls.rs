//! The policy in an executor.

use std::sync::{Arc, Mutex};

use tool_builtins::{CommandPolicy, conservative};
use tool_runtime::{
    Executor, RunContext, ToolCall, Toolbox,
    policy::{Approval, ApprovalRequest, Rule, Rules},
    prelude::*,
    toolset::{NamedTools, ToolSetExt},
};

/// Runs a command.
#[tool]
fn bash(command: String) -> String {
    format!("ran {command}")
}

/// Runs a command after an approval.
#[tool(confirm)]
fn shell(line: String) -> String {
    format!("ran {line}")
}

fn text(outcome: &tool_runtime::call::CallOutcome) -> Result<String, String> {
    outcome
        .result()
        .unwrap()
        .outcome
        .as_ref()
        .map(|output| output.text().into_owned())
        .map_err(ToString::to_string)
}

// I03 I05
#[tokio::test]
async fn a_command_that_is_not_allowed_does_not_run_and_the_reason_names_it() {
    let policy = CommandPolicy::builder().allow("git status").unwrap().deny("git push *").unwrap().build();
    let tools = Registry::builder().tool::<bash>().build().unwrap();
    let executor = Executor::builder(tools).permission(policy).build().unwrap();
    let calls = ["git status", "git status && git push origin", "git status; ls -l"];
    let calls = calls.map(|command| ToolCall::new("bash", json!({ "command": command })));
    let outcomes = executor.run(calls.to_vec()).await;
    assert_eq!(text(&outcomes[0]).unwrap(), "ran git status");
    let denied = text(&outcomes[1]).unwrap_err();
    assert!(denied.contains("`git push origin` is denied by the rule `git push *`"), "{denied}");
    let asked = text(&outcomes[2]).unwrap_err();
    assert!(asked.contains("no rule allows `ls -l`"), "{asked}");
}

// I09
#[tokio::test]
async fn the_rules_of_the_executor_apply_as_well() {
    let policy = CommandPolicy::builder().allow("git status").unwrap().build();
    let tools = Registry::builder().tool::<bash>().build().unwrap();
    let rules = Rules::new([Rule::deny("bash").reason("no shell")]);
    let executor = Executor::builder(tools).permission(policy).rules(rules).build().unwrap();
    let outcomes = executor.run(vec![ToolCall::new("bash", json!({ "command": "git status" }))]).await;
    assert!(text(&outcomes[0]).unwrap_err().contains("no shell"));
}

// I14 I16
#[tokio::test]
async fn an_approver_answers_for_allowed_commands_of_a_tool_that_always_asks() {
    let questions = Arc::new(Mutex::new(Vec::new()));
    let seen = questions.clone();
    let person = move |request: &ApprovalRequest| {
        seen.lock().unwrap().push(request.call.arguments.as_str().to_owned());
        Approval::Rejected("no".to_owned())
    };
    let policy =
        CommandPolicy::builder().tool("shell", "line").allow("git status").unwrap().deny("rm *").unwrap();
    let tools = Registry::builder().tool::<shell>().build().unwrap();
    let executor = Executor::builder(tools).approver(policy.build().approver(person)).build().unwrap();
    let calls = ["git status", "rm x", "ls"].map(|line| ToolCall::new("shell", json!({ "line": line })));
    let outcomes = executor.run(calls.to_vec()).await;
    assert_eq!(text(&outcomes[0]).unwrap(), "ran git status");
    assert!(text(&outcomes[1]).unwrap_err().contains("`rm x` is denied by the rule `rm *`"));
    assert!(text(&outcomes[2]).is_err());
    assert_eq!(*questions.lock().unwrap(), [r#"{"line":"ls"}"#]);
}

// I18 I03
#[tokio::test]
async fn a_tool_with_a_prefix_is_known_by_its_raw_name() {
    let own = Registry::builder().tool::<bash>().build().unwrap();
    let toolbox = Toolbox::new();
    toolbox.add_toolset(NamedTools::new("remote", [own.get("bash").unwrap().clone()]).prefixed()).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let executor = Executor::builder(tools).permission(conservative()).build().unwrap();
    let outcomes = executor.run(vec![ToolCall::new("remote__bash", json!({ "command": "curl x" }))]).await;
    let reason = text(&outcomes[0]).unwrap_err();
    assert!(reason.contains("no rule allows `curl x`"), "{reason}");
}
