//! Asks workers for the steps of a tool, before its call is judged.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until, timeout_at};
use tool_runtime::{
    BoxFuture, ErrorKind, ToolContext, ToolError, ToolName,
    definition::{
        Confirmation, ContentHash, Redirection, RemotePreparation, RemoteSteps, StepError, ToolSteps,
    },
    request::ModelRequest,
    schema::Arguments,
};

use super::{
    connection::Reply,
    request::{millis_until, run_parts, state_of},
    route::CallRoute,
    tool::RemoteTool,
};
use crate::{
    message::Message,
    steps::{PrepareRequest, RedirectRequest},
};

/// The end of a question to one worker.
pub(super) enum QuestionEnd {
    Answer(Message),
    /// The error of the tool.
    Failed(ToolError),
    /// No worker received it.
    NoReceiver,
    Unanswered(String),
}

impl RemoteTool {
    /// Asks one worker, and another one if there is no receiver, for as long as a preparation may take: workers whose connections are lost with
    /// the broker are back some time after it.
    async fn ask_worker(&self, request: impl Fn() -> Message) -> Result<Message, StepError> {
        let deadline = Instant::now() + self.connection().settings.preparation;
        let mut route = CallRoute::default();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(registry) = route.choose_registry(self, left).await else {
                let pool = self.connection().channel.pool();
                let problem = format!(
                    "no worker of the pool `{pool}` has this tool; start one, or list the tools again"
                );
                return Err(not_run_error(&problem));
            };
            match self.ask_twice(registry, &request, deadline).await {
                QuestionEnd::Answer(answer) => return Ok(answer),
                QuestionEnd::Failed(error) => return Err(StepError::Refused(self.rename_error(error))),
                QuestionEnd::NoReceiver => route.note_no_receiver(registry),
                QuestionEnd::Unanswered(problem) => return Err(not_run_error(&problem)),
            }
        }
    }

    /// Asks a worker of a registry, and once more after half the time: the first one may have ended with the question, which has no effects.
    async fn ask_twice(
        &self,
        registry: ContentHash,
        request: impl Fn() -> Message,
        deadline: Instant,
    ) -> QuestionEnd {
        let now = Instant::now();
        let half_time = now + deadline.saturating_duration_since(now) / 2;
        let mut first = std::pin::pin!(self.ask_registry(registry, request(), deadline));
        let second = async {
            sleep_until(half_time).await;
            self.ask_registry(registry, request(), deadline).await
        };
        let end = tokio::select! {
            end = &mut first => return end,
            end = second => end,
        };
        match end {
            QuestionEnd::Answer(_) | QuestionEnd::Failed(_) => end,
            QuestionEnd::NoReceiver | QuestionEnd::Unanswered(_) => first.await,
        }
    }

    /// Asks one worker of a registry, until `deadline`.
    pub(super) async fn ask_registry(
        &self,
        registry: ContentHash,
        request: Message,
        deadline: Instant,
    ) -> QuestionEnd {
        let connection = self.connection();
        let mut replies = connection.register_replies();
        let subject = connection.channel.definitions_subject(registry);
        let stored = match connection.send_step(&subject, &replies, request).await {
            Ok(stored) => stored,
            Err(error) => {
                // Such as arguments that are too large for the broker: to try again is no help.
                let message = format!("the worker was not asked: {error}");
                return QuestionEnd::Failed(ToolError::new(ErrorKind::Unavailable, message));
            }
        };
        // The store had a time of its own.
        let after_store = stored.as_ref().map(|_| Instant::now() + connection.settings.preparation);
        let deadline = after_store.unwrap_or(deadline).max(deadline);
        match timeout_at(deadline, replies.next()).await {
            Ok(Reply::Received(received)) => match connection.read_answer(received.message, &replies).await {
                Err(error) => QuestionEnd::Unanswered(error.to_string()),
                Ok(Message::Unanswerable { problem }) => QuestionEnd::Unanswered(problem),
                Ok(Message::StepFailed(error)) => QuestionEnd::Failed(*error),
                Ok(answer) => QuestionEnd::Answer(answer),
            },
            Ok(Reply::NoReceiver) => QuestionEnd::NoReceiver,
            Ok(Reply::Closed | Reply::Overflow) => {
                QuestionEnd::Unanswered("the connection to the workers is closed".to_owned())
            }
            Err(_) => {
                let (pool, limit) = (connection.channel.pool(), connection.settings.preparation);
                QuestionEnd::Unanswered(format!("no worker of the pool `{pool}` answered within {limit:?}"))
            }
        }
    }

    async fn ask_for_preparation(
        &self,
        arguments: &str,
        cx: &ToolContext,
    ) -> Result<RemotePreparation, StepError> {
        let run = cx.run().map(|run| run_parts(run, state_of(cx))).transpose();
        let run = run.map_err(StepError::Refused)?;
        let request = PrepareRequest {
            definition: self.hash(),
            arguments: arguments.to_owned(),
            address: cx.address(),
            time_left: millis_until(cx.deadline()),
            answer_within: self.answer_within(),
            meta: cx.meta().cloned(),
            resources: cx.resources().to_vec(),
            run,
        };
        match self.ask_worker(|| Message::Prepare(Box::new(request.clone()))).await? {
            Message::Prepared(preparation) => Ok(preparation.into_remote(|error| self.rename_error(error))),
            _ => Err(StepError::Refused(wrong_answer_error())),
        }
    }

    async fn ask_for_redirection(&self, arguments: &str) -> Result<Redirection, StepError> {
        let request = RedirectRequest {
            definition: self.hash(),
            arguments: arguments.to_owned(),
            answer_within: self.answer_within(),
        };
        let answer = match self.ask_worker(|| Message::Redirect(request.clone())).await? {
            Message::Redirected(answer) => answer,
            _ => return Err(StepError::Refused(wrong_answer_error())),
        };
        // Of this pool, whatever the worker says.
        let name = ToolName::new(answer.name)
            .map_err(|error| ToolError::failed(format!("a worker named an invalid tool: {error}")))
            .map_err(StepError::Refused)?;
        Ok(Redirection::new(self.name_here(&name).to_string(), answer.arguments))
    }

    pub(super) fn answer_within(&self) -> u64 {
        u64::try_from(self.connection().settings.preparation.as_millis()).unwrap_or(u64::MAX)
    }
}

impl RemoteSteps for RemoteTool {
    fn owner(&self) -> usize {
        Arc::as_ptr(self.connection()) as usize
    }

    fn steps(&self) -> ToolSteps {
        self.tool_steps()
    }

    fn has_checks(&self) -> bool {
        let metadata = self.own_definition().metadata();
        metadata.permission || metadata.confirmation == Confirmation::Sometimes
    }

    fn prepare_call<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<RemotePreparation, StepError>> {
        Box::pin(async move { self.ask_for_preparation(arguments.as_str(), cx).await })
    }

    fn redirect_call<'a>(
        &'a self,
        arguments: Arguments<'a>,
    ) -> BoxFuture<'a, Result<Redirection, StepError>> {
        Box::pin(async move { self.ask_for_redirection(arguments.as_str()).await })
    }

    fn announce_request(&self, request: &ModelRequest) {
        self.announce_to_round(request);
    }
}

/// The error of a call that was not prepared.
fn not_run_error(problem: &str) -> StepError {
    let message = format!("the call was not prepared, and did not run: {problem}");
    StepError::Unanswered(ToolError::new(ErrorKind::Unavailable, message).retryable(true))
}

pub(super) fn wrong_answer_error() -> ToolError {
    ToolError::failed("a worker answered with another message than it was asked for; nothing was executed")
}
