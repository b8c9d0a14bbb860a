//! Tests of the output of the examples.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

mod agent;
mod executor;
mod ports;
mod quickstart;
mod toolsets;
mod weather_cli;
