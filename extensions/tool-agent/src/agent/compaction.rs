//! Compaction of long conversations.

use std::{fmt, sync::Arc};

use tool_runtime::{BoxFuture, RunContext, ToolError};

use crate::Message;

/// The compaction of a conversation that fills the context window of its model.
///
/// A run measures the conversation by the token counts of the last response, plus an estimate of the messages since (four
/// bytes for each token). Beyond a [share](Self::with_share) of the window, and once after an error of the provider that
/// the conversation is [too long](crate::model::ModelErrorKind::ContextTooLong), its requests receive a shorter
/// conversation. The conversation in the session remains whole.
///
/// By default, the oldest messages are left out, and a note takes their place. The first and the last message of the user
/// and the last messages are kept. A call and its results are never separated.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Compaction, Message, ScriptedModel};
///
/// let brief = Compaction::by(|conversation| async move {
///     // In a program: a summary by a model.
///     let last = conversation.messages.last().cloned();
///     Ok(last.into_iter().collect())
/// });
/// let agent = Agent::builder("clerk", ScriptedModel::new([]))
///     .context_window(200_000)
///     .compaction(brief.with_share(0.5))
///     .build()?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct Compaction {
    pub(crate) share: f64,
    pub(crate) keep: usize,
    pub(crate) own: Option<Arc<CompactFn>>,
}

/// A conversation that a [`Compaction`] shortens.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Conversation {
    /// The messages.
    pub messages: Vec<Message>,
    /// The number of tokens that the messages should not exceed; `None` if the context window is unknown.
    pub tokens: Option<u64>,
    /// The run.
    pub run: Arc<RunContext>,
}

type CompactFn = dyn Fn(Conversation) -> BoxFuture<'static, Result<Vec<Message>, ToolError>> + Send + Sync;

impl Default for Compaction {
    fn default() -> Self {
        Self { share: 0.8, keep: 10, own: None }
    }
}

impl Compaction {
    /// Creates the default compaction.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a compaction by code of the program. An error, or a conversation in which a call has no result, ends the
    /// run.
    #[must_use]
    pub fn by<F, Fut>(compact: F) -> Self
    where
        F: Fn(Conversation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Message>, ToolError>> + Send + 'static,
    {
        let own: Arc<CompactFn> = Arc::new(move |conversation| Box::pin(compact(conversation)));
        Self { own: Some(own), ..Self::default() }
    }

    /// Sets the share of the context window beyond which a conversation is compacted, from 0 to 1. Default: 0.8.
    #[must_use]
    pub fn with_share(mut self, share: f64) -> Self {
        self.share = if share.is_nan() { self.share } else { share.clamp(0.0, 1.0) };
        self
    }

    /// Sets the number of last messages that the default compaction keeps, where the results of a message's calls count
    /// as a part of it. Fewer are kept if they are too long. Default: 10.
    #[must_use]
    pub fn with_last_messages(mut self, keep: usize) -> Self {
        self.keep = keep.max(1);
        self
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { share, keep, own } = self;
        let own = own.is_some();
        f.debug_struct("Compaction").field("share", share).field("keep", keep).field("own", &own).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_between_nothing_and_everything() {
        let default = Compaction::new();
        assert_eq!((default.share, default.keep, default.own.is_none()), (0.8, 10, true));
        for (share, expected) in [(0.5, 0.5), (-1.0, 0.0), (2.0, 1.0), (f64::NAN, 0.8)] {
            assert_eq!(Compaction::new().with_share(share).share, expected);
        }
        assert_eq!([0, 1, 2].map(|keep| Compaction::new().with_last_messages(keep).keep), [1, 1, 2]);
        let own = Compaction::by(|conversation| async move { Ok(conversation.messages) });
        assert_eq!((own.share, own.keep, own.own.is_some()), (0.8, 10, true));
    }
}
