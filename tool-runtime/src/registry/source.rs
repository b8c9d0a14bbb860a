//! Where a tool of a builder comes from.

use std::sync::Arc;

use tool_core::{Method, Registration, SchemaError, SourceLocation, Tool};

use super::Facts;

/// Where a tool comes from; it is made when the set is built, so that all mistakes are found then.
pub(super) enum Source {
    Registration(Registration),
    Method(Method),
    Tool(Given),
    OutputTool(Given),
}

/// A tool that is a value, and what it said of itself when it was added.
#[derive(Clone)]
pub(super) struct Given {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) facts: Facts,
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

    /// What `tool`, which this made, says of itself.
    pub(super) fn facts(&self, tool: &dyn Tool) -> Result<Facts, String> {
        match self {
            Self::Tool(it) | Self::OutputTool(it) => Ok(it.facts.clone()),
            _ => Facts::of(tool),
        }
    }

    /// Whether both are the same definition, which may come by several ways.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Registration(one), Self::Registration(other)) => one.is(other),
            (Self::Tool(one), Self::Tool(other)) => Arc::ptr_eq(&one.tool, &other.tool),
            _ => false,
        }
    }
}
