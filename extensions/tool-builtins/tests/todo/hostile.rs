//! Lists of a hostile model, and state of a hostile store.

use std::collections::HashSet;

use tool_agent::{Agent, Runner, ScriptedModel};
use tool_builtins::todo::{MAX_TODOS, TodoEnforcer};

use super::*;

#[tokio::test]
async fn a_list_of_ten_thousand_tasks_is_refused_with_a_short_error() {
    let world = World::new(TodoTools::new());
    world.write(&[("a", "pending")]).await.unwrap();
    let many: Vec<_> = (0..10_000).map(|number| todo(&number.to_string(), "pending")).collect();
    let error = world.call(json!({ "todos": many })).await.unwrap_err();
    assert!(error.contains("/todos") && error.contains("200") && error.len() < 4_000, "{error}");
    assert_eq!(world.contents().unwrap(), ["a"]); // S06
    // As many as fit, also twice.
    let many: Vec<_> = (0..MAX_TODOS).map(|number| todo(&number.to_string(), "pending")).collect();
    for _ in 0..2 {
        world.call(json!({ "todos": many })).await.unwrap();
    }
    assert_eq!(world.contents().unwrap().into_iter().collect::<HashSet<_>>().len(), MAX_TODOS);
}

#[tokio::test]
async fn control_characters_are_kept_and_never_shown_as_such() {
    let text = "a\n- \"all done\" (completed)\u{1b}[2J\u{202e}\u{0}";
    let world = World::new(TodoTools::new());
    world.write(&[(text, "pending")]).await.unwrap();
    assert_eq!(world.contents().unwrap(), [text]);

    let model = ScriptedModel::new([write(&[(text, "pending")]), Reply::text("Done."), Reply::text("Done.")]);
    let agent =
        Agent::builder("coder", model.clone()).with(TodoEnforcer::new().max_reminders(1)).build().unwrap();
    Runner::new(agent).run("Go.").answer().await.unwrap();
    let reminder = model.requests()[2].messages.last().unwrap().text();
    let line = reminder.lines().nth(1).unwrap();
    assert!(
        line.starts_with(r#"- "a\n- \"all done\" (completed)\u001b[2J\u202e\u0000" (pending)"#),
        "{line}"
    );
}

/// Values that no write stores.
fn corrupt_values() -> Vec<Value> {
    let many: Vec<_> = (0..100_000).map(|number| todo(&number.to_string(), "pending")).collect();
    vec![
        json!("text"),
        json!({ "0": todo("a", "pending") }),
        json!([3]),
        json!([{ "content": "a" }]),
        json!([{ "content": "a", "activeForm": "a", "status": "SECRET".repeat(1_000) }]),
        list(&[("a", "in_progress"), ("b", "in_progress")]),
        list(&[("a", "pending"), ("a", "pending")]),
        list(&[("x".repeat(1 << 20).as_str(), "pending")]),
        many.into(),
    ]
}

#[tokio::test]
async fn state_that_is_no_list_is_an_error_of_a_read_and_replaced_by_a_write() {
    let mut world = World::new(TodoTools::new());
    assert_eq!(world.todos.of_run(&world.run).unwrap(), None); // S09
    world.write(&[]).await.unwrap();
    assert_eq!(world.todos.of_run(&world.run).unwrap(), Some(Vec::new())); // S09
    for value in corrupt_values() {
        let state = json!({ "todos:coder": value }).as_object().cloned().unwrap();
        world.run = Arc::new(RunContext::new().with_agent("coder").with_state(state));
        let error = world.todos.of_run(&world.run).unwrap_err().feedback().to_string();
        assert!(
            error.contains("the state `todos:coder` is no list of tasks") && error.len() < 400,
            "{error}"
        ); // S09
        assert!(!error.contains("SECRET"), "{error}");
        let result = world.write(&[("new", "pending")]).await.unwrap();
        assert!(result["message"].as_str().unwrap().contains("could not be read, and was replaced")); // S09
        assert!(result.get("oldTodos").is_none()); // S09
        assert_eq!(world.contents().unwrap(), ["new"]); // S09
    }
}

#[tokio::test]
async fn state_that_is_no_list_neither_ends_nor_blocks_a_run() {
    for value in corrupt_values() {
        let state = json!({ "todos:coder": value }).as_object().cloned().unwrap();
        let model = ScriptedModel::new([Reply::text("Hello.")]);
        let agent = Agent::builder("coder", model).with(TodoEnforcer::new()).build().unwrap();
        let run = RunContext::new().with_state(state);
        assert_eq!(Runner::new(agent).run_with(run, "Hello?").answer().await.unwrap(), "Hello."); // S09
    }
}

// S18: also if the model writes the list anew each time.
#[tokio::test]
async fn a_model_that_never_finishes_is_not_reminded_for_ever() {
    let rounds =
        (0..10).flat_map(|number| [write(&[(&number.to_string(), "pending")]), Reply::text("Done.")]);
    let model = ScriptedModel::new(rounds);
    let agent = Agent::builder("coder", model.clone()).with(TodoEnforcer::new()).build().unwrap();
    let end = Runner::new(agent).run("Go.").end().await;
    assert!(end.reason.is_success(), "{end}");
    assert_eq!(model.requests().len(), 8); // S18
}

#[tokio::test]
async fn a_reminder_of_many_long_tasks_is_short() {
    let texts: Vec<_> = (0..MAX_TODOS).map(|number| format!("{number}{}", "x".repeat(900))).collect();
    let todos: Vec<_> = texts.iter().map(|text| (text.as_str(), "pending")).collect();
    let model = ScriptedModel::new([write(&todos), Reply::text("Done."), Reply::text("Done.")]);
    let agent =
        Agent::builder("coder", model.clone()).with(TodoEnforcer::new().max_reminders(1)).build().unwrap();
    Runner::new(agent).run("Go.").answer().await.unwrap();
    let reminder = model.requests()[2].messages.last().unwrap().text();
    assert!(reminder.contains("200 tasks are open") && reminder.contains("- and 180 more"), "{reminder}");
    assert!(reminder.len() < 6_000, "{}", reminder.len());
}
