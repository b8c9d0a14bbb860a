//! Tests of the public API.
#![allow(
    deprecated,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod broker;
#[cfg(feature = "cli")]
mod cli;
mod client;
mod real;
mod server;
mod skipped;
