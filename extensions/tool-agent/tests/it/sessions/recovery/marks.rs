//! The marks of a run beside its messages: a response that was cut off, and a cost that is known in part.

use std::sync::Arc;

use tool_agent::{
    EndReason, Limit, Limits, Message, Part, Price, hook,
    model::{Reply, Response},
};
use tool_runtime::{ToolCall, context::Budget, dialect::Usage, prelude::*};
use tool_session::EntryContent;

use super::{
    Program,
    world::{call, failure, results, until_results, until_stuck},
};
use crate::sessions::world::{Gate, StoreFactory, run};

fn cut_off(parts: impl IntoIterator<Item = Part>) -> Response {
    let mut response = Response::new(Message::assistant(parts));
    (response.truncated, response.stop_reason) = (true, Some("length".to_owned()));
    response
}

pub(super) async fn a_call_that_was_cut_off_does_not_run_after_a_crash<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let first = program.process(true, [Reply::text("Well.")]);
    let hook = hook::after_model(|_, _| async {
        Ok(Some(cut_off([Part::Call(call("charge", "stuck")), Part::Call(call("charge", "cut"))])))
    });
    let mut events = first.runner.with_hook(hook).run_with(run("s"), "Go.");
    until_stuck(&mut events, &first.bodies).await;
    drop(events);
    program.world.pass(31);
    let second = program.process(false, [Reply::text("Done.")]);
    assert_eq!(second.runner.recover(run("s")).answer().await.unwrap(), "Done.");
    let results = results(&second.model);
    assert!(second.bodies.started().is_empty(), "{results:?}");
    assert!(results[0].contains("may have taken effect"), "{results:?}");
    assert!(results[1].starts_with("Incomplete: the response ended (`length`)"), "{results:?}"); // F21
}

pub(super) async fn a_text_that_was_cut_off_is_no_answer_after_a_crash<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let first = program.process(false, [Reply::text("Well.")]);
    let hook = hook::after_model(|_, _| async { Ok(Some(cut_off([Part::Text("Once upon a".to_owned())]))) });
    let end = first.runner.with_hook(hook).run_with(run("s"), "Tell.").end().await;
    assert!(matches!(end.reason, EndReason::Truncated { .. }), "{}", end.reason);
    program.copy_as_crashed(2).await;
    let second = program.process(false, []);
    let end = second.runner.recover(run("t")).end().await;
    assert_eq!(end.reason, EndReason::Truncated { stop_reason: Some("length".to_owned()) });
    assert_eq!(end.text, "Once upon a");
}

fn counted(reply: Reply) -> Reply {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (Some(10), Some(10));
    reply.with_usage(usage)
}

pub(super) async fn a_cost_that_is_known_in_part_is_no_known_cost_after_a_crash<F: StoreFactory>() {
    // The second response has no token counts: the cost of the run is unknown, although the first one has a cost.
    for (is_counted, expected) in [(false, None), (true, Some(0.000_06))] {
        let mut program = Program::new::<F>().await;
        program.price = Some(Price { input: 1.0, output: 1.0, ..Price::default() });
        let stuck = Reply::calls([call("charge", "stuck")]);
        let replies =
            [counted(Reply::calls([call("look_up", "a")])), if is_counted { counted(stuck) } else { stuck }];
        let first = program.process(true, replies);
        let mut events = first.runner.run_with(run("s"), "Go.");
        until_stuck(&mut events, &first.bodies).await;
        drop(events);
        program.world.pass(31);
        program.limits = Limits { cost: Some(1.0), ..Limits::default() };
        let second = program.process(false, [counted(Reply::text("Done."))]);
        let end = second.runner.recover(run("s")).end().await;
        match expected {
            Some(cost) => {
                assert_eq!(end.reason, EndReason::Answered);
                assert!((end.usage.cost.unwrap() - cost).abs() < 1e-12, "{:?}", end.usage);
            }
            None => {
                let EndReason::Limit { limit: Limit::Cost, message } = end.reason else {
                    panic!("{}", end.reason)
                };
                assert!(message.contains("the cost before the interruption is not known"), "{message}");
                assert!(end.usage.has_unknown_cost);
            }
        }
    }
}

