//! External and additional tools of a run.

use tool_runtime::{
    CallOutcome, Executor, RunContext, Tool, ToolCall, Toolbox,
    builder::ExternalTool,
    prelude::*,
    toolbox::{Origin, RunTools, Snapshot},
};

use super::{Remote, boxed, diagnostics, listed, names, said, snapshot, tool, tools};
use crate::run;

fn external(names: &[&str]) -> Vec<ExternalTool> {
    let list = names.iter().map(|name| json!({ "name": name, "description": "Elsewhere." })).collect();
    let (tools, invalid) = ExternalTool::list(&list);
    assert!(invalid.is_empty());
    tools
}

fn with(toolbox: &Toolbox, additions: &RunTools) -> Snapshot {
    run(toolbox.snapshot_with(&RunContext::new(), additions)).unwrap()
}

// X02
#[test]
fn an_external_tool_is_shown_and_never_run() {
    let snapshot = with(&Toolbox::new(), &RunTools::new().external(external(&["pick_color"])));
    assert_eq!(snapshot.origin("pick_color"), Some(&Origin::External));
    let executor = Executor::new(snapshot.into_tools());
    let outcomes = run(executor.run(vec![ToolCall::new("pick_color", "{}").with_id("c1")]));
    let [CallOutcome::External(call, _)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert_eq!((call.id.to_string(), &*call.name), ("c1".to_owned(), "pick_color"));
    let result = crate::now(executor.submit_result(&call.id, Ok(ToolOutput::from("red")))).unwrap();
    assert_eq!(result.text(), "red");
}

// A15
#[test]
fn a_call_of_a_declared_tool_is_an_error_and_other_calls_run() {
    let parameters = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let (declared, _) = ExternalTool::list(&json!([{ "name": "elsewhere", "parameters": parameters }]));
    let toolbox = Toolbox::new();
    toolbox.add(ExternalTool::new(declared[0].definition().clone())).unwrap();
    toolbox.add(tool("here", "here")).unwrap();
    let executor = Executor::new(snapshot(&toolbox).unwrap().into_tools());
    let calls = vec![ToolCall::new("elsewhere", r#"{ "n": "no number" }"#), ToolCall::new("here", "{}")];
    let outcomes = run(executor.run(calls));
    let texts: Vec<_> = outcomes.iter().map(|it| it.result().unwrap().text().into_owned()).collect();
    assert_eq!(
        texts,
        ["Tool unavailable: the tool is declared only; this program cannot run it", "here of here"]
    );
    assert!(outcomes[0].result().unwrap().is_error());
}

// X03
#[test]
fn an_additional_tool_exists_only_in_its_run() {
    let toolbox = boxed(Remote::new("a", &["x"]));
    let snapshot = with(&toolbox, &RunTools::new().additional(tools(&["added"], "run")));
    assert_eq!(listed(&snapshot), ["added", "x"]);
    assert_eq!(said(&snapshot, "added"), "added of run");
    assert!(snapshot.origin("added").unwrap().is_user_tool());
    assert_eq!(names(&toolbox), ["x"]);
}

// X04
#[test]
fn an_additional_tool_cannot_take_an_existing_name() {
    let toolbox = boxed(Remote::new("a", &["add"]));
    let additions = RunTools::new()
        .additional(tools(&["add", "more"], "run"))
        .external(external(&["add", "more", "most"]));
    let snapshot = with(&toolbox, &additions);
    assert_eq!(listed(&snapshot), ["add", "more", "most"]);
    assert_eq!(said(&snapshot, "add"), "add of a");
    assert_eq!(said(&snapshot, "more"), "more of run");
    let taken = |what: &str, name: &str, by: &str| {
        format!("an {what} tool of the run was dropped, since its name `{name}` is taken by {by}")
    };
    assert_eq!(
        diagnostics(&snapshot),
        [
            taken("additional", "add", "a tool of the set `a`"),
            taken("external", "add", "a tool of the set `a`"),
            taken("external", "more", "an additional tool of the run"),
        ]
    );
}

// X04
#[test]
fn an_additional_tool_cannot_take_the_name_of_a_hidden_tool() {
    let toolbox = boxed(Remote::new("a", &["shell"]));
    toolbox.show(tool_runtime::toolbox::Visibility::all().except(["shell"]));
    let snapshot = with(&toolbox, &RunTools::new().external(external(&["shell"])));
    assert_eq!((listed(&snapshot), snapshot.diagnostics().len()), (vec![], 1));
}

// X04, X09
#[test]
fn a_front_end_s_list_becomes_external_tools() {
    let list = json!([
        {
            "name": "pick_color",
            "description": "Asks the user for a color.",
            "parameters": { "type": "object", "properties": { "hint": { "type": "string" } } },
        },
        { "name": "reload" },
        { "name": "", "description": "Unnamed." },
        { "description": "Unnamed." },
        { "name": "no schema", "parameters": {} },
        { "name": "odd", "parameters": { "type": "string" } },
        7,
    ]);
    let (tools, invalid) = ExternalTool::list(&list);
    let said: Vec<_> = invalid.iter().map(ToString::to_string).collect();
    let unnamed = r#"tool "": a tool needs a name; this one is empty"#;
    assert_eq!(
        (said.len(), &said[0], &said[1], &said[4]),
        (5, &unnamed.into(), &unnamed.into(), &unnamed.into())
    );
    assert!(
        said[2].starts_with(r#"tool "no schema": "#) && said[3].starts_with(r#"tool "odd": "#),
        "{said:?}"
    );
    let snapshot = with(&Toolbox::new(), &RunTools::new().external(tools));
    assert_eq!(listed(&snapshot), ["pick_color", "reload"]);
    let definition = snapshot.tools().get("pick_color").unwrap().definition();
    assert_eq!(definition.description(), "Asks the user for a color.");
    assert_eq!(definition.input_schema().as_value()["properties"]["hint"]["type"], "string");
    let (none, invalid) = ExternalTool::list(&json!({ "tools": [] }));
    assert!(none.is_empty());
    assert_eq!(invalid[0].to_string(), r#"tool "": expected a JSON list of tools"#);
}

// A18
#[test]
fn tools_are_selected_by_name_and_unknown_names_are_reported() {
    let toolbox = boxed(Remote::new("a", &["bash", "read_file", "write_file"]));
    let tools = snapshot(&toolbox).unwrap().into_tools();
    let (some, unknown) = tools.resolve(["read_file", "bash", "nope", "readfile", "bash"]);
    let picked: Vec<_> = some.definitions().iter().map(|it| it.name().as_str()).collect();
    assert_eq!(picked, ["bash", "read_file"]);
    assert_eq!(run(some.call("bash", "{}")).unwrap().text(), "bash of a");
    let told: Vec<_> = unknown.iter().map(tool_runtime::ToolError::feedback).collect();
    assert_eq!(told, ["Tool not found: nope", "Tool not found: readfile\nDid you mean `read_file`?"]);
}
