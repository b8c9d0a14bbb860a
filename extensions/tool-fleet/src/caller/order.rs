//! The order of the reports of one epoch.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use crate::message::{REPORT_WINDOW, Report};

/// The time for which reports wait for an earlier one that has not arrived.
const MISSING_REPORT_WAIT: Duration = Duration::from_millis(500);

/// The reports that wait for an earlier one; a worker sends no more than this beyond those that were read.
const MAX_EARLY_REPORTS: usize = REPORT_WINDOW as usize;

/// The numbers beyond the last report that was read, of which a worker uses no more than its window, and those of its questions.
const MAX_AHEAD: u64 = 8 * REPORT_WINDOW;

/// Puts reports with contents in the order in which they were sent, and counts those that are missing.
#[derive(Default)]
pub(super) struct ReportOrder {
    /// The number of reports that were read, or given up.
    read: u64,
    /// The number of reports that the worker has sent, as far as it is known.
    sent: u64,
    /// The report after those that were read, if it has arrived in its turn: most do.
    next: Option<Report>,
    early: BTreeMap<u64, Report>,
    missing_since: Option<Instant>,
    /// The number of a report that its worker stores, and the sequence of the message that says so.
    storing: Option<(u64, u64)>,
}

impl ReportOrder {
    pub(super) fn read_reports(&self) -> u64 {
        self.read
    }

    /// Notes that the worker has sent `contents` reports.
    pub(super) fn note_sent(&mut self, contents: u64) {
        // A worker that counts further does not wait for its caller.
        self.sent = self.sent.max(contents.min(self.read.saturating_add(MAX_AHEAD)));
    }

    /// Notes that the worker stores the report of this number, which is waited for until the worker says otherwise, or is lost.
    pub(super) fn note_storing(&mut self, number: u64, sequence: u64) {
        if self.storing.is_none_or(|(_, last)| sequence > last) {
            self.storing = Some((number, sequence));
        }
    }

    /// Notes that the worker stores no report, since it has sent another sign of life.
    pub(super) fn note_beat(&mut self, sequence: u64) {
        if self.storing.is_some_and(|(_, last)| sequence > last) {
            self.storing = None;
        }
    }

    /// Adds a report; returns one that was read before, or given up.
    pub(super) fn add_report(&mut self, number: u64, report: Report) -> Option<Report> {
        self.note_sent(number);
        let is_awaited = number > self.read && number <= self.read.saturating_add(MAX_AHEAD);
        let is_next = number == self.read.saturating_add(1);
        if !is_awaited || is_next && self.next.is_some() || self.early.contains_key(&number) {
            return Some(report);
        }
        match is_next {
            true => self.next.replace(report),
            false => self.early.insert(number, report),
        }
    }

    /// Takes the reports that were not read.
    pub(super) fn take_unread(&mut self) -> impl Iterator<Item = Report> + use<> {
        self.next.take().into_iter().chain(std::mem::take(&mut self.early).into_values())
    }

    /// Returns the next report in the order of the worker, if it is here.
    pub(super) fn take_next(&mut self) -> Option<Report> {
        let next = self.next.take().or_else(|| self.early.remove(&self.read.saturating_add(1)));
        if next.is_some() {
            self.read += 1;
            self.missing_since = None;
        }
        next
    }

    /// Returns the time until which reports wait for a missing one; `None` if none is missing. To be called when there is no next report.
    pub(super) fn missing_until(&mut self) -> Option<Instant> {
        if self.read >= self.sent {
            self.missing_since = None;
            return None;
        }
        let now = Instant::now();
        if self.early.len() >= MAX_EARLY_REPORTS {
            return Some(now);
        }
        if self.storing.is_some_and(|(number, _)| number == self.read.saturating_add(1)) {
            return None;
        }
        Some(*self.missing_since.get_or_insert(now) + MISSING_REPORT_WAIT)
    }

    /// Gives up the reports that are missing before the next one that is here, and returns their number.
    pub(super) fn skip_missing(&mut self) -> u64 {
        let last = self.early.first_key_value().map_or(self.sent, |(number, _)| number - 1);
        let missing = last.saturating_sub(self.read);
        self.read = self.read.max(last);
        self.missing_since = None;
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_report_that_is_stored_is_missing_once_its_worker_has_gone_on_without_it() {
        let mut order = ReportOrder::default();
        order.note_sent(1);
        order.note_storing(1, 7);
        order.note_beat(6);
        assert_eq!(order.missing_until(), None);
        order.note_beat(8);
        assert!(order.missing_until().is_some());
        assert_eq!(order.skip_missing(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn numbers_far_beyond_those_that_were_read_are_no_reports() {
        let mut order = ReportOrder::default();
        order.note_sent(u64::MAX);
        order.add_report(u64::MAX, Report::Beat);
        order.add_report(1, Report::Beat);
        assert!(order.take_next().is_some() && order.take_next().is_none());
        assert_eq!(order.skip_missing(), MAX_AHEAD - 1);
        order.add_report(MAX_AHEAD + 1, Report::Beat);
        assert!(order.take_next().is_some());
    }
}
