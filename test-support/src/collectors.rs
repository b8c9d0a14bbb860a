//! Collectors of spans and events, one for each test.

use std::sync::LazyLock;

use tracing::{Dispatch, Metadata, Subscriber, subscriber::Interest};
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
