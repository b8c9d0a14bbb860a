//! Large values beside artifacts.

use futures_util::StreamExt as _;
use tool_fleet::{ArtifactValues, FleetError, MemoryTransport};
use tool_runtime::prelude::*;
use tool_session::{
    InMemoryStore, SharedArtifacts,
    object_store::{ObjectStore, memory::InMemory, path::Path},
};

use super::{large_text, start};

async fn names(objects: &dyn ObjectStore) -> Vec<Path> {
    objects.list(None).map(|it| it.unwrap().location).collect().await
}

#[tokio::test(start_paused = true)]
async fn large_values_are_beside_artifacts_until_their_call_has_ended() {
    let objects = std::sync::Arc::new(InMemory::new());
    let artifacts =
        SharedArtifacts::new(InMemoryStore::new(), objects.clone() as std::sync::Arc<dyn ObjectStore>);
    let values = ArtifactValues::shared(&artifacts);
    let pool = start(&MemoryTransport::new(), "trip", 1, (Some(values.clone()), Some(values))).await;
    let call = pool.call("reverse", json!({ "text": large_text() }));
    pool.entered().await;
    let [name] = &names(&objects).await[..] else { panic!("{:?}", names(&objects).await) };
    assert!(name.as_ref().starts_with("transient/trip."), "{name}");
    pool.probes[0].released.cancel();
    assert!(call.await.unwrap().text().starts_with("baaa"));
    while !names(&objects).await.is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn artifacts_in_files_or_memory_are_an_error_unless_the_program_shares_them() {
    let folder = std::env::temp_dir().join(format!("tool-fleet-values-{}", std::process::id()));
    let artifacts = SharedArtifacts::in_folder(InMemoryStore::new(), &folder).unwrap();
    let error = ArtifactValues::new(&artifacts).unwrap_err();
    assert!(
        matches!(&error, FleetError::Invalid(text) if text.contains("files of this machine or memory")),
        "{error}"
    );
    let in_memory = SharedArtifacts::new(InMemoryStore::new(), InMemory::new());
    assert!(ArtifactValues::new(&in_memory).is_err());
    let values = ArtifactValues::shared(&artifacts);
    let pool = start(&MemoryTransport::new(), "trip", 1, (Some(values.clone()), Some(values))).await;
    pool.probes[0].released.cancel();
    let result = pool.call("keep", json!({ "text": large_text() })).await.unwrap();
    assert!(result.text() == large_text(), "{:.200}", result.text());
    let left = || std::fs::read_dir(folder.join("transient")).unwrap().count();
    while left() > 0 {
        tokio::task::yield_now().await;
    }
    drop(pool);
    std::fs::remove_dir_all(&folder).unwrap();
}
