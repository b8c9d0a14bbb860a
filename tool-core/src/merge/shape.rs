//! Distinguishes structs from maps, and variant names from strings, which are equal in JSON.

use std::fmt;

use serde::{
    Serialize, Serializer,
    ser::{Impossible, SerializeStruct},
};

use super::MergeNode;

/// Converts `value`, field by field if it is a struct.
pub(super) fn read_node<T: Serialize + ?Sized>(value: &T) -> Result<MergeNode, NoFields> {
    let whole = || serde_json::to_value(value).map_err(|error| NoFields::Failed(error.to_string()));
    match value.serialize(Shape) {
        Ok(node) => Ok(node),
        Err(NoFields::Value) => whole().map(MergeNode::from),
        Err(NoFields::Name) => whole().map(MergeNode::Name),
        Err(NoFields::Variant) => whole().map(MergeNode::Variant),
        Err(failed) => Err(failed),
    }
}

/// A serializer that returns the fields of a struct, or the reason why there are none.
struct Shape;

/// The reason why a value has no fields.
#[derive(Debug)]
pub(super) enum NoFields {
    /// The value is not a struct.
    Value,
    Name,
    Variant,
    Failed(String),
}

impl fmt::Display for NoFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed(message) => message,
            Self::Value | Self::Name | Self::Variant => "it is not a struct",
        })
    }
}

impl std::error::Error for NoFields {}

impl serde::ser::Error for NoFields {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Failed(message.to_string())
    }
}

/// The prefix of the struct names of `serde_json`'s own types, such as numbers.
const OF_SERDE_JSON: &str = "$serde_json::private::";

type Never = Impossible<MergeNode, NoFields>;

macro_rules! values {
    ($($method:ident: $value:ty)*) => { $(
        fn $method(self, _: $value) -> Result<MergeNode, NoFields> {
            Err(NoFields::Value)
        }
    )* };
}

impl Serializer for Shape {
    type Ok = MergeNode;
    type Error = NoFields;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Never;

    values! {
        serialize_bool: bool
        serialize_i8: i8 serialize_i16: i16 serialize_i32: i32 serialize_i64: i64 serialize_i128: i128
        serialize_u8: u8 serialize_u16: u16 serialize_u32: u32 serialize_u64: u64 serialize_u128: u128
        serialize_f32: f32 serialize_f64: f64
        serialize_char: char serialize_str: &str serialize_bytes: &[u8] serialize_unit_struct: &'static str
    }

    fn serialize_none(self) -> Result<MergeNode, NoFields> {
        Err(NoFields::Value)
    }

    fn serialize_unit(self) -> Result<MergeNode, NoFields> {
        Err(NoFields::Value)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<MergeNode, NoFields> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<MergeNode, NoFields> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<MergeNode, NoFields> {
        Err(NoFields::Name)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<MergeNode, NoFields> {
        Err(NoFields::Variant)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Never, NoFields> {
        Err(NoFields::Value)
    }

    fn serialize_tuple(self, _: usize) -> Result<Never, NoFields> {
        Err(NoFields::Value)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Never, NoFields> {
        Err(NoFields::Value)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, NoFields> {
        Err(NoFields::Variant)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Never, NoFields> {
        Err(NoFields::Value)
    }

    fn serialize_struct(self, name: &'static str, fields: usize) -> Result<Fields, NoFields> {
        match name.starts_with(OF_SERDE_JSON) {
            true => Err(NoFields::Value),
            false => Ok(Fields(Vec::with_capacity(fields))),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, NoFields> {
        Err(NoFields::Variant)
    }
}

/// The fields of a struct.
struct Fields(Vec<(&'static str, MergeNode)>);

impl SerializeStruct for Fields {
    type Ok = MergeNode;
    type Error = NoFields;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), NoFields> {
        self.0.push((name, read_node(value)?));
        Ok(())
    }

    fn end(self) -> Result<MergeNode, NoFields> {
        Ok(MergeNode::Fields(self.0))
    }
}
