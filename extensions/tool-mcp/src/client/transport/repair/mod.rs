//! Results that the SDK cannot read, read part by part.

mod call;
mod handshake;
mod prompts_and_resources;
#[cfg(test)]
mod tests;

use rmcp::model::{ContentBlock, CustomResult, ErrorData, ServerResult};
use serde_json::{Value, json};

pub(super) use self::{
    call::call_result,
    handshake::{discover_result, has_only_older_revisions, initialize_result},
    prompts_and_resources::{completion_result, prompt_result, resource_result},
};

/// The maximum length of the JSON of a block that cannot be read, in characters.
const MAX_BLOCK_CHARS: usize = 4_000;
/// The maximum number of problems that are named.
const MAX_PROBLEMS: usize = 20;

/// A result as far as it could be read.
pub(super) struct RepairedResult {
    pub(super) result: ServerResult,
    /// The parts that could not be read.
    pub(super) problems: Vec<String>,
    /// The reason why the result is of no use.
    pub(super) failure: Option<String>,
    /// The error that answers the request in place of the result.
    pub(super) error: Option<ErrorData>,
}

impl RepairedResult {
    fn new(result: ServerResult, problems: Vec<String>) -> Self {
        Self { result, problems, failure: None, error: None }
    }

    fn with_failure(result: Value, reason: String) -> Self {
        let result = ServerResult::CustomResult(CustomResult(result));
        Self { failure: Some(reason), ..Self::new(result, Vec::new()) }
    }

    /// An error in place of a result that is not of the request.
    fn with_error(result: Value, error: ErrorData) -> Self {
        let result = ServerResult::CustomResult(CustomResult(result));
        Self { error: Some(error), ..Self::new(result, Vec::new()) }
    }
}

/// Reads a result of which nothing is required.
pub(super) fn other_result(result: Value) -> RepairedResult {
    let (result, problem) = match result {
        Value::Object(_) => (result, None),
        Value::Null => (json!({}), Some("the result is `null`")),
        other => (other, Some("the result is no object")),
    };
    let result = serde_json::from_value(result.clone())
        .unwrap_or_else(|_| ServerResult::CustomResult(CustomResult(result)));
    RepairedResult::new(result, problem.into_iter().map(str::to_owned).collect())
}

/// Leaves a page of a listing as it is: its items are read one by one.
pub(super) fn unrepaired_page_result(result: Value) -> RepairedResult {
    match result {
        Value::Object(_) => RepairedResult::new(ServerResult::CustomResult(CustomResult(result)), Vec::new()),
        result => other_result(result),
    }
}

fn add_problem(problems: &mut Vec<String>, problem: &str) {
    if problems.len() < MAX_PROBLEMS && !problems.iter().any(|it| it == problem) {
        problems.push(problem.to_owned());
    }
}

/// Shortens a text of a server within a problem.
fn bounded_text(text: &str) -> String {
    text.chars().take(60).collect()
}

fn json_block(value: &Value) -> ContentBlock {
    ContentBlock::text(bounded_json_text(value))
}

/// Returns the JSON of a part that cannot be read, as far as it is not too long.
fn bounded_json_text(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_BLOCK_CHARS) {
        Some((end, _)) => format!("{}… ({} bytes more)", &text[..end], text.len() - end),
        None => text,
    }
}
