//! Times as milliseconds since the Unix epoch; negative before it. A store keeps no finer times.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

/// Returns the milliseconds from the Unix epoch to `time`.
pub(crate) fn from_time(time: SystemTime) -> i64 {
    let millis = |period: Duration| i64::try_from(period.as_millis()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => millis(since),
        Err(before) => -millis(before.duration()),
    }
}

/// Returns the time `millis` after the Unix epoch, or the nearest one that the clock of the system can represent.
pub(crate) fn to_time(millis: i64) -> SystemTime {
    let period = Duration::from_millis(millis.unsigned_abs());
    let time = if millis < 0 { UNIX_EPOCH.checked_sub(period) } else { UNIX_EPOCH.checked_add(period) };
    time.unwrap_or(UNIX_EPOCH)
}

/// Truncates `time` to milliseconds.
pub(crate) fn truncated(time: SystemTime) -> SystemTime {
    to_time(from_time(time))
}

/// Returns the milliseconds of `period`.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn from_duration(period: std::time::Duration) -> i64 {
    i64::try_from(period.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(from_time(*time))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    let millis = i64::deserialize(deserializer)?;
    let time = to_time(millis);
    if from_time(time) == millis {
        Ok(time)
    } else {
        Err(D::Error::custom(format!("{millis} ms is not a valid time")))
    }
}

#[cfg(test)]
mod tests;
