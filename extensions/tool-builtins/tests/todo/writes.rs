//! Writes of the list: what is accepted, and what the model reads.

use std::sync::Mutex;

use tool_builtins::todo::{DEFAULT_NUDGE, MAX_TEXT_CHARS, TODO_INSTRUCTION, Todo, TodoStatus};
use tool_runtime::{
    event::{EventKind, ToolEvent},
    policy::{Rule, Rules},
};

use super::*;

#[tokio::test]
async fn a_write_replaces_the_whole_list() {
    let world = World::new(TodoTools::new());
    world.write(&[("a", "pending"), ("b", "pending")]).await.unwrap();
    world.write(&[("c", "pending")]).await.unwrap();
    assert_eq!(world.contents().unwrap(), ["c"]); // S01
    let stored = world.todos.of_run(&world.run).unwrap().unwrap();
    assert_eq!(stored, [Todo::new("c", "doing c", TodoStatus::Pending)]); // S01
}

#[tokio::test]
async fn the_result_has_the_old_list_from_the_second_write_on() {
    let world = World::new(TodoTools::new());
    let first = world.write(&[("a", "pending")]).await.unwrap();
    let expected = json!({ "message": DEFAULT_NUDGE, "todos": [todo("a", "pending")] });
    assert_eq!(first, expected); // S02 S11
    let second = world.write(&[("a", "in_progress")]).await.unwrap();
    assert_eq!(second["oldTodos"], json!([todo("a", "pending")])); // S02
    world.write(&[]).await.unwrap();
    assert_eq!(world.write(&[("b", "pending")]).await.unwrap()["oldTodos"], json!([])); // S02
}

// S02: on the short path of an executor, and on the one with rules and listeners.
#[tokio::test]
async fn the_lists_are_in_the_event_of_the_result() {
    let registry = || Registry::builder().toolset(TodoTools::new()).build().unwrap();
    let rules = Rules::new([Rule::allow("todo_write")]);
    let ruled = Executor::builder(registry()).rules(rules).build().unwrap();
    for executor in [Executor::new(registry()), ruled] {
        let mut listener = executor.subscribe();
        let run = Arc::new(RunContext::new().with_agent("coder"));
        for status in ["pending", "in_progress"] {
            let call = ToolCall::new("todo_write", json!({ "todos": [todo("a", status)] }));
            executor.batch(vec![call]).with_run(run.clone()).run().await;
        }
        let mut results = Vec::new();
        while let Some(event) = listener.try_next() {
            let ToolEvent { kind: EventKind::Finished { result }, .. } = event.unwrap() else { continue };
            results.push(tool_runtime::serde_json::from_str::<Value>(&result.text()).unwrap());
        }
        assert_eq!(results[0]["todos"], json!([todo("a", "pending")])); // S02
        assert_eq!(results[1]["oldTodos"], json!([todo("a", "pending")])); // S02
        assert_eq!(results[1]["todos"], json!([todo("a", "in_progress")])); // S02
    }
}

