//! A handle to a store, which several executors can share.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, SystemTime},
};

use tool_core::{BoxFuture, CallAddress, ToolError};

use super::{MemoryOpenCalls, OpenCallStore, OpenFilter, OpenRecord, OpenStoreError, ProgramKey};
use crate::{
    guard::{GuardedArc, catch},
    millis,
    panics::run_component,
};

/// A handle to an [`OpenCallStore`] of any type; clones share the store. Executors with clones of one handle can answer
/// each other's calls.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Executor, Registry, open_calls::{MemoryOpenCalls, SharedOpenCallStore}};
///
/// let store = SharedOpenCallStore::new(MemoryOpenCalls::new().at_most(100));
/// let tools = || Registry::builder().build();
/// let one = Executor::builder(tools()?).open_calls(store.clone()).build()?;
/// let other = Executor::builder(tools()?).open_calls(store).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SharedOpenCallStore {
    inner: Arc<StoreState>,
}

struct StoreState {
    store: GuardedArc<dyn ErasedOpenCallStore>,
    outlives_process: bool,
    /// The key of a store that does not outlive the process, if the program has none.
    key: ProgramKey,
    /// The counter of calls.
    serials: Arc<AtomicU64>,
}

impl SharedOpenCallStore {
    /// Creates a handle to `store`.
    #[must_use]
    pub fn new(store: impl OpenCallStore + 'static) -> Self {
        // A store that panics here is treated as one that outlives the process, which is the stricter case.
        let outlives_process = catch(|| store.outlives_process()).unwrap_or(true);
        let inner = StoreState {
            store: GuardedArc::new(Arc::new(store)),
            outlives_process,
            key: ProgramKey::of_process(),
            serials: serials(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn memory() -> Self {
        Self::new(MemoryOpenCalls::new())
    }

    /// Returns `true` if the records persist after the process ends.
    #[must_use]
    pub fn outlives_process(&self) -> bool {
        self.inner.outlives_process
    }

    pub(crate) fn key(&self) -> &ProgramKey {
        &self.inner.key
    }

    pub(crate) fn serials(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.inner.serials)
    }

    fn store(&self) -> &dyn ErasedOpenCallStore {
        &*self.inner.store
    }

    pub(crate) async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        flatten_panic(run_component(WHO, || self.store().put(record)).await)
    }

    pub(crate) async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        flatten_panic(run_component(WHO, || self.store().get(address)).await)
    }

    /// Returns all records that `filter` [admits](OpenFilter::admits), in any order.
    /// [`Executor::open_call`](crate::Executor::open_call) validates each, and returns its call.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read.
    pub async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        flatten_panic(run_component(WHO, || self.store().list(filter)).await)
    }

    pub(crate) async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        flatten_panic(run_component(WHO, || self.store().consume(record)).await)
    }

    pub(crate) async fn replace(
        &self,
        record: &OpenRecord,
        replacement: OpenRecord,
    ) -> Result<bool, OpenStoreError> {
        flatten_panic(run_component(WHO, || self.store().replace(record, replacement)).await)
    }
}

/// The component named in the report of a panic.
const WHO: &str = "the store of open calls";

/// Converts a panic of a store into a failure of the store.
fn flatten_panic<T>(done: Result<Result<T, OpenStoreError>, ToolError>) -> Result<T, OpenStoreError> {
    done.unwrap_or_else(|panic| Err(OpenStoreError::Failed(panic.feedback())))
}

impl fmt::Debug for SharedOpenCallStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outlives_process = self.outlives_process();
        f.debug_struct("SharedOpenCallStore")
            .field("outlives_process", &outlives_process)
            .finish_non_exhaustive()
    }
}

impl<S: OpenCallStore + 'static> From<S> for SharedOpenCallStore {
    fn from(store: S) -> Self {
        Self::new(store)
    }
}

/// Creates a counter of calls.
pub(crate) fn serials() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(first_serial(SystemTime::now())))
}

