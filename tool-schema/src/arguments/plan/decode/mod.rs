//! A validating `serde` deserializer for JSON text.
//!
//! Plan and text are traversed together, so that a typed value is built and validated in one pass. Three equivalent
//! spellings are accepted: an integer may be written `3.0` or `1e2`, a non-required property may be `null` instead of
//! absent, and a property may have the name of an alias.
//!
//! Rules that need a complete value (`anyOf` and similar, `uniqueItems`, ..) are validated first, on a copy of that
//! part, which is then decoded from the text without them.

mod copy;
mod enumeration;
mod error;
mod key;
mod list;
mod object;
mod scalar;

#[cfg(test)]
mod rule_tests;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use self::error::DecodeError;
pub(in crate::arguments) use self::error::DecodeErrorKind;
pub(crate) use self::error::RefusedKey;
pub use self::object::ObjectDecoder;
use self::{
    copy::copy_value,
    enumeration::UnitVariant,
    key::Key,
    list::ListDecoder,
    scalar::{Hint, Scalar},
};
use super::{
    Plan,
    check::ValidationWalk,
    node::{Node, TypeSet},
    normalize::{SHARED_BUDGET, needs_no_normalization, normalize_whole},
};
use crate::json::Reader;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, Visitor},
};

/// A position in a text with the node of the value there.
#[derive(Debug)]
pub struct Checked<'c, 't, 'p> {
    source: &'c mut Source<'t, 'p>,
    node: &'p Node,
}

/// A text and its plan.
#[derive(Debug, Clone)]
pub(crate) struct Source<'t, 'p> {
    pub(in crate::arguments::plan) reader: Reader<'t>,
    plan: &'p Plan,
    /// Steps left in the budget shared by all values that are validated as a whole.
    shared_budget: usize,
}

impl<'t, 'p> Source<'t, 'p> {
    pub(crate) fn new(text: &'t str, plan: &'p Plan) -> Self {
        Self { reader: Reader::new(text), plan, shared_budget: SHARED_BUDGET }
    }

    /// Returns the whole text as one value.
    pub(crate) fn root_value(&mut self) -> Checked<'_, 't, 'p> {
        let node = self.plan.root_node();
        Checked { source: self, node }
    }

    /// Skips the next value if `node` admits it; otherwise stays before it and returns `false`.
    pub(in crate::arguments::plan) fn skip_value_if_valid(&mut self, node: &'p Node) -> bool {
        let before = self.reader.clone();
        let is_admitted = IgnoredAny::deserialize(Checked { source: self, node }).is_ok();
        if !is_admitted {
            self.reader = before;
        }
        is_admitted
    }

    /// Skips the string that follows, like [`skip_value_if_valid`](Self::skip_value_if_valid).
    #[inline]
    pub(in crate::arguments::plan) fn skip_text_if_valid(&mut self, node: &Node) -> bool {
        let mut reader = self.reader.clone();
        let is_admitted = reader.read_string().is_ok_and(|text| scalar::admits_text(node, &text));
        if is_admitted {
            self.reader = reader;
        }
        is_admitted
    }

    /// Ends the text; further tokens are an error.
    pub(in crate::arguments) fn expect_end(&mut self) -> Result<(), DecodeError> {
        if self.reader.peek().is_none() { Ok(()) } else { Err(DecodeError::new(DecodeErrorKind::Syntax)) }
    }
}

impl Node {
    #[inline]
    fn check_type(&self, types: TypeSet) -> Result<(), DecodeError> {
        if self.types.contains(types) { Ok(()) } else { Err(DecodeError::refused()) }
    }
}

