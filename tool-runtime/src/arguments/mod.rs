//! From what a model sent to a call that fits.
//!
//! Decoding checks types; what types cannot say (bounds, patterns, closed objects) is checked by a
//! [`Plan`] of the schema. Where the types of a parameter list say everything, decoding is the
//! whole check. What fails is settled once, in ways that the schema itself reads as equal (`3.0` is
//! an integer, `null` for an optional property is its absence), and else reported in full.

mod plan;

use serde_json::Value;
use tool_core::{
    Arguments, ErrorKind, InputSchema, OutputSchema, PrepareArguments, Prepared, Tool, ToolError, ToolOutput,
    Violation,
};

use self::plan::{Plan, SchemaProblem};

/// The check of one tool's arguments.
pub(crate) struct Check {
    plan: Plan,
    enforced_by_decoding: bool,
}

impl Check {
    pub(crate) fn compile(schema: &InputSchema) -> Result<Self, Vec<SchemaProblem>> {
        let plan = Plan::compile(schema.with_aliases())?;
        Ok(Self { plan, enforced_by_decoding: schema.is_enforced_by_decoding() })
    }

    pub(crate) fn violations(&self, arguments: &Value) -> Vec<Violation> {
        self.plan.violations(arguments)
    }

    /// Brings `arguments` to a call of `tool` that fits, or says all that does not fit.
    pub(crate) fn prepare<'a>(
        &self,
        tool: &'a dyn Tool,
        arguments: Arguments<'a>,
    ) -> Result<Prepared<'a>, ToolError> {
        let prepared = match tool.prepare_arguments() {
            None => self.decode(tool, arguments),
            Some(rewrite) => rewritten(rewrite, arguments).and_then(|arguments| self.decode(tool, arguments)),
        };
        prepared.map_err(|error| without_secrets(tool, error))
    }

    fn decode<'a>(&self, tool: &'a dyn Tool, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        if !self.enforced_by_decoding {
            let mut value = arguments.to_value()?;
            if !self.plan.admits(&value) {
                return self.settle(tool, &mut value, arguments.as_str(), None);
            }
        }
        match tool.prepare(arguments) {
            Err(error) if error.kind() == ErrorKind::InvalidArguments => self.explain(tool, error),
            prepared => prepared,
        }
    }

    /// The tool's own decoding failed: there may be a way of writing the same that it reads, and
    /// else there are better words for it.
    fn explain<'a>(&self, tool: &'a dyn Tool, error: ToolError) -> Result<Prepared<'a>, ToolError> {
        let Some(text) = error.arguments().map(str::to_owned) else { return Err(error) };
        let Ok(mut value) = serde_json::from_str(&text) else { return Err(error) };
        self.settle(tool, &mut value, &text, Some(error))
    }

    fn settle<'a>(
        &self,
        tool: &'a dyn Tool,
        value: &mut Value,
        text: &str,
        undecodable: Option<ToolError>,
    ) -> Result<Prepared<'a>, ToolError> {
        let changed = self.plan.settle(value);
        let violations = self.plan.violations(value);
        if violations.is_empty() && changed {
            return tool.prepare(Arguments::from(&*value));
        }
        match undecodable {
            // The schema admits what the decoder does not: the decoder's own words are all there is.
            Some(error) if violations.is_empty() => Err(error),
            _ => Err(ToolError::invalid_arguments(violations, text)),
        }
    }
}

impl Check {
    /// Gives `arguments` as they fit, for those who decode them by themselves.
    pub(crate) fn fit<'a>(
        &self,
        tool: &dyn Tool,
        arguments: Arguments<'a>,
    ) -> Result<Arguments<'a>, ToolError> {
        let fitting = match tool.prepare_arguments() {
            None => self.settled(arguments),
            Some(rewrite) => rewritten(rewrite, arguments).and_then(|arguments| self.settled(arguments)),
        };
        fitting.map_err(|error| without_secrets(tool, error))
    }

    fn settled<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        let mut value = arguments.to_value()?;
        let changed = self.plan.settle(&mut value);
        let violations = self.plan.violations(&value);
        match (violations.is_empty(), changed) {
            (true, true) => Ok(Arguments::from(value)),
            (true, false) => Ok(arguments),
            (false, _) => Err(ToolError::invalid_arguments(violations, arguments.as_str())),
        }
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

/// A secret is in no report, nor are the arguments as a whole where one is among them.
fn without_secrets(tool: &dyn Tool, error: ToolError) -> ToolError {
    if tool.definition().metadata().secrets.is_empty() || error.violations().is_empty() {
        return error;
    }
    let mut violations = error.violations().to_vec();
    violations.iter_mut().for_each(Violation::hide);
    ToolError::new(error.kind(), "").with_violations(violations).without_echo()
}

/// The check of what a tool gives back, where its schema was not made from its type.
pub(crate) struct OutputCheck {
    plan: Plan,
}

impl OutputCheck {
    pub(crate) fn compile(schema: &OutputSchema) -> Result<Self, Vec<SchemaProblem>> {
        Ok(Self { plan: Plan::compile(schema.as_value())? })
    }

    /// Gives `output` back if it keeps the promise.
    pub(crate) fn hold(&self, output: ToolOutput) -> Result<ToolOutput, ToolError> {
        let broken = |message: String| ToolError::new(ErrorKind::InvalidOutput, message);
        let Some(value) = output.structured() else {
            let given = if output.is_empty() { "nothing" } else { "content without a value" };
            return Err(broken(format!("the tool promises a value by its output schema and gave {given}")));
        };
        let violations = self.plan.violations(&value);
        if violations.is_empty() {
            return Ok(output);
        }
        let list: Vec<_> = violations.iter().map(Violation::to_string).collect();
        Err(broken(format!("output validation: {}", list.join("; "))))
    }
}
