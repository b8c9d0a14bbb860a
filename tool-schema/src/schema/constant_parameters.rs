//! The schema of a list of parameters that all have [constant schemas](Plain).
//!
//! It is made of the table of the parameters: no error is possible, so its value and its plan are made when they are
//! first needed. It is serialised without either.

use std::sync::OnceLock;

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::Value;

use super::constant_types::{Limits, Plain};

/// The schema of a flat list of parameters.
#[derive(Debug)]
pub struct Flat {
    rows: Box<[Row]>,
    value: OnceLock<Value>,
}

/// A parameter.
#[derive(Debug)]
pub struct Row {
    /// The name of the parameter.
    pub name: &'static str,
    /// The description; empty if there is none.
    pub description: &'static str,
    /// The type of the parameter.
    pub plain: &'static Plain,
    /// The limits by the constraints of the parameter.
    pub limits: Limits,
    /// Set if the parameter must be present.
    pub required: bool,
}

impl Flat {
    /// Creates the schema of the parameters `rows`; `None` if two have the same name.
    pub fn new(rows: Vec<Row>) -> Option<Self> {
        let is_repeated = |(at, row): (usize, &Row)| rows.iter().take(at).any(|it| it.name == row.name);
        let repeated = rows.iter().enumerate().any(is_repeated);
        (!repeated).then(|| Self { rows: rows.into(), value: OnceLock::new() })
    }

    /// Returns `true` if the parameter `name`, or any parameter for `None`, is read as 32-bit floats.
    pub(super) fn reads_f32(&self, name: Option<&str>) -> bool {
        self.rows.iter().any(|row| row.plain.is_single() && name.is_none_or(|name| name == row.name))
    }

    /// Returns the schema as JSON.
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| serde_json::to_value(self).unwrap_or_default())
    }
}

impl Serialize for Flat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let required = RequiredNames(&self.rows);
        let has_required = required.names().next().is_some();
        let mut root = serializer.serialize_map(Some(3 + usize::from(has_required)))?;
        root.serialize_entry("type", "object")?;
        root.serialize_entry("properties", &Properties(&self.rows))?;
        if has_required {
            root.serialize_entry("required", &required)?;
        }
        root.serialize_entry("additionalProperties", &false)?;
        root.end()
    }
}

struct Properties<'f>(&'f [Row]);

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|row| (row.name, row)))
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.plain.serialize_parameter(self.description, &self.limits, serializer)
    }
}

struct RequiredNames<'f>(&'f [Row]);

impl RequiredNames<'_> {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter(|row| row.required).map(|row| row.name)
    }
}

impl Serialize for RequiredNames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}
