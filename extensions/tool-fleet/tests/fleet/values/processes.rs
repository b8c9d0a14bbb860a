//! Large values of workers in processes of their own, one of which is killed.

use std::{env, path::Path, sync::Arc};

use test_support::postgres::{new_schema, shared_url};
use tool_fleet::{ArtifactValues, PostgresTransport};
use tool_runtime::prelude::*;
use tool_session::{InMemoryStore, SharedArtifacts};

use super::{LARGE, large_text, serve, start};
use crate::{
    Pool, Probe,
    processes::{WORKER_VARIABLE, WorkerProcess, open_transport, report_bodies},
};

const POOL: &str = "large";

/// A store in a folder that the processes share.
fn values_in(folder: &Path) -> ArtifactValues {
    ArtifactValues::shared(&SharedArtifacts::in_folder(InMemoryStore::new(), folder).unwrap())
}

/// A worker of this file's test; without the variable, nothing.
#[tokio::test]
async fn worker_process() {
    let Ok(place) = env::var(WORKER_VARIABLE) else { return };
    let mut parts = place.split(' ');
    let [url, schema, folder] = [(); 3].map(|()| parts.next().unwrap());
    let transport = open_transport(url, schema).await;
    let probe = Arc::new(Probe::default());
    let serving = serve(&transport, POOL, &probe, Some(values_in(Path::new(folder))));
    tokio::select! { it = serving => it.unwrap().unwrap(), () = report_bodies(&probe) => {} }
}

/// A caller, once the worker has started.
async fn caller(transport: &PostgresTransport, folder: &Path) -> Pool {
    loop {
        let stores = (None, Some(values_in(folder)));
        let pool = start(transport, POOL, 0, stores).await;
        if pool.executor.tools().get("large__reverse").is_some() {
            return pool;
        }
    }
}

#[tokio::test]
async fn a_large_call_whose_process_is_killed_is_answered_by_another_one_and_leaves_nothing() {
    let Some(url) = shared_url() else { return };
    let schema = new_schema();
    let folder = env::temp_dir().join(&schema);
    let place = [&*url, &schema, folder.to_str().unwrap()];
    let mut first = WorkerProcess::start("values::processes::worker_process", &place);
    let transport = open_transport(&url, &schema).await;
    let pool = caller(&transport, &folder).await;
    let call = pool.call("reverse", json!({ "text": large_text() }));
    let mut first = tokio::task::spawn_blocking(move || {
        first.wait_for_body();
        first
    })
    .await
    .unwrap();
    let probe = Arc::new(Probe::default());
    probe.released.cancel();
    let second = open_transport(&url, &schema).await;
    let serving = serve(&second, POOL, &probe, Some(values_in(&folder)));
    first.kill();
    let result = call.await.unwrap();
    assert!(result.text().starts_with("baaa"), "{:.200}", result.text());
    assert_eq!(result.text().len(), LARGE + 1);
    serving.abort();
    while std::fs::read_dir(folder.join("transient")).unwrap().count() > 0 {
        tokio::task::yield_now().await;
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
