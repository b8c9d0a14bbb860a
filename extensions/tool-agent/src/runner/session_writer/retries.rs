//! The attempts of one operation of a store.

use std::time::Duration;

use tokio::time::Instant;
use tool_runtime::RunContext;
use tool_session::SessionError;

use super::{EndReason, RETRY_PAUSE, StoreAccess, instant_after, store_failure};

/// The attempts of one operation.
pub(in crate::runner) struct StoreRetries {
    timeout: Duration,
    end: Instant,
    deadline: Option<Instant>,
    /// `false` for a store whose operations do not wait, so that a run needs no timer.
    may_wait: bool,
}

impl StoreRetries {
    pub(in crate::runner) fn new(access: &StoreAccess, run: &RunContext) -> Self {
        let deadline = run.deadline().map(Instant::from_std);
        Self {
            timeout: access.timeout,
            end: instant_after(access.timeout),
            deadline,
            may_wait: !access.is_own,
        }
    }

    /// Makes an attempt, which ends with the time of the operation. The first one does not depend on the deadline of the run, so
    /// that the end of a run is stored that ended by it.
    pub(in crate::runner) async fn attempt<T>(
        &self,
        operation: impl Future<Output = Result<T, SessionError>>,
    ) -> Result<T, SessionError> {
        if !self.may_wait {
            return operation.await;
        }
        tokio::time::timeout_at(self.end, operation).await.unwrap_or_else(|_| {
            Err(SessionError::Failed(format!("the store did not answer within {:?}", self.timeout)))
        })
    }

    /// Waits before the next attempt; returns the end of the run if there is none.
    pub(in crate::runner) async fn pause_after(&mut self, error: SessionError) -> Result<(), EndReason> {
        let now = Instant::now();
        let is_late = now >= self.end || self.deadline.is_some_and(|deadline| now >= deadline);
        match error {
            SessionError::Superseded { run } => Err(EndReason::Superseded { run }),
            SessionError::Unavailable(_) if !is_late => {
                tokio::time::sleep(RETRY_PAUSE).await;
                Ok(())
            }
            error => Err(store_failure(&error)),
        }
    }
}