impl<'c, 't, 'p> Checked<'c, 't, 'p> {
    /// Opens the value as an object, for reading its properties one by one.
    #[inline]
    pub fn into_object(mut self) -> Result<ObjectDecoder<'c, 't, 'p>, DecodeError> {
        self.check_whole_if_required()?;
        match self.source.reader.peek() {
            Some(b'{') => ObjectDecoder::open(self.source, self.node),
            Some(_) => Err(DecodeError::refused()),
            None => Err(DecodeError::new(DecodeErrorKind::Syntax)),
        }
    }

    /// Validates a value as a whole if its rules require that.
    #[inline]
    fn check_whole_if_required(&mut self) -> Result<(), DecodeError> {
        if self.node.is_whole { self.check_and_normalize_whole() } else { Ok(()) }
    }

    #[inline(never)]
    fn check_and_normalize_whole(&mut self) -> Result<(), DecodeError> {
        // Cloning a source is cheap; the copy reads ahead.
        let mut ahead = self.source.clone();
        let mut value = copy_value(&mut ahead.reader)?;
        let (plan, node) = (self.source.plan, self.node);
        // Untagged enums would select another variant for a value that is not normalised.
        if !ValidationWalk::new(plan).node_admits(node, &value) {
            return Err(DecodeError::refused());
        }
        if !needs_no_normalization(&value) {
            let effects = normalize_whole(plan, node, &mut value, &mut self.source.shared_budget);
            if effects.changed || effects.is_unclear {
                return Err(DecodeError::refused());
            }
        }
        self.node = &Node::TRUSTED;
        Ok(())
    }

    /// Reads a value of any type, determined by its first byte.
    fn decode_any<V: Visitor<'t>>(mut self, hint: Hint, visitor: V) -> Result<V::Value, DecodeError> {
        self.check_whole_if_required()?;
        match self.source.reader.peek() {
            Some(b'{') => {
                let mut object = ObjectDecoder::open(self.source, self.node)?;
                let value = visitor.visit_map(&mut object)?;
                object.expect_end()?;
                Ok(value)
            }
            Some(b'[') => {
                let mut list = ListDecoder::open(self.source, self.node)?;
                let value = visitor.visit_seq(&mut list)?;
                list.expect_end()?;
                Ok(value)
            }
            Some(first) => match scalar::read_scalar(&mut self.source.reader, self.node, first, hint)? {
                Scalar::Borrowed(text) => visitor.visit_borrowed_str(text),
                Scalar::Owned(text) => visitor.visit_string(text),
                Scalar::Signed(number) => visitor.visit_i64(number),
                Scalar::Unsigned(number) => visitor.visit_u64(number),
                Scalar::Bool(value) => visitor.visit_bool(value),
                Scalar::Null => visitor.visit_unit(),
                Scalar::Float(number) => visitor.visit_f64(number),
                Scalar::Wide(number) => visitor.visit_i128(number),
                Scalar::WideUnsigned(number) => visitor.visit_u128(number),
            },
            None => Err(DecodeError::new(DecodeErrorKind::Syntax)),
        }
    }

    /// Reads an integer; fast path for the usual form.
    #[inline]
    fn decode_integer<V: Visitor<'t>>(self, hint: Hint, visitor: V) -> Result<V::Value, DecodeError> {
        let node = self.node;
        if node.is_whole {
            return self.decode_any(hint, visitor);
        }
        self.source.reader.peek();
        let start = self.source.reader.position();
        if let Some((negative, magnitude)) = self.source.reader.consume_common_integer() {
            match node.admits_integer(negative, magnitude) {
                Some(true) if !negative => return visitor.visit_u64(magnitude),
                Some(true) => return visitor.visit_i64(-magnitude.cast_signed()),
                Some(false) => return Err(DecodeError::refused()),
                None => self.source.reader = self.source.reader.reader_at(start),
            }
        }
        self.decode_any(hint, visitor)
    }

    /// Reads a 64-bit float; fast path for the usual forms.
    #[inline]
    fn decode_float<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let node = self.node;
        if node.is_whole {
            return self.decode_any(Hint::Float, visitor);
        }
        self.source.reader.peek();
        let start = self.source.reader.position();
        if let Some(float) = self.source.reader.consume_short_decimal() {
            match node.admits_float(float) {
                Some(true) => return visitor.visit_f64(float),
                Some(false) => return Err(DecodeError::refused()),
                None => self.source.reader = self.source.reader.reader_at(start),
            }
        }
        self.decode_integer(Hint::Float, visitor)
    }

    /// Reads a string on a fast path.
    #[inline]
    fn decode_text<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let node = self.node;
        if node.is_whole || self.source.reader.peek() != Some(b'"') {
            return self.decode_any(Hint::None, visitor);
        }
        let text = self.source.reader.read_string()?;
        if !scalar::admits_text(node, &text) {
            return Err(DecodeError::refused());
        }
        match text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// Reads a value that is kept as text.
    fn decode_raw<V: Visitor<'t>>(self, name: &'static str, visitor: V) -> Result<V::Value, DecodeError> {
        let Self { source, node } = self;
        let start = source.reader.position();
        IgnoredAny::deserialize(Checked { source: &mut *source, node })?;
        let raw = source.reader.text_in(start..source.reader.position());
        // Only `serde_json` can create a raw value.
        let mut foreign = serde_json::Deserializer::from_str(raw);
        foreign.deserialize_newtype_struct(name, visitor).map_err(DecodeError::custom)
    }
}

