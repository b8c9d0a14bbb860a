//! The settings of a builder beside closures, and the definition that they form.

use std::{borrow::Cow, fmt};

use tool_core::{
    Dependency, InputSchema, InvalidName, Metadata, OutputSchema, PrepareArguments, SchemaError,
    ToolDefinition, ToolName,
};

/// The settings of a builder beside closures.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) name: Result<ToolName, InvalidName>,
    pub(super) title: Option<Cow<'static, str>>,
    pub(super) description: Cow<'static, str>,
    pub(super) metadata: Metadata,
    pub(super) always_confirm: bool,
    pub(super) input_schema: Option<InputSchema>,
    pub(super) output_schema: Option<Option<OutputSchema>>,
    pub(super) examples: Vec<serde_json::Value>,
    pub(super) needs: Vec<Dependency>,
    pub(super) prepare: Option<PrepareArguments>,
}

impl Settings {
    pub(super) fn of(name: Result<ToolName, InvalidName>) -> Self {
        Self {
            name,
            title: None,
            description: Cow::Borrowed(""),
            metadata: Metadata::default(),
            always_confirm: false,
            input_schema: None,
            output_schema: None,
            examples: Vec::new(),
            needs: Vec::new(),
            prepare: None,
        }
    }

    pub(super) fn definition(
        self,
        input_schema: impl FnOnce() -> Result<InputSchema, SchemaError>,
        output_schema: Option<OutputSchema>,
    ) -> Result<ToolDefinition, InvalidTool> {
        let invalid = |name: &str, message: String| InvalidTool { name: name.to_owned(), message };
        let name = self.name.map_err(|error| invalid(error.name(), error.to_string()))?;
        let input_schema = self.input_schema.map_or_else(input_schema, Ok);
        let input_schema = input_schema.map_err(|error| invalid(name.as_str(), error.to_string()))?;
        let mut definition = ToolDefinition::new(name, self.description, input_schema)
            .with_metadata(self.metadata)
            .with_examples(self.examples);
        if let Some(title) = self.title {
            definition = definition.with_title(title);
        }
        if let Some(schema) = self.output_schema.unwrap_or(output_schema) {
            definition = definition.with_output_schema(schema);
        }
        Ok(definition)
    }
}

/// The error of creating a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidTool {
    pub(crate) name: String,
    pub(crate) message: String,
}

impl fmt::Display for InvalidTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool {:?}: {}", self.name, self.message)
    }
}

impl std::error::Error for InvalidTool {}
