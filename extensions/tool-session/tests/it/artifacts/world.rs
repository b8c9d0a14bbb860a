//! The artifacts and values that the tests of the contract share.

use std::{any::Any, sync::Arc};

use futures_util::TryStreamExt;
use object_store::ObjectStore;
use tool_session::{
    Artifacts, Clock, LeaseRequest, Memory, SessionArtifacts, SessionKey, SharedArtifacts, SharedMemory,
    SharedSessionStore,
};

use crate::contract::world::{TestTime, key};

/// Makes the artifacts of one implementation, each with the sessions of the same store.
pub(crate) trait ArtifactFactory {
    type Rows: Artifacts + Memory + Clone + 'static;

    /// Returns `false` if this machine cannot make a store, which is reported.
    fn is_available() -> bool {
        true
    }

    /// Opens a new, empty store, and objects; what the last value owns is kept as long as the store.
    async fn open_artifacts(
        clock: Clock,
    ) -> (SharedSessionStore, Self::Rows, Arc<dyn ObjectStore>, Box<dyn Any>);
}

/// A new store with the sessions `s` and `t` of one user.
pub(crate) struct World<F: ArtifactFactory> {
    pub(crate) sessions: SharedSessionStore,
    pub(crate) rows: F::Rows,
    pub(crate) bodies: Arc<dyn ObjectStore>,
    pub(crate) artifacts: SharedArtifacts,
    pub(crate) time: TestTime,
    _owned: Box<dyn Any>,
}

impl<F: ArtifactFactory> World<F> {
    pub(crate) async fn new() -> Self {
        let time = TestTime::default();
        let (sessions, rows, bodies, owned) = F::open_artifacts(time.clock()).await;
        let artifacts = SharedArtifacts::new(rows.clone(), Arc::clone(&bodies));
        let world = Self { sessions, rows, bodies, artifacts, time, _owned: owned };
        world.make_session(&key("s")).await;
        world.make_session(&key("t")).await;
        world
    }

    pub(crate) async fn make_session(&self, key: &SessionKey) {
        let grant = self.sessions.acquire(key, &LeaseRequest::new("run", "holder")).await.unwrap();
        self.sessions.release(&grant.lease).await.unwrap();
    }

    /// Returns the artifacts of the session `s`.
    pub(crate) fn of_session(&self) -> SessionArtifacts {
        self.artifacts.for_session(&key("s"))
    }

    pub(crate) fn memory(&self) -> SharedMemory {
        SharedMemory::new(self.rows.clone())
    }

    /// Returns the paths of all objects.
    pub(crate) async fn paths(&self) -> Vec<String> {
        let objects: Vec<_> = self.bodies.list(None).try_collect().await.unwrap();
        objects.iter().map(|object| object.location.to_string()).collect()
    }
}

/// Reads a version of an artifact, or the last one.
pub(crate) async fn read(artifacts: &SessionArtifacts, name: &str, version: Option<u64>) -> Vec<u8> {
    artifacts.load(name, version).await.unwrap().unwrap().bytes().await.unwrap()
}

pub(crate) const TEXT: &str = "text/plain";
