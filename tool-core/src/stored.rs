//! What stored forms have in common: their version, and members that are `null`.

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

/// The version of the format in which a value is stored, as its member `v`; absent means 1, which is the only one.
///
/// A value that a later version of this crate has stored is refused, and not read as something else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FormatVersion;

impl<'de> Deserialize<'de> for FormatVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<u64>::deserialize(deserializer)? {
            None | Some(1) => Ok(Self),
            Some(other) => Err(D::Error::custom(format!(
                "the format version {other} is not known; read it with the version of the program that stored it"
            ))),
        }
    }
}

/// Reads a member that is there, also as `null`, which differs from one that is absent.
pub fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
