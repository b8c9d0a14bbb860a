//! How a command ends.

use std::{
    fmt, io,
    process::{ExitCode, Termination},
};

/// How a command ended, as its exit code says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// All is well: 0.
    Done,
    /// A tool failed, a check found something, or an output cannot be written: 1.
    Failed,
    /// What was asked for is wrong, and was not run: 2.
    Usage,
    /// A call was not permitted or not approved: 3.
    Refused,
    /// The program's tools cannot be used: 4.
    Unusable,
    /// The call was cancelled: 130.
    Cancelled,
}

impl Exit {
    /// The exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Unusable => 4,
            Self::Cancelled => 130,
        }
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        self.code().into()
    }
}

/// Why a command was not carried out: what a person is told, and how the program ends.
#[derive(Debug)]
pub struct Failure {
    pub(crate) exit: Exit,
    /// Empty where there is nobody to be told.
    pub(crate) message: String,
}

impl Failure {
    /// A failure that ends the program as `exit` says.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    /// What was asked for is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// An output that cannot be written; whoever has gone away needs no more of it.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Done, ""),
            _ => Self::new(Exit::Failed, format!("the output cannot be written: {error}")),
        }
    }
}
