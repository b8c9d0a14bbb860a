//! Retry decisions by `retry(when = ..)`.

use crate::{ToolError, ToolOutput};

/// A return type that may be an error.
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

/// Returns the decision of `when` on the error in `result`; `None` for a success.
pub fn worth_retrying<R: Fallible>(result: &R, when: impl FnOnce(&R::Error) -> bool) -> Option<bool> {
    result.failure().map(when)
}

/// Adds the decision of [`worth_retrying`] to `result`.
pub fn retried(
    result: Result<ToolOutput, ToolError>,
    is_temporary: Option<bool>,
) -> Result<ToolOutput, ToolError> {
    result.map_err(|error| match is_temporary {
        Some(is_temporary) => error.retryable(is_temporary),
        None => error,
    })
}

/// Applies `$when` to the error of a result while it has its own type.
#[doc(hidden)]
#[macro_export]
macro_rules! retried {
    ($value:expr, $when:expr, |$result:ident| $finish:expr) => {{
        let $result = $value;
        let temporary = $crate::__private::worth_retrying(&$result, $when);
        $crate::__private::retried($finish, temporary)
    }};
}
