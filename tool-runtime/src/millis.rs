//! Times as JSON: milliseconds since the Unix epoch; a time before it is negative.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The milliseconds from the Unix epoch to `time`.
pub(crate) fn of(time: SystemTime) -> i64 {
    let millis = |period: Duration| i64::try_from(period.as_millis()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => millis(since),
        Err(before) => -millis(before.duration()),
    }
}

/// The time `millis` after the Unix epoch; `None` where the clock does not go so far.
pub(crate) fn time(millis: i64) -> Option<SystemTime> {
    let period = Duration::from_millis(millis.unsigned_abs());
    if millis < 0 { UNIX_EPOCH.checked_sub(period) } else { UNIX_EPOCH.checked_add(period) }
}
