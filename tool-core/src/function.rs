//! Functions as tools.

use std::{fmt, sync::Arc};

use tool_schema::__private::{Checked, Refusal};

use crate::{
    __private::{Boxed, Parameters, SlotList, Spec, Start, Used, Using, describe, returned},
    Arguments, BoxFuture, Checks, Dependency, ErrorKind, Metadata, ModelRequest, PrepareArguments, Prepared,
    SchemaError, SourceLocation, Tool, ToolContext, ToolDefinition, ToolError, ToolName,
    registration::{Invoke, InvokeMethod},
};

/// A callable function or method with `#[tool]`.
#[derive(Clone)]
pub struct FunctionTool {
    definition: ToolDefinition,
    needs: Vec<Dependency>,
    spec: &'static Spec,
    parameters: Parameters,
    invocation: Make,
}

/// The message for a bug in the expansion.
const NOT_KEPT: &str = "the function was run where it should have been kept";

/// The function that calls the tool with new slots.
#[derive(Clone)]
enum Make {
    Function(Invoke),
    Method(Arc<InvokeMethod>),
}

impl Make {
    #[inline]
    fn invoke<'a>(&self, using: Using<'_, 'a>) -> Used<'a> {
        match self {
            Self::Function(invoke) => invoke(using),
            Self::Method(invoke) => invoke(using),
        }
    }

    /// Decodes the arguments of a call that does not run.
    fn take<'t>(
        &self,
        parameters: &Parameters,
        source: Checked<'_, 't, '_>,
        text: &'t str,
    ) -> Result<(), Refusal> {
        let (mut source, mut taken) = (Some(source), Ok(()));
        if let Some(mut call) = self.kept() {
            call.slots(&mut |slots| {
                taken = source.take().map_or(Ok(()), |source| parameters.decode(slots, source, text));
            });
        }
        taken
    }

    /// Returns a call to be filled and run later; always `Some`.
    fn kept(&self) -> Option<Boxed> {
        match self.invoke(Using::Keep) {
            Used::Kept(invocation) => Some(invocation),
            Used::Running(_) => None,
        }
    }
}

impl FunctionTool {
    pub(crate) fn function(spec: &'static Spec, invoke: Invoke) -> Result<Self, SchemaError> {
        Self::new(spec, Make::Function(invoke))
    }

    pub(crate) fn method(spec: &'static Spec, invoke: Arc<InvokeMethod>) -> Result<Self, SchemaError> {
        Self::new(spec, Make::Method(invoke))
    }

    fn new(spec: &'static Spec, invocation: Make) -> Result<Self, SchemaError> {
        let name = ToolName::new(spec.name).map_err(|error| SchemaError::new(error.to_string()))?;
        let mut parts = None;
        let kept = invocation.kept().ok_or_else(|| SchemaError::new(NOT_KEPT));
        kept?.slots(&mut |slots| {
            parts = Some(describe(spec, slots));
        });
        let mut description = parts.ok_or_else(|| SchemaError::new("the function has no slots"))??;
        let parameters = Parameters::of(spec, &description);
        if spec.input_override.is_none() {
            let schema = description.input_schema;
            description.input_schema =
                schema.with_readable_keys(|source, text| invocation.take(&parameters, source, text))?;
        }
        let returned = returned(spec)?;
        let metadata = Metadata { streaming: returned.is_stream, ..spec.metadata() };
        let mut definition = ToolDefinition::new(name, spec.description, description.input_schema)
            .with_metadata(metadata)
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
    pub(crate) fn fill(
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
        let not_kept = || ToolError::new(ErrorKind::Unavailable, NOT_KEPT);
        let mut invocation = self.invocation.kept().ok_or_else(not_kept)?;
        let mut filled = Ok(());
        invocation.slots(&mut |slots| filled = self.fill(slots, &mut arguments));
        filled.map(|()| Prepared::function(arguments, invocation, self.checks()))
    }

    fn start<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
    ) -> Result<BoxFuture<'a>, ToolError> {
        match self.invocation.invoke(Using::Run(Start { tool: self, arguments, cx })) {
            Used::Running(running) => running,
            Used::Kept(_) => Err(ToolError::new(ErrorKind::Unavailable, "it was kept where it should run")),
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
        self.spec.retry.is_some() && self.spec.fails_blindly.is_some_and(|fails_blindly| fails_blindly())
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
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool")
            .field("definition", &self.definition)
            .field("site", &self.spec.site)
            .finish_non_exhaustive()
    }
}
