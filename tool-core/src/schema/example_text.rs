//! An example of valid arguments, as a value and as text.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

/// An example of valid arguments with its text, which is formatted at most once.
#[derive(Debug)]
pub(crate) struct Example {
    value: Arc<Value>,
    text: OnceLock<String>,
}

impl Example {
    pub(crate) fn new(value: impl Into<Arc<Value>>) -> Self {
        Self { value: value.into(), text: OnceLock::new() }
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| self.value.to_string())
    }
}
