//! Requests for approvals, and the answers to them.

use std::{fmt, time::SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use tool_core::{CallAddress, ConfirmationAnswer, ContentHash, internals::FormatVersion};

use crate::{ToolCall, millis};

/// The default name of the virtual call by which a front end is asked for a confirmation. For a front end that expects
/// another name, such as `adk_request_confirmation`, set it with
/// [`ExecutorBuilder::confirmation_call`](crate::executor::ExecutorBuilder::confirmation_call).
pub const CONFIRMATION_CALL: &str = "request_confirmation";

/// A call that requires an approval before it runs.
///
/// An answer is valid once, and for this request only: for this call of this tool as it is defined now, with these
/// arguments, this cause, hint and payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Wire")]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call as it would run; values of secret parameters are replaced.
    pub call: ToolCall,
    /// The address under which the call is answered later.
    pub address: CallAddress,
    /// The question for the person: the hint given by the tool's body, the reason of a permission or rule, or a generic
    /// text.
    pub hint: String,
    /// The payload given by the tool's body, to be shown beside the question; `null` for other causes.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub payload: Value,
    /// The origin of the request.
    pub cause: ApprovalCause,
    /// The time from which answers are refused, if any; in JSON, milliseconds since the Unix epoch.
    #[serde(rename = "expiresAtMs", with = "millis::option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<SystemTime>,
    /// The message authentication code of everything that the answer is bound to, under the key of the program, or of
    /// the process if there is none: the address, the cause, the hint, the payload, the tool's name and definition, its
    /// arguments, and the expiry.
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

/// The origin of a request for an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ApprovalCause {
    /// The `confirm` attribute of the tool, before the call.
    Confirmation,
    /// The permission `Ask`, before the call: from the tool, a policy or a rule.
    Permission,
    /// A [`request_confirmation`](crate::ToolContext::request_confirmation) in the tool's body, during the call.
    Tool,
}

impl ApprovalCause {
    /// Returns the name by which the cause is authenticated; it must never change.
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

    /// Returns the hash of everything that a person reads. Whitespace and the order of properties are insignificant.
    pub(crate) fn shown_hash(&self) -> ContentHash {
        let Self { call, address, hint, payload, cause, expires_at, hash: _ } = self;
        let arguments = call.arguments.as_str();
        let arguments = ContentHash::of_json(arguments).unwrap_or_else(|| ContentHash::of(&arguments));
        let expires_at = expires_at.map(millis::epoch_millis);
        let call = (&call.id, &call.name, arguments, &call.meta, &call.resources);
        ContentHash::of(&(call, address, hint, payload, cause.name(), expires_at))
    }

    /// Returns the request as a call of a virtual tool named `name`, for front ends that answer calls.
    ///
    /// Its id is derived from the original call and the question, so that the same question about the same call has the
    /// same id. The original call is among its arguments; [`original_call`](Self::original_call) extracts it.
    ///
    /// Its arguments include those of [`call`](Self::call) as they are written, with any nesting and all digits of
    /// their numbers. A parser with limits may reject such a text.
    #[must_use]
    pub fn to_call(&self, name: &str) -> ToolCall {
        let text = self.call.arguments.as_str();
        // Arguments that are not valid JSON do not reach this point; if they did, they would be shown as a text.
        let args = RawValue::from_string(text.to_owned()).unwrap_or_else(|_| json_string(text));
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

    /// Derives the id of the virtual call from the address of the original call and the question.
    fn confirmation_id(&self) -> String {
        let mut id = format!("confirm_{}", ContentHash::of(&(&self.address, self.hash)));
        // Providers limit ids to 64 characters, some to 40.
        id.truncate(40);
        id
    }

    /// Extracts the original call from a call that [`to_call`](Self::to_call) created, without the values of secret
    /// parameters.
    ///
    /// # Errors
    ///
    /// Returns an error if `call` was not created by `to_call`.
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
        let asking: ConfirmationArguments = serde_json::from_str(call.arguments.as_str())
            .map_err(|error| InvalidConfirmation(error.to_string()))?;
        let missing = |what: &str| InvalidConfirmation(format!("it has no {what}"));
        let original = asking.original_function_call.ok_or_else(|| missing("`originalFunctionCall`"))?;
        let name = original.name.ok_or_else(|| missing("name of a tool"))?;
        let id = original.id.ok_or_else(|| missing("id of a call"))?;
        let arguments = original.args.as_deref().map_or("", RawValue::get);
        Ok(ToolCall::new(name, arguments.to_owned()).with_id(id))
    }
}

/// The arguments of a call that requests a confirmation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfirmationArguments {
    original_function_call: Option<Original>,
}

/// The call to be confirmed. Its arguments are kept as text, since no value represents every text.
#[derive(Serialize, Deserialize)]
struct Original {
    id: Option<String>,
    name: Option<String>,
    args: Option<Box<RawValue>>,
}

/// Returns `text` as a JSON string.
fn json_string(text: &str) -> Box<RawValue> {
    serde_json::value::to_raw_value(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The error of [`ApprovalRequest::original_call`]: the call does not contain another one to be confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidConfirmation(String);

impl fmt::Display for InvalidConfirmation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call is not a request for a confirmation: {}", self.0)
    }
}

impl std::error::Error for InvalidConfirmation {}

/// The decision on an [`ApprovalRequest`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Approval {
    /// The call may run.
    Approved,
    /// The call may run. The tool reads this value as the payload of
    /// [`ToolContext::approval`](crate::ToolContext::approval), or of
    /// [`ToolContext::confirmation`](crate::ToolContext::confirmation) if its body requested the confirmation.
    ApprovedWith(Value),
    /// The call must not run, for this reason, which the model reads. If the tool's body requested the confirmation, it
    /// runs again and reads an answer that is not `confirmed`, with the reason as payload.
    Rejected(String),
    /// Not decided yet: the call is [pending](crate::call::Pending).
    Pending,
}

/// Parses the answer of a front end: `{"confirmed": .., "payload": ..}`, or the same as JSON text under `response`.
///
/// # Errors
///
/// Returns an error if `value` has neither form.
pub fn confirmation_answer(value: &Value) -> Result<ConfirmationAnswer, serde_json::Error> {
    match value.get("response").and_then(Value::as_str) {
        Some(text) => serde_json::from_str(text),
        None => <ConfirmationAnswer as serde::Deserialize>::deserialize(value),
    }
}
