//! From what a model sent to a call that fits.

mod repair;

use serde_json::Value;
use tool_core::{
    Arguments, Correction, CorrectionRule, ErrorKind, Plan, PrepareArguments, Tool, ToolDefinition,
    ToolError, ToolOutput, Violation,
};

pub use self::repair::{MAX_REPAIR_BYTES, Recovery, Repair, recover};

/// What is done about arguments that do not fit as they came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lenience {
    /// Whether those that are almost right are corrected.
    pub(crate) coercion: bool,
    /// Which of those that are no JSON are repaired.
    pub(crate) repair: Repair,
}

/// Brings `arguments` to the form in which `tool` reads them.
pub(crate) fn ready<'a>(
    tool: &dyn Tool,
    arguments: Arguments<'a>,
    lenience: Lenience,
) -> Result<Arguments<'a>, ToolError> {
    if tool.holds_arguments() { came(tool, arguments, lenience) } else { fit(tool, arguments, lenience) }
}

/// Gives `arguments` as they fit, for those who decode them by themselves.
pub(crate) fn fit<'a>(
    tool: &dyn Tool,
    arguments: Arguments<'a>,
    lenience: Lenience,
) -> Result<Arguments<'a>, ToolError> {
    held(tool.definition(), came(tool, arguments, lenience)?)
}

/// The arguments as they are to be read: repaired where that is permitted, and after the tool's own
/// rewriting.
fn came<'a>(
    tool: &dyn Tool,
    arguments: Arguments<'a>,
    lenience: Lenience,
) -> Result<Arguments<'a>, ToolError> {
    let arguments = match lenience.repair {
        Repair::Off => arguments,
        repair => repaired(tool, arguments, repair)?,
    };
    let arguments = match tool.prepare_arguments() {
        None => arguments,
        Some(rewrite) => rewritten(rewrite, arguments)?,
    };
    Ok(arguments.lenient(lenience.coercion))
}

fn repaired<'a>(
    tool: &dyn Tool,
    arguments: Arguments<'a>,
    repair: Repair,
) -> Result<Arguments<'a>, ToolError> {
    let recovery = recover(arguments.as_str());
    let read_only = tool.definition().metadata().read_only == Some(true);
    let (why, what) = match &recovery {
        Recovery::Strict(_) => return Ok(arguments),
        Recovery::Repaired { text, .. } | Recovery::Partial { text, .. }
            if repair.permits(read_only, &recovery) =>
        {
            let (from, to) = (shortened(arguments.as_str()), shortened(text));
            let correction = Correction::new("", from, to, CorrectionRule::Repaired);
            return Ok(arguments.corrected(text.clone(), vec![correction]));
        }
        Recovery::Repaired { error, .. } => (error, "is not JSON, and the tool is not read-only".to_owned()),
        Recovery::Partial { error, .. } => (error, "was cut off, and the tool is not read-only".to_owned()),
        Recovery::Invalid { error, reason, .. } => {
            (error, format!("is not JSON, and cannot be repaired: {reason}"))
        }
    };
    let violation = Violation::new("", "a JSON object", format!("text that {what} ({why})"));
    Err(ToolError::new(ErrorKind::InvalidArguments, "the arguments are not JSON")
        .with_violations(vec![violation]))
}

/// The beginning of a text, with a word on the rest.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… ({} bytes)", text.get(..end).unwrap_or(text), text.len()),
        None => text.to_owned(),
    }
}

fn held<'a>(definition: &ToolDefinition, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
    match definition.input_schema().plan() {
        Ok(_) => definition.fit(arguments),
        // Found when the tool was added.
        Err(_) => Err(ToolError::new(ErrorKind::Unavailable, "its input schema cannot be used")),
    }
}

/// The arguments after the tool's own rewriting, which only objects undergo: the check refuses
/// anything else.
fn rewritten<'a>(rewrite: PrepareArguments, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
    match arguments.to_value()? {
        Value::Object(mut map) => {
            rewrite(&mut map)?;
            Ok(arguments.corrected(Value::Object(map).to_string(), Vec::new()))
        }
        _ => Ok(arguments),
    }
}

/// Gives `output` back if it keeps the promise.
pub(crate) fn hold(promise: &Plan, output: ToolOutput) -> Result<ToolOutput, ToolError> {
    let broken = |message: String| ToolError::new(ErrorKind::InvalidOutput, message);
    let Some(value) = output.structured() else {
        let given = if output.is_empty() { "nothing" } else { "content without a value" };
        return Err(broken(format!("the tool promises a value by its output schema and gave {given}")));
    };
    let violations = promise.violations(&value);
    if violations.is_empty() {
        return Ok(output);
    }
    let list: Vec<_> = violations.iter().map(Violation::to_string).collect();
    Err(broken(format!("output validation: {}", list.join("; "))))
}
