//! Agents of one tree that hand over a stored session: each runner is another process.

use tool_agent::{
    Agent, AgentBuilder, AgentEvent, AgentEventKind, AgentStream, Answers, EndReason, Limit, Limits, Runner,
    ScriptedModel, model::Reply,
};
use tool_runtime::{ToolCall, prelude::*};
use tool_session::EntryContent;

use super::world::{Gate, StoreFactory, World, key, run};
use crate::runner::open::assert_valid;

macro_rules! transfer_tests {
    ($factory:ident) => {
        crate::sessions::transfer::tests_of! { $factory:
            another_process_goes_on_with_the_active_agent, a_batch_is_resumed_under_the_agent_that_made_it,
            a_transfer_beside_an_open_call_is_made_when_its_batch_is_stored, a_message_in_place_of_answers_goes_to_the_agent_of_the_transfer,
            a_run_that_crashed_after_a_transfer_goes_on_with_its_agent, a_run_that_crashed_beside_a_transfer_makes_it_once,
            an_agent_that_does_not_keep_control_keeps_its_open_calls, a_reply_is_directed_once_in_any_process,
            the_root_takes_over_from_an_agent_that_is_gone, the_active_agent_of_a_long_session_is_known,
            the_limit_of_transfers_counts_over_open_calls, a_fork_has_the_active_agent_of_its_origin,
            a_recovered_agent_has_the_limits_that_remain,
        }
    };
}

macro_rules! tests_of {
    ($factory:ident: $($test:ident),+,) => { $(
        #[tokio::test]
        async fn $test() {
            if <$factory as crate::sessions::world::StoreFactory>::is_available() {
                crate::sessions::transfer::$test::<$factory>().await;
            }
        }
    )+ };
}

pub(super) use {tests_of, transfer_tests};

pub(crate) fn transfer(to: &str) -> Reply {
    Reply::call("transfer_to_agent", json!({ "agent_name": to }))
}

/// Returns an agent with its model.
pub(crate) fn agent(
    name: &'static str,
    replies: impl IntoIterator<Item = Reply>,
) -> (AgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new(replies);
    (Agent::builder(name, model.clone()).instruction(format!("You are {name}.")), model)
}

/// Returns a desk above an agent for invoices, with their models.
pub(crate) fn desk(
    replies: impl IntoIterator<Item = Reply>,
    replies_of_billing: impl IntoIterator<Item = Reply>,
) -> (AgentBuilder, ScriptedModel, ScriptedModel) {
    let (billing, billing_model) = agent("billing", replies_of_billing);
    let (desk, model) = agent("desk", replies);
    let billing = billing.description("Knows invoices.").build().unwrap();
    (desk.sub_agent(billing), model, billing_model)
}

/// Returns all events of a run.
pub(crate) async fn events(runner: &Runner, session: &str, message: &str) -> Vec<AgentEvent> {
    all_events(runner.run_with(run(session), message)).await
}

async fn all_events(mut stream: AgentStream) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    events
}

