//! The state of one scope in memory, with the length of its text.
//!
//! A change costs what it adds and removes: the length after it is computed before it is applied, so that a change beyond the limit has no
//! effect, and neither the values nor their text are made again.

use std::io;

use serde_json::{Map, Value};
use tool_runtime::context::merge_patch;

use crate::{SessionError, json_text::check_json_length};

/// The values of one scope.
#[derive(Debug, Clone, Default)]
pub(super) struct StateScope {
    values: Map<String, Value>,
    /// The bytes of all members in the text of the values, each with its comma.
    member_bytes: usize,
}

/// The effect of a patch on the text of an object.
#[derive(Default)]
struct PatchEffect {
    added_bytes: usize,
    removed_bytes: usize,
    added_members: usize,
    removed_members: usize,
}

impl StateScope {
    /// Creates a scope of values that are stored elsewhere.
    pub(super) fn new(values: Map<String, Value>) -> Self {
        let member_bytes = values.iter().map(|(name, value)| member_bytes(name, json_bytes(value))).sum();
        Self { values, member_bytes }
    }

    pub(super) fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Checks that the text of the scope can be stored after `changes`; returns its bytes without the braces.
    pub(super) fn checked_bytes_after(&self, changes: &Map<String, Value>) -> Result<usize, SessionError> {
        let effect = patch_effect(&self.values, changes);
        // The bytes that are removed are among those of the scope.
        let bytes = self.member_bytes.saturating_add(effect.added_bytes).saturating_sub(effect.removed_bytes);
        check_json_length(object_bytes(bytes))?;
        Ok(bytes)
    }

    /// Applies `changes`, after which the members have `member_bytes`.
    pub(super) fn apply_patch(&mut self, changes: &Map<String, Value>, member_bytes: usize) {
        merge_patch(&mut self.values, changes);
        self.member_bytes = member_bytes;
    }
}

/// Returns the effect of `patch` by the rules of [`merge_patch`].
fn patch_effect(target: &Map<String, Value>, patch: &Map<String, Value>) -> PatchEffect {
    let mut effect = PatchEffect::default();
    for (name, change) in patch {
        match (target.get(name), change) {
            (None, Value::Null) => {}
            (Some(value), Value::Null) => {
                effect.removed_bytes += member_bytes(name, json_bytes(value));
                effect.removed_members += 1;
            }
            (Some(Value::Object(value)), Value::Object(change)) => {
                let within = patch_effect(value, change);
                effect.added_bytes += within.added_bytes;
                effect.removed_bytes += within.removed_bytes;
                // The last member of an object has no comma.
                let members = (value.len() + within.added_members).saturating_sub(within.removed_members);
                match (value.is_empty(), members == 0) {
                    (true, false) => effect.removed_bytes += 1,
                    (false, true) => effect.added_bytes += 1,
                    _ => {}
                }
            }
            (Some(value), change) => {
                effect.removed_bytes += json_bytes(value);
                effect.added_bytes += bytes_without_nulls(change);
            }
            (None, change) => {
                effect.added_bytes += member_bytes(name, bytes_without_nulls(change));
                effect.added_members += 1;
            }
        }
    }
    effect
}

/// Returns the bytes of a member with its colon and its comma.
fn member_bytes(name: &str, value_bytes: usize) -> usize {
    json_bytes(name) + value_bytes + 2
}

/// Returns the bytes of an object whose members have `member_bytes`, each with its comma.
fn object_bytes(member_bytes: usize) -> usize {
    member_bytes.saturating_sub(1) + 2
}

/// Returns the bytes of a value that a patch sets: members that are `null` denote absent ones. Lists are unchanged.
fn bytes_without_nulls(change: &Value) -> usize {
    let Value::Object(members) = change else { return json_bytes(change) };
    let members = members.iter().filter(|(_, value)| !value.is_null());
    object_bytes(members.map(|(name, value)| member_bytes(name, bytes_without_nulls(value))).sum())
}

/// Returns the bytes of the text of a value, which is not made.
fn json_bytes(value: &(impl serde::Serialize + ?Sized)) -> usize {
    let mut counter = ByteCounter(0);
    // Neither a value of JSON nor a count can fail.
    drop(serde_json::to_writer(&mut counter, value));
    counter.0
}

struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests;
