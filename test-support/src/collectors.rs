//! Collectors of spans and events, one for each test.

use std::{
    fmt,
    sync::{Arc, LazyLock, Mutex},
};

use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    field::{Field, Visit},
    subscriber::Interest,
};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

/// A collector that is disabled.
struct Asleep;

impl<S: Subscriber> Layer<S> for Asleep {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>, _: Context<'_, S>) -> bool {
        false
    }
}

/// Makes `tracing` ask each thread if it collects. With a single collector, `tracing` asks only the first
/// thread; but the other tests of this program collect nothing.
pub fn each_thread_for_itself() {
    static ASLEEP: LazyLock<[Dispatch; 2]> =
        LazyLock::new(|| [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry().with(Asleep))));
    LazyLock::force(&ASLEEP);
}

/// A layer that collects events, each as `LEVEL target: message {field: value, ..}`. Clones are the same log.
#[derive(Clone, Default)]
pub struct EventLog(Arc<Mutex<Vec<String>>>);

impl EventLog {
    /// Returns the events of `run` on this thread.
    pub fn events_of(run: impl FnOnce()) -> Vec<String> {
        each_thread_for_itself();
        let log = Self::default();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(log.clone()), run);
        std::mem::take(&mut *log.0.lock().unwrap())
    }
}

impl<S: Subscriber> Layer<S> for EventLog {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let (metadata, Fields { message, others }) = (event.metadata(), fields);
        let others = others.join(", ");
        self.0.lock().unwrap().push(format!(
            "{} {}: {message} {{{others}}}",
            metadata.level(),
            metadata.target()
        ));
    }
}

/// The fields of an event.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<String>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.others.push(format!("{name}: {value:?}")),
        }
    }
}
