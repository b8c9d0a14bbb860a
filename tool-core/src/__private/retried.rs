//! Which errors of a function are worth another attempt, by its `retry(when = ..)`.

use crate::{ToolError, ToolOutput};

/// A result that may have failed.
#[diagnostic::on_unimplemented(
    message = "`retry(when = ..)` requires a `Result`, but `{Self}` is not one",
    label = "has no error",
    note = "return a `Result`, or remove `when`"
)]
pub trait Fallible {
    type Error;

    fn failure(&self) -> Option<&Self::Error>;
}

impl<T, E> Fallible for Result<T, E> {
    type Error = E;

    fn failure(&self) -> Option<&E> {
        self.as_ref().err()
    }
}

impl<T, E> Fallible for Option<Result<T, E>> {
    type Error = E;

    fn failure(&self) -> Option<&E> {
        self.as_ref()?.as_ref().err()
    }
}

/// The answer of `when` to the failure in `result`, if it has failed.
pub fn worth_retrying<R: Fallible>(result: &R, when: impl FnOnce(&R::Error) -> bool) -> Option<bool> {
    result.failure().map(when)
}

/// `result`, with the answer of [`worth_retrying`].
pub fn retried(
    result: Result<ToolOutput, ToolError>,
    is_temporary: Option<bool>,
) -> Result<ToolOutput, ToolError> {
    result.map_err(|error| match is_temporary {
        Some(is_temporary) => error.retryable(is_temporary),
        None => error,
    })
}

/// The result of a call whose errors `$when` tells apart, while they have their own type.
#[doc(hidden)]
#[macro_export]
macro_rules! retried {
    ($value:expr, $when:expr, |$result:ident| $finish:expr) => {{
        let $result = $value;
        let temporary = $crate::__private::worth_retrying(&$result, $when);
        $crate::__private::retried($finish, temporary)
    }};
}
