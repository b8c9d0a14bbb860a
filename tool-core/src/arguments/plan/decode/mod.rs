//! The checking decoder: a `serde` deserializer over JSON text that holds each value to the plan
//! while it hands it on.
//!
//! Plan and text are walked together, so that a typed value is built and checked in one pass. Three
//! ways of writing the same are read as one, since the schema's author means the same by them: an
//! integer may be written `3.0` or `1e2`, a property that is not required may be `null` instead of
//! absent, and a property may go by its aliases.
//!
//! Rules that need a whole value to be decided (`anyOf` and its like, `uniqueItems`, ..) are
//! checked on a copy of that part first; the part is then decoded from the text without them.

mod enumeration;
mod key;
mod list;
mod object;
mod refusal;
mod scalar;

#[cfg(test)]
mod tests;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, Visitor},
};
use serde_json::Value;

pub(crate) use self::object::Object;
pub(crate) use self::refusal::Refusal;
pub(in crate::arguments) use self::refusal::Why;
use self::{
    enumeration::UnitVariant,
    list::List,
    scalar::{Hint, Scalar},
};
use super::{
    Plan,
    check::Walk,
    node::{Node, Types},
};
use crate::arguments::json::Reader;

/// A place in a text, and what the plan says of the value there.
#[derive(Debug)]
pub struct Checked<'c, 't, 'p> {
    reader: &'c mut Reader<'t>,
    rules: Rules<'p>,
}

/// What is checked of a value.
#[derive(Debug, Clone, Copy)]
struct Rules<'p> {
    plan: &'p Plan,
    /// `None` in a part that was checked as a whole.
    node: Option<&'p Node>,
}

impl<'p> Rules<'p> {
    fn with(self, node: &'p Node) -> Self {
        Self { node: Some(node), ..self }
    }

    fn allows(self, types: Types) -> Result<(), Refusal> {
        match self.node {
            Some(node) if !node.types.contains(types) => Err(Refusal::refused()),
            _ => Ok(()),
        }
    }
}

impl<'c, 't, 'p> Checked<'c, 't, 'p> {
    /// The whole of what `reader` reads.
    pub(in crate::arguments) fn new(reader: &'c mut Reader<'t>, plan: &'p Plan) -> Self {
        Self { reader, rules: Rules { plan, node: Some(plan.root()) } }
    }

    /// The value as an object, to go through its properties one by one.
    pub(crate) fn into_object(mut self) -> Result<Object<'c, 't, 'p>, Refusal> {
        self.settle_whole()?;
        match self.reader.peek() {
            Some(b'{') => Object::open(self.reader, self.rules),
            Some(_) => Err(Refusal::refused()),
            None => Err(Refusal::new(Why::Syntax)),
        }
    }

    /// Checks a value as a whole, where that is the only way to check it.
    #[inline]
    fn settle_whole(&mut self) -> Result<(), Refusal> {
        match self.rules.node {
            Some(node) if node.is_whole => self.check_whole(node),
            _ => Ok(()),
        }
    }

    fn check_whole(&mut self, node: &'p Node) -> Result<(), Refusal> {
        // A reader is a few words; the copy reads ahead.
        let rules = self.rules.with(&Node::ANYTHING);
        let value = Value::deserialize(Checked { reader: &mut self.reader.clone(), rules })?;
        if !Walk::new(rules.plan).fits(node, &value) {
            return Err(Refusal::refused());
        }
        self.rules.node = None;
        Ok(())
    }

    /// A value of any kind, read by what begins it.
    fn any<V: Visitor<'t>>(mut self, hint: Hint, visitor: V) -> Result<V::Value, Refusal> {
        self.settle_whole()?;
        match self.reader.peek() {
            Some(b'{') => {
                let mut object = Object::open(self.reader, self.rules)?;
                let value = visitor.visit_map(&mut object)?;
                object.end()?;
                Ok(value)
            }
            Some(b'[') => {
                let mut list = List::open(self.reader, self.rules)?;
                let value = visitor.visit_seq(&mut list)?;
                list.end()?;
                Ok(value)
            }
            Some(first) => match scalar::read(self.reader, self.rules, first, hint)? {
                Scalar::Borrowed(text) => visitor.visit_borrowed_str(text),
                Scalar::Owned(text) => visitor.visit_string(text),
                Scalar::Signed(number) => visitor.visit_i64(number),
                Scalar::Unsigned(number) => visitor.visit_u64(number),
                Scalar::Bool(value) => visitor.visit_bool(value),
                Scalar::Null => visitor.visit_unit(),
                Scalar::Float(number) => visitor.visit_f64(number),
                Scalar::Wide(number) => visitor.visit_i128(number),
                Scalar::WideUnsigned(number) => visitor.visit_u128(number),
                Scalar::Other(number) => foreign(number, |it| it.deserialize_any(visitor)),
            },
            None => Err(Refusal::new(Why::Syntax)),
        }
    }

    /// A value that is kept as text.
    fn raw<V: Visitor<'t>>(self, name: &'static str, visitor: V) -> Result<V::Value, Refusal> {
        let Self { reader, rules } = self;
        reader.peek();
        let start = reader.position();
        IgnoredAny::deserialize(Checked { reader: &mut *reader, rules })?;
        let raw = reader.part(start..reader.position());
        foreign(raw, |it| it.deserialize_newtype_struct(name, visitor))
    }
}

