//! The position of a run in its tree of agents, by which a later run continues it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_runtime::call::CallId;
use tool_session::{Entry, EntryContent, SessionError};

use super::super::{
    End, EndReason, RunUsage, entry::EntryCodec, stored_conversation::read_body, usage::is_default,
};
use crate::{Agent, format_version::FormatVersion};

/// The kind of the entry with the position of a run.
pub(in crate::runner) const POSITION_KIND: &str = "position";

/// The kind of the entry with the state and the end of a member of a parallel team.
pub(in crate::runner) const MEMBER_KIND: &str = "member";

/// A step of the way from the root of a tree to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::runner) struct PathStep {
    /// The name of the member.
    pub(in crate::runner) agent: String,
    /// The number of members of its team that began before it, in all iterations.
    pub(in crate::runner) step: u64,
}

/// The position of a run: the body of an entry of the kind `position`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::runner) struct Position {
    #[serde(default, rename = "v")]
    version: FormatVersion,
    /// The way to the agent; to a parallel team, if its members run.
    pub(in crate::runner) path: Vec<PathStep>,
    /// The usage of the run when the agent began.
    pub(in crate::runner) usage: RunUsage,
    /// The members of a parallel team, in the order of the list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::runner) members: Vec<MemberRecord>,
    /// `true` if the answer of the parallel team follows in the conversation.
    #[serde(skip)]
    pub(in crate::runner) is_answered: bool,
}

/// A member of a parallel team that has begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::runner) struct MemberRecord {
    /// The name of the member.
    pub(in crate::runner) agent: String,
    /// The view key of its history.
    pub(in crate::runner) view: Arc<str>,
    /// The state and the end; with a store, they are in that history.
    #[serde(skip)]
    pub(in crate::runner) progress: MemberProgress,
}

/// The body of an entry of the kind `member`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(in crate::runner) struct MemberProgress {
    #[serde(default, rename = "v")]
    version: FormatVersion,
    /// The changes to the state with which the team began; in an entry, those since the entry before.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(in crate::runner) changes: Map<String, Value>,
    /// The usage of the agent at the position of the member, with which it continues.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::runner) usage: RunUsage,
    /// The end of the member; `None` if it waits, or was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::runner) end: Option<MemberEnd>,
}

/// The end of a member of a parallel team.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::runner) struct MemberEnd {
    reason: EndReason,
    text: String,
    /// The structured output as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Arc<str>>,
    /// `true` if the nearest loop around the team ends.
    pub(in crate::runner) is_escalated: bool,
}

impl MemberRecord {
    /// Creates the record of a member that begins.
    pub(in crate::runner) fn new(agent: String, view: Arc<str>) -> Self {
        Self { agent, view, progress: MemberProgress::default() }
    }
}

impl MemberProgress {
    pub(in crate::runner) fn new(
        changes: Map<String, Value>,
        usage: RunUsage,
        end: Option<MemberEnd>,
    ) -> Self {
        Self { version: FormatVersion, changes, usage, end }
    }

    /// Returns the same changes with `end`.
    pub(in crate::runner) fn with_end(self, end: Option<MemberEnd>) -> Self {
        Self { end, ..self }
    }
}

impl MemberEnd {
    pub(in crate::runner) fn new(end: &End, is_escalated: bool) -> Self {
        let (reason, text, output) = (end.reason.clone(), end.text.clone(), end.output_json.clone());
        Self { reason, text, output, is_escalated }
    }

    pub(in crate::runner) fn into_end(self) -> End {
        let Self { reason, text, output, .. } = self;
        End { text, output_json: output, ..End::new(reason) }
    }
}

impl Position {
    pub(in crate::runner) fn new(path: Vec<PathStep>, usage: RunUsage) -> Self {
        Self { version: FormatVersion, path, usage, members: Vec::new(), is_answered: false }
    }

    /// Returns `true` if the agent is a parallel team of which a member has no end, as far as this process knows.
    pub(in crate::runner) fn has_open_members(&self) -> bool {
        self.members.iter().any(|member| member.progress.end.is_none())
    }

    /// Returns the agent at this position below `root`; `None` if the tree has changed.
    pub(in crate::runner) fn agent_below<'a>(&self, root: &'a Agent) -> Option<&'a Agent> {
        self.path.iter().try_fold(root, |agent, step| {
            let members = agent.members();
            let index = usize::try_from(step.step.checked_rem(members.len() as u64)?).ok()?;
            members.get(index).filter(|member| member.name() == step.agent)
        })
    }
}

/// Finds the position of the last run in the entries of a session, of which the last one comes first.
#[derive(Default)]
pub(in crate::runner) struct PositionReader {
    /// The run of the last message or open batch.
    last_run: Option<CallId>,
    position: Option<Position>,
    /// `true` if the end of a run is the last entry.
    has_end: bool,
    is_found: bool,
}

impl PositionReader {
    pub(in crate::runner) fn note_entry(
        &mut self,
        codec: &EntryCodec,
        entry: &Entry,
        inherited_entries: u64,
    ) -> Result<(), SessionError> {
        if self.is_found {
            return Ok(());
        }
        let EntryContent { kind, run, .. } = &entry.content;
        match &**kind {
            EntryContent::END if self.last_run.is_none() => self.has_end = true,
            EntryContent::END => self.is_found = true,
            // Of a run that ended, calls may be open, and nothing else continues.
            EntryContent::MESSAGE if self.has_end && self.last_run.is_none() => self.is_found = true,
            EntryContent::MESSAGE | EntryContent::OPEN_BATCH => {
                self.last_run.get_or_insert_with(|| run.clone());
            }
            POSITION_KIND => {
                self.is_found = true;
                // An earlier run has it, which ended, or was interrupted before another message.
                if self.last_run.as_ref().is_none_or(|last| last == run) {
                    let mut position: Position = read_body(codec, entry)?.0;
                    position.is_answered = self.last_run.is_some();
                    if entry.number <= inherited_entries {
                        // The original session continues them.
                        position.members.clear();
                    }
                    self.position = Some(position);
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(in crate::runner) fn position(self) -> Option<Position> {
        self.position
    }
}
