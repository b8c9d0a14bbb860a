//! Large values beside artifacts.

use std::time::Duration;

use bytes::Bytes;
use tool_runtime::BoxFuture;
use tool_session::{SessionError, TransientObjects};

use super::ValueStore;
use crate::FleetError;

/// A store of large values in objects that no tool lists: see [`TransientObjects`]. They are beside the bodies of a program's artifacts, or in a
/// store of their own. What a killed process leaves there is removed by [`TransientObjects::sweep`] after the [lifetime of the
/// objects](TransientObjects::lifetime), 3 days by default.
///
/// A worker with the credentials of the store reads and removes what is there. Workers that shall have no power beyond their pool need a store
/// of the pool, such as a bucket, in place of the one with the artifacts of all users.
///
/// # Examples
///
/// ```
/// use tool_fleet::ArtifactValues;
/// use tool_session::{InMemoryStore, SharedArtifacts, TransientObjects, object_store::memory::InMemory};
///
/// // Workers and callers of one process.
/// let objects = TransientObjects::new(InMemory::new());
/// assert!(ArtifactValues::new(objects.clone()).is_err());
/// let values = ArtifactValues::shared(objects);
/// # drop(values);
///
/// let artifacts = SharedArtifacts::new(InMemoryStore::new(), InMemory::new());
/// let values = ArtifactValues::shared(&artifacts);
/// # drop(values);
/// ```
#[derive(Debug, Clone)]
pub struct ArtifactValues {
    objects: TransientObjects,
}

impl ArtifactValues {
    /// Creates a store in `objects`, or beside the bodies of artifacts (`&SharedArtifacts`), which all workers and callers of a pool must have.
    ///
    /// # Errors
    ///
    /// Returns [`FleetError::Invalid`] for files of this machine and memory of this process, as far as the store shows it: processes elsewhere do
    /// not see them. If all sides do, use [`shared`](Self::shared).
    pub fn new(objects: impl Into<TransientObjects>) -> Result<Self, FleetError> {
        let values = Self::shared(objects);
        match values.objects.is_local() {
            false => Ok(values),
            true => Err(FleetError::Invalid(
                "the objects are files of this machine or memory of this process, which processes elsewhere do not see; if all workers and callers \
                 share them, use `ArtifactValues::shared`"
                    .to_owned(),
            )),
        }
    }

    /// Creates a store in objects that all workers and callers of a pool share, such as a folder that they all have, or memory of the process in
    /// which they all are.
    #[must_use]
    pub fn shared(objects: impl Into<TransientObjects>) -> Self {
        Self { objects: objects.into() }
    }
}

impl ValueStore for ArtifactValues {
    fn put<'a>(&'a self, name: &'a str, value: Bytes) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async move { self.objects.put(name, value).await.map_err(store_error) })
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        max_bytes: usize,
    ) -> BoxFuture<'a, Result<Option<Bytes>, FleetError>> {
        Box::pin(async move {
            let max_bytes = u64::try_from(max_bytes).unwrap_or(u64::MAX);
            let value = self.objects.get(name, max_bytes).await.map_err(store_error)?;
            Ok(value.map(Bytes::from))
        })
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async move { self.objects.delete(name).await.map_err(store_error) })
    }

    fn lifetime(&self) -> Duration {
        self.objects.lifetime()
    }
}

fn store_error(error: SessionError) -> FleetError {
    FleetError::ValueStore(error.to_string())
}
