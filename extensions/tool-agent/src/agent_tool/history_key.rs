//! The key of a history that calls of an agent share, computed from the arguments of each call.

use std::{fmt, sync::Arc};

use serde_json::Value;
use tool_runtime::{
    ToolError,
    guard::{GuardedArc, catch},
};

use super::HistoryScope;

/// The maximum number of bytes of a key, which a model may have chosen.
const MAX_KEY_BYTES: usize = 256;

/// A function of the program that returns the key for the arguments of a call.
#[derive(Clone)]
pub(super) struct HistoryKeyFn(GuardedArc<KeyFn>);

type KeyFn = dyn Fn(&Value) -> String + Send + Sync;

impl HistoryKeyFn {
    pub(super) fn new(key: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        Self(GuardedArc::new(Arc::new(key)))
    }

    /// Returns the history of a call of `agent` with `arguments`.
    ///
    /// # Errors
    ///
    /// Returns an error if the function panics, or if the key is too long.
    pub(super) fn history_scope(&self, agent: &str, arguments: &Value) -> Result<HistoryScope, ToolError> {
        let key = catch(|| (self.0)(arguments))?;
        if key.len() > MAX_KEY_BYTES {
            return Err(ToolError::bad_parameter(format!(
                "the key of the history has {} bytes, and at most {MAX_KEY_BYTES} are possible; use shorter arguments",
                key.len()
            )));
        }
        // A key that depends on arguments names no history of another agent, or of another kind.
        let key = if key.is_empty() { key } else { format!("agenttool:{agent}:key:{key}") };
        Ok(HistoryScope::Persistent(key))
    }
}

impl fmt::Debug for HistoryKeyFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HistoryKeyFn")
    }
}
