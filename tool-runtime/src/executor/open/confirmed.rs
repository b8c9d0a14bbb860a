//! Open calls whose last question was answered, or whose work continues.

use std::{sync::Arc, time::SystemTime};

use tokio::sync::OnceCell;
use tool_core::{CallAddress, RunContext, ToolError};

use super::OpenCalls;
use crate::{
    ToolCall,
    executor::questions::QuestionAnswers,
    open_calls::{CallOwner, OpenCallError, OpenRecord},
};

/// A call whose last question was answered: it is open until it is about to run, or is answered otherwise. Or a long-running call whose
/// body [continues](Self::continues): it is open until it has its result.
pub(in crate::executor) struct Confirmed {
    pub(in crate::executor) call: ToolCall,
    /// The answers; the last one is new, and its question has the address of the call.
    pub(in crate::executor) answers: QuestionAnswers,
    /// `true` if the body continues: it was permitted and counted when it began.
    pub(in crate::executor) continues: bool,
    record: OpenRecord,
    /// The result of closing or replacing the open call, which happens once.
    closed: OnceCell<Result<(), ToolError>>,
}

impl Confirmed {
    pub(super) fn new(call: ToolCall, answers: QuestionAnswers, record: OpenRecord) -> Self {
        Self { call, answers, continues: false, record, closed: OnceCell::new() }
    }

    pub(super) fn continuing(call: ToolCall, record: OpenRecord) -> Self {
        Self { continues: true, ..Self::new(call, QuestionAnswers::default(), record) }
    }

    pub(in crate::executor) fn address(&self) -> &CallAddress {
        &self.record.address
    }

    pub(in crate::executor) fn opened_at(&self) -> SystemTime {
        self.record.opened_at
    }

    /// Returns the user and session that a call belongs to. If it was open before, it stays with them, also if another user answers.
    pub(in crate::executor) fn owner_of(
        confirmed: Option<&Self>,
        run: Option<&Arc<RunContext>>,
    ) -> CallOwner {
        match confirmed {
            Some(confirmed) => CallOwner::of_record(&confirmed.record),
            None => run.map(|run| CallOwner::of_run(run)).unwrap_or_default(),
        }
    }

    /// Closes the call, so that it can no longer be answered elsewhere.
    ///
    /// # Errors
    ///
    /// Returns an error if it was closed elsewhere; then the call must not run here. Later calls return the first
    /// result.
    pub(in crate::executor) async fn close(&self, open: &OpenCalls) -> Result<(), ToolError> {
        let close = || async {
            let closed = match self.continues {
                true => open.change_present_record(&self.record, None).await,
                false => open.consume(&self.record).await,
            };
            closed.map_err(ToolError::from)
        };
        self.closed.get_or_init(close).await.clone()
    }

    /// Opens the call again by `record`: in place of its present one, unless that was [closed](Self::close).
    ///
    /// # Errors
    ///
    /// Returns an error if it was closed elsewhere, or cannot be stored.
    pub(in crate::executor) async fn reopen(
        &self,
        open: &OpenCalls,
        record: OpenRecord,
    ) -> Result<(), ToolError> {
        match self.closed.get() {
            Some(closed) => {
                closed.clone()?;
                open.put(record).await
            }
            None => {
                let replace = || async { self.replace_record(open, &record).await.map_err(ToolError::from) };
                self.closed.get_or_init(replace).await.clone()
            }
        }
    }

    /// Replaces the record. After a failure of the store, the call is answered with the error, and must not be answered once more.
    async fn replace_record(&self, open: &OpenCalls, replacement: &OpenRecord) -> Result<(), OpenCallError> {
        let replaced = match self.continues {
            true => open.change_present_record(&self.record, Some(replacement)).await,
            false => open.replace(&self.record, replacement).await,
        };
        if let Err(OpenCallError::Store(_)) = &replaced {
            open.consume_if_possible(&[&self.record, replacement]).await;
        }
        replaced
    }
}
