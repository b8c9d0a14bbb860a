//! The conversation of a session, as a run reads it from its store.

use std::collections::VecDeque;

use tool_session::{Entry, EntryContent, EntryQuery, SessionError, SessionKey, SharedSessionStore};

use super::{
    compact::{OMISSION_NOTE, estimated_tokens},
    entry::{CompactionBody, EntryCodec, MessageBody, OpenBatchBody},
    group::{Position, PositionReader},
    stored_progress::StoredProgress,
};
use crate::{Message, Role};

/// The maximum number of bytes of entries that a run reads, whatever its context window is: 8 MiB.
const MAX_BYTES: usize = 8 << 20;
/// The number of entries that are read at once.
const PAGE_ENTRIES: usize = 100;

/// The part of a conversation that a run reads.
#[derive(Default)]
pub(super) struct StoredConversation {
    /// The messages that are entries.
    pub(super) messages: Vec<Message>,
    /// The messages for the model.
    pub(super) model_messages: Vec<Message>,
    /// `true` if one of the messages has secret arguments.
    pub(super) has_secrets: bool,
    /// The batch with open calls, if it is the end of the conversation.
    pub(super) open: Option<OpenBatchBody>,
    /// `true` if earlier messages are left out since they are too long.
    pub(super) is_shortened: bool,
    /// The progress of the last run.
    pub(super) progress: StoredProgress,
    /// The position of the last run in its tree of agents, if it can be continued there.
    pub(super) position: Option<Position>,
}

/// Reads backwards until a compaction, or until `max_tokens` are reached. The first `inherited_entries` are those of the session from which this
/// one was forked, which keeps its open calls.
pub(super) async fn read_conversation(
    store: &SharedSessionStore,
    codec: &EntryCodec,
    max_tokens: Option<u64>,
    inherited_entries: u64,
) -> Result<StoredConversation, SessionError> {
    let mut reader = ConversationReader { max_tokens, inherited_entries, ..ConversationReader::default() };
    let mut query = Some(EntryQuery::backward().limit(PAGE_ENTRIES).limit_bytes(MAX_BYTES / 8));
    while let Some(page_query) = query {
        let page = store.entries(&codec.session, &page_query).await?;
        // Entries with a view are messages of agents that worked beside others.
        for entry in page.entries.iter().filter(|entry| entry.content.view.is_none()) {
            reader.progress.see_entry(entry, inherited_entries);
            reader.position.see_entry(codec, entry)?;
            if reader.is_full() {
                reader.is_shortened = true;
                return Ok(reader.finish(None));
            }
            if &*entry.content.kind == EntryContent::COMPACTION {
                let (compaction, is_sealed) = read_body(codec, entry)?;
                reader.has_secrets |= is_sealed;
                return Ok(reader.finish(Some(compaction)));
            }
            reader.add(codec, entry)?;
        }
        query = page_query.next(&page);
    }
    Ok(reader.finish(None))
}

/// Reads all messages of a session, in order.
pub(super) async fn read_messages(
    store: &SharedSessionStore,
    codec: &EntryCodec,
    key: &SessionKey,
) -> Result<Vec<Message>, SessionError> {
    let mut messages = Vec::new();
    let mut query = Some(EntryQuery::forward().of_kind(EntryContent::MESSAGE).limit(1000));
    while let Some(page_query) = query {
        let page = store.entries(key, &page_query).await?;
        for entry in page.entries.iter().filter(|entry| entry.content.view.is_none()) {
            messages.push(read_body::<MessageBody>(codec, entry)?.0.message);
        }
        query = page_query.next(&page);
    }
    Ok(messages)
}

/// Messages in their order, to which earlier ones are added.
#[derive(Default)]
struct ConversationReader {
    messages: VecDeque<Message>,
    bytes: usize,
    tokens: u64,
    max_tokens: Option<u64>,
    inherited_entries: u64,
    has_secrets: bool,
    open: Option<OpenBatchBody>,
    is_shortened: bool,
    progress: StoredProgress,
    position: PositionReader,
}

impl ConversationReader {
    /// Returns `true` if no earlier message is needed: results are read with the calls before them.
    fn is_full(&self) -> bool {
        let is_long = self.bytes >= MAX_BYTES || self.max_tokens.is_some_and(|max| self.tokens >= max);
        is_long && self.messages.front().is_some_and(|first| first.role() != Role::Tool)
    }

    /// Returns `true` for an entry after the last message, and after the last open batch.
    fn is_of_last_batch(&self, entry: &Entry) -> bool {
        entry.number > self.inherited_entries && self.messages.is_empty() && self.open.is_none()
    }

    fn add(&mut self, codec: &EntryCodec, entry: &Entry) -> Result<(), SessionError> {
        match &*entry.content.kind {
            EntryContent::MESSAGE => {}
            EntryContent::CALL_INTENT | EntryContent::CALL_OUTCOME if self.is_of_last_batch(entry) => {
                self.has_secrets |= self.progress.add_record(codec, entry)?;
                return Ok(());
            }
            EntryContent::OPEN_BATCH if self.is_of_last_batch(entry) => {
                let (open, is_sealed) = read_body(codec, entry)?;
                self.has_secrets |= is_sealed;
                self.open = Some(open);
                return Ok(());
            }
            _ => return Ok(()),
        }
        let (MessageBody { message, .. }, is_sealed) = read_body(codec, entry)?;
        self.has_secrets |= is_sealed;
        self.bytes += entry.content.body.as_str().len();
        self.tokens += estimated_tokens(std::slice::from_ref(&message));
        self.messages.push_front(message);
        Ok(())
    }

    fn finish(mut self, compaction: Option<CompactionBody>) -> StoredConversation {
        self.progress.finish_reading();
        let later = Vec::from(self.messages);
        let (has_secrets, is_shortened) = (self.has_secrets, self.is_shortened);
        let (mut messages, mut model_messages) = (Vec::new(), Vec::new());
        if let Some(CompactionBody { messages: compacted, added, .. }) = compaction {
            let entries = compacted.iter().enumerate().filter(|(index, _)| !added.contains(index));
            messages.extend(entries.map(|(_, message)| message.clone()));
            model_messages = compacted;
        } else if is_shortened {
            model_messages.push(Message::user(OMISSION_NOTE));
        }
        messages.extend(later.iter().cloned());
        model_messages.extend(later);
        let (open, progress, position) = (self.open, self.progress, self.position.position());
        StoredConversation { messages, model_messages, has_secrets, open, is_shortened, progress, position }
    }
}

/// Reads the body of an entry; an error names the entry.
pub(super) fn read_body<T: serde::de::DeserializeOwned>(
    codec: &EntryCodec,
    entry: &Entry,
) -> Result<(T, bool), SessionError> {
    codec.read(&entry.content).map_err(|error| {
        SessionError::Invalid(format!("the entry {} of the session cannot be read: {error}", entry.number))
    })
}
