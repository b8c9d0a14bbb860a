//! Questions to a person about a call, and their answers.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolContext;
use crate::{ErrorKind, ToolError};

/// An answer to a question of a tool's body.
#[derive(Clone)]
pub(super) struct Confirmation {
    /// Hint and payload of the question; `None` if they are unknown.
    pub(super) question: Option<(String, Value)>,
    pub(super) answer: ConfirmationAnswer,
}

/// The answer of a person to a question about a call.
///
/// A tool reads the answer to its own question by [`ToolContext::confirmation`], and the answer to the generic
/// question before a call by [`ToolContext::approval`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConfirmationAnswer {
    /// `true` if the person confirmed.
    pub confirmed: bool,
    /// Additional data of the answer, in a form that the tool and the program agree on.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub payload: Value,
}

impl ToolContext {
    /// Returns the answer to the generic question before this call, which the tool's `confirm`, a permission policy
    /// or a rule required; `None` if no approval was required.
    ///
    /// It is not the answer to a [question of the tool's body](Self::request_confirmation).
    #[must_use]
    pub fn approval(&self) -> Option<&ConfirmationAnswer> {
        self.rare.as_ref()?.approval.as_ref()
    }

    /// Returns the answer to the last question of the tool's own body; `None` if the body has not
    /// [asked](Self::request_confirmation) yet. A body with several questions reads each answer by
    /// [`confirmation_of`](Self::confirmation_of).
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::{ToolContext, ToolError};
    ///
    /// fn transfer(amount: u32, cx: &ToolContext) -> Result<String, ToolError> {
    ///     let Some(answer) = cx.confirmation() else {
    ///         return Err(cx.request_confirmation("Is this the right account?", json!({ "amount": amount })));
    ///     };
    ///     Ok(if answer.confirmed { "sent".to_owned() } else { "not sent".to_owned() })
    /// }
    ///
    /// let asked = transfer(7, &ToolContext::for_test()).unwrap_err();
    /// assert_eq!(asked.feedback(), "Approval required: Is this the right account?");
    /// ```
    #[must_use]
    pub fn confirmation(&self) -> Option<&ConfirmationAnswer> {
        self.rare.as_ref()?.confirmations.last().map(|it| &it.answer)
    }

    /// Returns the answer to the question that the tool's body asked with this `hint` and `payload`; `None` if it has
    /// not asked it yet.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::Value;
    /// use tool_runtime::{ToolContext, ToolError, context::ConfirmationAnswer};
    ///
    /// fn wipe(cx: &ToolContext) -> Result<&'static str, ToolError> {
    ///     for question in ["Is there a backup?", "Really wipe the disk?"] {
    ///         match cx.confirmation_of(question, &Value::Null) {
    ///             None => return Err(cx.request_confirmation(question, Value::Null)),
    ///             Some(answer) if !answer.confirmed => return Ok("not wiped"),
    ///             Some(_) => {}
    ///         }
    ///     }
    ///     Ok("wiped")
    /// }
    ///
    /// let yes = ConfirmationAnswer { confirmed: true, payload: Value::Null };
    /// let cx = ToolContext::for_test().with_confirmation_of("Is there a backup?", Value::Null, yes.clone());
    /// assert_eq!(wipe(&cx).unwrap_err().feedback(), "Approval required: Really wipe the disk?");
    /// let cx = cx.with_confirmation_of("Really wipe the disk?", Value::Null, yes);
    /// assert_eq!(wipe(&cx).unwrap(), "wiped");
    /// ```
    #[must_use]
    pub fn confirmation_of(&self, hint: &str, payload: &Value) -> Option<&ConfirmationAnswer> {
        let is_meant = |it: &&Confirmation| {
            it.question.as_ref().is_some_and(|(asked, with)| asked == hint && with == payload)
        };
        self.rare.as_ref()?.confirmations.iter().rev().find(is_meant).map(|it| &it.answer)
    }

    /// Returns the error by which a tool asks a person a question: `hint` is the question, and the program shows
    /// `payload` beside it.
    ///
    /// The tool is called again with the [answer](Self::confirmation): within the same call if the program has an
    /// approver, otherwise when the call is resumed. Limit: eight questions per call.
    #[must_use]
    pub fn request_confirmation(&self, hint: impl Into<Cow<'static, str>>, payload: Value) -> ToolError {
        let error = ToolError::new(ErrorKind::ApprovalRequired, hint).of_tool(self.tool.to_string());
        error.with_details(payload)
    }
}
