//! Calls to whose last question there is an answer.

use std::time::SystemTime;

use tokio::sync::OnceCell;
use tool_core::{CallAddress, ToolError};

use super::OpenCalls;
use crate::{ToolCall, executor::questions::Given, open_calls::OpenRecord};

/// A call to whose last question there is an answer now. It is open until it is about to run, or is answered otherwise.
pub(in crate::executor) struct Confirmed {
    pub(in crate::executor) call: ToolCall,
    /// The last answer is the new one, and its question has the address of the call.
    pub(in crate::executor) given: Given,
    record: OpenRecord,
    /// How it was closed, which happens once.
    closed: OnceCell<Result<(), ToolError>>,
}

impl Confirmed {
    pub(super) fn new(call: ToolCall, given: Given, record: OpenRecord) -> Self {
        Self { call, given, record, closed: OnceCell::new() }
    }

    pub(in crate::executor) fn address(&self) -> &CallAddress {
        &self.record.address
    }

    pub(in crate::executor) fn opened_at(&self) -> SystemTime {
        self.record.opened_at
    }

    /// Closes the call: from now on, nobody else answers it.
    ///
    /// # Errors
    ///
    /// If somebody else has done so; then the call must not run here. What is given the first time is given always.
    pub(in crate::executor) async fn close(&self, open: &OpenCalls) -> Result<(), ToolError> {
        let close = || async { open.consume(&self.record).await.map_err(ToolError::from) };
        self.closed.get_or_init(close).await.clone()
    }
}
