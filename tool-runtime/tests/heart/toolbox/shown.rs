//! Visibility of tools.

use tool_runtime::{
    Executor, RunContext, ToolCall, Toolbox,
    builder::ExternalTool,
    definition::Permission,
    executor::RunSettings,
    policy::PermissionRequest,
    prelude::*,
    serde_json,
    toolbox::{RunTools, Visibility},
    toolset::ToolSetExt,
};

use super::{Remote, boxed, diagnostics, listed, names, snapshot, tool, tools};
use crate::run;

fn toolbox() -> Toolbox {
    let toolbox = boxed(Remote::new("files", &["read", "write"]).prefixed());
    toolbox.set_tools(tools(&["calculator", "shell"], "here")).unwrap();
    toolbox
}

fn visible_names(toolbox: &Toolbox, visibility: Visibility) -> Vec<String> {
    let additions = RunTools::new().show(visibility);
    listed(&run(toolbox.snapshot_with(&RunContext::new(), &additions)).unwrap())
}

// I10
#[test]
fn a_tool_is_visible_if_all_filters_admit_it() {
    let toolbox = toolbox();
    assert_eq!(visible_names(&toolbox, Visibility::all().only(["calculator"])), ["calculator"]);
    let most = Visibility::all().except(["shell"]);
    assert_eq!(visible_names(&toolbox, most), ["calculator", "files__read", "files__write"]);
    let both = Visibility::all().only(["calculator", "shell"]).except(["shell"]);
    assert_eq!(visible_names(&toolbox, both), ["calculator"]);
    let neither = Visibility::all().only(["calculator"]).only(["shell"]);
    assert_eq!(visible_names(&toolbox, neither), [""; 0]);
    // The filter of the toolbox and the filter of the run.
    toolbox.show(Visibility::all().except(["files__write"]));
    assert_eq!(visible_names(&toolbox, Visibility::all().except(["shell"])), ["calculator", "files__read"]);
}

// I10
#[test]
fn tools_of_all_origins_but_the_framework_can_be_hidden() {
    let toolbox = Toolbox::new();
    toolbox.add(tool("a", "here")).unwrap();
    toolbox.add_all(tools(&["b", "c"], "here")).unwrap();
    toolbox.replace(tool("d", "here")).unwrap();
    toolbox.replace(tool("a", "there")).unwrap();
    toolbox.add_framework_tool(tool("e", "here")).unwrap();
    toolbox.set_output_tool(tool(tool_runtime::registry::OUTPUT_TOOL, "here")).unwrap();
    let framework = ["e", tool_runtime::registry::OUTPUT_TOOL];
    assert_eq!(visible_names(&toolbox, Visibility::all().only(["x"])), framework);
    // A tool that replaces a tool of the framework belongs to the framework.
    toolbox.replace(tool("e", "there")).unwrap();
    toolbox.set_tools(tools(&["a", "f"], "here")).unwrap();
    assert_eq!(visible_names(&toolbox, Visibility::all().only(["x"])), framework);
    assert_eq!(
        visible_names(&toolbox, Visibility::all()),
        ["a", "e", "f", tool_runtime::registry::OUTPUT_TOOL]
    );
}

// I10
#[test]
fn a_predicate_sees_the_run() {
    let toolbox = toolbox();
    toolbox.show(Visibility::all().when(|cx, tool| cx.agent() == Some("coder") || tool.name() != "shell"));
    assert_eq!(names(&toolbox), ["calculator", "files__read", "files__write"]);
    let coder = RunContext::new().with_agent("coder");
    assert_eq!(run(toolbox.snapshot(&coder)).unwrap().tools().len(), 4);
}

// I10
#[test]
fn a_predicate_that_panics_hides_the_tool() {
    let toolbox = toolbox();
    toolbox.show(Visibility::all().when(|_, tool| tool.name() != "shell" || panic!("who knows")));
    let snapshot = snapshot(&toolbox).unwrap();
    assert_eq!(listed(&snapshot), ["calculator", "files__read", "files__write"]);
    assert_eq!(
        diagnostics(&snapshot),
        ["the tool `shell` was hidden, since its visibility could not be decided: who knows"]
    );
}

// I11
#[test]
fn a_tool_of_the_framework_is_never_hidden() {
    let four = ["agentic_knowledge_search", "await_user_reply", "knowledge_search", "transfer_to_agent"];
    let toolbox = toolbox();
    for name in four {
        toolbox.add_framework_tool(tool(name, "framework")).unwrap();
    }
    let nothing = || Visibility::all().only([""; 0]);
    let (additional, _) = (tools(&["added"], "run"), ());
    let additions = RunTools::new().additional(additional).show(nothing());
    let snapshot = run(toolbox.snapshot_with(&RunContext::new(), &additions)).unwrap();
    assert_eq!(listed(&snapshot), four);
    assert!(!snapshot.origin("await_user_reply").unwrap().is_user_tool());
    // Setting the direct tools does not remove it.
    toolbox.set_tools([]).unwrap();
    assert_eq!(visible_names(&toolbox, nothing()), four);
}

