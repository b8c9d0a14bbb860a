//! Workers, callers and brokers that end, stop and go on at random, while callers call.
//!
//! `CHAOS_SECONDS` is the time of each run, and `CHAOS_SEED` the only seed; without it, there are several. Tests print each seed.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod bodies;
#[cfg(all(feature = "nats", feature = "postgres", unix))]
mod broker;
mod caller;
mod checks;
mod collector;
mod faults;
mod lines;
mod memory;
mod open_calls;
#[cfg(all(feature = "nats", feature = "postgres", unix))]
mod process;
#[cfg(all(feature = "nats", feature = "postgres", unix))]
mod processes;
mod queue;
#[path = "../shared/test_broker.rs"]
mod test_broker;

use std::{env, sync::Arc, time::Duration};

use tool_fleet::{CallQueue, FleetSettings, Transport};
use tool_runtime::open_calls::{PoolKey, ProgramKey};

const POOL: &str = "chaos";

/// The interval of signs of life.
const HEARTBEAT: Duration = Duration::from_millis(700);

fn program_key() -> ProgramKey {
    ProgramKey::new([7; 32])
}

fn pool_key() -> PoolKey {
    program_key().pool_key(POOL)
}

/// The connections of a process to its broker.
#[derive(Clone)]
struct Connections {
    transport: Arc<dyn Transport>,
    queue: Arc<dyn CallQueue>,
}

/// The default settings at about a third of their times, in the same ratio to [`HEARTBEAT`].
fn settings() -> FleetSettings {
    FleetSettings {
        lost_after: 3 * HEARTBEAT,
        busy: Duration::from_secs(2),
        listing: Duration::from_secs(1),
        ..FleetSettings::default()
    }
}

/// The seeds of a test, which run one after another.
fn seeds(default: &[u64]) -> Vec<u64> {
    match env::var("CHAOS_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => default.to_vec(),
    }
}

/// The time of a run.
fn run_time(default: u64) -> Duration {
    Duration::from_secs(env::var("CHAOS_SECONDS").map_or(default, |seconds| seconds.parse().unwrap()))
}
