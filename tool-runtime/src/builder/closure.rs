//! Tools that are created by a builder.

use std::{fmt, future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tool_core::{
    __private::Call, Arguments, BoxFuture, Checks, Dependency, ModelRequest, Permission, PrepareArguments,
    Prepared, SharedRequestHook, Tool, ToolContext, ToolDefinition, ToolError, request_fn,
};

use super::ToolBody;

/// A tool from a closure, created by [`ToolBuilder`](super::ToolBuilder).
#[derive(Clone)]
pub struct ClosureTool {
    pub(super) definition: ToolDefinition,
    pub(super) needs: Vec<Dependency>,
    pub(super) prepare: Option<PrepareArguments>,
    pub(super) typed: Arc<dyn Closures>,
    pub(super) on_request: Option<SharedRequestHook>,
}

impl ClosureTool {
    /// Sets the function that adds to every request with this tool: instructions, messages, or native tools of
    /// the provider. Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ToolError, prelude::*};
    ///
    /// #[tool_args]
    /// struct Nothing {}
    ///
    /// let clock = ToolBuilder::new("now").description("Tells the time.").expect_handler(|_: Nothing, _| async {
    ///     Ok::<_, ToolError>("noon")
    /// });
    /// let clock = clock.with_on_request(|request| async move {
    ///     request.instruct("Ask for the time before you plan a day.");
    ///     Ok(())
    /// });
    /// ```
    #[must_use]
    pub fn with_on_request<F, Fut>(mut self, add: F) -> Self
    where
        F: Fn(ModelRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), ToolError>> + Send,
    {
        self.on_request = Some(SharedRequestHook::new(request_fn(add)));
        self
    }
}

/// The closures of a tool, independent of their argument type.
pub(super) trait Closures: Send + Sync {
    fn prepare<'a>(
        &'a self,
        definition: &ToolDefinition,
        arguments: Arguments<'a>,
    ) -> Result<Prepared<'a>, ToolError>;

    fn checks(&self) -> Checks;
}

/// A check that is answered from the arguments.
type Question<A, T> = dyn Fn(&A, &ToolContext) -> T + Send + Sync;

/// The checks of a call that the tool answers.
pub struct Guards<A> {
    pub(super) confirm: Option<Arc<Question<A, bool>>>,
    pub(super) permission: Option<Arc<Question<A, Permission>>>,
}

impl<A> Default for Guards<A> {
    fn default() -> Self {
        Self { confirm: None, permission: None }
    }
}

impl<A> Clone for Guards<A> {
    fn clone(&self) -> Self {
        Self { confirm: self.confirm.clone(), permission: self.permission.clone() }
    }
}

impl<A> fmt::Debug for Guards<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guards").finish_non_exhaustive()
    }
}

/// The closures of a tool with arguments of type `A`.
pub(super) struct Typed<A> {
    pub(super) body: ToolBody<A>,
    pub(super) questions: Guards<A>,
}

impl<A: DeserializeOwned + JsonSchema + Send + 'static> Closures for Typed<A> {
    fn prepare<'a>(
        &'a self,
        definition: &ToolDefinition,
        mut arguments: Arguments<'a>,
    ) -> Result<Prepared<'a>, ToolError> {
        let args: A = definition.decode(&mut arguments)?;
        // The checks decode the arguments separately, since the body takes them by value.
        let again = || definition.decode::<A>(&mut arguments.as_str().to_owned().into());
        let Guards { confirm, permission } = &self.questions;
        let confirm = confirm.as_ref().map(|wants| again().map(|args| (wants, args))).transpose()?;
        let permission = permission.as_ref().map(|check| again().map(|args| (check, args))).transpose()?;
        let mut call = Prepared::new(arguments, move |_, cx| self.body.run.run(args, Call::of(cx)));
        if let Some((wants, args)) = confirm {
            call = call.with_confirmation(move |cx| Ok(wants(&args, cx)));
        }
        if let Some((check, args)) = permission {
            call = call.with_permission(move |cx| Ok(check(&args, cx)));
        }
        Ok(call)
    }

    fn checks(&self) -> Checks {
        let Guards { confirm, permission } = &self.questions;
        Checks { confirmation: confirm.is_some(), permission: permission.is_some() }
    }
}

impl Tool for ClosureTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        self.typed.prepare(&self.definition, arguments)
    }

    fn holds_arguments(&self) -> bool {
        true
    }

    fn only_decodes(&self) -> bool {
        self.prepare.is_none()
    }

    fn needs(&self) -> &[Dependency] {
        &self.needs
    }

    fn prepare_arguments(&self) -> Option<PrepareArguments> {
        self.prepare
    }

    fn checks(&self) -> Checks {
        self.typed.checks()
    }

    fn on_request(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        match &self.on_request {
            Some(hook) => hook.add_to(request),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }

    fn adds_to_requests(&self) -> bool {
        self.on_request.is_some()
    }
}

impl fmt::Debug for ClosureTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosureTool").field("definition", &self.definition).finish_non_exhaustive()
    }
}
