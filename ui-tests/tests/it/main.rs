//! Tests that need separate programs: compiler messages, and linking.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

mod fixtures;
pub mod lints;
mod messages;
