//! The conversation of a run.

use std::{ops::ControlFlow, sync::Arc};

use tool_runtime::Registry;
use tool_session::{EntryContent, SessionError};

use super::{
    AgentEventKind, EndReason, RunUsage,
    control::Control,
    entry::{CompactionBody, ControlBody, CutOff, MessageBody, MessageMarks, UnstoredMessage},
    flow::{Flow, end_with},
    handle::Inbox,
    member::EntryOrigin,
    parent_run::AnsweredHistories,
    scope::RunScope,
    session::SessionTurn,
    session_writer::SessionWriter,
    stored_conversation::StoredConversation,
    stored_progress::StoredProgress,
    team::{MemberState, POSITION_KIND, Position},
    usage_ledger::LedgerEntry,
};
use crate::{Message, QueueMode, Role, model::Response};

/// The conversation of a run: as its session stores it, and as the model receives it.
pub(super) struct RunConversation {
    /// The stored messages, and the batch whose results are not stored yet.
    pub(super) session: SessionTurn,
    /// The messages for the model: shorter after a compaction, and with messages that are not stored.
    pub(super) model_messages: Vec<Message>,
    pub(super) counted: Option<CountedTokens>,
    /// The usage of the agent that is stored with the next message.
    pub(super) usage: RunUsage,
    /// The agent that runs, if it is one of several.
    pub(super) member: Option<MemberTurn>,
    /// `true` if a message has secret arguments.
    pub(super) has_secrets: bool,
    /// The progress of the last run, of which the session has no end.
    pub(super) progress: StoredProgress,
    /// The agent that has control, and the one that has the next message; stored with the next messages.
    pub(super) control: Control,
    /// The state of an agent that works beside others.
    pub(super) member_state: Option<MemberState>,
    /// The histories of runs below calls that the next step removes, as the run has them.
    pub(super) answered: AnsweredHistories,
}

/// The turn of one of several agents in a conversation.
pub(super) struct MemberTurn {
    pub(super) origin: EntryOrigin,
    pub(super) usage: Arc<LedgerEntry>,
    /// The position of the agent, until it is stored with the first message of the agent.
    pub(super) position: Option<Position>,
    /// The messages for the model of this agent alone.
    pub(super) reminders: Vec<Message>,
}

/// The tokens of the first messages of a conversation, as a provider counted them.
#[derive(Clone, Copy)]
pub(super) struct CountedTokens {
    pub(super) tokens: u64,
    pub(super) messages: usize,
}

impl RunConversation {
    /// Continues the conversation of a session in memory.
    pub(super) fn new(mut session: SessionTurn) -> Self {
        session.remove_unchecked_message();
        let mut model_messages = session.messages.clone();
        for (before, note) in session.notes.iter().rev() {
            model_messages.insert((*before).min(model_messages.len()), note.clone());
        }
        let (usage, progress) = (RunUsage::default(), StoredProgress::default());
        let control = session.control.clone();
        Self {
            session,
            model_messages,
            counted: None,
            usage,
            member: None,
            has_secrets: false,
            progress,
            control,
            member_state: None,
            answered: AnsweredHistories::default(),
        }
    }

    /// Continues the conversation of a session in a store.
    pub(super) fn of_store(mut session: SessionTurn, stored: StoredConversation) -> Self {
        let StoredConversation { messages, model_messages, has_secrets, progress, .. } = stored;
        session.messages = messages;
        let (usage, control) = (RunUsage::default(), session.control.clone());
        Self {
            session,
            model_messages,
            counted: None,
            usage,
            member: None,
            has_secrets,
            progress,
            control,
            member_state: None,
            answered: AnsweredHistories::default(),
        }
    }

    /// Returns the usage of the run.
    pub(super) fn total_usage(&self) -> RunUsage {
        match &self.member {
            Some(member) => member.usage.set_usage_and_total(self.usage),
            None => self.usage,
        }
    }

    /// Returns an entry of the agent that runs.
    pub(super) fn entry(
        &self,
        writer: &SessionWriter,
        kind: &'static str,
        body: &impl serde::Serialize,
        has_secret: bool,
    ) -> Result<EntryContent, SessionError> {
        match &self.member {
            Some(member) => writer.entry_of(&member.origin, kind, body, has_secret),
            None => writer.entry(kind, body, has_secret),
        }
    }

    /// Stores a message.
    pub(super) async fn add_message(&mut self, scope: &RunScope, message: Message) {
        self.add_all(scope, [message]).await;
    }

    /// Stores the response of the model, whose calls may have secret arguments, and which may be cut off.
    pub(super) async fn add_response(&mut self, scope: &RunScope, response: &Response, tools: &Registry) {
        let has_secret = self.session.writer.is_some()
            && response.message.calls().any(|call| {
                // The misspelt name of a tool may have its secrets, and so may a tool that redirects to it.
                let secrets = tools.get(&call.name).map(|tool| &tool.definition().metadata().secrets);
                tools.has_unidentified_secret(&call.name) || secrets.is_some_and(|it| !it.is_empty())
            });
        let cut_off = response.truncated.then(|| CutOff { stop_reason: response.stop_reason.clone() });
        let marks = MessageMarks { has_secret, cut_off };
        self.add_messages(scope, vec![response.message.clone()], marks).await;
    }

