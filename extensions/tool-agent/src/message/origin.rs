//! The origin of a message, which a session stores beside it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The time and the branch of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MessageOrigin {
    /// In JSON, milliseconds since the Unix epoch.
    #[serde(default, with = "millis", skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<SystemTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<Arc<str>>,
}

impl MessageOrigin {
    pub(crate) fn now() -> Self {
        Self { time: Some(SystemTime::now()), branch: None }
    }
}

mod millis {
    use super::*;

    pub(super) fn serialize<S: Serializer>(
        time: &Option<SystemTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.and_then(|since| u64::try_from(since.as_millis()).ok()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SystemTime>, D::Error> {
        let millis = Option::<u64>::deserialize(deserializer)?;
        Ok(millis.and_then(|millis| UNIX_EPOCH.checked_add(Duration::from_millis(millis))))
    }
}
