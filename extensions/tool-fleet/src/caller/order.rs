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

    fn report(number: u64) -> Report {
        Report::Refused(number.to_string())
    }

    /// Returns the number of a report of a test.
    fn number_of(report: Report) -> Option<u64> {
        match report {
            Report::Refused(number) => number.parse().ok(),
            _ => None,
        }
    }

    fn take_all(order: &mut ReportOrder) -> Vec<u64> {
        std::iter::from_fn(|| order.take_next()).filter_map(number_of).collect()
    }

    /// Adds a report; returns `true` if it is one that was added or read before, or given up.
    fn is_returned(order: &mut ReportOrder, number: u64) -> bool {
        order.add_report(number, report(number)).is_some()
    }

    #[test]
    fn reports_are_taken_in_their_order_and_each_once() {
        let mut order = ReportOrder::default();
        assert_eq!(
            [3, 1, 4, 1, 3].map(|number| is_returned(&mut order, number)),
            [false, false, false, true, true]
        );
        assert_eq!((take_all(&mut order), order.read_reports()), (vec![1], 1));
        assert_eq!([1, 2, 2, 6].map(|number| is_returned(&mut order, number)), [true, false, true, false]);
        assert_eq!((take_all(&mut order), order.read_reports()), (vec![2, 3, 4], 4));
        // What is left is the report beyond a missing one.
        assert_eq!(order.take_unread().filter_map(number_of).collect::<Vec<_>>(), [6]);
        assert!(!is_returned(&mut order, 5) && !is_returned(&mut order, 7));
        assert_eq!(order.take_unread().filter_map(number_of).collect::<Vec<_>>(), [5, 7]);
    }

    #[test]
    fn the_furthest_report_that_is_awaited_is_a_number_of_windows_ahead() {
        let mut order = ReportOrder::default();
        assert!(!is_returned(&mut order, MAX_AHEAD) && is_returned(&mut order, MAX_AHEAD + 1));
        assert!(!is_returned(&mut order, 1) && is_returned(&mut order, 0));
        assert_eq!(take_all(&mut order), [1]);
        assert!(!is_returned(&mut order, MAX_AHEAD + 1) && is_returned(&mut order, MAX_AHEAD + 2));
    }

    #[tokio::test(start_paused = true)]
    async fn reports_wait_for_a_missing_one_for_half_a_second() {
        let (mut order, start) = (ReportOrder::default(), Instant::now());
        assert_eq!(order.missing_until(), None);
        order.add_report(3, report(3));
        assert_eq!(order.missing_until(), Some(start + MISSING_REPORT_WAIT));
        tokio::time::advance(Duration::from_millis(200)).await;
        // From the first look on, also if more are missing.
        order.add_report(5, report(5));
        assert_eq!(order.missing_until(), Some(start + MISSING_REPORT_WAIT));
        assert_eq!((order.skip_missing(), take_all(&mut order)), (2, vec![3]));
        assert_eq!(order.missing_until(), Some(Instant::now() + MISSING_REPORT_WAIT));
        order.add_report(4, report(4));
        assert_eq!((take_all(&mut order), order.missing_until()), (vec![4, 5], None));
        // Another one is waited for anew.
        tokio::time::advance(Duration::from_millis(200)).await;
        order.note_sent(7);
        assert_eq!(order.missing_until(), Some(Instant::now() + MISSING_REPORT_WAIT));
        assert_eq!((order.skip_missing(), order.read_reports(), order.missing_until()), (2, 7, None));
    }

    #[tokio::test(start_paused = true)]
    async fn as_many_early_reports_as_a_window_wait_no_longer() {
        let mut order = ReportOrder::default();
        for number in 2..=MAX_EARLY_REPORTS as u64 {
            order.add_report(number, report(number));
        }
        assert_eq!(order.missing_until(), Some(Instant::now() + MISSING_REPORT_WAIT));
        order.add_report(MAX_EARLY_REPORTS as u64 + 1, report(0));
        assert_eq!(order.missing_until(), Some(Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_report_that_is_stored_is_waited_for_if_it_is_the_next_one() {
        let mut order = ReportOrder::default();
        order.note_sent(3);
        order.note_storing(2, 7);
        assert!(order.missing_until().is_some());
        // An earlier message, and the same one again, change nothing.
        order.note_storing(1, 6);
        order.note_storing(1, 7);
        assert!(order.missing_until().is_some());
        order.note_storing(1, 8);
        assert_eq!(order.missing_until(), None);
        order.note_beat(8);
        assert_eq!(order.missing_until(), None);
        order.note_beat(9);
        assert!(order.missing_until().is_some());
    }
}
