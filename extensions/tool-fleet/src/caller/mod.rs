//! The caller: the tools of a pool as a tool set, and each call until its one outcome.

mod budget;
mod call;
mod child_calls;
mod connection;
mod listing;
mod order;
mod request;
mod seen;
mod sent;
mod set;
mod tool;
mod workers;

use std::time::Duration;

pub use self::set::FleetToolSet;

/// Settings of a [`FleetToolSet`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use tool_fleet::FleetSettings;
///
/// let settings = FleetSettings { max_workers: 2, ..FleetSettings::default() };
/// assert_eq!(settings.lost_after, Duration::from_secs(6));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FleetSettings {
    /// The time without a sign of life after which a worker is lost. Default: 6 s, three heartbeats.
    pub lost_after: Duration,
    /// The number of workers on which one call starts at most, if they end during it. Default: 3.
    pub max_workers: u32,
    /// The time for which a call waits for a worker with a free slot. Default: 5 s.
    pub busy: Duration,
    /// The time for which a listing waits for workers, and for each page of definitions. Default: 2 s.
    pub listing: Duration,
}

impl Default for FleetSettings {
    fn default() -> Self {
        Self {
            lost_after: Duration::from_secs(6),
            max_workers: 3,
            busy: Duration::from_secs(5),
            listing: Duration::from_secs(2),
        }
    }
}
