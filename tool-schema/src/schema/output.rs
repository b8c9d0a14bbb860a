//! Schemas of results.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Plain, SchemaError};

/// The schema of a tool's results: a JSON Schema with any root.
#[derive(Clone)]
pub struct OutputSchema {
    form: OutputForm,
    is_promise: bool,
}

#[derive(Clone)]
enum OutputForm {
    Value(Arc<Value>),
    Plain(&'static Plain),
    Deferred(Arc<LazyLock<Value, MakeSchema>>),
}

/// A closure that makes a schema.
type MakeSchema = Box<dyn FnOnce() -> Value + Send>;

impl OutputSchema {
    /// Creates a schema that is written by hand or received from elsewhere; every result is validated against it.
    ///
    /// # Errors
    ///
    /// Returns an error if `schema` is neither an object nor a boolean.
    pub fn new(schema: Value) -> Result<Self, SchemaError> {
        match schema {
            Value::Object(_) | Value::Bool(_) => {
                Ok(Self { form: OutputForm::Value(Arc::new(schema)), is_promise: true })
            }
            other => Err(SchemaError::new(format!("a schema is an object or a boolean, not {other}"))),
        }
    }

    /// Creates a schema derived from the serialised type: results match it by construction.
    #[doc(hidden)]
    #[must_use]
    pub fn derived(schema: Value) -> Self {
        Self { form: OutputForm::Value(Arc::new(schema)), is_promise: false }
    }

    /// Creates the schema of a type with a constant schema.
    #[doc(hidden)]
    #[must_use]
    pub fn plain(plain: &'static Plain) -> Self {
        Self { form: OutputForm::Plain(plain), is_promise: false }
    }

    /// Creates a schema that `make` returns when it is first needed, for the many tools of a large document. Results are not
    /// validated against it.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_schema::OutputSchema;
    ///
    /// let schema = OutputSchema::deferred(|| json!({ "type": "object" }));
    /// assert!(!schema.is_promise());
    /// assert_eq!(schema.as_value()["type"], "object");
    /// ```
    #[must_use]
    pub fn deferred(make: impl FnOnce() -> Value + Send + 'static) -> Self {
        let make: MakeSchema = Box::new(make);
        Self { form: OutputForm::Deferred(Arc::new(LazyLock::new(make))), is_promise: false }
    }

    /// Returns the schema as JSON.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        match &self.form {
            OutputForm::Value(value) => value,
            OutputForm::Plain(plain) => plain.result(),
            OutputForm::Deferred(made) => made,
        }
    }

    /// Returns `true` if results are validated against the schema, because it was not derived from their type.
    #[must_use]
    pub fn is_promise(&self) -> bool {
        self.is_promise
    }
}

impl fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputSchema")
            .field("schema", self.as_value())
            .field("is_promise", &self.is_promise)
            .finish()
    }
}

impl PartialEq for OutputSchema {
    fn eq(&self, other: &Self) -> bool {
        self.is_promise == other.is_promise && self.as_value() == other.as_value()
    }
}

impl Serialize for OutputSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.form {
            OutputForm::Value(value) => value.serialize(serializer),
            OutputForm::Plain(plain) => plain.serialize(serializer),
            OutputForm::Deferred(made) => made.serialize(serializer),
        }
    }
}
