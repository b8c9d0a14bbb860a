//! Asking a person.

use std::{fmt, time::SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use tool_core::{__private::FormatVersion, CallAddress, ConfirmationAnswer, ContentHash};

use crate::{ToolCall, millis};

/// The name of the virtual call by which a front end is asked for a confirmation, where no other is
/// chosen.
pub const CONFIRMATION_CALL: &str = "request_confirmation";

/// A call that a person should see before it runs.
///
/// An answer counts for this question only, once: about this call of this tool as it is defined now, with these
/// arguments, for this cause, with this hint and payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Wire")]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call as it would run; values of secret parameters are replaced.
    pub call: ToolCall,
    /// The address of the call, by which it is answered later.
    pub address: CallAddress,
    /// The question: that of the body, the reason of a permission or rule, or a generic one.
    pub hint: String,
    /// The payload of the body's question, to be shown beside it; `null` for other causes.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub payload: Value,
    /// The reason for which the call requires an approval.
    pub cause: ApprovalCause,
    /// The time from which answers are refused, if there is one; as JSON in milliseconds since the Unix epoch.
    #[serde(rename = "expiresAtMs", with = "millis::option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<SystemTime>,
    /// The message authentication code of all that the answer is bound to, under the key of the program or, without one,
    /// of the process: the address, the cause, the hint, the payload, the tool's name and definition, its arguments, and
    /// the expiry.
    pub hash: ContentHash,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default, rename = "v")]
    _version: FormatVersion,
    call: ToolCall,
    address: CallAddress,
    hint: String,
    #[serde(default)]
    payload: Value,
    cause: ApprovalCause,
    #[serde(default, rename = "expiresAtMs", with = "millis::option")]
    expires_at: Option<SystemTime>,
    hash: ContentHash,
}

impl From<Wire> for ApprovalRequest {
    fn from(Wire { call, address, hint, payload, cause, expires_at, hash, .. }: Wire) -> Self {
        Self { call, address, hint, payload, cause, expires_at, hash }
    }
}

/// A question about a call.
pub(crate) struct Question {
    pub(crate) cause: ApprovalCause,
    pub(crate) hint: String,
    pub(crate) payload: Value,
}

/// The reason for which a call requires an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ApprovalCause {
    /// The `confirm` of the tool, before the call.
    Confirmation,
    /// A permission that is `Ask`, before the call: the tool's, the policy's or that of a rule.
    Permission,
    /// The body of the tool, during the call, by
    /// [`request_confirmation`](crate::ToolContext::request_confirmation).
    Tool,
}

impl ApprovalCause {
    /// The name by which it is authenticated; it stays as it is.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation",
            Self::Permission => "permission",
            Self::Tool => "tool",
        }
    }
}

impl ApprovalRequest {
    pub(crate) fn new(
        call: ToolCall,
        address: CallAddress,
        Question { cause, hint, payload }: Question,
        expires_at: Option<SystemTime>,
        hash: ContentHash,
    ) -> Self {
        Self { call, address, hint, payload, cause, expires_at, hash }
    }

    /// The request as a call of a tool named `name` that does not exist, for front ends that answer
    /// calls. Its id is its own, and the same for the same question about the same call; the original call is among its
    /// arguments, by which [`original_call`](Self::original_call) gives it back.
    ///
    /// The arguments stand in it as they are written in [`call`](Self::call), however deeply they nest and
    /// with all digits of their numbers. Such a text may be one that a parser with limits does not take.
    #[must_use]
    pub fn to_call(&self, name: &str) -> ToolCall {
        let text = self.call.arguments.as_str();
        // Arguments that are not JSON fit no tool; if they come here at all, they are shown as a text.
        let args = RawValue::from_string(text.to_owned()).unwrap_or_else(|_| quoted(text));
        let (id, name_of_tool) = (self.call.id.to_string(), self.call.name.to_string());
        let original = Original { id: Some(id), name: Some(name_of_tool), args: Some(args) };
        let original = serde_json::to_string(&original).unwrap_or_else(|error| error.to_string());
        let asked = json!({ "hint": self.hint, "payload": self.payload, "confirmed": false });
        let address = json!(self.address);
        let arguments = format!(
            r#"{{"originalFunctionCall":{original},"toolConfirmation":{asked},"address":{address}}}"#
        );
        ToolCall::new(name, arguments).with_id(self.confirmation_id())
    }

