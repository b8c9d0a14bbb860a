//! The types of the values that a schema permits at a location.

use std::ops::{BitAnd, BitOr};

use serde_json::{Map, Value};

use super::{Form, InputSchema};
use crate::{
    internal_keywords::SINGLE,
    pointer::{local_pointer, pointer_steps},
};

/// The types that a value at a location may have. A list is represented by the types of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueTypes(u8);

impl ValueTypes {
    const NONE: Self = Self(0);
    const STRING: Self = Self(1);
    const NUMBER: Self = Self(1 << 1);
    const BOOLEAN: Self = Self(1 << 2);
    const NULL: Self = Self(1 << 3);
    const OBJECT: Self = Self(1 << 4);
    const ARRAY: Self = Self(1 << 5);
    /// A number that may be read as a 64-bit float.
    const DOUBLE: Self = Self(1 << 6);
    const ANY: Self = Self((1 << 7) - 1);
    /// A number that is read as a 32-bit float.
    const SINGLE: Self = Self(1 << 7);

    /// Returns `true` if a value may be a string.
    #[must_use]
    pub fn may_be_string(self) -> bool {
        self.intersects(Self::STRING)
    }

    /// Returns `true` if a value may be a number.
    #[must_use]
    pub fn may_be_number(self) -> bool {
        self.intersects(Self::NUMBER)
    }

    /// Returns `true` if a number may be read as a 64-bit float.
    #[must_use]
    pub fn may_be_double(self) -> bool {
        self.intersects(Self::DOUBLE)
    }

    /// Returns `true` if a number may be read as a 32-bit float. A number of unknown type is not.
    #[must_use]
    pub fn may_be_single(self) -> bool {
        self.intersects(Self::SINGLE)
    }

    /// Returns the types of a value of which nothing is known.
    #[must_use]
    pub fn any() -> Self {
        Self::ANY
    }

    /// Returns `true` if a value may be `true` or `false`.
    #[must_use]
    pub fn may_be_boolean(self) -> bool {
        self.intersects(Self::BOOLEAN)
    }

    /// Returns `true` if a value may be an object.
    #[must_use]
    pub fn may_be_object(self) -> bool {
        self.intersects(Self::OBJECT)
    }

    fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn from_name(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "number" => Self::NUMBER | Self::DOUBLE,
            "integer" => Self::NUMBER,
            "boolean" => Self::BOOLEAN,
            "null" => Self::NULL,
            "object" => Self::OBJECT,
            "array" => Self::ARRAY,
            _ => Self::NONE,
        }
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::String(_) => Self::STRING,
            Value::Number(_) => Self::NUMBER | Self::DOUBLE,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Null => Self::NULL,
            Value::Object(_) => Self::OBJECT,
            Value::Array(_) => Self::ARRAY,
        }
    }

    /// Returns the types with a 32-bit float in place of a 64-bit one.
    fn with_single_for_double(self) -> Self {
        Self(self.0 & !Self::DOUBLE.0 | Self::SINGLE.0)
    }

    fn union(types: impl Iterator<Item = Self>) -> Self {
        types.fold(Self::NONE, Self::bitor)
    }
}

impl BitOr for ValueTypes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for ValueTypes {
    type Output = Self;

    /// Returns the common types. A number that one side marks as a 32-bit float is one.
    fn bitand(self, other: Self) -> Self {
        let common = Self(self.0 & other.0 & Self::ANY.0);
        match common.intersects(Self::NUMBER) {
            true => Self(common.0 | (self.0 | other.0) & Self::SINGLE.0),
            false => common,
        }
    }
}

impl InputSchema {
    /// Returns the types of the values that a JSON pointer selects in valid arguments; `None` if it selects nothing
    /// ([`resolve_pointer`](Self::resolve_pointer)). A type that the schema excludes in a way other than by its
    /// keywords for types, references and branches is included.
    #[doc(hidden)]
    #[must_use]
    pub fn value_types(&self, pointer: &str) -> Option<ValueTypes> {
        let (root, schemas) = self.schemas_at(pointer)?;
        let types = match schemas.as_slice() {
            [] => ValueTypes::ANY,
            schemas => {
                let types = |schema: &&Value| TypeResolver { root, seen: Vec::new() }.types_of(schema);
                ValueTypes::union(schemas.iter().map(types))
            }
        };
        let is_flat_single = || match &self.shared.form {
            Form::Flat(flat) => {
                pointer_steps(pointer).is_some_and(|steps| flat.reads_f32(steps.first().map(String::as_str)))
            }
            Form::Value(_) | Form::Shared(_) => false,
        };
        Some(if types.may_be_double() && is_flat_single() { types.with_single_for_double() } else { types })
    }

