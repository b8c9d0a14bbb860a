//! Calls, as hooks see them.

use std::{fmt, sync::Arc};

use serde_json::Value;
use tool_core::{Arguments, CallId, Metadata, RunContext, ToolContext, ToolDefinition, ToolError};

use super::CallHandle;
use crate::call_handle::NOTHING_CLAIMED;

/// A read-only view of a call, for hooks.
#[derive(Clone, Copy)]
pub struct CallView<'a> {
    pub(crate) id: &'a CallId,
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Arguments<'a>,
    pub(crate) definition: Option<&'a ToolDefinition>,
    pub(crate) cx: Option<&'a ToolContext>,
    pub(crate) run: Option<&'a Arc<RunContext>>,
}

impl<'a> CallView<'a> {
    /// Returns the id of the call.
    #[must_use]
    pub fn id(&self) -> &'a CallId {
        self.id
    }

    /// Returns the name of the tool, as the model wrote it.
    #[must_use]
    pub fn tool(&self) -> &'a str {
        self.tool
    }

    /// Returns the arguments at this step: as the model sent them, or, from [`before`](crate::hook::Hook::before) on,
    /// in canonical form (see [`BeforeCall::arguments`]).
    #[must_use]
    pub fn arguments(&self) -> &'a Arguments<'a> {
        self.arguments
    }

    /// Returns the arguments as a value.
    ///
    /// # Errors
    ///
    /// Returns an error if they are not valid JSON.
    pub fn arguments_value(&self) -> Result<Value, ToolError> {
        Ok(self.arguments.to_value()?)
    }

    /// Returns the definition of the tool; `None` if there is no such tool.
    #[must_use]
    pub fn definition(&self) -> Option<&'a ToolDefinition> {
        self.definition
    }

    /// Returns the metadata of the tool; the default metadata if the tool is unknown.
    #[must_use]
    pub fn metadata(&self) -> &'a Metadata {
        self.definition.map_or(&NOTHING_CLAIMED, ToolDefinition::metadata)
    }

    /// Returns the context in which the tool runs; `None` if there is no such tool, in the update stages, and in
    /// [`external`](crate::executor::ExecutorBuilder::external).
    #[must_use]
    pub fn context(&self) -> Option<&'a ToolContext> {
        self.cx
    }

    /// Returns the run that the call belongs to.
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
        .with_name_if_unknown(self.tool)
    }
}

/// Omits the arguments, which may contain secrets.
impl fmt::Debug for CallView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallView")
            .field("id", &self.id)
            .field("tool", &self.tool)
            .field("arguments", &format_args!("{} bytes", self.arguments.as_str().len()))
            .finish_non_exhaustive()
    }
}

/// A call with valid arguments, before it runs.
pub struct BeforeCall<'a> {
    pub(crate) definition: &'a ToolDefinition,
    pub(crate) cx: &'a mut ToolContext,
    pub(crate) arguments: &'a Arguments<'a>,
    pub(crate) rewritten: Option<Arguments<'static>>,
}

impl BeforeCall<'_> {
    /// Returns the id of the call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        self.cx.call_id()
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.definition.name().as_str()
    }

    /// Returns the definition of the tool.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        self.definition
    }

    /// Returns the valid arguments in canonical form: properties under their own names, each number in one spelling
    /// (`100.0` as `100`), defaults that the tool would use, and no property that it ignores. The tool receives this
    /// text. Arguments [rewritten](Self::rewrite) by this hook are returned as they were given.
    #[must_use]
    pub fn arguments(&self) -> &Arguments<'_> {
        self.rewritten.as_ref().unwrap_or(self.arguments)
    }

    /// Returns the arguments as a value.
    ///
    /// # Errors
    ///
    /// Returns an error if they contain a number that no value can represent.
    pub fn arguments_value(&self) -> Result<Value, ToolError> {
        Ok(self.arguments().to_value()?)
    }

    /// Replaces the arguments by `arguments`, which are validated like those of a model.
    pub fn rewrite(&mut self, arguments: impl Into<Arguments<'static>>) {
        self.rewritten = Some(arguments.into());
    }

    /// Returns the context in which the tool will run.
    #[must_use]
    pub fn context(&self) -> &ToolContext {
        self.cx
    }

    /// Returns the run that the call belongs to.
    #[must_use]
    pub fn run(&self) -> Option<&RunContext> {
        self.cx.run().map(AsRef::as_ref)
    }

    /// Provides `value` for the parameters of type `&T`, for this call only.
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

/// Omits the arguments, which may contain secrets.
impl fmt::Debug for BeforeCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BeforeCall")
            .field("id", self.id())
            .field("tool", &self.tool())
            .field("arguments", &format_args!("{} bytes", self.arguments().as_str().len()))
            .finish_non_exhaustive()
    }
}