    /// Stores messages: all of them before the first event, so that a dropped run stores all or none.
    pub(super) async fn add_all(&mut self, scope: &RunScope, messages: impl IntoIterator<Item = Message>) {
        self.add_messages(scope, messages.into_iter().collect(), MessageMarks::default()).await;
    }

    /// Stores the results of the open batch, what follows them, and `control` after them; returns `false` if the store fails. The batch remains until they are stored: a run that is dropped meanwhile, or
    /// whose store fails, loses no result.
    pub(super) async fn add_results(
        &mut self,
        scope: &RunScope,
        messages: Vec<Message>,
        control: Control,
    ) -> bool {
        let messages = self.with_name_of_agent(messages);
        let before = std::mem::replace(&mut self.control, control);
        let is_stored = self.write_messages(&messages, MessageMarks::default()).await;
        if is_stored {
            self.session.open = None;
            self.show_messages(scope, messages).await;
        } else {
            self.control = before;
        }
        is_stored
    }

    /// Stores messages; if the store fails, the run ends at its next [check](Self::end_if_store_failed).
    async fn add_messages(&mut self, scope: &RunScope, messages: Vec<Message>, marks: MessageMarks) {
        let messages = self.with_name_of_agent(messages);
        if self.write_messages(&messages, marks).await {
            self.show_messages(scope, messages).await;
        }
    }

    /// Adds messages that are stored to the conversation, and sends their events.
    async fn show_messages(&mut self, scope: &RunScope, messages: Vec<Message>) {
        self.session.messages.extend(messages.iter().cloned());
        self.model_messages.extend(messages.iter().cloned());
        let has_results = messages.iter().any(|message| message.role() == Role::Tool);
        for message in messages {
            scope.emit(AgentEventKind::Message { message }).await;
        }
        if has_results {
            scope.emitter.wait_until_received().await;
        }
    }

    /// Writes messages to the store, if there is one; returns `false` if that failed.
    async fn write_messages(&mut self, messages: &[Message], marks: MessageMarks) -> bool {
        let Some(writer) = self.session.writer.clone() else {
            self.keep_control_for_next_run();
            return true;
        };
        self.has_secrets |= marks.has_secret;
        let unstored =
            messages.iter().map(|it| UnstoredMessage { message: it.clone(), marks: marks.clone() });
        self.session.unstored.extend(unstored);
        if self.session.is_unchecked {
            return writer.failure().is_none();
        }
        let state = self.take_member_entry(&writer);
        let entries = self.take_position_entry(&writer).and_then(|position| {
            let messages = self.unstored_entries(&writer)?;
            Ok(position.into_iter().chain(messages).chain(state?).collect())
        });
        let is_stored = self.write_step(&writer, entries).await;
        self.session.unstored.clear();
        if is_stored {
            self.keep_control_for_next_run();
        }
        is_stored
    }

    /// Writes a step, which removes the histories of calls that are answered. Returns `false` if it is not stored.
    pub(super) async fn write_step(
        &self,
        writer: &SessionWriter,
        entries: Result<Vec<EntryContent>, SessionError>,
    ) -> bool {
        writer.write(entries, self.answered.take(), self.total_usage()).await
    }

    /// Keeps control for the next run, unless the message that moved it may be refused.
    fn keep_control_for_next_run(&mut self) {
        if !self.session.is_unchecked && self.session.control != self.control {
            self.session.control = self.control.clone();
        }
    }

    /// Takes the entry of the position of the agent that runs, if it is not stored.
    pub(super) fn take_position_entry(
        &mut self,
        writer: &SessionWriter,
    ) -> Result<Option<EntryContent>, SessionError> {
        let Some(member) = &mut self.member else { return Ok(None) };
        let Some(position) = member.position.take() else { return Ok(None) };
        writer.entry_of(&member.origin, POSITION_KIND, &position, false).map(Some)
    }

    /// Returns the entries of the messages, and of a change of control, that the store does not have.
    fn unstored_entries(&self, writer: &SessionWriter) -> Result<Vec<EntryContent>, SessionError> {
        let entry = |it: &UnstoredMessage| {
            let mut body = MessageBody::new(it.message.clone());
            body.cut_off.clone_from(&it.marks.cut_off);
            self.entry(writer, EntryContent::MESSAGE, &body, it.marks.has_secret)
        };
        let mut entries: Vec<_> = self.session.unstored.iter().map(entry).collect();
        if !self.session.is_unchecked && self.session.control != self.control {
            let body = ControlBody::new(self.control.clone());
            entries.push(writer.entry(EntryContent::CONTROL, &body, false));
        }
        entries.into_iter().collect()
    }

    /// Ends the run if a step is not stored: no request and no call follows it.
    pub(super) fn end_if_store_failed(&self) -> Flow {
        match self.session.writer.as_ref().and_then(|writer| writer.failure()) {
            Some(reason) => end_with(reason.clone()),
            None => ControlFlow::Continue(()),
        }
    }

