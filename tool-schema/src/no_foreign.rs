//! Replaces [`Foreign`] without the feature `foreign-schemas`.

use serde_json::Value;

use crate::{SchemaProblem, Violations};

/// A validator that does not exist.
#[derive(Debug)]
pub enum Foreign {}

impl Foreign {
    /// Returns all `problems`, and the feature that solves those that are not mistakes.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn instead_of(problems: &[SchemaProblem], _: &Value) -> Result<Self, Vec<String>> {
        let messages = problems.iter().map(|problem| {
            let way_out = "; enable the feature `foreign-schemas` of `tool-runtime`";
            format!("{problem}{}", if problem.uncovered { way_out } else { "" })
        });
        Err(messages.collect())
    }

    /// Returns the violations of a value.
    #[must_use]
    pub fn violations(&self, _: &Value) -> Violations {
        match *self {}
    }
}