/// The name by which `serde_json` requests a `RawValue`.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

macro_rules! forward {
    ($($method:ident => $read:ident($($hint:expr)?);)*) => { $(
        #[inline]
        fn $method<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            self.$read($($hint,)? visitor)
        }
    )* };
}

impl<'t> Deserializer<'t> for Checked<'_, 't, '_> {
    type Error = DecodeError;

    forward! {
        deserialize_any => decode_any(Hint::None);
        deserialize_ignored_any => decode_any(Hint::None);
        deserialize_bool => decode_any(Hint::None);
        deserialize_i8 => decode_integer(Hint::Integer);
        deserialize_i16 => decode_integer(Hint::Integer);
        deserialize_i32 => decode_integer(Hint::Integer);
        deserialize_i64 => decode_integer(Hint::Integer);
        deserialize_u8 => decode_integer(Hint::Integer);
        deserialize_u16 => decode_integer(Hint::Integer);
        deserialize_u32 => decode_integer(Hint::Integer);
        deserialize_u64 => decode_integer(Hint::Integer);
        deserialize_i128 => decode_integer(Hint::Wide);
        deserialize_u128 => decode_integer(Hint::Wide);
        deserialize_f32 => decode_any(Hint::Single);
        deserialize_f64 => decode_float();
        deserialize_char => decode_text();
        deserialize_str => decode_text();
        deserialize_string => decode_text();
        deserialize_bytes => decode_any(Hint::None);
        deserialize_byte_buf => decode_any(Hint::None);
        deserialize_unit => decode_any(Hint::None);
        deserialize_seq => decode_any(Hint::None);
        deserialize_map => decode_any(Hint::None);
        deserialize_identifier => decode_text();
    }

    fn deserialize_option<V: Visitor<'t>>(mut self, visitor: V) -> Result<V::Value, DecodeError> {
        self.check_whole_if_required()?;
        if self.source.reader.peek() != Some(b'n') {
            return visitor.visit_some(self);
        }
        self.node.check_type(TypeSet::NULL)?;
        scalar::read_scalar(&mut self.source.reader, self.node, b'n', Hint::None)?;
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if name == RAW_VALUE { self.decode_raw(name, visitor) } else { visitor.visit_newtype_struct(self) }
    }

    fn deserialize_unit_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.decode_any(Hint::None, visitor)
    }

    fn deserialize_tuple<V: Visitor<'t>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        self.decode_any(Hint::None, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.decode_any(Hint::None, visitor)
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.decode_any(Hint::None, visitor)
    }

    fn deserialize_enum<V: Visitor<'t>>(
        mut self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.check_whole_if_required()?;
        match self.source.reader.peek() {
            Some(b'{') => {
                let mut object = ObjectDecoder::open(self.source, self.node)?;
                let value = visitor.visit_enum(&mut object)?;
                object.expect_end()?;
                Ok(value)
            }
            Some(first) => {
                match scalar::read_scalar(&mut self.source.reader, self.node, first, Hint::None)? {
                    Scalar::Borrowed(name) => visitor.visit_enum(UnitVariant(Key(Cow::Borrowed(name)))),
                    Scalar::Owned(name) => visitor.visit_enum(UnitVariant(Key(Cow::<str>::Owned(name)))),
                    _ => Err(DecodeError::custom("expected the name of a variant, or an object with it")),
                }
            }
            None => Err(DecodeError::new(DecodeErrorKind::Syntax)),
        }
    }
}
