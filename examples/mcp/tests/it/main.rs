//! Tests of the examples as child processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[cfg(feature = "postgres")]
mod balanced;
mod command;
mod programs;
