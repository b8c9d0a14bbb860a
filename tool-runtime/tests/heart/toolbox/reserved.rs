//! Reserved names, and adding several tools at once.

use std::sync::Arc;

use tool_runtime::{
    Registry, RunContext, Tool, ToolSet, Toolbox,
    definition::Metadata,
    prelude::*,
    registry::{BuildDiagnostic, BuildError, OUTPUT_TOOL, RESERVED_SETS},
    toolbox::{RunTools, Visibility},
    toolset::{NamedTools, ToolSetExt},
};

use super::{diagnostics, listed, names, said, snapshot, tool, tools};
use crate::run;

const OUTPUT: &str = "is reserved for the output tool; rename the tool, or add it by `output_tool`";

fn message_of(error: BuildError) -> String {
    error.to_string()
}

/// Submits the answer.
#[tool(register = false, name = "submit_output")]
fn submit() -> &'static str {
    "by attribute"
}

/// A tool of the framework's own set.
#[tool(register = false, toolset = "builtin")]
fn claims() {}

// U31, CF35
#[test]
fn the_name_of_the_output_tool_is_refused_for_all_origins() {
    let own = || tool(OUTPUT_TOOL, "somewhere");
    for builder in [
        Registry::builder().tool::<submit>(),
        Registry::builder().add(own()),
        Registry::builder().replace(own()),
    ] {
        let error = builder.build().unwrap_err();
        let [BuildDiagnostic::ReservedName { name, .. }] = error.diagnostics() else { panic!("{error:?}") };
        assert_eq!(name, OUTPUT_TOOL);
        assert!(message_of(error).contains(OUTPUT));
    }
    let toolbox = Toolbox::new();
    for refused in [
        toolbox.add(own()),
        toolbox.add_framework_tool(own()),
        toolbox.replace(own()).map(drop),
        toolbox.set_tools([own()]),
        toolbox.add_all([own()]),
    ] {
        assert!(message_of(refused.unwrap_err()).contains(OUTPUT));
    }
    assert_eq!(names(&toolbox), [""; 0]);
    // Sets, renamed tools, and additional tools of a run.
    toolbox.add_toolset(NamedTools::new("a", [own()])).unwrap();
    toolbox.add_toolset(NamedTools::new("b", tools(&["b"], "b")).renamed([("b", OUTPUT_TOOL)])).unwrap();
    let additions = RunTools::new().additional([own()]);
    let snapshot = run(toolbox.snapshot_with(&RunContext::new(), &additions)).unwrap();
    assert_eq!((listed(&snapshot).len(), snapshot.diagnostics().len()), (0, 3));
    assert!(
        diagnostics(&snapshot).iter().all(|diagnostic| diagnostic.contains(OUTPUT)),
        "{:?}",
        snapshot.diagnostics()
    );
}

// U31, CF35, Y04
#[test]
fn the_genuine_output_tool_replaces_the_previous_one() {
    let first = || tool(OUTPUT_TOOL, "first");
    let registry = Registry::builder().output_tool(first()).output_tool(tool(OUTPUT_TOOL, "second"));
    let toolbox = Toolbox::from_registry(&registry.build().unwrap());
    assert_eq!(said(&snapshot(&toolbox).unwrap(), OUTPUT_TOOL), "submit_output of second");
    assert!(toolbox.set_output_tool(first()).unwrap());
    assert_eq!(said(&snapshot(&toolbox).unwrap(), OUTPUT_TOOL), "submit_output of first");
    // It belongs to the framework: no visibility hides it, and setting the direct tools does not remove it.
    toolbox.show(Visibility::all().except([OUTPUT_TOOL]));
    toolbox.set_tools(tools(&["a"], "here")).unwrap();
    assert_eq!(names(&toolbox), ["a", OUTPUT_TOOL]);
    assert!(!Toolbox::new().set_output_tool(first()).unwrap());
    let wrong = "the output tool must be named `submit_output`, not `answer`; rename it";
    assert!(message_of(toolbox.set_output_tool(tool("answer", "here")).unwrap_err()).contains(wrong));
    let error = Registry::builder().output_tool(tool("answer", "here")).build().unwrap_err();
    assert!(message_of(error).contains(wrong));
    let error = Registry::builder().output_tool(first()).add(first()).build().unwrap_err();
    assert!(matches!(error.diagnostics(), [BuildDiagnostic::ReservedName { .. }]));
}

// U31
#[test]
fn the_names_of_sets_of_the_framework_and_of_users_are_refused() {
    let toolbox = Toolbox::new();
    for name in RESERVED_SETS {
        let set = || NamedTools::new(name, tools(&["a"], "set"));
        let message = format!("the name `{name}` of a set is reserved; rename the set");
        assert!(message_of(toolbox.add_toolset(set()).unwrap_err()).contains(&message));
        assert!(message_of(toolbox.add_toolset(set().prefixed()).unwrap_err()).contains(&message));
        let sets: [Arc<dyn ToolSet>; 1] = [Arc::new(set())];
        assert!(message_of(toolbox.set_toolsets(sets).unwrap_err()).contains(&message));
    }
    assert_eq!(names(&toolbox), [""; 0]);
    let error = Registry::builder().tool::<claims>().build().unwrap_err();
    let message = "the tool `claims` is of the set `builtin`, whose name is reserved; rename the set";
    assert!(message_of(error).contains(message));
}

// U03
#[test]
fn several_tools_are_added_all_or_none() {
    let toolbox = Toolbox::new();
    let a = || tool("a", "here");
    toolbox.add_all([Some(a()), None, Some(tool("b", "here"))]).unwrap();
    assert_eq!(names(&toolbox), ["a", "b"]);
    for (wrong, problems) in [
        (vec![tool("c", "here"), tool("c", "there")], 1),
        (vec![tool("c", "here"), a()], 1),
        (vec![a(), tool("c", "here"), tool("b", "here")], 2),
        (vec![tool("c", "here"), tool(OUTPUT_TOOL, "here"), claims_tool()], 2),
    ] {
        let error = toolbox.add_all(wrong).unwrap_err();
        assert_eq!(error.diagnostics().len(), problems, "{error}");
        assert_eq!(names(&toolbox), ["a", "b"]);
    }
    toolbox.add_all::<Arc<dyn Tool>>([]).unwrap();
    let mut listener = toolbox.subscribe();
    toolbox.add_all(tools(&["c", "d"], "here")).unwrap();
    let told: Vec<_> = std::iter::from_fn(|| listener.try_next()).map(|it| it.unwrap().to_string()).collect();
    assert_eq!(told, ["the tool `c` was added", "the tool `d` was added"]);
}

/// A tool that declares a reserved set.
fn claims_tool() -> Arc<dyn Tool> {
    let metadata = Metadata { toolset: Some("user".into()), ..Metadata::default() };
    let handler = |_: super::Nothing, _cx| async move { Ok::<_, ToolError>("") };
    Arc::new(ToolBuilder::new("mine").description("Is mine.").metadata(metadata).expect_handler(handler))
}
