//! An error of a database with a code, for tests.

use std::{borrow::Cow, error::Error, fmt};

use sqlx::error::{DatabaseError, ErrorKind};

/// An error of a database with this code.
#[derive(Debug)]
pub(crate) struct CodedError(pub(crate) Option<&'static str>);

impl fmt::Display for CodedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it failed")
    }
}

impl Error for CodedError {}

impl DatabaseError for CodedError {
    fn message(&self) -> &str {
        "it failed"
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        self.0.map(Cow::from)
    }

    fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}
