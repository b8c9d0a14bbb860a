//! Metrics of workers and callers, as OpenTelemetry metrics of the global meter provider; without the feature `opentelemetry`, nothing.
//!
//! The crate's documentation lists them. Instruments are those of the provider that is set when a worker begins to serve, or a set connects.

#[cfg(feature = "opentelemetry")]
use std::sync::{Arc, Mutex, PoisonError, Weak};

#[cfg(feature = "opentelemetry")]
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Meter, UpDownCounter},
};

#[cfg(feature = "opentelemetry")]
use crate::QueueBacklog;

/// The metrics of one side of a pool.
pub(crate) struct Metrics {
    #[cfg(feature = "opentelemetry")]
    instruments: Instruments,
}

#[cfg(feature = "opentelemetry")]
struct Instruments {
    pool: KeyValue,
    busy_slots: UpDownCounter<i64>,
    busy_answers: Counter<u64>,
    calls: Counter<u64>,
    run_calls: Counter<u64>,
    lost_workers: Counter<u64>,
}

/// The backlog of a queue, which gauges show for as long as this value lives.
#[cfg(feature = "opentelemetry")]
#[derive(Default)]
pub(crate) struct ShownBacklog(Arc<Mutex<Option<QueueBacklog>>>);

#[cfg(feature = "opentelemetry")]
impl ShownBacklog {
    /// Shows a backlog; with `None`, nothing, since it is not known.
    pub(crate) fn show(&self, backlog: Option<QueueBacklog>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = backlog;
    }
}

#[cfg(feature = "opentelemetry")]
fn read_shown_backlog(backlog: &Weak<Mutex<Option<QueueBacklog>>>) -> Option<QueueBacklog> {
    *backlog.upgrade()?.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(feature = "opentelemetry")]
fn fleet_meter() -> Meter {
    opentelemetry::global::meter("tool-fleet")
}

#[cfg(feature = "opentelemetry")]
impl Metrics {
    pub(crate) fn new(pool: &str) -> Self {
        let meter = fleet_meter();
        let counter = |name: &'static str, unit: &'static str, description: &'static str| {
            meter.u64_counter(name).with_unit(unit).with_description(description).build()
        };
        let busy_slots = meter.i64_up_down_counter("tool_fleet.worker.busy_slots").with_unit("{call}");
        let instruments = Instruments {
            pool: KeyValue::new("tool_fleet.pool", pool.to_owned()),
            busy_slots: busy_slots.with_description("The calls that a worker runs").build(),
            busy_answers: counter(
                "tool_fleet.worker.busy_answers",
                "{call}",
                "The calls that a worker did not take, since it had no free slot",
            ),
            calls: counter(
                "tool_fleet.caller.calls",
                "{call}",
                "The calls of a caller that have ended, or were left open in a queue",
            ),
            run_calls: counter(
                "tool_fleet.worker.calls",
                "{call}",
                "The calls that a worker has run to their end",
            ),
            lost_workers: counter(
                "tool_fleet.caller.lost_workers",
                "{worker}",
                "The workers that showed a caller no sign of life in time",
            ),
        };
        Self { instruments }
    }

    fn add_busy_slots(&self, slots: i64) {
        self.instruments.busy_slots.add(slots, std::slice::from_ref(&self.instruments.pool));
    }

    pub(crate) fn count_busy_answer(&self) {
        self.instruments.busy_answers.add(1, std::slice::from_ref(&self.instruments.pool));
    }

    /// Makes the gauges of the backlog of a queue.
    pub(crate) fn show_backlog(&self) -> ShownBacklog {
        let (meter, shown) = (fleet_meter(), ShownBacklog::default());
        let (pool, backlog) = ([self.instruments.pool.clone()], Arc::downgrade(&shown.0));
        let depth = meter.u64_observable_gauge("tool_fleet.queue.depth").with_unit("{call}");
        depth
            .with_description("The durable calls that wait for a worker")
            .with_callback(move |gauge| {
                if let Some(it) = read_shown_backlog(&backlog) {
                    gauge.observe(it.calls, &pool);
                }
            })
            .build();
        let (pool, backlog) = ([self.instruments.pool.clone()], Arc::downgrade(&shown.0));
        let age = meter.f64_observable_gauge("tool_fleet.queue.oldest_age").with_unit("s");
        age.with_description("The time since the oldest of them was stored")
            .with_callback(move |gauge| {
                if let Some(it) = read_shown_backlog(&backlog) {
                    gauge.observe(it.oldest_age.unwrap_or_default().as_secs_f64(), &pool);
                }
            })
            .build();
        shown
    }

    /// Counts a call that has ended at `side`, with an error of the kind `error`.
    fn count_call(&self, side: Side, error: Option<&'static str>) {
        let Instruments { calls, run_calls, pool, .. } = &self.instruments;
        let counter = match side {
            Side::Caller => calls,
            Side::Worker => run_calls,
        };
        match error {
            None => counter.add(1, std::slice::from_ref(pool)),
            Some(error) => counter.add(1, &[pool.clone(), KeyValue::new("error.type", error)]),
        }
    }

    pub(crate) fn count_lost_workers(&self, workers: usize) {
        if workers > 0 {
            let workers = u64::try_from(workers).unwrap_or(u64::MAX);
            self.instruments.lost_workers.add(workers, std::slice::from_ref(&self.instruments.pool));
        }
    }
}

#[cfg(not(feature = "opentelemetry"))]
#[expect(clippy::unused_self, reason = "the form of the metrics with the feature `opentelemetry`")]
impl Metrics {
    pub(crate) fn new(_: &str) -> Self {
        Self {}
    }

    fn add_busy_slots(&self, _: i64) {}

    pub(crate) fn count_busy_answer(&self) {}

    fn count_call(&self, _: Side, _: Option<&'static str>) {}

    pub(crate) fn count_lost_workers(&self, _: usize) {}
}

impl Metrics {
    /// Counts a call that a worker runs, until the result is dropped.
    pub(crate) fn take_slot(&self) -> BusySlot<'_> {
        self.add_busy_slots(1);
        BusySlot(self)
    }

    /// Counts a call of a caller once it has ended; one that is dropped before counts as cancelled.
    pub(crate) fn begin_call(&self) -> CallCount<'_> {
        self.count_at(Side::Caller)
    }

    /// The same for a call that a worker runs.
    pub(crate) fn begin_run(&self) -> CallCount<'_> {
        self.count_at(Side::Worker)
    }

    fn count_at(&self, side: Side) -> CallCount<'_> {
        CallCount { metrics: self, side, error: Some(tool_runtime::ErrorKind::Cancelled.name()) }
    }
}

/// The side that counts a call.
#[derive(Clone, Copy)]
enum Side {
    Caller,
    Worker,
}

/// A call that a worker runs.
pub(crate) struct BusySlot<'a>(&'a Metrics);

impl Drop for BusySlot<'_> {
    fn drop(&mut self) {
        self.0.add_busy_slots(-1);
    }
}

/// A call of a caller or worker.
pub(crate) struct CallCount<'a> {
    metrics: &'a Metrics,
    side: Side,
    /// The kind of the error with which it ends.
    error: Option<&'static str>,
}

impl CallCount<'_> {
    pub(crate) fn end(mut self, error: Option<&tool_runtime::ToolError>) {
        self.error = error.map(|error| error.kind().name());
    }
}

impl Drop for CallCount<'_> {
    fn drop(&mut self) {
        self.metrics.count_call(self.side, self.error);
    }
}
