//! The state of a session, as calls read and change it.

pub(crate) mod patch;
#[cfg(test)]
#[allow(clippy::panic, reason = "a test may")]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::ToolError;

/// The state of the session that a call belongs to: values under names, as one attempt of the call reads and changes
/// them.
///
/// A tool takes it as a parameter of type `&State`, or by [`ToolContext::state`](crate::ToolContext::state). A read gives
/// the attempt's own change of a value, or else the value as it was when the call's group began: calls that run together
/// see the same values, and a later group sees the changes of the earlier ones. Changes are kept for the attempt, and
/// become part of the result's [`Actions`](crate::Actions) if the call succeeds. A call that fails, is denied, skipped or
/// cancelled, or times out, changes nothing, and neither does an attempt that another one follows.
///
/// Changes are merged in the order of the calls, as JSON Merge Patches
/// ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)): two calls that change different members of one object both
/// succeed, and of two changes of one member, or of one list, the later counts. In an object, a member that is `null` is
/// absent.
///
/// A tool that computes a value from the one before, such as a counter or a list that grows, loses changes if calls run in
/// parallel: each of them sees the value before. Such a tool is `sequential`.
///
/// The prefix of a name says how long a value lasts: see [`StateScope`].
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::{State, ToolContext, ToolError};
///
/// // As a function with `#[tool(sequential)]`.
/// fn count(state: &State) -> Result<u32, ToolError> {
///     let count = state.get::<u32>("count")?.unwrap_or_default() + 1;
///     state.set("count", count)?;
///     Ok(count)
/// }
///
/// let cx = ToolContext::for_test();
/// assert_eq!((count(cx.state())?, count(cx.state())?), (1, 2));
/// assert_eq!(json!(cx.state().changes()), json!({ "count": 2 }));
/// # Ok::<(), ToolError>(())
/// ```
pub struct State {
    /// The values when the group began.
    before: Arc<Map<String, Value>>,
    /// The values that were set since, and `null` for those that were removed; `None` once the attempt is over.
    changes: Mutex<Option<BTreeMap<String, Arc<Value>>>>,
}

impl State {
    /// A state with the values `before`.
    #[must_use]
    pub fn new(before: impl Into<Arc<Map<String, Value>>>) -> Self {
        Self { before: before.into(), changes: Mutex::new(Some(BTreeMap::new())) }
    }

    /// Returns the value of `name`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If the value is no `T`. The next [`set`](Self::set) replaces it all the same.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ToolError> {
        let read = |value: &Value| {
            T::deserialize(value).map(Some).map_err(|error| {
                // The words of the error repeat the value, which may be long or a secret: they are for the log.
                let type_name = std::any::type_name::<T>();
                ToolError::from_source(error).with_message(format!("the state `{name}` is no `{type_name}`"))
            })
        };
        // Read outside the lock: reading is code of the type's.
        match self.changed(name) {
            Some(value) if value.is_null() => Ok(None),
            Some(value) => read(&value),
            None => self.before.get(name).map_or(Ok(None), read),
        }
    }

    /// Returns the value of `name` as JSON; `None` if there is none.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value> {
        match self.changed(name) {
            Some(value) if value.is_null() => None,
            Some(value) => Some((*value).clone()),
            None => self.before.get(name).cloned(),
        }
    }

    /// Returns the names of all values, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let changes = self.lock();
        let changed = |name: &String| changes.as_ref().and_then(|it| it.get(name));
        let before = self.before.keys().filter(|name| changed(name).is_none());
        let set = changes.iter().flatten().filter(|(_, value)| !value.is_null()).map(|(name, _)| name);
        let mut names: Vec<_> = before.chain(set).cloned().collect();
        names.sort_unstable();
        names
    }

    /// Sets the value of `name`, if the call succeeds. `null` removes it.
    ///
    /// # Errors
    ///
    /// If `value` is not JSON, or the attempt is over.
    pub fn set(&self, name: impl Into<String>, value: impl Serialize) -> Result<(), ToolError> {
        let name = name.into();
        let value = serde_json::to_value(value).map_err(|error| {
            ToolError::failed(format!("the value for the state `{name}` is not JSON: {error}"))
        })?;
        let value = Arc::new(patch::without_nulls(&value));
        let before = match &mut *self.lock() {
            Some(changes) => changes.insert(name, value),
            None => {
                return Err(ToolError::failed(format!("the state `{name}` was set after the call was over")));
            }
        };
        drop(before);
        Ok(())
    }

    /// Removes the value of `name`, if the call succeeds.
    ///
    /// # Errors
    ///
    /// If the attempt is over.
    pub fn remove(&self, name: impl Into<String>) -> Result<(), ToolError> {
        self.set(name, Value::Null)
    }

    /// Returns the changes so far, as a JSON Merge Patch.
    #[must_use]
    pub fn changes(&self) -> Map<String, Value> {
        self.lock().as_ref().map(|changes| self.patch(changes)).unwrap_or_default()
    }

    /// Ends the attempt; returns its changes.
    pub(crate) fn close(&self) -> Map<String, Value> {
        let changes = self.lock().take();
        changes.map(|changes| self.patch(&changes)).unwrap_or_default()
    }

    fn patch(&self, changes: &BTreeMap<String, Arc<Value>>) -> Map<String, Value> {
        let changes = changes.iter();
        let change = |(name, value): (&String, &Arc<Value>)| {
            Some((name.clone(), patch::difference(self.before.get(name), value)?))
        };
        changes.filter_map(change).collect()
    }

    fn changed(&self, name: &str) -> Option<Arc<Value>> {
        self.lock().as_ref()?.get(name).cloned()
    }

    // No code of the user's runs under the lock, and each change is one insertion.
    fn lock(&self) -> MutexGuard<'_, Option<BTreeMap<String, Arc<Value>>>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new(Map::new())
    }
}

/// Without the values: there may be a secret among them.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("names", &self.names()).finish_non_exhaustive()
    }
}

/// The time that a value of a [`State`] lasts, by the prefix of its name.
///
/// | name | lasts | is seen by |
/// | --- | --- | --- |
/// | `plan` | as long as the session | the session |
/// | `user:plan` | as long as the user is known | all sessions of the user |
/// | `app:plan` | as long as the program is known | all sessions of all users |
/// | `temp:plan` | until the run ends | the run |
/// | `_plan` | as long as the session | the session, and not its [child runs](crate::RunContext::child) |
///
/// Executors keep all of them in the run, and do not remove any. What stores sessions keeps
/// [`RunContext::state`](crate::RunContext::state) after a run by these lifetimes, and gives it to the next run by
/// [`RunContext::with_state`](crate::RunContext::with_state).
///
/// # Examples
///
/// ```
/// use tool_runtime::context::StateScope;
///
/// assert_eq!(StateScope::of("user:language"), StateScope::User);
/// assert_eq!(StateScope::of("users"), StateScope::Session);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StateScope {
    /// Until the run ends: `temp:`.
    Temp,
    /// As long as the session: no prefix.
    Session,
    /// For all sessions of the user: `user:`.
    User,
    /// For all sessions of the program: `app:`.
    App,
}

impl StateScope {
    /// Returns the lifetime of the value `name`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name.split_once(':') {
            Some(("temp", _)) => Self::Temp,
            Some(("user", _)) => Self::User,
            Some(("app", _)) => Self::App,
            _ => Self::Session,
        }
    }
}

/// Returns `true` for a name of the program's own, which child runs do not inherit.
pub(crate) fn is_internal(name: &str) -> bool {
    name.starts_with('_')
}
