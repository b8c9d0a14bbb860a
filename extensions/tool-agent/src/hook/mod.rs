//! Hooks around the rounds of a run: requests to the model, with the calls of their responses.
//!
//! - [`AgentHook`] is the trait. It has one method for each stage of a round: `before_model`,
//!   `after_model`, `on_model_error`, `after_step` and `before_end`.
//! - [`before_model`], [`after_model`], [`on_model_error`], [`after_step`] and [`before_end`] create a hook of one stage
//!   from a closure, which receives owned values.
//! - [`SharedAgentHook`] is a hook of any type, chosen at run time.
//!
//! A hook may ask a model itself: see [`Step::ask`](crate::Step::ask).

mod hook_requests;
mod stage;

use std::{any::type_name, fmt, ops::ControlFlow, sync::Arc};

use tool_runtime::{BoxFuture, Registry, RunContext, ToolError, guard::GuardedArc};

pub(crate) use self::hook_requests::{CountedResponse, HookRequests};
pub use self::stage::{BeforeModel, after_model, after_step, before_end, before_model, on_model_error};
use crate::{
    Message, RunUsage,
    model::{ModelError, Request, Response, SharedModel},
};

/// A round of a run before its request to the model: everything that a hook may change.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Step {
    /// The number of the round in the run, from 1.
    pub number: u64,
    /// The model that is asked.
    pub model: SharedModel,
    /// The request. Changes apply to this round only; the stored conversation is not changed.
    pub request: Request,
    pub(crate) usage: Arc<RunUsage>,
    pub(crate) hook_requests: HookRequests,
}

impl Step {
    /// Returns the run.
    #[must_use]
    pub fn run(&self) -> &Arc<RunContext> {
        &self.request.run
    }

    /// Returns the usage of the run by the rounds before this one, with the runs below their calls.
    #[must_use]
    pub fn usage(&self) -> &RunUsage {
        &self.usage
    }

    /// Sets the tools of this round. Calls of other tools are answered as unknown.
    pub fn set_tools(&mut self, tools: Registry) {
        self.request.tools = tools;
    }
}

/// A round of a run after its calls.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StepEnd {
    /// The number of the round in the run, from 1.
    pub number: u64,
    /// The response of the model.
    pub response: Response,
    /// The message with the results of its calls; `None` if it has no calls.
    pub results: Option<Message>,
    /// The run.
    pub run: Arc<RunContext>,
    pub(crate) usage: Arc<RunUsage>,
    pub(crate) hook_requests: HookRequests,
}

impl StepEnd {
    /// Returns the usage of the run up to and including this round, with the runs below its calls.
    #[must_use]
    pub fn usage(&self) -> &RunUsage {
        &self.usage
    }
}

/// Observes and changes the rounds of a run. Each method may be written as an `async fn`; each has a default that changes
/// nothing. For a single stage, use a closure: see the module [`hook`](crate::hook).
///
/// Hooks of a [runner](crate::Runner::with_hook) run before those of the agent. A response that a hook returns ends the
/// stage: later hooks are not called. A panic of a hook ends the run with an error. A
/// hook is dropped where it waits if the run is cancelled, or at the end of its time.
///
/// # Examples
///
/// ```
/// use tool_agent::{AgentHook, Message, Part, Step, model::Response};
/// use tool_runtime::ToolError;
///
/// /// Answers greetings without asking the model.
/// struct Greeting;
///
/// impl AgentHook for Greeting {
///     async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
///         let is_greeting = step.request.messages.last().is_some_and(|message| message.text() == "Hello.");
///         let answer = || Response::new(Message::assistant([Part::Text("Hello. How can I help?".to_owned())]));
///         Ok(is_greeting.then(answer))
///     }
/// }
/// ```
pub trait AgentHook: Send + Sync {
    /// Decides on a round before its request. May change the request and the model, or answer in place of the model.
    ///
    /// # Errors
    ///
    /// An error ends the run.
    fn before_model(
        &self,
        step: &mut Step,
    ) -> impl Future<Output = Result<Option<Response>, ToolError>> + Send {
        let _ = step;
        async { Ok(None) }
    }

