//! One call of a tool: its run, its reports, its result.

use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, MetaObject, ProtocolVersion, Tool},
    service::RequestContext,
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use tool_runtime::{
    CallOutcome, Content, Executor, RunContext, ToolCall, ToolDefinition, ToolResult, schema::Arguments,
};

#[cfg(feature = "http")]
use super::listed_tools::has_header_parameters;
use super::{
    handler::RequestHandler,
    listed_tools::{RESULT_PROPERTY, admits_only_objects, non_text_result_schema},
    plain_call,
    question_round::{RoundOutcome, RoundRequest, RoundSubject},
    reports::CallReports,
};
use crate::content;

/// One request to call a tool.
pub(super) struct ToolCallRequest<'a> {
    pub(super) handler: &'a RequestHandler,
    pub(super) context: RequestContext<RoleServer>,
    /// Since 2026-07-28: no requests to the client, and results of any type.
    pub(super) is_modern: bool,
}

impl<'a> ToolCallRequest<'a> {
    #[cfg_attr(not(feature = "http"), expect(unused_mut, reason = "there are no headers to move"))]
    pub(super) fn new(handler: &'a RequestHandler, mut context: RequestContext<RoleServer>) -> Self {
        #[cfg(feature = "http")]
        if let Some(parts) = context.extensions.get_mut() {
            super::http::HttpRequestFacts::move_headers_to_facts(parts);
        }
        let is_modern = is_2026_07_or_later(&context);
        Self { handler, context, is_modern }
    }

    /// Answers the request.
    pub(super) async fn answer_request(
        self,
        request: CallToolRequestParams,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = match plain_call::take_plain_arguments(&self.context) {
            Some(text) => Arguments::from(text),
            None => request.arguments.map(Value::Object).map_or(Arguments::EMPTY, Arguments::from),
        };
        let run = self.handler.run_context(&self.context);
        let executor = self.handler.shared.tools.executor_for(&run).await?;
        let tool = executor
            .tools()
            .lookup(&request.name)
            .map_err(|error| ErrorData::invalid_params(error.feedback(), None))?;
        let definition = tool.definition().clone();
        // The tool that runs.
        let target = executor.tools().redirection_target(&request.name, arguments.as_borrowed());
        #[cfg(feature = "http")]
        self.refuse_redirect_with_headers(target)?;
        let is_task = self.should_run_as_task(target.unwrap_or(&definition));
        // Elsewhere, the call is refused before it runs. A message of the protocol is not repaired.
        let may_begin = executor.tools().repairs_arguments() || is_task;
        if may_begin && serde_json::from_str::<IgnoredAny>(arguments.as_str()).is_err() {
            return Err(ErrorData::parse_error("the arguments are not JSON", None));
        }

        // Up to 2025-11-25, a question has no state that its arguments are bound to.
        let bound = if self.is_modern { arguments.as_str().to_owned() } else { String::new() };
        let call = ToolCall::new(&*request.name, arguments).with_meta(self.context.meta.0.0.clone());
        if is_task {
            let (start, permit) = self.handler.create_task_start(&self.context).await?;
            let task = self.start_call_as_task(executor, definition, call, run, permit)?;
            self.handler.share_task(&task, start, &self.context).await?;
            return Ok(task.into());
        }
        let asking = RoundRequest {
            subject: RoundSubject::Tool(&definition),
            arguments: &bound,
            state: request.request_state,
            responses: request.input_responses,
        };
        let outcome = |run| self.run_call(&executor, call, run);
        let has_failed = |outcome: &CallOutcome| outcome.result().is_some_and(ToolResult::is_error);
        let outcome = match self.handler.run_in_round(&self.context, asking, run, outcome, has_failed).await?
        {
            RoundOutcome::Complete(outcome) => outcome,
            RoundOutcome::Asks(asks) => return Ok(asks.into()),
        };
        Ok(call_tool_result(&outcome, &definition, self.is_modern).into())
    }

    /// Returns an error if a call is redirected to `target`, of which the SDK would compare parameters with headers: it compares those of
    /// the tool that a request names.
    #[cfg(feature = "http")]
    fn refuse_redirect_with_headers(&self, target: Option<&ToolDefinition>) -> Result<(), ErrorData> {
        let is_over_http = self.is_modern && self.context.extensions.get::<http::request::Parts>().is_some();
        match target.filter(|target| is_over_http && has_header_parameters(target)) {
            None => Ok(()),
            Some(target) => {
                let name = target.name();
                let message = format!("call `{name}` itself: parameters of it are headers of the request");
                Err(ErrorData::invalid_params(message, None))
            }
        }
    }

