//! The context of a run.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};
use tool_core::{
    CallId, CallSink, ClientInfo, Dependency, ErrorKind, LogLevel, LogLine, ProvidedValues, ReadonlyContext,
    RunContext, ToolContext, ToolError, ToolOutput,
};

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[test]
fn getters_of_a_run_return_only_the_values_set() {
    let none = RunContext::new();
    let texts = |run: ReadonlyContext<'_>| {
        [run.app(), run.agent(), run.user(), run.session()].map(|text| text.map(str::to_owned))
    };
    assert_eq!(texts(none.read_only()), [None, None, None, None]);
    assert_eq!(
        (none.branch(), none.user_content(), none.parent_id(), none.deadline()),
        (None, None, None, None)
    );
    assert!(none.meta().is_empty() && none.state().is_empty() && none.provided().is_empty());
    assert!(none.id().is_generated() && none.id() != RunContext::new().id());
    let deadline = Instant::now() + Duration::from_secs(60);
    let run = RunContext::new()
        .with_id("r")
        .with_app("shop")
        .with_agent("clerk")
        .with_user("u")
        .with_session("s")
        .with_branch("root")
        .with_user_content("hello")
        .with_state(map(&json!({ "n": 1 })))
        .with_deadline(deadline);
    let seen = run.read_only();
    assert_eq!(texts(seen), ["shop", "clerk", "u", "s"].map(|text| Some(text.to_owned())));
    assert_eq!([run.app(), run.agent(), run.user(), run.session()], ["shop", "clerk", "u", "s"].map(Some));
    assert_eq!((run.branch(), run.user_content()), (Some("root"), Some("hello")));
    assert_eq!((run.id(), seen.id()), (&CallId::from("r"), &CallId::from("r")));
    assert_eq!((run.deadline(), seen.deadline()), (Some(deadline), Some(deadline)));
    let (meta, state) = (map(&json!({ "id": "s" })), map(&json!({ "n": 1 })));
    assert_eq!((run.meta(), &*run.state()), (&meta, &state));
    assert_eq!((seen.meta(), &*seen.state()), (&meta, &state));
}

#[test]
fn the_session_id_is_in_the_meta_in_either_order_of_setters() {
    let meta = || map(&json!({ "id": "other", "k": 1 }));
    let expected = map(&json!({ "id": "s", "k": 1 }));
    assert_eq!(RunContext::new().with_session("s").with_meta(meta()).meta(), &expected);
    assert_eq!(RunContext::new().with_meta(meta()).with_session("s").meta(), &expected);
    assert_eq!(RunContext::new().with_meta(meta()).meta(), &meta());
}

#[test]
fn a_run_provides_values_by_type() {
    let run = RunContext::new().provide(7_u8).provide_shared::<str>("text".into());
    assert_eq!((run.provided().get::<u8>(), run.provided().get::<str>()), (Some(&7), Some("text")));
    let seen = run.read_only();
    assert_eq!((seen.get::<u8>(), seen.get::<str>(), seen.get::<char>()), (Some(&7), Some("text"), None));
}

#[test]
fn a_value_is_kept_until_it_is_replaced() {
    let run = RunContext::new();
    assert_eq!(run.value::<u8>("n"), None);
    run.set("n", 1_u8);
    run.set("n", 2_u8);
    assert_eq!((run.value("n"), run.read_only().value("n")), (Some(Arc::new(2_u8)), Some(Arc::new(2_u8))));
    assert_eq!((run.value::<u16>("n"), run.read_only().value::<u8>("m")), (None, None));
    assert_eq!(*run.value_or_insert_with("n", || 3_u8), 2);
    // A value of another type replaces it, too.
    assert_eq!(*run.value_or_insert_with("n", || 'c'), 'c');
    assert_eq!((run.value("n"), run.value::<u8>("n")), (Some(Arc::new('c')), None));
}

#[test]
fn a_value_that_is_inserted_concurrently_is_kept_and_no_lock_is_held() {
    let run = Arc::new(RunContext::new());
    let made = run.value_or_insert_with("n", || {
        run.set("n", 1_u8);
        2_u8
    });
    assert_eq!((*made, run.value("n")), (1, Some(Arc::new(1_u8))));

    /// Reads the run when it is dropped.
    struct Looks(Arc<RunContext>, Arc<std::sync::Mutex<Vec<Option<u8>>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0.value("n").map(|value| *value));
        }
    }
    let seen = Arc::default();
    run.set("looks", Looks(Arc::clone(&run), Arc::clone(&seen)));
    run.set("looks", Looks(Arc::clone(&run), Arc::clone(&seen)));
    run.value_or_insert_with("looks", || 'c');
    assert_eq!(*seen.lock().unwrap(), [Some(1), Some(1)]);
}

// Q22, V05
#[test]
fn a_child_run_may_be_given_the_state_that_lasts_and_is_not_internal() {
    let state = json!({ "plan": 1, "user:a": 2, "app:b": 3, "temp:c": 4, "_d": 5, "e_": 6 });
    let run = RunContext::new().with_state(map(&state));
    let expected = json!({ "plan": 1, "user:a": 2, "app:b": 3, "e_": 6 });
    assert_eq!(run.state_for_child(), map(&expected));
}

