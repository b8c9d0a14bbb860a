//! Durable calls as rows of a table beside those of the transport.
//!
//! Each operation is one statement that can be repeated. A worker takes a row that no other one has locked (`SKIP LOCKED`), and each change names
//! the epoch that it expects.

mod queue;
mod record;
mod settle;
mod take;

pub use self::queue::PostgresCallQueue;
