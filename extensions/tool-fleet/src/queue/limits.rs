//! The contents of a queue, against its limits.

use super::QueueLimits;
use crate::FleetError;

/// The size of a result that is stored also in a full queue, in bytes: its call would not end otherwise. The number of calls is limited.
pub(crate) const SMALL_RESULT_BYTES: usize = 4096;

/// The contents of a queue.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueTotals {
    /// The calls with bytes.
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
}

impl QueueTotals {
    pub(super) fn add_call(&mut self, bytes: u64) {
        self.calls = self.calls.saturating_add(u64::from(bytes > 0));
        self.bytes = self.bytes.saturating_add(bytes);
    }

    #[cfg(feature = "nats")]
    pub(super) fn remove_call(&mut self, bytes: u64) {
        self.calls = self.calls.saturating_sub(u64::from(bytes > 0));
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Returns an error if a further call of `bytes` bytes exceeds a limit.
    pub(crate) fn check_call(self, pool: &str, limits: QueueLimits, bytes: usize) -> Result<(), FleetError> {
        let bytes = bytes as u64;
        let (unit, limit, used, needed) = if self.calls >= limits.calls as u64 {
            ("calls", limits.calls as u64, self.calls, 1)
        } else if self.bytes.saturating_add(bytes) > limits.bytes {
            ("bytes", limits.bytes, self.bytes, bytes)
        } else {
            return Ok(());
        };
        Err(FleetError::QueueFull { pool: pool.to_owned(), unit, limit, used, needed })
    }

    /// Returns an error if a result of `bytes` bytes in place of the `replaced` ones of its call exceeds the limit. One that is not larger, or small, never does.
    pub(crate) fn check_result(
        self,
        pool: &str,
        limits: QueueLimits,
        replaced: u64,
        bytes: usize,
    ) -> Result<(), FleetError> {
        let needed = (bytes as u64).saturating_sub(replaced);
        if bytes <= SMALL_RESULT_BYTES || needed == 0 || self.bytes.saturating_add(needed) <= limits.bytes {
            return Ok(());
        }
        let (pool, unit) = (pool.to_owned(), "bytes");
        Err(FleetError::QueueFull { pool, unit, limit: limits.bytes, used: self.bytes, needed })
    }
}

/// Returns an error for a request or result that is larger than the storage takes.
pub(crate) fn check_call_size(bytes: &[u8], limit: usize) -> Result<(), FleetError> {
    match bytes.len() {
        bytes if bytes > limit => Err(FleetError::TooLargeForQueue { bytes, limit }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limits(calls: usize, bytes: u64) -> QueueLimits {
        QueueLimits { calls, bytes, ..QueueLimits::default() }
    }

    fn full(unit: &'static str, limit: u64, used: u64, needed: u64) -> Result<(), String> {
        let pool = "trip".to_owned();
        Err(FleetError::QueueFull { pool, unit, limit, used, needed }.to_string())
    }

    #[test]
    fn ages_of_a_queue_are_from_a_millisecond_to_thirty_days() {
        let day = Duration::from_secs(86_400);
        let defaults = QueueLimits { calls: 10_000, bytes: 1_073_741_824, call_age: day, result_age: day };
        assert_eq!((QueueLimits::default(), defaults.clamped()), (defaults, defaults));
        let (least, greatest) = (Duration::from_millis(1), 30 * day);
        for (age, expected) in
            [(Duration::ZERO, least), (least, least), (greatest, greatest), (Duration::MAX, greatest)]
        {
            let of_call = QueueLimits { call_age: age, ..defaults }.clamped();
            assert_eq!(of_call, QueueLimits { call_age: expected, ..defaults });
            let of_result = QueueLimits { result_age: age, ..defaults }.clamped();
            assert_eq!(of_result, QueueLimits { result_age: expected, ..defaults });
        }
    }

    #[test]
    fn a_request_has_the_hash_of_its_first_64_bytes() {
        let hash = |bytes: &[u8]| crate::queue::request_hash(bytes);
        let (mut first, other) = ([7; 65], [7; 64]);
        assert_eq!(hash(&first), hash(&other));
        first[64] = 8;
        assert_eq!(hash(&first), hash(&other));
        first[63] = 8;
        assert_ne!(hash(&first), hash(&other));
        assert_ne!(hash(&other[..63]), hash(&other));
    }

    #[test]
    fn calls_with_bytes_are_counted() {
        let mut totals = QueueTotals::default();
        [100, 0, 7].into_iter().for_each(|bytes| totals.add_call(bytes));
        assert_eq!(totals, QueueTotals { calls: 2, bytes: 107 });
        #[cfg(feature = "nats")]
        {
            totals.remove_call(0);
            assert_eq!(totals, QueueTotals { calls: 2, bytes: 107 });
            totals.remove_call(100);
            assert_eq!(totals, QueueTotals { calls: 1, bytes: 7 });
        }
    }

    #[test]
    fn a_call_is_refused_beyond_the_number_of_calls_or_of_bytes() {
        let check = |limits, bytes| {
            let totals = QueueTotals { calls: 3, bytes: 90 };
            totals.check_call("trip", limits, bytes).map_err(|error| error.to_string())
        };
        assert_eq!(check(limits(4, 100), 10), Ok(()));
        assert_eq!(check(limits(4, 100), 11), full("bytes", 100, 90, 11));
        assert_eq!(check(limits(3, 100), 10), full("calls", 3, 3, 1));
        // Both: the calls are named.
        assert_eq!(check(limits(2, 10), 11), full("calls", 2, 3, 1));
    }

    #[test]
    fn a_result_is_refused_if_it_is_large_and_grows_beyond_the_bytes_of_the_queue() {
        let check = |limit, replaced, bytes| {
            let totals = QueueTotals { calls: 3, bytes: 9_000 };
            totals.check_result("trip", limits(1, limit), replaced, bytes).map_err(|error| error.to_string())
        };
        assert_eq!(check(10_000, 4_000, 5_000), Ok(()));
        assert_eq!(check(10_000, 4_000, 5_001), full("bytes", 10_000, 9_000, 1_001));
        // One that is small, or not larger than the request.
        assert_eq!(check(1, 0, SMALL_RESULT_BYTES), Ok(()));
        assert_eq!(check(1, 0, SMALL_RESULT_BYTES + 1), full("bytes", 1, 9_000, 4_097));
        assert_eq!(check(1, 5_000, 5_000), Ok(()));
        assert_eq!(check(1, 5_000, 5_001), full("bytes", 1, 9_000, 1));
    }

    #[test]
    fn bytes_up_to_the_limit_of_the_storage_are_stored() {
        assert!(check_call_size(&[0; 10], 10).is_ok());
        let refused = check_call_size(&[0; 11], 10);
        assert!(matches!(refused, Err(FleetError::TooLargeForQueue { bytes: 11, limit: 10 })), "{refused:?}");
    }
}
