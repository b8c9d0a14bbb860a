//! Compilation of deferred tools.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may; threads are joined")]

use std::{collections::HashSet, sync::Arc, thread};

use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use tool_core::{Arguments, InputSchema, Prepared, RunContext, Tool, ToolDefinition, ToolName, ToolOutput};

use crate::{
    Registry, Toolbox, builder::ExternalTool, registry::Entry, toolbox::Snapshot, toolset::NamedTools,
};

/// A tool that returns its arguments.
struct Echo(ToolDefinition);

impl Tool for Echo {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, tool_core::ToolError> {
        let text = format!("{} {}", self.0.name(), arguments.as_str());
        Ok(Prepared::new(arguments, move |_, _| Box::pin(async move { Ok(ToolOutput::from(text)) })))
    }
}

/// Returns a tool with one argument, `a`, whose pattern is known to be valid once it is compiled.
fn echo(name: &str, pattern: &str) -> Echo {
    let schema =
        json!({ "properties": { "a": { "type": "string", "pattern": pattern } }, "required": ["a"] });
    let name = ToolName::new(name.to_owned()).unwrap();
    Echo(ToolDefinition::new(name, "Returns its arguments.", InputSchema::new(schema).unwrap()))
}

const LETTERS: &str = "^[a-z]+$";
const BROKEN: &str = "(";

fn deferring() -> Toolbox {
    let toolbox = Toolbox::new();
    toolbox.defer_all_except(["listed"]);
    toolbox
}

fn snapshot(toolbox: &Toolbox) -> Snapshot {
    toolbox.snapshot(&RunContext::new()).now_or_never().unwrap().unwrap()
}

/// Returns the result of a call, or its error.
fn call(tools: &Registry, name: &str, a: &Value) -> String {
    let result = tools.call(name, json!({ "a": a })).now_or_never().unwrap();
    result.map_or_else(|error| format!("error: {error}"), |output| output.text().into_owned())
}

fn compiled(tools: &Registry) -> Vec<String> {
    let compiled = tools.entries().iter().filter(|entry| entry.is_compiled());
    compiled.map(|entry| entry.definition().name().to_string()).collect()
}

fn listed(tools: &Registry) -> Vec<&str> {
    tools.definitions().iter().map(|it| it.name().as_str()).collect()
}

#[test]
fn a_deferred_tool_is_compiled_by_its_first_call_once_for_all_snapshots() {
    let toolbox = deferring();
    let many = |prefix: &'static str| {
        (0..500).map(move |at| Arc::new(echo(&format!("{prefix}{at}"), LETTERS)) as Arc<dyn Tool>)
    };
    toolbox.set_tools(many("direct")).unwrap();
    toolbox.add(echo("listed", LETTERS)).unwrap();
    toolbox.add_toolset(NamedTools::new("set", many("of_set"))).unwrap();
    let (first, second) = (snapshot(&toolbox), snapshot(&toolbox));
    assert_eq!((first.tools().len(), listed(first.tools())), (1_001, vec!["listed"]));
    // Reading definitions, as a search does, compiles nothing.
    first.tools().all_definitions().iter().for_each(|it| drop(it.input_schema().to_value()));
    assert_eq!(compiled(first.tools()), ["listed"]);
    assert_eq!(call(first.tools(), "direct7", &json!("x")), r#"direct7 {"a":"x"}"#);
    assert!(call(second.tools(), "of_set3", &json!("X")).starts_with("error: "));
    for tools in [first.tools(), second.tools(), snapshot(&toolbox).tools()] {
        assert_eq!(compiled(tools), ["direct7", "listed", "of_set3"]);
    }
    let entry = |snapshot: &Snapshot| Arc::clone(&snapshot.tools().entries()[10]);
    assert!(Arc::<Entry>::ptr_eq(&entry(&first), &entry(&second)));
}

