//! A queue that fails at times, and that notes the calls which its process removes.

use std::{future::Future, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use tool_fleet::{
    CallQueue, CallState, FleetError, LeaseState, NewCall, QueueEpoch, QueueLimits, QueuedCall, StartGrant,
    TakenCall,
};
use tool_runtime::{BoxFuture, definition::ContentHash};

use crate::{faults::Faults, lines::Lines};

/// The file with the ids of the calls that processes have removed, or were about to.
pub(crate) const REMOVALS_FILE: &str = "removals";

pub(crate) struct ChaosQueue {
    inner: Arc<dyn CallQueue>,
    faults: Option<Faults>,
    removals: Option<(String, Lines)>,
}

impl ChaosQueue {
    pub(crate) fn new(inner: Arc<dyn CallQueue>) -> Self {
        Self { inner, faults: None, removals: None }
    }

    pub(crate) fn with_faults(self, faults: Faults) -> Self {
        Self { faults: Some(faults), ..self }
    }

    /// Notes the removals of the process `name`, each before it takes place.
    pub(crate) fn noting_removals(self, folder: &Path, name: &str) -> Self {
        Self { removals: Some((name.to_owned(), Lines::open(folder, REMOVALS_FILE))), ..self }
    }

    fn check_broker(&self) -> Result<(), FleetError> {
        self.faults.as_ref().map_or(Ok(()), Faults::check_broker)
    }

    /// Fails before the operation, or after it: then its answer is lost.
    async fn perform<T>(
        &self,
        operation: impl Future<Output = Result<T, FleetError>>,
    ) -> Result<T, FleetError> {
        self.check_broker()?;
        let answer = operation.await?;
        self.check_broker()?;
        Ok(answer)
    }
}

impl CallQueue for ChaosQueue {
    fn pool(&self) -> &str {
        self.inner.pool()
    }

    fn limits(&self) -> QueueLimits {
        self.inner.limits()
    }

    fn max_bytes(&self) -> usize {
        self.inner.max_bytes()
    }

    fn put_call(&self, call: NewCall) -> BoxFuture<'_, Result<bool, FleetError>> {
        Box::pin(self.perform(self.inner.put_call(call)))
    }

    fn take_call<'a>(
        &'a self,
        keys: &'a [ContentHash],
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<TakenCall>, FleetError>> {
        Box::pin(self.perform(self.inner.take_call(keys, worker, lease)))
    }

    fn extend_lease<'a>(
        &'a self,
        call: &'a QueueEpoch,
        lease: Duration,
    ) -> BoxFuture<'a, Result<LeaseState, FleetError>> {
        Box::pin(self.perform(self.inner.extend_lease(call, lease)))
    }

    fn start_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<StartGrant, FleetError>> {
        Box::pin(self.perform(self.inner.start_call(call)))
    }

    fn return_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<bool, FleetError>> {
        Box::pin(self.perform(self.inner.return_call(call)))
    }

    fn end_call<'a>(
        &'a self,
        call: &'a QueueEpoch,
        result: Bytes,
    ) -> BoxFuture<'a, Result<bool, FleetError>> {
        Box::pin(self.perform(self.inner.end_call(call, result)))
    }

    fn read_call<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(QueuedCall, Bytes)>, FleetError>> {
        Box::pin(self.perform(self.inner.read_call(id)))
    }

    fn remove_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, FleetError>> {
        if let Some((process, lines)) = &self.removals {
            lines.add_line(&format!("{id} {process}"));
        }
        Box::pin(self.perform(self.inner.remove_call(id)))
    }

    fn cancel_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<CallState>, FleetError>> {
        Box::pin(self.perform(self.inner.cancel_call(id)))
    }

    fn list_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        Box::pin(self.perform(self.inner.list_calls(states)))
    }

    fn purge_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        Box::pin(self.perform(self.inner.purge_calls(states)))
    }

    fn settle_calls(&self) -> BoxFuture<'_, Result<Vec<QueuedCall>, FleetError>> {
        Box::pin(self.perform(self.inner.settle_calls()))
    }
}
