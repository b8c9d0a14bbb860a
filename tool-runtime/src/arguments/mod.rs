//! From what a model sent to a call that fits.

#[cfg_attr(not(feature = "foreign-schemas"), path = "no_foreign.rs")]
mod foreign;
mod repair;

use serde_json::Value;
use tool_core::{
    __private::words::{beginning, received},
    Arguments, Correction, CorrectionRule, ErrorKind, OutputSchema, Plan, PrepareArguments, Tool,
    ToolDefinition, ToolError, ToolOutput, Violation, Violations,
};

pub(crate) use self::foreign::Foreign;
pub use self::repair::{MAX_REPAIR_BYTES, Repair, RepairOutcome, recover};

/// What is done about arguments that do not fit as they came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lenience {
    /// Whether those that are almost right are corrected.
    pub(crate) coercion: bool,
    /// Which of those that are no JSON are repaired.
    pub(crate) repair: Repair,
}

/// Brings `arguments` to the form in which `tool` reads them. Where no plan covers its schema, they
/// are held to `foreign` before.
#[inline]
pub(crate) fn ready<'a>(
    tool: &dyn Tool,
    definition: &ToolDefinition,
    foreign: Option<&Foreign>,
    arguments: Arguments<'a>,
    lenience: Lenience,
) -> Result<Arguments<'a>, ToolError> {
    if foreign.is_none() && tool.holds_arguments() {
        return came(tool, definition, arguments, lenience);
    }
    fit(tool, definition, foreign, arguments, lenience)
}

/// Gives `arguments` as they fit, for those who decode them by themselves.
pub(crate) fn fit<'a>(
    tool: &dyn Tool,
    definition: &ToolDefinition,
    foreign: Option<&Foreign>,
    arguments: Arguments<'a>,
    lenience: Lenience,
) -> Result<Arguments<'a>, ToolError> {
    held(definition, foreign, came(tool, definition, arguments, lenience)?)
}

/// The arguments as they are to be read: repaired where that is permitted, and after the tool's own
/// rewriting.
#[inline]
fn came<'a>(
    tool: &dyn Tool,
    definition: &ToolDefinition,
    arguments: Arguments<'a>,
    lenience: Lenience,
) -> Result<Arguments<'a>, ToolError> {
    let arguments = match lenience.repair {
        Repair::Off => arguments,
        repair => match repaired(definition, &arguments, repair)? {
            None => arguments,
            Some((text, correction)) => arguments.corrected(text, vec![correction]),
        },
    };
    let arguments = match tool.prepare_arguments() {
        None => arguments,
        Some(rewrite) => rewritten(definition, rewrite, arguments)?,
    };
    Ok(arguments.lenient(lenience.coercion))
}

/// The text that arguments are read as where they are not JSON and `tool` may run on that; `None`
/// where they are JSON.
///
/// # Errors
///
/// If they are not JSON, and stay so.
pub(crate) fn repaired(
    definition: &ToolDefinition,
    arguments: &Arguments<'_>,
    repair: Repair,
) -> Result<Option<(String, Correction)>, ToolError> {
    let recovery = recover(arguments.as_str());
    let read_only = definition.metadata().read_only == Some(true);
    let (why, what) = match &recovery {
        RepairOutcome::Strict(_) => return Ok(None),
        RepairOutcome::Repaired { text, .. } if repair.permits(read_only, &recovery) => {
            let (from, to) = (shortened(arguments.as_str()), shortened(text));
            let correction = Correction::new("", from, to, CorrectionRule::Repaired);
            return Ok(Some((text.clone(), correction)));
        }
        RepairOutcome::Repaired { error, .. } => {
            (error, "is not JSON, and the tool is not read-only".to_owned())
        }
        RepairOutcome::Partial { error, .. } => (error, "was cut off".to_owned()),
        RepairOutcome::Invalid { error, reason, .. } => {
            (error, format!("is not JSON, and cannot be repaired: {reason}"))
        }
    };
    let violation = Violation::new("", "a JSON object", format!("text that {what} ({why})"));
    Err(ToolError::new(ErrorKind::InvalidArguments, "the arguments are not JSON").with_violations(violation))
}

/// The beginning of a text, with a word on the rest.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 200;
    match beginning(text, LONGEST) {
        Some(start) => format!("{start}… ({} bytes)", text.len()),
        None => text.to_owned(),
    }
}

fn held<'a>(
    definition: &ToolDefinition,
    foreign: Option<&Foreign>,
    arguments: Arguments<'a>,
) -> Result<Arguments<'a>, ToolError> {
    match (foreign, definition.input_schema().plan()) {
        (Some(foreign), _) => definition.told(foreign.fit(arguments)),
        (None, Ok(_)) => definition.fit(arguments),
        // Found when the tool was added.
        (None, Err(_)) => Err(ToolError::new(ErrorKind::Unavailable, "its input schema cannot be used")),
    }
}

/// The arguments after the tool's own rewriting, which only objects undergo: the check refuses
/// anything else.
fn rewritten<'a>(
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
        Err(error) => definition.told(Err(error)),
    }
}

impl Foreign {
    /// Gives `arguments` back if they fit; nothing is corrected in them.
    fn fit<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        let value = arguments.to_value()?;
        let violations = match &value {
            Value::Object(_) => self.violations(&value),
            // Which a schema need not say.
            other => Violation::new("", "an object", received(other)).into(),
        };
        if violations.is_empty() {
            return Ok(arguments);
        }
        Err(ToolError::invalid_arguments(violations, arguments.as_str()))
    }
}

/// What the results of a tool are held to.
pub(crate) enum Promise {
    Plan(Plan),
    Foreign(Foreign),
}

impl Promise {
    /// The promise that is written as `schema`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn new(schema: &OutputSchema) -> Result<Self, Vec<String>> {
        let schema = schema.as_value();
        match Plan::compile(schema) {
            Ok(plan) => Ok(Self::Plan(plan)),
            Err(problems) => Foreign::instead_of(&problems, schema).map(Self::Foreign),
        }
    }

    fn violations(&self, value: &Value) -> Violations {
        match self {
            Self::Plan(plan) => plan.violations(value),
            Self::Foreign(foreign) => foreign.violations(value),
        }
    }
}

/// Gives `output` back if it keeps the promise.
pub(crate) fn hold(promise: &Promise, output: ToolOutput) -> Result<ToolOutput, ToolError> {
    let broken = |message: String| ToolError::new(ErrorKind::InvalidOutput, message);
    let Some(value) = output.structured() else {
        let given = if output.is_empty() { "nothing" } else { "content without a value" };
        return Err(broken(format!("the tool promises a value by its output schema and gave {given}")));
    };
    let violations = promise.violations(&value);
    if violations.is_empty() {
        return Ok(output);
    }
    Err(broken(format!("output validation: {violations}")))
}
