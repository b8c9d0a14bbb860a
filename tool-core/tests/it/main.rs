//! Tests of the public API of `tool-core`, without the attributes.
#![allow(missing_docs, dead_code, reason = "fixtures speak for themselves")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may"
)]

mod arguments;
mod attributes;
mod canonical;
mod children;
mod context;
mod definition;
mod definition_parts;
mod error;
mod feedback;
mod name;
mod output;
mod redaction;
mod request;
mod run;
mod source;
mod tool;
