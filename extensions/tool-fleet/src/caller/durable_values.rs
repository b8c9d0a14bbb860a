//! The caller's side of durable calls that are too large for their queue: it stores requests and reads results in the store of large values, and
//! deletes both with the record of the call.

use std::sync::Arc;

use bytes::Bytes;
use tool_runtime::{ErrorKind, ToolContext, ToolError};

use super::{connection::Connection, durable::DurableCalls};
use crate::{
    FleetError, NewCall, QueuedCall,
    queue::{delete_values, value_names},
    values::LargeValues,
};

/// The value of a request that is not a part of a stored call yet; dropping it deletes the value.
pub(super) struct RequestValue<'a> {
    connection: &'a Connection,
    values: Arc<LargeValues>,
    name: String,
    /// The stored call has it.
    is_kept: bool,
}

impl<'a> RequestValue<'a> {
    pub(super) fn new(connection: &'a Connection, values: Arc<LargeValues>, name: String) -> Self {
        Self { connection, values, name, is_kept: false }
    }

    /// Stores the value, unless the call is cancelled or the set is closed meanwhile.
    pub(super) async fn store(&self, value: Bytes, cx: &ToolContext) -> Result<(), ToolError> {
        let stored = tokio::select! {
            stored = self.values.put_sealed(&self.name, value) => stored,
            () = cx.cancellation().cancelled() => return Err(ToolError::cancelled()),
            () = self.connection.closed.cancelled() => {
                return Err(ToolError::new(ErrorKind::Unavailable, "the connection to the workers is closed"));
            }
        };
        stored.map_err(|error| not_queued_error(&error))
    }

    /// Leaves the value to the stored call, or what will remove that one.
    pub(super) fn keep(&mut self, is_kept: bool) {
        self.is_kept = is_kept;
    }
}

impl Drop for RequestValue<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.connection.values.delete_later_from(Arc::clone(&self.values), self.name.clone());
        }
    }
}

/// A request that is sealed for its queue.
pub(super) struct SealedCall {
    pub(super) call: NewCall,
    /// Its request, which the record names.
    pub(super) value: Option<(Arc<LargeValues>, Bytes)>,
}

pub(super) fn not_queued_error(error: &FleetError) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, format!("the call was not queued: {error}"))
}

impl Connection {
    /// Has the task of the connection delete values of durable calls.
    pub(super) fn delete_queued_values(&self, durable: &DurableCalls, names: Vec<String>) {
        let Some(values) = durable.values() else { return };
        for name in names {
            self.values.delete_later_from(Arc::clone(values), name);
        }
    }
}

impl DurableCalls {
    /// Settles the queue; returns the names of the values whose calls were removed.
    pub(super) async fn settle_calls(&self) -> Result<Vec<String>, FleetError> {
        let removed = self.queue().settle_calls().await?;
        Ok(removed.iter().flat_map(|call| self.value_names(call)).collect())
    }

    /// Removes a call that has ended; returns the names of its values, or `None` if another process removed it.
    pub(super) async fn remove_known(&self, call: &QueuedCall) -> Result<Option<Vec<String>>, FleetError> {
        let is_removed = self.queue().remove_call(&call.id).await?;
        Ok(is_removed.then(|| self.value_names(call)))
    }

    /// As [`remove_known`](Self::remove_known), by the id of the call.
    pub(super) async fn remove_by_id(&self, id: &str) -> Result<Option<Vec<String>>, FleetError> {
        let known = match self.values() {
            Some(_) => self.queue().read_call(id).await?,
            None => None,
        };
        match known {
            Some((call, _)) => self.remove_known(&call).await,
            None => Ok(self.queue().remove_call(id).await?.then(Vec::new)),
        }
    }

    pub(super) async fn delete_values(&self, names: Vec<String>) {
        if let Some(values) = self.values() {
            delete_values(values, names).await;
        }
    }

    fn value_names(&self, call: &QueuedCall) -> Vec<String> {
        self.values().map(|values| value_names(values.pool(), call)).unwrap_or_default()
    }
}