/// Returns the first serial of a counter. Its upper digits are the time, so that later counters have larger serials;
/// its lower digits are random, so that no two counters start equally and an address from before a restart never
/// matches a later call. Serials have at most 53 bits, which every JSON reader preserves.
fn first_serial(now: SystemTime) -> u64 {
    const RANDOM: u32 = 14;
    /// 2020-01-01 in milliseconds since the Unix epoch.
    const START: i64 = 1_577_836_800_000;
    let since = u64::try_from(millis::epoch_millis(now).saturating_sub(START)).unwrap_or_default();
    let random = RandomState::new().hash_one(now.elapsed().unwrap_or(Duration::ZERO)) >> (64 - RANDOM);
    (since & ((1 << 39) - 1)) << RANDOM | random
}

/// The object-safe form of [`OpenCallStore`].
trait ErasedOpenCallStore: Send + Sync {
    fn put(&self, record: OpenRecord) -> BoxFuture<'_, Result<(), OpenStoreError>>;
    fn get<'a>(
        &'a self,
        address: &'a CallAddress,
    ) -> BoxFuture<'a, Result<Option<OpenRecord>, OpenStoreError>>;
    fn list<'a>(&'a self, filter: &'a OpenFilter) -> BoxFuture<'a, Result<Vec<OpenRecord>, OpenStoreError>>;
    fn consume<'a>(&'a self, record: &'a OpenRecord) -> BoxFuture<'a, Result<bool, OpenStoreError>>;
    fn replace<'a>(
        &'a self,
        record: &'a OpenRecord,
        replacement: OpenRecord,
    ) -> BoxFuture<'a, Result<bool, OpenStoreError>>;
}

impl<S: OpenCallStore> ErasedOpenCallStore for S {
    fn put(&self, record: OpenRecord) -> BoxFuture<'_, Result<(), OpenStoreError>> {
        Box::pin(OpenCallStore::put(self, record))
    }

    fn get<'a>(
        &'a self,
        address: &'a CallAddress,
    ) -> BoxFuture<'a, Result<Option<OpenRecord>, OpenStoreError>> {
        Box::pin(OpenCallStore::get(self, address))
    }

    fn list<'a>(&'a self, filter: &'a OpenFilter) -> BoxFuture<'a, Result<Vec<OpenRecord>, OpenStoreError>> {
        Box::pin(OpenCallStore::list(self, filter))
    }

    fn consume<'a>(&'a self, record: &'a OpenRecord) -> BoxFuture<'a, Result<bool, OpenStoreError>> {
        Box::pin(OpenCallStore::consume(self, record))
    }

    fn replace<'a>(
        &'a self,
        record: &'a OpenRecord,
        replacement: OpenRecord,
    ) -> BoxFuture<'a, Result<bool, OpenStoreError>> {
        Box::pin(OpenCallStore::replace(self, record, replacement))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn serials_of_later_processes_are_larger_and_have_53_bits() {
        let at = |millis: i64| first_serial(millis::time_at_epoch_millis(millis).unwrap());
        let now = millis::epoch_millis(SystemTime::now());
        assert!(at(now) < at(now + 1) && at(now + 1) < at(now + 1_000_000));
        assert!(at(now + 1_000_000_000) < 1 << 53);
        assert!((0..64).map(|_| at(now)).collect::<std::collections::HashSet<_>>().len() > 1);
        assert!(at(-1) < 1 << 14);
        // Milliseconds above 14 random bits, and no more than 39 bits of them.
        const START: i64 = 1_577_836_800_000;
        for millis in [0, 1, 2, 3, (1 << 39) - 2] {
            let [one, next] = [millis, millis + 1].map(|millis| at(START + millis) >> 14);
            assert_eq!((one, next), (millis as u64, millis as u64 + 1));
        }
        assert_eq!(at(START + (1 << 39) + 5) >> 14, 5);
    }
}
