use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::state::patch;

/// Requests of a tool to its run in addition to the result, made by
/// [`ToolContext::add_actions`](crate::ToolContext::add_actions) or
/// [`ToolOutput::with_actions`](crate::ToolOutput::with_actions).
///
/// An executor applies the changes of state. All other actions are for the program's own loop, which reads the merged
/// actions of a batch (`merged_actions` of `tool-runtime`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Actions {
    /// Ends the run if every result of the batch requests it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub terminate: bool,
    /// Ends the turn without another request to the model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_summarization: bool,
    /// Asks the calling agent to hand over to its parent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub escalate: bool,
    /// The agent that continues the conversation; the last one that a call of the batch names. A run of `tool-agent` makes the transfer once
    /// the results of the batch are stored, if its tree has such an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<String>,
    /// The changes of the session's [`State`](crate::State), as a JSON Merge Patch
    /// ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)): objects are merged, `null` removes a member.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub state: Map<String, Value>,
    /// Saved artifacts with their versions.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub artifacts: Map<String, Value>,
}

impl Actions {
    /// Returns `true` if nothing is requested.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::output::Actions;
    ///
    /// assert!(Actions::default().is_empty());
    /// assert!(!Actions { terminate: true, ..Actions::default() }.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Merges `later` into these actions: a flag is set if either sets it, the later transfer wins, changes of state
    /// are merged deeply, and the highest version of each artifact is kept.
    pub fn follow(&mut self, later: Self) {
        let Self { terminate, skip_summarization, escalate, transfer, state, artifacts } = later;
        self.terminate |= terminate;
        self.skip_summarization |= skip_summarization;
        self.escalate |= escalate;
        self.transfer = transfer.or(self.transfer.take());
        patch::extend_patch(&mut self.state, state);
        for (name, version) in artifacts {
            let known = self.artifacts.get(&name).and_then(Value::as_u64);
            if known.is_none_or(|known| version.as_u64().is_none_or(|version| known < version)) {
                self.artifacts.insert(name, version);
            }
        }
    }
}
