//! The sources of a builder's tools.

use std::sync::Arc;

use tool_core::{Method, Registration, SchemaError, SourceLocation, Tool};

use super::ToolFacts;

/// The source of a tool. The tool is created when the registry is built, so that all mistakes are reported
/// then.
pub(super) enum Source {
    Registration(Registration),
    Method(Method),
    Tool(AddedTool),
    OutputTool(AddedTool),
}

/// A tool value, and its facts at the time when it was added.
#[derive(Clone)]
pub(super) struct AddedTool {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) facts: ToolFacts,
}

impl Source {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Registration(it) => it.name().to_owned(),
            Self::Method(it) => it.name().to_owned(),
            Self::Tool(it) | Self::OutputTool(it) => it.facts.definition.name().to_string(),
        }
    }

    pub(super) fn raw_name(&self) -> String {
        match self {
            Self::Tool(it) | Self::OutputTool(it) => it.facts.definition.raw_name().to_owned(),
            _ => self.name(),
        }
    }

    pub(super) fn site(&self) -> Option<SourceLocation> {
        match self {
            Self::Registration(it) => Some(it.site()),
            Self::Method(it) => Some(it.site()),
            Self::Tool(it) | Self::OutputTool(it) => it.facts.site,
        }
    }

    pub(super) fn tool(&self) -> Result<Arc<dyn Tool>, SchemaError> {
        match self {
            Self::Registration(it) => it.tool().map(|tool| Arc::new(tool) as _),
            Self::Method(it) => it.tool().map(|tool| Arc::new(tool) as _),
            Self::Tool(it) | Self::OutputTool(it) => Ok(Arc::clone(&it.tool)),
        }
    }

    /// Returns the facts of `tool`, which this source created.
    pub(super) fn facts(&self, tool: &dyn Tool) -> Result<ToolFacts, String> {
        match self {
            Self::Tool(it) | Self::OutputTool(it) => Ok(it.facts.clone()),
            _ => ToolFacts::of(tool),
        }
    }

    /// Returns `true` if both are the same definition, which may be added several times.
    pub(super) fn is_same_definition(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Registration(one), Self::Registration(other)) => one.is(other),
            (Self::Tool(one), Self::Tool(other)) => Arc::ptr_eq(&one.tool, &other.tool),
            _ => false,
        }
    }
}
