//! Large values beside artifacts.

use bytes::Bytes;
use tool_runtime::BoxFuture;
use tool_session::{SessionError, SharedArtifacts, TransientObjects};

use super::ValueStore;
use crate::FleetError;

/// A store of large values beside the bodies of a program's [artifacts](SharedArtifacts), under a prefix that no tool lists: see
/// [`TransientObjects`]. What a killed process leaves there is removed by [`SharedArtifacts::sweep`] after 24 hours.
///
/// # Examples
///
/// ```
/// use tool_fleet::ArtifactValues;
/// use tool_session::{InMemoryStore, SharedArtifacts, object_store::memory::InMemory};
///
/// # fn main() -> anyhow::Result<()> {
/// let values = ArtifactValues::new(&SharedArtifacts::new(InMemoryStore::new(), InMemory::new()))?;
/// # drop(values);
/// let folder = std::env::temp_dir().join("tool-fleet-example");
/// let artifacts = SharedArtifacts::in_folder(InMemoryStore::new(), &folder)?;
/// assert!(ArtifactValues::new(&artifacts).is_err());
/// let values = ArtifactValues::in_shared_folder(&artifacts);
/// # drop(values);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ArtifactValues {
    objects: TransientObjects,
}

impl ArtifactValues {
    /// Creates a store beside the bodies of `artifacts`, which all workers and callers of a pool must have.
    ///
    /// # Errors
    ///
    /// Returns [`FleetError::Invalid`] for bodies in files of this machine: other machines do not see them. If they do, use
    /// [`in_shared_folder`](Self::in_shared_folder).
    pub fn new(artifacts: &SharedArtifacts) -> Result<Self, FleetError> {
        let values = Self::in_shared_folder(artifacts);
        match values.objects.is_local_files() {
            false => Ok(values),
            true => Err(FleetError::Invalid(
                "the artifacts are files of this machine, which processes elsewhere do not see; if all workers and callers share the folder, use \
                 `ArtifactValues::in_shared_folder`"
                    .to_owned(),
            )),
        }
    }

    /// Creates a store beside the bodies of `artifacts`, also if they are files: in a folder that all workers and callers of a pool share.
    #[must_use]
    pub fn in_shared_folder(artifacts: &SharedArtifacts) -> Self {
        Self { objects: artifacts.transient_objects() }
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
}

fn store_error(error: SessionError) -> FleetError {
    FleetError::ValueStore(error.to_string())
}
