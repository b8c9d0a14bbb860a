//! One call of a tool of a server.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, DEFAULT_MRTR_MAX_ROUNDS,
    LoggingLevel, ServerResult,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc::Receiver;
use tool_runtime::ToolContext;

use super::{
    config::Timeouts,
    connection::{Connection, RequestParts},
    definitions::DefinitionReader,
    error::ClientError,
    pins::CurrentPins,
    questions::QuestionAllowance,
    requests::RequestSender,
    transport::{CallReport, CallSlot},
};

/// A call.
pub(super) struct RemoteCall<'a> {
    /// The name of the tool at the server.
    pub(super) tool: &'a str,
    pub(super) arguments: Map<String, Value>,
    pub(super) meta: Map<String, Value>,
    /// `true` if the call may be repeated after it may have reached the server.
    pub(super) repeatable: bool,
    /// `None` for a call outside a run.
    pub(super) context: Option<&'a ToolContext>,
}

/// Calls the tools of a server.
pub(super) struct ToolCaller {
    pub(super) requests: RequestSender,
    pub(super) definitions: DefinitionReader,
    pub(super) pins: CurrentPins,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) call_meta: Option<Arc<CallMeta>>,
}

/// Returns the metadata that is sent with a call.
pub(super) type CallMeta = dyn Fn(&ToolContext) -> Map<String, Value> + Send + Sync;

impl ToolCaller {
    /// Calls a tool: connects if necessary, and again as far as that is allowed.
    pub(super) async fn call_tool(&self, call: RemoteCall<'_>) -> Result<CallToolResult, ClientError> {
        self.pins.check_tool(call.tool, &self.definitions, &self.requests).await?;
        let (shared, config) = (&self.requests.connection, self.requests.config());
        let mut connection = shared.get_or_connect().await?;
        let allowance = QuestionAllowance::new(&config.limits);
        let mut left = config.reconnect;
        loop {
            let error = match self.call_in_rounds(&connection, &call, &allowance).await {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            if error.is_connection_loss() {
                let may_repeat = call.repeatable || error.never_reached_server();
                if left > 0 && may_repeat {
                    left -= 1;
                    tracing::info!(server = self.requests.name(), tool = call.tool, %error, "connecting again");
                    connection = shared.replacement_for(&connection).await?;
                    continue;
                }
                if config.reconnect > 0 {
                    // The next call has a new connection.
                    shared.discard_if_current(&connection);
                }
            }
            return Err(error);
        }
    }

    async fn call_in_rounds(
        &self,
        connection: &Arc<Connection>,
        call: &RemoteCall<'_>,
        allowance: &Arc<QuestionAllowance>,
    ) -> Result<CallToolResult, ClientError> {
        let mut params = CallToolRequestParams::new(call.tool.to_owned());
        params.arguments = Some(call.arguments.clone());
        for _ in 0..DEFAULT_MRTR_MAX_ROUNDS {
            match self.send_round(connection, call, allowance, params.clone()).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                // A result without content.
                ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
                    return Ok(CallToolResult::default());
                }
                ServerResult::InputRequiredResult(required) => {
                    (params.input_responses, params.request_state) =
                        self.requests.answer_questions(connection, required, call.context, allowance).await?;
                }
                ServerResult::CreateTaskResult(_) => {
                    return Err(self
                        .requests
                        .unusable_answer("it is a task, which this client did not ask for"));
                }
                _ => return Err(self.requests.unusable_answer("it is no result of a tool")),
            }
        }
        Err(self.requests.unusable_answer(format!("it asked for input {DEFAULT_MRTR_MAX_ROUNDS} times")))
    }

    /// Sends the request of one round, and passes reports on until its result is here.
    async fn send_round(
        &self,
        connection: &Connection,
        call: &RemoteCall<'_>,
        allowance: &Arc<QuestionAllowance>,
        params: CallToolRequestParams,
    ) -> Result<ServerResult, ClientError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut parts =
            RequestParts { timeouts: self.timeouts_unless_deadline(call.context), ..RequestParts::default() }
                .with_meta(call.meta.clone());
        #[cfg(feature = "http")]
        {
            let headers = &self.requests.connection.connector.headers;
            parts.headers = headers.request_headers(call.context).await?;
        }
        let (slot, reports) = CallSlot::new(call.context.cloned(), Arc::clone(allowance));
        parts.slot = Some(slot);
        let Some(context) = call.context else { return connection.send_request(request, parts).await };
        pass_reports_until(context, reports, connection.send_request(request, parts)).await
    }

    /// Returns the metadata that is sent with a call: the trace, and what the program adds.
    pub(super) fn call_metadata(&self, cx: &ToolContext) -> Map<String, Value> {
        #[cfg(feature = "opentelemetry")]
        let mut meta = tool_runtime::trace_context();
        #[cfg(not(feature = "opentelemetry"))]
        let mut meta = Map::new();
        if let Some(level) = self.log_level {
            let level = serde_json::to_value(level).unwrap_or_default();
            meta.insert("io.modelcontextprotocol/logLevel".to_owned(), level);
        }
        if let Some(more) = &self.call_meta {
            meta.extend(more(cx));
        }
        meta
    }

    /// The timeout of a call: none if the run has a deadline.
    fn timeouts_unless_deadline(&self, context: Option<&ToolContext>) -> Option<Timeouts> {
        context.and_then(ToolContext::deadline).is_none().then(|| self.requests.config().timeouts())
    }
}

/// Passes the reports on until `result` is here, and then those that came before it.
async fn pass_reports_until(
    context: &ToolContext,
    mut reports: Receiver<CallReport>,
    result: impl Future<Output = Result<ServerResult, ClientError>>,
) -> Result<ServerResult, ClientError> {
    let mut result = std::pin::pin!(result);
    let result = loop {
        tokio::select! {
            biased;
            Some(report) = reports.recv() => deliver_report(context, report),
            result = &mut result => break result,
        }
    };
    while let Ok(report) = reports.try_recv() {
        deliver_report(context, report);
    }
    result
}

fn deliver_report(context: &ToolContext, report: CallReport) {
    let passed = match report {
        CallReport::Progress(progress) => context.progress(progress),
        CallReport::Log(line) => context.log(line),
    };
    if let Err(error) = passed {
        tracing::debug!(%error, "a report of an MCP server was not delivered");
    }
}