    /// Returns `true` if a part of valid arguments may be read as a 32-bit float.
    #[doc(hidden)]
    #[must_use]
    pub fn has_single(&self) -> bool {
        match &self.shared.form {
            Form::Flat(flat) => flat.reads_f32(None),
            Form::Value(_) => has_f32_mark(self.decoding_schema_and_origin().0),
            Form::Shared(_) => has_f32_mark(&self.to_value()),
        }
    }
}

/// Determines the types of one value.
struct TypeResolver<'s> {
    root: &'s Value,
    /// The followed references, each once, since schemas may be recursive.
    seen: Vec<&'s str>,
}

impl<'s> TypeResolver<'s> {
    fn types_of(&mut self, schema: &'s Value) -> ValueTypes {
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => return ValueTypes::NONE,
            _ => return ValueTypes::ANY,
        };
        let mut types = types_of_keywords(schema);
        if types.intersects(ValueTypes::ARRAY) {
            types = ValueTypes(types.0 & !ValueTypes::ARRAY.0) | self.types_of_items(schema);
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            types = types & self.types_of_reference(reference);
        }
        for schema in subschema_list(schema, "allOf") {
            types = types & self.types_of(schema);
        }
        for key in ["anyOf", "oneOf"] {
            if schema.contains_key(key) {
                types = types
                    & ValueTypes::union(subschema_list(schema, key).map(|schema| self.types_of(schema)));
            }
        }
        types
    }

    fn types_of_items(&mut self, schema: &'s Map<String, Value>) -> ValueTypes {
        let first =
            ValueTypes::union(subschema_list(schema, "prefixItems").map(|schema| self.types_of(schema)));
        first | schema.get("items").map_or(ValueTypes::ANY, |items| self.types_of(items))
    }

    fn types_of_reference(&mut self, reference: &'s str) -> ValueTypes {
        if self.seen.contains(&reference) {
            return ValueTypes::ANY;
        }
        self.seen.push(reference);
        let target = local_pointer(reference).and_then(|pointer| self.root.pointer(&pointer));
        target.map_or(ValueTypes::ANY, |target| self.types_of(target))
    }
}

/// Returns `true` if `schema` marks a 32-bit float anywhere.
fn has_f32_mark(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => is_f32_schema(members) || members.values().any(has_f32_mark),
        Value::Array(items) => items.iter().any(has_f32_mark),
        _ => false,
    }
}

/// Returns `true` if `schema` marks a 32-bit float, by its own marker or by the format of OpenAPI.
fn is_f32_schema(schema: &Map<String, Value>) -> bool {
    schema.contains_key(SINGLE) || schema.get("format").is_some_and(|format| format == "float")
}

/// Returns the types by the keywords `type`, `enum`, `const` and `format`.
fn types_of_keywords(schema: &Map<String, Value>) -> ValueTypes {
    let types = types_by_type_or_values(schema);
    let is_float = types.may_be_double() && is_f32_schema(schema);
    if is_float { types.with_single_for_double() } else { types }
}

fn types_by_type_or_values(schema: &Map<String, Value>) -> ValueTypes {
    let values = schema.get("enum").and_then(Value::as_array);
    match (schema.get("type"), values, schema.get("const")) {
        (Some(Value::String(name)), ..) => ValueTypes::from_name(name),
        (Some(Value::Array(names)), ..) => {
            ValueTypes::union(names.iter().filter_map(Value::as_str).map(ValueTypes::from_name))
        }
        (_, Some(values), _) => ValueTypes::union(values.iter().map(ValueTypes::of_value)),
        (_, _, Some(value)) => ValueTypes::of_value(value),
        _ => ValueTypes::ANY,
    }
}

fn subschema_list<'s>(
    schema: &'s Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'s Value> + use<'s> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten()
}
