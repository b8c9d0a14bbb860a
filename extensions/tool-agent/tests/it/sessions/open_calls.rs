//! Open calls that another process answers: the executors share a store of open calls.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tool_agent::{Agent, AgentEventKind, Answers, EndReason, Runner, ScriptedModel, model::Reply};
use tool_runtime::{ToolCall, open_calls::ProgramKey, prelude::*};
use tool_session::{EntryContent, JsonText, LeaseRequest, SessionWrite};

use super::world::{StoreFactory, World, key, run};

/// The number of files that were removed.
type Removed = Arc<AtomicU32>;

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(removed: &AtomicU32, path: String) -> String {
    removed.fetch_add(1, Ordering::SeqCst);
    format!("{path} is removed")
}

/// Returns the length of a text.
#[tool(register = false, read_only)]
fn length(text: String) -> usize {
    text.len()
}

/// Delivers a parcel, by the program.
#[tool(register = false)]
fn deliver() {}

/// Removes a folder.
#[tool(register = false, name = "remove", confirm)]
fn remove_folder(path: String) -> String {
    path
}

/// Orders a parcel, which takes days.
#[tool(register = false, long_running)]
fn order() -> ToolOutput {
    ToolOutput::from("ordered").with_operation_id("order-7")
}

/// A program of several processes, each with a runner of its own; sessions and open calls are in one database.
struct Program {
    world: World,
    removed: Removed,
}

impl Program {
    async fn new<F: StoreFactory>() -> Self {
        Self { world: World::new::<F>().await, removed: Removed::default() }
    }

    /// Returns the runner of another process.
    fn runner(&self, replies: impl IntoIterator<Item = Reply>) -> (Runner, ScriptedModel) {
        let tools = Registry::builder().tool::<remove>().tool::<length>().tool::<order>().tool::<deliver>();
        self.runner_of(tools.provide_shared(Arc::clone(&self.removed)).build().unwrap(), replies)
    }

    fn runner_of(
        &self,
        tools: Registry,
        replies: impl IntoIterator<Item = Reply>,
    ) -> (Runner, ScriptedModel) {
        let executor = self.world.executor(tools).external(|call| call.tool() == "deliver").build().unwrap();
        let model = ScriptedModel::new(replies);
        (self.world.runner_of(Agent::builder("clerk", model.clone()).tools(executor)), model)
    }

    fn removed(&self) -> u32 {
        self.removed.load(Ordering::SeqCst)
    }
}

fn call(tool: &'static str, arguments: Value, id: &'static str) -> ToolCall {
    ToolCall::new(tool, arguments).with_id(id)
}

fn removal(id: &'static str) -> ToolCall {
    call("remove", json!({ "path": id }), id)
}

/// Returns the texts of the results that the model received last.
fn results(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    let messages = &requests.last().unwrap().messages;
    let results = messages.iter().flat_map(tool_agent::Message::tool_results);
    results.map(|result| result.text().into_owned()).collect()
}

async fn another_process_answers_the_calls_of_a_batch_once<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let length = call("length", json!({ "text": "abc" }), "l");
    let (first, _) = program.runner([Reply::calls([removal("a"), length, removal("b")])]);
    let end = first.run_with(run("s"), "Remove them.").end().await;
    assert_eq!((&end.reason, end.open.len(), program.removed()), (&EndReason::OpenCalls, 2, 0)); // I15 I16
    let (second, _) = program.runner([]);
    // An answer that names no open call changes nothing.
    let reason = second.resume(run("s"), Answers::new().approve("other")).end().await.reason;
    assert!(matches!(reason, EndReason::Failed { .. }), "{reason}"); // I20
    let address = |index: usize| end.open[index].address().unwrap();
    let partly = second.resume(run("s"), Answers::new().approve(address(0))).end().await;
    assert_eq!((&partly.reason, partly.open.len(), program.removed()), (&EndReason::OpenCalls, 1, 1)); // I17 I19
    let (third, model) = program.runner([Reply::text("Done.")]);
    let answers = Answers::new().reject(address(1), "no");
    assert_eq!(third.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    let texts = results(&model);
    assert_eq!((texts[0].as_str(), texts[1].as_str()), ("a is removed", "3")); // I19
    assert!(texts[2].ends_with("call is rejected: no"), "{texts:?}"); // I17
    // The first process has nothing left to answer.
    let reason = first.resume(run("s"), Answers::new().approve(address(0))).end().await.reason;
    assert!(matches!(reason, EndReason::Failed { .. }), "{reason}");
    assert_eq!(program.removed(), 1); // I19
}

