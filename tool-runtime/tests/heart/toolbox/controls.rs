//! The controls of a program over calls, each at its own stage.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use tool_runtime::{
    CallOutcome, Executor, Tool, ToolCall, ToolResult, Toolbox,
    call::Operation,
    definition::Permission,
    executor::ExecutorBuilder,
    hook::{Before, BeforeCall, CallView, Hook},
    policy::{PermissionPolicy, PermissionRequest},
    prelude::*,
    toolbox::Visibility,
    toolset::{NamedTools, ToolSetExt},
};

use super::{Remote, boxed, snapshot};
use crate::run;

type Request = Arc<Mutex<Vec<&'static str>>>;

/// A hook that records its calls and admits everything.
struct Watching(Request);

impl Hook for Watching {
    async fn before(&self, _: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.0.lock().unwrap().push("before");
        Ok(Before::Continue)
    }

    async fn after(&self, _: &CallView<'_>, _: &mut ToolResult) -> Result<ControlFlow<()>, ToolError> {
        self.0.lock().unwrap().push("after");
        Ok(ControlFlow::Continue(()))
    }
}

/// A hook that blocks every call.
struct Blocking;

impl Hook for Blocking {
    async fn before(&self, _: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        Ok(Before::block("blocked"))
    }
}

/// A policy that records its calls, and may deny them.
struct Policy(Request, bool);

impl PermissionPolicy for Policy {
    async fn decide(&self, _: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        self.0.lock().unwrap().push("permission");
        Ok(if self.1 { Permission::deny("not now") } else { Permission::Allow })
    }
}

/// Returns `true` if the tool is listed, the result of a call, and the stages that saw it.
fn stages(
    visibility: Visibility,
    denies: bool,
    set_up: impl FnOnce(ExecutorBuilder) -> ExecutorBuilder,
) -> (bool, String, Vec<&'static str>) {
    let asked = Request::default();
    let toolbox = boxed(Remote::new("a", &["x"]));
    toolbox.show(visibility);
    let tools = snapshot(&toolbox).unwrap().into_tools();
    let is_listed = tools.get("x").is_some();
    let builder =
        Executor::builder(tools).plugin(Watching(asked.clone())).permission(Policy(asked.clone(), denies));
    let outcomes = run(set_up(builder).build().unwrap().run(vec![ToolCall::new("x", "{}")]));
    let outcome = match &outcomes[0] {
        CallOutcome::External(..) => "external".to_owned(),
        other => other.result().unwrap().text().into_owned(),
    };
    let asked = asked.lock().unwrap().clone();
    (is_listed, outcome, asked)
}

// I09
#[test]
fn each_control_alone_changes_its_own_stage() {
    let all = Visibility::all;
    let of = |outcome: &str| outcome.to_owned();
    let plain = stages(all(), false, |it| it);
    assert_eq!(plain, (true, of("x of a"), vec!["before", "permission", "after"]));
    // Not listed: the tool is unknown, and hooks see the result.
    let hidden = stages(all().except(["x"]), false, |it| it);
    assert_eq!(hidden, (false, of("Tool not found: x"), vec!["after"]));
    // Listed, and external.
    let external = stages(all(), false, |it| it.external(|_| true));
    assert_eq!(external, (true, of("external"), vec![]));
    // Listed and denied after the `before` hooks; `after` hooks do not see the result.
    let denied = stages(all(), true, |it| it);
    assert_eq!(denied, (true, of("Denied: not now"), vec!["before", "permission"]));
    // Listed and answered by a hook: the policy is not consulted.
    let blocked = stages(all(), false, |it| it.hook(Blocking));
    assert_eq!(blocked, (true, of("blocked"), vec!["before"]));
}

/// Removes a file.
#[tool(register = false)]
fn remove(path: String) -> String {
    format!("{path} is gone")
}

fn guarded() -> Toolbox {
    let registry = Registry::builder().tool::<remove>().build().unwrap();
    let remove = Arc::clone(registry.get("remove").unwrap());
    let (declared, _) = tool_runtime::builder::ExternalTool::list(&json!([{ "name": "pick" }]));
    let pick: Arc<dyn Tool> = Arc::new(declared[0].clone());
    let asks = |name: &str, arguments: &Value| name != "remove" || arguments["path"] != "/tmp/x";
    boxed(NamedTools::new("files", [remove, pick]).confirmed(asks).prefixed())
}

// I23
#[test]
fn a_wrapper_of_a_set_may_require_confirmation_for_selected_calls() {
    let executor = Executor::new(snapshot(&guarded()).unwrap().into_tools());
    let calls =
        ["/tmp/x", "/etc"].map(|path| ToolCall::new("files__remove", json!({ "path": path }).to_string()));
    let outcomes = run(executor.run(calls.to_vec()));
    assert_eq!(outcomes[0].result().unwrap().text(), "/tmp/x is gone");
    let CallOutcome::Pending(pending) = &outcomes[1] else { panic!("{outcomes:?}") };
    let Operation::Confirmation(request) = &pending.operation else { panic!("{pending:?}") };
    assert_eq!(request.hint, "May the tool files__remove be called?");
    let yes = tool_runtime::context::ConfirmationAnswer { confirmed: true, payload: Value::Null };
    let resumed = crate::now(executor.resume([(pending.call.id.clone(), yes)])).unwrap();
    assert_eq!(run(resumed.run())[0].result().unwrap().text(), "/etc is gone");
}

// I23
#[test]
fn external_calls_require_no_confirmation() {
    let tools = snapshot(&guarded()).unwrap().into_tools();
    let pick = tools.get("files__pick").unwrap();
    assert_eq!(pick.definition().metadata().confirmation, tool_runtime::definition::Confirmation::Never);
    let outcomes = run(Executor::new(tools).run(vec![ToolCall::new("files__pick", "{}")]));
    assert!(matches!(outcomes[0], CallOutcome::External(..)), "{outcomes:?}");
}

// I23
#[test]
fn a_registry_refuses_calls_that_may_require_confirmation() {
    let tools = snapshot(&guarded()).unwrap().into_tools();
    let error = run(tools.call("files__remove", r#"{ "path": "/tmp/x" }"#)).unwrap_err();
    assert_eq!(error.kind(), tool_runtime::ErrorKind::ApprovalRequired);
}
