//! The limits of tasks.

use rmcp::ErrorData;

use crate::server::question_round::UNAVAILABLE;

/// The limits of tasks.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct TaskLimits {
    /// With those that have ended.
    pub(in crate::server) max_tasks: usize,
    /// Of one identity.
    pub(in crate::server) max_tasks_per_caller: usize,
    /// The largest sum of all results.
    pub(in crate::server) max_result_bytes: usize,
}

/// A limit of tasks that is reached.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) enum TaskLimit {
    Server(usize),
    /// The limit of each identity.
    Caller(usize),
}

impl TaskLimit {
    pub(in crate::server) fn to_error(self) -> ErrorData {
        let reason = match self {
            Self::Server(limit) => format!("there are {limit}, the limit of the server"),
            Self::Caller(limit) => format!("this caller has {limit}, the limit of each caller"),
        };
        let message = format!("too many tasks: {reason}, and none of them has ended; try again later");
        ErrorData::new(UNAVAILABLE, message, None)
    }
}
