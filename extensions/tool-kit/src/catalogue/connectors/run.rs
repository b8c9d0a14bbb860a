//! The run of a catalogue: the owner of all tasks of its connectors.

use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use tool_runtime::{CancellationToken, ToolError, guard::catch_async};

use super::{
    ConnectorState,
    connection_task::ConnectionTask,
    table::{RunPhase, SlotTask, TaskTokens},
};
use crate::catalogue::{Catalogue, CatalogueChange, CatalogueInner, CatalogueListener, Delegate};

impl Catalogue {
    /// Connects the connectors that were added by [URL](Self::add_server) and as [sources](Self::add_source), also those that are added meanwhile,
    /// and connects them again when their connections end; until `token` is cancelled. Then it ends all connections and returns after the last task.
    ///
    /// The waits before the attempts of one connector are 0, 2, 4, 8 seconds, doubling to 20 minutes. After 100 attempts it is given up. The waits
    /// begin anew once a connection has held for 60 seconds. While a connector is not connected, its items are in no list and no look-up. A
    /// connector that fails, panics or takes long changes nothing for others.
    ///
    /// Changes of the items are passed to the [`Delegate`] of this catalogue ([`on_event`](Delegate::on_event)).
    ///
    /// A catalogue runs once: afterwards, additions of connectors and [calls](Self::call) are errors. If the future is dropped, its tasks are aborted,
    /// and the run has ended, too.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Conflict` if the catalogue runs already, or its run has ended.
    pub async fn run(&self, token: CancellationToken) -> Result<(), ToolError> {
        self.inner.connectors.change_state(|state| {
            state.check_not_ended()?;
            match std::mem::replace(&mut state.run, RunPhase::Running) {
                RunPhase::Running => Err(ToolError::conflict("the catalogue runs already; run it once")),
                RunPhase::NotStarted | RunPhase::Ended => Ok(()),
            }
        })?;
        // Dropped after `run`, so that an aborted task reads that it was stopped.
        let mut tasks = JoinSet::new();
        let run = CatalogueRun { inner: Arc::clone(&self.inner), token: token.child_token() };
        if let Some(delegate) = &self.callers.delegate {
            let delivery = deliver_events(self.subscribe(), Arc::clone(delegate));
            let token = run.token.clone();
            tasks.spawn(async move { _ = token.run_until_cancelled(delivery).await });
        }
        loop {
            for task in run.claim_queued_connectors() {
                tasks.spawn(task.run());
            }
            tokio::select! {
                biased;
                () = run.token.cancelled() => break,
                Some(ended) = tasks.join_next() => log_task_failure(ended),
                () = self.inner.connectors.added.notified() => {}
            }
        }
        // No connector is added from here on.
        drop(run);
        while let Some(ended) = tasks.join_next().await {
            log_task_failure(ended);
        }
        Ok(())
    }
}

/// The run of a catalogue, which ends when this is dropped.
struct CatalogueRun {
    inner: Arc<CatalogueInner>,
    token: CancellationToken,
}

impl CatalogueRun {
    /// Returns the tasks of the connectors that wait for the run.
    fn claim_queued_connectors(&self) -> Vec<ConnectionTask> {
        let claimed = self.inner.connectors.change_state(|state| {
            let mut claimed = Vec::new();
            for slot in &mut state.slots {
                let Some(source) = slot.source.as_mut().filter(|it| matches!(it.task, SlotTask::Queued))
                else {
                    continue;
                };
                let tokens = TaskTokens { stop: self.token.child_token(), ended: CancellationToken::new() };
                source.task = SlotTask::Running(tokens.clone());
                claimed.push(ConnectionTask::new(&self.inner, slot.id, &slot.key, source, tokens));
            }
            Ok(claimed)
        });
        claimed.unwrap_or_default()
    }
}

impl Drop for CatalogueRun {
    fn drop(&mut self) {
        self.token.cancel();
        let queued = self.inner.connectors.change_state(|state| {
            state.run = RunPhase::Ended;
            let is_queued = |task: &SlotTask| matches!(task, SlotTask::Queued);
            let mut queued = Vec::new();
            for slot in &mut state.slots {
                if let Some(source) = slot.source.as_mut().filter(|source| is_queued(&source.task)) {
                    source.task = SlotTask::Ended;
                    queued.push(slot.id);
                }
            }
            Ok(queued)
        });
        for id in queued.unwrap_or_default() {
            self.inner.set_state(id, ConnectorState::Stopped);
        }
    }
}

/// Passes the changes of items to the delegate, one after another, outside of locks. It delays no connector.
async fn deliver_events(mut events: CatalogueListener, delegate: Arc<dyn Delegate>) {
    while let Some(event) = events.next().await {
        match event {
            Ok(event) if matches!(event.change, CatalogueChange::Connector { .. }) => {}
            Ok(event) => {
                if let Err(panic) = catch_async(|| delegate.on_event(&event)).await {
                    tracing::error!(message = panic.message(), "the delegate panicked in `on_event`");
                }
            }
            Err(lagged) => {
                tracing::warn!(missed = lagged.missed, "the delegate missed events of the catalogue")
            }
        }
    }
}

fn log_task_failure(task_end: Result<(), JoinError>) {
    if let Err(error) = task_end {
        tracing::error!(%error, "a task of a connector ended early");
    }
}
