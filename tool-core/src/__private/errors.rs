//! Conversion of a function's error to the error of a call, selected like [`TypeProbe`](super::TypeProbe); retry decisions by
//! `retry(when = ..)`.

use std::{error::Error, fmt::Display};

use super::Tag;
use crate::{ToolError, ToolOutput};

/// The traits that select the conversion, from the most specific to the most general.
pub(super) mod traits {
    #[allow(clippy::wildcard_imports, reason = "a part of the module above")]
    use super::*;

    pub trait ConvertedError<E> {
        fn error(self, error: E) -> ToolError;
    }

    impl<E: Into<ToolError>> ConvertedError<E> for &&&&Tag<E> {
        fn error(self, error: E) -> ToolError {
            error.into()
        }
    }

    pub trait ViewedError<E> {
        fn error(self, error: E) -> ToolError;
    }

    /// For `anyhow::Error` and similar types: finds a `ToolError` among the sources.
    impl<E> ViewedError<E> for &&&Tag<E>
    where
        E: AsRef<dyn Error + Send + Sync> + Into<Box<dyn Error + Send + Sync>>,
    {
        fn error(self, error: E) -> ToolError {
            ToolError::from_anyhow(error)
        }
    }

    pub trait BoxedError<E> {
        fn error(self, error: E) -> ToolError;
    }

    impl<E: Into<Box<dyn Error + Send + Sync>>> BoxedError<E> for &&Tag<E> {
        fn error(self, error: E) -> ToolError {
            ToolError::from_source(error)
        }
    }

    pub trait DisplayedError<E> {
        fn error(self, error: E) -> ToolError
        where
            E: Failure;
    }

    impl<E> DisplayedError<E> for &Tag<E> {
        fn error(self, error: E) -> ToolError
        where
            E: Failure,
        {
            ToolError::failed(error.to_string())
        }
    }
}

/// An error type that a tool can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "needs `Display`, `std::error::Error` or `Into<ToolError>`",
    note = "implement `std::error::Error` for `{Self}`, or return a `ToolError`"
)]
pub trait Failure: Display {}

#[diagnostic::do_not_recommend]
impl<T: Display> Failure for T {}

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
