//! A handle to artifacts of any type, with their bodies.

use std::{fmt, future::Future, io, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};
use object_store::{ObjectStore, local::LocalFileSystem};
use tool_runtime::{
    BoxFuture, RunContext,
    call::CallId,
    guard::{Guarded, catch_async},
};

use super::{
    Artifact, ArtifactBody, ArtifactContent, ArtifactOwner, Artifacts, SessionArtifacts, StoredArtifact,
    TransientObjects,
    bodies::{BODIES, BodyStore, TRANSIENT, UPLOADS},
    value::check_artifact_name,
};
use crate::{SessionError, SessionKey, UserKey, key::check_name};

/// The time within which an upload must be complete; then a sweep may remove it.
const UPLOAD_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// A handle to [`Artifacts`] of any type, whose bodies are in an [`ObjectStore`]; clones share both. It checks names and limits before a store
/// receives them, and a panic of a store is an error.
///
/// # Examples
///
/// ```
/// use object_store::memory::InMemory;
/// use tool_session::{InMemoryStore, SharedArtifacts, UserKey, object_store};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// let artifacts = SharedArtifacts::new(InMemoryStore::new(), InMemory::new());
/// let artifacts = artifacts.for_user(&UserKey::new("shop", "u-7")?);
/// artifacts.save("user:report.txt", "text/plain", "first").await?;
/// let second = artifacts.save("user:report.txt", "text/plain", "second").await?;
/// assert_eq!(second.version, 2);
///
/// let body = artifacts.load("user:report.txt", Some(1)).await?.expect("it is saved");
/// assert_eq!(body.bytes().await?, b"first");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedArtifacts {
    rows: Arc<Guarded<Box<dyn ErasedArtifacts>>>,
    bodies: BodyStore,
    max_bytes: u64,
    max_load_bytes: u64,
    transient_lifetime: Duration,
}

impl SharedArtifacts {
    /// The default maximum number of bytes of a body: 64 MiB.
    pub const MAX_BYTES: u64 = 64 << 20;
    /// The default maximum number of bytes that are loaded into one request of a model: 4 MiB.
    pub const MAX_LOAD_BYTES: u64 = 4 << 20;

    /// Creates a handle to artifacts whose rows are in `rows`, such as a store of this crate, and whose bodies are objects of `bodies` below `uploads`,
    /// `bodies` and `transient`. No other artifacts may have their bodies there: a [sweep](Self::sweep) would remove them.
    #[must_use]
    pub fn new(rows: impl Artifacts + 'static, bodies: impl ObjectStore) -> Self {
        Self::with_bodies(rows, BodyStore::new(Arc::new(bodies)))
    }

    fn with_bodies(rows: impl Artifacts + 'static, bodies: BodyStore) -> Self {
        Self {
            rows: Arc::new(Guarded::new(Box::new(rows))),
            bodies,
            max_bytes: Self::MAX_BYTES,
            max_load_bytes: Self::MAX_LOAD_BYTES,
            transient_lifetime: TransientObjects::LIFETIME,
        }
    }

    /// Creates a handle whose bodies are files below `folder`, which is made if there is none, with the mode 0700. A body is on the disk before its
    /// row is stored. Needs a `tokio` runtime.
    ///
    /// # Errors
    ///
    /// Returns [`Failed`](SessionError::Failed) if the folder cannot be made.
    pub fn in_folder(rows: impl Artifacts + 'static, folder: impl AsRef<Path>) -> Result<Self, SessionError> {
        let folder = folder.as_ref();
        let failed = |error: &dyn fmt::Display| {
            SessionError::Failed(format!("the folder {} cannot be used: {error}", folder.display()))
        };
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // A folder that exists keeps its mode; those below are made here, since the store would make them for all users.
        for folder in [folder.to_owned(), folder.join(UPLOADS), folder.join(BODIES), folder.join(TRANSIENT)] {
            builder.create(folder).map_err(|error| failed(&error))?;
        }
        let bodies = LocalFileSystem::new_with_prefix(folder).map_err(|error| failed(&error))?;
        Ok(Self::with_bodies(rows, BodyStore::in_folder(Arc::new(bodies.with_fsync(true)), folder)))
    }

