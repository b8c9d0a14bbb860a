//! Runs that are interrupted within a batch of calls, and continued by another process: the executors share a store of open calls.

mod marks;
mod steps;
mod world;

use std::sync::Arc;

use tokio::sync::Notify;
use tool_agent::{Answers, EndReason, Limit, Limits, Runner, model::Reply};
use tool_runtime::{
    Executor, RunContext, ToolCall, context::Budget, executor::ExecutionStrategy, open_calls::ProgramKey,
    prelude::*,
};
use tool_session::EntryContent;

use self::marks::{
    a_call_that_was_cut_off_does_not_run_after_a_crash,
    a_cost_is_known_after_a_crash_if_each_response_has_one,
    a_cost_that_is_known_in_part_is_no_known_cost_after_a_crash,
    a_recovered_run_goes_on_with_its_budget_and_its_repeated_calls,
    a_text_that_was_cut_off_is_no_answer_after_a_crash,
    the_end_of_a_recovered_run_names_no_run_before_the_last_question,
    the_end_of_a_recovered_run_names_the_runs_that_it_continued,
    two_calls_with_one_id_have_no_outcome_after_a_crash,
};
use self::steps::{
    a_fork_does_not_continue_the_calls_of_its_original,
    a_tool_is_no_more_required_after_calls_that_were_open_or_interrupted,
    a_tool_is_required_until_the_first_call_also_after_a_crash,
};
use self::world::{Program, ProgramJournal, batch, call, failure, redirected, results, until, until_stuck};
use super::{
    open_calls::tests,
    world::{StoreFactory, key, run},
};
use crate::runner::open::assert_valid;

async fn a_recovered_run_uses_stored_results_and_runs_what_is_safe<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    assert_eq!(program.crash(batch()).await, ["a", "b", "c", "stuck"]);
    assert_eq!(program.world.store.unfinished("shop").await.unwrap()[0].run, "run-1".into());
    let second = program.process(false, [Reply::text("Done.")]);
    assert_eq!(second.runner.recover(run("s")).answer().await.unwrap(), "Done.");
    // The call that ended does not run again, nor the one that may have taken effect; one that had not started runs.
    assert_eq!(second.bodies.started(), ["b", "c", "d"]); // I19
    let results = results(&second.model);
    assert_eq!([&results[0], &results[1], &results[2], &results[4]], ["did a", "did b", "did c", "did d"]); // I19
    assert!(results[3].contains("may have taken effect"), "{results:?}"); // V04
    // The state of the call whose result is used is stored with it, and the one of the interrupted call is not.
    assert_eq!(program.world.state("s").await, json!({ "a": true, "d": true })); // V01 V04
    assert_valid(&second.runner.history(&run("s")).await);
    let kinds = program.kinds().await;
    let count = |kind: &str| kinds.iter().filter(|it| *it == kind).count();
    let counts = (count(EntryContent::CALL_INTENT), count(EntryContent::CALL_OUTCOME));
    assert_eq!((counts, count(EntryContent::MESSAGE), count(EntryContent::END)), ((3, 2), 4, 1), "{kinds:?}");
    assert!(program.world.store.unfinished("shop").await.unwrap().is_empty());
    let problem = failure(second.runner.recover(run("s")).end().await.reason);
    assert!(problem.contains("nothing to continue"), "{problem}");
}

async fn a_message_after_a_crash_runs_no_call_and_uses_stored_results<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    program.crash(batch()).await;
    let second = program.process(false, [Reply::text("Sorry.")]);
    assert_eq!(second.runner.run_with(run("s"), "And?").answer().await.unwrap(), "Sorry.");
    assert!(second.bodies.started().is_empty());
    let results = results(&second.model);
    assert_eq!(results[0], "did a");
    assert!(results[1..].iter().all(|it| it.contains("may have taken effect")), "{results:?}");
    assert_eq!(program.world.state("s").await, json!({ "a": true })); // V01
    assert_valid(&second.runner.history(&run("s")).await);
}

async fn a_run_is_recovered_that_crashed_again_while_it_was_recovered<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    program.crash([call("charge", "a"), call("charge", "stuck"), call("charge", "stuck 2")]).await;
    let second = program.process(true, []);
    let mut events = second.runner.recover(run("s"));
    until_stuck(&mut events, &second.bodies).await;
    drop(events);
    program.world.pass(31);
    let third = program.process(true, [Reply::text("Done.")]);
    assert_eq!(third.runner.recover(run("s")).answer().await.unwrap(), "Done.");
    assert_eq!((second.bodies.started(), third.bodies.started().len()), (vec!["stuck 2".to_owned()], 0)); // I19
    let results = results(&third.model);
    assert!(results[1..].iter().all(|it| it.contains("may have taken effect")), "{results:?}");
    assert_eq!((results.len(), results[0].as_str()), (3, "did a"));
}