#[test]
fn a_child_run_belongs_to_the_run_that_started_it() {
    let deadline = Instant::now() + Duration::from_secs(60);
    let run = RunContext::new()
        .with_id("r")
        .with_app("shop")
        .with_agent("clerk")
        .with_user("u")
        .with_session("s")
        .with_user_content("hello")
        .with_state(map(&json!({ "n": 1 })))
        .provide('p')
        .with_deadline(deadline);
    run.set("n", 1_u8);
    let child = run.child("researcher");
    assert!(child.id().is_generated());
    assert_eq!((child.parent_id(), child.agent()), (Some(run.id()), Some("researcher")));
    assert_eq!([child.app(), child.user(), child.session()], ["shop", "u", "s"].map(Some));
    assert_eq!((child.user_content(), child.deadline()), (None, Some(deadline)));
    assert_eq!(child.meta(), run.meta());
    assert!(child.state().is_empty());
    assert_eq!((child.provided().get(), child.value("n")), (Some(&'p'), Some(Arc::new(1_u8))));
    child.set("n", 2_u8);
    assert_eq!((run.value("n"), child.value("n")), (Some(Arc::new(1_u8)), Some(Arc::new(2_u8))));
    assert_eq!((child.branch(), child.child("b").branch()), (Some("researcher"), Some("researcher.b")));
    let other = run.child("other");
    child.cancellation().cancel();
    assert!(!run.cancellation().is_cancelled() && !other.cancellation().is_cancelled());
    run.cancellation().cancel();
    assert!(other.cancellation().is_cancelled());
}

#[test]
fn a_member_has_the_run_under_its_own_agent() {
    let run =
        RunContext::new().with_agent("team").with_user_content("hello").with_state(map(&json!({ "n": 1 })));
    run.set("n", 1_u8);
    let (member, apart) = (run.member("clerk"), run.parallel_member("scout"));
    assert_eq!((member.id(), member.parent_id(), member.agent()), (run.id(), None, Some("clerk")));
    assert_eq!((member.branch(), member.member("b").branch()), (Some("team.clerk"), Some("team.clerk.b")));
    assert_eq!((member.user_content(), member.depth(), apart.depth()), (Some("hello"), 0, 0));
    assert_eq!(
        (apart.parent_id(), apart.agent(), apart.branch()),
        (Some(run.id()), Some("scout"), Some("team.scout"))
    );
    assert!(apart.id().is_generated() && apart.id() != run.id());
    // State and values of a member are those of the run; one that works at the same time as others has copies.
    member.change_state(&map(&json!({ "n": 2 })));
    member.set("n", 2_u8);
    apart.set("n", 3_u8);
    assert_eq!((json!(*run.state()), run.value("n")), (json!({ "n": 2 }), Some(Arc::new(2_u8))));
    assert_eq!(json!(*apart.state()), json!({ "n": 1 }));
    apart.cancellation().cancel();
    assert!(!run.cancellation().is_cancelled());
    run.stop(ToolError::stop("enough"));
    assert!(member.stopped().is_some() && apart.stopped().is_some());
    member.cancellation().cancel();
    assert!(run.cancellation().is_cancelled());
}

#[test]
fn a_change_of_nothing_keeps_the_state_and_a_change_copies_it() {
    let run = RunContext::new().with_state(map(&json!({ "n": 1, "m": { "a": 1, "b": 2 } })));
    let before = run.state();
    run.change_state(&Map::new());
    assert!(Arc::ptr_eq(&before, &run.state()));
    run.change_state(&map(&json!({ "n": null, "m": { "a": null, "c": 3 }, "k": { "x": null, "y": 1 } })));
    assert_eq!(json!(*run.state()), json!({ "m": { "b": 2, "c": 3 }, "k": { "y": 1 } }));
    assert_eq!(json!(*before), json!({ "n": 1, "m": { "a": 1, "b": 2 } }));
}

#[test]
fn a_client_is_known_to_its_run_and_to_the_calls_of_it() {
    let none = ToolContext::for_test().with_run(Arc::new(RunContext::new()));
    assert_eq!((none.session_id(), none.client_info(), none.client_capabilities()), (None, None, None));
    let (alone, plain) = (ToolContext::for_test(), ClientInfo::new("editor"));
    assert_eq!((alone.session_id(), alone.client_info(), alone.client_capabilities()), (None, None, None));
    assert_eq!(json!(plain), json!({ "name": "editor" }));
    let client =
        plain.with_title("Editor").with_version("2").with_capabilities(map(&json!({ "sampling": {} })));
    let run = Arc::new(RunContext::new().with_client(client.clone()).with_session("s"));
    let cx = ToolContext::for_test().with_run(Arc::clone(&run));
    assert_eq!((run.client(), cx.client_info(), cx.session_id()), (Some(&client), Some(&client), Some("s")));
    assert_eq!(cx.client_capabilities(), Some(&map(&json!({ "sampling": {} }))));
    let written = json!({
        "name": "editor", "title": "Editor", "version": "2", "capabilities": { "sampling": {} },
    });
    assert_eq!((json!(client), serde_json::from_value(written.clone()).ok()), (written, Some(client)));
    // Runs below it serve the same client.
    assert!(run.child("a").client().is_some() && run.member("a").client().is_some());
}

