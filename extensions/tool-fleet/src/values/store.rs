//! The trait of a store of large values.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tool_runtime::BoxFuture;

use crate::FleetError;

/// The maximum size of a large value, sealed: 64 MiB.
pub const MAX_VALUE_BYTES: usize = 64 << 20;

const DEFAULT_LIFETIME: Duration = Duration::from_secs(3 * 24 * 3600);

/// A store of sealed bytes for arguments and results above the limit of the broker, which workers and callers of a pool reach. With the feature
/// `artifacts`, `ArtifactValues` is one.
///
/// Names are random, and have at most 100 letters, digits, `-`, `_` and `.`. Bytes are encrypted and authenticated under the key of the pool, so
/// that the store sees names, sizes and times. It is not trusted: it may lose, cut or replace what it holds. Operations have 60 s each; a panic
/// is an error.
///
/// Values are deleted by the caller, and those of a durable call by the process that removes its record. A process that was killed leaves its values: a
/// store removes what is older than its [lifetime](Self::lifetime).
///
/// # Examples
///
/// A store of one process, for tests:
///
/// ```
/// use std::{
///     collections::HashMap,
///     sync::{Arc, Mutex},
/// };
///
/// use bytes::Bytes;
/// use tool_fleet::{FleetError, FleetToolSet, MemoryTransport, ValueStore, Worker};
/// use tool_runtime::{BoxFuture, Executor, Registry, open_calls::ProgramKey};
///
/// #[derive(Clone, Default)]
/// struct InMemoryValues(Arc<Mutex<HashMap<String, Bytes>>>);
///
/// impl ValueStore for InMemoryValues {
///     fn put<'a>(&'a self, name: &'a str, value: Bytes) -> BoxFuture<'a, Result<(), FleetError>> {
///         self.0.lock().unwrap().insert(name.to_owned(), value);
///         Box::pin(async { Ok(()) })
///     }
///
///     fn get<'a>(&'a self, name: &'a str, max_bytes: usize) -> BoxFuture<'a, Result<Option<Bytes>, FleetError>> {
///         let value = self.0.lock().unwrap().get(name).filter(|value| value.len() <= max_bytes).cloned();
///         Box::pin(async { Ok(value) })
///     }
///
///     fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), FleetError>> {
///         self.0.lock().unwrap().remove(name);
///         Box::pin(async { Ok(()) })
///     }
/// }
///
/// # async fn example() -> anyhow::Result<()> {
/// let key = ProgramKey::new([7; 32]).pool_key("math");
/// let (transport, values) = (MemoryTransport::new(), InMemoryValues::default());
/// let worker = Worker::new(Executor::new(Registry::discover()?), key.clone()).value_store(values.clone());
/// let set = FleetToolSet::connect(transport, key).await?.with_value_store(values);
/// # drop((worker, set));
/// # Ok(())
/// # }
/// ```
pub trait ValueStore: Send + Sync + 'static {
    /// Stores a value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value was not stored, as far as it is known.
    fn put<'a>(&'a self, name: &'a str, value: Bytes) -> BoxFuture<'a, Result<(), FleetError>>;

    /// Reads a value; `None` if there is none. An implementation reads no more than `max_bytes` into memory.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read, and for a value of more than `max_bytes`.
    fn get<'a>(&'a self, name: &'a str, max_bytes: usize)
    -> BoxFuture<'a, Result<Option<Bytes>, FleetError>>;

    /// Returns the time for which a value that no process deletes is kept at least: longer than calls run, and than the queue of durable calls keeps a call and
    /// then its result ([`QueueLimits`](crate::QueueLimits)). Default: 3 days.
    fn lifetime(&self) -> Duration {
        DEFAULT_LIFETIME
    }

    /// Deletes a value; a missing one is deleted already.
    ///
    /// # Errors
    ///
    /// Returns an error if the value was not deleted, as far as it is known.
    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), FleetError>>;
}

/// A store that is chosen while the program runs.
impl ValueStore for Arc<dyn ValueStore> {
    fn put<'a>(&'a self, name: &'a str, value: Bytes) -> BoxFuture<'a, Result<(), FleetError>> {
        (**self).put(name, value)
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        max_bytes: usize,
    ) -> BoxFuture<'a, Result<Option<Bytes>, FleetError>> {
        (**self).get(name, max_bytes)
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), FleetError>> {
        (**self).delete(name)
    }

    fn lifetime(&self) -> Duration {
        (**self).lifetime()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::{
        collections::HashMap,
        sync::{Mutex, PoisonError},
    };

    use super::*;

    #[derive(Default)]
    struct Values(Mutex<HashMap<String, Bytes>>, Option<Duration>);

    impl Values {
        fn change<T>(
            &self,
            change: impl FnOnce(&mut HashMap<String, Bytes>) -> T,
        ) -> BoxFuture<'_, Result<T, FleetError>>
        where
            T: Send + 'static,
        {
            let changed = change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
            Box::pin(async { Ok(changed) })
        }
    }

    impl ValueStore for Values {
        fn put<'a>(&'a self, name: &'a str, value: Bytes) -> BoxFuture<'a, Result<(), FleetError>> {
            self.change(|values| drop(values.insert(name.to_owned(), value)))
        }

        fn get<'a>(
            &'a self,
            name: &'a str,
            max_bytes: usize,
        ) -> BoxFuture<'a, Result<Option<Bytes>, FleetError>> {
            self.change(|values| values.get(name).filter(|value| value.len() <= max_bytes).cloned())
        }

        fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), FleetError>> {
            self.change(|values| drop(values.remove(name)))
        }

        fn lifetime(&self) -> Duration {
            self.1.unwrap_or(DEFAULT_LIFETIME)
        }
    }

    async fn run_operations(store: impl ValueStore, lifetime: Duration) {
        assert_eq!(store.lifetime(), lifetime);
        store.put("a", "value".into()).await.unwrap();
        assert_eq!(store.get("a", 5).await.unwrap().as_deref(), Some(&b"value"[..]));
        assert_eq!(store.get("a", 4).await.unwrap(), None);
        store.delete("a").await.unwrap();
        assert_eq!(store.get("a", 5).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_store_that_is_chosen_while_the_program_runs_is_the_chosen_one() {
        let lifetime = Duration::from_secs(7);
        let chosen: Arc<dyn ValueStore> = Arc::new(Values(Mutex::default(), Some(lifetime)));
        run_operations(chosen, lifetime).await;
        run_operations(Values::default(), Duration::from_secs(3 * 24 * 60 * 60)).await;
    }
}
