//! The messages of a prompt as the conversation of a run.

use tool_agent::{Message, Part};
use tool_runtime::{Content, ToolError};

use crate::prompt::{PromptMessage, PromptRole};

/// The conversation of a run at its start.
pub(super) struct ConversationStart {
    /// The messages before the input.
    pub(super) earlier: Vec<Message>,
    /// The message of the user that the run answers.
    pub(super) input: Message,
}

impl ConversationStart {
    /// Creates the conversation of the messages of a prompt, whose last one has the attachments, too.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `BadParameter` if the last message is none of the user.
    pub(super) fn new(messages: &[PromptMessage], attachments: Vec<Content>) -> Result<Self, ToolError> {
        let mut turns: Vec<_> = messages.chunk_by(|one, next| one.role == next.role).collect();
        let last = turns.pop().filter(|turn| turn.iter().all(|message| message.role == PromptRole::User));
        let Some(last) = last else {
            let problem =
                "the prompt does not end with a message of the user; add one, which the model answers";
            return Err(ToolError::bad_parameter(problem));
        };
        let content = last.iter().map(|message| message.content.clone());
        let input = Message::user_content(content.chain(attachments));
        Ok(Self { earlier: turns.into_iter().map(merge_turn_messages).collect(), input })
    }
}

/// Returns the consecutive messages of one author as one message.
fn merge_turn_messages(turn: &[PromptMessage]) -> Message {
    let content = turn.iter().map(|message| message.content.clone());
    if turn.iter().all(|message| message.role == PromptRole::User) {
        return Message::user_content(content);
    }
    Message::assistant(content.map(|content| match content {
        Content::Text { text } => Part::Text(text),
        other => Part::Content(other),
    }))
}
