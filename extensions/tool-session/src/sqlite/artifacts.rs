//! Artifacts in the database.

use std::{sync::Arc, time::Duration};

use super::{SqliteStore, error::store_error};
use crate::{ArtifactContent, ArtifactOwner, Artifacts, SessionError, StoredArtifact, UserKey, sql};

impl Artifacts for SqliteStore {
    async fn begin_upload(&self, upload: &str, lifetime: Duration) -> Result<(), SessionError> {
        let (upload, clock): (Arc<str>, _) = (upload.into(), self.0.clock.clone());
        self.run_write(move |connection| {
            let (upload, now) = (Arc::clone(&upload), clock.now());
            let expires_at = now.checked_add(lifetime).unwrap_or(now);
            Box::pin(async move { sql::insert_upload(connection, &upload, expires_at).await })
        })
        .await
    }

    async fn end_upload(&self, upload: &str) -> Result<(), SessionError> {
        let upload: Arc<str> = upload.into();
        self.run_write(move |connection| {
            let upload = Arc::clone(&upload);
            Box::pin(async move { sql::delete_upload(connection, &upload).await.map(drop) })
        })
        .await
    }

    async fn add_artifact(
        &self,
        owner: &ArtifactOwner,
        upload: &str,
        content: &ArtifactContent,
    ) -> Result<StoredArtifact, SessionError> {
        let values = Arc::new((owner.clone(), upload.to_owned(), content.clone()));
        let clock = self.0.clock.clone();
        self.run_write(move |connection| {
            let (values, now) = (Arc::clone(&values), clock.now());
            Box::pin(async move {
                let (owner, upload, content) = &*values;
                sql::add_artifact(connection, owner, upload, content, now).await
            })
        })
        .await
    }

    async fn list_artifacts(
        &self,
        owner: &ArtifactOwner,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        let mut connection = self.0.readers.acquire().await.map_err(store_error)?;
        sql::read_last_versions(&mut *connection, owner, after, limit).await
    }

    async fn artifact_versions(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        let mut connection = self.0.readers.acquire().await.map_err(store_error)?;
        sql::read_versions(&mut *connection, owner, name, after, limit).await
    }

    async fn find_artifact(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        version: Option<u64>,
    ) -> Result<Option<StoredArtifact>, SessionError> {
        let mut connection = self.0.readers.acquire().await.map_err(store_error)?;
        sql::find_version(&mut *connection, owner, name, version).await
    }

    async fn delete_artifact(
        &self,
        owner: &ArtifactOwner,
        name: &str,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        let values = Arc::new((owner.clone(), name.to_owned()));
        self.run_write(move |connection| {
            let values = Arc::clone(&values);
            Box::pin(async move { sql::delete_versions(connection, &values.0, &values.1).await })
        })
        .await
    }

    async fn delete_artifacts(&self, user: &UserKey) -> Result<Vec<StoredArtifact>, SessionError> {
        let user = user.clone();
        self.run_write(move |connection| {
            let user = user.clone();
            Box::pin(async move { sql::delete_artifacts(connection, &user).await })
        })
        .await
    }

    async fn unused_bodies(&self, bodies: &[String]) -> Result<Vec<String>, SessionError> {
        let (bodies, clock): (Arc<[String]>, _) = (bodies.into(), self.0.clock.clone());
        self.run_write(move |connection| {
            let (bodies, now) = (Arc::clone(&bodies), clock.now());
            Box::pin(async move {
                sql::remove_expired_uploads_and_list_unused_bodies(connection, &bodies, now).await
            })
        })
        .await
    }
}
