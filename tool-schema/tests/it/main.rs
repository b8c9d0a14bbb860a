//! Tests of the public API of `tool-schema`.
#![allow(missing_docs, dead_code, reason = "fixtures speak for themselves")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

mod canonical;
mod constant_types;
mod examples;
mod flatten;
mod foreign_schemas;
mod forms;
mod integers;
mod maps;
mod names;
mod pointers;
mod repair;
mod schema;
