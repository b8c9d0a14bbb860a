//! Reading the arguments of a call by the definition of its tool, and hiding what is secret in them.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ToolDefinition;
use crate::{Arguments, ErrorKind, Plan, ToolError, arguments::plan::Take};

/// Reading arguments.
impl ToolDefinition {
    /// Reads `arguments` as a `T`, checked against the input schema in the same pass.
    ///
    /// For the [`prepare`](crate::Tool::prepare) of tools that are written by hand. Afterwards
    /// `arguments` are what was decoded, and say what was corrected in them.
    ///
    /// # Errors
    ///
    /// All that is wrong with the arguments, or what keeps a `T` from being made of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use tool_core::{InputSchema, ToolDefinition, ToolName};
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

    /// Gives `arguments` as they fit the input schema, for those who decode them by themselves.
    ///
    /// # Errors
    ///
    /// All that is wrong with them.
    pub fn fit<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        self.told(self.plan().fit(arguments))
    }

    /// The one text of the call with `arguments`, which fit: what judges, confirms, hashes, stores or logs
    /// a call is given it, and the tool decodes it.
    ///
    /// Properties have their own names in place of aliases, numbers one exact spelling (`1e2` and `100.0`
    /// are `100`), and what the tool's decoder takes for absent or ignores is left out. Of a schema that
    /// has no plan nothing but its JSON is known: numbers are spelled, and all else stays.
    ///
    /// A call that nobody looks at is decoded from the text as it came. All types read the same from both but
    /// those that tell `100` from `100.0`, as [`Value`](serde_json::Value) does.
    ///
    /// # Errors
    ///
    /// If the arguments are not JSON, or it cannot be told in time what they mean.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_core::{InputSchema, ToolDefinition, ToolName};
    ///
    /// let schema = InputSchema::new(json!({ "properties": { "days": { "type": "integer" } } }))?;
    /// let definition = ToolDefinition::new(ToolName::new("forecast")?, "Forecasts.", schema);
    /// let canonical = definition.canonical(r#"{ "days": 1e1, "at": 2.50 }"#.into())?;
    /// assert_eq!(canonical.as_str(), r#"{"days":10,"at":2.5}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn canonical<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        self.plan().canonical(arguments).map_err(|error| self.explained(error))
    }

    /// Reads `arguments` with `take`; afterwards they are as they were read.
    #[inline]
    pub(crate) fn read(&self, arguments: &mut Arguments<'_>, take: impl Take) -> Result<(), ToolError> {
        self.plan().read(arguments, take).map_err(|error| self.explained(error))?;
        self.hide_in(arguments);
        Ok(())
    }

    /// Arguments that fit, to be shown to a model: the tool's first example, or else the smallest that
    /// fit its schema.
    #[must_use]
    pub fn example(&self) -> Option<&Value> {
        self.shared_example().map(|example| &**example)
    }

    fn shared_example(&self) -> Option<&Arc<Value>> {
        let own = || self.examples().first().cloned().map(Arc::new);
        self.inner.example.get_or_init(own).as_ref().or_else(|| self.input_schema().shared_example())
    }

    /// The plan of the input schema. Where there is none, arguments are only read; whoever calls
    /// the tool has found that out, and holds them to the schema in another way.
    #[inline]
    fn plan(&self) -> &Plan {
        self.input_schema().plan().unwrap_or(Plan::anything())
    }

    /// What a model may be told: nothing of the arguments where one of them is a secret.
    #[doc(hidden)]
    pub fn told<'a>(&self, read: Result<Arguments<'a>, ToolError>) -> Result<Arguments<'a>, ToolError> {
        let mut arguments = read.map_err(|error| self.explained(error))?;
        self.hide_in(&mut arguments);
        Ok(arguments)
    }

    #[cold]
    fn explained(&self, error: ToolError) -> ToolError {
        let error = error.of_tool(self.name().to_string()).with_example(self.shared_example().cloned());
        if !self.has_secret() {
            return error;
        }
        error.without_values().with_pointers(|pointer| self.hide_names_in(pointer))
    }

    #[inline]
    fn hide_in(&self, arguments: &mut Arguments<'_>) {
        if !arguments.corrections().is_empty() && self.has_secret() {
            arguments.hide(|pointer| self.hide_names_in(pointer));
        }
    }

    /// Hides, in a pointer into the arguments, the names that a model chose and that may be a part of a
    /// secret: those within a secret parameter, or within one that is not known.
    fn hide_names_in(&self, pointer: &mut String) {
        let mut end = 0;
        for (depth, step) in pointer.split('/').skip(1).enumerate() {
            let name = step.replace("~1", "/").replace("~0", "~");
            let is_known = depth > 0 || self.knows_parameter(&name);
            // Where any name is allowed, this one may be a name within a secret; a step that was shortened
            // may have been one as well.
            if step.contains('…') || !(is_known || self.is_closed()) {
                pointer.replace_range(end.., "/***");
                return;
            }
            end += 1 + step.len();
            if !is_known || self.metadata().secrets.iter().any(|secret| *secret == name) {
                if end < pointer.len() {
                    pointer.replace_range(end.., "/***");
                }
                return;
            }
        }
    }

    /// Whether the schema of the arguments lists a parameter of that name.
    #[doc(hidden)]
    #[must_use]
    pub fn knows_parameter(&self, name: &str) -> bool {
        let properties = self.input_schema().as_value().get("properties");
        properties.and_then(Value::as_object).is_some_and(|known| known.contains_key(name))
    }

    /// Whether no parameters are admitted but those that the schema lists.
    #[doc(hidden)]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let schema = self.input_schema().as_value();
        schema.get("additionalProperties") == Some(&Value::Bool(false))
            && schema.get("patternProperties").is_none()
    }

    fn has_secret(&self) -> bool {
        !self.metadata().secrets.is_empty()
    }
}
