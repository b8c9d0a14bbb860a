//! Requests for resources and prompts.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CompleteRequestMethod, CompleteRequestParams, CompleteResult, CompletionInfo, ConstString,
        GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, ReadResourceRequestMethod,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tool_runtime::{
    ErrorKind, RunContext, ToolError,
    diagnostic::Diagnostic,
    guard::{catch, catch_async},
};

use super::{
    handler::RequestHandler,
    offer::{Completing, Prompts, Resources},
    question_round::{RoundOutcome, RoundRequest, RoundSubject},
    request_run::wait_for_client_departure,
};
use crate::content;

/// The most candidates of an answer, by the protocol.
const MAX_CANDIDATES: usize = CompletionInfo::MAX_VALUES;

impl RequestHandler {
    pub(super) fn require_resources<M: ConstString>(&self) -> Result<&Arc<dyn Resources>, ErrorData> {
        self.shared.resources.as_ref().ok_or_else(ErrorData::method_not_found::<M>)
    }

    pub(super) fn require_prompts<M: ConstString>(&self) -> Result<&Arc<dyn Prompts>, ErrorData> {
        self.shared.prompts.as_ref().ok_or_else(ErrorData::method_not_found::<M>)
    }

    pub(super) async fn answer_read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let resources = self.require_resources::<ReadResourceRequestMethod>()?;
        let uri = request.uri;
        let asking = RoundRequest {
            subject: RoundSubject::Resource(&uri),
            arguments: "",
            state: request.request_state,
            responses: request.input_responses,
        };
        let read = async |run: RunContext| {
            let run = Arc::new(run);
            self.run_program_code(context, Some(&uri), async { resources.read(&run, &uri).await }).await
        };
        Ok(match self.run_in_round(context, asking, self.run_context(context), read, |_| false).await? {
            RoundOutcome::Complete(read) => {
                ReadResourceResult::new(read.iter().map(content::to_contents).collect()).into()
            }
            RoundOutcome::Asks(asks) => asks.into(),
        })
    }

    pub(super) async fn answer_get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompts = self.require_prompts::<GetPromptRequestMethod>()?;
        let name = request.name;
        let arguments = text_arguments(request.arguments.unwrap_or_default())?;
        let written = json!(arguments).to_string();
        let asking = RoundRequest {
            subject: RoundSubject::Prompt(&name),
            arguments: &written,
            state: request.request_state,
            responses: request.input_responses,
        };
        let get = async |run: RunContext| {
            let run = Arc::new(run);
            self.run_program_code(context, None, async { prompts.get(&run, &name, &arguments).await }).await
        };
        Ok(match self.run_in_round(context, asking, self.run_context(context), get, |_| false).await? {
            RoundOutcome::Complete(result) => result.into(),
            RoundOutcome::Asks(asks) => asks.into(),
        })
    }

    pub(super) async fn answer_complete(
        &self,
        request: CompleteRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let run = Arc::new(self.run_context(context));
        let others = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let completing = |of| Completing {
            of,
            argument: &request.argument.name,
            value: &request.argument.value,
            others: &others,
        };
        let candidates = match &request.r#ref {
            Reference::Prompt(prompt) => {
                let prompts = self.require_prompts::<CompleteRequestMethod>()?;
                let completing = completing(&prompt.name);
                self.run_program_code(context, None, async { prompts.complete(&run, completing).await })
                    .await?
            }
            Reference::Resource(template) => {
                let resources = self.require_resources::<CompleteRequestMethod>()?;
                let completing = completing(&template.uri);
                self.run_program_code(context, None, async { resources.complete(&run, completing).await })
                    .await?
            }
            _ => return Err(ErrorData::invalid_params("`ref` is neither a prompt nor a resource", None)),
        };
        let mut info = CompletionInfo::default();
        info.total = u32::try_from(candidates.len()).ok();
        info.has_more = Some(candidates.len() > MAX_CANDIDATES);
        info.values = candidates;
        info.values.truncate(MAX_CANDIDATES);
        Ok(CompleteResult::new(info))
    }

    /// Reports the diagnostics of a list.
    pub(super) fn report_diagnostics(&self, diagnostics: impl FnOnce() -> Vec<Diagnostic>) {
        match catch(diagnostics) {
            Ok(diagnostics) => self.shared.tools.diagnostics.report_list(&diagnostics),
            Err(panic) => tracing::error!(message = panic.message(), "the diagnostics of a list panicked"),
        }
    }

    /// Runs code of the program: until the client cancels the request, and inside the panic barrier. `uri` is the resource that
    /// the request names.
    pub(super) async fn run_program_code<T>(
        &self,
        context: &RequestContext<RoleServer>,
        uri: Option<&str>,
        body: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ErrorData> {
        let result = tokio::select! {
            biased;
            result = catch_async(|| body) => result.unwrap_or_else(|panic| Err(panic.into())),
            () = context.ct.cancelled() => Err(ToolError::cancelled()),
            () = wait_for_client_departure(context) => Err(ToolError::cancelled()),
        };
        result.map_err(|error| protocol_error(&error, uri))
    }
}

/// The error of the protocol.
pub(super) fn protocol_error(error: &ToolError, uri: Option<&str>) -> ErrorData {
    match (error.kind(), uri) {
        (ErrorKind::NotFound, Some(uri)) => {
            ErrorData::resource_not_found(error.feedback(), Some(json!({ "uri": uri })))
        }
        (ErrorKind::NotFound | ErrorKind::BadParameter | ErrorKind::InvalidArguments, _) => {
            ErrorData::invalid_params(error.feedback(), None)
        }
        _ => {
            tracing::warn!(%error, "a request failed");
            ErrorData::internal_error(error.feedback(), None)
        }
    }
}

/// The arguments of a prompt, which are texts.
fn text_arguments(arguments: serde_json::Map<String, Value>) -> Result<BTreeMap<String, String>, ErrorData> {
    let text = |(name, value)| match value {
        Value::String(text) => Ok((name, text)),
        _ => Err(ErrorData::invalid_params(format!("the argument `{name}` is no text"), None)),
    };
    arguments.into_iter().map(text).collect()
}
