//! Files that were read, by user, session and run.

use std::sync::Arc;

use tool_runtime::prelude::*;

use super::World;

fn run_of(user: &str, session: &str) -> Arc<RunContext> {
    Arc::new(RunContext::new().with_user(user).with_session(session))
}

// R16
#[tokio::test]
async fn a_second_read_of_the_same_is_short_and_the_third_is_not() {
    let world = World::new();
    world.write("a", "one\ntwo\n");
    let run = run_of("ada", "s");
    let read =
        async |run: &Arc<RunContext>| world.call_in(run, "read_file", json!({ "path": "a" })).await.unwrap();
    let first = read(&run).await;
    assert!(first.contains("1\tone"));
    assert!(read(&run).await.starts_with("`a` is unchanged since this read of it"));
    assert_eq!(read(&run).await, first);
    assert!(read(&run).await.contains("unchanged"));
    // Another range, a change, and another run of the session, which was given nothing.
    let range = json!({ "path": "a", "offset": 2 });
    assert!(world.call_in(&run, "read_file", range).await.unwrap().contains("2\ttwo"));
    read(&run).await;
    world.write("a", "ONE\ntwo\n");
    assert!(read(&run).await.contains("1\tONE"));
    assert!(read(&run_of("ada", "s")).await.contains("1\tONE"));
    // A call without a run has no conversation.
    for _ in 0..2 {
        assert!(world.read("a").await.unwrap().contains("1\tONE"));
    }
}

// R18
#[tokio::test]
async fn a_read_counts_for_its_user_and_session_only() {
    let world = World::new();
    world.write("a", "one\n");
    let edit = json!({ "path": "a", "old_text": "one", "new_text": "two" });
    world.call_in(&run_of("ada", "s"), "read_file", json!({ "path": "a" })).await.unwrap();
    for (user, session) in [("bob", "s"), ("ada", "t")] {
        let error = world.call_in(&run_of(user, session), "edit_file", edit.clone()).await.unwrap_err();
        assert!(error.contains("was not read yet"), "{error}");
    }
    world.call_in(&run_of("ada", "s"), "edit_file", edit).await.unwrap();
}

// R18: one session cannot make others forget; its own oldest file is forgotten.
#[tokio::test]
async fn a_session_remembers_a_limited_number_of_files() {
    let world = World::new();
    let (first, second) = (run_of("ada", "s"), run_of("ada", "t"));
    world.write("a", "one\n");
    for run in [&first, &second] {
        world.call_in(run, "read_file", json!({ "path": "a" })).await.unwrap();
    }
    for number in 0..1024 {
        let name = format!("many/{number}");
        world.write(&name, "x");
        world.call_in(&first, "read_file", json!({ "path": name })).await.unwrap();
    }
    let edit = |new: &str| json!({ "path": "a", "old_text": "one", "new_text": new });
    let error = world.call_in(&first, "edit_file", edit("two")).await.unwrap_err();
    assert!(error.contains("was not read yet"), "{error}");
    world.call_in(&second, "edit_file", edit("three")).await.unwrap();
}