async fn another_process_submits_the_result_of_an_external_call<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let calls = [call("deliver", json!({}), "d"), call("length", json!({ "text": "abc" }), "l")];
    let (first, _) = program.runner([Reply::calls(calls)]);
    let end = first.run_with(run("s"), "Deliver it.").end().await;
    assert_eq!((&end.reason, end.open.len()), (&EndReason::OpenCalls, 1)); // X06
    let (second, model) = program.runner([Reply::text("Done.")]);
    let answers = Answers::new().result(end.open[0].address().unwrap(), Ok("delivered".into()));
    assert_eq!(second.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    assert_eq!(results(&model), ["delivered", "3"]); // X05 X06
    assert_eq!(model.requests()[0].messages.len(), 3);
}

async fn another_process_submits_the_final_result_of_a_long_running_call<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let (first, _) = program.runner([Reply::calls([call("order", json!({}), "o")])]);
    let end = first.run_with(run("s"), "Order it.").end().await;
    assert_eq!(end.open[0].result().unwrap().text(), "ordered"); // X10
    let (second, model) = program.runner([Reply::text("Done.")]);
    let answers = Answers::new().result("o", Ok("arrived".into()));
    assert_eq!(second.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    assert_eq!(results(&model), ["arrived"]); // X11
}

async fn a_message_to_another_process_closes_the_open_calls<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let (first, _) = program.runner([Reply::calls([removal("a")])]);
    let end = first.run_with(run("s"), "Remove it.").end().await;
    let (second, model) = program.runner([Reply::text("Fine.")]);
    second.run_with(run("s"), "Never mind.").answer().await.unwrap();
    assert!(results(&model)[0].contains("the user sent another message"), "{:?}", results(&model));
    let approval = Answers::new().approve(end.open[0].address().unwrap());
    let reason = first.resume(run("s"), approval).end().await.reason;
    assert!(matches!(reason, EndReason::Failed { .. }), "{reason}");
    assert_eq!(program.removed(), 0);
}

async fn a_tool_that_is_gone_or_has_changed_answers_its_call_and_does_not_run<F: StoreFactory>() {
    let without = Registry::builder().tool::<length>().build().unwrap();
    let changed = Registry::builder().tool::<remove_folder>().build().unwrap();
    for (tools, expected) in [(without, "was removed"), (changed, "has changed")] {
        let program = Program::new::<F>().await;
        let (first, _) = program.runner([Reply::calls([removal("a")])]);
        let end = first.run_with(run("s"), "Remove it.").end().await;
        let (second, model) = program.runner_of(tools, [Reply::text("It is not removed.")]);
        let answers = Answers::new().approve(end.open[0].address().unwrap());
        second.resume(run("s"), answers).end().await;
        let texts = results(&model);
        assert!(texts[0].contains(expected) && texts[0].contains("was not executed"), "{texts:?}");
        assert_eq!(program.removed(), 0);
    }
}

async fn an_open_batch_is_an_entry_with_whole_outcomes<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let (first, _) = program.runner([Reply::calls([removal("a")])]);
    first.run_with(run("s"), "Remove it.").end().await;
    let entries = program.world.entries("s").await;
    let kinds: Vec<_> = entries.iter().map(|entry| &*entry.content.kind).collect();
    let outcome = EntryContent::CALL_OUTCOME;
    assert_eq!(kinds, ["message", "message", outcome, EntryContent::OPEN_BATCH, EntryContent::END]);
    let body: Value = entries[3].content.body.read().unwrap();
    assert_eq!((&body["v"], &body["outcomes"][0]["status"]), (&json!(1), &json!("pending")));
    assert!(body["definitions"][0].is_string(), "{body}");
}

