//! Conversions for the `?` operator in functions that return a [`ToolError`].
//!
//! `From<E>` cannot be implemented for each `E: Error`, since a `ToolError` is an `Error` itself. It is implemented for the
//! errors with [`IntoToolError`], so that the compiler shows the fix for any other one (for `?`, its label only), and [`OrToolError`]
//! converts those.

use std::{
    borrow::Cow,
    char::ParseCharError,
    convert::Infallible,
    env::VarError,
    error::Error,
    fmt, io,
    net::AddrParseError,
    num::{ParseFloatError, ParseIntError, TryFromIntError},
    str::{ParseBoolError, Utf8Error},
    string::FromUtf8Error,
    time::SystemTimeError,
};

use super::{ErrorKind, ToolError, from::is_transient};
use crate::{ArgumentError, guard::Panic};

/// An error that `?` converts into a [`ToolError`]: a text, a boxed error, or an error of the standard library or
/// `serde_json`. Any other error is converted by [`or_tool_error`](OrToolError::or_tool_error).
///
/// A program implements `From<MyError> for ToolError`, or this trait, for its own errors.
#[diagnostic::on_unimplemented(
    message = "`?` cannot convert `{Self}` into a `ToolError`",
    label = "is no `ToolError`: write `.or_tool_error()?`, or `impl From<{Self}> for ToolError`",
    note = "`.or_tool_error()` is a method of `Result` from `tool_runtime::prelude`; a function with `#[tool]` may also return `anyhow::Result`",
    note = "for an error that is a text only, write `.map_err(|error| ToolError::failed(error.to_string()))?`"
)]
pub trait IntoToolError {
    /// Converts the error.
    fn into_tool_error(self) -> ToolError;
}

impl<E: IntoToolError> From<E> for ToolError {
    fn from(error: E) -> Self {
        error.into_tool_error()
    }
}

impl IntoToolError for String {
    fn into_tool_error(self) -> ToolError {
        ToolError::failed(self)
    }
}

impl IntoToolError for &str {
    fn into_tool_error(self) -> ToolError {
        ToolError::failed(self.to_owned())
    }
}

impl IntoToolError for Cow<'_, str> {
    fn into_tool_error(self) -> ToolError {
        ToolError::failed(self.into_owned())
    }
}

impl IntoToolError for Box<dyn Error + Send + Sync> {
    fn into_tool_error(self) -> ToolError {
        ToolError::from_source(self)
    }
}

impl IntoToolError for Panic {
    #[cold]
    fn into_tool_error(self) -> ToolError {
        ToolError::new(ErrorKind::Panicked, self.into_message())
    }
}

/// An error that is not `Send` contributes its text and cannot be kept as source.
impl IntoToolError for Box<dyn Error> {
    fn into_tool_error(self) -> ToolError {
        match self.downcast::<ToolError>() {
            Ok(error) => *error,
            Err(source) => ToolError::failed(source.to_string()).retryable(is_transient(&*source)),
        }
    }
}

/// An error of kind [`InvalidArguments`](ErrorKind::InvalidArguments), with the violations and the received arguments.
impl IntoToolError for ArgumentError {
    fn into_tool_error(self) -> ToolError {
        let message = if self.is_syntax() { "the arguments are not JSON" } else { "" };
        let (violations, arguments) = self.into_parts();
        let mut error = ToolError::new(ErrorKind::InvalidArguments, message).with_violations(violations);
        error.inner.arguments = arguments;
        error
    }
}

macro_rules! sources {
    ($($error:ty)*) => { $(
        impl IntoToolError for $error {
            fn into_tool_error(self) -> ToolError {
                ToolError::from_source(self)
            }
        }
    )* };
}

sources! {
    io::Error serde_json::Error fmt::Error Infallible
    ParseIntError ParseFloatError ParseBoolError ParseCharError TryFromIntError
    Utf8Error FromUtf8Error AddrParseError VarError SystemTimeError
}

/// Converts the error of a `Result` into a [`ToolError`], for `?` in a function that returns a `ToolError`: a tool, a hook,
/// a policy or an approver.
///
/// The error is any `std::error::Error` that is `Send` and `Sync`, which becomes the source, or an `anyhow::Error` or
/// `eyre::Report`, in which a `ToolError` keeps its kind (see [`ToolError::from_anyhow`]).
///
/// # Examples
///
/// ```
/// use tool_runtime::prelude::*;
///
/// #[derive(Debug)]
/// struct OutOfPaper;
///
/// impl std::fmt::Display for OutOfPaper {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("out of paper")
///     }
/// }
///
/// impl std::error::Error for OutOfPaper {}
///
/// fn print(_text: &str) -> Result<(), OutOfPaper> {
///     Err(OutOfPaper)
/// }
///
/// /// Prints the receipt of an order.
/// #[tool]
/// fn receipt(order: String) -> Result<String, ToolError> {
///     let number: u32 = order.parse()?; // an error of the standard library
///     print(&format!("order {number}")).or_tool_error()?; // any other error
///     Ok("printed".to_owned())
/// }
///
/// assert_eq!(receipt("7".to_owned()).unwrap_err().feedback(), "out of paper");
/// assert_eq!(receipt("x".to_owned()).unwrap_err().feedback(), "invalid digit found in string");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be converted into a `Result` with a `ToolError`",
    label = "its error needs `std::error::Error`, `Send` and `Sync`",
    note = "for an error that is a text only, write `.map_err(|error| ToolError::failed(error.to_string()))`"
)]
pub trait OrToolError<T, Kind> {
    /// Converts the error, and returns a success unchanged.
    ///
    /// # Errors
    ///
    /// Returns the converted error.
    fn or_tool_error(self) -> Result<T, ToolError>;
}

/// Selects the conversion of a `std::error::Error`.
#[doc(hidden)]
pub struct OfSource;

/// Selects the conversion of an `anyhow::Error` or a similar type, which is no `std::error::Error`.
#[doc(hidden)]
pub struct OfReport;

impl<T, E: Error + Send + Sync + 'static> OrToolError<T, OfSource> for Result<T, E> {
    fn or_tool_error(self) -> Result<T, ToolError> {
        self.map_err(ToolError::from_source)
    }
}

impl<T, E> OrToolError<T, OfReport> for Result<T, E>
where
    E: AsRef<dyn Error + Send + Sync> + Into<Box<dyn Error + Send + Sync>>,
{
    fn or_tool_error(self) -> Result<T, ToolError> {
        self.map_err(ToolError::from_anyhow)
    }
}