// X02
#[test]
fn external_tools_are_not_filtered() {
    let (external, _) = ExternalTool::list(&json!([{ "name": "pick_color" }]));
    let additions = RunTools::new().external(external).show(Visibility::all().only(["calculator"]));
    let snapshot = run(toolbox().snapshot_with(&RunContext::new(), &additions)).unwrap();
    assert_eq!(listed(&snapshot), ["calculator", "pick_color"]);
}

// I12
#[test]
fn a_call_of_a_hidden_tool_is_a_call_of_an_unknown_tool() {
    let toolbox = toolbox();
    toolbox.show(Visibility::all().except(["shell"]));
    let executor = Executor::new(snapshot(&toolbox).unwrap().into_tools());
    let outcomes = run(executor.run(vec![ToolCall::new("shell", "{}")]));
    let result = outcomes[0].result().unwrap();
    assert!(result.is_error());
    assert_eq!(result.text(), "Tool not found: shell");
}

/// Logs in.
#[tool(register = false)]
fn login(user: String, #[arg(secret)] pin: String) -> String {
    user + &pin
}

// I12, H14: a model may know or misspell the name of a hidden tool.
#[test]
fn a_call_of_a_hidden_tool_reveals_no_secret() {
    let arguments = || json!({ "user": "ada", "pin": "hunter2" });
    let toolbox = toolbox();
    let login = Registry::builder().tool::<login>().build().unwrap();
    toolbox.add_all([login.get("login").unwrap().clone()]).unwrap();
    let others = Visibility::all().except(["login"]);
    let settings = RunSettings::new().show(Visibility::all().only(["calculator"]));
    for (of_toolbox, of_run) in [(others.clone(), Visibility::all()), (Visibility::all(), others)] {
        toolbox.show(of_toolbox);
        let additions = RunTools::new().show(of_run);
        let snapshot = run(toolbox.snapshot_with(&RunContext::new(), &additions)).unwrap();
        let (some, _) = snapshot.tools().resolve(["calculator"]);
        let executor = Executor::new(snapshot.into_tools());
        let narrowed = executor.with_settings(&RunContext::new(), settings.clone()).unwrap();
        for executor in [Executor::new(some), narrowed, executor] {
            let mut listener = executor.subscribe();
            let calls = ["login", "log_in"].map(|name| ToolCall::new(name, arguments()));
            let outcomes = run(executor.run(calls.into()));
            assert_eq!(outcomes[0].result().unwrap().text(), "Tool not found: login");
            let events: Vec<_> = std::iter::from_fn(|| listener.try_next()).map(Result::unwrap).collect();
            assert_eq!(events.len(), 4);
            let written = serde_json::to_string(&events).unwrap();
            assert_eq!(written.matches("***").count(), 2, "{written}");
            assert!(!format!("{written} {events:?}").contains("hunter2"), "{written}");
        }
    }
}

// X04: rules for the hidden tool apply to the visible one.
#[test]
fn a_tool_with_the_name_of_a_hidden_tool_is_visible_with_a_notice() {
    let toolbox = boxed(Remote::new("files", &["shell", "read"]));
    toolbox.set_tools(tools(&["shell"], "here")).unwrap();
    toolbox.show(Visibility::all().when(|_, tool| tool.description() != "A tool of here."));
    for strict in [true, false] {
        toolbox.strict_names(strict);
        let snapshot = snapshot(&toolbox).unwrap();
        assert_eq!(listed(&snapshot), ["read", "shell"]);
        let said = "a tool of the set `files` is shown as `shell`, which is also the name of a direct tool that is hidden";
        assert_eq!(diagnostics(&snapshot), [said]);
    }
    // A name whose tools are all hidden is unused.
    toolbox.show(Visibility::all().except(["shell"]));
    assert_eq!(names(&toolbox), ["read"]);
}

// I13
#[test]
fn a_filter_sees_the_name_at_its_level() {
    // A filter of a set sees the name in the set, a filter of a run the name that the model sees.
    let set = Remote::new("mcp", &["echo", "other"]).only(["echo"]).prefixed_with("_");
    let toolbox = boxed(set);
    assert_eq!(visible_names(&toolbox, Visibility::all().only(["mcp_echo"])), ["mcp_echo"]);
    assert_eq!(visible_names(&toolbox, Visibility::all().only(["echo"])), [""; 0]);
}

// I13
#[test]
fn a_policy_sees_the_name_that_the_model_sees() {
    let toolbox = boxed(Remote::new("mcp", &["echo"]).prefixed_with("_"));
    let tools = snapshot(&toolbox).unwrap().into_tools();
    let policy = |request: &PermissionRequest<'_>| Permission::deny(request.tool());
    let executor = Executor::builder(tools).permission(policy).build().unwrap();
    let outcomes = run(executor.run(vec![ToolCall::new("mcp_echo", "{}")]));
    assert_eq!(outcomes[0].result().unwrap().text(), "Denied: mcp_echo"); // I13
}