    /// Sets the lifetime of [transient objects](TransientObjects): the time after which a [sweep](Self::sweep) removes one. All processes that sweep need the
    /// same one: the shortest holds. Default: [3 days](TransientObjects::LIFETIME).
    #[must_use]
    pub fn with_transient_lifetime(mut self, lifetime: Duration) -> Self {
        self.transient_lifetime = lifetime;
        self
    }

    /// Sets the maximum number of bytes of a body. Default: [64 MiB](Self::MAX_BYTES).
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the maximum number of bytes that the tools of this crate load into one request of a model. Default: [4 MiB](Self::MAX_LOAD_BYTES).
    #[must_use]
    pub fn with_max_load_bytes(mut self, bytes: u64) -> Self {
        self.max_load_bytes = bytes;
        self
    }

    /// Returns the maximum number of bytes that the tools of this crate load into one request of a model.
    #[must_use]
    pub fn max_load_bytes(&self) -> u64 {
        self.max_load_bytes
    }

    /// Returns the handle that a tool of a run in the session `key` receives as `&SessionArtifacts`: see [`SessionArtifacts`].
    #[must_use]
    pub fn for_session(&self, key: &SessionKey) -> SessionArtifacts {
        SessionArtifacts::new(self.clone(), key.user_key(), Some(ArtifactOwner::session(key)))
    }

    /// Returns a handle for the artifacts of `user`, whose names begin with [`user:`](Artifact::USER_PREFIX).
    #[must_use]
    pub fn for_user(&self, user: &UserKey) -> SessionArtifacts {
        SessionArtifacts::new(self.clone(), user.clone(), None)
    }

    /// Returns the handle of `run`: [`for_session`](Self::for_session), or [`for_user`](Self::for_user) for a run without a session.
    ///
    /// # Errors
    ///
    /// Returns an error if a name of the run is not valid: see [`SessionKey::new`].
    pub fn for_run(&self, run: &RunContext) -> Result<SessionArtifacts, SessionError> {
        match SessionKey::of_run(run) {
            Some(key) => Ok(self.for_session(&key?)),
            None => Ok(self.for_user(&UserKey::of_run(run)?)),
        }
    }

    /// Returns the objects beside the bodies of artifacts, which no tool lists, for large values between processes of the program.
    #[must_use]
    pub fn transient_objects(&self) -> TransientObjects {
        TransientObjects::from_bodies(self.bodies.clone(), self.transient_lifetime)
    }

    /// Deletes all artifacts of a user and of the user's sessions, with their bodies; returns their number. The sessions are kept.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing was deleted. A body that cannot be removed is left to a [sweep](Self::sweep), with a warning.
    pub async fn delete_user(&self, user: &UserKey) -> Result<u64, SessionError> {
        let deleted = self.run_guarded(|rows| rows.delete_artifacts(user)).await?;
        self.remove_unused_bodies(&deleted).await;
        Ok(u64::try_from(deleted.len()).unwrap_or(u64::MAX))
    }

