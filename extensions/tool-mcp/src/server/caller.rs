//! The client that a call serves, as its tool sees it: questions to its user, its model and its file system.

use std::{fmt, sync::Arc, time::Duration};

use rmcp::{
    RoleServer, ServiceError,
    model::{
        ClientCapabilities, CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult,
        ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, ListRootsRequest,
        ListRootsResult, Root, SamplingMessage, ServerRequest,
    },
    service::{Peer, PeerRequestOptions},
    task_manager::{TaskContext, TaskExit},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tool_runtime::ToolError;

use super::question_round::QuestionRound;

/// The client that a call serves. A tool receives it as `caller: &Caller`, or `Option<&Caller>` if it is also called
/// without a server; the registry is built with
/// [`provide_per_run::<Caller>()`](tool_runtime::registry::RegistryBuilder::provide_per_run) for the former.
///
/// A client says what it can do: [`elicitation`](Self::elicitation), [`sampling`](Self::sampling) and
/// [`roots`](Self::roots) are `None` if it cannot.
///
/// # Questions in two protocols
///
/// Up to revision 2025-11-25, a question is a request to the client, and the body waits for the answer. From 2026-07-28 on,
/// a server cannot send requests: a question ends the call with the result `input_required`, and the client calls again
/// with the answer. **The body then runs again from its start**, and each question that was answered returns at once.
/// Therefore effects belong after the last question. The name of a question tells its answer from others: it is the same
/// each time the body runs, and no two questions of a call have the same.
///
/// Between the rounds, the answers so far are at the client, sealed: they open once, for some time
/// ([`McpServer::state_lifetime`](super::McpServer::state_lifetime)), and only for the same caller, definition and arguments. An
/// approval is such a question, so that it is asked for once. Rules, hooks, events and limits of the executor see each round as
/// a call that starts; a round that asks has no result for them. Each request is a run of its own.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_mcp::server::{Answer, Caller};
/// use tool_runtime::prelude::*;
///
/// /// Books a table.
/// #[tool]
/// async fn book(day: String, caller: Option<&Caller>) -> Result<String, ToolError> {
///     let Some(elicitation) = caller.and_then(Caller::elicitation) else {
///         return Err(ToolError::failed("the client cannot ask for the number of guests"));
///     };
///     let schema = json!({ "type": "object", "properties": { "guests": { "type": "integer" } } });
///     match elicitation.form("guests", "How many guests?", schema).await? {
///         Answer::Accepted(form) => Ok(format!("booked for {} on {day}", form["guests"])),
///         _ => Ok("not booked".to_owned()),
///     }
/// }
/// # Registry::builder().tool::<book>().build()?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Caller {
    channel: QuestionChannel,
    capabilities: Arc<ClientCapabilities>,
}

/// The channel of a question to the client.
#[derive(Clone)]
pub(super) enum QuestionChannel {
    /// A request on the connection, with a timeout.
    Request(Peer<RoleServer>, Duration),
    /// The result of the call.
    Round(Arc<QuestionRound>),
    /// The state of the task.
    Task(TaskContext),
}

impl fmt::Debug for QuestionChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request(..) => "Request",
            Self::Round(_) => "Round",
            Self::Task(_) => "Task",
        })
    }
}

/// The answer of a user to an elicitation.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer<T> {
    /// The user filled in the form.
    Accepted(T),
    /// The user said no.
    Declined,
    /// The user did not answer.
    Cancelled,
}

impl Caller {
    pub(super) fn new(channel: QuestionChannel, capabilities: Arc<ClientCapabilities>) -> Self {
        Self { channel, capabilities }
    }

