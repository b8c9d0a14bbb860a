#![allow(clippy::unwrap_used, reason = "a test may")]

use tool_runtime::{Registry, open_calls::ProgramKey};

use super::*;

fn worker() -> Worker {
    let tools = Registry::builder().build().unwrap();
    Worker::new(Executor::new(tools), ProgramKey::new([7; 32]).pool_key("trip"))
}

#[test]
fn settings_have_their_documented_defaults() {
    let worker = worker();
    let seconds = [worker.heartbeat, worker.drain].map(|time| time.as_secs());
    assert_eq!((worker.slots, seconds), (16, [2, 30]));
    assert!(worker.queue.is_none() && worker.values.is_none());
    assert_eq!(*worker.watch_state().borrow(), WorkerState::Starting);
    #[cfg(feature = "opentelemetry")]
    assert_eq!(worker.backlog_interval, Duration::from_secs(15));
}

#[test]
fn settings_are_within_their_ranges() {
    assert_eq!([0, 1, 7].map(|slots| worker().slots(slots).slots), [1, 1, 7]);
    let (hour, micro) = (Duration::from_secs(3_600), Duration::from_micros(1));
    let times = [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(7), hour, hour + micro];
    let millis = times.map(|time| worker().heartbeat(time).heartbeat.as_micros());
    assert_eq!(millis, [1_000, 1_000, 7_000, 3_600_000_000, 3_600_000_000]);
    assert_eq!(worker().drain(Duration::MAX).drain, Duration::MAX);
    #[cfg(feature = "opentelemetry")]
    {
        let intervals = [micro, Duration::from_secs(1), Duration::from_secs(7), hour, hour + micro];
        let seconds = intervals.map(|time| worker().backlog_interval(time).backlog_interval.as_secs());
        assert_eq!(seconds, [1, 1, 7, 3_600, 3_600]);
    }
}

#[test]
fn the_state_of_a_worker_that_is_dropped_is_its_end() {
    let worker = worker();
    let state = worker.watch_state();
    worker.state.set_state(WorkerState::Serving);
    assert_eq!(*state.borrow(), WorkerState::Serving);
    drop(worker);
    assert_eq!(*state.borrow(), WorkerState::Ended);
}
