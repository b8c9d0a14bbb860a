//! Values that somebody wrote for a parameter: a default, an example. A model reads them and may
//! send them, so that a call has to be able to have them.

use serde_json::{Value, json};

use super::InputSchema;
use crate::{Violation, pointer::push_step};

/// A value that somebody wrote for a parameter.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) parameter: &'static str,
    pub(crate) purpose: Purpose,
    pub(crate) value: Value,
}

/// What a value was written for.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To be there where the model gives none.
    DefaultValue,
    /// To show what a model may give.
    Example,
}

/// A value that no call can have, in the words of the check.
#[doc(hidden)]
#[derive(Debug)]
pub struct Misfit {
    pub parameter: &'static str,
    pub purpose: Purpose,
    pub violation: Violation,
}

impl InputSchema {
    /// What the schema refuses of the values that somebody wrote for a parameter.
    #[doc(hidden)]
    #[must_use]
    pub fn misfits(&self) -> Vec<Misfit> {
        let Ok(plan) = self.plan() else { return Vec::new() };
        let of_one = |given: &Given| {
            let Given { parameter, purpose, ref value } = *given;
            let mut pointer = String::new();
            push_step(&mut pointer, parameter);
            let is_its = move |it: &Violation| {
                let below = it.pointer.strip_prefix(&*pointer);
                below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
            };
            // That other parameters are missing is nothing to the value.
            let violations = plan.violations(&json!({ parameter: value })).into_iter().filter(is_its);
            violations.map(|violation| Misfit { parameter, purpose, violation }).collect::<Vec<_>>()
        };
        self.shared.given.iter().flat_map(of_one).collect()
    }
}
