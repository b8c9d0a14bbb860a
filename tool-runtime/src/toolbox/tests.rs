//! Reuse of compiled tools, and copies of the state.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::json;
use tool_core::{InputSchema, Metadata, RunContext, Tool, ToolDefinition, ToolName};

use crate::{
    Registry, Toolbox,
    builder::ExternalTool,
    registry::Entry,
    toolset::{NamedTools, ToolSetExt},
};

fn declared(name: &str) -> ExternalTool {
    let name = ToolName::new(name.to_owned()).unwrap();
    let schema = InputSchema::new(json!({ "properties": { "a": { "type": "integer" } } })).unwrap();
    ExternalTool::new(ToolDefinition::new(name, "One of many.", schema))
}

fn tools() -> Vec<Arc<dyn Tool>> {
    (0..500).map(|number| Arc::new(declared(&format!("tool_{number}"))) as Arc<dyn Tool>).collect()
}

fn entries(toolbox: &Toolbox, user: &str) -> Vec<Arc<Entry>> {
    let run = RunContext::new().with_user(user);
    toolbox.snapshot(&run).now_or_never().unwrap().unwrap().into_tools().entries().to_vec()
}

/// Returns the number of `entries` that are not among `others`.
fn new_of(entries: &[Arc<Entry>], others: &[Arc<Entry>]) -> usize {
    entries.iter().filter(|entry| !others.iter().any(|other| Arc::ptr_eq(entry, other))).count()
}

// L08
#[test]
fn a_compiled_tool_is_not_compiled_again() {
    let toolbox = Toolbox::new();
    toolbox.set_tools(tools()).unwrap();
    toolbox.add_toolset(NamedTools::new("set", tools()).prefixed()).unwrap();
    let first = entries(&toolbox, "one");
    assert_eq!((first.len(), new_of(&entries(&toolbox, "other"), &first)), (1000, 0));
    toolbox.add(declared("new")).unwrap();
    assert_eq!(new_of(&entries(&toolbox, "one"), &first), 1);
}

// L12
#[test]
fn a_toolbox_of_a_registry_reuses_its_compiled_tools() {
    let metadata = Metadata { toolset: Some("set".into()), ..Metadata::default() };
    let tool = ExternalTool::new(declared("tool").definition().clone().with_metadata(metadata));
    let registry = Registry::builder().add(tool).build().unwrap();
    assert_eq!(new_of(&entries(&Toolbox::from_registry(&registry), "one"), registry.entries()), 0);
}

#[test]
fn a_change_copies_the_tools_only_while_a_snapshot_reads_them() {
    let toolbox = Toolbox::new();
    toolbox.set_tools(tools()).unwrap();
    let address = |toolbox: &Toolbox| Arc::as_ptr(&toolbox.state().tools);
    let before = address(&toolbox);
    toolbox.add(declared("new")).unwrap();
    toolbox.replace(declared("new")).unwrap();
    assert!(toolbox.add(declared("new")).is_err() && toolbox.remove("new"));
    toolbox.strict_names(false);
    assert_eq!(address(&toolbox), before);
    // As a snapshot holds it while toolsets are listed.
    let read = toolbox.state();
    toolbox.add(declared("new")).unwrap();
    assert!(read.tools.len() == 500 && toolbox.state().tools.len() == 501);
    assert_ne!(address(&toolbox), before);
}