async fn each_outcome_of_a_parallel_batch_is_stored_as_its_call_ends<F: StoreFactory>() {
    let mut program = Program::new::<F>().await;
    program.strategy = ExecutionStrategy::Parallel;
    let journal = ProgramJournal::default();
    program.journal = Some(journal.clone().into());
    let process = program.process(true, [Reply::calls([call("charge", "stuck"), call("charge", "a")])]);
    let mut events = process.runner.run_with(run("s"), "Go.");
    // The first call never ends; the outcome of the second one is stored all the same, before the journal of the program has it.
    until(&mut events, &journal.ended).await;
    drop(events);
    assert_eq!(journal.lines(), ["starts stuck", "starts a", "ended a true"]);
    program.world.pass(31);
    let second = program.process(false, [Reply::text("Done.")]);
    second.runner.recover(run("s")).answer().await.unwrap();
    assert_eq!((results(&second.model)[1].as_str(), second.bodies.started().len()), ("did a", 0));
}

async fn a_call_that_waits_stays_open_after_a_crash<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    program.crash([call("remove", "r"), call("charge", "stuck")]).await;
    let second = program.process(false, []);
    let end = second.runner.recover(run("s")).end().await;
    assert_eq!((&end.reason, end.open.len()), (&EndReason::OpenCalls, 1)); // I16 I19
    let problem = failure(second.runner.recover(run("s")).end().await.reason);
    assert!(problem.contains("answer them by `Runner::resume`"), "{problem}");
    let third = program.process(false, [Reply::text("Done.")]);
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(third.runner.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    assert_eq!((second.bodies.started().len(), third.bodies.started()), (0, vec!["r".to_owned()])); // I17 I19
    assert_eq!(results(&third.model)[0], "did r");
}

// T11
async fn redirected_calls_continue_after_a_crash_as_those_of_their_tools<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let calls = [redirected("charge", "a"), redirected("look_up", "b"), redirected("charge", "stuck")];
    let calls = calls.into_iter().chain([redirected("remove", "r")]);
    assert_eq!(program.crash(calls).await, ["a", "b", "stuck"]);
    let second = program.process(false, []);
    let end = second.runner.recover(run("s")).end().await;
    // Only the call without an effect runs again, and the one that did not start waits for a person.
    assert_eq!(
        (second.bodies.started(), &end.reason, end.open.len()),
        (vec!["b".to_owned()], &EndReason::OpenCalls, 1)
    );
    let third = program.process(false, [Reply::text("Done.")]);
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(third.runner.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    let results = results(&third.model);
    assert_eq!([&results[0], &results[1], &results[3]], ["did a", "did b", "did r"]);
    assert!(results[2].contains("may have taken effect"), "{results:?}");
    assert_valid(&third.runner.history(&run("s")).await);
}

async fn an_approved_call_is_interrupted_once_its_record_is_consumed<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let first = program.process(true, [Reply::calls([call("remove", "stuck"), call("remove", "r")])]);
    let end = first.runner.run_with(run("s"), "Go.").end().await;
    let address = |index: usize| end.open[index].address().unwrap();
    let mut events = first.runner.resume(run("s"), Answers::new().approve(address(0)));
    until_stuck(&mut events, &first.bodies).await;
    drop(events);
    program.world.pass(31);
    let second = program.process(false, [Reply::text("Done.")]);
    let open = second.runner.recover(run("s")).end().await;
    assert_eq!((&open.reason, open.open.len()), (&EndReason::OpenCalls, 1)); // I19
    let answers = Answers::new().approve(address(1));
    assert_eq!(second.runner.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    let results = results(&second.model);
    assert!(results[0].contains("may have taken effect"), "{results:?}"); // I20
    assert_eq!((results[1].as_str(), second.bodies.started()), ("did r", vec!["r".to_owned()]));
}