pub(super) async fn another_process_goes_on_with_the_active_agent<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (first, desk_model, billing_model) = desk([transfer("billing")], [Reply::text("It is paid.")]);
    let first = world.runner_of(first);
    let events = events(&first, "s", "Is my invoice paid?").await;
    // The transfer is an event of the agent that had control, and the next round is of the other one.
    let at = events
        .iter()
        .position(|it| matches!(&it.kind, AgentEventKind::Transferred { to } if &**to == "billing"));
    let (before, after) = events.split_at(at.unwrap() + 1);
    assert!(before.iter().all(|event| &*event.agent == "desk"));
    assert!(after.iter().all(|event| &*event.agent == "billing"));
    assert!(
        matches!(&after.last().unwrap().kind, AgentEventKind::Ended { end } if end.text == "It is paid.")
    );
    // R26: the other agent has the same conversation under its own instruction.
    let request = &billing_model.requests()[0];
    assert_eq!(&*request.instruction, "You are billing.");
    assert_eq!(
        request.messages[2].tool_results().next().unwrap().text(),
        "The agent `billing` has the conversation."
    );
    assert_eq!(desk_model.requests().len(), 1);

    let (second, desk_model, billing_model) = desk([], [Reply::text("On Monday.")]);
    let second = world.runner_of(second);
    assert_eq!(second.run_with(run("s"), "When?").answer().await.unwrap(), "On Monday."); // V08
    assert_eq!((desk_model.requests().len(), billing_model.requests()[0].messages.len()), (0, 5));
    assert_valid(&second.history(&run("s")).await);
    // Each entry has the agent that wrote it.
    let entries = world.entries("s").await;
    let agents: Vec<_> = entries
        .iter()
        .filter(|entry| &*entry.content.kind == EntryContent::MESSAGE)
        .map(|entry| entry.content.agent.as_deref().unwrap().to_owned())
        .collect();
    assert_eq!(agents, ["desk", "desk", "desk", "billing", "billing", "billing"]);
}

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(path: String) -> String {
    format!("{path} is removed")
}

/// Waits for ever.
#[tool(register = false)]
async fn wait() -> &'static str {
    std::future::pending().await
}

fn tools() -> Registry {
    Registry::builder().tool::<remove>().tool::<wait>().build().unwrap()
}

fn removal() -> ToolCall {
    ToolCall::new("remove", json!({ "path": "a" })).with_id("r")
}

fn transfer_call(to: &str) -> ToolCall {
    ToolCall::new("transfer_to_agent", json!({ "agent_name": to })).with_id("t")
}

/// Returns the agents that ended rounds, without repetitions, and the text of the end.
fn agents_of(events: &[AgentEvent]) -> (Vec<String>, String) {
    let mut agents: Vec<_> = events.iter().map(|event| event.agent.to_string()).collect();
    agents.dedup();
    let AgentEventKind::Ended { end } = &events.last().unwrap().kind else { panic!("{events:?}") };
    (agents, end.text.clone())
}

/// Returns the texts of the results of the last batch that a model received.
fn results(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    let messages = &requests.last().unwrap().messages;
    let last = messages.iter().rev().find(|message| message.tool_results().next().is_some()).unwrap();
    last.tool_results().map(|result| result.text().into_owned()).collect()
}

/// Returns a desk above an agent for invoices, each with the tools of `world`.
fn desk_with_tools(
    world: &World,
    replies: impl IntoIterator<Item = Reply>,
    replies_of_billing: impl IntoIterator<Item = Reply>,
) -> (Runner, ScriptedModel, ScriptedModel) {
    let executor = || world.executor(tools()).build().unwrap();
    let (billing, billing_model) = agent("billing", replies_of_billing);
    let (desk, model) = agent("desk", replies);
    let billing = billing.tools(executor()).build().unwrap();
    (world.runner_of(desk.tools(executor()).sub_agent(billing)), model, billing_model)
}

pub(super) async fn a_batch_is_resumed_under_the_agent_that_made_it<F: StoreFactory>() {
    let world = World::new::<F>().await;
    // The desk has no such tool: only the agent that made the call can run it.
    let process = |replies: Vec<Reply>, replies_of_billing: Vec<Reply>| {
        let (billing, billing_model) = agent("billing", replies_of_billing);
        let (desk, model) = agent("desk", replies);
        let billing = billing.tools(world.executor(tools()).build().unwrap()).build().unwrap();
        (world.runner_of(desk.sub_agent(billing)), model, billing_model)
    };
    let (first, ..) = process(vec![transfer("billing")], vec![Reply::calls([removal()])]);
    let end = first.run_with(run("s"), "Remove a.").end().await;
    assert_eq!(end.reason, EndReason::OpenCalls);
    let (second, desk_model, billing_model) = process(vec![], vec![Reply::text("Done.")]);
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    let (agents, text) = agents_of(&all_events(second.resume(run("s"), answers)).await);
    assert_eq!((agents, text.as_str()), (vec!["billing".to_owned()], "Done.")); // V08
    assert_eq!((results(&billing_model), desk_model.requests().len()), (vec!["a is removed".to_owned()], 0));
    assert_valid(&second.history(&run("s")).await);
}

