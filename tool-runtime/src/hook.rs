//! What a program does about calls, around them.

use std::{fmt, ops::ControlFlow, sync::Arc};

use serde_json::Value;
use tool_core::{Arguments, CallId, RunContext, Running, ToolContext, ToolDefinition, ToolError, ToolOutput};

use crate::ToolResult;

/// Sees and changes what happens to calls. Every method does nothing by default.
///
/// Hooks run in the order in which they were added, plugins before the others, and never two at once
/// in a batch. One that panics fails the call that it was asked about, and no other.
///
/// A hook that decides by arguments sees the text that the tool receives: see
/// [`BeforeCall::arguments`]. Paths, URLs and numbers are for [`Rules`](crate::Rules), which compare them by
/// what they mean.
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{Before, BeforeCall, Executor, Hook, Registry, Running, ToolError};
///
/// /// Changes nothing while somebody only looks.
/// struct Dry;
///
/// impl Hook for Dry {
///     fn before<'a>(&'a self, call: &'a mut BeforeCall<'_>) -> Running<'a, Result<Before, ToolError>> {
///         Box::pin(async move {
///             Ok(match call.definition().metadata().is_read_only() {
///                 true => Before::GoOn,
///                 false => Before::block(format!("not run: it would be {}", call.arguments().as_str())),
///             })
///         })
///     }
/// }
///
/// let executor = Executor::builder(Registry::builder().build()?).hook(Dry).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Hook: Send + Sync {
    /// Whether the call happens at all: asked before anything else, also of unknown tools. A call that
    /// is not let in has no events, and the model is told that it was not permitted.
    fn gate<'a>(&'a self, call: &'a CallView<'a>) -> Running<'a, bool> {
        let _ = call;
        ready(true)
    }

    /// Asked when the arguments fit. May [rewrite](BeforeCall::rewrite) them, answer in place of the tool,
    /// or block the call; the first that does either is the last to be asked.
    ///
    /// # Errors
    ///
    /// The call fails with the error; it is not run.
    fn before<'a>(&'a self, call: &'a mut BeforeCall<'_>) -> Running<'a, Result<Before, ToolError>> {
        let _ = call;
        ready(Ok(Before::GoOn))
    }

    /// Whether a partial result is shown to those who watch; `text` is its text.
    fn before_update<'a>(&'a self, call: &'a CallView<'a>, text: &'a str) -> Running<'a, bool> {
        let _ = (call, text);
        ready(true)
    }

    /// Told of a partial result that was shown.
    fn after_update<'a>(&'a self, call: &'a CallView<'a>, text: &'a str) -> Running<'a, ()> {
        let _ = (call, text);
        ready(())
    }

    /// Asked when a call failed, also one of an unknown tool. The first that gives an output makes it the
    /// result.
    fn recover<'a>(
        &'a self,
        call: &'a CallView<'a>,
        error: &'a ToolError,
    ) -> Running<'a, Result<Option<ToolOutput>, ToolError>> {
        let _ = (call, error);
        ready(Ok(None))
    }

    /// Shown the result of a call that was run, whether it failed or not; may change it. One that gives
    /// [`Break`](ControlFlow::Break) is the last to see it.
    ///
    /// # Errors
    ///
    /// The error takes the place of the result, and no other hook sees it.
    fn after<'a>(
        &'a self,
        call: &'a CallView<'a>,
        result: &'a mut ToolResult,
    ) -> Running<'a, Result<ControlFlow<()>, ToolError>> {
        let _ = (call, result);
        ready(Ok(ControlFlow::Continue(())))
    }

    /// Told that a call is over, after its last event.
    fn finished<'a>(&'a self, call: &'a CallView<'a>, result: &'a ToolResult) -> Running<'a, ()> {
        let _ = (call, result);
        ready(())
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> Running<'a, T> {
    Box::pin(std::future::ready(value))
}

/// What a [`Hook`] says before a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Before {
    /// It goes on.
    GoOn,
    /// This is the answer; the tool is not run.
    Answer(ToolOutput),
    /// The tool is not run, and this is why.
    Block(String),
}

impl Before {
    /// Blocks the call, because of `reason`.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block(reason.into())
    }
}

/// A call, as those see it who stand around it.
#[derive(Clone, Copy)]
pub struct CallView<'a> {
    pub(crate) id: &'a CallId,
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Arguments<'a>,
    pub(crate) definition: Option<&'a ToolDefinition>,
    pub(crate) cx: Option<&'a ToolContext>,
    pub(crate) run: Option<&'a RunContext>,
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

    /// The arguments as they are at this step: as the model sent them, or, from [`before`](Hook::before) on, in
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

    /// What the tool is; `None` where there is no such tool.
    #[must_use]
    pub fn definition(&self) -> Option<&'a ToolDefinition> {
        self.definition
    }

    /// The context in which the tool runs; `None` where there is no such tool, and about an update.
    #[must_use]
    pub fn context(&self) -> Option<&'a ToolContext> {
        self.cx
    }

    /// The run that the call belongs to.
    #[must_use]
    pub fn run(&self) -> Option<&'a RunContext> {
        self.run
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

    /// What the tool is.
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

    /// Gives this one call `value` for its parameters of type `&T`.
    pub fn provide<T: Send + Sync + 'static>(&mut self, value: T) {
        self.cx.provide(Arc::new(value));
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
