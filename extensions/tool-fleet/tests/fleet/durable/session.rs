//! An agent whose call is durable, in a session that another process continues.

use tool_agent::{Agent, Answers, EndReason, Runner, ScriptedModel, model::Reply};
use tool_fleet::CallState;
use tool_runtime::{CallOutcome, RunContext, ToolCall, prelude::*};
use tool_session::{InMemoryStore, SharedSessionStore};

use super::{Broker, Caller, DurablePool, open_calls, over_queues};

over_queues! {
    a_session_goes_on_with_the_result_in_another_process,
}

fn runner(caller: &Caller, sessions: &SharedSessionStore, reply: Reply) -> (Runner, ScriptedModel) {
    let model = ScriptedModel::new([reply]);
    let agent = Agent::builder("clerk", model.clone()).tools(caller.executor.clone()).build().unwrap();
    (Runner::new(agent).with_store(sessions.clone()), model)
}

async fn a_session_goes_on_with_the_result_in_another_process(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let (store, sessions) = (open_calls(), SharedSessionStore::new(InMemoryStore::new()));
    let run = || RunContext::new().with_user("ada").with_session("s-1");
    let first = pool.caller(pool.durable(), &store).await;
    let call = ToolCall::new(format!("{name}__book"), json!({})).with_id("c1");
    let end = runner(&first, &sessions, Reply::calls([call])).0.run_with(run(), "Book it.").end().await;
    assert!(matches!(end.reason, EndReason::OpenCalls), "{:?}", end.reason);
    assert!(end.open[0].result().unwrap().text().contains("is queued as"));
    drop(first);

    let probe = pool.start_worker();
    probe.released.cancel();
    pool.reach(CallState::Finished).await;
    let second = pool.caller(pool.durable(), &store).await;
    let (runner, model) = runner(&second, &sessions, Reply::text("Booked."));
    let durable = pool.durable();
    let CallOutcome::Pending(pending) = &end.open[0] else { panic!("{:?}", end.open) };
    let ended = durable.ended_call(pending).await.unwrap().unwrap();
    let answers = Answers::new().result(&pending.address, ended.outcome);
    assert_eq!(runner.resume(run(), answers).answer().await.unwrap(), "Booked.");
    assert!(durable.remove_ended(&ended.id).await.unwrap());
    let messages = &model.requests()[0].messages;
    let results: Vec<_> =
        messages.iter().flat_map(|it| it.tool_results()).map(|it| it.text().to_string()).collect();
    assert_eq!(results, ["1"]); // X11
    assert_eq!((probe.bodies(), pool.states().await), (1, vec![]));
}
