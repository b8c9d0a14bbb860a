//! The parts of messages that servers get wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[cfg(feature = "http")]
mod awaited;
mod envelope;
mod json;
mod lines;
#[cfg(feature = "http")]
mod losses;
#[cfg(feature = "http")]
mod reception;
mod waiting_calls;