async fn the_secret_arguments_of_an_open_batch_are_encrypted<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let call = Reply::call("change_password", json!({ "password": "hunter2" }));
    let (runner, _) = world.runner([call, Reply::text("Done.")]);
    let runner = runner.with_program_key(ProgramKey::new([1; 32]));
    let end = runner.run_with(run("s"), "Change it.").end().await;
    assert_eq!(end.reason, EndReason::OpenCalls);
    let bodies: Vec<_> = world.entries("s").await.iter().map(|it| it.content.body.to_string()).collect();
    assert_eq!(bodies.iter().any(|body| body.contains("hunter2")), !world.store.outlives_process());
    assert_eq!(bodies[2].contains("sealed"), world.store.outlives_process());
    let approval = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(runner.resume(run("s"), approval).answer().await.unwrap(), "Done.");
}

async fn the_open_calls_of_a_session_are_not_those_of_its_fork<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let (first, _) = program.runner([Reply::calls([removal("a")]), Reply::text("Done.")]);
    let end = first.run_with(run("s"), "Remove it.").end().await;
    let entries = program.world.entries("s").await.len();
    program.world.store.fork(&key("s"), entries as u64, "f").await.unwrap();
    let approval = || Answers::new().approve(end.open[0].address().unwrap());
    let (second, model) = program.runner([Reply::text("Fine.")]);
    let reason = second.resume(run("f"), approval()).end().await.reason;
    assert!(matches!(reason, EndReason::Failed { .. }), "{reason}");
    second.run_with(run("f"), "Never mind.").answer().await.unwrap();
    assert_eq!((results(&model).len(), program.removed()), (1, 0));
    assert_eq!(first.resume(run("s"), approval()).answer().await.unwrap(), "Done.");
    assert_eq!(program.removed(), 1);
}

async fn sessions_that_make_room_in_the_process_keep_their_open_calls<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let (runner, _) =
        program.runner([Reply::calls([removal("a")]), Reply::text("Hi."), Reply::text("Done.")]);
    let runner = runner.with_max_sessions(1);
    let end = runner.run_with(run("s"), "Remove it.").end().await;
    runner.run_with(run("t"), "Hello.").answer().await.unwrap();
    let approval = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(runner.resume(run("s"), approval).answer().await.unwrap(), "Done.");
    assert_eq!(program.removed(), 1);
}

async fn calls_of_a_run_that_waited_are_answered_after_its_process<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let tools = || Registry::builder().tool::<remove>().tool::<length>();
    let tools = tools().provide_shared(Arc::clone(&program.removed)).build().unwrap();
    let executor = program.world.executor(tools).build().unwrap();
    let length = call("length", json!({ "text": "abc" }), "l");
    let model = ScriptedModel::new([Reply::calls([removal("a"), length])]);
    let agent = Agent::builder("clerk", model).tools(executor).wait_for_answers(true);
    let mut stream = program.world.runner_of(agent).run_with(run("s"), "Remove it.");
    loop {
        let event = stream.next().await.unwrap();
        if matches!(event.kind, AgentEventKind::Open { .. }) {
            break;
        }
    }
    // The batch is stored when the run waits.
    assert!(futures_util::poll!(Box::pin(stream.next())).is_pending());
    while !program.world.kinds("s").await.iter().any(|kind| kind == EntryContent::OPEN_BATCH) {
        assert!(futures_util::poll!(Box::pin(stream.next())).is_pending());
        tokio::task::yield_now().await;
    }
    drop(stream);
    program.world.pass(31);
    let (second, model) = program.runner([Reply::text("Done.")]);
    assert_eq!(second.resume(run("s"), Answers::new().approve("a")).answer().await.unwrap(), "Done.");
    assert_eq!((results(&model), program.removed()), (vec!["a is removed".to_owned(), "3".to_owned()], 1));
}