/// The type of a decoder of `serde_json`'s.
type Foreign<'t> = serde_json::Deserializer<serde_json::de::StrRead<'t>>;

/// What only `serde_json` can hand on: numbers beyond the common ones, which depend on its features,
/// and its own `RawValue`.
#[cold]
fn foreign<'t, T>(
    text: &'t str,
    read: impl FnOnce(&mut Foreign<'t>) -> Result<T, serde_json::Error>,
) -> Result<T, Refusal> {
    read(&mut serde_json::Deserializer::from_str(text)).map_err(Refusal::custom)
}

/// How `serde_json` asks for a `RawValue`.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

macro_rules! hinted {
    ($($method:ident => $hint:expr;)*) => { $(
        #[inline]
        fn $method<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Refusal> {
            self.any($hint, visitor)
        }
    )* };
}

impl<'t> Deserializer<'t> for Checked<'_, 't, '_> {
    type Error = Refusal;

    hinted! {
        deserialize_any => Hint::None;
        deserialize_ignored_any => Hint::None;
        deserialize_bool => Hint::None;
        deserialize_i8 => Hint::Integer;
        deserialize_i16 => Hint::Integer;
        deserialize_i32 => Hint::Integer;
        deserialize_i64 => Hint::Integer;
        deserialize_u8 => Hint::Integer;
        deserialize_u16 => Hint::Integer;
        deserialize_u32 => Hint::Integer;
        deserialize_u64 => Hint::Integer;
        deserialize_i128 => Hint::Wide;
        deserialize_u128 => Hint::Wide;
        deserialize_f32 => Hint::Float;
        deserialize_f64 => Hint::Float;
        deserialize_char => Hint::None;
        deserialize_str => Hint::None;
        deserialize_string => Hint::None;
        deserialize_bytes => Hint::None;
        deserialize_byte_buf => Hint::None;
        deserialize_unit => Hint::None;
        deserialize_seq => Hint::None;
        deserialize_map => Hint::None;
        deserialize_identifier => Hint::None;
    }

    fn deserialize_option<V: Visitor<'t>>(mut self, visitor: V) -> Result<V::Value, Refusal> {
        self.settle_whole()?;
        if self.reader.peek() != Some(b'n') {
            return visitor.visit_some(self);
        }
        self.rules.allows(Types::NULL)?;
        scalar::read(self.reader, self.rules, b'n', Hint::None)?;
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        if name == RAW_VALUE { self.raw(name, visitor) } else { visitor.visit_newtype_struct(self) }
    }

    fn deserialize_unit_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.any(Hint::None, visitor)
    }

    fn deserialize_tuple<V: Visitor<'t>>(self, _: usize, visitor: V) -> Result<V::Value, Refusal> {
        self.any(Hint::None, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.any(Hint::None, visitor)
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.any(Hint::None, visitor)
    }

    fn deserialize_enum<V: Visitor<'t>>(
        mut self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.settle_whole()?;
        match self.reader.peek() {
            Some(b'{') => {
                let mut object = Object::open(self.reader, self.rules)?;
                let value = visitor.visit_enum(&mut object)?;
                object.end()?;
                Ok(value)
            }
            Some(first) => match scalar::read(self.reader, self.rules, first, Hint::None)? {
                Scalar::Borrowed(name) => visitor.visit_enum(UnitVariant(name.into())),
                Scalar::Owned(name) => visitor.visit_enum(UnitVariant(name.into())),
                _ => Err(Refusal::custom("expected the name of a variant, or an object with it")),
            },
            None => Err(Refusal::new(Why::Syntax)),
        }
    }
}
