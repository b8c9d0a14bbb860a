//! Medians of wall-clock times, with all sides measured alternately.

use std::time::{Duration, Instant};

use super::once;
use crate::{Side, Workload};

/// The times of one repetition of a workload.
pub(super) struct Times {
    pub(super) floor: Option<Duration>,
    pub(super) validated: Option<Duration>,
    pub(super) ours: Duration,
    /// Returns the median of the ratios of adjacent measurements, which slow changes of the machine's speed do not affect.
    pub(super) ratio: Option<f64>,
}

pub(super) fn medians(workload: &Workload) -> Times {
    const ROUNDS: u32 = 101;
    let floor = workload.floor.as_ref().map(Batch::of);
    let validated = workload.validated.as_ref().map(Batch::of);
    let ours = Batch::of(&workload.ours);
    let (mut of_floor, mut of_validated, mut of_ours) = (Vec::new(), Vec::new(), Vec::new());
    let mut ratios = Vec::new();
    for _ in 0..if ours.is_long() { ROUNDS / 8 } else { ROUNDS } {
        let by_hand = floor.as_ref().map(Batch::time);
        of_validated.extend(validated.as_ref().map(Batch::time));
        let by_us = ours.time();
        of_floor.extend(by_hand);
        of_ours.push(by_us);
        ratios.extend(by_hand.map(|by_hand| by_us.as_secs_f64() / by_hand.as_secs_f64()));
    }
    of_floor.sort_unstable();
    of_validated.sort_unstable();
    of_ours.sort_unstable();
    ratios.sort_unstable_by(f64::total_cmp);
    Times {
        floor: middle(&of_floor),
        validated: middle(&of_validated),
        ours: middle(&of_ours).unwrap_or_default(),
        ratio: middle(&ratios),
    }
}

fn middle<T: Copy>(sorted: &[T]) -> Option<T> {
    sorted.get(sorted.len() / 2).copied()
}

/// Returns the number of repetitions that a clock can measure accurately.
struct Batch<'a> {
    side: &'a Side,
    size: u32,
}

impl<'a> Batch<'a> {
    fn of(side: &'a Side) -> Self {
        const ENOUGH: Duration = Duration::from_millis(1);
        let mut batch = Self { side, size: 1 };
        while batch.time() * batch.size < ENOUGH {
            batch.size *= 2;
        }
        batch
    }

    fn is_long(&self) -> bool {
        self.size == 1
    }

    fn time(&self) -> Duration {
        let start = Instant::now();
        (0..self.size).for_each(|_| once(self.side));
        start.elapsed() / self.size
    }
}

pub(super) fn shown(time: Duration) -> String {
    let nanos = time.as_secs_f64() * 1e9;
    match nanos {
        ..1e4 => format!("{nanos:.0} ns"),
        ..1e7 => format!("{:.1} µs", nanos / 1e3),
        _ => format!("{:.1} ms", nanos / 1e6),
    }
}
