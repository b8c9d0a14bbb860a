//! The start of a body with effects, which the owner of the call gives once.

use std::{sync::Arc, time::Duration};

use tool_runtime::{
    CallOutcome, ErrorKind, RunContext, ToolError,
    call::CallAddress,
    executor::{CallIntent, CallJournal, SharedCallJournal},
};

use super::{call::Reporter, state::RunningCall};
use crate::message::Report;

/// The times that the start is asked for, each a heartbeat apart. Then the caller is gone, and the call gives up its slot.
const MAX_CLAIMS: u32 = 5;

/// Obtains the start from the caller before the intent of a body is stored in the journal of the worker's own executor.
pub(super) struct ClaimJournal {
    pub(super) reporter: Arc<Reporter>,
    pub(super) running: Arc<RunningCall>,
    pub(super) heartbeat: Duration,
    pub(super) own: Option<SharedCallJournal>,
}

impl ClaimJournal {
    /// Asks the caller for the start until it gives it. One that gives none cancels the call, or is gone.
    async fn obtain_start(&self) -> Result<(), ToolError> {
        for _ in 0..MAX_CLAIMS {
            // One that is not sent is as one that is lost.
            self.reporter.send_if_possible(Report::Claim).await;
            if tokio::time::timeout(self.heartbeat, self.running.started.notified()).await.is_ok() {
                return Ok(());
            }
        }
        let problem = "the caller did not give the start of the call in time; the tool did not run";
        Err(ToolError::new(ErrorKind::Unavailable, problem))
    }
}

impl CallJournal for ClaimJournal {
    async fn starting(&self, intent: &CallIntent, run: Option<&RunContext>) -> Result<(), ToolError> {
        self.obtain_start().await?;
        match &self.own {
            Some(own) => own.starting(intent, run).await,
            None => Ok(()),
        }
    }

    async fn ended(&self, address: &CallAddress, outcome: &CallOutcome, run: Option<&RunContext>) {
        if let Some(own) = &self.own {
            own.ended(address, outcome, run).await;
        }
    }
}
