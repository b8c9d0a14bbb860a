//! Defaults and examples written for a parameter. A model may send them, so they must be valid.

use serde_json::{Value, json};

use super::InputSchema;
use crate::{Violation, pointer::push_step};

/// A default or example written for a parameter.
#[derive(Debug)]
pub struct WrittenValue {
    /// The name of the parameter.
    pub parameter: &'static str,
    /// The purpose of the value.
    pub purpose: Purpose,
    /// The value as JSON.
    pub value: Value,
}

/// The purpose of a value.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The default of a parameter that the model omits.
    DefaultValue,
    /// An example for the model.
    Example,
}

/// A default or example that is invalid, with the message of the validator.
#[doc(hidden)]
#[derive(Debug)]
pub struct Misfit {
    pub parameter: &'static str,
    pub purpose: Purpose,
    pub violation: Violation,
}

impl InputSchema {
    /// Returns the defaults and examples of parameters that the schema rejects.
    #[doc(hidden)]
    #[must_use]
    pub fn misfits(&self) -> Vec<Misfit> {
        if self.shared.written_values.is_empty() {
            return Vec::new();
        }
        let Ok(plan) = self.plan() else { return Vec::new() };
        let of_one = |written: &WrittenValue| {
            let WrittenValue { parameter, purpose, ref value } = *written;
            let mut pointer = String::new();
            push_step(&mut pointer, parameter);
            let is_its = move |it: &Violation| {
                let below = it.pointer.strip_prefix(&*pointer);
                below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
            };
            // Violations of other parameters, such as missing ones, do not concern the value.
            let violations = plan.violations(&json!({ parameter: value })).into_iter().filter(is_its);
            violations.map(|violation| Misfit { parameter, purpose, violation }).collect::<Vec<_>>()
        };
        self.shared.written_values.iter().flat_map(of_one).collect()
    }
}
