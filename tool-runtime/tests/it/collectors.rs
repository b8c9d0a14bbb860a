//! Collectors of spans and events, of which each test has its own.

use std::sync::LazyLock;

use tracing::{Dispatch, Metadata, Subscriber, subscriber::Interest};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

/// A collector that wants nothing, for now.
struct Asleep;

impl<S: Subscriber> Layer<S> for Asleep {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>, _: Context<'_, S>) -> bool {
        false
    }
}

/// Has each thread asked for itself whether it collects. Where there is a single collector, `tracing` asks
/// once, whichever thread comes first; the other tests of this program collect nothing.
pub(crate) fn each_thread_for_itself() {
    static ASLEEP: LazyLock<[Dispatch; 2]> =
        LazyLock::new(|| [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry().with(Asleep))));
    LazyLock::force(&ASLEEP);
}