    /// Removes bodies without a row: those of deleted sessions and users, and of writers that were interrupted more than 24 hours ago; and
    /// [transient objects](TransientObjects) that are older than their [lifetime](Self::with_transient_lifetime). Returns their number. A store that is neither in memory nor in a folder may keep unfinished uploads of killed writers, which it does not list: give it a rule
    /// that removes them. A body whose writer is at work is kept. May run at any time, in any process, for example each night and after
    /// [`delete_user`](crate::SharedSessionStore::delete_user).
    ///
    /// # Errors
    ///
    /// Returns the first error, also of a body that cannot be removed; the others are removed.
    ///
    /// # Examples
    ///
    /// ```
    /// # async fn example() -> anyhow::Result<()> {
    /// use tool_session::{InMemoryStore, SharedArtifacts, SharedSessionStore};
    ///
    /// let store = InMemoryStore::new();
    /// let artifacts = SharedArtifacts::in_folder(store.clone(), "data/artifacts")?;
    /// SharedSessionStore::new(store).delete_user("shop", "u-7").await?;
    /// artifacts.sweep().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn sweep(&self) -> Result<u64, SessionError> {
        let swept = catch_async(|| async {
            let (bodies, objects) = (self.sweep_bodies().await, self.transient_objects().sweep().await);
            Ok(bodies? + objects?)
        })
        .await;
        swept.unwrap_or_else(|panic| Err(SessionError::Failed(format!("the bodies of artifacts {panic}"))))
    }

    async fn sweep_bodies(&self) -> Result<u64, SessionError> {
        // Removes the uploads whose lifetime has ended, also if there is no body.
        self.run_guarded(|rows| rows.unused_bodies(&[])).await?;
        // Bodies are listed before their rows are read: the upload of each was registered before.
        let (mut groups, mut count, mut failure) = (self.bodies.list_names(), 0, None);
        while let Some(names) = groups.try_next().await? {
            for name in self.run_guarded(|rows| rows.unused_bodies(&names)).await? {
                match self.bodies.remove_if_exists(&name).await {
                    Ok(()) => count += 1,
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
        }
        for (upload, file) in self.bodies.unfinished_upload_files() {
            if !self.run_guarded(|rows| rows.unused_bodies(std::slice::from_ref(&upload))).await?.is_empty() {
                match std::fs::remove_file(&file) {
                    Ok(()) => count += 1,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => failure = failure.or(Some(SessionError::Failed(error.to_string()))),
                }
            }
        }
        failure.map_or(Ok(count), Err)
    }

    /// Saves a version, chunk by chunk.
    pub(super) async fn save_chunks(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        media_type: &str,
        chunks: impl Stream<Item = Result<Bytes, SessionError>> + Send,
    ) -> Result<Artifact, SessionError> {
        check_artifact_name(name)?;
        check_name("media type of the artifact", media_type)?;
        let upload = CallId::generate().to_string();
        self.run_guarded(|rows| rows.begin_upload(&upload, UPLOAD_LIFETIME)).await?;
        let written = catch_async(|| self.bodies.upload_body(&upload, chunks.boxed(), self.max_bytes)).await;
        let written = written
            .unwrap_or_else(|panic| Err(SessionError::Failed(format!("the bodies of artifacts {panic}"))));
        let body = match written {
            Ok(body) => body,
            Err(error) => {
                self.abandon_upload(&upload, &upload).await;
                return Err(error);
            }
        };
        let content = ArtifactContent {
            name: name.into(),
            media_type: media_type.into(),
            bytes: body.bytes,
            hash: body.hash.into(),
            body: body.name.into(),
        };
        match self.run_guarded(|rows| rows.add_artifact(owner, &upload, &content)).await {
            Ok(stored) => {
                if stored.body != content.body {
                    // The stored body may be missing or damaged; this one has the same content.
                    let replaced =
                        catch_async(|| self.bodies.replace_body(&stored.body, &content.body)).await;
                    if !matches!(replaced, Ok(Ok(()))) {
                        self.remove_body_or_warn(&content.body).await;
                    }
                }
                Ok(stored.artifact)
            }
            // It is not known whether there is a row: a sweep decides.
            Err(error @ SessionError::Unavailable(_)) => Err(error),
            Err(error) => {
                self.abandon_upload(&upload, &content.body).await;
                Err(error)
            }
        }
    }

    pub(super) async fn list(
        &self,
        owner: &ArtifactOwner,
        after: &str,
        limit: usize,
    ) -> Result<Vec<Artifact>, SessionError> {
        Ok(artifacts_of(self.run_guarded(|rows| rows.list_artifacts(owner, after, limit)).await?))
    }

    pub(super) async fn versions(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        after: u64,
    ) -> Result<Vec<Artifact>, SessionError> {
        check_artifact_name(name)?;
        let limit = SessionArtifacts::MAX_LISTED;
        Ok(artifacts_of(self.run_guarded(|rows| rows.artifact_versions(owner, name, after, limit)).await?))
    }

    pub(super) async fn find(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        version: Option<u64>,
    ) -> Result<Option<StoredArtifact>, SessionError> {
        check_artifact_name(name)?;
        self.run_guarded(|rows| rows.find_artifact(owner, name, version)).await
    }

    pub(super) async fn open_body(&self, stored: StoredArtifact) -> Result<ArtifactBody, SessionError> {
        let chunks = catch_async(|| self.bodies.open_body(&stored.body)).await;
        let chunks = chunks
            .unwrap_or_else(|panic| Err(SessionError::Failed(format!("the bodies of artifacts {panic}"))))?;
        Ok(ArtifactBody::new(stored.artifact, chunks))
    }

    pub(super) async fn delete(&self, owner: &ArtifactOwner, name: &str) -> Result<bool, SessionError> {
        check_artifact_name(name)?;
        let deleted = self.run_guarded(|rows| rows.delete_artifact(owner, name)).await?;
        self.remove_unused_bodies(&deleted).await;
        Ok(!deleted.is_empty())
    }

    /// Removes the bodies of deleted versions that no other version has.
    async fn remove_unused_bodies(&self, deleted: &[StoredArtifact]) {
        let mut bodies: Vec<_> = deleted.iter().map(|stored| stored.body.to_string()).collect();
        bodies.sort_unstable();
        bodies.dedup();
        match self.run_guarded(|rows| rows.unused_bodies(&bodies)).await {
            Ok(unused) => {
                for body in unused {
                    self.remove_body_or_warn(&body).await;
                }
            }
            Err(error) => warn_of_left_body(&error),
        }
    }

    /// Removes what an upload without a row has written.
    async fn abandon_upload(&self, upload_id: &str, body_name: &str) {
        self.remove_body_or_warn(body_name).await;
        if let Err(error) = self.run_guarded(|rows| rows.end_upload(upload_id)).await {
            warn_of_left_body(&error);
        }
    }

    async fn remove_body_or_warn(&self, name: &str) {
        match catch_async(|| self.bodies.remove_if_exists(name)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn_of_left_body(&error),
            Err(panic) => {
                warn_of_left_body(&SessionError::Failed(format!("the bodies of artifacts {panic}")))
            }
        }
    }

    /// Runs an operation of the rows inside the panic barrier.
    async fn run_guarded<'a, T, F>(
        &'a self,
        operation: impl FnOnce(&'a dyn ErasedArtifacts) -> F,
    ) -> Result<T, SessionError>
    where
        F: Future<Output = Result<T, SessionError>>,
    {
        let rows = self.rows.get().ok_or(SessionError::Closed)?;
        let output = catch_async(|| operation(&**rows)).await;
        output.unwrap_or_else(|panic| Err(SessionError::Failed(format!("the store of artifacts {panic}"))))
    }
}

fn artifacts_of(stored: Vec<StoredArtifact>) -> Vec<Artifact> {
    stored.into_iter().map(|stored| stored.artifact).collect()
}

fn warn_of_left_body(error: &SessionError) {
    tracing::warn!(%error, "a body of an artifact without a row is left; see `SharedArtifacts::sweep`");
}

impl fmt::Debug for SharedArtifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedArtifacts")
            .field("max_bytes", &self.max_bytes)
            .field("max_load_bytes", &self.max_load_bytes)
            .finish_non_exhaustive()
    }
}

