//! A definition for another process of the same program.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolDefinition;
use crate::{ContentHash, InputSchema, Metadata, OutputSchema, SchemaError, ToolName, internals::ToolSteps};

/// A definition as one process of a program sends it to another one: unlike the form that a model sees, it keeps what the decoder of a
/// generated schema knows (aliases, defaults, ignored properties).
///
/// Only for texts of a proven peer, since these parts decide which arguments a caller judges.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PeerDefinition {
    name: String,
    raw_name: String,
    title: Option<String>,
    description: String,
    input_schema: Value,
    /// The schema contains internal keywords.
    has_internal_keywords: bool,
    output_schema: Option<Value>,
    /// Each result is validated against the output schema.
    is_output_promise: bool,
    metadata: Metadata,
    examples: Vec<Value>,
    /// The steps of the tool at its origin.
    #[serde(default, skip_serializing_if = "ToolSteps::is_empty")]
    steps: ToolSteps,
}

impl PeerDefinition {
    /// Returns `definition`, of a tool with `steps`, in the form for a peer.
    #[must_use]
    pub fn new(definition: &ToolDefinition, steps: ToolSteps) -> Self {
        let inner = &*definition.inner;
        let internal = inner.input_schema.with_internal_keywords();
        let output = inner.output_schema.as_ref();
        Self {
            name: inner.name.to_string(),
            raw_name: inner.name.raw().to_owned(),
            title: inner.title.as_deref().map(str::to_owned),
            description: inner.description.to_string(),
            input_schema: internal.map_or_else(|| inner.input_schema.to_value().into_owned(), Clone::clone),
            has_internal_keywords: internal.is_some(),
            output_schema: output.map(|schema| schema.as_value().clone()),
            is_output_promise: output.is_some_and(OutputSchema::is_promise),
            metadata: inner.metadata.clone(),
            examples: inner.examples.clone(),
            steps,
        }
    }

    /// Returns the steps of the tool at its origin.
    #[must_use]
    pub fn steps(&self) -> ToolSteps {
        self.steps
    }

    /// Returns the hash of this form, which covers the internal keywords.
    #[must_use]
    pub fn content_hash(&self) -> ContentHash {
        ContentHash::of(self)
    }

    /// Returns the definition, as it was at its origin.
    ///
    /// # Errors
    ///
    /// Returns an error if a name or a schema is invalid.
    pub fn into_definition(self) -> Result<ToolDefinition, SchemaError> {
        let invalid_name = |error| SchemaError::new(format!("the name of the tool is invalid: {error}"));
        let name = ToolName::new(self.name).map_err(invalid_name)?.with_raw(&self.raw_name);
        let schema = match self.has_internal_keywords {
            true => InputSchema::own(self.input_schema)?,
            false => InputSchema::new(self.input_schema)?,
        };
        let mut definition = ToolDefinition::new(name, self.description, schema)
            .with_metadata(self.metadata)
            .with_examples(self.examples);
        if let Some(title) = self.title {
            definition = definition.with_title(title);
        }
        if let Some(schema) = self.output_schema {
            let promised = OutputSchema::new(schema)?;
            definition = definition.with_output_schema(match self.is_output_promise {
                true => promised,
                false => OutputSchema::deferred(move || promised.as_value().clone()),
            });
        }
        Ok(definition)
    }
}
