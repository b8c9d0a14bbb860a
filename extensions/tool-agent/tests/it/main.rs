//! Tests of agents: on scripted models, and over HTTP with local servers.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

#[cfg(feature = "http")]
mod additions;
mod agent_tool;
mod exact_limits;
mod fallback;
#[cfg(feature = "http")]
mod http;
mod in_runs;
mod kinds;
mod knowledge;
mod models;
mod native_tools;
mod output;
mod recorded_lines;
mod recording;
mod runner;
mod scripted;
mod sessions;
mod shown_messages;
mod skills;
mod strict;
mod telemetry;
mod transfer;
