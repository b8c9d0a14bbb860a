//! The version of a stored form.

use serde::{Deserialize, Deserializer, de::Error as _};

/// The version `v` of a stored form: 1. A form without a version has version 1, and a newer one is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FormatVersion;

impl FormatVersion {
    const CURRENT: u64 = 1;
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
