//! The order of matches.

use proptest::{prelude::ProptestConfig, strategy::Strategy, strategy::ValueTree, test_runner::TestRunner};
use tool_session::{InMemoryStore, NoteContent, SharedMemory};

use super::world::{MemoryFactory, World, user};

/// Compares with the memory of the store in memory, whose own run compares it with itself.
pub(crate) async fn all_stores_find_the_same_notes_in_the_same_order<F: MemoryFactory>() {
    let mut runner = TestRunner::deterministic();
    let _config = ProptestConfig::default();
    let (world, expected) = (World::new::<F>().await, SharedMemory::new(InMemoryStore::new()));
    let texts = proptest::collection::vec("(([abc]|zebra|犬|猫犬|é) ){1,30}", 300);
    let texts = texts.new_tree(&mut runner).unwrap().current();
    for text in &texts {
        let note = NoteContent::new(&**text);
        assert_eq!(
            world.memory.add(&user(), &note).await.unwrap(),
            expected.add(&user(), &note).await.unwrap()
        );
    }
    for number in (3..300).step_by(7) {
        assert!(world.memory.delete(&user(), number).await.unwrap());
        assert!(expected.delete(&user(), number).await.unwrap());
    }
    let queries = proptest::collection::vec("(([abc]|zebra|犬|猫犬|é|none) ){1,6}", 40);
    for query in queries.new_tree(&mut runner).unwrap().current() {
        let found = world.memory.search(&user(), &query, 50).await.unwrap();
        assert!(!found.is_empty() || query.replace("none", "").trim().is_empty(), "{query}");
        assert_eq!(found, expected.search(&user(), &query, 50).await.unwrap(), "{query}");
    }
}

pub(crate) async fn a_rare_word_is_found_among_many_notes_with_a_frequent_one<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    world.add("the dog is called Rex").await;
    for number in 0..1200 {
        world.add(&format!("the note {number}")).await;
    }
    assert_eq!(world.find("the rex").await.first().map(String::as_str), Some("the dog is called Rex"));
    assert_eq!(world.find("the note").await.first().map(String::as_str), Some("the note 1199"));
}

pub(crate) async fn at_most_8_mib_of_text_are_compared<F: MemoryFactory>() {
    const LONG: usize = 60_000;
    let world = World::new::<F>().await;
    world.add("dog dog dog").await;
    // Separators are no words.
    let long = format!("dog{}", ".".repeat(LONG - 3));
    let most = (8 << 20) / LONG;
    for _ in 0..most {
        world.add(&long).await;
    }
    assert_eq!(world.find("dog").await.first().map(String::as_str), Some("dog dog dog"));
    world.add(&long).await;
    assert_eq!(world.find("dog").await.first(), Some(&long), "the oldest note is left out");
}

pub(crate) async fn the_newest_of_equal_notes_is_first<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    let (first, second) = (world.add("a dog").await, world.add("a dog").await);
    let found = world.memory.search(&user(), "dog", 5).await.unwrap();
    assert_eq!(found.iter().map(|it| it.note.number).collect::<Vec<_>>(), [second, first]);
    assert!(found[0].score > 0.0 && found[0].score == found[1].score);
}

pub(crate) async fn a_limit_keeps_the_best_matches<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    for text in ["dog", "dog cat", "dog cat bird", "a long text about something else, with one dog in it"] {
        world.add(text).await;
    }
    let found = world.memory.search(&user(), "bird dog cat", 2).await.unwrap();
    let texts: Vec<_> = found.iter().map(|it| it.note.content.text.to_string()).collect();
    assert_eq!(texts, ["dog cat bird", "dog cat"]);
    assert!(found[0].score > found[1].score);
    assert_eq!(world.memory.search(&user(), "dog", usize::MAX).await.unwrap().len(), 4);
}
