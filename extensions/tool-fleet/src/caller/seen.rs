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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{CallEpoch, Report};

    fn report(epoch: u32, sequence: u64) -> CallReport {
        let call = CallEpoch { call: "call".to_owned(), epoch };
        CallReport { call, sequence, contents: 0, tokens: 0, report: Report::Beat }
    }

    #[test]
    fn a_report_is_added_once_by_its_epoch_sequence_and_sender() {
        let mut seen = SeenReports::default();
        let reports = [(1, 1, "a"), (1, 1, "b"), (1, 2, "a"), (2, 1, "a")];
        for (at, (epoch, sequence, sender)) in reports.into_iter().enumerate() {
            assert!(seen.add_report(&report(epoch, sequence), sender));
            for (epoch, sequence, sender) in &reports[..=at] {
                assert!(!seen.add_report(&report(*epoch, *sequence), sender));
            }
        }
    }

    #[test]
    fn a_bounded_number_of_reports_is_remembered_and_older_ones_count_as_repeated() {
        let (mut seen, max) = (SeenReports::default(), MAX_SEEN_REPORTS as u64);
        for number in 1..=max {
            assert!(seen.add_report(&report(1, 2 * number), "a"));
        }
        // Between those that are remembered.
        assert!(seen.add_report(&report(1, 1), "a"));
        assert_eq!((seen.seen.len(), &seen.forgotten), (MAX_SEEN_REPORTS, &Some((1, 1, "a".to_owned()))));
        assert!(!seen.add_report(&report(1, 1), "a") && !seen.add_report(&report(1, 0), "b"));
        assert!(!seen.add_report(&report(1, 2), "a"));
        assert!(seen.add_report(&report(1, 3), "a"));
        assert_eq!((seen.seen.len(), &seen.forgotten), (MAX_SEEN_REPORTS, &Some((1, 2, "a".to_owned()))));
        assert!(!seen.add_report(&report(1, 2), "a"));
    }
}