    /// Replaces the messages for the model after a compaction, which is stored.
    pub(super) async fn replace_model_messages(&mut self, messages: Vec<Message>) {
        self.model_messages = messages;
        let Some(writer) = self.session.writer.clone() else { return };
        // A message that is not stored yet follows the compaction.
        let is_unstored =
            |message: &Message| self.session.unstored.iter().any(|it| it.message.is_same(message));
        let compacted: Vec<_> = self.model_messages.iter().filter(|it| !is_unstored(it)).cloned().collect();
        let stored = &self.session.messages;
        let is_added = |message: &Message| !stored.iter().any(|it| it.is_same(message));
        let added = compacted.iter().enumerate().filter(|(_, it)| is_added(it)).map(|(index, _)| index);
        let added = added.collect();
        let body = CompactionBody::new(compacted, added);
        let entry = self.entry(&writer, EntryContent::COMPACTION, &body, self.has_secrets);
        // A run reads no entries before a compaction.
        let position = self
            .member
            .as_ref()
            .zip(self.session.position.clone())
            .map(|(member, position)| writer.entry_of(&member.origin, POSITION_KIND, &position, false));
        let entries = [Some(entry), position].into_iter().flatten().collect();
        self.write_step(&writer, entries).await;
    }

    /// Stores the open batch while the run waits for answers.
    pub(super) async fn store_open_batch(&mut self) {
        let Some(writer) = self.session.writer.clone() else { return };
        let entries = self.open_batch_entries(&writer);
        if entries.as_ref().is_ok_and(Vec::is_empty) {
            return;
        }
        self.write_step(&writer, entries).await;
    }

    /// Returns the entry of the open batch, if there is one, after the position of its agent.
    pub(super) fn open_batch_entries(
        &mut self,
        writer: &SessionWriter,
    ) -> Result<Vec<EntryContent>, SessionError> {
        if self.session.open.is_none() {
            return Ok(Vec::new());
        }
        let position = self.take_position_entry(writer)?;
        let open =
            self.session.open.as_ref().map(|open| {
                self.entry(writer, EntryContent::OPEN_BATCH, &open.stored_body(), self.has_secrets)
            });
        Ok(position.into_iter().chain(open.transpose()?).collect())
    }

    /// Stores the end of the run; returns the reason of another end if that fails.
    pub(super) async fn store_end(&mut self, reason: &EndReason) -> Option<EndReason> {
        self.session.usage = self.usage;
        let Some(writer) = self.session.writer.clone() else {
            self.keep_control_for_next_run();
            return None;
        };
        if self.session.is_unchecked {
            self.session.unstored.clear();
        }
        let unstored = self.unstored_entries(&writer);
        let open = self.open_batch_entries(&writer);
        let entries = unstored.and_then(|unstored| Ok(unstored.into_iter().chain(open?).collect()));
        writer.write_end(entries, self.answered.take(), reason, self.total_usage()).await;
        self.session.unstored.clear();
        writer.failure().cloned()
    }

    /// Adds the notes about runs below the calls whose results are stored now. The next run has them again: from the store, or from the session in memory.
    pub(super) fn add_child_notes(&mut self, scope: &RunScope) {
        for note in scope.parent.take_notes() {
            if self.session.writer.is_none() {
                let before = self.session.messages.len();
                self.session.notes.push((before, note.clone()));
            }
            self.model_messages.push(note);
        }
    }

    /// Adds the note about the conversation above, for a run that shares it.
    pub(super) fn add_note_above(&mut self, note: Message) {
        self.model_messages.insert(0, note);
    }

    /// Returns the messages for the model before the calls of the open batch.
    pub(super) fn messages_before_calls(&self) -> Vec<Message> {
        let calls = self.model_messages.iter().rposition(|it| it.role() == Role::Assistant).unwrap_or(0);
        self.model_messages[..calls].to_vec()
    }

    /// Adds a message for the model that is not stored.
    pub(super) fn add_message_for_model_alone(&mut self, message: Message) {
        if let Some(member) = &mut self.member {
            member.reminders.push(message.clone());
        }
        self.model_messages.push(message);
    }

    /// Stores one or all messages of a queue; returns `false` if there is none.
    pub(super) async fn add_queued_messages(
        &mut self,
        scope: &RunScope,
        mode: QueueMode,
        next: fn(&Inbox) -> Option<Message>,
    ) -> bool {
        let mut has_some = false;
        while let Some(message) = next(&scope.inbox) {
            self.control.transfers = 0;
            self.add_message(scope, message.marked_as_input(false)).await;
            has_some = true;
            if mode == QueueMode::One {
                break;
            }
        }
        has_some
    }

    /// Returns the last message, if it has calls whose results are not stored.
    pub(super) fn unanswered_calls(&self) -> Option<Message> {
        let last = self.session.messages.last().filter(|last| last.role() == Role::Assistant)?;
        last.calls().next().map(|_| last.clone())
    }

    /// Notes the tokens of all messages so far and of the response to them.
    pub(super) fn set_counted_tokens(&mut self, tokens: u64) {
        self.counted = Some(CountedTokens { tokens, messages: self.model_messages.len() + 1 });
    }
}
