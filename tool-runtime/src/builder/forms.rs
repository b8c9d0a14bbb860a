//! The return types of a body for [`ToolBuilder::handler`](super::ToolBuilder::handler).
//!
//! A second type parameter separates implementations that would overlap. The compiler infers it where exactly
//! one implementation matches, and rejects a type that two of them match.

use std::{any::Any, error::Error};

use schemars::JsonSchema;
use serde::Serialize;
use tool_core::{__private::Returned, Bytes, Content, Resource, ToolError, ToolOutput};

/// A success value of a [handler](super::ToolBuilder::handler). `Form` is inferred.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return a value of type `{Self}`",
    label = "needs `Serialize` and `JsonSchema`",
    note = "derive both, return a `ToolOutput`, or use `.body(tool_body!(..))` for other return types of `#[tool]` functions"
)]
pub trait HandlerOutput<Form>: Sized {
    #[doc(hidden)]
    fn returned() -> Returned;

    #[doc(hidden)]
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

/// A value that is serialized as JSON.
pub struct SerializedForm;

impl<T: Serialize + JsonSchema + 'static> HandlerOutput<SerializedForm> for T {
    fn returned() -> Returned {
        Returned::value::<T>()
    }

    fn into_output(self) -> Result<ToolOutput, ToolError> {
        // Like a `#[tool]` function that returns nothing.
        match (&self as &dyn Any).is::<()>() {
            true => Ok(ToolOutput::empty()),
            false => ToolOutput::json(&self),
        }
    }
}

/// A [`ToolOutput`], or a value that converts into one.
pub struct OutputForm;

macro_rules! output_forms {
    ($($output:ty)*) => { $(
        impl HandlerOutput<OutputForm> for $output {
            fn returned() -> Returned {
                Returned { schema: None, is_stream: false }
            }

            fn into_output(self) -> Result<ToolOutput, ToolError> {
                Ok(self.into())
            }
        }
    )* };
}

output_forms!(ToolOutput Content Vec<Content> Resource Bytes);

/// An error of a [handler](super::ToolBuilder::handler). `Form` is inferred.
#[diagnostic::on_unimplemented(
    message = "a handler cannot fail with an error of type `{Self}`",
    label = "needs `Into<ToolError>`",
    note = "return an `anyhow::Error`, implement `From<{Self}> for ToolError`, or use `.body(tool_body!(..))`, which accepts any error"
)]
pub trait HandlerError<Form> {
    #[doc(hidden)]
    fn into_error(self) -> ToolError;
}

/// An error that converts into a [`ToolError`](crate::ToolError).
pub struct Converted;

impl<E: Into<ToolError>> HandlerError<Converted> for E {
    fn into_error(self) -> ToolError {
        self.into()
    }
}

/// `anyhow::Error` and similar types. A boxed error implements only one of the two traits, and is converted.
pub struct Viewed;

impl<E> HandlerError<Viewed> for E
where
    E: AsRef<dyn Error> + AsRef<dyn Error + Send + Sync> + Into<Box<dyn Error + Send + Sync>>,
{
    fn into_error(self) -> ToolError {
        ToolError::from_anyhow(self)
    }
}