#[test]
fn names_of_provided_types_are_sorted_and_listed_once() {
    let mut below = ProvidedValues::default();
    below.insert(Arc::new(1_u8));
    below.insert(Arc::new('b'));
    below.insert(Arc::new(1_i64));
    let mut provided = ProvidedValues::over(Arc::new(below));
    provided.insert(Arc::new(2_u8));
    provided.insert(Arc::new(1_u16));
    provided.insert(Arc::new(1.0_f32));
    provided.insert(Arc::new(true));
    assert_eq!(provided.type_names(), ["bool", "char", "f32", "i64", "u16", "u8"]);
    assert!(!provided.contains_in_arc(&Dependency::of::<u32>()));
    provided.insert(Arc::new(Arc::new(1_u32)));
    assert!(provided.contains_in_arc(&Dependency::of::<u32>()));
    let over = ProvidedValues::over(Arc::new(provided));
    assert!(over.contains_in_arc(&Dependency::of::<u32>()) && !over.contains_in_arc(&Dependency::of::<u8>()));
    assert!(over.contains(&Dependency::of::<u8>()) && !over.contains(&Dependency::of::<u32>()));
}

#[test]
fn a_call_reads_the_state_that_was_set_last() {
    let state = |value: u8| map(&json!({ "n": value }));
    let mut cx = ToolContext::for_test().with_state(state(1));
    assert_eq!(cx.state().value("n"), Some(json!(1)));
    cx.set_state(Arc::new(state(2)));
    assert_eq!(cx.state().value("n"), Some(json!(2)));
    // Without a state of its own, it has the one of its run.
    let run = Arc::new(RunContext::new().with_state(state(3)));
    assert_eq!(ToolContext::for_test().with_run(Arc::clone(&run)).state().value("n"), Some(json!(3)));
    assert_eq!(ToolContext::for_test().with_state(state(4)).with_run(run).state().value("n"), Some(json!(4)));
    let mut asked = ToolContext::for_test().with_attempt(2);
    asked.set_request_parts(Some(state(5)), Vec::new());
    assert_eq!((asked.meta(), asked.attempt(), asked.raw_tool_name()), (Some(&state(5)), 2, "test"));
    assert_eq!(asked.state().names(), Vec::<String>::new());
    asked.state().set("b", 1).and_then(|()| asked.state().set("a", json!({ "x": null }))).unwrap();
    asked.state().set("c", 1).and_then(|()| asked.state().remove("c")).unwrap();
    assert_eq!((asked.state().names(), asked.state().value("c")), (vec!["a".into(), "b".into()], None));
    assert_eq!(json!(asked.state().changes()), json!({ "a": {}, "b": 1 }));
    assert_eq!(asked.state().value("b"), Some(json!(1)));
    // Names before and after a change are sorted together; a value that is set again is no change.
    let cx = ToolContext::for_test().with_state(map(&json!({ "m": 1, "k": { "x": 1 } })));
    cx.state().set("m", 1).and_then(|()| cx.state().set("k", json!({ "x": 1 }))).unwrap();
    cx.state().set("b", "new").unwrap();
    assert_eq!(cx.state().names(), ["b", "k", "m"]);
    assert_eq!(json!(cx.state().changes()), json!({ "b": "new" }));
    let done = cx.conclude(Ok("done".into())).unwrap();
    assert_eq!(json!(done.actions().unwrap().state), json!({ "b": "new" }));
    assert_eq!(cx.state().set("b", 1).unwrap_err().reason(), "the state `b` was set after the call was over");
}

#[test]
fn updates_and_log_lines_return_the_answer_of_the_sink() {
    struct Refusing;
    impl CallSink for Refusing {
        fn try_update(&self, update: ToolOutput) -> bool {
            update.text() == "kept"
        }

        fn log(&self, line: LogLine) -> Result<(), ToolError> {
            Err(ToolError::failed(format!("{} {}", line.message, line.data)))
        }
    }
    let cx = ToolContext::for_test().with_sink(Arc::new(Refusing));
    assert!(cx.try_update("kept") && !cx.try_update("lost") && ToolContext::for_test().try_update("lost"));
    let line = || LogLine::new(LogLevel::Info, "here").with_data(json!([1]));
    assert_eq!(cx.log(line()).unwrap_err().feedback(), "here [1]");
    assert!(ToolContext::for_test().log(line()).is_ok());
    // Only the body of a blocking tool may wait for a sink.
    let refused = cx.blocking_update("kept").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    assert_eq!(refused.reason(), "`blocking_update` needs a `blocking` tool; use `update` or `try_update`");
    assert!(ToolContext::for_test().blocking_update("kept").is_ok());
    let lines = [LogLine::new(LogLevel::Warning, "w"), line()].map(|line| json!(line));
    assert_eq!(lines[0], json!({ "level": "warning", "message": "w" }));
    assert_eq!(lines[1], json!({ "level": "info", "message": "here", "data": [1] }));
}
