//! The trait of the rows of artifacts.

use std::{future::Future, time::Duration};

use crate::{ArtifactContent, ArtifactOwner, SessionError, StoredArtifact, UserKey};

/// The rows of artifacts. Methods can be written as `async fn`; programs use artifacts by a [`SharedArtifacts`](crate::SharedArtifacts), which
/// validates names and limits first, and stores the bodies.
///
/// The stores of this crate implement it beside [`SessionStore`](crate::SessionStore), in one database: the artifacts of a session are deleted with
/// it, and all artifacts of a user with [`delete_user`](crate::SessionStore::delete_user). Each method is one transaction.
pub trait Artifacts: Send + Sync {
    /// Registers an upload: its body is not removed by a sweep within `lifetime`.
    ///
    /// # Errors
    ///
    /// Returns an error if the upload was not registered.
    fn begin_upload(
        &self,
        upload: &str,
        lifetime: Duration,
    ) -> impl Future<Output = Result<(), SessionError>> + Send;

    /// Ends an upload without a version.
    ///
    /// # Errors
    ///
    /// Returns an error if the upload stays registered until its lifetime ends.
    fn end_upload(&self, upload: &str) -> impl Future<Output = Result<(), SessionError>> + Send;

    /// Adds a version, and ends the upload of its body. The version is one more than the last one of the name. If the user has an
    /// artifact with the same hash already, the version has the body of that one.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](SessionError::NotFound) if the artifact belongs to a session that does not exist, and
    /// [`Invalid`](SessionError::Invalid) if the upload is not registered any more.
    fn add_artifact(
        &self,
        owner: &ArtifactOwner,
        upload: &str,
        content: &ArtifactContent,
    ) -> impl Future<Output = Result<StoredArtifact, SessionError>> + Send;

    /// Returns the last version of each name of an owner after the name `after`, ordered by name: at most `limit`. No name is empty.
    ///
    /// # Errors
    ///
    /// Returns an error if the rows could not be read.
    fn list_artifacts(
        &self,
        owner: &ArtifactOwner,
        after: &str,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredArtifact>, SessionError>> + Send;

    /// Returns the versions of a name after the version `after`, the first one first: at most `limit`. The first version is 1.
    ///
    /// # Errors
    ///
    /// Returns an error if the rows could not be read.
    fn artifact_versions(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredArtifact>, SessionError>> + Send;

    /// Returns a version of a name, or the last one; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the rows could not be read.
    fn find_artifact(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        version: Option<u64>,
    ) -> impl Future<Output = Result<Option<StoredArtifact>, SessionError>> + Send;

    /// Deletes all versions of a name; returns them. Their bodies may have other versions.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing was deleted.
    fn delete_artifact(
        &self,
        owner: &ArtifactOwner,
        name: &str,
    ) -> impl Future<Output = Result<Vec<StoredArtifact>, SessionError>> + Send;

    /// Deletes all artifacts of a user and of the user's sessions; returns them.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing was deleted.
    fn delete_artifacts(
        &self,
        user: &UserKey,
    ) -> impl Future<Output = Result<Vec<StoredArtifact>, SessionError>> + Send;

    /// Returns those of `bodies` that no version has, and whose upload is not registered. The upload of a body is the part of its name
    /// behind the first `-`, or the whole name. Uploads whose lifetime has ended are removed.
    ///
    /// # Errors
    ///
    /// Returns an error if the rows could not be read.
    fn unused_bodies(
        &self,
        bodies: &[String],
    ) -> impl Future<Output = Result<Vec<String>, SessionError>> + Send;
}

/// Returns the upload of a body.
pub(crate) fn upload_id_of_body(body: &str) -> &str {
    body.split_once('-').map_or(body, |(_, upload)| upload)
}

/// Returns the error of an upload that took too long, or whose rows were removed.
pub(crate) fn upload_expired_error() -> SessionError {
    SessionError::Invalid("the upload of the artifact took too long; save it again".to_owned())
}
