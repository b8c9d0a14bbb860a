//! A function as a tool.

use std::{fmt, sync::Arc};

use crate::{
    __private::{Boxed, Parameters, Spec, describe, output},
    Arguments, Needed, OutputSchema, PrepareArguments, Prepared, SchemaError, Site, Tool, ToolDefinition,
    ToolError, ToolName,
};

/// A function or method with `#[tool]`, ready to be called.
#[derive(Clone)]
pub struct FunctionTool {
    definition: ToolDefinition,
    needs: Vec<Needed>,
    spec: &'static Spec,
    parameters: Parameters,
    invocation: Make,
}

/// What makes a new call, with empty slots.
#[derive(Clone)]
enum Make {
    Function(fn() -> Boxed),
    Method(Arc<dyn Fn() -> Boxed + Send + Sync>),
}

impl Make {
    fn make(&self) -> Boxed {
        match self {
            Self::Function(make) => make(),
            Self::Method(make) => make(),
        }
    }
}

impl FunctionTool {
    pub(crate) fn function(spec: &'static Spec, make: fn() -> Boxed) -> Result<Self, SchemaError> {
        Self::new(spec, Make::Function(make))
    }

    pub(crate) fn method(
        spec: &'static Spec,
        make: Arc<dyn Fn() -> Boxed + Send + Sync>,
    ) -> Result<Self, SchemaError> {
        Self::new(spec, Make::Method(make))
    }

    fn new(spec: &'static Spec, invocation: Make) -> Result<Self, SchemaError> {
        let name = ToolName::new(spec.name).map_err(|error| SchemaError::new(error.to_string()))?;
        let mut parts = None;
        invocation.make().slots(&mut |slots| {
            parts = Some(describe(spec, slots).map(|description| {
                let parameters = Parameters::of(spec, slots, &description.input_schema);
                (parameters, description)
            }));
        });
        let (parameters, description) =
            parts.ok_or_else(|| SchemaError::new("the function has no slots"))??;
        let mut definition = ToolDefinition::new(name, spec.description, description.input_schema)
            .with_metadata(spec.metadata())
            .with_examples(spec.examples.iter().map(|example| example()).collect());
        if let Some(title) = spec.title {
            definition = definition.with_title(title);
        }
        if let Some(schema) = output(spec)? {
            let promised = spec.output_override.is_some();
            let schema = if promised { OutputSchema::new(schema)? } else { OutputSchema::derived(schema) };
            definition = definition.with_output_schema(schema);
        }
        Ok(Self { definition, needs: description.needs, spec, parameters, invocation })
    }
}

impl Tool for FunctionTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let mut invocation = self.invocation.make();
        let arguments = self.definition.read(arguments, &mut |source, text| {
            let mut source = Some(source);
            let mut filled = Ok(());
            invocation.slots(&mut |slots| {
                if let Some(source) = source.take() {
                    filled = self.parameters.decode(slots, source, text);
                }
            });
            filled
        })?;
        Ok(Prepared::function(arguments, invocation))
    }

    fn holds_arguments(&self) -> bool {
        true
    }

    fn needs(&self) -> &[Needed] {
        &self.needs
    }

    fn prepare_arguments(&self) -> Option<PrepareArguments> {
        self.spec.prepare
    }

    fn site(&self) -> Option<Site> {
        Some(self.spec.site)
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
