//! The schema of a structured answer in the strict mode of each provider.
//!
//! A tool with the same schema has it in the strict dialect of the provider: there, an optional property may be
//! required and nullable, and constraints are part of descriptions. The answer is validated by the original schema.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tool_runtime::{Dialect, Registry, ToolDefinition, ToolName, builder::ExternalTool, schema::InputSchema};

use super::provider::Provider;
use crate::{model::OutputFormat, schema::is_plain_object};

/// The last format, with its strict schema. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Formats(Arc<Mutex<Option<Known>>>);

struct Known {
    schema: Arc<Value>,
    strict: Option<Arc<Value>>,
}

impl Formats {
    /// Returns the schema of `format` for `provider`; `None` if its strict mode does not support it.
    pub(super) fn strict(&self, provider: Provider, format: &OutputFormat) -> Option<Arc<Value>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(known) if Arc::ptr_eq(&known.schema, &format.schema) => known.strict.clone(),
            _ => {
                let strict = strict(provider, &format.schema).map(Arc::new);
                *last = Some(Known { schema: Arc::clone(&format.schema), strict: strict.clone() });
                strict
            }
        }
    }
}

fn strict(provider: Provider, schema: &Value) -> Option<Value> {
    // A dialect would wrap any other root.
    if !is_plain_object(schema) {
        return None;
    }
    let schema = InputSchema::new(schema.clone()).ok()?;
    let tool = ToolDefinition::new(ToolName::new("answer").ok()?, "The answer.", schema);
    let tools = Registry::builder().add(ExternalTool::new(tool)).build().ok()?;
    let dialect = match provider {
        Provider::OpenAiChat | Provider::OpenAiResponses => Dialect::openai_responses_strict(),
        Provider::Anthropic => Dialect::anthropic_strict(),
        Provider::Gemini => Dialect::gemini(),
    };
    let bound = dialect.bind_tools(&tools);
    let definition = bound.definitions().get(0)?;
    let is_strict = definition["strict"] == true;
    let schema = match provider {
        Provider::OpenAiChat | Provider::OpenAiResponses if is_strict => &definition["parameters"],
        Provider::Anthropic if is_strict => &definition["input_schema"],
        Provider::Gemini => definition.pointer("/functionDeclarations/0/parametersJsonSchema")?,
        _ => return None,
    };
    schema.is_object().then(|| schema.clone())
}
