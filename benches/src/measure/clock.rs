//! Medians of wall-clock times, with all sides measured alternately.

use std::time::{Duration, Instant};

use super::once;
use crate::{FLOOR, Side, Workload};

/// The times of one repetition of one side.
pub(super) struct Times {
    pub(super) median: Duration,
    /// The median of the ratios of adjacent measurements, which slow changes of the machine's speed do not affect.
    pub(super) ratio: Option<f64>,
}

/// Returns the times of the sides of `workload`, in their order.
pub(super) fn medians(workload: &Workload) -> Vec<Times> {
    const ROUNDS: u32 = 101;
    let batches: Vec<_> = workload.sides.iter().map(|(_, side)| Batch::of(side)).collect();
    let floor = workload.sides.iter().position(|(name, _)| *name == FLOOR);
    let mut rounds: Vec<Vec<Duration>> = Vec::new();
    for _ in 0..if batches.iter().any(Batch::is_long) { ROUNDS / 8 } else { ROUNDS } {
        rounds.push(batches.iter().map(Batch::time).collect());
    }
    let times = |at: usize| rounds.iter().filter_map(move |round| round.get(at).copied());
    (0..batches.len())
        .map(|at| {
            let mut sorted: Vec<_> = times(at).collect();
            sorted.sort_unstable();
            let ratio = floor.filter(|floor| *floor != at).and_then(|floor| {
                let pairs = times(at).zip(times(floor));
                let mut ratios: Vec<_> =
                    pairs.map(|(side, floor)| side.as_secs_f64() / floor.as_secs_f64()).collect();
                ratios.sort_unstable_by(f64::total_cmp);
                middle(&ratios)
            });
            Times { median: middle(&sorted).unwrap_or_default(), ratio }
        })
        .collect()
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

/// Returns `time` with a unit.
#[must_use]
pub fn shown(time: Duration) -> String {
    let nanos = time.as_secs_f64() * 1e9;
    match nanos {
        ..1e4 => format!("{nanos:.0} ns"),
        ..1e7 => format!("{:.1} µs", nanos / 1e3),
        _ => format!("{:.1} ms", nanos / 1e6),
    }
}
