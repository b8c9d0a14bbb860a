//! The clock of a store.

use std::{fmt, sync::Arc, time::SystemTime};

use tool_runtime::guard::catch;

/// The clock by which a store decides whether leases have expired; clones share it. Default: the clock of the system.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use tool_session::{Clock, InMemoryStore};
///
/// let store = InMemoryStore::new().with_clock(Clock::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(60)));
/// ```
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// Creates a clock that returns the result of `now`; if it panics, the time of the system.
    #[must_use]
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the time.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        catch(|| (self.0)()).unwrap_or_else(|_| SystemTime::now())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").finish_non_exhaustive()
    }
}
