//! In place of [`Foreign`] where the feature `foreign-schemas` is off: there is none.

use serde_json::Value;
use tool_core::{SchemaProblem, Violations};

/// A check that is not there.
#[derive(Debug)]
pub(crate) enum Foreign {}

impl Foreign {
    /// Says all `problems`, and by what those can be solved that are no mistakes.
    pub(crate) fn instead_of(problems: &[SchemaProblem], _: &Value) -> Result<Self, Vec<String>> {
        let shown = problems.iter().map(|problem| {
            let way_out = "; enable the feature `foreign-schemas` of `tool-runtime`";
            format!("{problem}{}", if problem.uncovered { way_out } else { "" })
        });
        Err(shown.collect())
    }

    pub(crate) fn violations(&self, _: &Value) -> Violations {
        match *self {}
    }
}