pub(super) async fn a_transfer_beside_an_open_call_is_made_when_its_batch_is_stored<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let calls = [transfer_call("billing"), removal()];
    let (first, ..) = desk_with_tools(&world, [Reply::calls(calls)], []);
    let end = first.run_with(run("s"), "Remove a.").end().await;
    assert_eq!(end.reason, EndReason::OpenCalls);
    assert!(!world.kinds("s").await.contains(&EntryContent::CONTROL.to_owned()));
    let (second, desk_model, billing_model) = desk_with_tools(&world, [], [Reply::text("Done.")]);
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    let (agents, text) = agents_of(&all_events(second.resume(run("s"), answers)).await);
    assert_eq!((agents, text.as_str()), (vec!["desk".to_owned(), "billing".to_owned()], "Done.")); // V08
    assert_eq!((results(&billing_model)[1].as_str(), desk_model.requests().len()), ("a is removed", 0));
    // Control is an entry beside the results.
    let kinds = world.kinds("s").await;
    let at = kinds.iter().position(|kind| kind == EntryContent::CONTROL).unwrap();
    assert_eq!(kinds[at - 1], EntryContent::MESSAGE);
}

pub(super) async fn a_message_in_place_of_answers_goes_to_the_agent_of_the_transfer<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (first, ..) = desk_with_tools(&world, [Reply::calls([transfer_call("billing"), removal()])], []);
    first.run_with(run("s"), "Remove a.").end().await;
    let (second, desk_model, billing_model) = desk_with_tools(&world, [], [Reply::text("It stays.")]);
    let events = events(&second, "s", "Leave it.").await;
    assert_eq!(agents_of(&events).1, "It stays.");
    assert!(events.iter().any(|event| matches!(&event.kind, AgentEventKind::Transferred { .. })));
    assert!(results(&billing_model)[1].contains("the user sent another message"));
    assert_eq!(desk_model.requests().len(), 0);
    assert_valid(&second.history(&run("s")).await);
}

pub(super) async fn a_run_that_crashed_after_a_transfer_goes_on_with_its_agent<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let gate = Gate::closed();
    let (billing, _) = agent("billing", [Reply::text("never")]);
    let (desk, _) = agent("desk", [transfer("billing")]);
    let first = world.runner_of(desk.sub_agent(billing.hook(gate.hook()).build().unwrap()));
    let mut stream = first.run_with(run("s"), "Paid?");
    while !matches!(stream.next().await.unwrap().kind, AgentEventKind::Transferred { .. }) {}
    drop(stream);
    world.pass(3_600);
    let (second, desk_model, _) = desk_with_tools(&world, [], [Reply::text("Paid.")]);
    let (agents, text) = agents_of(&all_events(second.recover(run("s"))).await);
    assert_eq!((agents, text.as_str()), (vec!["billing".to_owned()], "Paid.")); // V08
    assert_eq!(desk_model.requests().len(), 0);
}

pub(super) async fn a_run_that_crashed_beside_a_transfer_makes_it_once<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let calls =
        [ToolCall::new("billing", json!({})).with_id("t"), ToolCall::new("wait", json!({})).with_id("w")];
    let (first, ..) = desk_with_tools(&world, [Reply::calls(calls)], []);
    let mut stream = first.run_with(run("s"), "Paid?");
    let intent = async {
        while !world.kinds("s").await.contains(&EntryContent::CALL_INTENT.to_owned()) {
            tokio::task::yield_now().await;
        }
    };
    let reading = async { while stream.next().await.is_some() {} };
    tokio::select! {
        () = reading => panic!("the call waits for ever"),
        () = intent => {}
    }
    drop(stream);
    world.pass(3_600);
    let (second, desk_model, billing_model) = desk_with_tools(&world, [], [Reply::text("Paid.")]);
    let events = all_events(second.recover(run("s"))).await;
    let (agents, text) = agents_of(&events);
    assert_eq!((agents, text.as_str()), (vec!["desk".to_owned(), "billing".to_owned()], "Paid.")); // V08
    let results = results(&billing_model);
    assert!(
        results[0].starts_with("The agent `billing`") && results[1].contains("may have taken effect"),
        "{results:?}"
    );
    assert_eq!(desk_model.requests().len(), 0);
    assert_valid(&second.history(&run("s")).await);
}

