//! The steps of tools outside of their bodies: those that another process takes for a tool of this one, and those of a tool of this one for
//! another process.

use tool_core::{
    Arguments, ModelRequest, RequestAdditions, Tool, ToolError,
    internals::{RemoteSteps, ToolSteps},
};

use super::{Entry, Registry};
use crate::{
    arguments::apply_prepare_function,
    guard::catch,
    panics::{catch_result, run_component},
};

/// The steps of a tool that another process takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct RemoteFacts {
    is_prepared: bool,
}

impl RemoteFacts {
    pub(super) fn is_prepared(self) -> bool {
        self.is_prepared
    }
}

/// Returns the steps of `tool`, and those that another process takes.
pub(super) fn steps_of(tool: &dyn Tool) -> (ToolSteps, Option<RemoteFacts>) {
    if let Some(remote) = tool.remote_steps() {
        let steps = remote.steps();
        let is_prepared = steps.prepares_arguments || remote.has_checks();
        return (steps, Some(RemoteFacts { is_prepared }));
    }
    let steps = ToolSteps {
        prepares_arguments: tool.prepare_arguments().is_some(),
        redirects_calls: tool.redirect().is_some(),
        adds_to_requests: tool.adds_to_requests(),
    };
    (steps, None)
}

impl Entry {
    pub(crate) fn steps(&self) -> ToolSteps {
        self.facts().steps
    }

    /// Returns `true` if the arguments change before they are validated, or another process prepares the calls.
    #[cfg(feature = "executor")]
    pub(crate) fn has_preparation(&self) -> bool {
        self.facts().has_preparation
    }

    /// Returns `true` if another process prepares the calls, or answers checks about them.
    #[cfg(feature = "executor")]
    pub(crate) fn is_prepared_remotely(&self) -> bool {
        self.facts().remote.is_some_and(RemoteFacts::is_prepared)
    }

    /// Returns `true` if another process knows the call for which a call stands.
    pub(crate) fn redirects_remotely(&self) -> bool {
        self.facts().remote.is_some() && self.steps().redirects_calls
    }

    /// Returns the number that the tools of its set share, for a tool of another process.
    #[cfg(feature = "executor")]
    pub(crate) fn owner(&self) -> Option<usize> {
        catch(|| self.tool().remote_steps().map(RemoteSteps::owner)).ok()?
    }

    /// Returns the steps that another process takes.
    ///
    /// # Errors
    ///
    /// Returns an error if there are none any more.
    #[cfg(feature = "executor")]
    pub(crate) fn remote_steps(&self) -> Result<&dyn RemoteSteps, ToolError> {
        let none = || ToolError::failed("the tool has no steps in another process any more");
        self.tool().remote_steps().ok_or_else(none)
    }

    /// Returns `true` if another process adds to requests with the tool.
    #[cfg(feature = "dialects")]
    pub(crate) fn adds_remotely(&self) -> bool {
        self.facts().remote.is_some() && self.steps().adds_to_requests
    }

    /// Announces that a tool of another process will be asked to add to `request`.
    #[cfg(feature = "dialects")]
    pub(crate) fn announce_request(&self, request: &ModelRequest) {
        // A panic here is one of `on_request`, too, which reports it.
        let _ = catch(|| {
            if let Some(steps) = self.tool().remote_steps() {
                steps.announce_request(request);
            }
        });
    }

    /// Returns the arguments after the tool's own `prepare` function, before they are validated; `None` if it has none.
    ///
    /// # Errors
    ///
    /// Returns the error of the function, or one for arguments that are not JSON.
    #[cfg(feature = "executor")]
    pub(crate) fn rewritten_arguments(&self, arguments: &Arguments<'_>) -> Result<Option<String>, ToolError> {
        let rewritten = catch_result(|| {
            let rewrite = self.tool().prepare_arguments();
            rewrite
                .map(|rewrite| apply_prepare_function(self.definition(), rewrite, arguments.clone()))
                .transpose()
        });
        let rewritten = rewritten.map_err(|error| error.of_tool(self.definition().name().to_string()))?;
        Ok(rewritten.map(|arguments| arguments.into_text().into_owned()))
    }
}

/// For another process, which stands for a tool of this registry.
#[doc(hidden)]
impl Registry {
    /// Returns the steps of the tool `name` outside of its body; none for an unknown tool.
    #[must_use]
    pub fn steps_of(&self, name: &str) -> ToolSteps {
        self.entry(name).map(Entry::steps).unwrap_or_default()
    }

    /// Returns `true` if calls of the tool `name` with `arguments` run with exactly this text, though the tool prepares arguments.
    #[must_use]
    pub fn keeps_arguments(&self, name: &str, arguments: &str) -> bool {
        let canonical = self.entry(name).and_then(|it| it.canonical_arguments(arguments.into()).ok());
        canonical.is_some_and(|canonical| canonical.as_str() == arguments)
    }

    /// Returns what the tool `name` alone adds to `request`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tool, or if it fails or panics.
    pub async fn additions_of(
        &self,
        name: &str,
        request: ModelRequest,
    ) -> Result<RequestAdditions, ToolError> {
        let tool = self.entry_or_error(name)?.tool();
        let asked = run_component("it", || tool.on_request(request.clone())).await.and_then(|result| result);
        asked.map(|()| request.finish().1)
    }
}
