//! The exit code and the error of a command.

use std::{
    fmt, io,
    process::{ExitCode, Termination},
};

use crate::sanitize::escaped_and_indented;

/// The exit code of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// Success: 0.
    Done,
    /// A tool failed, a check found a problem, or an output cannot be written: 1.
    Failed,
    /// The command line or the arguments are invalid, and nothing was run: 2.
    Usage,
    /// A call was not permitted or not approved: 3.
    Refused,
    /// The program's tools cannot be used: 4.
    Unusable,
    /// The call was cancelled: 130.
    Cancelled,
}

impl Exit {
    /// Returns the exit code.
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

/// The error of a command: a message for the standard error, and an exit code.
#[derive(Debug)]
pub struct Failure {
    pub(crate) exit: Exit,
    /// The message; empty for a closed output.
    pub(crate) message: String,
}

impl Failure {
    /// Creates a failure with an exit code.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    /// Creates a failure whose message contains text of others, such as of a server: it is escaped, and limited to 8000
    /// characters in 60 lines.
    pub fn quoting(exit: Exit, message: impl AsRef<str>) -> Self {
        Self::new(exit, escaped_and_indented(message.as_ref()))
    }

    /// Creates a failure for an invalid command line or input, with the exit code 2.
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

/// An output that cannot be written. A closed output is not a failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Done, ""),
            _ => Self::new(Exit::Failed, format!("the output cannot be written: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_its_exit_code() {
        let ends = [Exit::Done, Exit::Failed, Exit::Usage, Exit::Refused, Exit::Unusable, Exit::Cancelled];
        let codes = [0, 1, 2, 3, 4, 130];
        assert_eq!(ends.map(Exit::code), codes);
        // An exit code of a process cannot be compared.
        let reported = ends.map(|end| format!("{:?}", end.report()));
        assert_eq!(reported, codes.map(|code| format!("{:?}", ExitCode::from(code))));
    }

    #[test]
    fn a_closed_output_is_no_failure() {
        let failure = |kind: io::ErrorKind| {
            let Failure { exit, message } = io::Error::from(kind).into();
            (exit, message)
        };
        assert_eq!(failure(io::ErrorKind::BrokenPipe), (Exit::Done, String::new()));
        let (exit, message) = failure(io::ErrorKind::PermissionDenied);
        assert_eq!((exit, &*message), (Exit::Failed, "the output cannot be written: permission denied"));
        let quoted = Failure::quoting(Exit::Refused, "a\u{7}\nerror: b\n");
        assert_eq!((quoted.exit, quoted.to_string()), (Exit::Refused, "a\\u{7}\n    error: b".to_owned()));
    }
}
