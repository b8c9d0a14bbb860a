//! Sessions as notes.

use tool_session::{NoteContent, SessionError};

use super::world::{MemoryFactory, World, note_of, user};
use crate::contract::world::key;

pub(crate) async fn a_session_is_added_once_for_each_revision<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    world.write_session(&key("s"), &["the red dog", "the blue dog"]).await;
    assert_eq!(world.add_session(&key("s")).await, 2);
    assert_eq!(world.add_session(&key("s")).await, 0);
    world.write_session(&key("s"), &["the green dog"]).await;
    assert_eq!(world.add_session(&key("s")).await, 1);
    assert_eq!(world.add_session(&key("s")).await, 0);
    assert_eq!(world.find("dog").await, ["the green dog", "the blue dog", "the red dog"]);

    let found = world.memory.search(&user(), "green", 1).await.unwrap().remove(0).note.content;
    let entry =
        world.sessions.entries(&key("s"), &tool_session::EntryQuery::backward()).await.unwrap().entries;
    assert_eq!((found.session.as_deref(), found.author.as_deref()), (Some("s"), Some("user")));
    assert_eq!(found.time, entry[0].content.time);
}

pub(crate) async fn two_processes_add_a_session_once<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    let texts: Vec<_> = (0..250).map(|number| format!("the dog {number}")).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    world.write_session(&key("s"), &texts).await;
    let key = key("s");
    let (one, other) = tokio::join!(world.add_session(&key), world.add_session(&key));
    assert_eq!(one + other, 250);
    assert_eq!(world.memory.delete_user(&user()).await.unwrap(), 250);
}

pub(crate) async fn a_session_made_again_is_added_again<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    world.write_session(&key("s"), &["the red dog"]).await;
    world.add_session(&key("s")).await;
    world.sessions.delete(&key("s")).await.unwrap();
    world.time.pass(1);
    world.write_session(&key("s"), &["the blue dog"]).await;
    assert_eq!(world.add_session(&key("s")).await, 1);
    assert_eq!(world.find("dog").await, ["the blue dog"]);
}

pub(crate) async fn a_long_entry_becomes_several_notes<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    let long = format!("{}\0 zebra {}", "é dog ".repeat(20_000), "x".repeat(100_000));
    world.write_session(&key("s"), &[&long]).await;
    let count = world.add_session(&key("s")).await;
    assert!((4..=6).contains(&count), "{count}");
    let found = world.find("zebra").await;
    assert_eq!(found.len(), 1);
    assert!(found[0].len() <= NoteContent::MAX_TEXT_BYTES && found[0].contains('\u{fffd}'));
}

pub(crate) async fn a_missing_session_is_an_error<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    let error = world.memory.add_session(&world.sessions, &key("s"), note_of).await.unwrap_err();
    assert_eq!(error, SessionError::NotFound(Box::new(key("s"))));
    world.write_session(&key("s"), &["x"]).await;
    let error = world.memory.add_session(&world.sessions, &key("s"), |_| panic!("broken")).await.unwrap_err();
    assert!(error.to_string().contains("the function for the text of an entry panicked"), "{error}");
    assert_eq!(world.add_session(&key("s")).await, 1);
}

pub(crate) async fn entries_without_a_text_add_no_note<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    world.write_session(&key("s"), &["a", " ", "b"]).await;
    let add = |memory: tool_session::SharedMemory| {
        let sessions = world.sessions.clone();
        async move { memory.add_session(&sessions, &key("s"), |_| None).await.unwrap() }
    };
    assert_eq!(add(world.memory.clone()).await, 0);
    assert_eq!(world.add_session(&key("s")).await, 0, "the entries were read");
    world.write_session(&key("s"), &[" ", "c"]).await;
    assert_eq!(world.add_session(&key("s")).await, 1);
}
