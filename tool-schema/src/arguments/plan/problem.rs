use std::fmt;

/// A mistake in a schema, or an unsupported keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaProblem {
    /// The subschema, as a JSON pointer into the schema; `""` for the root.
    pub pointer: String,
    /// The keyword that cannot be read; `None` for a problem of the whole subschema.
    pub keyword: Option<Box<str>>,
    /// The description of the problem.
    pub message: String,
    /// `true` if the schema is valid but the built-in validator does not support it.
    pub uncovered: bool,
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        write!(f, "at {location}: {}", self.message)
    }
}

impl std::error::Error for SchemaProblem {}