pub(super) async fn an_agent_that_does_not_keep_control_keeps_its_open_calls<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let process = |replies: Vec<Reply>, replies_of_billing: Vec<Reply>| {
        let (billing, _) = agent("billing", replies_of_billing);
        let (desk, _) = agent("desk", replies);
        let billing = billing.keeps_control(false).tools(world.executor(tools()).build().unwrap());
        world.runner_of(desk.sub_agent(billing.build().unwrap()))
    };
    let first = process(vec![transfer("billing")], vec![Reply::calls([removal()])]);
    let end = first.run_with(run("s"), "Remove a.").end().await;
    let second = process(vec![], vec![Reply::text("Done.")]);
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(agents_of(&all_events(second.resume(run("s"), answers)).await).0, ["billing"]);
    let third = process(vec![Reply::text("Hello.")], vec![]);
    assert_eq!(third.run_with(run("s"), "Hi.").answer().await.unwrap(), "Hello.");
}

pub(super) async fn a_reply_is_directed_once_in_any_process<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let process = |replies: Vec<Reply>, replies_of_billing: Vec<Reply>| {
        let (billing, _) = agent("billing", replies_of_billing);
        let (desk, _) = agent("desk", replies);
        let billing = billing.keeps_control(false).await_user_reply(true).build().unwrap();
        world.runner_of(desk.sub_agent(billing))
    };
    let awaits = Reply::call("await_user_reply", json!({}));
    let first = process(vec![transfer("billing")], vec![awaits, Reply::text("Which number?")]);
    first.run_with(run("s"), "Paid?").answer().await.unwrap();
    let second = process(vec![], vec![Reply::text("Paid.")]);
    assert_eq!(second.run_with(run("s"), "7").answer().await.unwrap(), "Paid."); // R27
    let third = process(vec![Reply::text("Hello.")], vec![]);
    assert_eq!(third.run_with(run("s"), "Hi.").answer().await.unwrap(), "Hello."); // R27
}

pub(super) async fn the_root_takes_over_from_an_agent_that_is_gone<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let notices = |events: &[AgentEvent]| -> Vec<String> {
        let texts = events.iter().filter_map(|event| match &event.kind {
            AgentEventKind::Notice { text } => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    };
    for has_others in [false, true] {
        let session = if has_others { "s" } else { "t" };
        let (first, ..) = desk_with_tools(&world, [transfer("billing")], [Reply::calls([removal()])]);
        first.run_with(run(session), "Remove a.").end().await;
        let (desk, model) = agent("office", [Reply::text("I am new."), Reply::text("Still me.")]);
        let (tech, _) = agent("tech", []);
        let desk = if has_others { desk.sub_agent(tech.build().unwrap()) } else { desk };
        let second = world.runner_of(desk);
        let events_of_first = events(&second, session, "And?").await;
        assert_eq!(agents_of(&events_of_first), (vec!["office".to_owned()], "I am new.".to_owned()));
        let gone = "the agent `billing` of the session is gone; the agent `office` continues";
        let notices_of_first = notices(&events_of_first);
        assert_eq!(notices_of_first[0], gone);
        assert_eq!(notices_of_first.iter().filter(|notice| *notice == gone).count(), 1);
        assert!(results(&model)[0].contains("the tool was removed"), "{:?}", results(&model));
        assert!(notices(&events(&second, session, "And?").await).is_empty());
        assert_valid(&second.history(&run(session)).await);
    }
}

pub(super) async fn the_active_agent_of_a_long_session_is_known<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (first, ..) = desk_with_tools(&world, [transfer("billing")], [Reply::text("Hello.")]);
    first.run_with(run("s"), "Hi.").answer().await.unwrap();
    let long = "x".repeat(4_000);
    for _ in 0..3 {
        let (next, ..) = desk_with_tools(&world, [], [Reply::text(long.clone())]);
        next.run_with(run("s"), long.clone()).answer().await.unwrap();
    }
    let (billing, model) = agent("billing", [Reply::text("Me.")]);
    let (desk, _) = agent("desk", []);
    let billing = billing.context_window(2_000).build().unwrap();
    let last = world.runner_of(desk.context_window(2_000).sub_agent(billing));
    assert_eq!(last.run_with(run("s"), "Who?").answer().await.unwrap(), "Me.");
    assert!(model.requests()[0].messages.len() < 5);
}

