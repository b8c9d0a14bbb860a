//! Tests of the examples as child processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod command;
mod programs;
