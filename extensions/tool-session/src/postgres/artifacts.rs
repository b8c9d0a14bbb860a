//! Artifacts in the same database.

use std::time::Duration;

use super::PostgresStore;
use crate::{ArtifactContent, ArtifactOwner, Artifacts, SessionError, StoredArtifact, UserKey, sql};

impl Artifacts for PostgresStore {
    async fn begin_upload(&self, upload: &str, lifetime: Duration) -> Result<(), SessionError> {
        let now = self.0.clock.now();
        let expires_at = now.checked_add(lifetime).unwrap_or(now);
        self.run_write_transaction(async |connection| {
            sql::insert_upload(connection, upload, expires_at).await
        })
        .await
    }

    async fn end_upload(&self, upload: &str) -> Result<(), SessionError> {
        self.run_write_transaction(async |connection| sql::delete_upload(connection, upload).await.map(drop))
            .await
    }

    async fn add_artifact(
        &self,
        owner: &ArtifactOwner,
        upload: &str,
        content: &ArtifactContent,
    ) -> Result<StoredArtifact, SessionError> {
        let now = self.0.clock.now();
        self.run_write_transaction(async |connection| {
            sql::add_artifact(connection, owner, upload, content, now).await
        })
        .await
    }

    async fn list_artifacts(
        &self,
        owner: &ArtifactOwner,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        self.run_read_transaction(async |connection| {
            sql::read_last_versions(connection, owner, after, limit).await
        })
        .await
    }

    async fn artifact_versions(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        self.run_read_transaction(async |connection| {
            sql::read_versions(connection, owner, name, after, limit).await
        })
        .await
    }

    async fn find_artifact(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        version: Option<u64>,
    ) -> Result<Option<StoredArtifact>, SessionError> {
        self.run_read_transaction(async |connection| {
            sql::find_version(connection, owner, name, version).await
        })
        .await
    }

    async fn delete_artifact(
        &self,
        owner: &ArtifactOwner,
        name: &str,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        self.run_write_transaction(async |connection| sql::delete_versions(connection, owner, name).await)
            .await
    }

    async fn delete_artifacts(&self, user: &UserKey) -> Result<Vec<StoredArtifact>, SessionError> {
        self.run_write_transaction(async |connection| sql::delete_artifacts(connection, user).await).await
    }

    async fn unused_bodies(&self, bodies: &[String]) -> Result<Vec<String>, SessionError> {
        let now = self.0.clock.now();
        self.run_write_transaction(async |connection| {
            sql::remove_expired_uploads_and_list_unused_bodies(connection, bodies, now).await
        })
        .await
    }
}
