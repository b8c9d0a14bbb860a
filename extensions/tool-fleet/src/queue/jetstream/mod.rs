//! Durable calls in a stream of JetStream, of a server of NATS of version 2.9 or later.
//!
//! | subject below `tools.POOL.durable` | message | stored if |
//! | --- | --- | --- |
//! | `requests.ID.HASH` | the sealed request with this hash | there was none |
//! | `calls.ID` | the record, as JSON | the last record is the one that was changed (`Nats-Expected-Last-Subject-Sequence`) |
//! | `starts.HASH` | the start of the request with this hash | there was none: a record that a client of the broker repeats is not started again |
//! | `results.ID.HASH.EPOCH` | the sealed result of the call with this request | always; the record then names its epoch |
//!
//! Each process has a view of all records, which the server keeps up to date; a change of an old view is refused, and tried again. The lease of a
//! record is over once a process has seen it unchanged for as long: no clocks are compared.

mod entries;
mod lost_answers;
mod queue;
mod record;
mod records;
mod settle;
mod starts;
mod stream;
mod take;
mod view;

pub use self::queue::JetStreamCallQueue;
