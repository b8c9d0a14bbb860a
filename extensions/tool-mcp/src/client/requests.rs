//! Requests to a server outside of calls, and the rounds of any request.

use std::sync::Arc;

use rmcp::model::{
    ClientRequest, DEFAULT_MRTR_MAX_ROUNDS, ErrorCode, InputRequiredResult, InputResponses, ServerResult,
};
use tool_runtime::ToolContext;

use super::{
    config::ServerConfig,
    connection::{Connection, RequestParts},
    error::{ClientError, ClientErrorCause},
    questions::QuestionAllowance,
    shared_connection::SharedConnection,
    transport::CallSlot,
};

/// The answers of the program to the questions of a round, and the state to return with them.
pub(super) type RoundAnswers = (Option<InputResponses>, Option<String>);

/// Sends requests over the connection of a server.
pub(super) struct RequestSender {
    pub(super) connection: SharedConnection,
}

impl RequestSender {
    pub(super) fn config(&self) -> &ServerConfig {
        &self.connection.connector.config
    }

    /// Returns the name of the server.
    pub(super) fn name(&self) -> &str {
        &self.connection.connector.name
    }

    /// Sends a request outside of calls.
    pub(super) async fn send(
        &self,
        connection: &Connection,
        request: ClientRequest,
    ) -> Result<ServerResult, ClientError> {
        self.send_with_slot(connection, request, None).await
    }

    /// Sends a request outside of calls; `slot` allows the server to ask questions.
    pub(super) async fn send_with_slot(
        &self,
        connection: &Connection,
        request: ClientRequest,
        slot: Option<CallSlot>,
    ) -> Result<ServerResult, ClientError> {
        #[cfg_attr(not(feature = "http"), expect(unused_mut, reason = "headers are of HTTP"))]
        let mut parts =
            RequestParts { timeouts: Some(self.config().timeouts()), slot, ..RequestParts::default() };
        #[cfg(feature = "http")]
        {
            parts.headers = self.connection.connector.headers.request_headers(None).await?;
        }
        connection.send_request(request, parts).await
    }

    /// Sends a request until its result asks for no more input.
    pub(super) async fn send_in_rounds(
        &self,
        connection: Arc<Connection>,
        request: impl Fn(RoundAnswers) -> ClientRequest,
    ) -> Result<ServerResult, ClientError> {
        let mut answers = (None, None);
        let allowance = QuestionAllowance::new(&self.config().limits);
        for _ in 0..DEFAULT_MRTR_MAX_ROUNDS {
            let (slot, _reports) = CallSlot::new(None, Arc::clone(&allowance));
            match self.send_with_slot(&connection, request(answers), Some(slot)).await? {
                ServerResult::InputRequiredResult(required) => {
                    answers = self.answer_questions(&connection, required, None, &allowance).await?;
                }
                result => return Ok(result),
            }
        }
        Err(self.unusable_answer("it asks for input again and again"))
    }

    pub(super) fn unusable_answer(&self, message: impl Into<String>) -> ClientError {
        ClientError::unusable_answer(self.name(), message)
    }

    /// Answers the questions of a server, for the next round.
    pub(super) async fn answer_questions(
        &self,
        connection: &Connection,
        required: InputRequiredResult,
        context: Option<&ToolContext>,
        allowance: &QuestionAllowance,
    ) -> Result<(Option<InputResponses>, Option<String>), ClientError> {
        let questions = required.input_requests.unwrap_or_default();
        if questions.is_empty() && required.request_state.is_none() {
            return Err(self.unusable_answer("it asks for input, and says not which"));
        }
        let answers = connection.handler.answer_round(questions, context, allowance).await;
        let answers = answers.map_err(|error| match error.code {
            // The question, and not the answer of the program.
            ErrorCode::INVALID_REQUEST => self.unusable_answer(error.message),
            _ => self.connection.connector.error(ClientErrorCause::Refused(error)),
        })?;
        Ok(((!answers.is_empty()).then_some(answers), required.request_state))
    }
}
