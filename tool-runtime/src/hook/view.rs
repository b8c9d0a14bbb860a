//! Calls, as hooks see them.

use std::{fmt, sync::Arc};

use serde_json::Value;
use tool_core::{Arguments, CallId, Metadata, RunContext, ToolContext, ToolDefinition, ToolError};

use super::{CallHandle, NOTHING_CLAIMED};

/// A call, as those see it who stand around it.
#[derive(Clone, Copy)]
pub struct CallView<'a> {
    pub(crate) id: &'a CallId,
    pub(crate) tool: &'a Arc<str>,
    pub(crate) arguments: &'a Arguments<'a>,
    pub(crate) definition: Option<&'a ToolDefinition>,
    pub(crate) cx: Option<&'a ToolContext>,
    pub(crate) run: Option<&'a Arc<RunContext>>,
}

impl<'a> CallView<'a> {
    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &'a CallId {
        self.id
    }

    /// The name of the tool, as the model wrote it.
    #[must_use]
    pub fn tool(&self) -> &'a str {
        self.tool
    }

    /// The arguments as they are at this step: as the model sent them, or, from [`before`](crate::hook::Hook::before) on, in
    /// canonical form (see [`BeforeCall::arguments`]).
    #[must_use]
    pub fn arguments(&self) -> &'a Arguments<'a> {
        self.arguments
    }

    /// The arguments as a value.
    ///
    /// # Errors
    ///
    /// If they are not JSON.
    pub fn arguments_value(&self) -> Result<Value, ToolError> {
        self.arguments.to_value()
    }

    /// The definition of the tool; `None` where there is no such tool.
    #[must_use]
    pub fn definition(&self) -> Option<&'a ToolDefinition> {
        self.definition
    }

    /// The metadata of the tool; nothing is claimed of a tool that is not known.
    #[must_use]
    pub fn metadata(&self) -> &'a Metadata {
        self.definition.map_or(&NOTHING_CLAIMED, ToolDefinition::metadata)
    }

    /// The context in which the tool runs; `None` where there is no such tool, about an update, and where it is decided
    /// which calls are left to the caller.
    #[must_use]
    pub fn context(&self) -> Option<&'a ToolContext> {
        self.cx
    }

    /// The run that the call belongs to.
    #[must_use]
    pub fn run(&self) -> Option<&'a RunContext> {
        self.run.map(AsRef::as_ref)
    }

    /// Returns an owned handle to the call, with a copy of its arguments.
    #[must_use]
    pub fn handle(&self) -> CallHandle {
        let handle = CallHandle::new(self.id, self.definition, self.arguments, self.run);
        match self.cx {
            Some(cx) => handle.with_context(cx),
            None => handle,
        }
        .named(self.tool)
    }
}

/// Without the arguments: there may be a secret among them.
impl fmt::Debug for CallView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallView")
            .field("id", &self.id)
            .field("tool", &self.tool)
            .field("arguments", &format_args!("{} bytes", self.arguments.as_str().len()))
            .finish_non_exhaustive()
    }
}

/// A call whose arguments fit, before it is run.
pub struct BeforeCall<'a> {
    pub(crate) definition: &'a ToolDefinition,
    pub(crate) cx: &'a mut ToolContext,
    pub(crate) arguments: &'a Arguments<'a>,
    pub(crate) rewritten: Option<Arguments<'static>>,
}

impl BeforeCall<'_> {
    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        self.cx.call_id()
    }

    /// The name of the tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.definition.name().as_str()
    }

    /// The definition of the tool.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        self.definition
    }

    /// The arguments, which fit, in canonical form: properties under their own names, each number in one spelling
    /// (`100.0` as `100`), defaults that the tool would fill in, and nothing that it ignores. The tool is given this
    /// text. What this hook has [rewritten](Self::rewrite) is as it was given.
    #[must_use]
    pub fn arguments(&self) -> &Arguments<'_> {
        self.rewritten.as_ref().unwrap_or(self.arguments)
    }

    /// The arguments as a value.
    ///
    /// # Errors
    ///
    /// If they have what no value can hold.
    pub fn arguments_value(&self) -> Result<Value, ToolError> {
        self.arguments().to_value()
    }

    /// Has the tool called with `arguments` instead, which are checked like those of a model.
    pub fn rewrite(&mut self, arguments: impl Into<Arguments<'static>>) {
        self.rewritten = Some(arguments.into());
    }

    /// The context in which the tool will run.
    #[must_use]
    pub fn context(&self) -> &ToolContext {
        self.cx
    }

    /// The run that the call belongs to.
    #[must_use]
    pub fn run(&self) -> Option<&RunContext> {
        self.cx.run().map(AsRef::as_ref)
    }

    /// Gives this one call `value` for its parameters of type `&T`.
    pub fn provide<T: Send + Sync + 'static>(&mut self, value: T) {
        self.cx.provide(Arc::new(value));
    }

    /// Returns an owned handle to the call, with a copy of its arguments.
    #[must_use]
    pub fn handle(&self) -> CallHandle {
        let arguments = self.arguments();
        CallHandle::new(self.id(), Some(self.definition), arguments, self.cx.run()).with_context(self.cx)
    }
}

/// Without the arguments: there may be a secret among them.
impl fmt::Debug for BeforeCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BeforeCall")
            .field("id", self.id())
            .field("tool", &self.tool())
            .field("arguments", &format_args!("{} bytes", self.arguments().as_str().len()))
            .finish_non_exhaustive()
    }
}
