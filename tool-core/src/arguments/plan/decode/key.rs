use std::{borrow::Cow, str::FromStr};

use serde::{
    Deserializer,
    de::{Error as _, Visitor},
    forward_to_deserialize_any,
};

use super::{Refusal, enumeration::UnitVariant};
use crate::arguments::json::Reader;

/// The name of a property, which may stand for a number, a boolean or a variant.
pub(super) struct Key<'t>(pub(super) Cow<'t, str>);

impl<'t> Key<'t> {
    fn text<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Cow::Borrowed(name) => visitor.visit_borrowed_str(name),
            Cow::Owned(name) => visitor.visit_string(name),
        }
    }

    /// The number that the name is, written as JSON writes numbers.
    fn number<T: FromStr>(&self) -> Result<T, Refusal> {
        let mut reader = Reader::new(&self.0);
        let is_number = reader.peek().is_some_and(|first| first == b'-' || first.is_ascii_digit())
            && reader.position() == 0
            && reader.number().is_ok()
            && reader.position() == self.0.len();
        let number = if is_number { self.0.parse().ok() } else { None };
        number.ok_or_else(|| Refusal::custom(format_args!("{:?} is no number of this kind", self.0)))
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident;)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
            visitor.$visit(self.number()?)
        }
    )* };
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Refusal;

    numbers! {
        deserialize_i8 visit_i8;
        deserialize_i16 visit_i16;
        deserialize_i32 visit_i32;
        deserialize_i64 visit_i64;
        deserialize_i128 visit_i128;
        deserialize_u8 visit_u8;
        deserialize_u16 visit_u16;
        deserialize_u32 visit_u32;
        deserialize_u64 visit_u64;
        deserialize_u128 visit_u128;
        deserialize_f32 visit_f32;
        deserialize_f64 visit_f64;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.text(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match &*self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(Refusal::custom(format_args!("{other:?} is no boolean"))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_enum(UnitVariant(self.0))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}
