//! What shows only in programs of their own: what the compiler says, and what the linker keeps.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

mod fixtures;
pub mod lints;
mod messages;
