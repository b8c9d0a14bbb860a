//! Results that the SDK cannot read, read part by part.

mod call;
mod handshake;

use rmcp::model::{ContentBlock, CustomResult, ServerResult};
use serde_json::{Value, json};

pub(super) use self::{
    call::call,
    handshake::{discover, initialize},
};

/// The maximum length of the JSON of a block that cannot be read, in characters.
const MAX_BLOCK_CHARS: usize = 4_000;
/// The maximum number of problems that are named.
const MAX_PROBLEMS: usize = 20;

/// A result as far as it could be read.
pub(super) struct Repaired {
    pub(super) result: ServerResult,
    /// The parts that could not be read.
    pub(super) problems: Vec<String>,
    /// The reason why the result is of no use.
    pub(super) failure: Option<String>,
}

impl Repaired {
    fn unreadable(result: Value, reason: String) -> Self {
        Self {
            result: ServerResult::CustomResult(CustomResult(result)),
            problems: Vec::new(),
            failure: Some(reason),
        }
    }
}

/// Reads a result of which nothing is required.
pub(super) fn other(result: Value) -> Repaired {
    let (result, problem) = match result {
        Value::Object(_) => (result, None),
        Value::Null => (json!({}), Some("the result is `null`")),
        other => (other, Some("the result is no object")),
    };
    let result = serde_json::from_value(result.clone())
        .unwrap_or_else(|_| ServerResult::CustomResult(CustomResult(result)));
    Repaired { result, problems: problem.into_iter().map(str::to_owned).collect(), failure: None }
}

fn note(problems: &mut Vec<String>, problem: &str) {
    if problems.len() < MAX_PROBLEMS && !problems.iter().any(|it| it == problem) {
        problems.push(problem.to_owned());
    }
}

/// Shortens a text of a server within a problem.
fn bounded(text: &str) -> String {
    text.chars().take(60).collect()
}

fn as_text(value: &Value) -> ContentBlock {
    let text = value.to_string();
    ContentBlock::text(match text.char_indices().nth(MAX_BLOCK_CHARS) {
        Some((end, _)) => format!("{}… ({} bytes more)", &text[..end], text.len() - end),
        None => text,
    })
}
