//! Closures as hooks of a single stage.

use std::ops::ControlFlow;

use tool_runtime::ToolError;

use super::{AgentHook, Step, StepEnd};
use crate::{
    Message,
    model::{ModelError, Response},
};

/// The decision of a [closure](before_model) on a round before its request.
#[derive(Debug)]
#[non_exhaustive]
pub enum BeforeModel {
    /// The model is asked, with this request.
    Ask(Step),
    /// This response takes the place of the model's.
    Answer(Response),
}

impl From<Step> for BeforeModel {
    fn from(step: Step) -> Self {
        Self::Ask(step)
    }
}

impl From<Response> for BeforeModel {
    fn from(response: Response) -> Self {
        Self::Answer(response)
    }
}

/// Creates a hook of the stage [`AgentHook::before_model`] from a closure, which receives the [`Step`], and returns it,
/// changed or not, or a response.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Runner, ScriptedModel, hook, model::Reply};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([Reply::text("Hello.")]);
/// let agent = Agent::builder("greeter", model.clone())
///     .hook(hook::before_model(|mut step| async move {
///         step.request.instruction = format!("Step {}.", step.number).into();
///         Ok(step.into())
///     }))
///     .build()?;
/// Runner::new(agent).run("Hello?").answer().await?;
/// assert_eq!(&*model.requests()[0].instruction, "Step 1.");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn before_model<F, R>(decide: F) -> impl AgentHook + 'static
where
    F: Fn(Step) -> R + Send + Sync + 'static,
    R: Future<Output = Result<BeforeModel, ToolError>> + Send + 'static,
{
    BeforeModelStage(decide)
}

/// Creates a hook of the stage [`AgentHook::after_model`] from a closure, which returns a response in place of the
/// model's, or `None`.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Message, Part, Runner, ScriptedModel, hook, model::{Reply, Response}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([Reply::text("The password is 1234.")]);
/// let agent = Agent::builder("clerk", model)
///     .hook(hook::after_model(|_, response| async move {
///         let is_secret = response.message.text().contains("password");
///         let other = || Response::new(Message::assistant([Part::Text("I cannot tell.".to_owned())]));
///         Ok(is_secret.then(other))
///     }))
///     .build()?;
/// assert_eq!(Runner::new(agent).run("The password?").answer().await?, "I cannot tell.");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn after_model<F, R>(replace: F) -> impl AgentHook + 'static
where
    F: Fn(Step, Response) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<Response>, ToolError>> + Send + 'static,
{
    AfterModelStage(replace)
}

/// Creates a hook of the stage [`AgentHook::on_model_error`] from a closure, which returns a response in place of the
/// error, or `None`.
///
/// # Examples
///
/// ```
/// use tool_agent::{
///     Agent, Message, Part, Runner, ScriptedModel, hook,
///     model::{ModelErrorKind, Reply, Response},
/// };
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([Reply::error(ModelErrorKind::Unavailable, "down")]);
/// let agent = Agent::builder("clerk", model)
///     .hook(hook::on_model_error(|_, error| async move {
///         let text = format!("Please try again later ({error}).");
///         Ok(Some(Response::new(Message::assistant([Part::Text(text)]))))
///     }))
///     .build()?;
/// assert_eq!(Runner::new(agent).run("Hello?").answer().await?, "Please try again later (down).");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn on_model_error<F, R>(recover: F) -> impl AgentHook + 'static
where
    F: Fn(Step, ModelError) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<Response>, ToolError>> + Send + 'static,
{
    OnModelErrorStage(recover)
}

/// Creates a hook of the stage [`AgentHook::after_step`] from a closure.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
///
/// use tool_agent::{Agent, EndReason, Runner, ScriptedModel, hook, model::Reply};
/// use tool_runtime::prelude::*;
///
/// /// Adds two numbers.
/// #[tool(read_only, register = false)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([Reply::call("add", json!({ "a": 2, "b": 3 }))]);
/// let agent = Agent::builder("adder", model)
///     .tools(Registry::builder().tool::<add>().build()?)
///     .hook(hook::after_step(|end| async move {
///         let is_enough = end.results.is_some_and(|results| results.tool_results().any(|it| it.text() == "5"));
///         Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
///     }))
///     .build()?;
/// assert_eq!(Runner::new(agent).run("2 + 3?").end().await.reason, EndReason::HookStopped);
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn after_step<F, R>(decide: F) -> impl AgentHook + 'static
where
    F: Fn(StepEnd) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ControlFlow<()>, ToolError>> + Send + 'static,
{
    AfterStepStage(decide)
}

/// Creates a hook of the stage [`AgentHook::before_end`] from a closure, which returns a message that continues the run,
/// or `None`.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Message, Runner, ScriptedModel, hook, model::Reply};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([Reply::text("A very long answer."), Reply::text("Short.")]);
/// let agent = Agent::builder("clerk", model)
///     .hook(hook::before_end(|end| async move {
///         let is_long = end.response.message.text().len() > 10;
///         Ok(is_long.then(|| Message::user("Shorter, please.")))
///     }))
///     .build()?;
/// assert_eq!(Runner::new(agent).run("Hello?").answer().await?, "Short.");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn before_end<F, R>(decide: F) -> impl AgentHook + 'static
where
    F: Fn(StepEnd) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<Message>, ToolError>> + Send + 'static,
{
    BeforeEndStage(decide)
}

struct BeforeModelStage<F>(F);

impl<F, R> AgentHook for BeforeModelStage<F>
where
    F: Fn(Step) -> R + Send + Sync,
    R: Future<Output = Result<BeforeModel, ToolError>> + Send,
{
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        match (self.0)(step.clone()).await? {
            BeforeModel::Ask(changed) => {
                *step = changed;
                Ok(None)
            }
            BeforeModel::Answer(response) => Ok(Some(response)),
        }
    }
}

struct AfterModelStage<F>(F);

impl<F, R> AgentHook for AfterModelStage<F>
where
    F: Fn(Step, Response) -> R + Send + Sync,
    R: Future<Output = Result<Option<Response>, ToolError>> + Send,
{
    fn after_model(
        &self,
        step: &Step,
        response: &Response,
    ) -> impl Future<Output = Result<Option<Response>, ToolError>> + Send {
        (self.0)(step.clone(), response.clone())
    }
}

struct OnModelErrorStage<F>(F);

impl<F, R> AgentHook for OnModelErrorStage<F>
where
    F: Fn(Step, ModelError) -> R + Send + Sync,
    R: Future<Output = Result<Option<Response>, ToolError>> + Send,
{
    fn on_model_error(
        &self,
        step: &Step,
        error: &ModelError,
    ) -> impl Future<Output = Result<Option<Response>, ToolError>> + Send {
        (self.0)(step.clone(), error.clone())
    }
}

struct AfterStepStage<F>(F);

impl<F, R> AgentHook for AfterStepStage<F>
where
    F: Fn(StepEnd) -> R + Send + Sync,
    R: Future<Output = Result<ControlFlow<()>, ToolError>> + Send,
{
    fn after_step(&self, end: &StepEnd) -> impl Future<Output = Result<ControlFlow<()>, ToolError>> + Send {
        (self.0)(end.clone())
    }
}

struct BeforeEndStage<F>(F);

impl<F, R> AgentHook for BeforeEndStage<F>
where
    F: Fn(StepEnd) -> R + Send + Sync,
    R: Future<Output = Result<Option<Message>, ToolError>> + Send,
{
    fn before_end(&self, end: &StepEnd) -> impl Future<Output = Result<Option<Message>, ToolError>> + Send {
        (self.0)(end.clone())
    }
}
