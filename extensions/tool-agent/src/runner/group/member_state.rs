//! The conversation and the state of an agent that works beside others.
//!
//! Its messages, its position and its open calls are in a history of its own, whose key is stored with the position of the group. Its changes of state
//! are there, too, until the group ends: the state of the session has them when all members have ended.

use std::sync::Arc;

use serde_json::{Map, Value};
use tool_session::{EntryContent, SessionError};

use super::{
    super::{
        RunUsage,
        control::Control,
        conversation::{MemberTurn, RunConversation},
        member::EntryOrigin,
        session::SessionTurn,
        session_writer::SessionWriter,
        state_changes::state_changes,
        stored_conversation::StoredConversation,
    },
    Place,
    position::{MEMBER_KIND, MemberEnd, MemberProgress},
};

/// The state of an agent that works beside others.
pub(in crate::runner) struct MemberState {
    origin: EntryOrigin,
    /// The state with which the group began.
    initial: Arc<Map<String, Value>>,
    /// The state that the history of the member has.
    stored: Arc<Map<String, Value>>,
}

impl MemberState {
    /// Returns the state of the member at `place`, whose group began with `initial`.
    pub(super) fn new(place: &Place, initial: Arc<Map<String, Value>>) -> Self {
        let origin = EntryOrigin { run: Arc::clone(&place.run), view: place.view.clone() };
        Self { stored: origin.run.state(), origin, initial }
    }

    fn changes(&self) -> Map<String, Value> {
        state_changes(&self.initial, &self.origin.run.state())
    }
}

impl RunConversation {
    /// Returns a conversation that begins as this one, whose messages are those of `turn`.
    pub(super) fn fork(&self, turn: SessionTurn, state: MemberState) -> Self {
        let mut fork = Self::new(turn);
        fork.session.messages.clone_from(&self.session.messages);
        fork.model_messages.clone_from(&self.model_messages);
        self.join_fork(&mut fork, state);
        fork
    }

    /// Returns a conversation that began as this one, and went on as its store has it.
    pub(super) fn stored_fork(
        &self,
        turn: SessionTurn,
        mut stored: StoredConversation,
        state: MemberState,
    ) -> Self {
        if !stored.is_compacted && !stored.is_shortened {
            stored.messages.splice(..0, self.session.messages.iter().cloned());
            stored.model_messages.splice(..0, self.model_messages.iter().cloned());
        }
        let mut fork = Self::of_store(turn, stored);
        self.join_fork(&mut fork, state);
        fork
    }

    fn join_fork(&self, fork: &mut Self, state: MemberState) {
        fork.session.writer.clone_from(&self.session.writer);
        fork.has_secrets |= self.has_secrets;
        (fork.control, fork.member_state) = (Control::default(), Some(state));
    }

    /// Begins the turn of an agent, whose request nothing counted yet.
    pub(in crate::runner) fn begin_turn(&mut self, turn: MemberTurn) {
        (self.counted, self.usage, self.member) = (None, RunUsage::default(), Some(turn));
    }

    /// Ends the turn of an agent; messages for its model alone are removed.
    pub(in crate::runner) fn end_turn(&mut self) {
        let Some(MemberTurn { reminders, .. }) = self.member.take() else { return };
        if !reminders.is_empty() {
            self.model_messages.retain(|message| !reminders.iter().any(|reminder| reminder.is_same(message)));
        }
    }

    /// Stores the position of the agent that runs, as before messages that are no messages of the session.
    pub(in crate::runner) async fn store_position(&mut self) {
        let Some(writer) = self.session.writer.clone() else { return };
        if let Some(entry) = self.take_position(&writer).transpose() {
            writer.write(entry.map(|entry| vec![entry]), self.total_usage()).await;
        }
    }

    /// Returns the entry of the state of an agent that works beside others, if the store does not have it.
    pub(in crate::runner) fn take_state(
        &mut self,
        writer: &SessionWriter,
    ) -> Result<Option<EntryContent>, SessionError> {
        let Some(state) = &mut self.member_state else { return Ok(None) };
        let current = state.origin.run.state();
        if Arc::ptr_eq(&current, &state.stored) || current == state.stored {
            return Ok(None);
        }
        state.stored = current;
        let progress = MemberProgress::new(state.changes(), None);
        writer.entry_of(&state.origin, MEMBER_KIND, &progress, self.has_secrets).map(Some)
    }

    /// Stores the end of an agent that works beside others, or the calls with which it waits if there is none.
    pub(super) async fn store_member(&mut self, end: Option<MemberEnd>) -> MemberProgress {
        let changes = self.member_state.as_ref().map(MemberState::changes).unwrap_or_default();
        let progress = MemberProgress::new(changes, end);
        let (Some(writer), Some(state)) = (self.session.writer.clone(), &self.member_state) else {
            return progress;
        };
        let entry = writer.entry_of(&state.origin, MEMBER_KIND, &progress, self.has_secrets);
        let open = self.open_batch_entries(&writer);
        let entries = open.and_then(|open| Ok(open.into_iter().chain([entry?]).collect()));
        writer.write(entries, self.total_usage()).await;
        progress
    }
}
