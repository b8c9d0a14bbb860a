use std::fmt;

use serde::Serialize;

/// One thing that is wrong with a call's arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// Where: a JSON pointer into the arguments ([RFC 6901]), `""` for all of them.
    ///
    /// [RFC 6901]: https://www.rfc-editor.org/rfc/rfc6901
    pub pointer: String,
    /// What belongs there, in words for a model.
    pub expected: String,
    /// What came, as JSON, shortened; `nothing` where a property is missing.
    pub received: String,
}

impl Violation {
    /// At `pointer` something else was expected than what was received.
    pub fn new(pointer: impl Into<String>, expected: impl Into<String>, received: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), expected: expected.into(), received: received.into() }
    }

    /// Hides what was received. Where one argument is a secret, this is done for all of them: under
    /// a misspelt name it would be a secret that nobody recognises.
    pub(crate) fn hide(&mut self) {
        self.received = "a value that is hidden".to_owned();
        // A decoder's words, in parentheses, repeat what it could not read.
        if let Some(at) = self.expected.find(" (") {
            self.expected.truncate(at);
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, expected, received } = self;
        let place = if pointer.is_empty() { "the arguments" } else { pointer };
        write!(f, "{place}: expected {expected}, got {received}")
    }
}
