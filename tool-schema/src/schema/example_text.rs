//! An example of valid arguments, as a value and as text.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

/// An example of valid arguments with its text, which is formatted at most once.
#[derive(Debug)]
pub struct Example {
    value: Arc<Value>,
    text: OnceLock<String>,
}

impl Example {
    /// Creates an example; its text is formatted when it is first needed.
    pub fn new(value: impl Into<Arc<Value>>) -> Self {
        Self { value: value.into(), text: OnceLock::new() }
    }

    /// Returns the example as JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the JSON text of the example.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.get_or_init(|| self.value.to_string())
    }
}