pub(super) async fn the_limit_of_transfers_counts_over_open_calls<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let process = |replies: Vec<Reply>, replies_of_billing: Vec<Reply>| {
        let executor = || world.executor(tools()).build().unwrap();
        let (billing, _) = agent("billing", replies_of_billing);
        let (desk, _) = agent("desk", replies);
        let limits = Limits { transfers: Some(1), ..Limits::default() };
        let billing = billing.tools(executor()).build().unwrap();
        world.runner_of(desk.tools(executor()).limits(limits).sub_agent(billing))
    };
    let first = process(vec![transfer("billing")], vec![Reply::calls([removal()])]);
    let end = first.run_with(run("s"), "Remove a.").end().await;
    let second = process(vec![], vec![transfer("desk")]);
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    let end = second.resume(run("s"), answers).end().await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Transfers, .. }), "{end}");
    let third = process(vec![Reply::text("Here.")], vec![transfer("desk")]);
    assert_eq!(third.run_with(run("s"), "Go on.").answer().await.unwrap(), "Here.");
}

pub(super) async fn a_fork_has_the_active_agent_of_its_origin<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (first, ..) = desk_with_tools(&world, [transfer("billing")], [Reply::text("Paid.")]);
    first.run_with(run("s"), "Paid?").answer().await.unwrap();
    let version = world.store.load(&key("s")).await.unwrap().unwrap().session;
    world.store.fork(&key("s"), version.entries, "t").await.unwrap();
    let (second, ..) = desk_with_tools(&world, [], [Reply::text("On Monday.")]);
    assert_eq!(second.run_with(run("t"), "When?").answer().await.unwrap(), "On Monday.");
}

pub(super) async fn a_recovered_agent_has_the_limits_that_remain<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let gate = Gate::closed();
    let process = |replies: Vec<Reply>, replies_of_billing: Vec<Reply>, gate: Option<&Gate>| {
        let (billing, _) = agent("billing", replies_of_billing);
        let (desk, _) = agent("desk", replies);
        let billing = billing.limits(Limits { rounds: Some(1), ..Limits::default() });
        let billing = match gate {
            Some(gate) => billing.hook(gate.hook()),
            None => billing,
        };
        world.runner_of(desk.sub_agent(billing.build().unwrap()))
    };
    let first = process(vec![transfer("billing")], vec![], Some(&gate));
    let mut stream = first.run_with(run("s"), "Paid?");
    while !matches!(stream.next().await.unwrap().kind, AgentEventKind::Transferred { .. }) {}
    drop(stream);
    world.pass(3_600);
    // The round of the desk counts for the run, and not for the agent that took over.
    let second = process(vec![], vec![Reply::text("Paid.")], None);
    let end = second.recover(run("s")).end().await;
    assert_eq!((end.text.as_str(), end.usage.rounds), ("Paid.", 2), "{end}");
}
