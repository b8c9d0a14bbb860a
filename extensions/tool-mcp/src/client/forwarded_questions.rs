//! Passing the questions of a server on to the client of this program.

use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    Root,
};
use serde::Serialize;
use serde_json::Value;
use tool_runtime::{ToolContext, ToolError, definition::ContentHash, policy::Escape};

use super::{McpToolSetBuilder, Question};
use crate::server::{Answer, Caller};

impl McpToolSetBuilder {
    /// Passes the questions of the server on to the client that this program serves: for a program that is a server in
    /// front of other servers. A question belongs to a call of that client, and is answered by
    /// [its](crate::server::Caller) user, model and folders.
    ///
    /// The server learns that all of them can be asked. If the client cannot, a form is declined, and other questions have
    /// an error as their answer. The client is not asked to open a URL: such a question is declined.
    pub fn forward_questions(self) -> Self {
        self.on_elicitation(forward_elicitation).on_sampling(forward_sampling).on_roots(forward_roots)
    }
}

fn question_caller<P>(question: &Question<P>) -> Option<&Caller> {
    question.call.as_ref().and_then(ToolContext::get::<Caller>)
}

/// The name of a question: the same each time the body runs.
fn stable_question_name<P>(question: &Question<P>, params: &impl Serialize) -> String {
    let hash = ContentHash::of(params).to_string();
    format!("{}-{}", question.server, hash.get(..16).unwrap_or(&hash))
}

fn missing_capability_error(what: &str) -> ToolError {
    ToolError::failed(format!("the client that called has no {what}"))
}

async fn forward_elicitation(question: Question<ElicitRequestParams>) -> Result<ElicitResult, ToolError> {
    let declined = || Ok(ElicitResult::new(ElicitationAction::Decline));
    let Some(elicitation) = question_caller(&question).and_then(Caller::elicitation) else {
        return declined();
    };
    let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = &question.params
    else {
        return declined();
    };
    let schema = serde_json::to_value(requested_schema)?;
    // The user knows this program, and not the server that it uses.
    let message = format!("The server `{}` asks: {}", question.server, Escape::LINES.text(message));
    match elicitation.form(&stable_question_name(&question, &question.params), &message, schema).await? {
        Answer::Accepted(form) => {
            Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(form)))
        }
        Answer::Declined => declined(),
        _ => Ok(ElicitResult::new(ElicitationAction::Cancel)),
    }
}

async fn forward_sampling(
    question: Question<CreateMessageRequestParams>,
) -> Result<CreateMessageResult, ToolError> {
    let sampling = question_caller(&question)
        .and_then(Caller::sampling)
        .ok_or_else(|| missing_capability_error("model"))?;
    sampling.create(&stable_question_name(&question, &question.params), question.params.clone()).await
}

async fn forward_roots(question: Question<()>) -> Result<Vec<Root>, ToolError> {
    let roots = question_caller(&question)
        .and_then(Caller::roots)
        .ok_or_else(|| missing_capability_error("folders"))?;
    roots.list(&stable_question_name(&question, &"roots")).await
}
