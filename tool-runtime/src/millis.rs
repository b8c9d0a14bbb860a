//! Times as JSON: milliseconds since the Unix epoch; negative before it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

/// Returns the milliseconds from the Unix epoch to `time`.
pub(crate) fn epoch_millis(time: SystemTime) -> i64 {
    let millis = |period: Duration| i64::try_from(period.as_millis()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => millis(since),
        Err(before) => -millis(before.duration()),
    }
}

/// Returns the time `millis` after the Unix epoch; `None` if the system clock cannot represent it.
pub(crate) fn time_at_epoch_millis(millis: i64) -> Option<SystemTime> {
    let period = Duration::from_millis(millis.unsigned_abs());
    if millis < 0 { UNIX_EPOCH.checked_sub(period) } else { UNIX_EPOCH.checked_add(period) }
}

/// Truncates `time` to milliseconds, the precision of the stored form.
pub(crate) fn truncated_to_millis(moment: SystemTime) -> SystemTime {
    time_at_epoch_millis(epoch_millis(moment)).unwrap_or(moment)
}

pub(crate) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(epoch_millis(*time))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    let millis = i64::deserialize(deserializer)?;
    time_at_epoch_millis(millis)
        .ok_or_else(|| D::Error::custom(format!("{millis} ms since the Unix epoch is not a valid time")))
}

/// The same for an optional time.
pub(crate) mod option {
    use super::*;

    #[expect(clippy::ref_option, reason = "`serde` asks for it")]
    pub(crate) fn serialize<S: Serializer>(
        time: &Option<SystemTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => super::serialize(time, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SystemTime>, D::Error> {
        let millis = Option::<i64>::deserialize(deserializer)?;
        let no_time =
            |millis| D::Error::custom(format!("{millis} ms since the Unix epoch is not a valid time"));
        millis.map(|millis| time_at_epoch_millis(millis).ok_or_else(|| no_time(millis))).transpose()
    }
}
