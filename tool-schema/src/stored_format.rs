//! Common parts of stored formats: the version, and members that may be `null`.

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

/// The version of a stored format, serialised as the member `v`. An absent version means 1, the only version so far.
///
/// Data of a later version is rejected instead of being misread.
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

/// Deserialises a present member, including `null`, which differs from an absent member.
pub fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
