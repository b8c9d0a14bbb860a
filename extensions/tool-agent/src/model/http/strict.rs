//! The schema of a structured answer in the strict mode of each provider.
//!
//! A tool with the same schema has it in the strict dialect of the provider: there, an optional property may be
//! required and nullable, and constraints are part of descriptions. The answer is validated by the original schema.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tool_runtime::{
    Registry, ToolDefinition, ToolName, builder::ExternalTool, dialect::Provider, schema::InputSchema,
};

use crate::{model::OutputFormat, schema::is_plain_object};

/// The last format, with its strict schema. Clones share it.
#[derive(Clone, Default)]
pub(super) struct StrictSchemaCache(Arc<Mutex<Option<CachedSchema>>>);

struct CachedSchema {
    schema: Arc<Value>,
    strict: Option<Arc<Value>>,
}

impl StrictSchemaCache {
    /// Returns the schema of `format` for `provider`; `None` if its strict mode does not support it.
    pub(super) fn strict_schema(&self, provider: &dyn Provider, format: &OutputFormat) -> Option<Arc<Value>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(known) if Arc::ptr_eq(&known.schema, &format.schema) => known.strict.clone(),
            _ => {
                let strict = enforced_schema(provider, &format.schema).map(Arc::new);
                *last = Some(CachedSchema { schema: Arc::clone(&format.schema), strict: strict.clone() });
                strict
            }
        }
    }
}

fn enforced_schema(provider: &dyn Provider, schema: &Value) -> Option<Value> {
    // A dialect would wrap any other root.
    if !is_plain_object(schema) {
        return None;
    }
    let schema = InputSchema::new(schema.clone()).ok()?;
    let tool = ToolDefinition::new(ToolName::new("answer").ok()?, "The answer.", schema);
    let tools = Registry::builder().add(ExternalTool::new(tool)).build().ok()?;
    let bound = provider.strict_dialect()?.bind_tools(&tools);
    provider.enforced_schema(bound.definitions().get(0)?).cloned()
}
