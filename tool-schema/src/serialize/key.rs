//! The keys of a map.

use std::fmt;

use serde::{
    Serialize, Serializer,
    ser::{self, Impossible, SerializeMap},
};
use serde_json::Error;

use super::push_quoted;

/// Appends the key of a map. `serde_json` writes the few that are not strings, or rejects them.
pub(super) fn write_key<T: Serialize + ?Sized>(text: &mut Vec<u8>, key: &T) -> Result<(), Error> {
    if key.serialize(KeySerializer(text)).is_ok() {
        return Ok(());
    }
    let object = serde_json::to_string(&SingleKeyMap(key))?;
    let key = object.strip_prefix('{').and_then(|object| object.strip_suffix(":null}"));
    text.extend_from_slice(key.unwrap_or_default().as_bytes());
    Ok(())
}

/// A map with one key.
struct SingleKeyMap<'k, T: ?Sized>(&'k T);

impl<T: Serialize + ?Sized> Serialize for SingleKeyMap<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, &())?;
        map.end()
    }
}

/// Appends a string, and nothing else.
struct KeySerializer<'a>(&'a mut Vec<u8>);

/// The key is not a string.
#[derive(Debug)]
struct NotString;

impl fmt::Display for NotString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a string")
    }
}

impl std::error::Error for NotString {}

impl ser::Error for NotString {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

type No = Impossible<(), NotString>;

macro_rules! refuse {
    ($($method:ident($($of:ty),*) -> $ok:ty;)*) => { $(
        fn $method(self, $(_: $of),*) -> Result<$ok, NotString> {
            Err(NotString)
        }
    )* };
}

impl Serializer for KeySerializer<'_> {
    type Ok = ();
    type Error = NotString;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = No;
    type SerializeStructVariant = No;

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), NotString> {
        push_quoted(self.0, value);
        Ok(())
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> No;
        serialize_tuple(usize) -> No;
        serialize_tuple_struct(&'static str, usize) -> No;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> No;
        serialize_map(Option<usize>) -> No;
        serialize_struct(&'static str, usize) -> No;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> No;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), NotString> {
        Err(NotString)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<(), NotString> {
        Err(NotString)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), NotString> {
        Err(NotString)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Result<(), NotString> {
        Err(NotString)
    }
}
