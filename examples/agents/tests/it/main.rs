//! Runs the example programs as children: on their scripts, and over HTTP against a local server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod agent_tools;
mod chat;
mod ports;
mod programs;
mod terminal;
mod transcripts;
