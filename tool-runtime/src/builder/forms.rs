//! The types that the body of [`ToolBuilder::handler`](super::ToolBuilder::handler) may return.
//!
//! A second type parameter keeps implementations apart that would overlap. The compiler finds it where one
//! implementation fits, and refuses a type that two of them fit.

use std::{any::Any, error::Error};

use schemars::JsonSchema;
use serde::Serialize;
use tool_core::{__private::Returned, Bytes, Content, Resource, ToolError, ToolOutput};

/// A success that a [handler](super::ToolBuilder::handler) may return. `Form` is inferred.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return a value of type `{Self}`",
    label = "needs `Serialize` and `JsonSchema`",
    note = "derive both, return a `ToolOutput`, or write `.body(tool_body!(..))` for what a function with `#[tool]` may return"
)]
pub trait HandlerOutput<Form>: Sized {
    #[doc(hidden)]
    fn returned() -> Returned;

    #[doc(hidden)]
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

/// A value that is written as JSON.
pub struct Written;

impl<T: Serialize + JsonSchema + 'static> HandlerOutput<Written> for T {
    fn returned() -> Returned {
        Returned::value::<T>()
    }

    fn into_output(self) -> Result<ToolOutput, ToolError> {
        // As a function with `#[tool]` that returns nothing.
        match (&self as &dyn Any).is::<()>() {
            true => Ok(ToolOutput::empty()),
            false => ToolOutput::json(&self),
        }
    }
}

/// An output, or what one is made of.
pub struct Given;

macro_rules! given {
    ($($output:ty)*) => { $(
        impl HandlerOutput<Given> for $output {
            fn returned() -> Returned {
                Returned { schema: None, is_stream: false }
            }

            fn into_output(self) -> Result<ToolOutput, ToolError> {
                Ok(self.into())
            }
        }
    )* };
}

given!(ToolOutput Content Vec<Content> Resource Bytes);

/// An error that a [handler](super::ToolBuilder::handler) may return. `Form` is inferred.
#[diagnostic::on_unimplemented(
    message = "a handler cannot fail with an error of type `{Self}`",
    label = "needs `Into<ToolError>`",
    note = "return an `anyhow::Error`, implement `From<{Self}> for ToolError`, or write `.body(tool_body!(..))`, which takes any error"
)]
pub trait HandlerError<Form> {
    #[doc(hidden)]
    fn into_error(self) -> ToolError;
}

/// An error that says itself which one of a call it is.
pub struct Converted;

impl<E: Into<ToolError>> HandlerError<Converted> for E {
    fn into_error(self) -> ToolError {
        self.into()
    }
}

/// `anyhow::Error` and its like. A box with an error in it gives one of the two views only, and is converted.
pub struct Viewed;

impl<E> HandlerError<Viewed> for E
where
    E: AsRef<dyn Error> + AsRef<dyn Error + Send + Sync> + Into<Box<dyn Error + Send + Sync>>,
{
    fn into_error(self) -> ToolError {
        tool_core::__private::viewed(self)
    }
}
