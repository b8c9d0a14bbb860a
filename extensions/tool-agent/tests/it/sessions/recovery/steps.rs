//! Runs that are continued after each of their steps.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use tool_agent::{
    Answers, EndReason, Message,
    hook::after_step,
    model::{Reply, ToolChoice},
};

use super::world::{Process, Program, call, failure, results, until_results};
use crate::sessions::world::{Gate, StoreFactory, key, run, start};

/// Returns the choices of tools in the requests of a process.
fn choices(process: &Process) -> Vec<ToolChoice> {
    process.model.requests().into_iter().map(|request| request.tool_choice).collect()
}

pub(super) async fn a_tool_is_required_until_the_first_call_also_after_a_crash<F: StoreFactory>() {
    for (requests, expected) in [(0, ToolChoice::Required), (1, ToolChoice::Auto)] {
        let mut program = Program::new::<F>().await;
        program.tool_choice = ToolChoice::Required;
        let first = program.process(false, [Reply::calls([call("charge", "a"), call("charge", "b")])]);
        let gate = Gate::closed();
        let mut events = first.runner.with_hook(gate.hook_from(requests + 1)).run_with(run("s"), "Go.");
        match requests {
            0 => start(&mut events).await,
            _ => until_results(&mut events, 2).await,
        }
        drop(events);
        program.world.pass(31);
        let second = program.process(false, [Reply::text("Done.")]);
        let steps = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&steps);
        let hook = after_step(move |step| {
            let count = |message: &Message| (message.calls().count(), message.tool_results().count());
            seen.lock().unwrap().push((
                step.number,
                count(&step.response.message),
                step.results.as_ref().map(count),
            ));
            async { Ok(ControlFlow::Continue(())) }
        });
        let runner = second.runner.clone().with_hook(hook);
        assert_eq!(runner.recover(run("s")).answer().await.unwrap(), "Done.");
        assert_eq!(choices(&second), [expected]);
        // The step whose results are stored ends, too.
        let steps = std::mem::take(&mut *steps.lock().unwrap());
        match requests {
            0 => assert!(steps.is_empty(), "{steps:?}"),
            _ => assert_eq!(steps, [(1, (2, 0), Some((0, 2)))]),
        }
    }
}

pub(super) async fn a_tool_is_no_more_required_after_calls_that_were_open_or_interrupted<F: StoreFactory>() {
    let mut program = Program::new::<F>().await;
    program.tool_choice = ToolChoice::Required;
    program.crash([call("charge", "stuck")]).await;
    let second = program.process(true, [Reply::calls([call("remove", "stuck"), call("remove", "r")])]);
    let end = second.runner.recover(run("s")).end().await;
    assert_eq!((choices(&second), end.open.len()), (vec![ToolChoice::Auto], 2));
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    let mut events = second.runner.resume(run("s"), answers);
    super::until_stuck(&mut events, &second.bodies).await;
    drop(events);
    program.world.pass(31);
    let third = program.process(false, []);
    let end = third.runner.recover(run("s")).end().await;
    assert_eq!((&end.reason, end.open.len()), (&EndReason::OpenCalls, 1));
    let fourth = program.process(false, [Reply::text("Done.")]);
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(fourth.runner.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    assert_eq!((choices(&third), choices(&fourth)), (vec![], vec![ToolChoice::Auto]));
}

pub(super) async fn a_fork_does_not_continue_the_calls_of_its_original<F: StoreFactory>() {
    let program = Program::new::<F>().await;
    let first = program.process(false, [Reply::calls([call("charge", "a")]), Reply::text("Done.")]);
    first.runner.run_with(run("s"), "Go.").answer().await.unwrap();
    program.world.store.fork(&key("s"), 2, "t").await.unwrap();
    let second = program.process(false, [Reply::text("Fine.")]);
    let problem = failure(second.runner.recover(run("t")).end().await.reason);
    assert!(problem.contains("no run of it was interrupted"), "{problem}");
    assert_eq!(second.runner.run_with(run("t"), "And?").answer().await.unwrap(), "Fine.");
    let results = results(&second.model);
    assert!(results[0].contains("may have taken effect"), "{results:?}");
    assert_eq!((results.len(), second.bodies.started().len()), (1, 0));
}
