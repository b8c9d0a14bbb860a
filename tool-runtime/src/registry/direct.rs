//! Direct calls to the tools of a registry, and validation of arguments without a call.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use tool_core::{
    Arguments, CallId, ErrorKind, IntoArguments, ProvidedValues, ToolContext, ToolError, ToolOutput,
};

use super::{Entry, Registry, guard::DecisionGuard};

impl Registry {
    /// Validates `arguments`, calls the tool `name` with them and returns its output.
    ///
    /// Arguments that are almost right are coerced, unless the tool or the registry is
    /// [strict](super::RegistryBuilder::strict); the output contains the [corrections](ToolOutput::corrections).
    ///
    /// The tool's `timeout` applies, and a panic of the tool is an error. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// - [`UnknownTool`](ErrorKind::UnknownTool): there is no such tool; the error suggests close names.
    /// - [`InvalidArguments`](ErrorKind::InvalidArguments): the arguments are invalid; the tool was not run.
    /// - [`ApprovalRequired`](ErrorKind::ApprovalRequired): the tool has `confirm` or `permission`. An executor
    ///   asks for approval; [`call_unguarded`](Self::call_unguarded) is for a host that has already decided.
    /// - Any error of the tool itself.
    pub async fn call<'a>(
        &self,
        name: &str,
        arguments: impl IntoArguments<'a>,
    ) -> Result<ToolOutput, ToolError> {
        let (entry, arguments) = self.resolve_call(name, arguments.into())?;
        entry.call(arguments, &self.context(entry), DecisionGuard::On).await
    }

    /// Calls a tool without its confirmation and permission checks; otherwise as [`call`](Self::call).
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call), except `ApprovalRequired`.
    pub async fn call_unguarded<'a>(
        &self,
        name: &str,
        arguments: impl IntoArguments<'a>,
    ) -> Result<ToolOutput, ToolError> {
        let (entry, arguments) = self.resolve_call(name, arguments.into())?;
        entry.call(arguments, &self.context(entry), DecisionGuard::Off).await
    }

    /// Returns the tool that a call of `name` runs, and its arguments.
    #[inline]
    fn resolve_call<'a>(
        &self,
        name: &str,
        arguments: Arguments<'a>,
    ) -> Result<(&Entry, Arguments<'a>), ToolError> {
        let entry = self.entry_or_error(name)?;
        match entry.redirects() {
            true => self.resolve_redirection(entry, arguments),
            false => Ok((entry, arguments)),
        }
    }

    /// Calls a tool in a given context, which [`context_for`](Self::context_for) creates; otherwise as
    /// [`call`](Self::call).
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call); also if the tool [redirects](tool_core::Tool::redirect), since the context is not the one
    /// of the tool that would run.
    pub async fn call_in<'a>(
        &self,
        cx: &ToolContext,
        arguments: impl IntoArguments<'a>,
    ) -> Result<ToolOutput, ToolError> {
        let entry = self.entry_or_error(cx.tool_name())?;
        if entry.redirects() {
            let (target, _) = self.resolve_redirection(entry, arguments.into())?;
            let name = target.definition().name();
            let message =
                format!("the call stands for one of `{name}`; call `{name}` in a context of its own");
            return Err(ToolError::new(ErrorKind::Unavailable, message).of_tool(cx.tool_name().to_string()));
        }
        entry.call(arguments.into(), cx, DecisionGuard::On).await
    }

    /// Validates `arguments` against the schema of the tool `name`, without running it, and returns them
    /// coerced, with the corrections.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tool or the arguments are invalid; its text is the one that a call
    /// would return.
    pub fn check<'a>(
        &self,
        name: &str,
        arguments: impl IntoArguments<'a>,
    ) -> Result<Arguments<'a>, ToolError> {
        self.entry_or_error(name)?.validate_arguments(arguments.into())
    }

    /// Validates `arguments` of the tool `name` and returns their canonical text.
    pub(crate) fn canonical_arguments<'a>(
        &self,
        name: &str,
        arguments: Arguments<'a>,
    ) -> Result<Arguments<'a>, ToolError> {
        self.entry_or_error(name)?.canonical_arguments(arguments)
    }

    /// Validates `arguments` against the schema of the tool `name` and decodes them, without running it.
    ///
    /// For a host that executes the call itself.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check); also if `T` is not the type of this tool's arguments.
    pub fn decode<'a, T: DeserializeOwned>(
        &self,
        name: &str,
        arguments: impl IntoArguments<'a>,
    ) -> Result<T, ToolError> {
        let entry = self.entry_or_error(name)?;
        let mut arguments = entry.validate_arguments(arguments.into())?;
        entry.definition().decode(&mut arguments).map_err(|error| {
            let wanted = std::any::type_name::<T>();
            let message = format!("the arguments do not decode as `{wanted}`: {}", error.report());
            ToolError::new(ErrorKind::InvalidArguments, message).of_tool(name.to_owned())
        })
    }

    /// Creates a context for a call of the tool `name`, with a new id, the provided values of the program, and
    /// no listeners.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tool.
    pub fn context_for(&self, name: &str) -> Result<ToolContext, ToolError> {
        Ok(self.context(self.entry_or_error(name)?))
    }

    pub(crate) fn context(&self, entry: &Entry) -> ToolContext {
        let name = entry.definition().name().clone();
        ToolContext::new(name, Arc::clone(self.provided()))
    }

    /// Creates a context for the call `id` with serial number `serial`, provided values and cancellation token `token`.
    pub(crate) fn call_context(
        entry: &Entry,
        provided: &Arc<ProvidedValues>,
        (id, serial): (CallId, u64),
        token: Arc<CancellationToken>,
    ) -> ToolContext {
        let name = entry.definition().name().clone();
        ToolContext::of_call(name, Arc::clone(provided), (id, serial), token)
    }
}