async fn an_open_batch_that_was_altered_or_copied_is_refused<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    if !program.world.store.outlives_process() {
        return;
    }
    let with_key = |runner: Runner| runner.with_program_key(ProgramKey::new([1; 32]));
    let (first, _) = program.runner([Reply::calls([removal("a")])]);
    with_key(first).run_with(run("s"), "Remove it.").end().await;
    let entries = program.world.entries("s").await;
    let batch = entries.iter().find(|it| &*it.content.kind == EntryContent::OPEN_BATCH).unwrap();
    assert!(batch.content.body.as_str().contains("sealed"));
    let forged = JsonText::new(r#"{"v":1,"outcomes":[],"definitions":[],"after":[]}"#).unwrap();
    let forged = EntryContent::of_run(&run("s"), EntryContent::OPEN_BATCH, forged);
    for (session, content) in [("t", batch.content.clone()), ("u", forged)] {
        let grant = program.world.store.acquire(&key(session), &LeaseRequest::new("r", "h")).await.unwrap();
        let write = SessionWrite::new(grant.session.revision).entry(content).end_of_run();
        program.world.store.write(&grant.lease, &write).await.unwrap();
        let (runner, model) = program.runner([Reply::text("Done.")]);
        let reason = with_key(runner).resume(run(session), Answers::new().approve("a")).end().await.reason;
        assert!(matches!(reason, EndReason::StoreFailed { .. } | EndReason::Failed { .. }), "{reason}");
        assert_eq!((model.requests().len(), program.removed()), (0, 0));
    }
}

async fn the_arguments_of_a_misspelt_tool_are_secret_beside_a_tool_with_secrets<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let call = Reply::call("change_pasword", json!({ "password": "hunter2" }));
    let (runner, _) = world.runner([call, Reply::text("Done.")]);
    let runner = runner.with_program_key(ProgramKey::new([1; 32]));
    runner.run_with(run("s"), "Change it.").end().await;
    let bodies: Vec<_> = world.entries("s").await.iter().map(|it| it.content.body.to_string()).collect();
    assert_eq!(
        bodies.iter().any(|body| body.contains("hunter2")),
        !world.store.outlives_process(),
        "{bodies:?}"
    );
}

/// Makes tests of functions of the module that uses it, over each store.
macro_rules! tests {
    ($($test:ident),+,) => {
        crate::sessions::open_calls::tests! { @modules $($test)+ => in_memory: InMemory, sqlite: Sqlite }
        #[cfg(unix)]
        crate::sessions::open_calls::tests! { @modules $($test)+ => postgres: Postgres }
    };
    (@modules $($test:ident)+ => $($module:ident: $factory:ident),+) => {
        crate::sessions::open_calls::tests! { @each [$($test)+] $($module: $factory),+ }
    };
    (@each $tests:tt $($module:ident: $factory:ident),+) => {
        $( crate::sessions::open_calls::tests! { @module $module $factory $tests } )+
    };
    (@module $module:ident $factory:ident [$($test:ident)+]) => {
        mod $module { $(
            #[tokio::test]
            async fn $test() {
                use crate::sessions::{$factory, world::StoreFactory};
                if $factory::is_available() {
                    super::$test::<$factory>().await;
                }
            }
        )+ }
    };
}

pub(super) use tests;

tests! {
    another_process_answers_the_calls_of_a_batch_once, another_process_submits_the_result_of_an_external_call,
    another_process_submits_the_final_result_of_a_long_running_call,
    a_message_to_another_process_closes_the_open_calls,
    a_tool_that_is_gone_or_has_changed_answers_its_call_and_does_not_run,
    an_open_batch_is_an_entry_with_whole_outcomes, the_secret_arguments_of_an_open_batch_are_encrypted,
    the_open_calls_of_a_session_are_not_those_of_its_fork,
    sessions_that_make_room_in_the_process_keep_their_open_calls,
    calls_of_a_run_that_waited_are_answered_after_its_process,
    an_open_batch_that_was_altered_or_copied_is_refused,
    the_arguments_of_a_misspelt_tool_are_secret_beside_a_tool_with_secrets,
}
