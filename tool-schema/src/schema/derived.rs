//! Schemas derived from Rust types by `schemars`.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    Closing, InputSchema, OutputSchema, SchemaError,
    canonical::{canonical_output, remove_null},
    pointer,
};

impl InputSchema {
    /// Creates the canonical schema of `T`.
    ///
    /// # Errors
    ///
    /// Returns an error if `T` is not serialised as a JSON object.
    pub fn of<T: JsonSchema>() -> Result<Self, SchemaError> {
        let mut generator = input_generator();
        let schema = generator.subschema_for::<T>();
        Self::canonical(with_definitions(schema.to_value(), generator), Closing::Closed, Vec::new())
    }

    /// Creates the canonical schema of `T`, for a tool whose arguments are decoded as a `T`.
    ///
    /// # Errors
    ///
    /// Returns an error if `T` is not serialised as a JSON object, or contains a map that can never have an entry.
    #[doc(hidden)]
    pub fn of_decoded<T: DeserializeOwned + JsonSchema>() -> Result<Self, SchemaError> {
        Self::of::<T>()?.with_readable_keys(|source, _| T::deserialize(source).map(drop))
    }
}

impl OutputSchema {
    /// Creates the canonical schema of the serialised form of `T`.
    #[must_use]
    pub fn of<T: JsonSchema>() -> Self {
        let mut generator = output_generator();
        let schema = generator.subschema_for::<T>();
        Self::derived(canonical_output(with_definitions(schema.to_value(), generator)))
    }
}

fn generator_settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    })
}

/// Creates a generator of schemas of arguments.
pub fn input_generator() -> SchemaGenerator {
    generator_settings().into_generator()
}

/// Creates a generator of schemas of results.
pub fn output_generator() -> SchemaGenerator {
    generator_settings().for_serialize().into_generator()
}

/// Adds the definitions that `generator` collected to `root`.
pub fn with_definitions(mut root: Value, mut generator: SchemaGenerator) -> Value {
    let definitions = generator.take_definitions(true);
    if let (Some(root), false) = (root.as_object_mut(), definitions.is_empty()) {
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    root
}

/// Returns the schema of a list of `item`.
pub fn list_of(item: Schema) -> Schema {
    let mut list = schemars::json_schema!({ "type": "array" });
    list.insert("items".to_owned(), json!(item));
    list
}

/// Returns `true` if `schema` permits this type, alone or among others.
pub fn has_type(schema: &Schema, name: &str) -> bool {
    schema.as_object().is_some_and(|schema| pointer::has_type(schema, name))
}

/// Removes `null` from the types of `schema` if another type remains; returns `true` if it was present.
pub fn without_null(schema: &mut Schema) -> bool {
    schema.as_object_mut().is_some_and(remove_null)
}
