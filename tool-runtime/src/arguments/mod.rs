//! From received arguments to a valid call.

mod repair;

use std::fmt;

use serde_json::Value;
use tool_core::{
    ArgumentError, Arguments, Correction, ErrorKind, OutputSchema, PrepareArguments, Tool, ToolDefinition,
    ToolError, ToolOutput, Violation, Violations,
};
pub(crate) use tool_schema::{__private::Foreign, Validator};
pub use tool_schema::{MAX_REPAIR_BYTES, RepairOutcome, recover};

pub use self::repair::Repair;

/// The handling of arguments that are invalid as received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lenience {
    /// Set if arguments that are almost right are coerced.
    pub(crate) coercion: bool,
    /// The tools whose invalid JSON is repaired.
    pub(crate) repair: Repair,
}

/// Brings `arguments` into the form that `tool` decodes. If no plan covers its schema, they are validated by
/// `foreign` first.
#[inline]
pub(crate) fn decodable_arguments<'a>(
    tool: &dyn Tool,
    definition: &ToolDefinition,
    foreign: Option<&Foreign>,
    arguments: Arguments<'a>,
    lenience: Lenience,
) -> Result<Arguments<'a>, ToolError> {
    if foreign.is_none() && tool.holds_arguments() {
        return repaired_and_rewritten(tool, definition, arguments, lenience);
    }
    valid_arguments_form(tool, definition, foreign, arguments, lenience)
}

/// Returns the valid form of `arguments`, for callers that decode them.
pub(crate) fn valid_arguments_form<'a>(
    tool: &dyn Tool,
    definition: &ToolDefinition,
    foreign: Option<&Foreign>,
    arguments: Arguments<'a>,
    lenience: Lenience,
) -> Result<Arguments<'a>, ToolError> {
    validated_arguments(definition, foreign, repaired_and_rewritten(tool, definition, arguments, lenience)?)
}

/// Returns the arguments to validate: repaired where permitted, and after the tool's own `prepare` function.
#[inline]
fn repaired_and_rewritten<'a>(
    tool: &dyn Tool,
    definition: &ToolDefinition,
    arguments: Arguments<'a>,
    lenience: Lenience,
) -> Result<Arguments<'a>, ToolError> {
    let arguments = match lenience.repair {
        Repair::Off => arguments,
        repair => match repaired_text(definition, &arguments, repair)? {
            None => arguments,
            Some((text, correction)) => arguments.corrected(text, vec![correction]),
        },
    };
    let arguments = match tool.prepare_arguments() {
        None => arguments,
        Some(rewrite) => apply_prepare_function(definition, rewrite, arguments)?,
    };
    Ok(arguments.lenient(lenience.coercion))
}

/// Returns the repaired text of arguments that are not valid JSON, if `tool` may run on it; `None` if they are
/// valid JSON.
///
/// # Errors
///
/// Returns an error if they are not valid JSON and are not repaired.
pub(crate) fn repaired_text(
    definition: &ToolDefinition,
    arguments: &Arguments<'_>,
    repair: Repair,
) -> Result<Option<(String, Correction)>, ToolError> {
    let recovery = recover(arguments.as_str());
    let read_only = definition.metadata().read_only == Some(true);
    if let RepairOutcome::Repaired { error, .. } = &recovery
        && !repair.permits(read_only, &recovery)
    {
        let received = format!("text that is not JSON, and the tool is not read-only ({error})");
        return Err(ArgumentError::syntax(Violation::new("", "a JSON object", received)).into());
    }
    Ok(recovery.into_correction(arguments.as_str())?)
}

fn validated_arguments<'a>(
    definition: &ToolDefinition,
    foreign: Option<&Foreign>,
    arguments: Arguments<'a>,
) -> Result<Arguments<'a>, ToolError> {
    match (foreign, definition.input_schema().plan()) {
        (Some(foreign), _) => definition.annotated(foreign.fit(arguments).map_err(ToolError::from)),
        (None, Ok(_)) => definition.fit(arguments),
        // Reported when the tool was added.
        (None, Err(_)) => Err(ToolError::new(ErrorKind::Unavailable, "its input schema cannot be used")),
    }
}

/// Applies the tool's own `prepare` function to an object; validation rejects anything else.
pub(crate) fn apply_prepare_function<'a>(
    definition: &ToolDefinition,
    rewrite: PrepareArguments,
    arguments: Arguments<'a>,
) -> Result<Arguments<'a>, ToolError> {
    match arguments.to_value() {
        Ok(Value::Object(mut map)) => {
            rewrite(&mut map)?;
            Ok(arguments.corrected(Value::Object(map).to_string(), Vec::new()))
        }
        Ok(_) => Ok(arguments),
        Err(error) => definition.annotated(Err(error.into())),
    }
}

/// A compiled output schema, for a tool that validates results by itself.
///
/// It has the bounds of every validation: nothing is fetched, and neither a schema nor a value exhausts the stack or the
/// time.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::schema::{OutputSchema, OutputValidator};
///
/// let schema = OutputSchema::deferred(|| json!({ "type": "object", "required": ["id"] }));
/// let validator = OutputValidator::new(&schema)?;
/// assert!(validator.violations(&json!({ "id": 1 })).is_empty());
/// assert_eq!(validator.violations(&json!({})).len(), 1);
/// # Ok::<(), tool_runtime::ToolError>(())
/// ```
pub struct OutputValidator(Validator);

impl OutputValidator {
    /// Compiles `schema`.
    ///
    /// # Errors
    ///
    /// If the schema has mistakes, or keywords that only the feature `foreign-schemas` supports.
    pub fn new(schema: &OutputSchema) -> Result<Self, ToolError> {
        Validator::compile(schema.as_value()).map(Self).map_err(|mistakes| {
            ToolError::new(ErrorKind::InvalidOutput, format!("output schema: {}", mistakes.join("; ")))
        })
    }

    /// Returns the violations of `value`, in document order.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Violations {
        self.0.violations(value)
    }
}

impl fmt::Debug for OutputValidator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputValidator").finish_non_exhaustive()
    }
}

/// Returns `output` if it matches the output schema.
pub(crate) fn check_output_schema(promise: &Validator, output: ToolOutput) -> Result<ToolOutput, ToolError> {
    let broken = |message: String| ToolError::new(ErrorKind::InvalidOutput, message);
    let Some(value) = output.structured() else {
        let given = if output.is_empty() { "nothing" } else { "content without a value" };
        return Err(broken(format!("the tool declares an output schema but returned {given}")));
    };
    let violations = promise.violations(&value);
    if violations.is_empty() {
        return Ok(output);
    }
    Err(broken(format!("output validation: {violations}")))
}
