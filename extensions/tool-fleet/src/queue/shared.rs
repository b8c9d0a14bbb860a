use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tool_runtime::{BoxFuture, definition::ContentHash};

use super::{
    CallQueue, CallState, LeaseState, NewCall, QueueBacklog, QueueEpoch, QueueLimits, QueuedCall, StartGrant,
    TakenCall,
};
use crate::FleetError;

/// A queue that is chosen while the program runs.
impl CallQueue for Arc<dyn CallQueue> {
    fn pool(&self) -> &str {
        (**self).pool()
    }

    fn limits(&self) -> QueueLimits {
        (**self).limits()
    }

    fn max_bytes(&self) -> usize {
        (**self).max_bytes()
    }

    fn put_call(&self, call: NewCall) -> BoxFuture<'_, Result<bool, FleetError>> {
        (**self).put_call(call)
    }

    fn take_call<'a>(
        &'a self,
        keys: &'a [ContentHash],
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<TakenCall>, FleetError>> {
        (**self).take_call(keys, worker, lease)
    }

    fn extend_lease<'a>(
        &'a self,
        call: &'a QueueEpoch,
        lease: Duration,
    ) -> BoxFuture<'a, Result<LeaseState, FleetError>> {
        (**self).extend_lease(call, lease)
    }

    fn start_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<StartGrant, FleetError>> {
        (**self).start_call(call)
    }

    fn return_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<bool, FleetError>> {
        (**self).return_call(call)
    }

    fn end_call<'a>(
        &'a self,
        call: &'a QueueEpoch,
        result: Bytes,
    ) -> BoxFuture<'a, Result<bool, FleetError>> {
        (**self).end_call(call, result)
    }

    fn read_call<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(QueuedCall, Bytes)>, FleetError>> {
        (**self).read_call(id)
    }

    fn find_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<QueuedCall>, FleetError>> {
        (**self).find_call(id)
    }

    fn remove_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, FleetError>> {
        (**self).remove_call(id)
    }

    fn cancel_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<CallState>, FleetError>> {
        (**self).cancel_call(id)
    }

    fn list_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        (**self).list_calls(states)
    }

    fn purge_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        (**self).purge_calls(states)
    }

    fn settle_calls(&self) -> BoxFuture<'_, Result<Vec<QueuedCall>, FleetError>> {
        (**self).settle_calls()
    }

    fn read_backlog(&self) -> BoxFuture<'_, Result<QueueBacklog, FleetError>> {
        (**self).read_backlog()
    }
}
