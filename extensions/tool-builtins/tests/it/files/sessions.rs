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

// R16
#[tokio::test]
async fn another_image_of_the_same_size_is_shown() {
    let world = World::new();
    let run = run_of("ada", "s");
    for (last, is_shown) in [(1, true), (2, true), (2, false)] {
        world.write("a", [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".as_slice(), &[last]].concat());
        let text = world.call_in(&run, "read_file", json!({ "path": "a" })).await.unwrap();
        assert_eq!(text.contains("image/png, 17 bytes"), is_shown, "{text}");
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

fn edit_of(old_text: &str, new_text: &str) -> Value {
    json!({ "path": "a", "old_text": old_text, "new_text": new_text })
}

// R18: one session cannot make others forget; its own oldest file is forgotten.
#[tokio::test]
async fn a_session_remembers_the_1024_files_that_it_read_last() {
    let world = World::new();
    let (first, second) = (run_of("ada", "s"), run_of("ada", "t"));
    let read = async |run: &Arc<RunContext>, name: &str| {
        world.call_in(run, "read_file", json!({ "path": name })).await.unwrap();
    };
    world.write("a", "one\n");
    read(&first, "a").await;
    read(&second, "a").await;
    for number in 0..1023 {
        let name = format!("many/{number}");
        world.write(&name, "x");
        read(&first, &name).await;
    }
    world.call_in(&first, "edit_file", edit_of("one", "two")).await.unwrap();
    // The edit was the last use of the file; the one of the other session is older.
    read(&second, "a").await;
    for number in 0..1023 {
        read(&first, &format!("many/{number}")).await;
    }
    world.write("last", "x");
    read(&first, "last").await;
    let error = world.call_in(&first, "edit_file", edit_of("two", "three")).await.unwrap_err();
    assert!(error.contains("was not read yet"), "{error}");
    world.call_in(&second, "edit_file", edit_of("two", "four")).await.unwrap();
}

// R18
#[tokio::test]
async fn the_256_sessions_that_read_last_are_remembered() {
    let world = World::new();
    world.write("a", "one\n");
    let read = async |session: &str| {
        world.call_in(&run_of("ada", session), "read_file", json!({ "path": "a" })).await.unwrap();
    };
    for session in 0..256 {
        read(&session.to_string()).await;
    }
    let problem = async |session: &str| {
        world.call_in(&run_of("ada", session), "edit_file", edit_of("absent", "x")).await.unwrap_err()
    };
    assert!(problem("1").await.contains("does not occur"));
    read("0").await;
    read("256").await;
    for (session, expected) in [("0", "does not occur"), ("1", "was not read yet"), ("2", "does not occur")] {
        assert!(problem(session).await.contains(expected), "{session}");
    }
}