    /// The id of the virtual call: made of the address of the original one and of the question.
    fn confirmation_id(&self) -> String {
        let mut id = format!("confirm_{}", ContentHash::of(&(&self.address, self.hash)));
        // Providers take ids of at most 64 characters, some of 40.
        id.truncate(40);
        id
    }

    /// The original call in a call that [`to_call`](Self::to_call) made; values of secret parameters
    /// are not in it.
    ///
    /// # Errors
    ///
    /// If `call` is not one of those.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ToolCall, policy::ApprovalRequest, prelude::*};
    ///
    /// let asking = ToolCall::new(
    ///     "request_confirmation",
    ///     json!({ "originalFunctionCall": { "id": "c1", "name": "remove", "args": { "path": "a" } } }),
    /// );
    /// assert_eq!(&*ApprovalRequest::original_call(&asking)?.name, "remove");
    /// assert!(ApprovalRequest::original_call(&ToolCall::new("remove", "{}")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn original_call(call: &ToolCall) -> Result<ToolCall, InvalidConfirmation> {
        let asking: Asking = serde_json::from_str(call.arguments.as_str())
            .map_err(|error| InvalidConfirmation(error.to_string()))?;
        let missing = |what: &str| InvalidConfirmation(format!("it has no {what}"));
        let original = asking.original_function_call.ok_or_else(|| missing("`originalFunctionCall`"))?;
        let name = original.name.ok_or_else(|| missing("name of a tool"))?;
        let id = original.id.ok_or_else(|| missing("id of a call"))?;
        let arguments = original.args.as_deref().map_or("", RawValue::get);
        Ok(ToolCall::new(name, arguments.to_owned()).with_id(id))
    }
}

/// The arguments of a call that asks for a confirmation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asking {
    original_function_call: Option<Original>,
}

/// The call to be confirmed. Its arguments are a text: no value holds all that a text can.
#[derive(Serialize, Deserialize)]
struct Original {
    id: Option<String>,
    name: Option<String>,
    args: Option<Box<RawValue>>,
}

/// `text` as a JSON string.
fn quoted(text: &str) -> Box<RawValue> {
    serde_json::value::to_raw_value(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// A call that does not hold another one to be confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidConfirmation(String);

impl fmt::Display for InvalidConfirmation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call does not ask for a confirmation of another one: {}", self.0)
    }
}

impl std::error::Error for InvalidConfirmation {}

/// The decision on a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Approval {
    /// It may run.
    Approved,
    /// It may run. The tool reads this value as the payload of [`ToolContext::approval`](crate::ToolContext::approval),
    /// or of [`ToolContext::confirmation`](crate::ToolContext::confirmation) where its body asked.
    ApprovedWith(Value),
    /// It must not run, for this reason, which the model reads. Where its body asked, the body runs again and reads an
    /// answer that is not `confirmed`, with the reason as payload.
    Rejected(String),
    /// Undecided: the call is [pending](crate::call::Pending).
    Pending,
}

/// Reads what a front end answered: `{"confirmed": .., "payload": ..}`, or the same as JSON in a text
/// under `response`.
///
/// # Errors
///
/// If it is neither.
pub fn confirmation_answer(value: &Value) -> Result<ConfirmationAnswer, serde_json::Error> {
    match value.get("response").and_then(Value::as_str) {
        Some(text) => serde_json::from_str(text),
        None => <ConfirmationAnswer as serde::Deserialize>::deserialize(value),
    }
}
