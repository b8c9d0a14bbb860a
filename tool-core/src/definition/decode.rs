//! Decoding the arguments of a call by the definition of its tool, and redacting secrets in errors and corrections.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use tool_schema::__private::{DecodeFn, Example};

use super::ToolDefinition;
use crate::{Arguments, ErrorKind, Plan, ToolError};

/// Decoding of arguments.
impl ToolDefinition {
    /// Decodes `arguments` as a `T` and validates them against the input schema in the same pass.
    ///
    /// For the [`prepare`](crate::Tool::prepare) of a tool that is implemented by hand. Afterwards, `arguments`
    /// contain the decoded text and its corrections.
    ///
    /// # Errors
    ///
    /// Returns an error with all violations of the schema, or the error of `T`'s deserializer.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use tool_runtime::{ToolDefinition, ToolName, schema::InputSchema};
    ///
    /// let schema = InputSchema::new(json!({ "properties": { "days": { "maximum": 14 } } }))?;
    /// let definition = ToolDefinition::new(ToolName::new("forecast")?, "Forecasts.", schema);
    /// let refused = definition.decode::<Value>(&mut r#"{ "days": 15 }"#.into()).unwrap_err();
    /// assert_eq!(refused.violations()[0].to_string(), "/days: expected at most 14, got 15");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode<T: DeserializeOwned>(&self, arguments: &mut Arguments<'_>) -> Result<T, ToolError> {
        let mut value = None;
        self.read(arguments, |source, _| {
            value = Some(T::deserialize(source)?);
            Ok(())
        })?;
        value.ok_or_else(|| ToolError::new(ErrorKind::InvalidArguments, "nothing was decoded"))
    }

    /// Validates `arguments` against the input schema and returns them with corrections applied, for tools with a
    /// decoder of their own.
    ///
    /// # Errors
    ///
    /// Returns an error with all violations.
    pub fn fit<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        self.annotated(self.plan().fit(arguments).map_err(ToolError::from))
    }

    /// Returns the canonical text of valid `arguments`: the text that policies, approvals, hashes, stores and logs
    /// receive, and that the tool decodes.
    ///
    /// Aliases are replaced by property names, numbers have one exact spelling (`1e2` and `100.0` become `100`), and
    /// properties that the tool's decoder treats as absent or ignores are removed. For a schema without a plan, only
    /// the numbers are rewritten.
    ///
    /// If no component reads a call before it runs, the tool decodes the text as received. Only types that
    /// distinguish `100` from `100.0`, such as [`Value`](serde_json::Value), can differ between the two texts.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments are not JSON, or if the step limit is exceeded.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::{ToolDefinition, ToolName, schema::InputSchema};
    ///
    /// let schema = InputSchema::new(json!({ "properties": { "days": { "type": "integer" } } }))?;
    /// let definition = ToolDefinition::new(ToolName::new("forecast")?, "Forecasts.", schema);
    /// let canonical = definition.canonical(r#"{ "days": 1e1, "at": 2.50 }"#.into())?;
    /// assert_eq!(canonical.as_str(), r#"{"days":10,"at":2.5}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn canonical<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        self.plan().canonical(arguments).map_err(|error| self.explained_error(error.into()))
    }

    /// Reads `arguments` with `take`; afterwards they contain the text that was read.
    #[inline]
    pub(crate) fn read(&self, arguments: &mut Arguments<'_>, take: impl DecodeFn) -> Result<(), ToolError> {
        self.plan().read(arguments, take).map_err(|error| self.explained_error(error.into()))?;
        self.hide_secrets_in_corrections(arguments);
        Ok(())
    }

    /// Returns valid arguments as an example for a model: the tool's first example, otherwise the smallest arguments
    /// that match the schema.
    #[must_use]
    pub fn example(&self) -> Option<&Value> {
        self.shared_example().map(|example| example.value())
    }

    fn shared_example(&self) -> Option<&Arc<Example>> {
        let own = || self.examples().first().cloned().map(|example| Arc::new(Example::new(example)));
        self.inner.example.get_or_init(own).as_ref().or_else(|| self.input_schema().shared_example())
    }

    /// Returns the plan of the input schema. Without a plan, arguments are only decoded; the caller of the tool
    /// validates them in another way.
    #[inline]
    fn plan(&self) -> &Plan {
        self.input_schema().plan().unwrap_or(Plan::anything())
    }

    /// Adds tool name and example to an error, and redacts the arguments in errors and corrections if one of them is
    /// a secret.
    #[doc(hidden)]
    pub fn annotated<'a>(&self, read: Result<Arguments<'a>, ToolError>) -> Result<Arguments<'a>, ToolError> {
        let mut arguments = read.map_err(|error| self.explained_error(error))?;
        self.hide_secrets_in_corrections(&mut arguments);
        Ok(arguments)
    }

    #[cold]
    fn explained_error(&self, error: ToolError) -> ToolError {
        let error =
            error.of_tool(self.name().to_string()).with_shared_example(self.shared_example().cloned());
        if !self.has_secret() {
            return error;
        }
        error.without_values().with_pointers(|pointer| self.hide_names_in(pointer))
    }

    #[inline]
    fn hide_secrets_in_corrections(&self, arguments: &mut Arguments<'_>) {
        if !arguments.corrections().is_empty() && self.has_secret() {
            arguments.hide(|pointer| self.hide_names_in(pointer));
        }
    }

    /// Redacts the names in a pointer that the model chose and that may be part of a secret: names within a secret
    /// parameter, and the name of an unknown parameter.
    fn hide_names_in(&self, pointer: &mut String) {
        let mut end = 0;
        for (depth, step) in pointer.split('/').skip(1).enumerate() {
            let name = step.replace("~1", "/").replace("~0", "~");
            let is_known = self.schema_permits_member(&pointer[..end + 1 + step.len()], &name, depth == 0);
            // An unknown name may be the secret, and so may a step that was truncated.
            if step.contains('…') || !is_known {
                pointer.replace_range(end.., "/***");
                return;
            }
            end += 1 + step.len();
            if self.metadata().secrets.iter().any(|secret| *secret == name) {
                if end < pointer.len() {
                    pointer.replace_range(end.., "/***");
                }
                return;
            }
        }
    }

    /// Returns `true` if the input schema lists a parameter of that name.
    #[doc(hidden)]
    #[must_use]
    pub fn knows_parameter(&self, name: &str) -> bool {
        let properties = self.input_schema().keyword("properties");
        properties.and_then(Value::as_object).is_some_and(|known| known.contains_key(name))
    }

    pub(super) fn has_secret(&self) -> bool {
        !self.metadata().secrets.is_empty()
    }
}
