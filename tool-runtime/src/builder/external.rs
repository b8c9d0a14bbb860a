//! Tools with a definition and without an implementation.

use std::fmt;

use serde_json::{Value, json};
use tool_core::{
    Arguments, Checks, ErrorKind, InputSchema, Prepared, Tool, ToolDefinition, ToolError, ToolName,
};

use crate::builder::InvalidTool;

/// A tool without an implementation in this process. It is listed; a call of it is an error of the kind
/// [`Unavailable`](ErrorKind::Unavailable) or, if it is [external](Self::external), left to the caller.
///
/// # Examples
///
/// ```
/// use tool_runtime::{
///     ErrorKind, ToolDefinition, ToolName, builder::ExternalTool, prelude::*, schema::InputSchema,
/// };
///
/// let schema = InputSchema::new(json!({ "type": "object" }))?;
/// let print = ToolDefinition::new(ToolName::new("print")?, "Prints the page.", schema);
/// let tools = Registry::builder().add(ExternalTool::new(print)).build()?;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let error = tools.call("print", "{}").await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Unavailable);
/// # });
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct ExternalTool {
    definition: ToolDefinition,
    external: bool,
}

impl ExternalTool {
    /// Creates a tool from its definition.
    #[must_use]
    pub fn new(definition: ToolDefinition) -> Self {
        Self { definition, external: false }
    }

    /// Makes the tool external: an [`Executor`](crate::Executor) returns
    /// [`CallOutcome::External`](crate::CallOutcome::External) for its calls.
    #[must_use]
    pub fn external(self) -> Self {
        Self { external: true, ..self }
    }

    /// Reads the tools that a front end declares: a JSON list of `name`, `description` and `parameters` (a JSON
    /// Schema; default: no parameters). Each tool is [external](Self::external). Invalid entries are returned
    /// as errors beside the tools.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Tool, builder::ExternalTool, prelude::*};
    ///
    /// let (tools, invalid) = ExternalTool::list(&json!([
    ///     { "name": "pick_color", "description": "Asks the user.", "parameters": { "type": "object" } },
    ///     { "description": "Has no name." },
    /// ]));
    /// assert_eq!(tools[0].definition().name(), &"pick_color");
    /// assert_eq!(invalid[0].to_string(), r#"tool "": a tool needs a name; this one is empty"#);
    /// ```
    #[must_use]
    pub fn list(list: &Value) -> (Vec<Self>, Vec<InvalidTool>) {
        let Value::Array(items) = list else {
            let message = "expected a JSON list of tools".to_owned();
            return (Vec::new(), vec![InvalidTool { name: String::new(), message }]);
        };
        let (mut tools, mut invalid) = (Vec::new(), Vec::new());
        for item in items {
            match Self::read(item) {
                Ok(tool) => tools.push(tool.external()),
                Err(error) => invalid.push(error),
            }
        }
        (tools, invalid)
    }

    fn read(item: &Value) -> Result<Self, InvalidTool> {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = text("name");
        let refused = |message: String| InvalidTool { name: name.clone(), message };
        let tool_name = ToolName::new(name.clone()).map_err(|error| refused(error.to_string()))?;
        let schema = match item.get("parameters") {
            None | Some(Value::Null) => json!({ "type": "object", "properties": {} }),
            Some(schema) => schema.clone(),
        };
        let schema = InputSchema::new(schema).map_err(|error| refused(error.to_string()))?;
        Ok(Self::new(ToolDefinition::new(tool_name, text("description"), schema)))
    }
}

impl Tool for ExternalTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, _: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let message = "the tool is declared only; this program cannot run it";
        Err(ToolError::new(ErrorKind::Unavailable, message).of_tool(self.definition.name().to_string()))
    }

    // It rejects all of them.
    fn holds_arguments(&self) -> bool {
        true
    }

    // Nothing runs here, so no check is needed.
    fn checks(&self) -> Checks {
        Checks::ALL
    }

    fn is_external(&self) -> bool {
        self.external
    }
}

impl fmt::Debug for ExternalTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { definition, external } = self;
        f.debug_struct("ExternalTool").field("definition", definition).field("external", external).finish()
    }
}
