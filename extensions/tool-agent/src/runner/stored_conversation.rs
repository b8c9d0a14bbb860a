//! The conversation of a session, as a run reads it from its store.

use std::collections::VecDeque;

use tool_session::{Entry, EntryContent, EntryQuery, SessionError, SessionKey, SharedSessionStore};

use super::{
    child_history::SEPARATOR,
    compact::{OMISSION_NOTE, estimated_tokens},
    context_note::SharedMessages,
    control::Control,
    entry::{CompactionBody, ControlBody, EntryCodec, MessageBody, OpenBatchBody},
    stored_progress::StoredProgress,
    team::{MEMBER_KIND, MemberProgress, Position, PositionReader},
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
    /// `true` if the messages begin with a compaction.
    pub(super) is_compacted: bool,
    /// The progress of the last run.
    pub(super) progress: StoredProgress,
    /// Control as the last entry about it has it, if that entry was read.
    pub(super) control: Control,
    /// The position of the last run in its tree of agents, if it can be continued there.
    pub(super) position: Option<Position>,
}

/// The part of a session that is one conversation.
pub(super) struct ConversationView<'v> {
    /// The view key; `None` for the conversation of root runs.
    key: Option<&'v str>,
    /// `true` if other entries than those with the key may be visible.
    sees_others: bool,
    /// The number of entries of the session from which this one was forked, which keeps its open calls.
    inherited_entries: u64,
}

/// The visibility of an entry in a conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visibility {
    /// A part of the conversation.
    Own,
    /// Of a run below that shares its history, shown as a note.
    Shared,
    Hidden,
}

impl<'v> ConversationView<'v> {
    /// The conversation of root runs.
    pub(super) fn of_root(inherited_entries: u64) -> Self {
        Self { key: None, sees_others: true, inherited_entries }
    }

    /// The conversation of runs below a call. With `sees_others`, entries that belong to no run are a part of it.
    pub(super) fn of_child(key: &'v str, sees_others: bool) -> Self {
        Self { key: Some(key), sees_others, inherited_entries: 0 }
    }

    fn entry_query(&self) -> EntryQuery {
        let all = EntryQuery::backward().limit(PAGE_ENTRIES).limit_bytes(MAX_BYTES / 8);
        match self.key {
            Some(key) if !self.sees_others => all.of_view(key),
            _ => all,
        }
    }

    fn visibility(&self, content: &EntryContent) -> Visibility {
        match (content.view.as_deref().filter(|view| !view.is_empty()), self.key) {
            (view, key) if view == key => Visibility::Own,
            // Q20: an entry without a view key that a program appended.
            (None, Some(_)) if content.agent.is_none() => Visibility::Own,
            (Some(view), key) if is_view_below(view, key.unwrap_or_default()) => Visibility::Shared,
            _ => Visibility::Hidden,
        }
    }
}

/// Returns `true` if `view` continues `above` by whole segments.
fn is_view_below(view: &str, above: &str) -> bool {
    view.strip_prefix(above).is_some_and(|rest| rest.starts_with(SEPARATOR))
}

/// Reads backwards until a compaction, or until `max_tokens_before_compaction` are reached.
pub(super) async fn read_conversation(
    store: &SharedSessionStore,
    codec: &EntryCodec,
    max_tokens: Option<u64>,
    view: &ConversationView<'_>,
) -> Result<StoredConversation, SessionError> {
    let inherited_entries = view.inherited_entries;
    let mut reader = ConversationReader { max_tokens, inherited_entries, ..ConversationReader::default() };
    let mut query = Some(view.entry_query());
    while let Some(page_query) = query {
        let page = store.entries(&codec.session, &page_query).await?;
        for entry in &page.entries {
            match view.visibility(&entry.content) {
                Visibility::Own => {}
                Visibility::Shared => {
                    reader.add_shared_message(codec, entry)?;
                    continue;
                }
                Visibility::Hidden => {
                    reader.progress.note_hidden_entry(&entry.content);
                    continue;
                }
            }
            reader.progress.note_entry(entry, inherited_entries);
            reader.position.note_entry(codec, entry, inherited_entries)?;
            if reader.is_full() {
                reader.is_shortened = true;
                return Ok(reader.into_conversation(None));
            }
            if &*entry.content.kind == EntryContent::COMPACTION {
                let (compaction, is_sealed) = read_body(codec, entry)?;
                reader.has_secrets |= is_sealed;
                return Ok(reader.into_conversation(Some(compaction)));
            }
            reader.add_entry(codec, entry)?;
        }
        query = page_query.next(&page);
    }
    Ok(reader.into_conversation(None))
}

/// Reads which agent of a session has control; the entry may be older than the part of the conversation that a run reads.
pub(super) async fn read_control(
    store: &SharedSessionStore,
    codec: &EntryCodec,
) -> Result<Control, SessionError> {
    let mut query = Some(EntryQuery::backward().of_kind(EntryContent::CONTROL).limit(20));
    while let Some(page_query) = query {
        let page = store.entries(&codec.session, &page_query).await?;
        // Runs below calls have control entries of their own.
        if let Some(entry) = page.entries.iter().find(|entry| entry.content.view.is_none()) {
            return Ok(read_body::<ControlBody>(codec, entry)?.0.control);
        }
        query = page_query.next(&page);
    }
    Ok(Control::default())
}

