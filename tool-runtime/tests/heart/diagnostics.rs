//! Typed diagnostics as `Diagnostic`s.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json, to_value};
use tool_runtime::{
    Executor, RunContext, Tool, ToolDefinition, ToolName, Toolbox,
    builder::ExternalTool,
    diagnostic::{Diagnostic, Severity},
    dialect::lint,
    policy::{Rule, Rules},
    prelude::*,
    registry::{BuildDiagnostic, BuildError},
    schema::InputSchema,
    toolbox::RunTools,
};

use crate::run;

struct Database;

/// Reads a file.
#[tool(read_only, register = false)]
fn read(
    /// The path.
    path: String,
) -> String {
    path
}

/// Counts the rows of a table.
#[tool(read_only, register = false)]
fn count(db: &Database) -> String {
    let Database = db;
    "0".to_owned()
}

/// Reads keys.
#[tool(read_only, register = false)]
fn keys(
    /// The keys.
    keys: BTreeMap<String, String>,
) -> usize {
    keys.len()
}

fn json_of(diagnostic: &Diagnostic) -> Value {
    to_value(diagnostic).unwrap()
}

fn build_error() -> BuildError {
    Registry::builder().tool::<count>().build().unwrap_err()
}

#[test]
fn a_build_diagnostic_converts_with_its_source_location_and_help() {
    let error = build_error();
    let [of_count] = error.diagnostics() else { panic!("{error}") };
    let BuildDiagnostic::NotProvided { site: Some(site), .. } = of_count else { panic!("{error}") };
    let diagnostic = Diagnostic::from(of_count);
    assert_eq!((diagnostic.severity, diagnostic.code), (Severity::Error, of_count.code()));
    assert_eq!(diagnostic.location.source, Some(*site));
    assert_eq!(diagnostic.to_string(), format!("error: {of_count}"));
    assert_eq!(
        json_of(&diagnostic),
        json!({
            "tool": "count",
            "pointer": "",
            "source": site.to_string(),
            "severity": "error",
            "code": "not_provided",
            "message": format!("tool `count` ({site}) takes a `&{}`, which is not provided", std::any::type_name::<Database>()),
            "remedy": "add `.provide(..)`, or `.provide_per_run::<..>()` if each run provides its own",
        })
    );
}

#[test]
fn a_diagnostic_of_a_dropped_tool_keeps_the_location_and_help_of_its_cause() {
    let tool = |name: &'static str| -> Arc<dyn Tool> {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        Arc::new(ExternalTool::new(ToolDefinition::new(ToolName::new(name).unwrap(), "Reads.", schema)))
    };
    let toolbox = Toolbox::from_registry(&Registry::builder().tool::<read>().build().unwrap());
    let additions = RunTools::new().additional([tool("submit_output"), tool("read")]);
    let snapshot = run(toolbox.snapshot_with(&RunContext::new(), &additions)).unwrap();
    let all: Vec<_> = snapshot.diagnostics().iter().map(Diagnostic::from).collect();
    let found: Vec<_> = all.iter().map(|it| (it.severity, it.code, it.location.tool.as_deref())).collect();
    assert_eq!(
        found,
        [(Severity::Error, "unusable", Some("submit_output")), (Severity::Error, "dropped", Some("read"))]
    );
    assert_eq!(all[0].help.as_deref(), Some("rename the tool, or add it by `output_tool`"));
    for (diagnostic, of_run) in all.iter().zip(snapshot.diagnostics()) {
        assert_eq!(diagnostic.to_string(), format!("error: {of_run}"));
        assert_eq!(diagnostic.code, of_run.code());
    }
}

#[test]
fn a_rule_diagnostic_is_an_error_if_no_tool_has_the_argument() {
    let rules = Rules::new([Rule::deny("bash"), Rule::deny("read").at("/pth", "*")]);
    let tools = Registry::builder().tool::<read>().build().unwrap();
    let all: Vec<_> = rules.diagnostics(&tools).iter().map(Diagnostic::from).collect();
    assert_eq!(
        all.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "warning: the rule `deny bash` fits no tool",
            "error: the rule `deny read` compares `/pth`, and `read` has no such argument; correct the pointer",
        ]
    );
    assert_eq!((all[1].location.pointer.as_str(), all[1].code), ("/pth", "no_property"));
    let executor = Executor::builder(tools).rules(Rules::new([Rule::deny("bash")])).build().unwrap();
    let of_executor: Vec<_> = executor.diagnostics().iter().map(Diagnostic::from).collect();
    assert_eq!(of_executor, all[..1]);
}

#[test]
fn a_diagnostic_of_a_dialect_keeps_its_json_keys() {
    let tools = Registry::builder().tool::<keys>().build().unwrap();
    let all = lint(&tools);
    let is_strict = |it: &&Diagnostic| it.location.dialect == Some("openai-chat-strict");
    let diagnostic = all.iter().find(is_strict).unwrap();
    assert_eq!(
        json_of(diagnostic),
        json!({
            "tool": "keys",
            "dialect": "openai-chat-strict",
            "pointer": "/properties/keys/additionalProperties",
            "severity": "warning",
            "code": "not_strict",
            "message": "the tool is sent without `strict`: its keys are not declared",
            "remedy": "use a struct or a list of entries, or ignore it: calls are validated",
        })
    );
}
