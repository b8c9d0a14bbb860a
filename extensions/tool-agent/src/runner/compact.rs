//! The conversation as a model receives it, where the whole conversation is too long.

use std::{ops::ControlFlow, sync::Arc};

use tool_runtime::{ErrorKind, ToolError, call::CallId};

use super::{
    AgentEventKind,
    drive::{Drive, Next, failed, over},
};
use crate::{
    Conversation, Message, Part, Role,
    guard::{called, guarded},
};

const NOTE: &str = "[Earlier messages of this conversation were left out here.]";

/// The tokens of the first messages of a conversation, as a provider counted them.
#[derive(Clone, Copy)]
pub(super) struct Measured {
    pub(super) tokens: u64,
    pub(super) messages: usize,
}

impl Drive {
    /// Compacts the conversation if it fills the share of the context window.
    pub(super) async fn compact_if_full(&mut self) -> Next {
        let Some(limit) = self.limit() else { return ControlFlow::Continue(()) };
        let (known, since) = match self.measured {
            Some(Measured { tokens, messages }) => (tokens, messages.min(self.view.len())),
            None => (0, 0),
        };
        if known.saturating_add(estimate(&self.view[since..])) > limit {
            self.compact().await?;
        }
        ControlFlow::Continue(())
    }

    /// Compacts the conversation; `false` if it is as short as it can be.
    pub(super) async fn compact(&mut self) -> ControlFlow<super::End, bool> {
        let (compaction, tokens) = (self.agent().0.compaction.clone(), self.limit());
        let shorter = match &compaction.own {
            None => {
                let is_stored = |message: &Message| self.turn.messages.iter().any(|it| it.is(message));
                shortened(&self.view, is_stored, compaction.keep, tokens)
            }
            Some(own) => {
                let conversation =
                    Conversation { messages: self.view.clone(), tokens, run: Arc::clone(&self.run) };
                let panicked = |message| ToolError::new(ErrorKind::Panicked, message);
                match self.unless_over(guarded(|| own(conversation), panicked)).await {
                    Ok(Ok(messages)) if is_paired(&messages) => Some(messages),
                    Ok(Ok(_)) => {
                        return failed(
                            "the compaction separated a call from its result; keep both or neither"
                                .to_owned(),
                        );
                    }
                    Ok(Err(error)) => return failed(format!("the compaction failed: {}", error.reason())),
                    Err(failure) => return over(&failure),
                }
            }
        };
        let Some(messages) = shorter else { return ControlFlow::Continue(false) };
        let (before, after) = (self.view.len(), messages.len());
        self.view = messages;
        self.measured = None;
        let text = format!("the conversation was compacted from {before} to {after} messages for the model");
        self.emit(AgentEventKind::Notice { text }).await;
        ControlFlow::Continue(true)
    }

    /// The number of tokens beyond which the conversation is compacted.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a context window"
    )]
    fn limit(&self) -> Option<u64> {
        let agent = &self.agent().0;
        let window = agent.context_window.or_else(|| called(|| agent.model.context_window()).ok()?)?;
        Some((window as f64 * agent.compaction.share) as u64)
    }
}

/// Estimates the tokens of messages.
fn estimate(messages: &[Message]) -> u64 {
    let of_part = |part: &Part| match part {
        Part::Text(text) | Part::Reasoning(text) => text.len(),
        // An image or a page.
        Part::Content(_) => 4_000,
        Part::Call(call) => call.name.len() + call.arguments.as_str().len(),
        Part::Result(result) => result.text().len(),
    };
    let bytes: usize = messages.iter().flat_map(Message::parts).map(of_part).sum();
    (bytes / 4 + 4 * messages.len()) as u64
}

/// Leaves out the oldest messages, except the first and the last one of the user; `None` if there is nothing to leave out.
/// Messages that are not stored, such as reminders, are not the user's.
fn shortened(
    messages: &[Message],
    is_stored: impl Fn(&Message) -> bool,
    keep: usize,
    tokens: Option<u64>,
) -> Option<Vec<Message>> {
    // A block is a message with the results of its calls.
    let starts: Vec<_> = (0..messages.len()).filter(|at| messages[*at].role() != Role::Tool).collect();
    let is_question = |at: &usize| messages[*at].role() == Role::User && is_stored(&messages[*at]);
    let first = starts.iter().copied().find(is_question)? + 1;
    let last = starts.iter().rev().copied().find(is_question)?;
    let mut keep = keep;
    loop {
        let start = starts[starts.len().saturating_sub(keep)];
        let is_shorter = start > first + 1 || (start > first && messages[first].text() != NOTE);
        if is_shorter {
            let question = (first..start).contains(&last).then(|| messages[last].clone());
            let kept = messages[..first].iter().cloned().chain([Message::user(NOTE)]);
            let kept: Vec<_> = kept.chain(question).chain(messages[start..].iter().cloned()).collect();
            let fits = tokens.is_none_or(|tokens| estimate(&kept) <= tokens);
            if (fits || keep <= 1) && kept.len() < messages.len() {
                return Some(kept);
            }
        }
        if keep <= 1 {
            return None;
        }
        keep /= 2;
    }
}

/// Returns `true` if each call has its result in the message after it, and each result its call.
fn is_paired(messages: &[Message]) -> bool {
    let calls = |at: Option<&Message>| -> Vec<CallId> {
        at.into_iter().flat_map(Message::calls).map(|call| call.id.clone()).collect()
    };
    let results = |at: Option<&Message>| -> Vec<CallId> {
        at.into_iter().flat_map(Message::tool_results).map(|result| result.id.clone()).collect()
    };
    results(messages.first()).is_empty()
        && (0..messages.len()).all(|at| calls(messages.get(at)) == results(messages.get(at + 1)))
}
