//! State by its lifetime.

use serde_json::{Map, Value};
use tool_runtime::context::{StateScope, merge_patch};

use crate::{JsonText, SessionError};

/// State, or changes of state, by [`StateScope`]: names keep their prefixes. Values limited to a run (`temp:`) are never part of it.
///
/// # Examples
///
/// ```
/// use tool_runtime::serde_json::json;
/// use tool_session::ScopedState;
///
/// let changes = json!({ "plan": "pro", "user:language": "fr", "app:rate": 3, "temp:page": 2 });
/// let changes = ScopedState::from_changes(changes.as_object().cloned().unwrap_or_default());
/// assert_eq!(json!(changes.user), json!({ "user:language": "fr" }));
///
/// let mut state = ScopedState::default();
/// state.apply(&changes);
/// assert_eq!(json!(state.merged()), json!({ "plan": "pro", "user:language": "fr", "app:rate": 3 }));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScopedState {
    /// The values of the session.
    pub session: Map<String, Value>,
    /// The values of the user (`user:`), shared by all sessions of the user in the app.
    pub user: Map<String, Value>,
    /// The values of the app (`app:`), shared by all sessions of the app.
    pub app: Map<String, Value>,
}

impl ScopedState {
    /// The maximum depth of objects and lists in a value: a reader of JSON has a limit, too.
    pub const MAX_DEPTH: usize = 100;

    /// Divides `values`, a state or a JSON Merge Patch of one, by lifetime. Values limited to a run are removed.
    #[must_use]
    pub fn from_changes(values: Map<String, Value>) -> Self {
        let mut state = Self::default();
        for (name, value) in values {
            let scope = match StateScope::of(&name) {
                StateScope::User => &mut state.user,
                StateScope::App => &mut state.app,
                StateScope::Temp => continue,
                _ => &mut state.session,
            };
            scope.insert(name, value);
        }
        state
    }

    /// Applies `changes`, a JSON Merge Patch ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)) of each scope, by the
    /// rule of [`RunContext::change_state`](tool_runtime::RunContext::change_state).
    pub fn apply(&mut self, changes: &Self) {
        merge_patch(&mut self.session, &changes.session);
        merge_patch(&mut self.user, &changes.user);
        merge_patch(&mut self.app, &changes.app);
    }

    /// Returns all values, for [`RunContext::with_state`](tool_runtime::RunContext::with_state). No two scopes have a name in common.
    #[must_use]
    pub fn merged(&self) -> Map<String, Value> {
        let mut values = self.session.clone();
        values.extend(self.user.iter().chain(&self.app).map(|(name, value)| (name.clone(), value.clone())));
        values
    }

    /// Returns `true` if there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.session.is_empty() && self.user.is_empty() && self.app.is_empty()
    }
}

impl ScopedState {
    /// Checks the depth of all values.
    pub(crate) fn check_depths(&self) -> Result<(), SessionError> {
        [&self.session, &self.user, &self.app].into_iter().try_for_each(check_value_depths)
    }
}

/// Checks that a scope can be stored, as one text.
pub(crate) fn check_stored_size(values: &Map<String, Value>) -> Result<(), SessionError> {
    JsonText::of(values).map(drop)
}

/// Checks the depth of all values.
pub(crate) fn check_value_depths(values: &Map<String, Value>) -> Result<(), SessionError> {
    const MAX: usize = ScopedState::MAX_DEPTH;
    match values.iter().find(|(_, value)| is_deeper_than(value, MAX)) {
        None => Ok(()),
        Some(_) => {
            Err(SessionError::Invalid(format!("a value of the state is nested more than {MAX} levels deep")))
        }
    }
}

/// Returns `true` if `value` has more than `max_depth` levels of objects and lists.
fn is_deeper_than(value: &Value, max_depth: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if max_depth == 0 => true,
        Value::Array(items) => items.iter().any(|item| is_deeper_than(item, max_depth - 1)),
        Value::Object(members) => members.values().any(|member| is_deeper_than(member, max_depth - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_has_levels_of_lists_and_objects_up_to_a_limit() {
        let nested = |levels: usize, inner: Value| {
            (0..levels).fold(inner, |inner, level| {
                if level % 2 == 0 { json!([1, inner]) } else { json!({ "a": inner, "b": 1 }) }
            })
        };
        for (value, is_kept) in [
            (json!("text"), true),
            (nested(ScopedState::MAX_DEPTH, json!(1)), true),
            (nested(ScopedState::MAX_DEPTH - 1, json!([])), true),
            (nested(ScopedState::MAX_DEPTH, json!([])), false),
            (nested(ScopedState::MAX_DEPTH, json!({})), false),
            (nested(ScopedState::MAX_DEPTH + 1, json!(1)), false),
        ] {
            let values = Map::from_iter([("a".to_owned(), json!(1)), ("b".to_owned(), value)]);
            assert_eq!(check_value_depths(&values).is_ok(), is_kept);
            for scoped in [
                ScopedState { session: values.clone(), ..ScopedState::default() },
                ScopedState { user: values.clone(), ..ScopedState::default() },
                ScopedState { app: values, ..ScopedState::default() },
            ] {
                assert_eq!(scoped.check_depths().is_ok(), is_kept);
            }
        }
    }

    #[test]
    fn a_state_is_empty_without_a_value_in_any_scope() {
        let values = || Map::from_iter([("a".to_owned(), json!(1))]);
        assert!(ScopedState::default().is_empty());
        for scoped in [
            ScopedState { session: values(), ..ScopedState::default() },
            ScopedState { user: values(), ..ScopedState::default() },
            ScopedState { app: values(), ..ScopedState::default() },
        ] {
            assert!(!scoped.is_empty());
            assert_eq!(scoped.merged(), values());
        }
    }
}