    /// Returns the capabilities of the client.
    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    /// Returns the way to ask the user; `None` if the client cannot.
    #[must_use]
    pub fn elicitation(&self) -> Option<Elicitation<'_>> {
        let capability = self.capabilities.elicitation.as_ref()?;
        // Without a mode, forms are meant.
        (capability.form.is_some() || capability.url.is_none()).then_some(Elicitation(self))
    }

    /// Returns the way to ask the client's model; `None` if it has none.
    #[must_use]
    pub fn sampling(&self) -> Option<Sampling<'_>> {
        self.capabilities.sampling.is_some().then_some(Sampling(self))
    }

    /// Returns the way to list the folders that the client works in; `None` if it does not tell.
    #[must_use]
    pub fn roots(&self) -> Option<Roots<'_>> {
        self.capabilities.roots.is_some().then_some(Roots(self))
    }

    /// Returns the way to ask the user, for a tool that needs it.
    ///
    /// # Errors
    ///
    /// If the client cannot ask its user. From revision 2026-07-28 on, a call that fails without a required capability is
    /// answered by the JSON-RPC error -32021, which names the capability.
    pub fn require_elicitation(&self) -> Result<Elicitation<'_>, ToolError> {
        self.elicitation().ok_or_else(|| self.missing_capability_error("elicitation"))
    }

    /// Returns the way to ask the client's model, for a tool that needs it.
    ///
    /// # Errors
    ///
    /// If the client has none, as [`require_elicitation`](Self::require_elicitation).
    pub fn require_sampling(&self) -> Result<Sampling<'_>, ToolError> {
        self.sampling().ok_or_else(|| self.missing_capability_error("sampling"))
    }

    /// Returns the way to list the folders that the client works in, for a tool that needs it.
    ///
    /// # Errors
    ///
    /// If the client does not tell, as [`require_elicitation`](Self::require_elicitation).
    pub fn require_roots(&self) -> Result<Roots<'_>, ToolError> {
        self.roots().ok_or_else(|| self.missing_capability_error("roots"))
    }

    /// The error of a tool that requires `capability`.
    fn missing_capability_error(&self, capability: &'static str) -> ToolError {
        if let QuestionChannel::Round(round) = &self.channel {
            round.note_missing_capability(capability);
        }
        ToolError::failed(format!("the client does not support {capability}, which this tool requires"))
    }

    /// Asks the question `name`.
    async fn ask_client<T: DeserializeOwned>(
        &self,
        name: &str,
        request: InputRequest,
    ) -> Result<T, ToolError> {
        match &self.channel {
            QuestionChannel::Request(peer, timeout) => {
                let answer = send_question(peer, request, *timeout).await.map_err(|error| {
                    let text = match error {
                        ServiceError::Timeout { timeout } => {
                            format!("the client did not answer `{name}` within {timeout:?}")
                        }
                        _ => format!("the client did not answer `{name}`"),
                    };
                    ToolError::failed(format!("{text}: {error}")).with_feedback(text)
                })?;
                decoded_answer(name, answer)
            }
            QuestionChannel::Round(round) => round.ask_question(name, request).await,
            QuestionChannel::Task(task) => match task.request_input(name, request).await {
                Ok(answer) => decoded_answer(name, answer),
                Err(TaskExit::Cancelled) => Err(ToolError::cancelled()),
                Err(TaskExit::Error(error)) => Err(ToolError::internal(error.message)),
            },
        }
    }
}

/// Asks by a request, up to revision 2025-11-25.
async fn send_question(
    peer: &Peer<RoleServer>,
    request: InputRequest,
    timeout: Duration,
) -> Result<Value, ServiceError> {
    let request = match request {
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return Err(ServiceError::UnexpectedResponse),
    };
    let options = PeerRequestOptions::with_timeout(timeout);
    let answer = peer.send_request_with_option(request, options).await?.await_response().await?;
    serde_json::to_value(answer).map_err(|_| ServiceError::UnexpectedResponse)
}

/// Reads the answer to the question `name`.
fn decoded_answer<T: DeserializeOwned>(name: &str, answer: Value) -> Result<T, ToolError> {
    serde_json::from_value(answer)
        .map_err(|error| ToolError::failed(format!("the answer to `{name}` is invalid: {error}")))
}

/// Questions to the user of a client: [`Caller::elicitation`].
#[derive(Debug, Clone, Copy)]
pub struct Elicitation<'a>(&'a Caller);

impl Elicitation<'_> {
    /// Asks the user to fill in a form. `schema` is an object whose properties are texts, numbers, booleans and choices, as
    /// the [specification] restricts it.
    ///
    /// The answer is what the client sent, which is not checked against the schema.
    ///
    /// # Errors
    ///
    /// If the schema is none of a form, or the client does not answer.
    ///
    /// [specification]: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
    pub async fn form(
        &self,
        name: &str,
        message: &str,
        schema: Value,
    ) -> Result<Answer<Map<String, Value>>, ToolError> {
        let requested_schema = serde_json::from_value(schema).map_err(|error| {
            ToolError::internal(format!("`{name}`: the schema is none of a form: {error}"))
        })?;
        let params = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: message.to_owned(),
            requested_schema,
        };
        let result = self.ask_user(name, params).await?;
        Ok(match result.action {
            ElicitationAction::Accept => match result.content {
                Some(Value::Object(form)) => Answer::Accepted(form),
                _ => Answer::Accepted(Map::new()),
            },
            ElicitationAction::Decline => Answer::Declined,
            _ => Answer::Cancelled,
        })
    }

    /// Asks the user to fill in a form, and decodes the answer.
    ///
    /// # Errors
    ///
    /// As [`form`](Self::form), and if the answer is none of `T`.
    pub async fn decoded<T: DeserializeOwned>(
        &self,
        name: &str,
        message: &str,
        schema: Value,
    ) -> Result<Answer<T>, ToolError> {
        Ok(match self.form(name, message, schema).await? {
            Answer::Accepted(form) => {
                let decoded = serde_json::from_value(Value::Object(form));
                Answer::Accepted(decoded.map_err(|error| {
                    ToolError::failed(format!("the answer to `{name}` is invalid: {error}"))
                })?)
            }
            Answer::Declined => Answer::Declined,
            Answer::Cancelled => Answer::Cancelled,
        })
    }

    async fn ask_user(&self, name: &str, params: ElicitRequestParams) -> Result<ElicitResult, ToolError> {
        let request = InputRequest::Elicitation(ElicitRequest::new(params));
        self.0.ask_client(name, request).await
    }
}