/// Reads the entries about the state and the end of a member of a parallel team from its history, in order; the last one has its usage and its end.
pub(super) async fn read_member_progress(
    store: &SharedSessionStore,
    codec: &EntryCodec,
    view: &str,
) -> Result<Vec<MemberProgress>, SessionError> {
    let mut entries = Vec::new();
    let mut query = Some(EntryQuery::forward().of_view(view).of_kind(MEMBER_KIND).limit(1000));
    while let Some(page_query) = query {
        let page = store.entries(&codec.session, &page_query).await?;
        for entry in &page.entries {
            entries.push(read_body(codec, entry)?.0);
        }
        query = page_query.next(&page);
    }
    Ok(entries)
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
            messages.push(read_body::<MessageBody>(codec, entry)?.0.into_message(&entry.content));
        }
        query = page_query.next(&page);
    }
    Ok(messages)
}

/// A message of a conversation.
struct ReadMessage {
    message: Message,
    /// `true` for a note about a run below, which is no entry.
    is_note: bool,
}

/// Messages in their order, to which earlier ones are added.
#[derive(Default)]
struct ConversationReader {
    messages: VecDeque<ReadMessage>,
    /// Messages of runs below, before the first message that was read.
    shared: SharedMessages,
    bytes: usize,
    tokens: u64,
    max_tokens: Option<u64>,
    inherited_entries: u64,
    has_secrets: bool,
    open: Option<OpenBatchBody>,
    is_shortened: bool,
    progress: StoredProgress,
    control: Option<Control>,
    position: PositionReader,
}

impl ConversationReader {
    /// Returns `true` if no earlier message is needed: results are read with the calls before them.
    fn is_full(&self) -> bool {
        let is_long = self.bytes >= MAX_BYTES || self.max_tokens.is_some_and(|max| self.tokens >= max);
        is_long && self.messages.front().is_some_and(|first| first.message.role() != Role::Tool)
    }

    /// Returns `true` for an entry after the last message, and after the last open batch.
    fn is_of_last_batch(&self, entry: &Entry) -> bool {
        entry.number > self.inherited_entries && self.messages.is_empty() && self.open.is_none()
    }

    fn add_entry(&mut self, codec: &EntryCodec, entry: &Entry) -> Result<(), SessionError> {
        match &*entry.content.kind {
            EntryContent::MESSAGE => {}
            EntryContent::CONTROL if self.control.is_none() => {
                self.control = Some(read_body::<ControlBody>(codec, entry)?.0.control);
                return Ok(());
            }
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
        let (mut body, is_sealed) = read_body::<MessageBody>(codec, entry)?;
        if self.messages.is_empty() {
            self.progress.cut_off = body.cut_off.take();
        }
        let message = body.into_message(&entry.content);
        self.progress.note_message(&entry.content.run, message.role());
        self.has_secrets |= is_sealed;
        self.bytes += entry.content.body.as_str().len();
        self.tokens += estimated_tokens(std::slice::from_ref(&message));
        self.add_child_notes();
        self.messages.push_front(ReadMessage { message, is_note: false });
        Ok(())
    }

    /// Adds a message of a run below. Before the results of its call there is no place for it.
    fn add_shared_message(&mut self, codec: &EntryCodec, entry: &Entry) -> Result<(), SessionError> {
        if &*entry.content.kind == EntryContent::MESSAGE && !self.messages.is_empty() {
            let (body, is_sealed) = read_body::<MessageBody>(codec, entry)?;
            self.has_secrets |= is_sealed;
            self.bytes += entry.content.body.as_str().len();
            self.shared.push_front(&entry.content, body.into_message(&entry.content));
        }
        Ok(())
    }

    /// Adds the notes about runs below after the results of their calls.
    fn add_child_notes(&mut self) {
        let place = usize::from(self.messages.front().is_some_and(|it| it.message.role() == Role::Tool));
        for note in self.shared.take_notes() {
            self.tokens += estimated_tokens(std::slice::from_ref(&note));
            self.messages.insert(place, ReadMessage { message: note, is_note: true });
        }
    }

    fn into_conversation(mut self, compaction: Option<CompactionBody>) -> StoredConversation {
        self.progress.finish_reading();
        self.add_child_notes();
        let later = self.messages;
        let (has_secrets, is_shortened) = (self.has_secrets, self.is_shortened);
        let (mut messages, mut model_messages) = (Vec::new(), Vec::new());
        let is_compacted = compaction.is_some();
        if let Some(mut body) = compaction {
            let (compacted, added) = (body.take_messages(), body.added);
            let entries = compacted.iter().enumerate().filter(|(index, _)| !added.contains(index));
            messages.extend(entries.map(|(_, message)| message.clone()));
            model_messages = compacted;
        } else if is_shortened {
            model_messages.push(Message::user(OMISSION_NOTE));
        }
        messages.extend(later.iter().filter(|it| !it.is_note).map(|it| it.message.clone()));
        model_messages.extend(later.into_iter().map(|it| it.message));
        let (open, progress, position) = (self.open, self.progress, self.position.position());
        let control = self.control.unwrap_or_default();
        StoredConversation {
            messages,
            model_messages,
            has_secrets,
            open,
            is_shortened,
            is_compacted,
            progress,
            position,
            control,
        }
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
