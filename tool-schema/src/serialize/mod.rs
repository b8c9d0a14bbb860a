//! Serialisation of results as JSON text, as `serde_json` writes it.
//!
//! Nearly every result is a struct of numbers, strings, lists and other structs. Their text is appended to a `String` by
//! functions that are not generic, which takes less than half of the instructions of the serializer of `serde_json`.
//! Whatever else occurs (keys that are not strings, floats, integers of 128 bits, raw values) is written by that one. A
//! number that is not finite, for which `serde_json` writes `null`, is an error: the schema of its type has no `null`.

mod compound;
mod finite;
mod key;
mod scalar;
#[cfg(test)]
mod tests;

use std::{
    fmt::{self, Display, Write as _},
    io,
};

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::{
    Error,
    ser::{CompactFormatter, Formatter},
};

use self::{
    compound::CompoundWriter,
    finite::{not_finite, with_location},
    scalar::{push_escaped, push_quoted, push_signed, push_unsigned},
};

/// The initial capacity of a text, in bytes. `serde_json` begins with 128; more leaves room for the bytes that are cut off.
const CAPACITY: usize = 160;

/// Returns `value` as compact JSON.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let mut text = Vec::with_capacity(CAPACITY);
    if let Err(error) = value.serialize(Text(&mut text)) {
        return Err(with_location(error, &text));
    }
    String::from_utf8(text).map_err(Error::custom)
}

/// Appends one value to a text.
struct Text<'a>(&'a mut Vec<u8>);

/// A string to which a value is formatted.
struct Escaped<'a>(&'a mut Vec<u8>);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, string: &str) -> fmt::Result {
        push_escaped(self.0, string);
        Ok(())
    }
}

impl<'a> Text<'a> {
    /// Opens a list or an object.
    #[inline]
    fn open_container(self, opening: u8, closing: &'static [u8]) -> CompoundWriter<'a> {
        self.0.push(opening);
        CompoundWriter::new(self.0, closing)
    }

    /// Opens the content of a variant.
    fn open_variant(self, name: &'static str, opening: u8, closing: &'static [u8]) -> CompoundWriter<'a> {
        self.0.push(b'{');
        push_quoted(self.0, name);
        self.0.push(b':');
        self.open_container(opening, closing)
    }

    /// Appends what `serde_json` writes.
    fn write_with(self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<(), Error> {
        write(self.0).map_err(Error::io)
    }
}

macro_rules! integers {
    ($($method:ident($of:ty) => $append:ident;)*) => { $(
        #[inline]
        fn $method(self, value: $of) -> Result<(), Error> {
            $append(self.0, value.into());
            Ok(())
        }
    )* };
}

impl<'a> Serializer for Text<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = CompoundWriter<'a>;
    type SerializeTuple = CompoundWriter<'a>;
    type SerializeTupleStruct = CompoundWriter<'a>;
    type SerializeTupleVariant = CompoundWriter<'a>;
    type SerializeMap = CompoundWriter<'a>;
    type SerializeStruct = CompoundWriter<'a>;
    type SerializeStructVariant = CompoundWriter<'a>;

    integers! {
        serialize_i8(i8) => push_signed;
        serialize_i16(i16) => push_signed;
        serialize_i32(i32) => push_signed;
        serialize_i64(i64) => push_signed;
        serialize_u8(u8) => push_unsigned;
        serialize_u16(u16) => push_unsigned;
        serialize_u32(u32) => push_unsigned;
        serialize_u64(u64) => push_unsigned;
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        self.write_with(|bytes| CompactFormatter.write_i128(bytes, value))
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        self.write_with(|bytes| CompactFormatter.write_u128(bytes, value))
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        if !value.is_finite() {
            return Err(not_finite());
        }
        self.write_with(|bytes| CompactFormatter.write_f32(bytes, value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            return Err(not_finite());
        }
        self.write_with(|bytes| CompactFormatter.write_f64(bytes, value))
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.0.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        push_quoted(self.0, value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        push_quoted(self.0, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    #[inline]
    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut object = self.open_container(b'{', b"}");
        object.write_field(variant, value)?;
        object.close();
        Ok(())
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<CompoundWriter<'a>, Error> {
        Ok(self.open_container(b'[', b"]"))
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<CompoundWriter<'a>, Error> {
        Ok(self.open_container(b'[', b"]"))
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<CompoundWriter<'a>, Error> {
        Ok(self.open_container(b'[', b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<CompoundWriter<'a>, Error> {
        Ok(self.open_variant(variant, b'[', b"]}"))
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<CompoundWriter<'a>, Error> {
        Ok(self.open_container(b'{', b"}"))
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<CompoundWriter<'a>, Error> {
        if name.starts_with(compound::RAW) {
            return Ok(CompoundWriter::raw_json(self.0));
        }
        Ok(self.open_container(b'{', b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<CompoundWriter<'a>, Error> {
        Ok(self.open_variant(variant, b'{', b"}}"))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.0.push(b'"');
        write!(Escaped(self.0), "{value}").map_err(Error::custom)?;
        self.0.push(b'"');
        Ok(())
    }
}
