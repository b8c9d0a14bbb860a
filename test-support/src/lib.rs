//! Servers and collectors that the tests of several packages share. The crate depends on no package of this workspace, so that each
//! of them can use it.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

#[cfg(feature = "tracing")]
pub mod collectors;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod skipped;
