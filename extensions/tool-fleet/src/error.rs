use std::{fmt, time::Duration};

use tool_runtime::open_calls::OpenCallError;

/// An error of the connection between workers and callers.
#[derive(Debug)]
#[non_exhaustive]
pub enum FleetError {
    /// A setting is out of its range, a queue is one of another pool, or a stream or store has other settings than are needed: the text says which.
    Invalid(String),
    /// The name of a pool is no part of a subject.
    InvalidPool(String),
    /// A message is larger than the broker takes.
    TooLarge {
        /// The size of the message, in bytes.
        bytes: usize,
        /// The limit of the broker, in bytes.
        limit: usize,
    },
    /// A value is larger than a store of large values takes.
    ValueTooLarge {
        /// The size of the value, in bytes.
        bytes: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The store of large values failed, or holds another value than the one that was stored.
    ValueStore(String),
    /// The broker cannot be reached, or refused.
    Transport(String),
    /// A message cannot be written or sealed.
    Unwritable(String),
    /// A durable call or its result would exceed a limit of its queue, and was not stored.
    QueueFull {
        /// The name of the pool.
        pool: String,
        /// The unit of the numbers: `calls` or `bytes`.
        unit: &'static str,
        /// The limit.
        limit: u64,
        /// The contents of the queue.
        used: u64,
        /// The part that has no room.
        needed: u64,
    },
    /// The request or result of a durable call is larger than its queue takes.
    TooLargeForQueue {
        /// The size of the sealed request or result, in bytes.
        bytes: usize,
        /// The limit of the queue, in bytes.
        limit: usize,
    },
    /// The store of open calls failed.
    OpenCalls(OpenCallError),
    /// Calls ran for longer than a worker that was stopped had time.
    CallsDropped {
        /// The number of calls, which may have taken effect.
        calls: usize,
        /// The time that they had.
        drain: Duration,
    },
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(problem) => f.write_str(problem),
            Self::InvalidPool(name) => {
                write!(f, "the name of a pool has 1 to 64 letters, digits, `-` and `_`, not {name:?}")
            }
            Self::TooLarge { bytes, limit } => {
                write!(
                    f,
                    "the message has {bytes} bytes, and the broker takes at most {limit}; nothing was sent: send less, or give workers and callers a \
                     store of large values"
                )
            }
            Self::ValueTooLarge { bytes, limit } => {
                write!(
                    f,
                    "the value has {bytes} bytes, and a store of large values takes at most {limit}; nothing was sent: send less"
                )
            }
            Self::ValueStore(problem) => write!(f, "the store of large values failed: {problem}"),
            Self::Transport(problem) => write!(f, "the broker failed: {problem}"),
            Self::Unwritable(problem) => write!(f, "a message cannot be written: {problem}"),
            Self::QueueFull { pool, unit, limit, used, needed } => write!(
                f,
                "the queue of the pool `{pool}` is full: it has {used} of {limit} {unit}, and {needed} more are needed; start more workers, take \
                 results (`DurableCalls::answer_open_calls`), or raise `QueueLimits::{unit}` of callers and workers; `fleet purge` also makes room, and drops \
                 results that were not taken"
            ),
            Self::TooLargeForQueue { bytes, limit } => write!(
                f,
                "it has {bytes} bytes, and the queue of durable calls takes at most {limit}; give callers and workers a store of large values \
                 (`DurableCalls::value_store`, `Worker::value_store`), or raise the limit of the server or database"
            ),
            Self::OpenCalls(error) => error.fmt(f),
            Self::CallsDropped { calls, drain } => {
                let calls = if *calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
                write!(
                    f,
                    "{calls} did not end within {drain:?} of the stop, and may have taken effect; read-only and idempotent ones run elsewhere: give the worker more time (`Worker::drain`, `work --drain`)"
                )
            }
        }
    }
}

impl std::error::Error for FleetError {}
