//! Pages of entries.

use std::time::{Duration, SystemTime};

use tool_runtime::call::CallAddress;
use tool_session::{EntryContent, EntryQuery, JsonText, SessionWrite};

use super::world::{StoreFactory, World, entry, key, message, numbers, texts};

async fn session_of<F: StoreFactory>(contents: impl IntoIterator<Item = EntryContent>) -> World {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    world.sessions.write(&lease, &SessionWrite::new(0).entries(contents)).await.unwrap();
    world
}

pub(crate) async fn pages_go_forward_and_backward_without_gaps<F: StoreFactory>() {
    let world = session_of::<F>((1..=25).map(|number| message("one", &number.to_string()))).await;
    let query = EntryQuery::forward().limit(10);
    let page = world.sessions.entries(&key("s"), &query).await.unwrap();
    assert_eq!((numbers(&page.entries), page.has_more), ((1..=10).collect(), true));
    let forward = world.entries(&key("s"), query).await;
    assert_eq!(numbers(&forward), (1..=25).collect::<Vec<_>>());
    let backward = world.entries(&key("s"), EntryQuery::backward().limit(10)).await;
    assert_eq!(numbers(&backward), (1..=25).rev().collect::<Vec<_>>());
    let between = world.entries(&key("s"), EntryQuery::backward().after(3).before(6)).await;
    assert_eq!(numbers(&between), [5, 4]);
    let page = world.sessions.entries(&key("s"), &EntryQuery::forward().limit(25)).await.unwrap();
    assert!(!page.has_more);
    for beyond in [
        EntryQuery::forward().after(25),
        EntryQuery::backward().before(0),
        EntryQuery::forward().after(u64::MAX),
    ] {
        assert_eq!(world.entries(&key("s"), beyond).await, []);
    }
    let beyond = EntryQuery::forward().after(9).before(u64::MAX).limit(0);
    assert_eq!(world.sessions.entries(&key("s"), &beyond).await.unwrap().entries.len(), 1);
}

pub(crate) async fn a_page_ends_at_its_bytes<F: StoreFactory>() {
    let world = session_of::<F>((0..10).map(|_| message("one", &"x".repeat(98)))).await;
    let query = EntryQuery::backward().limit_bytes(350);
    let page = world.sessions.entries(&key("s"), &query).await.unwrap();
    assert_eq!((numbers(&page.entries), page.has_more), (vec![10, 9, 8], true));
    // Each body is a text of 100 bytes with its quotes.
    for (bytes, count) in [(299, 2), (300, 3), (301, 3), (399, 3), (400, 4), (999, 9), (1000, 10)] {
        let query = EntryQuery::forward().limit_bytes(bytes);
        let page = world.sessions.entries(&key("s"), &query).await.unwrap();
        assert_eq!((page.entries.len(), page.has_more), (count, count < 10), "{bytes}");
    }
    assert_eq!(world.entries(&key("s"), query).await.len(), 10);
}

pub(crate) async fn a_large_entry_is_a_page_of_its_own<F: StoreFactory>() {
    let world = session_of::<F>([message("one", &"x".repeat(1000)), message("one", "y")]).await;
    let page = world.sessions.entries(&key("s"), &EntryQuery::forward().limit_bytes(10)).await.unwrap();
    assert_eq!((numbers(&page.entries), page.has_more), (vec![1], true));
}

pub(crate) async fn filters_select_by_kind_run_branch_and_view<F: StoreFactory>() {
    let contents = [
        message("one", "a"),
        message("two", "b").with_branch("root.two").with_view("two"),
        entry("two", EntryContent::END, "c").with_branch("root.two"),
        message("three", "d").with_view("two"),
    ];
    let world = session_of::<F>(contents).await;
    let found = async |query: EntryQuery| texts(&world.entries(&key("s"), query).await).concat();
    assert_eq!(found(EntryQuery::forward().of_kind(EntryContent::MESSAGE)).await, "abd");
    assert_eq!(found(EntryQuery::forward().of_run("two")).await, "bc");
    assert_eq!(found(EntryQuery::forward().of_branch("root.two")).await, "bc");
    assert_eq!(found(EntryQuery::backward().of_view("two")).await, "db");
    assert_eq!(found(EntryQuery::forward().of_run("two").of_kind(EntryContent::END)).await, "c");
    assert_eq!(found(EntryQuery::forward().of_view("TWO")).await, "");
}

pub(crate) async fn the_last_compaction_is_found_without_the_rest<F: StoreFactory>() {
    let kinds = (1..=300).map(|number| if number % 100 == 0 { EntryContent::COMPACTION } else { "message" });
    let world = session_of::<F>(kinds.map(|kind| entry("one", kind, "x"))).await;
    let last = EntryQuery::backward().of_kind(EntryContent::COMPACTION).before(300).limit(1);
    let page = world.sessions.entries(&key("s"), &last).await.unwrap();
    assert_eq!((numbers(&page.entries), page.has_more), (vec![200], true));
    let later = world.entries(&key("s"), EntryQuery::forward().after(200)).await;
    assert_eq!(later.len(), 100);
}

pub(crate) async fn bodies_are_kept_byte_for_byte<F: StoreFactory>() {
    let bodies = [
        r#"{"b":1,"a":2,"a":3}"#,
        "{ \"n\" : 1.50e+00,\n\t\"big\": 123456789012345678901234567890.10 }",
        r#""\u0000\ud83d\ude00 \/ é ß 漢""#,
        "  [ ]  ",
        "null",
    ];
    let contents = bodies.map(|body| EntryContent::new("one", "message", JsonText::new(body).unwrap()));
    let world = session_of::<F>(contents).await;
    let entries = world.entries(&key("s"), EntryQuery::forward()).await;
    let stored: Vec<_> = entries.iter().map(|entry| entry.content.body.as_str()).collect();
    assert_eq!(stored, bodies);
}

pub(crate) async fn all_columns_are_kept<F: StoreFactory>() {
    let address = CallAddress { run: Some("run".into()), call_id: "call".into(), serial: (1 << 53) - 1 };
    let content = entry("one", "a kind", "x")
        .with_time(SystemTime::UNIX_EPOCH - Duration::from_millis(1))
        .with_parent_run("parent")
        .with_agent("agent")
        .with_branch("root.agent")
        .with_view("")
        .with_outer_call(address);
    let plain = message("one", "y").with_time(SystemTime::UNIX_EPOCH + Duration::from_micros(1_234_567));
    let world = session_of::<F>([content.clone(), plain.clone()]).await;
    let entries = world.entries(&key("s"), EntryQuery::forward()).await;
    assert_eq!(entries.iter().map(|it| &it.content).collect::<Vec<_>>(), [&content, &plain]);
}

pub(crate) async fn entries_of_a_missing_session_are_none<F: StoreFactory>() {
    let world = World::new::<F>().await;
    assert_eq!(world.entries(&key("s"), EntryQuery::forward()).await, []);
    assert_eq!(world.sessions.load(&key("s")).await.unwrap(), None);
}