async fn the_outcome_of_an_approved_call_is_stored_as_it_ends<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let first = program.process(true, [Reply::calls([call("remove", "r"), call("remove", "stuck")])]);
    let end = first.runner.run_with(run("s"), "Go.").end().await;
    let answers = end.open.iter().fold(Answers::new(), |it, call| it.approve(call.address().unwrap()));
    let mut events = first.runner.resume(run("s"), answers);
    until_stuck(&mut events, &first.bodies).await;
    drop(events);
    program.world.pass(31);
    let second = program.process(false, [Reply::text("Done.")]);
    assert_eq!(second.runner.recover(run("s")).answer().await.unwrap(), "Done.");
    let results = results(&second.model);
    assert_eq!((results[0].as_str(), second.bodies.started().len()), ("did r", 0)); // I19
    assert!(results[1].contains("may have taken effect"), "{results:?}");
}

async fn a_message_after_a_crash_closes_the_calls_that_wait<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    program.crash([call("remove", "r"), call("charge", "stuck")]).await;
    let second = program.process(false, [Reply::text("Fine.")]);
    second.runner.run_with(run("s"), "Never mind.").answer().await.unwrap();
    let results = results(&second.model);
    assert!(results[0].contains("the user sent another message"), "{results:?}");
    let executor =
        Executor::builder(Registry::builder().build().unwrap()).open_calls(program.open_calls.clone());
    let executor = executor.program_key(ProgramKey::new([1; 32])).build().unwrap();
    assert!(executor.open_calls().await.unwrap().is_empty());
}

async fn a_crash_is_no_way_around_a_limit<F: StoreFactory>() {
    let limits = |limits: Limits| Limits { ..limits };
    for (limits, budget, expected) in [
        (limits(Limits { rounds: Some(1), ..Limits::default() }), Budget::default(), Limit::Rounds),
        (limits(Limits { calls: Some(2), ..Limits::default() }), Budget::default(), Limit::Calls),
        (Limits::default(), Budget { rounds: Some(1), ..Budget::default() }, Limit::Budget),
    ] {
        let mut program = Program::new::<F>().await;
        program.limits = limits;
        program.crash([call("charge", "a"), call("charge", "stuck")]).await;
        let second = program.process(false, [Reply::calls([call("charge", "more")]), Reply::text("Done.")]);
        let end = second.runner.recover(run("s").with_budget(budget)).end().await;
        assert!(
            matches!(&end.reason, EndReason::Limit { limit, .. } if *limit == expected),
            "{}",
            end.reason
        );
        assert!(second.bodies.started().is_empty());
        assert_eq!(end.usage.calls, 2);
    }
}

async fn a_session_without_an_interrupted_run_has_nothing_to_continue<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let process = program.process(false, [Reply::text("Hello.")]);
    let problem = async |context: RunContext| failure(process.runner.recover(context).end().await.reason);
    assert!(problem(RunContext::new()).await.contains("set the session of the run"));
    assert!(problem(run("s")).await.contains("no run of it was interrupted"));
    process.runner.run_with(run("s"), "Hi.").answer().await.unwrap();
    assert!(problem(run("s")).await.contains("no run of it was interrupted"));
    let in_memory = Runner::new(process.runner.agent().clone());
    let text = failure(in_memory.recover(run("s")).end().await.reason);
    assert!(text.contains("`Runner::with_store`"), "{text}");
}

async fn an_answer_that_is_stored_is_the_answer_of_the_recovered_run<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let first = program.process(false, [Reply::text("Hello.")]);
    let is_answered = Arc::new(Notify::new());
    let notify = Arc::clone(&is_answered);
    let hook = tool_agent::hook::before_end(move |_| {
        notify.notify_one();
        std::future::pending()
    });
    // The answer is stored, and the end of the run is not.
    let mut events = first.runner.with_hook(hook).run_with(run("s"), "Hi.");
    until(&mut events, &is_answered).await;
    drop(events);
    program.world.pass(31);
    let second = program.process(false, []);
    assert_eq!(second.runner.recover(run("s")).answer().await.unwrap(), "Hello.");
    assert_eq!(program.kinds().await, ["message", "message", "end"]);
}

async fn a_dropped_run_is_unfinished_after_the_next_run_of_its_process<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let process = program.process(true, [Reply::calls([call("charge", "stuck")]), Reply::text("Other.")]);
    let mut events = process.runner.run_with(run("s").with_id("dropped"), "Go.");
    until_stuck(&mut events, &process.bodies).await;
    drop(events);
    assert!(program.world.store.unfinished("shop").await.unwrap().is_empty());
    process.runner.run_with(run("another"), "Go.").answer().await.unwrap();
    let unfinished = program.world.store.unfinished("shop").await.unwrap();
    assert_eq!((&unfinished[0].run, &unfinished[0].key), (&"dropped".into(), &key("s")));
}

