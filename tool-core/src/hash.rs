//! Content hashes of definitions, arguments and questions.

use std::{fmt, io, str::FromStr};

use hmac_sha256::Hash;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};
use serde_json::ser::Formatter;

use tool_schema::__private::sorted;

/// The SHA-256 of canonical JSON, formatted in hexadecimal.
///
/// Canonical JSON has no whitespace, sorts the properties of each object by name, and spells each number by its exact
/// decimal value: `100`, `100.0` and `1e2` are equal, 9007199254740992 and 9007199254740993 are not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Hashes `value`.
    ///
    /// A number in a [`Value`](serde_json::Value) is hashed as a 64-bit integer or the nearest `f64`, regardless of
    /// the features of `serde_json`; a 128-bit integer in a type is hashed with all digits. A value that cannot be
    /// serialised as JSON is hashed by the error message.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        let mut written = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut written, NumberFormatter);
        if let Err(error) = value.serialize(&mut serializer) {
            return Self(Hash::hash(format!("not written: {error}").as_bytes()));
        }
        // A raw value that is not JSON is hashed as is.
        let canonical = std::str::from_utf8(&written).ok().and_then(sorted);
        Self(Hash::hash(canonical.as_deref().map_or(&written, str::as_bytes)))
    }

    /// Hashes the value of a JSON text, with all digits of its numbers; `None` if the text is not JSON.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::definition::ContentHash;
    ///
    /// let hash = |text| ContentHash::of_json(text);
    /// assert_eq!(hash(r#"{ "b": 1e2, "a": "A" }"#), hash(r#"{"a":"\u0041","b":100.0}"#));
    /// assert_ne!(hash("9007199254740993"), hash("9007199254740992"));
    /// assert_eq!(hash("{"), None);
    /// ```
    #[must_use]
    pub fn of_json(text: &str) -> Option<Self> {
        sorted(text).map(|canonical| Self(Hash::hash(canonical.as_bytes())))
    }

    /// Hashes several hashes in order.
    #[must_use]
    pub fn combine(hashes: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Hash::new();
        for hash in hashes {
            all.update(hash.0);
        }
        Self(all.finalize())
    }
}

/// Serialises numbers as a [`Value`](serde_json::Value) represents them without `serde_json/arbitrary_precision`.
struct NumberFormatter;

impl Formatter for NumberFormatter {
    fn write_f32<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, value.into())
    }

    fn write_number_str<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: &str) -> io::Result<()> {
        let is_kept = value.parse::<i64>().is_ok() || value.parse::<u64>().is_ok();
        match value.parse::<f64>() {
            Ok(float) if !is_kept && float.is_finite() => self.write_f64(writer, float),
            _ => writer.write_all(value.as_bytes()),
        }
    }
}

/// Parses the output of [`Display`](fmt::Display).
impl FromStr for ContentHash {
    type Err = InvalidHash;

    fn from_str(text: &str) -> Result<Self, InvalidHash> {
        let digit = |byte: &u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            b'A'..=b'F' => Some(byte - b'A' + 10),
            _ => None,
        };
        let mut hash = [0; 32];
        if text.len() != 2 * hash.len() {
            return Err(InvalidHash);
        }
        for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let [high, low] = digits else { return Err(InvalidHash) };
            *byte = digit(high).zip(digit(low)).map(|(high, low)| high << 4 | low).ok_or(InvalidHash)?;
        }
        Ok(Self(hash))
    }
}

/// The error of parsing a [`ContentHash`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidHash;

impl fmt::Display for InvalidHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hash has 64 hexadecimal digits")
    }
}

impl std::error::Error for InvalidHash {}

impl From<[u8; 32]> for ContentHash {
    fn from(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl From<ContentHash> for [u8; 32] {
    fn from(hash: ContentHash) -> Self {
        hash.0
    }
}

/// Deserialises from text.
impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl Visitor<'_> for TextVisitor {
            type Value = ContentHash;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string of 64 hexadecimal digits")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ContentHash, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

/// Serialises as text.
impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or_default();
        let mut text = [0; 64];
        for (digits, byte) in text.chunks_exact_mut(2).zip(self.0) {
            digits.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        // Digits are UTF-8.
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    // The form in which `serde_json/arbitrary_precision` serialises numbers; this program does not enable it.
    #[test]
    fn a_number_that_kept_its_spelling_is_written_as_one_that_did_not() {
        for (kept, held) in [
            ("1", "1"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "1.8446744073709552e+19"),
            ("1.10", "1.1"),
            ("1e2", "100.0"),
            ("1e400", "1e400"),
        ] {
            let mut written = Vec::new();
            NumberFormatter.write_number_str(&mut written, kept).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), held, "{kept}");
            // The number as a value represents it; one beyond `f64` is a value with `arbitrary_precision` only.
            if held.parse::<f64>().is_ok_and(f64::is_finite) {
                assert_eq!(serde_json::from_str::<serde_json::Value>(held).unwrap().to_string(), held);
            }
        }
    }
}
