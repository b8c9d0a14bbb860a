//! Functions as tools.

use std::{fmt, sync::Arc};

use tool_schema::__private::{Checked, DecodeError};

use crate::{
    __private::{
        BoxInvocation, InvocationMode, Invoked, Parameters, RunInputs, SlotList, Spec, describe,
        describe_result,
    },
    Arguments, BoxFuture, Checks, Dependency, ErrorKind, ModelRequest, PrepareArguments, Prepared,
    SchemaError, SourceLocation, Tool, ToolContext, ToolDefinition, ToolError, ToolName,
    registration::{InvokeFn, InvokeMethodFn},
};

/// A callable function or method with `#[tool]`.
#[derive(Clone)]
pub struct FunctionTool {
    definition: ToolDefinition,
    needs: Vec<Dependency>,
    spec: &'static Spec,
    parameters: Parameters,
    invocation: Invoker,
}

/// The message for a bug in the expansion.
const NOT_PREPARED: &str = "internal error: the expansion ran instead of preparing the call";

/// The message for another bug in the expansion.
const NOT_RUN: &str = "internal error: the expansion prepared the call instead of running it";

/// The function that calls the tool with new slots.
#[derive(Clone)]
enum Invoker {
    Function(InvokeFn),
    Method(Arc<InvokeMethodFn>),
}

impl Invoker {
    #[inline]
    fn invoke<'a>(&self, mode: InvocationMode<'_, 'a>) -> Invoked<'a> {
        match self {
            Self::Function(invoke) => invoke(mode),
            Self::Method(invoke) => invoke(mode),
        }
    }

    /// Decodes the arguments of a call that does not run.
    fn try_decode<'t>(
        &self,
        parameters: &Parameters,
        source: Checked<'_, 't, '_>,
        text: &'t str,
    ) -> Result<(), DecodeError> {
        let (mut source, mut taken) = (Some(source), Ok(()));
        if let Some(mut call) = self.new_invocation() {
            call.slots(&mut |slots| {
                taken = source.take().map_or(Ok(()), |source| parameters.decode(slots, source, text));
            });
        }
        taken
    }

    /// Returns a call to be filled and run later; always `Some`.
    fn new_invocation(&self) -> Option<BoxInvocation> {
        match self.invoke(InvocationMode::Prepare) {
            Invoked::Prepared(invocation) => Some(invocation),
            Invoked::Running(_) => None,
        }
    }
}

impl FunctionTool {
    pub(crate) fn from_function(spec: &'static Spec, invoke: InvokeFn) -> Result<Self, SchemaError> {
        Self::new(spec, Invoker::Function(invoke))
    }

    pub(crate) fn from_method(spec: &'static Spec, invoke: Arc<InvokeMethodFn>) -> Result<Self, SchemaError> {
        Self::new(spec, Invoker::Method(invoke))
    }

    fn new(spec: &'static Spec, invocation: Invoker) -> Result<Self, SchemaError> {
        let name = ToolName::new(spec.name).map_err(|error| SchemaError::new(error.to_string()))?;
        let mut parts = None;
        let prepared = invocation.new_invocation().ok_or_else(|| SchemaError::new(NOT_PREPARED));
        prepared?.slots(&mut |slots| {
            parts = Some(describe(spec, slots));
        });
        let mut description = parts.ok_or_else(|| SchemaError::new("the function has no slots"))??;
        let parameters = Parameters::of(spec, &description);
        if spec.input_override.is_none() {
            let schema = description.input_schema;
            description.input_schema =
                schema.with_readable_keys(|source, text| invocation.try_decode(&parameters, source, text))?;
        }
        let returned = describe_result(spec)?;
        let mut definition = ToolDefinition::new(name, spec.description, description.input_schema)
            .with_metadata(spec.metadata(returned.is_stream))
            .with_examples(spec.examples.iter().map(|example| example()).collect());
        if let Some(title) = spec.title {
            definition = definition.with_title(title);
        }
        if let Some(schema) = returned.schema {
            definition = definition.with_output_schema(schema);
        }
        Ok(Self { definition, needs: description.needs, spec, parameters, invocation })
    }

    /// Fills `slots` from `arguments`, which afterwards contain the decoded text.
    pub(crate) fn fill_slots(
        &self,
        slots: SlotList<'_, '_>,
        arguments: &mut Arguments<'_>,
    ) -> Result<(), ToolError> {
        self.definition.read(arguments, |source, text| self.parameters.decode(slots, source, text))
    }
}

impl Tool for FunctionTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, mut arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let not_prepared = || ToolError::new(ErrorKind::Unavailable, NOT_PREPARED);
        let mut invocation = self.invocation.new_invocation().ok_or_else(not_prepared)?;
        let mut filled = Ok(());
        invocation.slots(&mut |slots| filled = self.fill_slots(slots, &mut arguments));
        filled.map(|()| Prepared::of_function(arguments, invocation, self.checks()))
    }

    fn start<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
    ) -> Result<BoxFuture<'a>, ToolError> {
        match self.invocation.invoke(InvocationMode::Run(RunInputs { tool: self, arguments, cx })) {
            Invoked::Running(running) => running,
            Invoked::Prepared(_) => Err(ToolError::new(ErrorKind::Unavailable, NOT_RUN)),
        }
    }

    fn holds_arguments(&self) -> bool {
        true
    }

    fn needs(&self) -> &[Dependency] {
        &self.needs
    }

    fn prepare_arguments(&self) -> Option<PrepareArguments> {
        self.spec.prepare
    }

    fn site(&self) -> Option<SourceLocation> {
        Some(self.spec.site)
    }

    fn checks(&self) -> Checks {
        Checks { confirmation: self.spec.confirm_when, permission: self.spec.has_permission }
    }

    fn retries_blindly(&self) -> bool {
        self.spec.retry.is_some()
            && self
                .spec
                .failures_are_never_temporary
                .is_some_and(|failures_are_never_temporary| failures_are_never_temporary())
    }

    fn only_decodes(&self) -> bool {
        self.spec.prepare.is_none()
    }

    fn on_request(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        match self.spec.on_request {
            Some(add) => add(request),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }

    fn adds_to_requests(&self) -> bool {
        self.spec.on_request.is_some()
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool")
            .field("definition", &self.definition)
            .field("site", &self.spec.site)
            .finish_non_exhaustive()
    }
}
