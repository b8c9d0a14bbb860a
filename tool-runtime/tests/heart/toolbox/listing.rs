//! Sets whose listing fails, and invalid tools.

use std::sync::Arc;

use tool_runtime::{
    RunContext, Tool, ToolDefinition, ToolName, Toolbox, builder::ExternalTool, prelude::*,
    schema::InputSchema, toolbox::Visibility, toolset::NamedTools,
};

use super::{Remote, boxed, diagnostics, listed, names, snapshot, tool};
use crate::run;

// L04
#[test]
fn a_set_that_fails_is_used_with_its_last_list() {
    let remote = Remote::new("remote", &["a"]);
    let toolbox = boxed(remote.clone());
    toolbox.add(tool("here", "here")).unwrap();
    assert_eq!(names(&toolbox), ["a", "here"]);
    remote.fail(Some("connection refused"));
    let snapshot = snapshot(&toolbox).unwrap();
    assert_eq!(listed(&snapshot), ["a", "here"]);
    assert_eq!(
        diagnostics(&snapshot),
        [
            "the set `remote` could not list its tools, and is used with the 1 it listed last: connection refused"
        ]
    );
}

// L04
#[test]
fn a_set_that_never_listed_does_not_affect_other_sets() {
    let remote = Remote::new("remote", &["a"]);
    let failures =
        [("connection refused", "connection refused"), ("panic", "the set panicked: the list is torn")];
    for (failure, told) in failures {
        remote.fail(Some(failure));
        let toolbox = boxed(remote.clone());
        toolbox.add_toolset(Remote::new("other", &["b"])).unwrap();
        let snapshot = snapshot(&toolbox).unwrap();
        assert_eq!(listed(&snapshot), ["b"]);
        assert_eq!(
            diagnostics(&snapshot),
            [format!(
                "the set `remote` could not list its tools, and is used with the 0 it listed last: {told}"
            )]
        );
    }
}

// L04
#[test]
fn a_list_for_one_user_is_not_used_for_another() {
    let remote = Remote::new("remote", &["a"]);
    let toolbox = boxed(remote.clone());
    let of = |user: &str| listed(&run(toolbox.snapshot(&RunContext::new().with_user(user))).unwrap());
    assert_eq!(of("ada"), ["a"]);
    remote.fail(Some("connection refused"));
    assert_eq!(of("bob"), [""; 0]);
    assert_eq!(of("ada"), ["a"]);
}

// L04
#[test]
fn a_strict_toolbox_fails_if_a_set_fails() {
    let remote = Remote::new("remote", &["a"]);
    let toolbox = boxed(remote.clone());
    assert_eq!(names(&toolbox), ["a"]);
    toolbox.strict_listing(true);
    remote.fail(Some("connection refused"));
    assert_eq!(
        snapshot(&toolbox).unwrap_err().to_string(),
        "the tools cannot be used: the set `remote` could not list its tools: connection refused"
    );
}

/// Returns a tool with an unusable schema.
fn broken() -> Arc<dyn Tool> {
    let schema = InputSchema::new(json!({ "properties": { "a": { "type": "number?" } } })).unwrap();
    Arc::new(ExternalTool::new(ToolDefinition::new(ToolName::new("broken").unwrap(), "Broken.", schema)))
}

// L04
#[test]
fn an_invalid_tool_is_omitted_from_its_set() {
    let toolbox = boxed(NamedTools::new("a", [broken(), tool("sound", "a")]));
    for _ in 0..2 {
        let snapshot = snapshot(&toolbox).unwrap();
        assert_eq!(listed(&snapshot), ["sound"]);
        let [diagnostic] = diagnostics(&snapshot).try_into().unwrap();
        assert!(
            diagnostic.starts_with("a tool of the set `a` was dropped: tool `broken`: input schema: "),
            "{diagnostic}"
        );
    }
    toolbox.strict_listing(true);
    assert!(snapshot(&toolbox).is_err());
    // A direct tool is refused when it is added.
    assert!(toolbox.add(broken()).is_err());
}

/// Opens a door.
#[tool(register = false)]
fn open(door: &Door) -> u8 {
    door.0
}

struct Door(u8);

// L02
#[test]
fn a_dependency_is_provided_by_the_program_or_the_run() {
    let registry = Registry::builder().tool::<open>().provide_per_run::<Door>().build().unwrap();
    let open = || Arc::clone(registry.get("open").unwrap());
    let toolbox = Toolbox::new();
    toolbox.add(open()).unwrap();
    let error = snapshot(&toolbox).unwrap_err().to_string();
    assert!(error.contains("tool `open`") && error.contains("which is not provided"), "{error}");
    let knowing = RunContext::new().provide(Door(7));
    assert_eq!(listed(&run(toolbox.snapshot(&knowing)).unwrap()), ["open"]);
    // A set may list it for runs that provide the value.
    let toolbox = boxed(NamedTools::new("doors", [open()]));
    assert_eq!(
        (listed(&snapshot(&toolbox).unwrap()), snapshot(&toolbox).unwrap().diagnostics().len()),
        (vec![], 1)
    );
    let provided = Registry::builder().provide(Door(8)).build().unwrap();
    let toolbox = Toolbox::from_registry(&provided);
    toolbox.add(open()).unwrap();
    assert_eq!(super::said(&snapshot(&toolbox).unwrap(), "open"), "8");
}

// L11
#[test]
fn a_duplicate_name_is_an_error_with_both_origins() {
    let toolbox = boxed(Remote::new("a", &["search"]));
    toolbox.add_toolset(Remote::new("b", &["search"])).unwrap();
    assert_eq!(
        snapshot(&toolbox).unwrap_err().to_string(),
        "the tools cannot be used: 2 tools are named `search`: a tool of the set `a`, a tool of the set `b`; \
         rename one, or prefix its set"
    );
    toolbox.add(tool("search", "here")).unwrap();
    assert!(
        snapshot(&toolbox).unwrap_err().to_string().contains("3 tools are named `search`: a direct tool, ")
    );
}

// L11
#[test]
fn the_first_of_duplicate_names_is_kept_if_configured() {
    let toolbox = boxed(Remote::new("a", &["search"]));
    toolbox.add_toolset(Remote::new("b", &["search"])).unwrap();
    toolbox.strict_names(false);
    let snapshot = snapshot(&toolbox).unwrap();
    assert_eq!(super::said(&snapshot, "search"), "search of a");
    assert_eq!(
        diagnostics(&snapshot),
        ["a tool of the set `b` was dropped, since its name `search` is taken by a tool of the set `a`"]
    );
}

// L11
#[test]
fn hidden_tools_do_not_cause_name_conflicts() {
    let toolbox = boxed(Remote::new("a", &["search"]));
    toolbox.add_toolset(Remote::new("b", &["search"])).unwrap();
    toolbox.show(Visibility::all().when(|_, tool| tool.description() == "A tool of b."));
    let snapshot = snapshot(&toolbox).unwrap();
    assert_eq!(
        (listed(&snapshot), super::said(&snapshot, "search")),
        (vec!["search".to_owned()], "search of b".to_owned())
    );
}
