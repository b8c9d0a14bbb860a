//! Metrics of workers and callers, as OpenTelemetry metrics of the global meter provider; without the feature `opentelemetry`, nothing.
//!
//! The crate's documentation lists them. Instruments are those of the provider that is set when a worker begins to serve, or a set connects.

#[cfg(feature = "opentelemetry")]
use opentelemetry::{
    KeyValue,
    metrics::{Counter, UpDownCounter},
};

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
    lost_workers: Counter<u64>,
}

#[cfg(feature = "opentelemetry")]
impl Metrics {
    pub(crate) fn new(pool: &str) -> Self {
        let meter = opentelemetry::global::meter("tool-fleet");
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
            calls: counter("tool_fleet.caller.calls", "{call}", "The calls of a caller that have ended"),
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

    /// Counts a call that has ended, with an error of the kind `error`.
    fn count_call(&self, error: Option<&'static str>) {
        let pool = self.instruments.pool.clone();
        match error {
            None => self.instruments.calls.add(1, &[pool]),
            Some(error) => self.instruments.calls.add(1, &[pool, KeyValue::new("error.type", error)]),
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

    fn count_call(&self, _: Option<&'static str>) {}

    pub(crate) fn count_lost_workers(&self, _: usize) {}
}

impl Metrics {
    /// Counts a call that a worker runs, until the result is dropped.
    pub(crate) fn take_slot(&self) -> BusySlot<'_> {
        self.add_busy_slots(1);
        BusySlot(self)
    }

    /// Counts a call once it has ended; one that is dropped before counts as cancelled.
    pub(crate) fn begin_call(&self) -> CallCount<'_> {
        CallCount { metrics: self, error: Some(tool_runtime::ErrorKind::Cancelled.name()) }
    }
}

/// A call that a worker runs.
pub(crate) struct BusySlot<'a>(&'a Metrics);

impl Drop for BusySlot<'_> {
    fn drop(&mut self) {
        self.0.add_busy_slots(-1);
    }
}

/// A call of a caller.
pub(crate) struct CallCount<'a> {
    metrics: &'a Metrics,
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
        self.metrics.count_call(self.error);
    }
}
