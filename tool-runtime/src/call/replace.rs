//! Changing single parts of a result.

use serde_json::Value;
use tool_core::{CallId, Content, ToolOutput};

use super::ToolResult;

/// Setters for a [`Hook::after`](crate::hook::Hook::after). Each changes one part of the result and keeps the others.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Content, ToolError, ToolResult, prelude::*};
///
/// let failed = ToolError::failed("no page").with_details(json!({ "code": 404 }));
/// let mut result = ToolResult::new("call_1".into(), "fetch", Err(failed));
/// result.set_is_error(false);
/// assert_eq!((result.is_error(), &*result.text()), (false, "no page"));
/// result.set_content(vec![Content::text("The page does not exist.")]);
/// assert_eq!(result.text(), "The page does not exist.");
/// assert_eq!(result.details(), Some(&json!({ "code": 404 })));
/// ```
impl ToolResult {
    /// Sets the content for the model. For an error, the texts become its [feedback](tool_core::ToolError::feedback). A
    /// structured value from which the old content was derived is removed with it.
    pub fn set_content(&mut self, content: Vec<Content>) {
        match &mut self.outcome {
            Ok(output) => output.set_content(content),
            Err(error) => {
                let texts: Vec<_> = content.iter().filter_map(Content::as_text).collect();
                let text = texts.join("\n");
                let others = content.iter().filter(|block| block.as_text().is_none()).cloned();
                *error = error.clone().with_feedback(text).with_content(others.collect());
            }
        }
    }

    /// Sets the details for user interfaces and logs; `None` removes them.
    pub fn set_details(&mut self, details: Option<Value>) {
        match &mut self.outcome {
            Ok(output) => output.set_details(details),
            Err(error) => error.set_details(details),
        }
    }

    /// Sets the failure flag; content and details are kept. A success becomes an output that [reports a
    /// failure](ToolOutput::is_failure) and requests no actions; an error becomes an output with its content.
    pub fn set_is_error(&mut self, is_error: bool) {
        match &mut self.outcome {
            Ok(output) => output.set_failure(is_error),
            Err(_) if is_error => {}
            Err(error) => {
                let details = error.details().cloned();
                let mut output = ToolOutput::new(self.content().into_owned());
                output.set_details(details);
                self.outcome = Ok(output);
            }
        }
    }

    /// Sets or clears the request to end the run ([`Actions::terminate`](tool_core::Actions::terminate)). Has no effect
    /// on a failed call.
    pub fn set_terminate(&mut self, terminate: bool) {
        if let Ok(output) = &mut self.outcome {
            let mut actions = output.actions().cloned().unwrap_or_default();
            if actions.terminate != terminate {
                actions.terminate = terminate;
                output.set_actions(actions);
            }
        }
    }

    /// Replaces the message that carries the result with `messages`; returns `true` if it did.
    ///
    /// At least one message must answer this call. If none does, or one answers another call, nothing is changed and
    /// `false` is returned. The answers become the [content](Self::set_content); the user messages become
    /// [follow-ups](Self::follow_ups) after the results of the batch.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Content, ToolResult, call::ResultMessage};
    ///
    /// let mut result = ToolResult::new("call_1".into(), "shoot", Ok("shot.png".into()));
    /// let picture = || ResultMessage::user(vec![Content::text("This is the screen.")]);
    /// assert!(!result.replace_by(vec![picture()]));
    /// assert_eq!(result.text(), "shot.png");
    ///
    /// let answer = ResultMessage::answer("call_1", vec![Content::text("The picture is below.")]);
    /// assert!(result.replace_by(vec![answer, picture()]));
    /// assert_eq!(result.text(), "The picture is below.");
    /// assert_eq!(result.follow_ups(), [vec![Content::text("This is the screen.")]]);
    /// ```
    pub fn replace_by(&mut self, messages: impl IntoIterator<Item = ResultMessage>) -> bool {
        let (mut answer, mut follow_ups) = (None::<Vec<_>>, Vec::new());
        for message in messages {
            match message {
                ResultMessage::Answer { id, content } if id == self.id => {
                    answer.get_or_insert_default().extend(content);
                }
                ResultMessage::Answer { .. } => return false,
                ResultMessage::User { content } => follow_ups.push(content),
            }
        }
        let Some(answer) = answer else { return false };
        self.set_content(answer);
        self.follow_ups = FollowUps::new(follow_ups);
        true
    }

    /// Returns the user messages that follow the results of the batch; empty unless a hook [set](Self::replace_by)
    /// some.
    #[must_use]
    pub fn follow_ups(&self) -> &[Vec<Content>] {
        self.follow_ups.as_deref().map_or(&[], |messages| &messages.0)
    }
}

/// The user messages that follow the results of a batch; at least one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FollowUps(Vec<Vec<Content>>);

impl FollowUps {
    pub(super) fn new(messages: Vec<Vec<Content>>) -> Option<Box<Self>> {
        (!messages.is_empty()).then(|| Box::new(Self(messages)))
    }
}

/// A message that replaces a result: see [`ToolResult::replace_by`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ResultMessage {
    /// The answer to a call.
    Answer {
        /// The id of the call.
        id: CallId,
        /// The content.
        content: Vec<Content>,
    },
    /// A user message.
    User {
        /// The content.
        content: Vec<Content>,
    },
}

impl ResultMessage {
    /// Creates the answer to the call `id`.
    pub fn answer(id: impl Into<CallId>, content: impl IntoIterator<Item = Content>) -> Self {
        Self::Answer { id: id.into(), content: content.into_iter().collect() }
    }

    /// Creates a user message.
    pub fn user(content: impl IntoIterator<Item = Content>) -> Self {
        Self::User { content: content.into_iter().collect() }
    }
}
