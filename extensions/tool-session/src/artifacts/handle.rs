//! The artifacts of the session and the user of a run.

use std::fmt;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};

use super::{Artifact, ArtifactBody, ArtifactOwner, SharedArtifacts};
use crate::{SessionError, UserKey};

/// The artifacts of one session and its user, for the tools of a run: a tool has a parameter `&SessionArtifacts`, and no argument of a
/// model names another user. The program provides it for each run; a run without one answers such a call with an error that says so.
///
/// A name that begins with [`user:`](Artifact::USER_PREFIX) belongs to the user, and is kept until it or the user is deleted; any other name belongs
/// to the session, and is deleted with it. A handle without a session has names of the user only. Names are text, of at most 768
/// bytes, and never part of a path.
///
/// # Examples
///
/// ```
/// use tool_runtime::prelude::*;
/// use tool_session::SessionArtifacts;
///
/// /// Writes the report.
/// #[tool]
/// async fn report(artifacts: &SessionArtifacts, cx: &ToolContext) -> Result<String, ToolError> {
///     let saved = artifacts.save("report.txt", "text/plain", "All is well.").await.map_err(ToolError::from_source)?;
///     // The event of the call names the version.
///     cx.add_actions(saved.saved_action())?;
///     Ok(format!("version {}", saved.version))
/// }
///
/// let registry = Registry::builder().tool::<report>().provide_per_run::<SessionArtifacts>().build()?;
/// # drop(registry);
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SessionArtifacts {
    artifacts: SharedArtifacts,
    user: ArtifactOwner,
    session: Option<ArtifactOwner>,
}

impl SessionArtifacts {
    pub(super) fn new(artifacts: SharedArtifacts, user: UserKey, session: Option<ArtifactOwner>) -> Self {
        Self { artifacts, user: ArtifactOwner::user(&user), session }
    }

    /// Returns the maximum number of bytes that the tools of this crate load into one request of a model.
    #[must_use]
    pub fn max_load_bytes(&self) -> u64 {
        self.artifacts.max_load_bytes()
    }

    /// Saves a new version of `name`.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`](SessionError::Invalid) for a name or size beyond a limit, and for a name without `user:` in a handle without a
    /// session, and [`NotFound`](SessionError::NotFound) if the store does not have the session. Nothing was saved then, nor after any other
    /// error but [`Unavailable`](SessionError::Unavailable), where that is not known.
    pub async fn save(
        &self,
        name: &str,
        media_type: &str,
        body: impl Into<Bytes>,
    ) -> Result<Artifact, SessionError> {
        let chunks = stream::iter([Ok(body.into())]);
        self.artifacts.save_chunks(self.owner_of_name(name)?, name, media_type, chunks).await
    }

    /// Saves a new version of `name` from a stream, which is read as fast as it is stored: the body is never held whole. If the stream
    /// fails, or the future is dropped, no version is saved.
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save); and [`Failed`](SessionError::Failed) with the error of the stream.
    pub async fn save_stream<S, E>(
        &self,
        name: &str,
        media_type: &str,
        body: S,
    ) -> Result<Artifact, SessionError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
        E: fmt::Display,
    {
        let chunks = body.map(|chunk| {
            chunk.map_err(|error| SessionError::Failed(format!("the body of the artifact failed: {error}")))
        });
        self.artifacts.save_chunks(self.owner_of_name(name)?, name, media_type, chunks).await
    }

    /// The maximum number of artifacts or versions of one list.
    pub const MAX_LISTED: usize = 1000;

    /// Returns the last version of each artifact: of the session, then of the user, ordered by name. At most
    /// [1,000](Self::MAX_LISTED); see [`list_after`](Self::list_after).
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    pub async fn list(&self) -> Result<Vec<Artifact>, SessionError> {
        self.list_after("").await
    }

    /// Returns the artifacts that follow `name` in the [list](Self::list), which is the last one of the list before; at most
    /// [1,000](Self::MAX_LISTED).
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    pub async fn list_after(&self, name: &str) -> Result<Vec<Artifact>, SessionError> {
        let is_of_user = name.starts_with(Artifact::USER_PREFIX);
        let mut artifacts = match &self.session {
            Some(session) if !is_of_user => self.artifacts.list(session, name, Self::MAX_LISTED).await?,
            _ => Vec::new(),
        };
        let limit = Self::MAX_LISTED - artifacts.len().min(Self::MAX_LISTED);
        if limit > 0 {
            let after = if is_of_user { name } else { "" };
            artifacts.extend(self.artifacts.list(&self.user, after, limit).await?);
        }
        Ok(artifacts)
    }

    /// Returns the versions of `name`, the first one first. At most [1,000](Self::MAX_LISTED); see
    /// [`versions_after`](Self::versions_after).
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    pub async fn versions(&self, name: &str) -> Result<Vec<Artifact>, SessionError> {
        self.versions_after(name, 0).await
    }

    /// Returns the versions of `name` after `version`, the first one first; at most [1,000](Self::MAX_LISTED).
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    pub async fn versions_after(&self, name: &str, version: u64) -> Result<Vec<Artifact>, SessionError> {
        self.artifacts.versions(self.owner_of_name(name)?, name, version).await
    }

    /// Returns a version of `name`, or the last one, without its body; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    pub async fn find(&self, name: &str, version: Option<u64>) -> Result<Option<Artifact>, SessionError> {
        let stored = self.artifacts.find(self.owner_of_name(name)?, name, version).await?;
        Ok(stored.map(|stored| stored.artifact))
    }

    /// Opens a version of `name`, or the last one; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read, or if the body is missing.
    pub async fn load(&self, name: &str, version: Option<u64>) -> Result<Option<ArtifactBody>, SessionError> {
        match self.artifacts.find(self.owner_of_name(name)?, name, version).await? {
            Some(stored) => self.artifacts.open_body(stored).await.map(Some),
            None => Ok(None),
        }
    }

    /// Deletes all versions of `name`, with their bodies; returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing was deleted.
    pub async fn delete(&self, name: &str) -> Result<bool, SessionError> {
        self.artifacts.delete(self.owner_of_name(name)?, name).await
    }

    /// Returns the owner of a name.
    fn owner_of_name(&self, name: &str) -> Result<&ArtifactOwner, SessionError> {
        if name.starts_with(Artifact::USER_PREFIX) {
            return Ok(&self.user);
        }
        self.session.as_ref().ok_or_else(|| {
            SessionError::Invalid("the run has no session; use a name that begins with `user:`".to_owned())
        })
    }
}
