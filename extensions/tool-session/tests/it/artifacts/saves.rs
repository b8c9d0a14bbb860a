//! Versions, and their bodies.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{ObjectStoreExt, path::Path};
use tool_runtime::serde_json::json;
use tool_session::{Artifact, ArtifactOwner, Artifacts as _, SessionError};

use super::world::{ArtifactFactory, TEXT, World, read};
use crate::contract::world::key;

pub(crate) async fn versions_are_counted_and_each_can_be_loaded<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.of_session();
    let first = artifacts.save("report.txt", TEXT, "first").await.unwrap();
    let second = artifacts.save("report.txt", "text/markdown", "the second").await.unwrap();
    assert_eq!((first.version, second.version), (1, 2)); // V07
    assert_eq!(json!(second.saved_action().artifacts), json!({ "report.txt": 2 }));
    assert_eq!(read(&artifacts, "report.txt", Some(1)).await, b"first");
    assert_eq!(read(&artifacts, "report.txt", None).await, b"the second");
    assert_eq!((second.bytes, second.media_type.as_ref()), (10, "text/markdown"));
    let hash = "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e";
    assert_eq!(first.hash.as_ref(), hash);

    assert_eq!(artifacts.versions("report.txt").await.unwrap(), [first, second.clone()]);
    let empty = artifacts.save("empty", TEXT, "").await.unwrap();
    assert_eq!(artifacts.list().await.unwrap(), [empty, second.clone()]);
    assert_eq!(read(&artifacts, "empty", None).await, b"");
    assert_eq!(artifacts.find("report.txt", None).await.unwrap(), Some(second));
    for (name, version) in [("report.txt", Some(3)), ("report.txt", Some(0)), ("Report.txt", None)] {
        assert!(artifacts.load(name, version).await.unwrap().is_none());
    }
    assert!(world.artifacts.for_session(&key("t")).list().await.unwrap().is_empty());
}

pub(crate) async fn lists_are_read_in_pages<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.of_session();
    for name in ["b", "a", "c", "é", "B", "user:b", "user:a", "c"] {
        artifacts.save(name, TEXT, name).await.unwrap();
    }
    artifacts.save("b", TEXT, "again").await.unwrap();
    let names = |listed: Vec<Artifact>| listed.iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(artifacts.list().await.unwrap()), ["B", "a", "b", "c", "é", "user:a", "user:b"]);
    assert_eq!(names(artifacts.list_after("b").await.unwrap()), ["c", "é", "user:a", "user:b"]);
    assert_eq!(names(artifacts.list_after("é").await.unwrap()), ["user:a", "user:b"]);
    assert_eq!(names(artifacts.list_after("user:a").await.unwrap()), ["user:b"]);
    let versions = |listed: Vec<Artifact>| listed.iter().map(|it| it.version).collect::<Vec<_>>();
    assert_eq!(versions(artifacts.versions("b").await.unwrap()), [1, 2]);
    assert_eq!(versions(artifacts.versions_after("b", 1).await.unwrap()), [2]);
    let owner = ArtifactOwner::session(&key("s"));
    let page = world.rows.list_artifacts(&owner, "a", 2).await.unwrap();
    let page: Vec<_> =
        page.into_iter().map(|it| (it.artifact.name.to_string(), it.artifact.version)).collect();
    assert_eq!(page, [("b".to_owned(), 2), ("c".to_owned(), 2)]);
    let page = world.rows.artifact_versions(&owner, "b", 0, 1).await.unwrap();
    assert_eq!(page.iter().map(|it| it.artifact.version).collect::<Vec<_>>(), [1]);
}

pub(crate) async fn writers_at_once_get_different_versions<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.of_session();
    let saves = (0..20_u8).map(|number| artifacts.save("n", TEXT, vec![number]));
    let saved = futures_util::future::try_join_all(saves).await.unwrap();
    let mut versions: Vec<_> = saved.iter().map(|it| it.version).collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=20).collect::<Vec<_>>());
    for (number, artifact) in (0..20_u8).zip(&saved) {
        assert_eq!(read(&artifacts, "n", Some(artifact.version)).await, [number]);
    }
}

pub(crate) async fn a_body_beyond_the_limit_is_refused_and_leaves_nothing<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.artifacts.clone().with_max_bytes(10).for_session(&key("s"));
    artifacts.save("ten", TEXT, "0123456789").await.unwrap();
    let endless = stream::repeat_with(|| Ok::<_, SessionError>(Bytes::from_static(b"abc")));
    for error in [
        artifacts.save("eleven", TEXT, "01234567890").await.unwrap_err(),
        artifacts.save_stream("endless", TEXT, endless).await.unwrap_err(),
    ] {
        assert!(
            matches!(&error, SessionError::Invalid(text) if text.contains("more than 10 bytes")),
            "{error}"
        );
    }
    assert_eq!(artifacts.list().await.unwrap().len(), 1);
    assert_eq!(world.paths().await.len(), 1);
}

