//! The caller: the tools of a pool as a tool set, and each call until its one outcome.

mod additions;
mod budget;
mod call;
mod call_end;
mod child_calls;
mod connection;
mod durable;
mod durable_values;
mod listing;
mod open_call_store;
mod order;
mod request;
mod route;
mod seen;
mod sent;
mod set;
mod settle_turns;
mod silence;
mod steps;
mod tool;
mod unowned;
mod unshown;
mod values;
mod waiting_call;
mod withdrawal;
mod workers;

use std::time::Duration;

pub(crate) use self::durable::check_queue_pool;
pub use self::{
    call_end::{AnsweredCall, EndedCall},
    durable::DurableCalls,
    open_call_store::DurableOpenCalls,
    set::FleetToolSet,
};
use crate::FleetError;

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
    /// The time without a sign of life after which a worker is lost, from 1 ms to a day. Default: 6 s, three heartbeats.
    pub lost_after: Duration,
    /// The number of workers on which one call starts at most, if they end during it; at least 1. Default: 3.
    pub max_workers: u32,
    /// The time for which a call waits for a worker with a free slot, and for one that is back after its connection was lost, up to a day.
    /// Default: 5 s.
    pub busy: Duration,
    /// The time for which a listing waits for workers, and for each page of definitions, from 1 ms to a day; a registry is left out after ten
    /// times as long. Default: 2 s.
    pub listing: Duration,
    /// The time that a worker has to prepare a call before it is judged (`prepare`, `confirm` and `permission` of a tool), and to answer what
    /// tools add to a request (`on_request`), from 1 ms to a day. A call that is not prepared is refused as unavailable, and has not run; a
    /// request is sent without the additions, with a notice. Default: 2 s.
    pub preparation: Duration,
}

/// The greatest time of a setting.
const MAX_SETTING: Duration = Duration::from_secs(24 * 60 * 60);

impl FleetSettings {
    /// Returns an error for a setting that is out of its range.
    fn check(&self) -> Result<(), FleetError> {
        let least = Duration::from_millis(1);
        for (name, time, least) in [
            ("lost_after", self.lost_after, least),
            ("busy", self.busy, Duration::ZERO),
            ("listing", self.listing, least),
            ("preparation", self.preparation, least),
        ] {
            if !(least..=MAX_SETTING).contains(&time) {
                let range = format!("from {least:?} to {MAX_SETTING:?}");
                return Err(FleetError::Invalid(format!("`{name}` of a fleet is {range}, not {time:?}")));
            }
        }
        match self.max_workers {
            0 => Err(FleetError::Invalid("`max_workers` of a fleet is at least 1, not 0".to_owned())),
            _ => Ok(()),
        }
    }
}

impl Default for FleetSettings {
    fn default() -> Self {
        Self {
            lost_after: Duration::from_secs(6),
            max_workers: 3,
            busy: Duration::from_secs(5),
            listing: Duration::from_secs(2),
            preparation: Duration::from_secs(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_their_documented_defaults() {
        let settings = FleetSettings::default();
        let times = [settings.lost_after, settings.busy, settings.listing, settings.preparation];
        assert_eq!((times.map(|time| time.as_secs()), settings.max_workers), ([6, 5, 2, 2], 3));
        assert!(settings.check().is_ok());
    }

    #[test]
    fn settings_are_within_their_ranges() {
        type Change = fn(&mut FleetSettings, Duration);
        let (least, none) = (Duration::from_millis(1), Duration::ZERO);
        let changes: [(&str, Change, Duration, &str); 4] = [
            ("lost_after", |settings, time| settings.lost_after = time, least, "1ms"),
            ("busy", |settings, time| settings.busy = time, none, "0ns"),
            ("listing", |settings, time| settings.listing = time, least, "1ms"),
            ("preparation", |settings, time| settings.preparation = time, least, "1ms"),
        ];
        for (name, change, first, text) in changes {
            let check = |time| {
                let mut settings = FleetSettings::default();
                change(&mut settings, time);
                settings.check().map_err(|error| error.to_string())
            };
            assert_eq!((check(first), check(MAX_SETTING)), (Ok(()), Ok(())), "{name}");
            let beyond = MAX_SETTING + Duration::from_nanos(1);
            let expected = format!("`{name}` of a fleet is from {text} to 86400s, not {beyond:?}");
            assert!(check(beyond).is_err_and(|error| error.contains(&expected)), "{name}");
            assert_eq!(check(none).is_ok(), first == none, "{name}");
        }
        let workers = |max_workers| FleetSettings { max_workers, ..FleetSettings::default() }.check();
        assert!(workers(1).is_ok());
        let error = workers(0).map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("`max_workers` of a fleet is at least 1, not 0")));
    }
}
