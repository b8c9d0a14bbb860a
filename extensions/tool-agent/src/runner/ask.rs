//! One request to the model, with its hooks.

use tool_runtime::{__private::Guarded, ToolError};
use tracing::Instrument as _;

use super::{AgentEventKind, drive::Drive};
use crate::{
    guard::{called, next_of},
    hook::{BoxAgentHook, Step},
    model::{ModelError, ModelErrorKind, ModelEvent, Response},
    telemetry::{self, ChatSpan},
};

/// The reason for which a round has no response.
pub(super) enum Failure {
    Model(ModelError),
    Hook(ToolError),
    Cancelled,
    Late,
    /// The message of the user was refused.
    Refused(String),
}

impl Drive {
    /// Asks the hooks and the model for the response of `step`.
    pub(super) async fn asked(&self, step: &mut Step) -> Result<Response, Failure> {
        let hooks = self.hooks();
        for hook in &hooks {
            let asked = self.of_hook(hook, || hook.dynamic().before_model(step)).await;
            if let Some(response) = asked? {
                self.request_output(step).map_err(Failure::Hook)?;
                self.show(&response).await;
                return Ok(response);
            }
        }
        self.request_output(step).map_err(Failure::Hook)?;
        let response = match self.streamed(step).await {
            Ok(response) => response,
            Err(Failure::Model(error)) => return self.recovered(&hooks, step, error).await,
            Err(failure) => return Err(failure),
        };
        for hook in &hooks {
            let asked = self.of_hook(hook, || hook.dynamic().after_model(step, &response)).await;
            if let Some(replacement) = asked? {
                let reason = format!("the hook `{}` replaced the response", hook.name());
                self.emit(AgentEventKind::Withdrawn { reason }).await;
                self.show(&replacement).await;
                return Ok(replacement);
            }
        }
        Ok(response)
    }

    async fn recovered(
        &self,
        hooks: &[BoxAgentHook],
        step: &Step,
        error: ModelError,
    ) -> Result<Response, Failure> {
        for hook in hooks {
            let asked = self.of_hook(hook, || hook.dynamic().on_model_error(step, &error)).await;
            if let Some(response) = asked? {
                self.emit(AgentEventKind::Withdrawn { reason: error.to_string() }).await;
                self.show(&response).await;
                return Ok(response);
            }
        }
        Err(Failure::Model(error))
    }

    /// Emits the text of a response that did not arrive from the model.
    async fn show(&self, response: &Response) {
        let delta = response.message.text();
        if !delta.is_empty() {
            self.emit(AgentEventKind::Text { delta }).await;
        }
    }

    /// Asks the model, and emits its events as they arrive, within a span.
    async fn streamed(&self, step: &Step) -> Result<Response, Failure> {
        let chat = ChatSpan::new(self.agent(), step);
        let entered = chat.span().clone();
        let result = self.received(step).instrument(entered).await;
        match &result {
            Ok(response) => chat.answered(step, response),
            Err(Failure::Model(error)) => chat.failed(telemetry::name_of(error.kind()), error),
            Err(Failure::Hook(error)) => chat.failed(error.kind().name(), &error.reason()),
            Err(Failure::Late) => chat.failed("timed_out", &"the time of the run is over"),
            Err(Failure::Cancelled | Failure::Refused(_)) => drop(chat),
        }
        result
    }

    async fn received(&self, step: &Step) -> Result<Response, Failure> {
        let panicked = |message: String| {
            Failure::Model(ModelError::new(ModelErrorKind::Other, format!("the model panicked: {message}")))
        };
        let request = step.request.clone();
        let events = called(|| step.model.respond(request)).map_err(panicked)?;
        // A panic of the stream's `Drop` is discarded.
        let mut events = Guarded::new(events);
        let late = self.late();
        tokio::pin!(late);
        loop {
            let event = tokio::select! {
                biased;
                () = self.run.cancellation().cancelled() => return Err(Failure::Cancelled),
                // Before the events, which may be ready without an end.
                () = &mut late => return Err(Failure::Late),
                event = next_of(&mut events) => event.map_err(panicked)?,
            };
            match event {
                None => return Err(Failure::Model(ModelError::without_end())),
                Some(Err(error)) => return Err(Failure::Model(error)),
                Some(Ok(ModelEvent::Text(delta))) => self.emit(AgentEventKind::Text { delta }).await,
                Some(Ok(ModelEvent::Reasoning(delta))) => {
                    self.emit(AgentEventKind::Reasoning { delta }).await
                }
                Some(Ok(ModelEvent::Retried { attempt, error, pause })) => {
                    let reason = format!("attempt {attempt} failed ({error}); the next one is in {pause:?}");
                    self.emit(AgentEventKind::Withdrawn { reason }).await;
                }
                Some(Ok(ModelEvent::FellBack { failed, error, next })) => {
                    let reason = format!("`{failed}` failed ({error}); `{next}` is asked");
                    self.emit(AgentEventKind::Withdrawn { reason }).await;
                }
                Some(Ok(ModelEvent::Unsupported(text) | ModelEvent::Notice(text))) => {
                    self.emit(AgentEventKind::Notice { text }).await
                }
                Some(Ok(ModelEvent::Extended(_))) => {}
                Some(Ok(ModelEvent::Finished(response))) => return Ok(response),
            }
        }
    }
}
