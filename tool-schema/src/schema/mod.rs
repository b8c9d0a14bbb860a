//! JSON Schemas of arguments and results.
//!
//! Schemas are derived from the types that `serde` decodes and have one canonical form (JSON Schema 2020-12): the
//! same type always has the same schema. Differences between providers are handled by the dialects, never here.

mod aliases;
mod canonical;
#[cfg(feature = "schemars")]
mod derived;

mod constant_parameters;
mod constant_types;
mod enums;
mod example;
mod example_text;
mod flatten;
mod foreign_repair;
mod integers;
mod map_keys;
mod map_samples;
mod merge;
mod order;
mod output;
mod pointer;
mod readable_keys;
mod references;
mod shared;
mod value_types;
mod walk;
mod written_values;

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

#[cfg(feature = "schemars")]
#[doc(hidden)]
pub use self::derived::{
    has_type, input_generator, list_of, output_generator, with_definitions, without_null,
};
pub use self::output::OutputSchema;
use self::{
    canonical::canonicalize_schema,
    map_samples::MapPath,
    shared::{SharedDefinition, SharedForm},
};
#[doc(hidden)]
pub use self::{
    canonical::{Closing, canonical_output},
    constant_parameters::{Flat, Row},
    constant_types::{Limits, Plain},
    example_text::Example,
    pointer::ResolvedPointer,
    value_types::ValueTypes,
    written_values::{Misfit, Purpose, WrittenValue},
};
use crate::{Plan, SchemaProblem, arguments::plan::Origin};

/// The schema of a tool's arguments: a JSON Schema whose root is an object.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_schema::InputSchema;
///
/// let schema = InputSchema::new(json!({ "type": "object", "properties": { "n": { "type": "integer" } } }))?;
/// assert_eq!(schema.as_value()["properties"]["n"]["type"], "integer");
/// assert!(InputSchema::new(json!({ "type": "string" })).is_err());
/// # Ok::<(), tool_schema::SchemaError>(())
/// ```
#[derive(Clone)]
pub struct InputSchema {
    shared: Arc<Shared>,
}

struct Shared {
    form: Form,
    /// The schema including internal keywords of the decoder, such as aliases of properties, if there are any. In a
    /// foreign schema, these keywords have no meaning.
    with_aliases: Option<Value>,
    plan: OnceLock<Result<Plan, Vec<SchemaProblem>>>,
    example: OnceLock<Option<Arc<Example>>>,
    /// Defaults and examples written for parameters beside their types.
    written_values: Vec<WrittenValue>,
}

enum Form {
    Value(Value),
    /// A schema without mistakes; its value is made on first use.
    Flat(Flat),
    /// A schema with definitions that other schemas share; its value is made on first use.
    Shared(Box<SharedForm>),
}

impl InputSchema {
    /// Creates a schema that is written by hand or received from elsewhere; it is kept unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if the root is not an object.
    pub fn new(schema: Value) -> Result<Self, SchemaError> {
        Self::from_checked_value(schema, None, Vec::new())
    }

    /// Creates a schema whose `$defs` are `definitions`, which other schemas share in memory, for the many tools of a large document.
    ///
    /// The definitions are part of the schema wherever it is serialised, validated or compared. [`to_value`](Self::to_value) makes a
    /// copy with them, and [`as_value`](Self::as_value) one that is kept. The plan of a shared schema is made by its first call.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use serde_json::json;
    /// use tool_schema::InputSchema;
    ///
    /// let pet = Arc::new(json!({ "type": "object", "required": ["name"] }));
    /// let root = json!({ "type": "object", "properties": { "pet": { "$ref": "#/$defs/Pet" } } });
    /// let schema = InputSchema::with_shared(root, [("Pet".into(), pet)])?;
    /// assert_eq!(schema.to_value()["$defs"]["Pet"]["required"][0], "name");
    /// # Ok::<(), tool_schema::SchemaError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the root is not an object, or has `$defs`.
    pub fn with_shared(
        root: Value,
        definitions: impl IntoIterator<Item = (Arc<str>, Arc<Value>)>,
    ) -> Result<Self, SchemaError> {
        let form = SharedForm::new(root, definitions.into_iter().collect())?;
        let (plan, example) = (OnceLock::new(), OnceLock::new());
        let (form, with_aliases, written_values) = (Form::Shared(Box::new(form)), None, Vec::new());
        Ok(Self { shared: Arc::new(Shared { form, with_aliases, plan, example, written_values }) })
    }

