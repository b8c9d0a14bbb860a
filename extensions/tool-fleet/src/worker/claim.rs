//! The start of a body with effects, which the owner of the call gives once.

use std::sync::Arc;

use tool_runtime::{
    CallOutcome, RunContext, ToolError,
    call::CallAddress,
    executor::{CallIntent, CallJournal, SharedCallJournal},
};

use super::{call::Reporter, state::RunningCall};
use crate::message::Report;

/// Obtains the start from the caller before the intent of a body is stored in the journal of the worker's own executor.
pub(super) struct ClaimJournal {
    pub(super) reporter: Arc<Reporter>,
    pub(super) running: RunningCall,
    pub(super) own: Option<SharedCallJournal>,
}

impl CallJournal for ClaimJournal {
    async fn starting(&self, intent: &CallIntent, run: Option<&RunContext>) -> Result<(), ToolError> {
        self.reporter.send(Report::Claim).await?;
        // A caller that gives no start cancels the call, or is gone: the time of the call ends the wait.
        self.running.started.notified().await;
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
