//! The reports that a call has received.

use std::collections::BTreeSet;

use crate::message::{CallReport, REPORT_WINDOW};

/// The number of remembered reports, of which a transport may repeat each one; older ones count as repeated.
const MAX_SEEN_REPORTS: usize = 4 * REPORT_WINDOW as usize;

/// Epoch, sequence and sender of a report.
type ReportKey = (u32, u64, String);

/// The reports that a call has received, so that repeated ones, which anybody can send, take no room.
#[derive(Default)]
pub(super) struct SeenReports {
    /// The only report: most calls have one.
    first: Option<ReportKey>,
    seen: BTreeSet<ReportKey>,
    /// The greatest report that is no longer remembered.
    forgotten: Option<ReportKey>,
}

impl SeenReports {
    /// Adds a report; returns `false` if it was added before.
    pub(super) fn add_report(&mut self, report: &CallReport, sender: &str) -> bool {
        let key = (report.call.epoch, report.sequence, sender.to_owned());
        if self.seen.is_empty() {
            match self.first.take() {
                None => {
                    self.first = Some(key);
                    return true;
                }
                Some(first) => self.seen.insert(first),
            };
        }
        if self.forgotten.as_ref().is_some_and(|forgotten| key <= *forgotten) || !self.seen.insert(key) {
            return false;
        }
        if self.seen.len() > MAX_SEEN_REPORTS {
            self.forgotten = self.seen.pop_first();
        }
        true
    }
}
