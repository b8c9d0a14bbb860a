//! The types of the values that a schema permits at a location.

use std::ops::{BitAnd, BitOr};

use serde_json::{Map, Value};

use super::{InputSchema, references::local_pointer};

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
    const ANY: Self = Self((1 << 6) - 1);

    /// Returns `true` if a value may be a string.
    #[must_use]
    pub fn may_be_string(self) -> bool {
        self.contains(Self::STRING)
    }

    /// Returns `true` if a value may be a number.
    #[must_use]
    pub fn may_be_number(self) -> bool {
        self.contains(Self::NUMBER)
    }

    /// Returns `true` if a value may be `true` or `false`.
    #[must_use]
    pub fn may_be_boolean(self) -> bool {
        self.contains(Self::BOOLEAN)
    }

    /// Returns `true` if a value may be an object.
    #[must_use]
    pub fn may_be_object(self) -> bool {
        self.contains(Self::OBJECT)
    }

    fn contains(self, other: Self) -> bool {
        self & other != Self::NONE
    }

    fn named(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "number" | "integer" => Self::NUMBER,
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
            Value::Number(_) => Self::NUMBER,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Null => Self::NULL,
            Value::Object(_) => Self::OBJECT,
            Value::Array(_) => Self::ARRAY,
        }
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

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
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
        Some(match schemas.as_slice() {
            [] => ValueTypes::ANY,
            schemas => {
                let types = |schema: &&Value| Types { root, seen: Vec::new() }.of(schema);
                ValueTypes::union(schemas.iter().map(types))
            }
        })
    }
}

/// Determines the types of one value.
struct Types<'s> {
    root: &'s Value,
    /// The followed references, each once, since schemas may be recursive.
    seen: Vec<&'s str>,
}

impl<'s> Types<'s> {
    fn of(&mut self, schema: &'s Value) -> ValueTypes {
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => return ValueTypes::NONE,
            _ => return ValueTypes::ANY,
        };
        let mut types = own(schema);
        if types.contains(ValueTypes::ARRAY) {
            types = ValueTypes(types.0 & !ValueTypes::ARRAY.0) | self.of_items(schema);
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            types = types & self.of_reference(reference);
        }
        for schema in listed(schema, "allOf") {
            types = types & self.of(schema);
        }
        for key in ["anyOf", "oneOf"] {
            if schema.contains_key(key) {
                types = types & ValueTypes::union(listed(schema, key).map(|schema| self.of(schema)));
            }
        }
        types
    }

    fn of_items(&mut self, schema: &'s Map<String, Value>) -> ValueTypes {
        let first = ValueTypes::union(listed(schema, "prefixItems").map(|schema| self.of(schema)));
        first | schema.get("items").map_or(ValueTypes::ANY, |items| self.of(items))
    }

    fn of_reference(&mut self, reference: &'s str) -> ValueTypes {
        if self.seen.contains(&reference) {
            return ValueTypes::ANY;
        }
        self.seen.push(reference);
        let target = local_pointer(reference).and_then(|pointer| self.root.pointer(&pointer));
        target.map_or(ValueTypes::ANY, |target| self.of(target))
    }
}

/// Returns the types by the keywords `type`, `enum` and `const`.
fn own(schema: &Map<String, Value>) -> ValueTypes {
    let values = schema.get("enum").and_then(Value::as_array);
    match (schema.get("type"), values, schema.get("const")) {
        (Some(Value::String(name)), ..) => ValueTypes::named(name),
        (Some(Value::Array(names)), ..) => {
            ValueTypes::union(names.iter().filter_map(Value::as_str).map(ValueTypes::named))
        }
        (_, Some(values), _) => ValueTypes::union(values.iter().map(ValueTypes::of_value)),
        (_, _, Some(value)) => ValueTypes::of_value(value),
        _ => ValueTypes::ANY,
    }
}

fn listed<'s>(schema: &'s Map<String, Value>, key: &str) -> impl Iterator<Item = &'s Value> + use<'s> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten()
}