/// Questions to the model of a client: [`Caller::sampling`].
#[derive(Debug, Clone, Copy)]
pub struct Sampling<'a>(&'a Caller);

impl Sampling<'_> {
    /// Asks the client's model.
    ///
    /// # Errors
    ///
    /// If the messages are invalid, require tools that the client's model does not support, or the client does not answer.
    pub async fn create(
        &self,
        name: &str,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ToolError> {
        let uses_tools = params.tools.is_some() || params.tool_choice.is_some();
        if uses_tools && self.0.capabilities.sampling.as_ref().is_none_or(|it| it.tools.is_none()) {
            return Err(ToolError::failed("the client's model does not support tools"));
        }
        params
            .validate()
            .map_err(|problem| ToolError::internal(format!("`{name}`: invalid messages: {problem}")))?;
        self.0.ask_client(name, InputRequest::CreateMessage(CreateMessageRequest::new(params))).await
    }
}

impl Sampling<'_> {
    /// Asks the client's model for a text of at most `max_tokens` tokens.
    ///
    /// # Errors
    ///
    /// If the client does not answer.
    pub async fn text(&self, name: &str, prompt: &str, max_tokens: u32) -> Result<String, ToolError> {
        let message = SamplingMessage::user_text(prompt);
        let result = self.create(name, CreateMessageRequestParams::new(vec![message], max_tokens)).await?;
        let blocks = result.message.content.into_vec();
        let texts = blocks.iter().filter_map(|block| block.as_text()).map(|text| text.text.as_str());
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }
}

/// The folders that a client works in: [`Caller::roots`].
#[derive(Debug, Clone, Copy)]
pub struct Roots<'a>(&'a Caller);

impl Roots<'_> {
    /// Lists the folders.
    ///
    /// # Errors
    ///
    /// If the client does not answer.
    pub async fn list(&self, name: &str) -> Result<Vec<Root>, ToolError> {
        let request = InputRequest::ListRoots(ListRootsRequest::default());
        let listed: ListRootsResult = self.0.ask_client(name, request).await?;
        Ok(listed.roots)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_is_asked_for_what_it_can_do() {
        for (capabilities, expected) in [
            (json!({}), [false, false, false]),
            (json!({ "elicitation": {} }), [true, false, false]),
            (json!({ "elicitation": { "form": {} } }), [true, false, false]),
            (json!({ "elicitation": { "url": {} } }), [false, false, false]),
            (json!({ "elicitation": { "form": {}, "url": {} } }), [true, false, false]),
            (json!({ "sampling": {} }), [false, true, false]),
            (json!({ "roots": {} }), [false, false, true]),
        ] {
            let decoded = serde_json::from_value(capabilities.clone()).unwrap();
            let caller = Caller::new(QuestionChannel::Round(Arc::default()), Arc::new(decoded));
            let can = [caller.elicitation().is_some(), caller.sampling().is_some(), caller.roots().is_some()];
            assert_eq!(can, expected, "{capabilities}");
            let errors = [
                caller.require_elicitation().err(),
                caller.require_sampling().err(),
                caller.require_roots().err(),
            ];
            assert_eq!(errors.each_ref().map(Option::is_none), expected, "{capabilities}");
            for (error, name) in errors.iter().zip(["elicitation", "sampling", "roots"]) {
                let message = format!("the client does not support {name}, which this tool requires");
                assert!(error.as_ref().is_none_or(|it| it.feedback().contains(&message)), "{error:?}");
            }
        }
    }
}
