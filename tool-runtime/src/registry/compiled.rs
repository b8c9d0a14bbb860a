//! The validators of a tool, which are compiled once: when it is added, or by its first call if it is deferred. All registries with the
//! tool share them.

use std::sync::OnceLock;

use tool_core::{ErrorKind, Misfit, Purpose, ToolError};

use super::{BuildDiagnostic, ToolFacts};
use crate::{
    arguments::{Foreign, Validator},
    guard::catch,
};

/// The validators of a tool beside the plan of its arguments.
pub(crate) struct CompiledSchemas {
    /// The validator of arguments whose schema has no plan.
    pub(super) foreign: Option<Foreign>,
    /// The validator of results, if the tool has an output schema.
    pub(super) promise: Option<Validator>,
}

/// Schemas that are compiled when they are first needed; a second thread waits for the first one.
#[derive(Default)]
pub(super) struct OnceSchemas(OnceLock<Result<CompiledSchemas, Vec<BuildDiagnostic>>>);

impl OnceSchemas {
    #[inline]
    pub(super) fn get_or_compile(&self, facts: &ToolFacts) -> Result<&CompiledSchemas, &[BuildDiagnostic]> {
        self.0.get_or_init(|| CompiledSchemas::new_guarded(facts)).as_ref().map_err(Vec::as_slice)
    }

    #[cfg(feature = "executor")]
    pub(super) fn is_compiled(&self) -> bool {
        self.0.get().is_some()
    }
}

impl CompiledSchemas {
    /// Compiles the schemas as [`new`](Self::new) does; a panic is a mistake in them, which is kept as any other.
    fn new_guarded(facts: &ToolFacts) -> Result<Self, Vec<BuildDiagnostic>> {
        catch(|| Self::new(facts)).unwrap_or_else(|panic| {
            let tool = facts.definition.name().to_string();
            Err(vec![BuildDiagnostic::Panicked { tool, site: facts.site, message: panic.into_message() }])
        })
    }

    /// Compiles the schemas of a tool, and validates its examples and defaults.
    ///
    /// # Errors
    ///
    /// Returns all mistakes in them.
    fn new(facts: &ToolFacts) -> Result<Self, Vec<BuildDiagnostic>> {
        let ToolFacts { definition, site, .. } = facts;
        let mut mistakes = Vec::new();
        let mut refuse = |message: String| {
            let tool_name = definition.name().to_string();
            mistakes.push(BuildDiagnostic::Schema { tool: tool_name, site: *site, message });
        };
        let schema = definition.input_schema();
        let foreign = schema.check().err().map(|problems| Foreign::instead_of(problems, &schema.to_value()));
        let foreign = foreign.transpose();
        let foreign =
            foreign.map_err(|all| all.iter().for_each(|it| refuse(format!("input schema: {it}")))).ok();
        let promise = definition.output_schema().filter(|schema| schema.is_promise());
        let promise = promise.map(|schema| Validator::compile(schema.as_value())).transpose();
        let promise =
            promise.map_err(|all| all.iter().for_each(|it| refuse(format!("output schema: {it}")))).ok();
        let (Some(foreign), Some(mut promise)) = (foreign, promise) else { return Err(mistakes) };
        if definition.metadata().merge && promise.is_none() {
            // Merged items may exceed the limits of one item, such as the maximum of a number.
            promise =
                definition.output_schema().and_then(|schema| Validator::compile(schema.as_value()).ok());
        }
        mistakes.extend(example_diagnostics(facts, foreign.as_ref()));
        mistakes.extend(schema.misfits().into_iter().map(|misfit| misfit_diagnostic(facts, &misfit)));
        if mistakes.is_empty() { Ok(Self { foreign, promise }) } else { Err(mistakes) }
    }
}

/// Returns a diagnostic for each violation in an example of a call.
fn example_diagnostics(facts: &ToolFacts, foreign: Option<&Foreign>) -> Vec<BuildDiagnostic> {
    let ToolFacts { definition, site, .. } = facts;
    let mut mistakes = Vec::new();
    for (at, example) in definition.examples().iter().enumerate() {
        let violations = match (foreign, definition.input_schema().plan()) {
            (Some(foreign), _) => foreign.violations(example),
            (None, plan) => plan.map(|plan| plan.violations(example)).unwrap_or_default(),
        };
        for violation in violations {
            let tool_name = definition.name().to_string();
            let message = format!("example {}: {violation}", at + 1);
            mistakes.push(BuildDiagnostic::Example { tool: tool_name, site: *site, message });
        }
    }
    mistakes
}

/// The diagnostic of a provided value with a type that calls cannot have.
fn misfit_diagnostic(facts: &ToolFacts, misfit: &Misfit) -> BuildDiagnostic {
    let (name, site) = (facts.definition.name().to_string(), facts.site);
    let Misfit { parameter, purpose, violation } = misfit;
    match purpose {
        Purpose::DefaultValue => {
            let message = format!("the default of `{parameter}`: {violation}");
            BuildDiagnostic::DefaultValue { tool: name, site, message }
        }
        Purpose::Example => {
            let message = format!("an example of `{parameter}`: {violation}");
            BuildDiagnostic::Example { tool: name, site, message }
        }
    }
}

/// The error of a call of a tool with mistakes in its schemas: the first ones, for the person who reads the log.
#[cold]
pub(super) fn unusable_schemas_error(mistakes: &[BuildDiagnostic]) -> ToolError {
    const MAX_SHOWN_MISTAKES: usize = 3;
    let shown: Vec<_> = mistakes.iter().take(MAX_SHOWN_MISTAKES).map(BuildDiagnostic::message).collect();
    ToolError::new(ErrorKind::Unavailable, format!("its schemas cannot be used: {}", shown.join("; ")))
}
