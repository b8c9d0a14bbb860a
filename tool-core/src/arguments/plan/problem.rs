use std::fmt;

/// A mistake in a schema, or what a plan does not cover of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaProblem {
    /// Which subschema, as a JSON pointer into the schema; `""` for all of it.
    pub pointer: String,
    /// What is wrong with it.
    pub message: String,
    /// Whether nothing is wrong with it but that the built-in check does not cover it.
    pub uncovered: bool,
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        write!(f, "at {place}: {}", self.message)
    }
}

impl std::error::Error for SchemaProblem {}
