//! Deletion of notes, sessions and users.

use tool_session::{NoteContent, Retention, UserKey};

use super::world::{MemoryFactory, World, user};
use crate::contract::world::key;

pub(crate) async fn a_deleted_note_is_not_found<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    let (one, other) = (world.add("a red dog").await, world.add("a blue dog").await);
    let stranger = UserKey::new("shop", "u-8").unwrap();
    assert!(!world.memory.delete(&stranger, one).await.unwrap());
    assert!(world.memory.delete(&user(), one).await.unwrap());
    assert!(!world.memory.delete(&user(), one).await.unwrap());
    assert!(!world.memory.delete(&user(), u64::MAX).await.unwrap());
    assert_eq!(world.find("dog red").await, ["a blue dog"]);
    let newer = world.add("a green dog").await;
    assert!(newer > other, "numbers are not used again");
}

pub(crate) async fn a_deleted_session_takes_its_notes_along<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    for id in ["a", "b"] {
        world.write_session(&key(id), &[&format!("the dog of {id}")]).await;
        world.add_session(&key(id)).await;
        let notes = world.memory.for_session(&key(id));
        notes.add(format!("the cat of {id}")).await.unwrap();
    }
    world.add("the dog of none").await;
    assert!(world.sessions.delete(&key("a")).await.unwrap());
    assert_eq!(world.find("dog").await, ["the dog of none", "the dog of b"]);
    assert_eq!(world.find("cat").await, ["the cat of b"]);
    assert!(world.memory.for_session(&key("a")).add("late").await.is_err());
    // Scores count the notes that are left.
    assert_eq!(world.memory.delete_user(&user()).await.unwrap(), 3);
}

pub(crate) async fn a_pruned_session_takes_its_notes_along<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    for id in ["old", "new"] {
        world.write_session(&key(id), &[&format!("the {id} dog")]).await;
        world.add_session(&key(id)).await;
        world.time.pass(10);
    }
    assert_eq!(world.sessions.prune(&Retention::new("shop").max_sessions(1)).await.unwrap(), 1);
    assert_eq!(world.find("dog").await, ["the new dog"]);
}

pub(crate) async fn a_deleted_user_leaves_no_note<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    let users = [("shop", "u-7"), ("shop", "u-8"), ("other", "u-7"), ("", "")];
    let users = users.map(|(app, user)| UserKey::new(app, user).unwrap());
    for user in &users {
        let session = user.session_key("s").unwrap();
        world.write_session(&session, &["the dog of a session"]).await;
        world.add_session(&session).await;
        world.memory.add(user, &NoteContent::new("the dog of a user")).await.unwrap();
    }
    assert_eq!(world.sessions.delete_user("shop", "u-7").await.unwrap(), 1);
    assert_eq!(world.find("dog").await.len(), 0);
    for user in &users[1..] {
        assert_eq!(world.find_of(user, "dog").await.len(), 2, "{user}");
    }
    world.add("the dog of later").await;
    assert_eq!(world.find("dog").await, ["the dog of later"]);
}

pub(crate) async fn the_notes_of_a_user_are_deleted_alone<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    world.write_session(&key("a"), &["the dog"]).await;
    world.add_session(&key("a")).await;
    world.add("another dog").await;
    assert_eq!(world.memory.delete_user(&user()).await.unwrap(), 2);
    assert_eq!(world.memory.delete_user(&user()).await.unwrap(), 0);
    assert_eq!(world.find("dog").await.len(), 0);
    assert!(world.sessions.load(&key("a")).await.unwrap().is_some());
    // What was deleted does not come back with the next revision.
    world.write_session(&key("a"), &["the cat"]).await;
    assert_eq!(world.add_session(&key("a")).await, 1);
    assert_eq!(world.find("dog cat").await, ["the cat"]);
}
