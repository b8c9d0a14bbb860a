//! Open calls that cancel their durable calls.

use std::future::Future;

use tool_runtime::{
    call::CallAddress,
    open_calls::{OpenCallStore, OpenFilter, OpenKind, OpenRecord, OpenStoreError},
};

use super::durable::DurableCalls;
use crate::CallState;

/// A store of open calls that cancels the durable call of each open call that is discarded, or answered otherwise than by its result: when a
/// person rejects it, or an agent goes on without it. A call that is opened again, since its body continues its work, goes on. It forwards all else to
/// another store.
///
/// # Examples
///
/// ```
/// use tool_fleet::{DurableCalls, DurableOpenCalls, MemoryCallQueue};
/// use tool_runtime::{Executor, Registry, open_calls::{MemoryOpenCalls, ProgramKey}};
///
/// let key = ProgramKey::new([7; 32]).pool_key("models");
/// let durable = DurableCalls::new(MemoryCallQueue::new("models"), key)?;
/// let store = DurableOpenCalls::new(MemoryOpenCalls::new(), durable);
/// let executor = Executor::builder(Registry::builder().build()?).open_calls(store).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DurableOpenCalls<S> {
    inner: S,
    durable: DurableCalls,
}

impl<S: OpenCallStore> DurableOpenCalls<S> {
    /// Adds the cancellation of `durable` to a store.
    #[must_use]
    pub fn new(inner: S, durable: DurableCalls) -> Self {
        Self { inner, durable }
    }

    /// Cancels the durable call of an open call that is closed. Without one, or if it has ended, nothing happens.
    async fn cancel_durable_call(&self, address: &CallAddress) {
        let cancelling = async {
            let cancelled = self.durable.cancel_listed(address).await?;
            if let Some((id, CallState::Queued)) = cancelled {
                // It has no open call that its end could answer.
                self.durable.remove_ended(&id).await?;
            }
            Ok::<_, crate::FleetError>(())
        };
        if let Err(error) = cancelling.await {
            tracing::warn!(call = %address, %error, "the durable call of a closed call was not cancelled, and goes on");
        }
    }
}

impl<S: OpenCallStore> OpenCallStore for DurableOpenCalls<S> {
    fn outlives_process(&self) -> bool {
        self.inner.outlives_process()
    }

    async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        let (address, kind) = (record.address.clone(), record.kind);
        let put = self.inner.put(record).await;
        if put.is_err() && kind == OpenKind::LongRunning {
            // The call is answered with the error.
            self.cancel_durable_call(&address).await;
        }
        put
    }

    fn get(
        &self,
        address: &CallAddress,
    ) -> impl Future<Output = Result<Option<OpenRecord>, OpenStoreError>> + Send {
        self.inner.get(address)
    }

    fn list(
        &self,
        filter: &OpenFilter,
    ) -> impl Future<Output = Result<Vec<OpenRecord>, OpenStoreError>> + Send {
        self.inner.list(filter)
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        let is_consumed = self.inner.consume(record).await?;
        if is_consumed && record.kind == OpenKind::LongRunning {
            self.cancel_durable_call(&record.address).await;
        }
        Ok(is_consumed)
    }

    fn replace(
        &self,
        record: &OpenRecord,
        replacement: OpenRecord,
    ) -> impl Future<Output = Result<bool, OpenStoreError>> + Send {
        self.inner.replace(record, replacement)
    }
}
