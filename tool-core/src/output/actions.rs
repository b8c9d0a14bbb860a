use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a tool asks of the run that called it, beside its result.
///
/// Asking is all that a tool does; whether it happens is for the run to decide.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Actions {
    /// The run should end, if every result of the batch asks for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub terminate: bool,
    /// The turn should end without a further question to the model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_summarization: bool,
    /// The calling agent should hand over to its parent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub escalate: bool,
    /// The agent that should go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<String>,
    /// What changes in the session's state; `null` removes a key.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub state: Map<String, Value>,
    /// Artifacts that were saved, with their versions.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub artifacts: Map<String, Value>,
}

impl Actions {
    /// Asks for what `later` asks for, too; where both say something of one thing, `later` is right.
    pub fn follow(&mut self, later: Self) {
        let Self { terminate, skip_summarization, escalate, transfer, state, artifacts } = later;
        self.terminate |= terminate;
        self.skip_summarization |= skip_summarization;
        self.escalate |= escalate;
        self.transfer = transfer.or(self.transfer.take());
        self.state.extend(state);
        self.artifacts.extend(artifacts);
    }
}