    fn from_checked_value(
        value: Value,
        with_aliases: Option<Value>,
        written_values: Vec<WrittenValue>,
    ) -> Result<Self, SchemaError> {
        check_root(&value)?;
        let (form, plan, example) = (Form::Value(value), OnceLock::new(), OnceLock::new());
        Ok(Self { shared: Arc::new(Shared { form, with_aliases, plan, example, written_values }) })
    }

    /// Creates the schema of a flat list of parameters.
    #[doc(hidden)]
    #[must_use]
    pub fn flat(flat: Flat) -> Self {
        let (plan, example) = (OnceLock::new(), OnceLock::new());
        let (form, with_aliases, written_values) = (Form::Flat(flat), None, Vec::new());
        Self { shared: Arc::new(Shared { form, with_aliases, plan, example, written_values }) }
    }

    #[doc(hidden)]
    pub fn canonical(
        mut schema: Value,
        closing: Closing,
        written_values: Vec<WrittenValue>,
    ) -> Result<Self, SchemaError> {
        canonicalize_schema(&mut schema, closing)?;
        Self::from_own_schema(schema, written_values)
    }

    /// Creates a schema that includes internal keywords, as derived from a type.
    #[doc(hidden)]
    pub fn own(schema: Value) -> Result<Self, SchemaError> {
        Self::from_own_schema(schema, Vec::new())
    }

    fn from_own_schema(mut schema: Value, written_values: Vec<WrittenValue>) -> Result<Self, SchemaError> {
        if !aliases::may_have_internal_keywords(&schema) {
            return Self::from_checked_value(schema, None, written_values);
        }
        let with_aliases = schema.clone();
        let has_aliases = aliases::strip_internal_keywords(&mut schema);
        Self::from_checked_value(schema, has_aliases.then_some(with_aliases), written_values)
    }

