use serde::{
    Serialize,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use serde_json::Error;

use super::{Text, key, scalar};

/// The start of the names of the structs by which `serde_json` passes text: raw values, and numbers with the feature
/// `arbitrary_precision`.
pub(super) const RAW: &str = "$serde_json::private::";

/// An open list or object.
pub(super) struct CompoundWriter<'a> {
    text: &'a mut Vec<u8>,
    is_first: bool,
    is_raw: bool,
    closing: &'static [u8],
}

impl<'a> CompoundWriter<'a> {
    #[inline]
    pub(super) fn new(text: &'a mut Vec<u8>, closing: &'static [u8]) -> Self {
        Self { text, is_first: true, is_raw: false, closing }
    }

    /// A struct whose only field is the JSON text.
    pub(super) fn raw_json(text: &'a mut Vec<u8>) -> Self {
        Self { text, is_first: true, is_raw: true, closing: b"" }
    }

    /// Writes the separator before the next item.
    #[inline]
    fn write_separator(&mut self) {
        if !self.is_first {
            self.text.push(b',');
        }
        self.is_first = false;
    }

    #[inline]
    fn write_item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.write_separator();
        value.serialize(Text(self.text))
    }

    /// Inlined, so that the name is a constant.
    #[inline(always)]
    pub(super) fn write_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        if self.is_raw {
            return append_json_held_as_text(self.text, value);
        }
        scalar::push_field_name(self.text, name, self.is_first);
        self.is_first = false;
        value.serialize(Text(self.text))
    }

    #[inline]
    pub(super) fn close(self) {
        self.text.extend_from_slice(self.closing);
    }
}

/// Appends a value that is itself JSON. Not a method, so that a `CompoundWriter` stays in registers.
#[cold]
fn append_json_held_as_text<T: Serialize + ?Sized>(text: &mut Vec<u8>, value: &T) -> Result<(), Error> {
    let start = text.len();
    value.serialize(Text(text))?;
    unquote_from(text, start)
}

/// Replaces the JSON string from `start` by its content.
#[cold]
fn unquote_from(text: &mut Vec<u8>, start: usize) -> Result<(), Error> {
    let quoted = text.split_off(start);
    let raw: String = serde_json::from_slice(&quoted)?;
    text.extend_from_slice(raw.as_bytes());
    Ok(())
}

impl SerializeMap for CompoundWriter<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.write_separator();
        key::write_key(self.text, key)?;
        self.text.push(b':');
        Ok(())
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Text(self.text))
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

macro_rules! items {
    ($($of:ident $method:ident)*) => { $(
        impl $of for CompoundWriter<'_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.write_item(value)
            }

            #[inline]
            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        }
    )* };
}

items! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

macro_rules! fields {
    ($($of:ident)*) => { $(
        impl $of for CompoundWriter<'_> {
            type Ok = ();
            type Error = Error;

            #[inline(always)]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.write_field(name, value)
            }

            #[inline]
            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        }
    )* };
}

fields! { SerializeStruct SerializeStructVariant }
