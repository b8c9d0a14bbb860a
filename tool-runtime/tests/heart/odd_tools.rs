//! Tools whose methods panic, and tools whose declarations ask for more than their bodies.

use std::sync::Arc;

use tool_runtime::{
    BoxFuture, ErrorKind, RunContext, Tool, ToolDefinition, ToolName, ToolSet, Toolbox,
    context::{Dependency, ReadonlyContext},
    definition::{Checks, Confirmation, Metadata, Permission, Prepared},
    prelude::*,
    registry::{BuildDiagnostic, BuildError},
    schema::{Arguments, InputSchema},
    toolset::NamedTools,
};

use crate::run;

/// The method of a tool that panics.
#[derive(Clone, Copy, PartialEq)]
enum Broken {
    Needs,
    Checks,
}

struct Odd(ToolDefinition, Broken);

fn odd(broken: Broken) -> Odd {
    let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
    Odd(ToolDefinition::new(ToolName::new("odd").unwrap(), "Is odd.", schema), broken)
}

impl Tool for Odd {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| Box::pin(async { Ok(ToolOutput::from("odd")) })))
    }

    fn needs(&self) -> &[Dependency] {
        assert!(self.1 != Broken::Needs, "no needs");
        &[]
    }

    fn checks(&self) -> Checks {
        assert!(self.1 != Broken::Checks, "no checks");
        Checks::default()
    }
}

/// Returns the name of the tool and the message of the only panic.
fn panicked(error: &BuildError) -> (&str, &str) {
    let [BuildDiagnostic::Panicked { tool, message, .. }] = error.diagnostics() else { panic!("{error:?}") };
    (tool, message)
}

#[test]
fn a_tool_whose_method_panics_is_refused_by_name() {
    // What it needs is read before its name is.
    let error = Registry::builder().add(odd(Broken::Needs)).build().unwrap_err();
    assert_eq!(panicked(&error), (std::any::type_name::<Odd>(), "no needs"));
    let error = Registry::builder().add(odd(Broken::Checks)).build().unwrap_err();
    assert_eq!(panicked(&error), ("odd", "no checks"));
    let error = Toolbox::new().add(odd(Broken::Checks)).unwrap_err();
    assert_eq!(panicked(&error), ("odd", "no checks"));
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(odd(Broken::Checks))];
    let toolbox = Toolbox::new();
    toolbox.add_toolset(NamedTools::new("set", tools)).unwrap();
    let snapshot = run(toolbox.snapshot(&RunContext::new())).unwrap();
    let text = snapshot.diagnostics()[0].to_string();
    assert!(text.contains("`odd`") && text.contains("no checks"), "{text}");
}

fn never(_path: &String) -> Permission {
    Permission::deny("never")
}

/// Opens a file.
#[tool(register = false, permission = never)]
fn open(path: String) -> String {
    path
}

/// Removes a file.
#[tool(register = false, confirm)]
fn remove(path: String) -> String {
    path
}

#[test]
fn a_direct_call_of_a_guarded_tool_names_what_it_requires() {
    let tools = Registry::builder().tool::<open>().tool::<remove>().build().unwrap();
    for (name, needs, decision) in
        [("open", "a permission check", "checked"), ("remove", "confirmation", "confirmed")]
    {
        let error = run(tools.call(name, json!({ "path": "a" }))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ApprovalRequired);
        let advice = "call it through an executor, or with `call_unguarded`";
        assert!(error.to_string().ends_with(&format!("the tool requires {needs}; {advice}")), "{error}");
        assert_eq!(
            error.feedback(),
            format!(
                "Approval required: the tool requires {needs}, and its calls cannot be {decision} here. Nothing was \
                 executed; do not repeat the call."
            )
        );
    }
}

#[test]
fn a_declared_tool_may_require_confirmation() {
    let declared = |builder: ToolBuilder| {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        builder.description("Pays.").input_schema(schema).external().unwrap().definition().metadata().clone()
    };
    assert_eq!(declared(ToolBuilder::new("pay").confirm()).confirmation, Confirmation::Always);
    assert_eq!(declared(ToolBuilder::new("pay")), Metadata::default());
}

/// A set that cannot be closed.
struct Stuck;

impl ToolSet for Stuck {
    fn name(&self) -> &str {
        "stuck"
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Err(ToolError::failed("the door is stuck")) })
    }
}

#[test]
fn a_shared_set_is_closed_as_the_set_itself() {
    let shared = Arc::new(Stuck);
    assert_eq!(run(ToolSet::close(&shared)).unwrap_err().reason(), "the door is stuck");
    let set: Arc<dyn ToolSet> = shared;
    assert_eq!(run(ToolSet::close(&set)).unwrap_err().reason(), "the door is stuck");
}

/// Starts work whose result has a schema.
#[tool(register = false, output_schema = json!({ "type": "object", "required": ["n"] }))]
fn begin(text: &str, fails: bool) -> ToolOutput {
    let output = if text.is_empty() { ToolOutput::empty() } else { ToolOutput::from(text) };
    let output = output.with_operation_id("job-7");
    if fails { output.as_failure() } else { output }
}

#[test]
fn work_that_goes_on_has_no_result_to_be_validated_yet() {
    let tools = Registry::builder().tool::<begin>().build().unwrap();
    let begun = |text: &str, fails: bool| {
        run(tools.call("begin", json!({ "text": text, "fails": fails }))).map_err(|error| error.kind())
    };
    assert!(begun("", false).unwrap().is_empty());
    assert_eq!(begun("started", false).unwrap_err(), ErrorKind::InvalidOutput);
    assert_eq!(begun("not started", true).unwrap().text(), "not started");
}