    /// Returns the schema as JSON.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        match &self.shared.form {
            Form::Value(value) => value,
            Form::Flat(flat) => flat.value(),
            Form::Shared(shared) => shared.value(),
        }
    }

    /// Returns the schema as JSON, without keeping a copy of [shared](Self::with_shared) definitions.
    #[must_use]
    pub fn to_value(&self) -> Cow<'_, Value> {
        match &self.shared.form {
            Form::Shared(shared) if shared.cached_value().is_none() => Cow::Owned(shared.to_value()),
            _ => Cow::Borrowed(self.as_value()),
        }
    }

    /// Returns the keywords of the root, and the definitions that it [shares](Self::with_shared), which belong to its `$defs`: for
    /// readers of many schemas, without a copy.
    #[doc(hidden)]
    #[must_use]
    pub fn root_and_shared(&self) -> (Option<&Map<String, Value>>, &[SharedDefinition]) {
        match &self.shared.form {
            Form::Shared(shared) => shared.parts(),
            Form::Value(_) | Form::Flat(_) => (self.as_value().as_object(), &[]),
        }
    }

    /// Returns a keyword of the root other than `$defs`.
    #[doc(hidden)]
    #[must_use]
    pub fn keyword(&self, key: &str) -> Option<&Value> {
        match &self.shared.form {
            Form::Shared(shared) => shared.keyword(key),
            Form::Value(_) | Form::Flat(_) => self.as_value().get(key),
        }
    }

    /// Returns the schema with its internal keywords, from which [`own`](Self::own) makes an equal one in another process; `None` if
    /// it has none that a decoder reads.
    #[doc(hidden)]
    #[must_use]
    pub fn with_internal_keywords(&self) -> Option<&Value> {
        self.shared.with_aliases.as_ref()
    }

    /// Returns the schema for decoding, and its origin.
    fn decoding_schema_and_origin(&self) -> (&Value, Origin) {
        match &self.shared.with_aliases {
            Some(schema) => (schema, Origin::Own),
            None => (self.as_value(), Origin::Foreign),
        }
    }

    /// Returns the compiled schema, which decodes and validates arguments. Compiled once, on first use.
    ///
    /// # Errors
    ///
    /// Returns all mistakes in the schema, and all keywords that a plan does not support.
    #[inline]
    pub fn plan(&self) -> Result<&Plan, &[SchemaProblem]> {
        let plan = self.shared.plan.get_or_init(|| self.compile_plan());
        plan.as_ref().map_err(Vec::as_slice)
    }

    fn compile_plan(&self) -> Result<Plan, Vec<SchemaProblem>> {
        match &self.shared.with_aliases {
            Some(schema) => Plan::compile_arguments(schema, Origin::Own),
            None => Plan::compile_arguments(&self.to_value(), Origin::Foreign),
        }
    }

    /// Returns the maps whose keys have no pattern.
    fn maps_with_free_keys(&self) -> Vec<MapPath> {
        match &self.shared.form {
            Form::Value(schema) => map_samples::maps_with_free_keys(schema),
            Form::Flat(_) | Form::Shared(_) => Vec::new(),
        }
    }

    /// Returns the errors of [`plan`](Self::plan). Does not compile a schema that cannot have any, and does not keep the plan of a
    /// shared schema, of which most are never called.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan).
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), &[SchemaProblem]> {
        match &*self.shared {
            shared if shared.plan.get().is_some() => self.plan().map(drop),
            Shared { form: Form::Flat(_), .. } => Ok(()),
            Shared { form: Form::Value(schema), with_aliases: None, .. }
                if Plan::certainly_compiles(schema) =>
            {
                Ok(())
            }
            Shared { form: Form::Shared(form), plan, .. } => {
                match form.validate_once(|| self.compiles_without_mistakes(plan)) {
                    true => Ok(()),
                    false => self.plan().map(drop),
                }
            }
            _ => self.plan().map(drop),
        }
    }

    /// Compiles the schema, and keeps its mistakes in `plan`; `true` if there are none.
    fn compiles_without_mistakes(&self, plan: &OnceLock<Result<Plan, Vec<SchemaProblem>>>) -> bool {
        let problems = self.compile_plan().err();
        let is_valid = problems.is_none();
        if let Some(problems) = problems {
            // Two threads find the same.
            let _ = plan.set(Err(problems));
        }
        is_valid
    }

    /// Returns the smallest valid arguments, built from the examples and defaults in the schema and from generated
    /// values; `None` if none are found, for example because of a required pattern.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_schema::InputSchema;
    ///
    /// let schema = InputSchema::new(json!({
    ///     "type": "object",
    ///     "properties": {
    ///         "city": { "type": "string", "examples": ["Paris"] },
    ///         "days": { "type": "integer", "minimum": 2 },
    ///         "unit": { "enum": ["celsius", "fahrenheit"] },
    ///     },
    ///     "required": ["city", "days"],
    /// }))?;
    /// assert_eq!(schema.example(), Some(&json!({ "city": "Paris", "days": 2 })));
    /// # Ok::<(), tool_schema::SchemaError>(())
    /// ```
    #[must_use]
    pub fn example(&self) -> Option<&Value> {
        self.shared_example().map(|example| example.value())
    }

    #[doc(hidden)]
    #[must_use]
    pub fn shared_example(&self) -> Option<&Arc<Example>> {
        let make = || {
            example::smallest_example(&self.to_value(), self.plan().ok()?)
                .map(|it| Arc::new(Example::new(it)))
        };
        self.shared.example.get_or_init(make).as_ref()
    }
}

impl fmt::Debug for InputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InputSchema").field(&*self.to_value()).finish()
    }
}

impl PartialEq for InputSchema {
    fn eq(&self, other: &Self) -> bool {
        match (&self.shared.form, &other.shared.form) {
            (Form::Shared(one), Form::Shared(other)) => one == other,
            _ => self.to_value() == other.to_value(),
        }
    }
}

impl Serialize for InputSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.shared.form {
            Form::Value(value) => value.serialize(serializer),
            Form::Flat(flat) => flat.serialize(serializer),
            Form::Shared(shared) => shared.serialize(serializer),
        }
    }
}

/// The error of an unusable schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError(String);

impl SchemaError {
    /// Creates an error with `message`.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SchemaError {}

fn check_root(schema: &Value) -> Result<(), SchemaError> {
    let Some(root) = schema.as_object() else {
        return Err(SchemaError::new(format!("the schema of arguments must be an object, not {schema}")));
    };
    match root.get("type") {
        None => Ok(()),
        Some(Value::String(name)) if name == "object" => Ok(()),
        Some(other) => Err(SchemaError::new(format!(
            "the arguments of a tool are an object; this schema says `\"type\": {other}`. Put the value into a struct"
        ))),
    }
}
