//! Open calls whose last question was answered.

use std::time::SystemTime;

use tokio::sync::OnceCell;
use tool_core::{CallAddress, ToolError};

use super::OpenCalls;
use crate::{
    ToolCall,
    executor::questions::CallAnswers,
    open_calls::{CallOwner, OpenRecord},
};

/// A call whose last question was answered. It is open until it is about to run, or is answered otherwise.
pub(in crate::executor) struct Confirmed {
    pub(in crate::executor) call: ToolCall,
    /// The answers; the last one is new, and its question has the address of the call.
    pub(in crate::executor) answers: CallAnswers,
    record: OpenRecord,
    /// The result of closing the call, which happens once.
    closed: OnceCell<Result<(), ToolError>>,
}

impl Confirmed {
    pub(super) fn new(call: ToolCall, answers: CallAnswers, record: OpenRecord) -> Self {
        Self { call, answers, record, closed: OnceCell::new() }
    }

    pub(in crate::executor) fn address(&self) -> &CallAddress {
        &self.record.address
    }

    pub(in crate::executor) fn opened_at(&self) -> SystemTime {
        self.record.opened_at
    }

    /// Returns the user and session that the call belongs to.
    pub(in crate::executor) fn owner(&self) -> CallOwner {
        CallOwner::of_record(&self.record)
    }

    /// Closes the call, so that it can no longer be answered elsewhere.
    ///
    /// # Errors
    ///
    /// Returns an error if it was closed elsewhere; then the call must not run here. Later calls return the first
    /// result.
    pub(in crate::executor) async fn close(&self, open: &OpenCalls) -> Result<(), ToolError> {
        let close = || async { open.consume(&self.record).await.map_err(ToolError::from) };
        self.closed.get_or_init(close).await.clone()
    }
}
