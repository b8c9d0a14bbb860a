//! Input schemas of operations.

use std::collections::HashMap;

use serde_json::Value;
use tool_runtime::{
    Registry, Tool, ToolDefinition, ToolError, ToolName,
    definition::Prepared,
    schema::{Arguments, InputSchema},
};

use super::schema::{Components, VALUE, assembled, size};

/// The maximum number of values in all input schemas of a document, some 1 GB: each has its own copy of a component.
const MOST_VALUES: usize = 8_000_000;

/// The input schemas of a document.
#[derive(Default)]
pub(super) struct Inputs {
    /// Schemas, or the reasons why they cannot be used, by their text before components are added. Operations often have the
    /// same parameters.
    known: HashMap<String, Result<InputSchema, String>>,
    values: usize,
}

impl Inputs {
    /// Returns the schema `root` with its components.
    ///
    /// # Errors
    ///
    /// The reason why no validator can use it.
    pub(super) fn schema(&mut self, root: Value, components: &Components<'_>) -> Result<InputSchema, String> {
        let text = root.to_string();
        if let Some(known) = self.known.get(&text) {
            return known.clone();
        }
        let made = self.make(root, components);
        self.known.insert(text, made.clone());
        made
    }

    /// Counts a text of `bytes` bytes, which a tool has for itself.
    ///
    /// # Errors
    ///
    /// The reason why there is no room for it.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), String> {
        self.add(bytes / VALUE)
    }

    fn add(&mut self, values: usize) -> Result<(), String> {
        let sum = self.values.saturating_add(values);
        if sum > MOST_VALUES {
            return Err(format!(
                "the tools of the document have more than {MOST_VALUES} values, or texts of their size; select fewer operations"
            ));
        }
        self.values = sum;
        Ok(())
    }

    fn make(&mut self, root: Value, components: &Components<'_>) -> Result<InputSchema, String> {
        let root = assembled(root, |name| components.get(name))?;
        self.add(size(&root))?;
        let schema = InputSchema::new(root).map_err(|error| error.to_string())?;
        if schema.check().is_err() {
            // One tool whose schema no validator compiles would cost all tools of a registry.
            let probe = Probe(ToolDefinition::new(ToolName::from_foreign("probe"), "", schema.clone()));
            if let Err(error) = Registry::builder().add(probe).build() {
                return Err(format!("its arguments cannot be validated: {error}"));
            }
        }
        Ok(schema)
    }
}

/// A tool that is only registered.
struct Probe(ToolDefinition);

impl Tool for Probe {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, _: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Err(ToolError::failed("this tool is never called"))
    }
}