/// Defines the object-safe form of [`Artifacts`].
macro_rules! erased {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $output:ty;)*) => {
        trait ErasedArtifacts: Send + Sync {
            $(fn $name<'a>(&'a self $(, $arg: $type)*) -> BoxFuture<'a, Result<$output, SessionError>>;)*
        }

        impl<A: Artifacts> ErasedArtifacts for A {
            $(fn $name<'a>(&'a self $(, $arg: $type)*) -> BoxFuture<'a, Result<$output, SessionError>> {
                Box::pin(Artifacts::$name(self $(, $arg)*))
            })*
        }
    };
}

erased! {
    fn begin_upload(upload: &'a str, lifetime: Duration) -> ();
    fn end_upload(upload: &'a str) -> ();
    fn add_artifact(owner: &'a ArtifactOwner, upload: &'a str, content: &'a ArtifactContent) -> StoredArtifact;
    fn list_artifacts(owner: &'a ArtifactOwner, after: &'a str, limit: usize) -> Vec<StoredArtifact>;
    fn artifact_versions(owner: &'a ArtifactOwner, name: &'a str, after: u64, limit: usize) -> Vec<StoredArtifact>;
    fn find_artifact(owner: &'a ArtifactOwner, name: &'a str, version: Option<u64>) -> Option<StoredArtifact>;
    fn delete_artifact(owner: &'a ArtifactOwner, name: &'a str) -> Vec<StoredArtifact>;
    fn delete_artifacts(user: &'a UserKey) -> Vec<StoredArtifact>;
    fn unused_bodies(bodies: &'a [String]) -> Vec<String>;
}
