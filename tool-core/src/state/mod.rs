//! The state of a session, as read and changed by calls.

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

/// The state of the session that a call belongs to: named values, read and changed by one attempt of the call.
///
/// A tool takes it as a parameter of type `&State` or by [`ToolContext::state`](crate::ToolContext::state). A read
/// returns the attempt's own change, otherwise the value at the start of the call's wave: calls that run together
/// see the same values, and later waves see the changes of earlier ones. Changes are buffered and become part of the
/// result's [`Actions`](crate::Actions) if the call succeeds. A call that fails, is denied, skipped or cancelled, or
/// times out, changes nothing; neither does an attempt that is retried.
///
/// Changes are merged in the order of the calls, as JSON Merge Patches ([RFC
/// 7396](https://www.rfc-editor.org/rfc/rfc7396)): two calls that change different members of one object both take
/// effect; of two changes of one member or one list, the later wins. A member of an object that is `null` is absent.
///
/// A tool that derives a value from the previous one, such as a counter or a growing list, loses updates if its calls
/// run in parallel, since each reads the same previous value. Mark such a tool `sequential`.
///
/// The prefix of a name determines the lifetime of its value: see [`StateScope`].
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
    /// The values at the start of the wave.
    before: Arc<Map<String, Value>>,
    /// The values set since then, `null` for removed ones; `None` after the end of the attempt.
    changes: Mutex<Option<BTreeMap<String, Arc<Value>>>>,
}

impl State {
    /// Creates a state with the values `before`.
    #[must_use]
    pub fn new(before: impl Into<Arc<Map<String, Value>>>) -> Self {
        Self { before: before.into(), changes: Mutex::new(Some(BTreeMap::new())) }
    }

    /// Returns the value of `name`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the value cannot be deserialised as `T`. The next [`set`](Self::set) replaces it all the
    /// same.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ToolError> {
        let read = |value: &Value| {
            T::deserialize(value).map(Some).map_err(|error| {
                // The text of the error may repeat the value, which may be long or secret: it is for the log only.
                let type_name = std::any::type_name::<T>();
                ToolError::from_source(error)
                    .with_message(format!("the state `{name}` is not a valid `{type_name}`"))
            })
        };
        // Deserialised outside the lock, since that is user code.
        match self.changed_value(name) {
            Some(value) if value.is_null() => Ok(None),
            Some(value) => read(&value),
            None => self.before.get(name).map_or(Ok(None), read),
        }
    }

    /// Returns the value of `name` as JSON; `None` if there is none.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value> {
        match self.changed_value(name) {
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

    /// Sets the value of `name`; the change takes effect if the call succeeds. `null` removes the value.
    ///
    /// # Errors
    ///
    /// Returns an error if `value` cannot be serialised as JSON, or if the attempt is over.
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

    /// Removes the value of `name`; the change takes effect if the call succeeds.
    ///
    /// # Errors
    ///
    /// Returns an error if the attempt is over.
    pub fn remove(&self, name: impl Into<String>) -> Result<(), ToolError> {
        self.set(name, Value::Null)
    }

    /// Returns the changes so far as a JSON Merge Patch.
    #[must_use]
    pub fn changes(&self) -> Map<String, Value> {
        self.lock().as_ref().map(|changes| self.patch_of(changes)).unwrap_or_default()
    }

    /// Ends the attempt and returns its changes.
    pub(crate) fn close(&self) -> Map<String, Value> {
        let changes = self.lock().take();
        changes.map(|changes| self.patch_of(&changes)).unwrap_or_default()
    }

    fn patch_of(&self, changes: &BTreeMap<String, Arc<Value>>) -> Map<String, Value> {
        let changes = changes.iter();
        let change = |(name, value): (&String, &Arc<Value>)| {
            Some((name.clone(), patch::patch_between(self.before.get(name), value)?))
        };
        changes.filter_map(change).collect()
    }

    fn changed_value(&self, name: &str) -> Option<Arc<Value>> {
        self.lock().as_ref()?.get(name).cloned()
    }

    // A poisoned lock is safe to use: no code of the user runs under it, and each change is a single insertion.
    fn lock(&self) -> MutexGuard<'_, Option<BTreeMap<String, Arc<Value>>>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new(Map::new())
    }
}

/// Prints the state without its values, which may be secrets.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("names", &self.names()).finish_non_exhaustive()
    }
}

/// The lifetime of a value in a [`State`], determined by the prefix of its name.
///
/// | name | lasts | is seen by |
/// | --- | --- | --- |
/// | `plan` | as long as the session | the session |
/// | `user:plan` | as long as the user is known | all sessions of the user |
/// | `app:plan` | as long as the program is known | all sessions of all users |
/// | `temp:plan` | until the run ends | the run |
/// | `_plan` | as long as the session | the session, and not its [child runs](crate::RunContext::child) |
///
/// Executors keep all of these in the run and remove none. A session store keeps
/// [`RunContext::state`](crate::RunContext::state) after a run by these lifetimes, and passes it to the next run by
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
    /// Until the end of the run: `temp:`.
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

/// Returns `true` for names reserved for the program, which child runs do not inherit.
pub(crate) fn is_internal(name: &str) -> bool {
    name.starts_with('_')
}
