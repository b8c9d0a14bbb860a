//! Input schemas of operations.

use std::collections::HashMap;

use serde_json::Value;
use tool_runtime::{
    Registry, Tool, ToolDefinition, ToolError, ToolName,
    definition::Prepared,
    schema::{Arguments, InputSchema},
};

use super::{
    hint::has_hidden_characters,
    schema::{Components, ReachedComponents, assemble_schema, weighted_value_count},
};

/// The maximum number of values in all input schemas of a document, some 1 GB, without the components that they share.
const MAX_VALUES: usize = 8_000_000;

/// The size from which the components of a schema are shared with other schemas, in bytes of JSON. Smaller ones are copied, and
/// stand where they are used.
const SHARED_BYTES: usize = 4 << 10;

/// The input schemas of a document, and the size of its definitions.
#[derive(Default)]
pub(super) struct InputSchemas {
    /// Schemas with their sizes, or the reasons why they cannot be used, by their text before components are added. Operations often
    /// have the same parameters.
    known: HashMap<String, Result<SizedInputSchema, String>>,
    values: usize,
    /// The maximum size of all definitions, in bytes of JSON.
    limit: usize,
    /// The size of the definitions of all operations that were imported.
    bytes: usize,
    /// The size of the definition that is being read.
    pending_bytes: usize,
}

/// An input schema.
#[derive(Clone)]
pub(super) struct SizedInputSchema {
    pub(super) schema: InputSchema,
    /// The size in bytes of JSON.
    bytes: usize,
    /// It has characters that a person does not see.
    pub(super) has_hidden_text: bool,
}

impl InputSchemas {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Begins the definition of an operation.
    pub(super) fn reset_pending_bytes(&mut self) {
        self.pending_bytes = 0;
    }

    /// Adds the definition of an operation that is imported to the sum.
    pub(super) fn commit_pending_bytes(&mut self) {
        self.bytes = self.bytes.saturating_add(std::mem::take(&mut self.pending_bytes));
    }

    /// Returns the schema `root` with its components.
    ///
    /// # Errors
    ///
    /// The reason why no validator can use it, or that it exceeds the maximum size.
    pub(super) fn input_schema_with_components(
        &mut self,
        root: Value,
        components: &Components<'_>,
    ) -> Result<SizedInputSchema, String> {
        let text = root.to_string();
        let known = match self.known.get(&text) {
            Some(known) => known.clone(),
            None => {
                let reached = components.reached_components(&root)?;
                // Before a schema is made that would be dropped.
                self.check_definitions_limit(text.len() + reached.bytes)?;
                let made = self.build_input_schema(root, text.len(), reached, components);
                self.known.insert(text, made.clone());
                made
            }
        };
        let input = known?;
        self.add_pending_bytes_within_limit(input.bytes)?;
        Ok(input)
    }

    /// Adds the size of a part of a definition, in bytes of JSON.
    ///
    /// # Errors
    ///
    /// The reason why there is no room for it.
    pub(super) fn add_pending_bytes_within_limit(&mut self, bytes: usize) -> Result<(), String> {
        self.check_definitions_limit(bytes)?;
        self.pending_bytes += bytes;
        Ok(())
    }

    fn check_definitions_limit(&self, bytes: usize) -> Result<(), String> {
        match self.bytes.saturating_add(self.pending_bytes).saturating_add(bytes) > self.limit {
            true => Err(format!(
                "the definitions of the document exceed {} bytes in all; select fewer operations, or set `definitions_limit`",
                self.limit
            )),
            false => Ok(()),
        }
    }

    fn add_value_count_within_limit(&mut self, values: usize) -> Result<(), String> {
        let sum = self.values.saturating_add(values);
        if sum > MAX_VALUES {
            return Err(format!(
                "the tools of the document have more than {MAX_VALUES} values, or texts of their size; select fewer operations"
            ));
        }
        self.values = sum;
        Ok(())
    }

    fn build_input_schema(
        &mut self,
        root: Value,
        root_bytes: usize,
        reached: ReachedComponents,
        components: &Components<'_>,
    ) -> Result<SizedInputSchema, String> {
        let (bytes, has_hidden_text) =
            (root_bytes + reached.bytes, reached.has_hidden_text || has_hidden_characters(&root));
        let schema = if reached.bytes > SHARED_BYTES {
            self.add_value_count_within_limit(weighted_value_count(&root))?;
            InputSchema::with_shared(root, reached.definitions)
        } else {
            let root = assemble_schema(root, |name| components.get(name))?;
            self.add_value_count_within_limit(weighted_value_count(&root))?;
            InputSchema::new(root)
        };
        let schema = schema.map_err(|error| error.to_string())?;
        if schema.check().is_err() {
            // One tool whose schema no validator compiles would cost all tools of a registry.
            let probe =
                DefinitionOnlyTool(ToolDefinition::new(ToolName::from_foreign("probe"), "", schema.clone()));
            if let Err(error) = Registry::builder().add(probe).build() {
                return Err(format!("its arguments cannot be validated: {error}"));
            }
        }
        Ok(SizedInputSchema { schema, bytes, has_hidden_text })
    }
}

/// A tool that is only registered.
struct DefinitionOnlyTool(ToolDefinition);

impl Tool for DefinitionOnlyTool {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, _: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Err(ToolError::failed("this tool is never called"))
    }
}

#[cfg(test)]
mod tests {
    use super::{InputSchemas, MAX_VALUES};

    #[test]
    fn the_values_of_all_schemas_have_a_limit() {
        let mut inputs = InputSchemas { values: MAX_VALUES - 2, ..InputSchemas::default() };
        let reason = "the tools of the document have more than 8000000 values, or texts of their size; select fewer operations";
        assert_eq!(inputs.add_value_count_within_limit(3), Err(reason.to_owned()));
        assert_eq!(inputs.add_value_count_within_limit(1), Ok(()));
        assert_eq!(inputs.add_value_count_within_limit(1), Ok(()));
        assert_eq!(inputs.add_value_count_within_limit(1), Err(reason.to_owned()));
    }

    #[test]
    fn only_the_bytes_of_imported_definitions_stay() {
        let mut inputs = InputSchemas::new(10);
        let reason = "the definitions of the document exceed 10 bytes in all; select fewer operations, or set `definitions_limit`";
        assert_eq!(inputs.add_pending_bytes_within_limit(4), Ok(()));
        assert_eq!(inputs.add_pending_bytes_within_limit(7), Err(reason.to_owned()));
        inputs.commit_pending_bytes();
        assert_eq!(inputs.add_pending_bytes_within_limit(6), Ok(()));
        assert_eq!(inputs.add_pending_bytes_within_limit(1), Err(reason.to_owned()));
        inputs.reset_pending_bytes();
        assert_eq!(inputs.add_pending_bytes_within_limit(6), Ok(()));
    }
}
