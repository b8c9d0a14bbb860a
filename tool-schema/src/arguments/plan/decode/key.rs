use std::{borrow::Cow, str::FromStr};

use serde::{
    Deserializer,
    de::{Error as _, Visitor},
    forward_to_deserialize_any,
};

use super::{DecodeError, enumeration::UnitVariant};
use crate::json::Reader;

/// A property name, which may be decoded as a number, a boolean or a variant.
#[derive(Debug)]
pub(super) struct Key<N>(pub(super) N);

/// A property name: the expected one, or one that was read.
pub(super) trait Name<'t> {
    fn as_str(&self) -> &str;

    fn visit<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DecodeError>;
}

impl<'t> Name<'t> for &str {
    #[inline]
    fn as_str(&self) -> &str {
        self
    }

    #[inline]
    fn visit<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_str(self)
    }
}

impl<'t> Name<'t> for Cow<'t, str> {
    fn as_str(&self) -> &str {
        self
    }

    fn visit<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self {
            Self::Borrowed(name) => visitor.visit_borrowed_str(name),
            Self::Owned(name) => visitor.visit_string(name),
        }
    }
}

/// Parses a name as a number in JSON syntax.
fn parse_number<T: FromStr>(name: &str) -> Result<T, DecodeError> {
    let mut reader = Reader::new(name);
    let is_number = matches!(name.as_bytes().first(), Some(b'-' | b'0'..=b'9'))
        && reader.read_number().is_ok()
        && reader.position() == name.len();
    let number = if is_number { name.parse().ok() } else { None };
    number.ok_or_else(|| DecodeError::custom(format_args!("{name:?} is no number of this kind")))
}

macro_rules! numbers {
    ($($method:ident $visit:ident;)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            visitor.$visit(parse_number(self.0.as_str())?)
        }
    )* };
}

/// Reads a name as a value that is not a scalar: few types accept a string instead.
macro_rules! others {
    ($($method:ident($($hint:ty),*);)*) => { $(
        fn $method<V: Visitor<'de>>(self, $(_: $hint,)* visitor: V) -> Result<V::Value, DecodeError> {
            self.0.visit(visitor).map_err(DecodeError::with_refused_key_type::<V::Value>)
        }
    )* };
}

impl<'de, N: Name<'de>> Deserializer<'de> for Key<N> {
    type Error = DecodeError;

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

    others! {
        deserialize_unit();
        deserialize_unit_struct(&'static str);
        deserialize_seq();
        deserialize_tuple(usize);
        deserialize_tuple_struct(&'static str, usize);
        deserialize_map();
        deserialize_struct(&'static str, &'static [&'static str]);
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.0.visit(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0.as_str() {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(DecodeError::custom(format_args!("{other:?} is no boolean"))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let value = visitor.visit_enum(UnitVariant(self));
        value.map_err(|error| error.with_refused_enum_key::<V::Value>(variants))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf identifier ignored_any
    }
}
