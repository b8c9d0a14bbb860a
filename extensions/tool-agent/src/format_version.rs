//! The version of a stored form.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The version `v` of a stored form: 1. A form without a version has version 1, and a newer one is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FormatVersion;

impl FormatVersion {
    const CURRENT: u64 = 1;
}

impl Serialize for FormatVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(Self::CURRENT)
    }
}

impl<'de> Deserialize<'de> for FormatVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            Self::CURRENT => Ok(Self),
            other => Err(D::Error::custom(format!(
                "the version {other} of the format is not supported; update the program"
            ))),
        }
    }
}