#[test]
fn a_mistake_in_a_deferred_schema_fails_its_calls_and_drops_the_tool_from_later_snapshots() {
    let toolbox = deferring();
    // Where the schema is compiled at once, the mistake is an error of the addition.
    assert!(toolbox.add(echo("listed", BROKEN)).is_err());
    for name in ["broken", "valid", "worse"] {
        toolbox.add(echo(name, if name == "valid" { LETTERS } else { BROKEN })).unwrap();
    }
    let first = snapshot(&toolbox);
    assert!(first.diagnostics().is_empty());
    let error = call(first.tools(), "broken", &json!("x"));
    assert!(error.contains("its schemas cannot be used") && error.contains("pattern"), "{error}");
    let second = snapshot(&toolbox);
    let diagnostics: Vec<_> = second.diagnostics().iter().map(|it| (it.code(), it.to_string())).collect();
    assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
    assert!(diagnostics[0].0 == "unusable" && diagnostics[0].1.contains("`broken`"), "{diagnostics:?}");
    assert!(second.tools().get("broken").is_none());
    assert_eq!(call(second.tools(), "valid", &json!("x")), r#"valid {"a":"x"}"#);
    // A test of the program finds all of them.
    let error = toolbox.check_deferred().unwrap_err().to_string();
    assert!(error.contains("`broken`") && error.contains("`worse`") && !error.contains("`valid`"), "{error}");
    toolbox.strict_listing(true);
    assert!(toolbox.snapshot(&RunContext::new()).now_or_never().unwrap().is_err());
}

#[test]
fn a_tool_that_is_deferred_no_more_is_compiled_by_the_snapshot() {
    let toolbox = deferring();
    toolbox.add(echo("broken", BROKEN)).unwrap();
    toolbox.add(echo("valid", LETTERS)).unwrap();
    toolbox.defer_all_except(["broken", "valid"]);
    let snapshot = snapshot(&toolbox);
    assert_eq!(
        (listed(snapshot.tools()), compiled(snapshot.tools())),
        (vec!["valid"], vec!["valid".to_owned()])
    );
    assert_eq!(snapshot.diagnostics().len(), 1);
}

#[test]
fn the_names_that_a_program_lists_replace_those_of_its_registry() {
    let tools = ["a", "b"].map(|name| echo(name, LETTERS));
    let [a, b] = tools;
    let registry = Registry::builder()
        .add(a)
        .add(b)
        .build()
        .unwrap()
        .with_deferred(|definition| definition.name().as_str() == "a");
    let toolbox = Toolbox::from_registry(&registry);
    assert_eq!(listed(snapshot(&toolbox).tools()), ["b"]);
    toolbox.defer_all_except(["a"]);
    assert_eq!(listed(snapshot(&toolbox).tools()), ["a"]);
}

#[test]
fn tools_that_each_request_needs_are_not_deferred() {
    let toolbox = deferring();
    toolbox.add_framework_tool(echo("transfer", LETTERS)).unwrap();
    toolbox.set_output_tool(echo("submit_output", LETTERS)).unwrap();
    let external = ExternalTool::new(echo("pick_color", LETTERS).0).external();
    toolbox.add(external).unwrap();
    toolbox.add(echo("other", LETTERS)).unwrap();
    let snapshot = snapshot(&toolbox);
    assert_eq!(listed(snapshot.tools()), ["pick_color", "submit_output", "transfer"]);
    assert_eq!(compiled(snapshot.tools()), ["pick_color", "submit_output", "transfer"]);
    // Other mistakes than those in schemas are found when a tool is added.
    assert!(toolbox.add(echo("submit_output", LETTERS)).is_err());
}

#[test]
fn a_toolbox_of_a_registry_defers_the_tools_that_are_deferred_in_it() {
    let registry = Registry::builder().add(echo("a", LETTERS)).add(echo("b", LETTERS)).build().unwrap();
    let toolbox = Toolbox::from_registry(&registry.with_deferred(|tool| tool.name() == "a"));
    assert_eq!(listed(snapshot(&toolbox).tools()), ["b"]);
    assert_eq!(call(snapshot(&toolbox).tools(), "a", &json!("x")), r#"a {"a":"x"}"#);
}

/// A step of a program with a toolbox.
#[derive(Debug, Clone)]
enum Step {
    Put(u8, bool),
    Remove(u8),
    Call(u8, bool),
    Defer(HashSet<u8>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..6_u8, any::<bool>()).prop_map(|(tool, is_wide)| Step::Put(tool, is_wide)),
        (0..6_u8).prop_map(Step::Remove),
        (0..6_u8, any::<bool>()).prop_map(|(tool, is_valid)| Step::Call(tool, is_valid)),
        proptest::collection::hash_set(0..6_u8, 0..6).prop_map(Step::Defer),
    ];
    proptest::collection::vec(step, 0..40)
}

proptest! {
    #[test]
    fn deferral_changes_no_result_and_compiles_what_is_listed_or_called(steps in steps()) {
        let (lazy, eager) = (Toolbox::new(), Toolbox::new());
        let name_of = |tool: &u8| format!("tool_{tool}");
        let mut may_be_compiled: HashSet<String> = (0..6).map(|tool| name_of(&tool)).collect();
        let mut deferred: HashSet<String> = HashSet::new();
        for step in steps {
            match step {
                Step::Put(tool, is_wide) => {
                    let new = || echo(&name_of(&tool), if is_wide { "^.*$" } else { LETTERS });
                    prop_assert_eq!(lazy.replace(new()).unwrap(), eager.replace(new()).unwrap());
                    if deferred.contains(&name_of(&tool)) {
                        may_be_compiled.remove(&name_of(&tool));
                    }
                }
                Step::Remove(tool) => {
                    prop_assert_eq!(lazy.remove(&name_of(&tool)), eager.remove(&name_of(&tool)));
                    may_be_compiled.insert(name_of(&tool));
                }
                Step::Call(tool, is_valid) => {
                    let (name, a) = (name_of(&tool), if is_valid { json!("x") } else { json!("X1") });
                    let results = [&lazy, &eager].map(|toolbox| call(snapshot(toolbox).tools(), &name, &a));
                    prop_assert_eq!(&results[0], &results[1]);
                    may_be_compiled.insert(name);
                }
                Step::Defer(listed) => {
                    let listed: Vec<_> = listed.iter().map(name_of).collect();
                    lazy.defer_all_except(listed.clone());
                    deferred = (0..6).map(|tool| name_of(&tool)).filter(|it| !listed.contains(it)).collect();
                }
            }
            let tools = snapshot(&lazy).into_tools();
            may_be_compiled.extend(listed(&tools).into_iter().map(str::to_owned));
            prop_assert!(compiled(&tools).iter().all(|name| may_be_compiled.contains(name)));
            prop_assert!(listed(&tools).iter().all(|name| !deferred.contains(*name)));
        }
    }
}

#[test]
fn threads_that_call_one_tool_at_once_share_its_compiled_form() {
    let toolbox = deferring();
    for at in 0..20 {
        toolbox.add(echo(&format!("tool_{at}"), LETTERS)).unwrap();
    }
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let toolbox = toolbox.clone();
            thread::spawn(move || {
                for at in 0..20 {
                    let (name, tools) = (format!("tool_{at}"), snapshot(&toolbox).into_tools());
                    assert_eq!(call(&tools, &name, &json!("x")), format!(r#"{name} {{"a":"x"}}"#));
                    // Other threads change the toolbox meanwhile.
                    toolbox.replace(echo(&format!("of_thread_{thread}"), LETTERS)).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let tools = snapshot(&toolbox).into_tools();
    let called = (0..20).map(|at| format!("tool_{at}")).collect::<HashSet<_>>();
    assert_eq!(compiled(&tools).into_iter().collect::<HashSet<_>>(), called);
}
