//! One call of a tool of a server.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, DEFAULT_MRTR_MAX_ROUNDS,
    ErrorCode, InputRequiredResult, InputResponses, ServerResult,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc::Receiver;
use tool_runtime::ToolContext;

use super::{
    config::Timeouts,
    connection::{Connection, Parts},
    error::{Cause, ClientError},
    link::Link,
    questions::Allowance,
    transport::{Report, Slot},
};

/// A call.
pub(super) struct Call<'a> {
    /// The name of the tool at the server.
    pub(super) tool: &'a str,
    pub(super) arguments: Map<String, Value>,
    pub(super) meta: Map<String, Value>,
    /// `true` if the call may be repeated after it may have reached the server.
    pub(super) repeatable: bool,
    /// `None` for a call outside a run.
    pub(super) context: Option<&'a ToolContext>,
}

impl Link {
    /// Calls a tool: connects if necessary, and again as far as that is allowed.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<CallToolResult, ClientError> {
        self.admit(call.tool).await?;
        let mut connection = self.connection().await?;
        let allowance = Allowance::new(&self.config.limits);
        let mut left = self.config.reconnect;
        loop {
            let error = match self.call_over(&connection, &call, &allowance).await {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            if error.is_loss() {
                let may_repeat = call.repeatable || error.never_arrived();
                if left > 0 && may_repeat {
                    left -= 1;
                    tracing::info!(server = &*self.name, tool = call.tool, %error, "connecting again");
                    connection = self.instead_of(&connection).await?;
                    continue;
                }
                if self.config.reconnect > 0 {
                    // The next call has a new connection.
                    self.forget(&connection);
                }
            }
            return Err(error);
        }
    }

    async fn call_over(
        &self,
        connection: &Arc<Connection>,
        call: &Call<'_>,
        allowance: &Arc<Allowance>,
    ) -> Result<CallToolResult, ClientError> {
        let mut params = CallToolRequestParams::new(call.tool.to_owned());
        params.arguments = Some(call.arguments.clone());
        for _ in 0..DEFAULT_MRTR_MAX_ROUNDS {
            match self.round(connection, call, allowance, params.clone()).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                // A result without content.
                ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
                    return Ok(CallToolResult::default());
                }
                ServerResult::InputRequiredResult(asked) => {
                    (params.input_responses, params.request_state) =
                        self.answered(connection, asked, call.context, allowance).await?;
                }
                ServerResult::CreateTaskResult(_) => {
                    return Err(self.unusable("it is a task, which this client did not ask for"));
                }
                _ => return Err(self.unusable("it is no result of a tool")),
            }
        }
        Err(self.unusable(format!("it asked for input {DEFAULT_MRTR_MAX_ROUNDS} times")))
    }

    fn unusable(&self, message: impl Into<String>) -> ClientError {
        ClientError::unusable(&self.name, message)
    }

    /// Answers the questions of a server, for the next round.
    pub(super) async fn answered(
        &self,
        connection: &Connection,
        asked: InputRequiredResult,
        context: Option<&ToolContext>,
        allowance: &Allowance,
    ) -> Result<(Option<InputResponses>, Option<String>), ClientError> {
        let questions = asked.input_requests.unwrap_or_default();
        if questions.is_empty() && asked.request_state.is_none() {
            return Err(self.unusable("it asks for input, and says not which"));
        }
        let answered = connection.handler.answer(questions, context, allowance).await;
        let answers = answered.map_err(|error| match error.code {
            // The question, and not the answer of the program.
            ErrorCode::INVALID_REQUEST => self.unusable(error.message),
            _ => self.error(Cause::Refused(error)),
        })?;
        Ok(((!answers.is_empty()).then_some(answers), asked.request_state))
    }

    /// Sends the request of one round, and passes reports on until its result is here.
    async fn round(
        &self,
        connection: &Connection,
        call: &Call<'_>,
        allowance: &Arc<Allowance>,
        params: CallToolRequestParams,
    ) -> Result<ServerResult, ClientError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut parts =
            Parts { timeouts: self.timeouts(call.context), ..Parts::default() }.with_meta(call.meta.clone());
        #[cfg(feature = "http")]
        {
            parts.headers = self.request_headers(call.context).await?;
        }
        let (slot, reports) = Slot::new(call.context.cloned(), Arc::clone(allowance));
        parts.slot = Some(slot);
        let Some(context) = call.context else { return connection.request(request, parts).await };
        reported(context, reports, connection.request(request, parts)).await
    }

    /// The timeout of a call: none if the run has a deadline.
    fn timeouts(&self, context: Option<&ToolContext>) -> Option<Timeouts> {
        context.and_then(ToolContext::deadline).is_none().then(|| self.config.timeouts())
    }
}

/// Passes the reports on until `result` is here, and then those that came before it.
async fn reported(
    context: &ToolContext,
    mut reports: Receiver<Report>,
    result: impl Future<Output = Result<ServerResult, ClientError>>,
) -> Result<ServerResult, ClientError> {
    let mut result = std::pin::pin!(result);
    let result = loop {
        tokio::select! {
            biased;
            Some(report) = reports.recv() => pass_on(context, report),
            result = &mut result => break result,
        }
    };
    while let Ok(report) = reports.try_recv() {
        pass_on(context, report);
    }
    result
}

fn pass_on(context: &ToolContext, report: Report) {
    let passed = match report {
        Report::Progress(progress) => context.progress(progress),
        Report::Log(line) => context.log(line),
    };
    if let Err(error) = passed {
        tracing::debug!(%error, "a report of an MCP server was not delivered");
    }
}
