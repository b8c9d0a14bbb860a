//! The conversation of a run.

use super::{
    AgentEventKind, handle::Inbox, open_batch::unexecuted_result, scope::RunScope, session::SessionTurn,
};
use crate::{Message, QueueMode, Role};

/// The conversation of a run: as its session stores it, and as the model receives it.
pub(super) struct RunConversation {
    /// The stored messages, and the batch whose results are not stored yet.
    pub(super) session: SessionTurn,
    /// The messages for the model: shorter after a compaction, and with messages that are not stored.
    pub(super) model_messages: Vec<Message>,
    pub(super) counted: Option<CountedTokens>,
}

/// The tokens of the first messages of a conversation, as a provider counted them.
#[derive(Clone, Copy)]
pub(super) struct CountedTokens {
    pub(super) tokens: u64,
    pub(super) messages: usize,
}

impl RunConversation {
    /// Continues the conversation of a session.
    pub(super) fn new(mut session: SessionTurn) -> Self {
        session.forget_unchecked();
        let model_messages = session.messages.clone();
        Self { session, model_messages, counted: None }
    }

    /// Stores a message.
    pub(super) async fn add(&mut self, scope: &RunScope, message: Message) {
        self.add_all(scope, [message]).await;
    }

    /// Stores messages: all of them before the first event, so that a dropped run stores all or none.
    pub(super) async fn add_all(&mut self, scope: &RunScope, messages: impl IntoIterator<Item = Message>) {
        let messages: Vec<_> = messages.into_iter().collect();
        self.session.messages.extend(messages.iter().cloned());
        self.model_messages.extend(messages.iter().cloned());
        for message in messages {
            scope.emit(AgentEventKind::Message { message }).await;
        }
    }

    /// Adds a message for the model that is not stored.
    pub(super) fn add_unstored(&mut self, message: Message) {
        self.model_messages.push(message);
    }

    /// Stores one or all messages of a queue; returns `false` if there is none.
    pub(super) async fn add_queued(
        &mut self,
        scope: &RunScope,
        mode: QueueMode,
        next: fn(&Inbox) -> Option<Message>,
    ) -> bool {
        let mut has_some = false;
        while let Some(message) = next(&scope.inbox) {
            self.add(scope, message).await;
            has_some = true;
            if mode == QueueMode::One {
                break;
            }
        }
        has_some
    }

    /// Answers the calls of a run that was dropped before their results were stored: each call has a result.
    pub(super) async fn answer_interrupted_calls(&mut self, scope: &RunScope) {
        let Some(last) = self.session.messages.last().filter(|last| last.role() == Role::Assistant) else {
            return;
        };
        let reason = "the run was interrupted; the call may have taken effect";
        let results: Vec<_> = last.calls().map(|call| unexecuted_result(call, reason)).collect();
        if !results.is_empty() {
            self.add(scope, Message::results(results)).await;
        }
    }

    /// Notes the tokens of all messages so far and of the response to them.
    pub(super) fn set_counted_tokens(&mut self, tokens: u64) {
        self.counted = Some(CountedTokens { tokens, messages: self.model_messages.len() + 1 });
    }
}