pub(crate) async fn a_stream_that_fails_saves_nothing<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.of_session();
    let chunks = [Ok(Bytes::from_static(b"abc")), Err("the source is gone")];
    let error = artifacts.save_stream("a", TEXT, stream::iter(chunks)).await.unwrap_err();
    assert!(error.to_string().contains("the source is gone"), "{error}");
    let broken = stream::once(async { panic!("broken") }).map(|()| Ok::<_, String>(Bytes::new()));
    let error = artifacts.save_stream("a", TEXT, broken).await.unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    assert!(artifacts.list().await.unwrap().is_empty());
    assert!(world.paths().await.is_empty());
}

pub(crate) async fn a_large_body_is_streamed<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.of_session();
    let chunks = (0..12_u8).map(|number| Ok::<_, String>(Bytes::from(vec![number; 1 << 20])));
    let saved =
        artifacts.save_stream("large", "application/octet-stream", stream::iter(chunks)).await.unwrap();
    assert_eq!(saved.bytes, 12 << 20);
    let body = artifacts.load("large", None).await.unwrap().unwrap();
    assert_eq!(body.artifact(), &saved);
    let mut chunks = Box::pin(body.into_stream());
    let mut bytes = 0;
    while let Some(chunk) = chunks.try_next().await.unwrap() {
        for byte in chunk {
            assert_eq!(usize::from(byte), bytes >> 20);
            bytes += 1;
        }
    }
    assert_eq!(bytes, 12 << 20);
}

pub(crate) async fn equal_bodies_of_a_user_are_stored_once<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let (artifacts, stranger) = (world.of_session(), key("s").user_key().session_key("t").unwrap());
    for name in ["a", "a", "b", "user:c"] {
        artifacts.save(name, TEXT, "the same").await.unwrap();
    }
    world.artifacts.for_session(&stranger).save("d", TEXT, "the same").await.unwrap();
    assert_eq!(world.paths().await.len(), 1);
    // Of another user, so that neither learns from the other.
    let other = tool_session::UserKey::new("shop", "u-8").unwrap();
    world.artifacts.for_user(&other).save("user:a", TEXT, "the same").await.unwrap();
    assert_eq!(world.paths().await.len(), 2);
    assert_eq!(read(&artifacts, "a", Some(2)).await, b"the same");
}

pub(crate) async fn an_artifact_of_a_missing_session_is_refused<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let missing = world.artifacts.for_session(&key("missing"));
    let error = missing.save("a", TEXT, "x").await.unwrap_err();
    assert_eq!(error, SessionError::NotFound(Box::new(key("missing"))));
    assert!(world.paths().await.is_empty());
    assert!(missing.list().await.unwrap().is_empty());
    assert!(!missing.delete("a").await.unwrap());
}

pub(crate) async fn a_changed_body_is_an_error<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.of_session();
    let Artifact { hash, .. } = artifacts.save("a", TEXT, "original").await.unwrap();
    let path = Path::parse(&world.paths().await[0]).unwrap();
    assert!(path.to_string().contains(&*hash), "{path}");
    world.bodies.put(&path, "altered!".into()).await.unwrap();
    let error = artifacts.load("a", None).await.unwrap().unwrap().bytes().await.unwrap_err();
    assert!(error.to_string().contains("version 1 of the artifact \"a\" was changed"), "{error}");
    // A body that is larger is not read to its end.
    world.bodies.put(&path, "original and more".into()).await.unwrap();
    let mut chunks = Box::pin(artifacts.load("a", None).await.unwrap().unwrap().into_stream());
    assert!(chunks.next().await.unwrap().unwrap_err().to_string().contains("was changed"));
    world.bodies.delete(&path).await.unwrap();
    let error = artifacts.load("a", None).await.unwrap_err();
    assert!(error.to_string().contains("is missing"), "{error}");
    // As the messages say, it is saved again, also for earlier versions of the same content.
    for damage in ["altered!", ""] {
        if !damage.is_empty() {
            world.bodies.put(&path, damage.into()).await.unwrap();
        }
        artifacts.save("a", TEXT, "original").await.unwrap();
        for version in [None, Some(1)] {
            assert_eq!(read(&artifacts, "a", version).await, b"original");
        }
        assert_eq!(world.paths().await.len(), 1);
    }
}