    /// Observes a response, or replaces it. Text that was shown before is withdrawn by a replacement.
    ///
    /// # Errors
    ///
    /// An error ends the run.
    fn after_model(
        &self,
        step: &Step,
        response: &Response,
    ) -> impl Future<Output = Result<Option<Response>, ToolError>> + Send {
        let _ = (step, response);
        async { Ok(None) }
    }

    /// Called when the model failed. The first response that a hook returns is used.
    ///
    /// # Errors
    ///
    /// An error ends the run in place of the model's error.
    fn on_model_error(
        &self,
        step: &Step,
        error: &ModelError,
    ) -> impl Future<Output = Result<Option<Response>, ToolError>> + Send {
        let _ = (step, error);
        async { Ok(None) }
    }

    /// Called after a round with calls. [`Break`](ControlFlow::Break) ends the run.
    ///
    /// # Errors
    ///
    /// An error ends the run.
    fn after_step(&self, step: &StepEnd) -> impl Future<Output = Result<ControlFlow<()>, ToolError>> + Send {
        let _ = step;
        async { Ok(ControlFlow::Continue(())) }
    }

    /// Called for a final answer. A message continues the run: the model receives it after its answer, and it is not
    /// stored in the session.
    ///
    /// # Errors
    ///
    /// An error ends the run.
    fn before_end(&self, step: &StepEnd) -> impl Future<Output = Result<Option<Message>, ToolError>> + Send {
        let _ = step;
        async { Ok(None) }
    }
}

/// An [`AgentHook`] of any type, chosen at run time. Cheap to clone.
#[derive(Clone)]
pub struct SharedAgentHook {
    hook: GuardedArc<dyn ErasedAgentHook>,
    name: &'static str,
}

impl SharedAgentHook {
    /// Wraps `hook` and erases its type.
    pub fn new<H: AgentHook + 'static>(hook: H) -> Self {
        Self { hook: GuardedArc::new(Arc::new(hook)), name: type_name::<H>() }
    }

    pub(crate) fn dynamic(&self) -> &dyn ErasedAgentHook {
        &*self.hook
    }

    /// Returns the name of the hook's type, for messages.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Debug for SharedAgentHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedAgentHook({})", self.name)
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, ToolError>>;

/// The object-safe form of [`AgentHook`].
pub(crate) trait ErasedAgentHook: Send + Sync {
    fn before_model<'a>(&'a self, step: &'a mut Step) -> Answer<'a, Option<Response>>;
    fn after_model<'a>(&'a self, step: &'a Step, response: &'a Response) -> Answer<'a, Option<Response>>;
    fn on_model_error<'a>(&'a self, step: &'a Step, error: &'a ModelError) -> Answer<'a, Option<Response>>;
    fn after_step<'a>(&'a self, step: &'a StepEnd) -> Answer<'a, ControlFlow<()>>;
    fn before_end<'a>(&'a self, step: &'a StepEnd) -> Answer<'a, Option<Message>>;
}

impl<H: AgentHook> ErasedAgentHook for H {
    fn before_model<'a>(&'a self, step: &'a mut Step) -> Answer<'a, Option<Response>> {
        Box::pin(AgentHook::before_model(self, step))
    }

    fn after_model<'a>(&'a self, step: &'a Step, response: &'a Response) -> Answer<'a, Option<Response>> {
        Box::pin(AgentHook::after_model(self, step, response))
    }

    fn on_model_error<'a>(&'a self, step: &'a Step, error: &'a ModelError) -> Answer<'a, Option<Response>> {
        Box::pin(AgentHook::on_model_error(self, step, error))
    }

    fn after_step<'a>(&'a self, step: &'a StepEnd) -> Answer<'a, ControlFlow<()>> {
        Box::pin(AgentHook::after_step(self, step))
    }

    fn before_end<'a>(&'a self, step: &'a StepEnd) -> Answer<'a, Option<Message>> {
        Box::pin(AgentHook::before_end(self, step))
    }
}
