//! Objects beside the bodies of artifacts.

use std::{
    fs::File,
    sync::Arc,
    time::{Duration, SystemTime},
};

use object_store::{ObjectStore, local::LocalFileSystem, memory::InMemory, prefix::PrefixStore};
use tool_session::{InMemoryStore, SessionError, SharedArtifacts, UserKey};

use super::world::TEXT;

fn in_memory() -> SharedArtifacts {
    SharedArtifacts::new(InMemoryStore::new(), InMemory::new())
}

fn user() -> UserKey {
    UserKey::new("shop", "u-7").unwrap()
}

#[tokio::test]
async fn a_transient_object_is_in_no_list_and_outlives_its_user() {
    let artifacts = in_memory();
    let of_user = artifacts.for_user(&user());
    of_user.save("user:a", TEXT, "a").await.unwrap();
    let objects = artifacts.transient_objects();
    objects.put("pool.1", "large").await.unwrap();
    let names: Vec<_> = of_user.list().await.unwrap().iter().map(|it| it.name.to_string()).collect();
    assert_eq!(names, ["user:a"]);
    assert_eq!(artifacts.delete_user(&user()).await.unwrap(), 1);
    assert_eq!(artifacts.sweep().await.unwrap(), 0);
    assert_eq!(objects.get("pool.1", 5).await.unwrap().as_deref(), Some(&b"large"[..]));
    objects.delete("pool.1").await.unwrap();
    objects.delete("pool.1").await.unwrap();
    assert_eq!(objects.get("pool.1", 5).await.unwrap(), None);
}

#[tokio::test]
async fn a_transient_object_beyond_the_limit_of_its_reader_is_an_error() {
    let objects = in_memory().transient_objects();
    objects.put("pool.1", "large").await.unwrap();
    let error = objects.get("pool.1", 4).await.unwrap_err();
    assert!(matches!(&error, SessionError::Failed(text) if text.contains("more than 4 bytes")), "{error}");
}

#[tokio::test]
async fn names_of_transient_objects_are_no_paths() {
    let objects = in_memory().transient_objects();
    for name in ["", "..", "../bodies/a", "a/b", "a#1", "é", &"x".repeat(129)] {
        let invalid = |error: SessionError| matches!(error, SessionError::Invalid(_));
        assert!(invalid(objects.put(name, "x").await.unwrap_err()), "{name}");
        assert!(invalid(objects.get(name, 1).await.unwrap_err()), "{name}");
        assert!(invalid(objects.delete(name).await.unwrap_err()), "{name}");
    }
}

#[tokio::test]
async fn a_sweep_removes_transient_objects_that_are_older_than_their_lifetime() {
    let folder = crate::sqlite::Folder::new();
    let artifacts = SharedArtifacts::in_folder(InMemoryStore::new(), folder.path()).unwrap();
    assert_eq!(artifacts.transient_objects().lifetime(), Duration::from_secs(3 * 24 * 3600));
    check_sweep(&artifacts, &folder).await;
    let lifetime = Duration::from_secs(7 * 24 * 3600);
    let artifacts = artifacts.with_transient_lifetime(lifetime);
    assert_eq!(artifacts.transient_objects().lifetime(), lifetime);
    check_sweep(&artifacts, &folder).await;
}

async fn check_sweep(artifacts: &SharedArtifacts, folder: &crate::sqlite::Folder) {
    let objects = artifacts.transient_objects();
    let path = folder.path().join("transient");
    for name in ["old", "new"] {
        objects.put(name, name).await.unwrap();
    }
    // Of killed writers.
    for name in ["old-half#1", "new-half#1"] {
        std::fs::write(path.join(name), "half").unwrap();
    }
    let (now, minute) = (SystemTime::now(), Duration::from_secs(60));
    let lifetime = objects.lifetime();
    for (name, age) in [
        ("old", lifetime + minute),
        ("old-half#1", lifetime + minute),
        ("new", lifetime - minute),
        ("new-half#1", lifetime - minute),
    ] {
        File::options().write(true).open(path.join(name)).unwrap().set_modified(now - age).unwrap();
    }
    assert_eq!(artifacts.sweep().await.unwrap(), 2);
    let mut left: Vec<_> =
        std::fs::read_dir(&path).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    left.sort_unstable();
    assert_eq!(left, ["new", "new-half#1"]);
}

#[tokio::test]
async fn files_and_memory_of_a_process_are_known_as_such_behind_a_prefix() {
    let folder = crate::sqlite::Folder::new();
    let files = || LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    let is_local = |bodies: Arc<dyn ObjectStore>| {
        SharedArtifacts::new(InMemoryStore::new(), bodies).transient_objects().is_local()
    };
    assert!(is_local(Arc::new(files())));
    assert!(is_local(Arc::new(PrefixStore::new(files(), "below"))));
    assert!(is_local(Arc::new(InMemory::new())));
    assert!(is_local(Arc::new(PrefixStore::new(InMemory::new(), "below"))));
    let artifacts = SharedArtifacts::in_folder(InMemoryStore::new(), folder.path()).unwrap();
    assert!(artifacts.transient_objects().is_local());
}