async fn an_intent_has_no_arguments_and_an_outcome_with_a_secret_is_encrypted<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let sign_in = ToolCall::new("sign_in", json!({ "name": "ada", "password": "hunter2" })).with_id("i");
    program.crash([sign_in, call("remove", "orders"), call("charge", "stuck")]).await;
    let is_sealed = program.world.store.outlives_process();
    let mut outcomes = 0;
    for entry in program.world.entries("s").await {
        let body = entry.content.body.as_str();
        match &*entry.content.kind {
            EntryContent::CALL_INTENT => {
                let body: Value = entry.content.body.read().unwrap();
                let intent = body["intent"].as_object().unwrap();
                let names: Vec<_> = intent.keys().map(String::as_str).collect();
                assert_eq!(names, ["address", "tool", "definition", "arguments"]);
                assert_eq!(intent["arguments"].as_str().unwrap().len(), 64, "a hash");
            }
            EntryContent::CALL_OUTCOME => {
                outcomes += 1;
                assert_eq!(body.contains("sealed"), is_sealed, "{body}");
                assert_eq!(body.contains("did ada") || body.contains("orders"), !is_sealed, "{body}");
            }
            _ => assert_eq!(body.contains("hunter2"), body.contains("assistant") && !is_sealed, "{body}"),
        }
    }
    assert_eq!(outcomes, 2);
}

async fn the_journal_of_the_program_is_called_beside_the_session<F: StoreFactory>() {
    let journal = ProgramJournal::default();
    let mut program = Program::new::<F>().await;
    program.journal = Some(journal.clone().into());
    let calls = [call("charge", "a"), call("charge", "refused"), call("look_up", "b"), call("remove", "r")];
    let process = program.process(false, [Reply::calls(calls), Reply::text("Done.")]);
    let end = process.runner.run_with(run("s"), "Go.").end().await;
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    process.runner.resume(run("s"), answers).answer().await.unwrap();
    let expected = [
        "starts a",
        "ended a true",
        "starts refused",
        "ended refused false",
        "ended b true",
        "ended r false",
    ];
    let lines = journal.lines();
    assert_eq!(lines[..6], expected);
    assert_eq!(lines[6..], ["ended r true"]);
    assert_eq!(process.bodies.started(), ["a", "b", "r"]);
}

tests! {
    a_recovered_run_uses_stored_results_and_runs_what_is_safe,
    a_message_after_a_crash_runs_no_call_and_uses_stored_results,
    a_run_is_recovered_that_crashed_again_while_it_was_recovered,
    each_outcome_of_a_parallel_batch_is_stored_as_its_call_ends, a_call_that_waits_stays_open_after_a_crash,
    redirected_calls_continue_after_a_crash_as_those_of_their_tools,
    an_approved_call_is_interrupted_once_its_record_is_consumed,
    the_outcome_of_an_approved_call_is_stored_as_it_ends, a_message_after_a_crash_closes_the_calls_that_wait,
    a_crash_is_no_way_around_a_limit, a_session_without_an_interrupted_run_has_nothing_to_continue,
    an_answer_that_is_stored_is_the_answer_of_the_recovered_run,
    a_dropped_run_is_unfinished_after_the_next_run_of_its_process,
    an_intent_has_no_arguments_and_an_outcome_with_a_secret_is_encrypted,
    the_journal_of_the_program_is_called_beside_the_session,
    a_call_that_was_cut_off_does_not_run_after_a_crash, a_text_that_was_cut_off_is_no_answer_after_a_crash,
    a_cost_that_is_known_in_part_is_no_known_cost_after_a_crash,
    a_cost_is_known_after_a_crash_if_each_response_has_one,
    a_recovered_run_goes_on_with_its_budget_and_its_repeated_calls,
    the_end_of_a_recovered_run_names_the_runs_that_it_continued,
    the_end_of_a_recovered_run_names_no_run_before_the_last_question,
    two_calls_with_one_id_have_no_outcome_after_a_crash,
    a_fork_does_not_continue_the_calls_of_its_original,
    a_tool_is_no_more_required_after_calls_that_were_open_or_interrupted,
    a_tool_is_required_until_the_first_call_also_after_a_crash,
}
