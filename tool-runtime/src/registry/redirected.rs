//! Calls that stand for calls of another tool: each is redirected once, before anything else sees it.

use tool_core::{Arguments, ErrorKind, Redirection, ToolDefinition, ToolError};

use super::{Entry, OUTPUT_TOOL, Origin, Registry};
use crate::panics::catch_result;

impl Registry {
    /// Returns `true` if calls of the tool `name` stand for calls of another one.
    #[doc(hidden)]
    #[must_use]
    pub fn redirects_calls_of(&self, name: &str) -> bool {
        self.entry(name).is_some_and(Entry::redirects)
    }

    /// Returns the tool whose call a call of the tool `name` with `arguments` is; `None` if `name` redirects no call, or none that can be
    /// made.
    #[doc(hidden)]
    #[must_use]
    pub fn redirection_target(&self, name: &str, arguments: Arguments<'_>) -> Option<&ToolDefinition> {
        let entry = self.entry(name).filter(|entry| entry.redirects())?;
        self.resolve_redirection(entry, arguments).ok().map(|(target, _)| target.definition())
    }

    /// Returns the tool and the arguments of a direct call: those for which it stands if `entry` redirects.
    ///
    /// # Errors
    ///
    /// Returns an error if the call stands for no other one, or for one that cannot be made.
    pub(super) fn resolve_redirection<'a>(
        &self,
        entry: &Entry,
        arguments: Arguments<'a>,
    ) -> Result<(&Entry, Arguments<'a>), ToolError> {
        let Redirection { name, arguments, .. } = entry.redirection(arguments)?;
        let target = self.entry_or_error(&name)?;
        if !self.is_redirection_target(&name) {
            return Err(framework_target_error(&name, entry.definition().name().as_str()));
        }
        match target.redirects() || target.tool().is_external() {
            true => Err(target.not_redirected_error(entry.definition().name().as_str())),
            false => Ok((target, arguments)),
        }
    }
}

impl Registry {
    /// Returns `true` if calls of some tool stand for calls of another one.
    #[inline]
    pub(crate) fn redirects(&self) -> bool {
        self.inner.redirects
    }

    /// Returns `true` if another process knows for which calls those of some tool stand.
    #[cfg(feature = "executor")]
    pub(crate) fn redirects_remotely(&self) -> bool {
        self.inner.redirects_remotely
    }

    /// Returns `false` for a tool of the framework. A model has it in each request, and its component reads the calls of a response by
    /// their names before they are redirected.
    pub(crate) fn is_redirection_target(&self, name: &str) -> bool {
        self.origin(name) != Some(&Origin::Framework) && name != OUTPUT_TOOL
    }
}

/// Returns the error of a call that the tool `redirecting` would redirect to the tool `name` of the framework.
#[cold]
pub(crate) fn framework_target_error(name: &str, redirecting: &str) -> ToolError {
    let message =
        format!("`{redirecting}` cannot call `{name}`, a tool of the framework; call `{name}` itself");
    ToolError::new(ErrorKind::InvalidArguments, message).of_tool(redirecting.to_owned())
}

impl Entry {
    /// Returns `true` if calls of the tool stand for calls of another one.
    pub(crate) fn redirects(&self) -> bool {
        self.facts().steps.redirects_calls
    }

    /// Returns the call for which a call of this tool with `arguments` stands.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments are invalid, or if the tool does not redirect.
    pub(crate) fn redirection(&self, arguments: Arguments<'_>) -> Result<Redirection, ToolError> {
        let canonical = self.canonical_arguments(arguments)?;
        let redirection = catch_result(|| match self.facts().redirect {
            Some(redirect) => redirect(&canonical),
            None if self.redirects_remotely() => {
                let message =
                    "another process knows the call for which this one stands; call it through an executor";
                Err(ToolError::new(ErrorKind::Unavailable, message))
            }
            None => Err(ToolError::new(ErrorKind::Unavailable, "the tool redirects no call")),
        });
        redirection.map_err(|error| error.of_tool(self.definition().name().to_string()))
    }

    /// Returns the error of a call of this tool to which the tool `redirecting` redirected: it redirects itself, or it is
    /// external.
    #[cold]
    pub(crate) fn not_redirected_error(&self, redirecting: &str) -> ToolError {
        let name = self.definition().name();
        let message = match self.redirects() {
            true => format!(
                "`{redirecting}` cannot call `{name}`, whose calls are calls of other tools; name the tool to call"
            ),
            false => format!(
                "`{redirecting}` cannot call `{name}`, whose calls the caller executes; call `{name}` itself"
            ),
        };
        ToolError::new(ErrorKind::InvalidArguments, message).of_tool(redirecting.to_owned())
    }
}