#[tokio::test]
async fn a_list_must_be_sent_and_an_empty_one_clears() {
    let world = World::new(TodoTools::new());
    world.write(&[("a", "pending")]).await.unwrap();
    let before = json!(*world.run.state()).to_string();
    for arguments in
        ["{}", "null", "", r#"{"todos":null}"#, r#"{"todos":{}}"#, r#"{"todos":"a"}"#, r#"{"todos":3}"#]
    {
        let error = world.call(arguments.to_owned()).await.unwrap_err();
        assert!(error.contains("todos"), "{arguments}: {error}"); // S03
        assert_eq!(json!(*world.run.state()).to_string(), before, "{arguments}"); // S03 S06
    }
    let cleared = world.call(r#"{"todos":[]}"#.to_owned()).await.unwrap();
    assert_eq!((&cleared["todos"], world.contents().unwrap().len()), (&json!([]), 0)); // S03
}

#[tokio::test]
async fn a_wrong_item_is_named_by_its_index_and_changes_nothing() {
    let world = World::new(TodoTools::new());
    world.write(&[("old", "pending")]).await.unwrap();
    let before = json!(*world.run.state()).to_string();
    let a = || todo("A", "pending");
    let cases = [
        (
            json!([a(), { "content": "b", "activeForm": "", "status": "pending" }]),
            "todos[1].activeForm is empty",
        ),
        (json!([{ "content": "", "activeForm": "b", "status": "pending" }]), "todos[0].content is empty"),
        (json!([a(), { "activeForm": "b", "status": "pending" }]), "/todos/1/content"),
        (json!([a(), { "content": "b", "status": "pending" }]), "/todos/1/activeForm"),
        (json!([a(), { "content": "b", "activeForm": "b", "status": "done" }]), "/todos/1/status"),
        (json!([a(), { "content": "b", "activeForm": "b" }]), "/todos/1/status"),
        (json!([a(), null]), "/todos/1"),
        (json!([a(), a()]), "todos[1].content occurs twice"),
        (
            json!([todo("a", "in_progress"), a(), todo("b", "in_progress")]),
            "todos[0] and todos[2] are both in_progress",
        ),
    ];
    for (todos, expected) in cases {
        let error = world.call(json!({ "todos": todos })).await.unwrap_err();
        assert!(error.contains(expected), "{todos}: {error}"); // S04 S05
        assert_eq!(json!(*world.run.state()).to_string(), before, "{todos}"); // S06
    }
    // Equal but for the case, and blank, are texts of their own.
    world.write(&[("A", "in_progress"), ("a", "completed"), (" ", "pending")]).await.unwrap(); // S04 S05
    assert_eq!(world.contents().unwrap(), ["A", "a", " "]);
}

#[tokio::test]
async fn a_list_with_all_tasks_completed_becomes_empty_unless_that_is_switched_off() {
    let done = [("a", "completed"), ("b", "completed")];
    let world = World::new(TodoTools::new());
    world.write(&[("a", "in_progress"), ("b", "pending")]).await.unwrap();
    let result = world.write(&done).await.unwrap();
    assert_eq!(result["todos"], json!([])); // S10
    assert_eq!(result["oldTodos"], list(&[("a", "in_progress"), ("b", "pending")])); // S10
    assert_eq!(world.run.state()["todos:coder"], json!([])); // S10

    let world = World::new(TodoTools::new().clear_when_done(false));
    assert_eq!(world.write(&done).await.unwrap()["todos"], list(&done)); // S10
    assert_eq!(world.contents().unwrap(), ["a", "b"]); // S10
}

#[tokio::test]
async fn the_message_is_replaced_or_switched_off() {
    let message =
        async |todos| World::new(todos).write(&[("a", "pending")]).await.unwrap()["message"].clone();
    assert_eq!(message(TodoTools::new().with_nudge("Go on.")).await, "Go on."); // S11
    assert_eq!(message(TodoTools::new().with_nudge("")).await, ""); // S11
}

#[tokio::test]
async fn hooks_see_both_lists_and_add_to_the_message_in_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let of_hook = Arc::clone(&seen);
    let todos = TodoTools::new()
        .with_nudge("Go on.")
        .with_nudge_hook(move |change| {
            let old = change.old.map(<[Todo]>::to_vec);
            of_hook.lock().unwrap().push((old, change.submitted.to_vec(), change.branch.to_owned()));
            "First.".to_owned()
        })
        .with_nudge_hook(|_| String::new())
        .with_nudge_hook(|change| if change.is_done() { "Done." } else { "Open." }.to_owned());
    let world = World::new(todos);
    let first = world.write(&[("a", "pending")]).await.unwrap();
    assert_eq!(first["message"], "Go on.\n\nFirst.\n\nOpen."); // S12
    let second = world.write(&[("a", "completed")]).await.unwrap();
    assert_eq!((&second["message"], &second["todos"]), (&json!("Go on.\n\nFirst.\n\nDone."), &json!([]))); // S12
    let todo = |status| vec![Todo::new("a", "doing a", status)];
    let expected = [
        (None, todo(TodoStatus::Pending), "coder".to_owned()),
        (Some(todo(TodoStatus::Pending)), todo(TodoStatus::Completed), "coder".to_owned()),
    ];
    assert_eq!(*seen.lock().unwrap(), expected); // S12
}

#[tokio::test]
async fn a_hook_that_panics_fails_the_call_and_changes_nothing() {
    let world = World::new(TodoTools::new().with_nudge_hook(|_| panic!("no ink")));
    let error = world.write(&[("a", "pending")]).await.unwrap_err();
    assert!(error.contains("no ink"), "{error}");
    assert_eq!(world.contents(), None); // S06
}

#[test]
fn the_instruction_names_the_tool() {
    assert!(TODO_INSTRUCTION.contains("`todo_write`")); // S14
}

// S15: a direct call has no run and no session.
#[tokio::test]
async fn a_call_outside_of_a_run_validates_and_answers() {
    let tools = Registry::builder().toolset(TodoTools::new()).build().unwrap();
    let output = tools.call("todo_write", json!({ "todos": [todo("a", "pending")] })).await.unwrap();
    let value: Value = tool_runtime::serde_json::from_str(&output.text()).unwrap();
    assert_eq!(value["todos"], json!([todo("a", "pending")])); // S15
    assert!(tools.call("todo_write", json!({ "todos": [todo("", "pending")] })).await.is_err()); // S15
}

#[tokio::test]
async fn texts_and_lists_have_a_maximum() {
    let world = World::new(TodoTools::new());
    let long = "x".repeat(MAX_TEXT_CHARS);
    world.write(&[(&long[8..], "pending")]).await.unwrap();
    for text in [format!("{long}x"), "é".repeat(MAX_TEXT_CHARS + 1)] {
        let error = world.write(&[(&text, "pending")]).await.unwrap_err();
        assert!(error.contains("/todos/0/content") && error.len() < 2_000, "{error}");
    }
}
