//! Approval of calls by the user of the client.

use serde_json::{Value, json};
use tool_runtime::{
    ToolError,
    definition::ContentHash,
    policy::{Approval, ApprovalHandle, Approver, Escape},
};

use super::{Answer, Caller};

/// The beginning of the name of a question for approval.
pub(super) const APPROVAL_PREFIX: &str = "approval-";

/// The most characters of arguments and payload that a question shows. A call with more is rejected: no part of a call is
/// approved unseen.
const MAX_SHOWN_CHARS: usize = 16_000;
/// The characters of a reason.
const MAX_REASON_CHARS: usize = 2_000;
/// The characters of a title.
const MAX_TITLE_CHARS: usize = 100;

/// Asks the user of the client by elicitation. Without a client that can ask, the call is rejected.
pub(super) struct ByElicitation;

impl Approver for ByElicitation {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        let caller = request.run().and_then(|run| run.provided().get::<Caller>());
        let Some(elicitation) = caller.and_then(Caller::elicitation) else {
            return Ok(Approval::Rejected("the client cannot ask its user for the approval".to_owned()));
        };
        let definition = request.definition();
        let (name, arguments) = (definition.name().as_str(), request.call.arguments.as_str());
        // A title may come from another server, and say what it likes.
        let title = match definition.title() {
            title if title == name => String::new(),
            title => format!(" ({})", Escape::LINE.at_most(MAX_TITLE_CHARS).text(title)),
        };
        let mut call = format!("{name}{title} {}", Escape::LINE.text(arguments));
        if !request.payload.is_null() {
            call = format!("{call}\n{}", Escape::LINE.text(&request.payload.to_string()));
        }
        if call.chars().count() > MAX_SHOWN_CHARS {
            let reason = format!(
                "a person can be shown {MAX_SHOWN_CHARS} characters of a call, and this one has more"
            );
            return Ok(Approval::Rejected(reason));
        }
        let message = format!("{}\n{call}", Escape::LINES.at_most(MAX_REASON_CHARS).text(&request.hint));
        let schema = json!({
            "type": "object",
            "properties": {
                "approve": { "type": "boolean", "title": "Approve", "description": "Run this call?" }
            },
            "required": ["approve"],
        });
        // One call may be asked about several times: by its tool, by a rule, by its body, and for the calls that it makes.
        let arguments = ContentHash::of_json(arguments).map(|hash| hash.to_string());
        let asked = ContentHash::of(&(request.cause, &request.hint, &request.payload, arguments)).to_string();
        let name = format!("{APPROVAL_PREFIX}{name}-{}", asked.get(..16).unwrap_or(&asked));
        Ok(match elicitation.form(&name, &message, schema).await? {
            Answer::Accepted(form) if form.get("approve") == Some(&Value::Bool(true)) => Approval::Approved,
            Answer::Accepted(_) | Answer::Declined => Approval::Rejected("the user declined".to_owned()),
            Answer::Cancelled => Approval::Rejected("the user did not answer".to_owned()),
        })
    }
}
