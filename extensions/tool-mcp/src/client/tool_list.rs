//! The tools of a server as last listed.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use rmcp::model::Tool as RawTool;
use tool_runtime::{
    Tool,
    diagnostic::{Diagnostic, Severity},
};

use super::{
    call::ToolCaller,
    definitions::{
        malformed_tool_diagnostic, renamed_or_hidden_text_diagnostics, schema_diagnostic, tool_diagnostic,
    },
    listing::Listing,
    tool::RemoteTool,
};

/// The tools as last listed.
#[derive(Default)]
pub(super) struct ToolList {
    pub(super) tools: Vec<Arc<RemoteTool>>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The number of changes before the listing; 0 if nothing was listed.
    pub(super) version: u64,
}

impl ToolList {
    /// Makes tools of a listing. Unchanged tools stay those of `before`.
    pub(super) fn from_listing(
        mut raw: Listing<RawTool>,
        before: &Self,
        caller: &Arc<ToolCaller>,
        version: u64,
    ) -> Self {
        let definitions = &caller.definitions;
        let known: HashMap<&str, &Arc<RemoteTool>> =
            before.tools.iter().map(|tool| (tool.raw_definition().name.as_ref(), tool)).collect();
        let mut names = HashMap::new();
        let mut tools = Vec::new();
        for tool in raw.items.iter().filter(|tool| definitions.includes_tool(&tool.name)) {
            let remote_tool = match known.get(tool.name.as_ref()) {
                Some(before) if before.raw_definition() == tool => Ok(Arc::clone(before)),
                _ => {
                    definitions.read_definition(tool, caller.requests.name()).map(|(definition, problems)| {
                        Arc::new(RemoteTool::new(tool.clone(), definition, problems, Arc::clone(caller)))
                    })
                }
            };
            let remote_tool = match remote_tool {
                Ok(remote_tool) => remote_tool,
                Err(reason) => {
                    raw.diagnostics.push(malformed_tool_diagnostic(&tool.name, &reason));
                    continue;
                }
            };
            let name = remote_tool.definition().name().clone();
            match names.entry(name) {
                Entry::Occupied(taken) => {
                    let problem =
                        format!("another tool is named `{}`, and this one is left out", taken.key());
                    raw.diagnostics.push(tool_diagnostic(Severity::Error, "duplicate", &tool.name, &problem));
                }
                Entry::Vacant(free) => {
                    free.insert(());
                    raw.diagnostics.extend(schema_diagnostic(tool, remote_tool.schema_problems()));
                    raw.diagnostics
                        .extend(renamed_or_hidden_text_diagnostics(tool, remote_tool.definition()));
                    tools.push(remote_tool);
                }
            }
        }
        Self { tools, diagnostics: raw.diagnostics, version }
    }
}
