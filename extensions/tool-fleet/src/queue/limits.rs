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
