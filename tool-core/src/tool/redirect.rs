//! Calls that stand for calls of another tool.

use crate::{Arguments, ToolError};

/// A function that returns the call for which a call with these arguments stands.
///
/// # Errors
///
/// An error answers the call. Nothing is run.
///
/// # Examples
///
/// ```
/// use tool_runtime::{
///     ToolError,
///     definition::{Redirect, Redirection},
///     schema::Arguments,
/// };
///
/// fn shouted(arguments: &Arguments<'_>) -> Result<Redirection, ToolError> {
///     Ok(Redirection::new("shout", arguments.as_str().to_owned()))
/// }
///
/// let redirect: Redirect = shouted;
/// assert_eq!(redirect(&Arguments::from("{}"))?.name, "shout");
/// # Ok::<(), ToolError>(())
/// ```
pub type Redirect = fn(&Arguments<'_>) -> Result<Redirection, ToolError>;

/// The call for which a call of a tool with a [`Redirect`] stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redirection {
    /// The name of the tool to call.
    pub name: String,
    /// The arguments of that tool.
    pub arguments: Arguments<'static>,
}

impl Redirection {
    /// Creates a call of the tool `name`.
    pub fn new(name: impl Into<String>, arguments: impl Into<Arguments<'static>>) -> Self {
        Self { name: name.into(), arguments: arguments.into() }
    }
}
