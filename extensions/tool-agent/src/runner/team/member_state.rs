//! The conversation and the state of an agent that works beside others.
//!
//! Its messages, its position and its open calls are in a history of its own, whose key is stored with the position of the team. Its changes of state
//! are there, too, until the team ends: the state of the session has them when all members have ended. Values under `temp:` are in no history, since
//! they end with the run.

use std::sync::Arc;

use serde_json::{Map, Value};
use tool_runtime::context::StateScope;
use tool_session::{EntryContent, SessionError};

use super::{
    super::{
        RunUsage,
        control::Control,
        conversation::{MemberTurn, RunConversation},
        member::EntryOrigin,
        output::OutputAttempts,
        session::SessionTurn,
        session_writer::SessionWriter,
        state_changes::state_changes,
        stored_conversation::StoredConversation,
    },
    AgentPlace,
    position::{MEMBER_KIND, MemberEnd, MemberProgress},
};
use crate::{Message, Role};

/// The state of an agent that works beside others.
pub(in crate::runner) struct MemberState {
    origin: EntryOrigin,
    /// The state with which the team began.
    initial: Arc<Map<String, Value>>,
    /// The state of the member at its last entry.
    stored: Arc<Map<String, Value>>,
    /// The usage of the agent at the position of the member, at its last entry.
    usage: RunUsage,
    /// The attempts of that agent to give its output before it waited.
    attempts: Option<OutputAttempts>,
}

impl MemberState {
    /// Returns the state of the member at `place`, whose team began with `initial`, and whose agent has used `usage`.
    pub(super) fn new(place: &AgentPlace, initial: Arc<Map<String, Value>>, usage: RunUsage) -> Self {
        let origin = EntryOrigin { run: Arc::clone(&place.run), view: place.view.clone() };
        Self { stored: origin.run.state(), origin, initial, usage, attempts: None }
    }

    /// Returns all changes, for the run itself.
    fn changes(&self) -> Map<String, Value> {
        state_changes(&self.initial, &self.origin.run.state())
    }

    /// Takes the changes since the last entry.
    fn take_changes(&mut self) -> Map<String, Value> {
        let current = self.origin.run.state();
        let before = std::mem::replace(&mut self.stored, Arc::clone(&current));
        match Arc::ptr_eq(&before, &current) {
            true => Map::new(),
            false => lasting_changes(state_changes(&before, &current)),
        }
    }
}

/// Returns the changes of values that may outlive the run.
pub(super) fn lasting_changes(mut changes: Map<String, Value>) -> Map<String, Value> {
    changes.retain(|name, _| StateScope::of(name) != StateScope::Temp);
    changes
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

    /// Begins the turn of an agent, or goes on with one that waited; nothing counted its request yet.
    pub(in crate::runner) fn begin_turn(&mut self, mut turn: MemberTurn) {
        turn.reminders.extend(self.member.take().into_iter().flat_map(|waiting| waiting.reminders));
        (self.counted, self.usage, self.member) = (None, RunUsage::default(), Some(turn));
    }

    /// Returns what the agent that works beside others used before it waited, or was interrupted; `None` for any other agent.
    pub(super) fn member_usage(&self) -> Option<RunUsage> {
        self.member_state.as_ref().map(|state| state.usage)
    }

    /// Keeps the attempts of an agent that waits to give its output.
    pub(super) fn keep_output_attempts(&mut self, attempts: Option<OutputAttempts>) {
        if let Some(state) = &mut self.member_state {
            state.attempts = attempts;
        }
    }

    /// Takes the attempts of the agent before it waited.
    pub(in crate::runner) fn take_output_attempts(&mut self) -> Option<OutputAttempts> {
        self.member_state.as_mut()?.attempts.take()
    }

    /// Ends the turn of an agent; messages for its model alone are removed.
    pub(in crate::runner) fn end_turn(&mut self) {
        let Some(MemberTurn { reminders, .. }) = self.member.take() else { return };
        if !reminders.is_empty() {
            self.model_messages.retain(|message| !reminders.iter().any(|reminder| reminder.is_same(message)));
        }
    }

    /// Returns messages with the name of the agent that runs, if it is one of several.
    pub(in crate::runner) fn with_name_of_agent(&self, messages: Vec<Message>) -> Vec<Message> {
        let Some(run) = self.member.as_ref().map(|member| &member.origin.run) else { return messages };
        let Some(agent) = run.agent() else { return messages };
        let (agent, branch): (Arc<str>, _) = (agent.into(), run.branch());
        let sign = |message: Message| match message.role() {
            Role::User => message,
            Role::Assistant | Role::Tool => message.with_agent_of_branch(Arc::clone(&agent), branch),
        };
        messages.into_iter().map(sign).collect()
    }

    /// Stores the position of the agent that runs, as before messages that are no messages of the session.
    pub(in crate::runner) async fn store_position(&mut self) {
        let Some(writer) = self.session.writer.clone() else { return };
        if let Some(entry) = self.take_position_entry(&writer).transpose() {
            self.write_step(&writer, entry.map(|entry| vec![entry])).await;
        }
    }

    /// Returns the entry of the changes of state and the usage of an agent that works beside others, if the store does not have them.
    pub(in crate::runner) fn take_member_entry(
        &mut self,
        writer: &SessionWriter,
    ) -> Result<Option<EntryContent>, SessionError> {
        let Some(state) = &mut self.member_state else { return Ok(None) };
        let changes = state.take_changes();
        let usage_before = std::mem::replace(&mut state.usage, self.usage);
        if changes.is_empty() && usage_before == self.usage {
            return Ok(None);
        }
        let progress = MemberProgress::new(changes, self.usage, None);
        writer.entry_of(&state.origin, MEMBER_KIND, &progress, self.has_secrets).map(Some)
    }

    /// Stores the end of an agent that works beside others, or the calls with which it waits if there is none. Returns its progress with all changes of
    /// state, for the run itself.
    pub(super) async fn store_member_progress(&mut self, end: Option<MemberEnd>) -> MemberProgress {
        let usage = self.usage;
        let Some(state) = &mut self.member_state else { return MemberProgress::new(Map::new(), usage, end) };
        state.usage = usage;
        let progress = MemberProgress::new(state.changes(), usage, end.clone());
        let Some(writer) = self.session.writer.clone() else { return progress };
        let body = MemberProgress::new(state.take_changes(), usage, end);
        let entry = writer.entry_of(&state.origin, MEMBER_KIND, &body, self.has_secrets);
        let open = self.open_batch_entries(&writer);
        let entries = open.and_then(|open| Ok(open.into_iter().chain([entry?]).collect()));
        self.write_step(&writer, entries).await;
        progress
    }
}
