//! Objects of a program that are no artifacts: they have no row, no tool lists them, and no session or user owns them.

use std::{
    fmt, io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::{ObjectStore, ObjectStoreExt};
use tool_runtime::guard::catch_async;

use super::bodies::{BodyStore, body_store_error, transient_path, unavailable_bodies_error};
use crate::{SessionError, SharedArtifacts};

/// Objects beside the bodies of artifacts, under a prefix of their own, for values that a program passes from one of its processes to another one.
/// They are no artifacts: tools do not list them, and the deletion of a session or user leaves them. The program deletes each one; what it leaves is
/// removed by a [sweep](Self::sweep) after their [lifetime](Self::lifetime).
///
/// # Examples
///
/// ```
/// use object_store::memory::InMemory;
/// use tool_session::{InMemoryStore, SharedArtifacts, object_store};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// let objects = SharedArtifacts::new(InMemoryStore::new(), InMemory::new()).transient_objects();
/// objects.put("0b54", "a large value").await?;
/// assert_eq!(objects.get("0b54", 1000).await?.as_deref(), Some(&b"a large value"[..]));
/// objects.delete("0b54").await?;
/// assert_eq!(objects.get("0b54", 1000).await?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TransientObjects {
    bodies: BodyStore,
    lifetime: Duration,
}

impl TransientObjects {
    /// The default lifetime: 3 days.
    pub const LIFETIME: Duration = Duration::from_secs(3 * 24 * 3600);

    /// The maximum number of characters of a name.
    pub const MAX_NAME_CHARS: usize = 128;

    /// Creates objects below `transient` in a store without artifacts, such as a bucket with credentials of its own: processes that need nothing else
    /// then have no access to artifacts.
    #[must_use]
    pub fn new(store: impl ObjectStore) -> Self {
        Self::from_bodies(BodyStore::new(Arc::new(store)), Self::LIFETIME)
    }

    pub(super) fn from_bodies(bodies: BodyStore, lifetime: Duration) -> Self {
        Self { bodies, lifetime }
    }

    /// Sets the time after which a sweep removes an object, by the clocks of the store and of the process that sweeps. All processes that sweep or store
    /// need the same one: the shortest holds. [`SharedArtifacts::with_transient_lifetime`] sets the one of objects beside artifacts. Default: [3 days](Self::LIFETIME).
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Returns the time after which a sweep removes an object.
    #[must_use]
    pub fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// Returns `true` for files of this machine and memory of this process, as far as the store shows it (`Debug`): processes elsewhere do not
    /// see the objects, unless they share the folder.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.bodies.is_local()
    }

    /// Stores an object, in place of one of the same name.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`](SessionError::Invalid) for a name that is not 1 to [128](Self::MAX_NAME_CHARS) letters, digits, `-`, `_` and `.`, or begins
    /// with a `.`, and an error if the object was not stored, as far as it is known.
    pub async fn put(&self, name: &str, body: impl Into<Bytes>) -> Result<(), SessionError> {
        let path = transient_path(check_object_name(name)?);
        let body = body.into();
        guarded(async { self.bodies.store.put(&path, body.into()).await.map_err(body_store_error) })
            .await
            .map(drop)
    }

    /// Reads an object; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put), and [`Failed`](SessionError::Failed) for an object of more than `max_bytes`, of which no more is read.
    pub async fn get(&self, name: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, SessionError> {
        let path = transient_path(check_object_name(name)?);
        guarded(async {
            let object = match self.bodies.store.get(&path).await {
                Ok(object) => object,
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(body_store_error(error)),
            };
            if object.meta.size > max_bytes {
                return Err(too_large_error(max_bytes));
            }
            // The size that the store names may not be the one of what it sends.
            let (mut chunks, mut body) = (object.into_stream(), Vec::new());
            while let Some(chunk) = chunks.try_next().await.map_err(body_store_error)? {
                let bytes = body.len().saturating_add(chunk.len());
                if u64::try_from(bytes).is_ok_and(|bytes| bytes <= max_bytes) {
                    body.extend_from_slice(&chunk);
                } else {
                    return Err(too_large_error(max_bytes));
                }
            }
            Ok(Some(body))
        })
        .await
    }

    /// Deletes an object; a missing one is deleted already.
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put), and if the object was not deleted, as far as it is known.
    pub async fn delete(&self, name: &str) -> Result<(), SessionError> {
        let path = transient_path(check_object_name(name)?);
        guarded(async {
            match self.bodies.store.delete(&path).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(body_store_error(error)),
            }
        })
        .await
    }

    /// Deletes the objects that are older than their [lifetime](Self::lifetime); returns their number. [`SharedArtifacts::sweep`] does it for those
    /// beside artifacts. May run at any time, in any process.
    ///
    /// # Errors
    ///
    /// Returns the first error; the other objects are deleted.
    pub async fn sweep(&self) -> Result<u64, SessionError> {
        guarded(self.sweep_old()).await
    }

    async fn sweep_old(&self) -> Result<u64, SessionError> {
        let Some(oldest) = SystemTime::now().checked_sub(self.lifetime) else { return Ok(0) };
        let (mut objects, mut count, mut failure) = (self.bodies.list_transient(), 0, None);
        while let Some(object) = objects.try_next().await.map_err(body_store_error)? {
            if SystemTime::from(object.last_modified) >= oldest {
                continue;
            }
            match self.bodies.store.delete(&object.location).await {
                Ok(()) => count += 1,
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => failure = failure.or(Some(body_store_error(error))),
            }
        }
        // Files of killed writers, which the list leaves out.
        for file in self.bodies.unfinished_transient_files() {
            let is_old = file.metadata().and_then(|it| it.modified()).is_ok_and(|time| time < oldest);
            match is_old.then(|| std::fs::remove_file(&file)) {
                None => {}
                Some(Ok(())) => count += 1,
                Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Some(Err(error)) => failure = failure.or(Some(unavailable_bodies_error(error))),
            }
        }
        failure.map_or(Ok(count), Err)
    }
}

/// Runs an operation of the store inside the panic barrier.
async fn guarded<T>(operation: impl Future<Output = Result<T, SessionError>>) -> Result<T, SessionError> {
    let output = catch_async(|| operation).await;
    output.unwrap_or_else(|panic| Err(SessionError::Failed(format!("the objects beside artifacts {panic}"))))
}

fn check_object_name(name: &str) -> Result<&str, SessionError> {
    let is_valid = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
    let has_length = (1..=TransientObjects::MAX_NAME_CHARS).contains(&name.len());
    if has_length && name.bytes().all(is_valid) && !name.starts_with('.') {
        return Ok(name);
    }
    Err(SessionError::Invalid(format!(
        "the name of an object has 1 to {} letters, digits, `-`, `_` and `.`, and does not begin with a `.`, unlike {name:?}",
        TransientObjects::MAX_NAME_CHARS
    )))
}

fn too_large_error(max_bytes: u64) -> SessionError {
    SessionError::Failed(format!("the object has more than {max_bytes} bytes, and was not read"))
}

/// The objects beside the bodies of artifacts.
impl From<&SharedArtifacts> for TransientObjects {
    fn from(artifacts: &SharedArtifacts) -> Self {
        artifacts.transient_objects()
    }
}

impl fmt::Debug for TransientObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransientObjects").finish_non_exhaustive()
    }
}
