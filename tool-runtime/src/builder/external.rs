//! Tools that are known and not here: a definition, and nothing behind it.

use std::fmt;

use serde_json::{Value, json};
use tool_core::{
    Arguments, Checks, ErrorKind, InputSchema, Prepared, Tool, ToolDefinition, ToolError, ToolName,
};

use crate::builder::InvalidTool;

/// A tool that nothing here can run. It is listed; a call of it is an error of the kind
/// [`Unavailable`](ErrorKind::Unavailable), or, where it is [external](Self::external), is left to the
/// caller.
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
    /// Declares a tool.
    #[must_use]
    pub fn new(definition: ToolDefinition) -> Self {
        Self { definition, external: false }
    }

    /// Leaves its calls to the caller: an [`Executor`](crate::Executor) gives
    /// [`CallOutcome::External`](crate::CallOutcome::External) for them.
    #[must_use]
    pub fn external(self) -> Self {
        Self { external: true, ..self }
    }

    /// The tools that a front end declares, as a JSON list of `name`, `description` and `parameters`
    /// (a JSON Schema; nothing where there is none), each [external](Self::external). What is no tool is
    /// told beside them.
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
            let message = "the tools are to be a JSON list".to_owned();
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
        let message = "it is declared, and nothing here can run it";
        Err(ToolError::new(ErrorKind::Unavailable, message).of_tool(self.definition.name().to_string()))
    }

    // It refuses all of them.
    fn holds_arguments(&self) -> bool {
        true
    }

    // Nothing runs here, so nothing runs unasked.
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
        f.debug_struct("Declaration").field("definition", definition).field("external", external).finish()
    }
}
