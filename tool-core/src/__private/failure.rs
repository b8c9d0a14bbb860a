//! Conversion of a function's error to the error of a call, selected like [`Of`](super::Of).

use std::{error::Error, fmt::Display};

use super::Tag;
use crate::ToolError;

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
