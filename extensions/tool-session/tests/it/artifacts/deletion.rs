//! Deletion of artifacts, sessions and users.

use tool_session::{NoteContent, UserKey};

use super::world::{ArtifactFactory, TEXT, World, read};
use crate::contract::world::key;

pub(crate) async fn a_deleted_name_leaves_no_body<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.of_session();
    for (name, body) in [("a", "one"), ("a", "two"), ("b", "two")] {
        artifacts.save(name, TEXT, body).await.unwrap();
    }
    assert!(artifacts.delete("a").await.unwrap());
    assert!(!artifacts.delete("a").await.unwrap());
    assert!(artifacts.load("a", Some(1)).await.unwrap().is_none());
    // The other name has the same body.
    assert_eq!((world.paths().await.len(), read(&artifacts, "b", None).await), (1, b"two".to_vec()));
    assert!(artifacts.delete("b").await.unwrap());
    assert!(world.paths().await.is_empty());
}

pub(crate) async fn a_deleted_session_leaves_its_bodies_to_a_sweep<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    for id in ["s", "t"] {
        let artifacts = world.artifacts.for_session(&key(id));
        artifacts.save("a", TEXT, format!("of {id}")).await.unwrap();
        artifacts.save("user:a", TEXT, format!("of the user from {id}")).await.unwrap();
    }
    assert_eq!(world.artifacts.sweep().await.unwrap(), 0);
    assert!(world.sessions.delete(&key("s")).await.unwrap());
    assert_eq!(world.artifacts.sweep().await.unwrap(), 1);
    assert_eq!(world.artifacts.sweep().await.unwrap(), 0);
    let artifacts = world.artifacts.for_session(&key("t"));
    assert_eq!(read(&artifacts, "a", None).await, b"of t");
    assert_eq!(read(&artifacts, "user:a", Some(1)).await, b"of the user from s");

    world.make_session(&key("s")).await;
    assert_eq!(world.of_session().save("a", TEXT, "again").await.unwrap().version, 1);
}

pub(crate) async fn a_deleted_user_leaves_no_note_no_artifact_and_no_body<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let stranger = UserKey::new("shop", "u-8").unwrap();
    world.make_session(&stranger.session_key("s").unwrap()).await;
    for user in [key("s").user_key(), stranger.clone()] {
        let session = user.session_key("s").unwrap();
        let artifacts = world.artifacts.for_session(&session);
        artifacts.save("a", TEXT, format!("a of {user}")).await.unwrap();
        artifacts.save("user:b", TEXT, format!("b of {user}")).await.unwrap();
        world.memory().add(&user, &NoteContent::new("a dog")).await.unwrap();
    }
    assert_eq!(world.sessions.delete_user("shop", "u-7").await.unwrap(), 2);
    assert!(world.of_session().list().await.unwrap().is_empty());
    assert!(world.memory().search(&key("s").user_key(), "dog", 5).await.unwrap().is_empty());
    assert_eq!(world.artifacts.sweep().await.unwrap(), 2);
    assert_eq!(world.paths().await.len(), 2);
    let artifacts = world.artifacts.for_session(&stranger.session_key("s").unwrap());
    assert_eq!(artifacts.list().await.unwrap().len(), 2);
    assert_eq!(read(&artifacts, "user:b", None).await, format!("b of {stranger}").as_bytes());
    assert_eq!(world.memory().search(&stranger, "dog", 5).await.unwrap().len(), 1);
}

pub(crate) async fn the_artifacts_of_a_user_are_deleted_alone<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.of_session();
    for name in ["a", "a", "user:b"] {
        artifacts.save(name, TEXT, format!("of {name}")).await.unwrap();
    }
    assert_eq!(world.artifacts.delete_user(&key("s").user_key()).await.unwrap(), 3);
    assert_eq!(world.artifacts.delete_user(&key("s").user_key()).await.unwrap(), 0);
    assert!(world.paths().await.is_empty());
    assert!(world.sessions.load(&key("s")).await.unwrap().is_some());
}
