//! Requests that hooks make themselves, in addition to the request of a round.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tool_runtime::{RunContext, dialect::Usage};
use tracing::Instrument as _;

use super::{Step, StepEnd};
use crate::{
    model::{ModelError, Request, Response, SharedModel},
    telemetry::{self, ChatSpan, TracedAgent},
};

/// The requests that the hooks of a run made since they were counted last.
#[derive(Clone)]
pub(crate) struct HookRequests {
    agent: TracedAgent,
    responses: Arc<Mutex<Vec<CountedResponse>>>,
}

/// The counts of one response.
pub(crate) struct CountedResponse {
    /// The name of the model that was asked.
    pub(crate) model: String,
    /// The name of the model in its response.
    pub(crate) response_model: Option<Arc<str>>,
    pub(crate) usage: Option<Usage>,
}

impl HookRequests {
    pub(crate) fn new(agent: TracedAgent) -> Self {
        Self { agent, responses: Arc::default() }
    }

    /// Removes the counts of all responses so far.
    pub(crate) fn take(&self) -> Vec<CountedResponse> {
        std::mem::take(&mut *self.responses.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, counted: CountedResponse) {
        self.responses.lock().unwrap_or_else(PoisonError::into_inner).push(counted);
    }

    async fn ask_and_count(
        &self,
        run: &Arc<RunContext>,
        model: SharedModel,
        mut request: Request,
    ) -> Result<Response, ModelError> {
        request.run = Arc::clone(run);
        let chat = ChatSpan::new(&self.agent, &model, &request);
        let entered = chat.span().clone();
        // A panic of the model is one of the hook, which is inside the barrier.
        let result = model.respond(request.clone()).response().instrument(entered).await;
        match &result {
            Ok(response) => {
                chat.record_response(&request, response);
                let (response_model, usage) = (response.model.clone(), response.usage);
                self.add(CountedResponse { model: model.name().to_owned(), response_model, usage });
            }
            Err(error) => chat.record_error(telemetry::error_type(error.kind()), error),
        }
        result
    }
}

impl Step {
    /// Asks a model for the hook, beside the request of this round. The request belongs to the run: its tokens are
    /// counted by [`RunUsage::additional`](crate::RunUsage::additional), the limits of tokens and cost, and the budget;
    /// it is not a round. Its events are not shown.
    ///
    /// # Errors
    ///
    /// Returns the error of the model.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Message, Runner, ScriptedModel, hook, model::{Reply, Request, SharedModel}};
    /// use tool_runtime::prelude::*;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let small = SharedModel::new(ScriptedModel::new([Reply::text("French")]));
    /// let agent = Agent::builder("translator", ScriptedModel::new([Reply::text("Bonjour.")]))
    ///     .hook(hook::before_model(move |mut step| {
    ///         let small = small.clone();
    ///         async move {
    ///             let asked = step.ask(small, Request::new([Message::user("Which language?")])).await;
    ///             let language = asked.map_err(|error| ToolError::failed(error.to_string()))?.message.text();
    ///             step.request.instruction = format!("Answer in {language}.").into();
    ///             Ok(step.into())
    ///         }
    ///     }))
    ///     .build()?;
    /// assert_eq!(Runner::new(agent).run("Hello.").answer().await?, "Bonjour.");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub async fn ask(&self, model: impl Into<SharedModel>, request: Request) -> Result<Response, ModelError> {
        self.hook_requests.ask_and_count(self.run(), model.into(), request).await
    }

    /// Counts the tokens of a request that the hook made without [`ask`](Self::ask), such as one to a server of embeddings. They belong to
    /// the run as those of `ask` do; their price is the one of `model`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Runner, ScriptedModel, hook, model::Reply};
    /// use tool_runtime::{dialect::Usage, prelude::*};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let agent = Agent::builder("translator", ScriptedModel::new([Reply::text("Bonjour.")]))
    ///     .hook(hook::before_model(|step| async move {
    ///         let mut usage = Usage::default();
    ///         usage.input = Some(12);
    ///         step.count_usage("bge-small", usage);
    ///         Ok(step.into())
    ///     }))
    ///     .build()?;
    /// let end = Runner::new(agent).run("Hello.").end().await;
    /// assert_eq!(end.usage.additional.input, Some(12));
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn count_usage(&self, model: impl Into<String>, usage: Usage) {
        self.hook_requests.add(CountedResponse {
            model: model.into(),
            response_model: None,
            usage: Some(usage),
        });
    }
}

impl StepEnd {
    /// Asks a model for the hook: see [`Step::ask`].
    ///
    /// # Errors
    ///
    /// Returns the error of the model.
    pub async fn ask(&self, model: impl Into<SharedModel>, request: Request) -> Result<Response, ModelError> {
        self.hook_requests.ask_and_count(&self.run, model.into(), request).await
    }
}

impl fmt::Debug for HookRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookRequests")
    }
}
