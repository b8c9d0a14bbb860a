//! Tests of stores: one suite for all of them, and the tests of each.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests"
)]

#[cfg(feature = "artifacts")]
mod artifacts;
#[cfg(feature = "cli")]
mod command;
mod contract;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod engines;
mod exact_limits;
mod exports;
mod in_memory;
mod line_limits;
mod memory;
#[cfg(all(feature = "postgres", unix))]
mod postgres;
mod shared;
mod shared_exports;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
mod sqlite_batches;
#[cfg(feature = "sqlite")]
mod sqlite_versions;
mod values;
