//! Sweeps beside writers.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{TryStreamExt, stream};
use object_store::{ObjectStore, ObjectStoreExt, path::Path};
use tool_session::{
    ArtifactContent, ArtifactOwner, Artifacts, SessionError, SharedArtifacts, StoredArtifact, UserKey,
};

use super::world::{ArtifactFactory, TEXT, World, read};
use crate::contract::world::key;

/// Rows that a sweep asks just before a version is added, when the body is complete.
struct SweptRows<A> {
    rows: A,
    bodies: Arc<dyn ObjectStore>,
}

impl<A: Artifacts> Artifacts for SweptRows<A> {
    async fn begin_upload(&self, upload: &str, lifetime: Duration) -> Result<(), SessionError> {
        self.rows.begin_upload(upload, lifetime).await
    }

    async fn end_upload(&self, upload: &str) -> Result<(), SessionError> {
        self.rows.end_upload(upload).await
    }

    async fn add_artifact(
        &self,
        owner: &ArtifactOwner,
        upload: &str,
        content: &ArtifactContent,
    ) -> Result<StoredArtifact, SessionError> {
        let objects: Vec<_> = self.bodies.list(None).try_collect().await.unwrap();
        let names: Vec<_> = objects.iter().map(|it| it.location.filename().unwrap().to_owned()).collect();
        assert!(names.iter().any(|name| *name == *content.body), "the body is complete");
        for unused in self.rows.unused_bodies(&names).await? {
            let object = objects.iter().find(|it| it.location.filename() == Some(&*unused)).unwrap();
            self.bodies.delete(&object.location).await.unwrap();
        }
        self.rows.add_artifact(owner, upload, content).await
    }

    async fn list_artifacts(
        &self,
        owner: &ArtifactOwner,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        self.rows.list_artifacts(owner, after, limit).await
    }

    async fn artifact_versions(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        self.rows.artifact_versions(owner, name, after, limit).await
    }

    async fn find_artifact(
        &self,
        owner: &ArtifactOwner,
        name: &str,
        version: Option<u64>,
    ) -> Result<Option<StoredArtifact>, SessionError> {
        self.rows.find_artifact(owner, name, version).await
    }

    async fn delete_artifact(
        &self,
        owner: &ArtifactOwner,
        name: &str,
    ) -> Result<Vec<StoredArtifact>, SessionError> {
        self.rows.delete_artifact(owner, name).await
    }

    async fn delete_artifacts(&self, user: &UserKey) -> Result<Vec<StoredArtifact>, SessionError> {
        self.rows.delete_artifacts(user).await
    }

    async fn unused_bodies(&self, bodies: &[String]) -> Result<Vec<String>, SessionError> {
        self.rows.unused_bodies(bodies).await
    }
}

pub(crate) async fn a_sweep_keeps_the_body_of_a_writer_at_work<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let rows = SweptRows { rows: world.rows.clone(), bodies: Arc::clone(&world.bodies) };
    let artifacts = SharedArtifacts::new(rows, Arc::clone(&world.bodies)).for_session(&key("s"));
    artifacts.save("a", TEXT, "the body").await.unwrap();
    assert_eq!(read(&artifacts, "a", None).await, b"the body");

    // Also while the body is being written.
    let sweeping = world.artifacts.clone();
    let chunks = stream::unfold((0, sweeping), |(count, sweeping)| async move {
        sweeping.sweep().await.unwrap();
        (count < 3).then(|| (Ok::<_, String>(Bytes::from(vec![count; 4 << 20])), (count + 1, sweeping)))
    });
    artifacts.save_stream("b", TEXT, chunks).await.unwrap();
    assert_eq!(read(&artifacts, "b", None).await.len(), 12 << 20);
}

pub(crate) async fn a_writer_that_is_too_slow_saves_nothing<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let (time, sweeping, artifacts) = (world.time.clone(), world.artifacts.clone(), world.of_session());
    let chunk = stream::once(async move {
        time.pass(25 * 3600);
        sweeping.sweep().await.unwrap();
        Ok::<_, String>(Bytes::from_static(b"late"))
    });
    let error = artifacts.save_stream("a", TEXT, chunk).await.unwrap_err();
    assert!(error.to_string().contains("took too long; save it again"), "{error}");
    assert!(artifacts.list().await.unwrap().is_empty() && world.paths().await.is_empty());
}

pub(crate) async fn a_sweep_removes_what_an_interrupted_writer_left<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    world.of_session().save("a", TEXT, "kept").await.unwrap();
    let lifetime = Duration::from_secs(60);
    for upload in ["call_1_1", "call_1_2"] {
        world.rows.begin_upload(upload, lifetime).await.unwrap();
    }
    // One was interrupted while it wrote the body, the other one before its row was stored.
    let body = format!("bodies/ab/ab{}-call_1_2", "0".repeat(62));
    for path in ["uploads/call_1_1", &*body] {
        world.bodies.put(&Path::parse(path).unwrap(), "left".into()).await.unwrap();
    }
    assert_eq!(world.artifacts.sweep().await.unwrap(), 0);
    world.time.pass(61);
    assert_eq!(world.artifacts.sweep().await.unwrap(), 2);
    assert_eq!(world.paths().await.len(), 1);
    assert_eq!(read(&world.of_session(), "a", None).await, b"kept");
}
