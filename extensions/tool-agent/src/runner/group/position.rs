//! The position of a run in its tree of agents, by which a later run continues it.

use serde::{Deserialize, Serialize};
use tool_runtime::call::CallId;
use tool_session::{Entry, EntryContent, SessionError};

use super::super::{RunUsage, entry::EntryCodec, stored_conversation::read_body};
use crate::{Agent, format_version::FormatVersion};

/// The kind of the entry with the position of a run.
pub(in crate::runner) const POSITION_KIND: &str = "position";

/// A step of the way from the root of a tree to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::runner) struct PathStep {
    /// The name of the member.
    pub(in crate::runner) agent: String,
    /// The number of members of its group that began before it, in all iterations.
    pub(in crate::runner) step: u64,
}

/// The position of a run: the body of an entry of the kind `position`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::runner) struct Position {
    #[serde(default, rename = "v")]
    version: FormatVersion,
    /// The way to the agent; to a parallel group, if its members run.
    pub(in crate::runner) path: Vec<PathStep>,
    /// The usage of the run when the agent began.
    pub(in crate::runner) usage: RunUsage,
}

impl Position {
    pub(in crate::runner) fn new(path: Vec<PathStep>, usage: RunUsage) -> Self {
        Self { version: FormatVersion, path, usage }
    }

    /// Returns the agent at this position below `root`; `None` if the tree has changed.
    pub(in crate::runner) fn agent<'a>(&self, root: &'a Agent) -> Option<&'a Agent> {
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
    pub(in crate::runner) fn see_entry(
        &mut self,
        codec: &EntryCodec,
        entry: &Entry,
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
                    self.position = Some(read_body(codec, entry)?.0);
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