pub(super) async fn the_end_of_a_recovered_run_names_the_runs_that_it_continued<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    program.crash([call("charge", "stuck"), call("charge", "stuck 2")]).await;
    let second = program.process(true, []);
    let mut events = second.runner.recover(run("s").with_id("run-2"));
    until_stuck(&mut events, &second.bodies).await;
    drop(events);
    program.world.pass(31);
    let third = program.process(false, [Reply::text("Done."), Reply::text("Well.")]);
    third.runner.recover(run("s").with_id("run-3")).answer().await.unwrap();
    third.runner.run_with(run("s").with_id("run-4"), "And?").answer().await.unwrap();
    let mut entries = program.world.entries("s").await;
    entries.retain(|entry| &*entry.content.kind == EntryContent::END);
    let recovered: Vec<_> =
        entries.iter().map(|it| it.content.body.read::<Value>().unwrap()["recovered"].clone()).collect();
    assert_eq!(recovered, [json!(["run-1", "run-2"]), Value::Null]);
    let problem = failure(third.runner.recover(run("s")).end().await.reason);
    assert!(problem.contains("nothing to continue"), "{problem}");
}

pub(super) async fn the_end_of_a_recovered_run_names_no_run_before_the_last_question<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    program.crash([call("charge", "stuck")]).await;
    let second = program.process(true, [Reply::calls([call("charge", "stuck 2")])]);
    let mut events = second.runner.run_with(run("s").with_id("run-2"), "And now?");
    until_stuck(&mut events, &second.bodies).await;
    drop(events);
    program.world.pass(31);
    let third = program.process(false, [Reply::text("Done.")]);
    third.runner.recover(run("s").with_id("run-3")).answer().await.unwrap();
    let entries = program.world.entries("s").await;
    let end = entries.iter().rfind(|entry| &*entry.content.kind == EntryContent::END).unwrap();
    assert_eq!(end.content.body.read::<Value>().unwrap()["recovered"], json!(["run-2"]));
}

pub(super) async fn two_calls_with_one_id_have_no_outcome_after_a_crash<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let bodies = program.crash([call("charge", "a"), call("charge", "a"), call("charge", "stuck")]).await;
    assert_eq!(bodies, ["a", "a", "stuck"]);
    let second = program.process(false, [Reply::text("Done.")]);
    second.runner.recover(run("s")).answer().await.unwrap();
    let results = results(&second.model);
    assert!(results.iter().all(|it| it.contains("may have taken effect")), "{results:?}");
    assert!(second.bodies.started().is_empty());
}

fn looks_up(id: &'static str) -> Reply {
    counted(Reply::calls([ToolCall::new("look_up", json!({ "name": "a" })).with_id(id)]))
}

pub(super) async fn a_recovered_run_goes_on_with_its_budget_and_its_repeated_calls<F: StoreFactory>() {
    for (max_rounds, is_ended) in [(2, true), (3, false)] {
        let mut program = Program::new::<F>().await;
        program.limits = Limits { repeated_calls: Some(max_rounds), ..Limits::default() };
        let first = program.process(false, [looks_up("a1"), looks_up("a2")]);
        let gate = Gate::closed();
        let mut events = first.runner.with_hook(gate.hook_from(3)).run_with(run("s"), "Go.");
        until_results(&mut events, 2).await;
        drop(events);
        program.world.pass(31);
        let second = program.process(false, [looks_up("a3"), counted(Reply::text("Done."))]);
        let events = second.runner.recover(run("s").with_budget(Budget::default()));
        let context = Arc::clone(events.run());
        let end = events.end().await;
        let limit = matches!(end.reason, EndReason::Limit { limit: Limit::RepeatedCalls, .. });
        assert_eq!(limit, is_ended, "{}", end.reason);
        let spent = context.spent();
        let expected = if is_ended { (3, 2, 60) } else { (4, 3, 80) };
        assert_eq!((spent.rounds, spent.calls, spent.tokens), expected);
        assert_eq!((end.usage.rounds, end.usage.tokens()), (expected.0, expected.2));
    }
}

pub(super) async fn a_cost_is_known_after_a_crash_if_each_response_has_one<F: StoreFactory>() {
    let price = Some(Price { input: 1.0, output: 1.0, ..Price::default() });
    for (requests, price_before, is_known) in [(0, None, true), (1, None, false), (1, price, true)] {
        let mut program = Program::new::<F>().await;
        program.price = price_before;
        let first = program.process(false, [looks_up("a1")]);
        let gate = Gate::closed();
        let mut events = first.runner.with_hook(gate.hook_from(requests + 1)).run_with(run("s"), "Go.");
        match requests {
            0 => crate::sessions::world::start(&mut events).await,
            _ => until_results(&mut events, 1).await,
        }
        drop(events);
        program.world.pass(31);
        program.price = price;
        program.limits = Limits { cost: Some(1.0), ..Limits::default() };
        let second = program.process(false, [counted(Reply::text("Done."))]);
        let end = second.runner.recover(run("s")).end().await;
        assert_eq!(end.reason == EndReason::Answered, is_known, "{}", end.reason);
        assert_eq!(second.model.requests().len(), usize::from(is_known));
    }
}
