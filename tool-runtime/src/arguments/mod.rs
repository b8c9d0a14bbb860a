//! From what a model sent to a call that fits.

use serde_json::Value;
use tool_core::{
    Arguments, ErrorKind, Plan, PrepareArguments, Tool, ToolDefinition, ToolError, ToolOutput, Violation,
};

/// Brings `arguments` to the form in which `tool` reads them; `lenient` is whether they may be
/// corrected when they are read.
pub(crate) fn ready<'a>(
    tool: &dyn Tool,
    arguments: Arguments<'a>,
    lenient: bool,
) -> Result<Arguments<'a>, ToolError> {
    if tool.holds_arguments() { came(tool, arguments, lenient) } else { fit(tool, arguments, lenient) }
}

/// Gives `arguments` as they fit, for those who decode them by themselves.
pub(crate) fn fit<'a>(
    tool: &dyn Tool,
    arguments: Arguments<'a>,
    lenient: bool,
) -> Result<Arguments<'a>, ToolError> {
    held(tool.definition(), came(tool, arguments, lenient)?)
}

/// The arguments as they are to be read: as they came, or as the tool's own rewriting left them.
fn came<'a>(tool: &dyn Tool, arguments: Arguments<'a>, lenient: bool) -> Result<Arguments<'a>, ToolError> {
    let arguments = match tool.prepare_arguments() {
        None => arguments,
        Some(rewrite) => rewritten(rewrite, arguments)?,
    };
    Ok(arguments.lenient(lenient))
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
            Ok(Value::Object(map).into())
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