    /// Logs a member of `_meta` that is there and cannot be read: the call goes on without the reports that it asks for.
    fn warn_of_unreadable_meta(&self, member: &str, is_none: bool) {
        if is_none && self.context.meta.0.0.get(member).is_some_and(|value| !value.is_null()) {
            tracing::warn!("`params._meta.{member}` cannot be read; the call has no such reports");
        }
    }

    /// Runs the call. Its reports are sent as they occur, if the client wants them.
    async fn run_call(
        &self,
        executor: &Executor,
        call: ToolCall,
        run: RunContext,
    ) -> Result<CallOutcome, ErrorData> {
        let token = self.context.meta.get_progress_token();
        let level = self.handler.log_level(&self.context, self.is_modern);
        self.warn_of_unreadable_meta("progressToken", token.is_none());
        self.warn_of_unreadable_meta("io.modelcontextprotocol/logLevel", self.is_modern && level.is_none());
        let tool = call.name.clone();
        let mut outcomes = match CallReports::sink_and_reports(token, level) {
            // Boxed, so that the future of the request, which is copied, is small.
            None => Box::pin(executor.batch(vec![call]).with_run(run).run()).await,
            Some((sink, reports)) => {
                let running = Box::pin(executor.batch(vec![call]).with_run(run.with_sink(sink)).run());
                reports.send_while_running(running, &self.context, &tool).await
            }
        };
        outcomes.pop().ok_or_else(|| ErrorData::internal_error("the call has no outcome", None))
    }
}

/// Returns the outcome of a call of the tool `definition` in the form of the protocol.
pub(super) fn call_tool_result(
    outcome: &CallOutcome,
    definition: &ToolDefinition,
    is_modern: bool,
) -> CallToolResult {
    let Some(result) = outcome.result() else {
        let text = format!("the tool `{}` has no result: its calls are answered elsewhere", outcome.name());
        return CallToolResult::error(vec![content::to_block(&Content::text(text))]);
    };
    let blocks: Vec<_> = result.content().iter().map(content::to_block).collect();
    let mut answer = match result.is_error() {
        true => CallToolResult::error(blocks),
        false => CallToolResult::success(blocks),
    };
    answer.structured_content = structured_value(result, definition, is_modern);
    if answer.content.is_empty()
        && let Some(value) = &answer.structured_content
    {
        answer.content.push(content::to_block(&Content::text(value.to_string())));
    }
    if answer.structured_content.is_none() && non_text_result_schema(definition).is_some() {
        // Such as the answer of an HTTP API that is no success: clients reject a success without the promised value.
        answer.is_error = Some(true);
    }
    answer.meta = result.meta().map(|meta| MetaObject(meta.clone()));
    answer
}

/// The structured value: of a tool that promises one, and any object.
fn structured_value(result: &ToolResult, definition: &ToolDefinition, is_modern: bool) -> Option<Value> {
    let schema = non_text_result_schema(definition);
    let wraps = schema.is_some_and(|schema| !is_modern && !admits_only_objects(schema));
    match result.structured()? {
        value @ Value::Object(_) if !wraps => Some(value),
        value if wraps && !result.is_error() => {
            Some(Map::from_iter([(RESULT_PROPERTY.to_owned(), value)]).into())
        }
        value if schema.is_some() && is_modern && !result.is_error() => Some(value),
        _ => None,
    }
}

/// Returns `true` for a request of revision 2026-07-28 or later.
pub(super) fn is_2026_07_or_later(context: &RequestContext<RoleServer>) -> bool {
    let is_modern = |version: &str| version >= ProtocolVersion::V_2026_07_28.as_str();
    // As `RequestContext::protocol_version`, without copies.
    match context.meta.0.0.get("io.modelcontextprotocol/protocolVersion") {
        Some(Value::String(version)) => is_modern(version),
        _ => context.peer.peer_info().is_some_and(|info| is_modern(info.protocol_version.as_str())),
    }
}

/// Returns the listed tool that a request names, if the transport compares its parameters with headers.
pub(super) fn listed_tool_with_headers(handler: &RequestHandler, name: &str) -> Option<Tool> {
    handler.last_listed_tools().tool_with_header_parameters(name).cloned()
}
