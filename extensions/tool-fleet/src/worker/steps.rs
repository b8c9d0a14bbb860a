//! Answers the requests of callers for steps of tools. Functions of tools run in tasks that the worker owns.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{sync::OwnedSemaphorePermit, task::JoinSet};
use tool_runtime::{
    CancellationToken, ErrorKind, RunContext, ToolCall, ToolError, definition::ContentHash,
    request::ModelRequest,
};

use super::{Server, call::run_of};
use crate::{
    message::Message,
    steps::{Additions, AdditionsRequest, MAX_STEPS, PrepareRequest, RedirectAnswer, RedirectRequest},
    values::ValueReference,
};

/// The longest time for one step, whatever its caller asks for.
const MAX_STEP_TIME: Duration = Duration::from_secs(60);

/// A step that a caller asks for.
pub(super) enum StepRequest {
    Prepare(PrepareRequest),
    Redirect(RedirectRequest),
    Additions(AdditionsRequest),
    /// In the store of large values.
    Stored(ValueReference),
}

impl StepRequest {
    fn answer_within(&self) -> Duration {
        let millis = match self {
            Self::Prepare(request) => request.answer_within,
            Self::Redirect(request) => request.answer_within,
            Self::Additions(request) => request.answer_within,
            Self::Stored(_) => u64::MAX,
        };
        Duration::from_millis(millis).min(MAX_STEP_TIME)
    }
}

impl Server {
    /// Answers a step in a task of its own, unless it was asked for before, or too many are open.
    pub(super) async fn begin_step(
        self: &Arc<Self>,
        request: StepRequest,
        reply: String,
        tasks: &mut JoinSet<()>,
    ) {
        if !self.calls.note_question(&reply) {
            return;
        }
        match Arc::clone(&self.steps).try_acquire_owned() {
            Ok(permit) => {
                tasks.spawn(Arc::clone(self).answer_step(request, reply, permit));
            }
            Err(_) => {
                let problem = format!("the worker prepares {MAX_STEPS} calls at once; try again later");
                self.send_or_warn(&reply, Message::Unanswerable { problem }).await;
            }
        }
    }

    async fn answer_step(
        self: Arc<Self>,
        request: StepRequest,
        reply: String,
        _permit: OwnedSemaphorePermit,
    ) {
        let is_stored = matches!(request, StepRequest::Stored(_));
        let request = match self.read_step(request, &reply).await {
            Ok(request) => request,
            Err(error) => {
                let problem = format!("the worker did not read the request: {error}");
                return self.send_or_warn(&reply, Message::Unanswerable { problem }).await;
            }
        };
        let limit = request.answer_within();
        let answering = async {
            match request {
                StepRequest::Prepare(request) => self.prepare_call(request).await.unwrap_or_else(step_failed),
                StepRequest::Redirect(request) => {
                    self.redirect_call(request).await.unwrap_or_else(step_failed)
                }
                StepRequest::Additions(request) => self.add_to_request(request).await,
                // It was read.
                StepRequest::Stored(_) => Message::Unanswerable { problem: "no request was read".to_owned() },
            }
        };
        // Later, the caller does not wait for it any more.
        if let Ok(answer) = tokio::time::timeout(limit, answering).await {
            // A caller that stores its request reads an answer in the store, too.
            match is_stored {
                true => self.send_large_answer(&reply, answer).await,
                false => self.send_answer(&reply, answer).await,
            }
        }
    }

    fn tool_name(&self, definition: ContentHash) -> Result<String, ToolError> {
        let other =
            || ToolError::new(ErrorKind::Unavailable, "this worker has another definition of the tool");
        self.index.definition(definition).map(|it| it.name().to_string()).ok_or_else(other)
    }

    async fn prepare_call(&self, request: PrepareRequest) -> Result<Message, ToolError> {
        let PrepareRequest { definition, arguments, address, time_left, meta, resources, run, .. } = request;
        let mut call = ToolCall::new(self.tool_name(definition)?, arguments)
            .with_id(address.call_id.to_string())
            .with_address(address)
            .with_resources(resources);
        if let Some(meta) = meta {
            call = call.with_meta(meta);
        }
        let run = run_of(run.as_ref(), time_left);
        let prepared = self.worker.executor.prepare_for_peer(&call, run).await?;
        Ok(Message::Prepared(Box::new(prepared.into())))
    }

    async fn redirect_call(&self, request: RedirectRequest) -> Result<Message, ToolError> {
        let call = ToolCall::new(self.tool_name(request.definition)?, request.arguments);
        let target = self.worker.executor.redirect_for_peer(&call).await?;
        let (name, arguments) = (target.name, target.arguments.as_str().to_owned());
        Ok(Message::Redirected(RedirectAnswer { name, arguments }))
    }

    async fn add_to_request(&self, request: AdditionsRequest) -> Message {
        let AdditionsRequest { tools, dialect, time_left, run, .. } = request;
        let stop = CancellationToken::new();
        let _ended = stop.clone().drop_guard();
        let run: Arc<RunContext> = Arc::new(run_of(Some(&run), time_left).with_cancellation(stop));
        let mut added = Vec::new();
        for tool in tools {
            // The body of the request stays with the caller.
            let of_run = ModelRequest::new(dialect.clone(), Value::Null, Arc::clone(&run));
            let of_tool = of_run.of_tool(tool.model_name);
            drop(of_run);
            let additions = match self.tool_name(tool.definition) {
                Ok(name) => self.worker.executor.tools().additions_of(&name, of_tool).await,
                Err(error) => Err(error),
            };
            added.push((tool.definition, additions.map(Into::into)));
        }
        Message::Added(Additions { tools: added })
    }

    /// Returns why this worker would run the call with other arguments than its caller judged, though the tool prepared them.
    pub(super) fn changes_arguments(&self, definition: ContentHash, arguments: &str) -> Option<String> {
        let name = self.index.definition(definition)?.name().as_str();
        let tools = self.worker.executor.tools();
        let keeps = !tools.steps_of(name).prepares_arguments || tools.keeps_arguments(name, arguments);
        (!keeps).then(|| "the worker would prepare other arguments than the caller judged".to_owned())
    }
}

fn step_failed(error: ToolError) -> Message {
    Message::StepFailed(Box::new(error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_step_has_the_time_of_its_caller_and_a_minute_at_most() {
        let hash = ContentHash::of("tool");
        let redirect = |answer_within| {
            let arguments = "{}".to_owned();
            StepRequest::Redirect(RedirectRequest { definition: hash, arguments, answer_within })
        };
        let prepare = json!({
            "definition": hash, "arguments": "{}", "address": { "callId": "c", "serial": 1 }, "answer_within": 30, "resources": [],
        });
        let additions = json!({
            "tools": [], "dialect": "d", "answer_within": 40, "run": { "id": "r", "has_budget": false },
        });
        let stored = json!({ "name": "trip.a", "bytes": 1, "hash": hash });
        let times = [
            redirect(20),
            redirect(60_000),
            redirect(60_001),
            StepRequest::Prepare(serde_json::from_value(prepare).unwrap()),
            StepRequest::Additions(serde_json::from_value(additions).unwrap()),
            StepRequest::Stored(serde_json::from_value(stored).unwrap()),
        ];
        let millis = times.map(|step| step.answer_within().as_millis());
        assert_eq!(millis, [20, 60_000, 60_000, 30, 40, 60_000]);
    }
}
