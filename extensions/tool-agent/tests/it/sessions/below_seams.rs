//! Questions inside runs below calls, together with approvals of the agents themselves, teams, transfers and shared histories.

use std::sync::{Arc, Mutex, OnceLock};

use tool_agent::{
    Agent, AgentTool, Answers, EndReason, HistoryScope, Limits, Message, Runner, ScriptedModel, model::Reply,
};
use tool_runtime::{
    ToolCall, ToolContext,
    open_calls::OpenFilter,
    policy::{Rule, Rules},
    prelude::*,
};

use tool_session::EntryContent;

use super::{
    below::{Office, address, ask, over_stores, paths, removal, results},
    world::{StoreFactory, run},
};

over_stores! {
    an_agent_whose_call_was_approved_in_another_run_waits_for_answers,
    a_rule_that_denies_an_agent_later_does_not_hide_what_its_run_did,
    a_team_below_a_call_goes_on_with_its_usage,
    a_team_that_waits_again_below_a_call_asks_again_after_a_crash,
    an_agent_that_has_control_below_a_call_keeps_its_own_limits_after_an_answer,
    a_history_that_waits_for_an_answer_takes_no_message_of_another_call,
    a_call_on_the_second_level_reads_the_conversation_of_the_session,
    an_agent_below_a_parallel_member_continues_the_history_of_its_key,
}

async fn an_agent_whose_call_was_approved_in_another_run_waits_for_answers<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let manager = |replies: Vec<Reply>, below: Vec<Reply>| {
        let (cleaner, _) = office.leaf("cleaner", below);
        let tools = Registry::builder().add(AgentTool::new(cleaner.build().unwrap()).unwrap());
        let executor = office.world.executor(tools.build().unwrap());
        let executor = executor.rules(Rules::new([Rule::ask("cleaner")])).pending_approvals(true);
        let model = ScriptedModel::new(replies);
        let agent = Agent::builder("manager", model.clone()).tools(executor.build().unwrap());
        (office.runner(agent), model)
    };
    let (runner, _) = manager(vec![Reply::calls([ask("cleaner", "c1")])], vec![]);
    let end = runner.run_with(run("s"), "Clean up.").end().await;
    assert_eq!(paths(&end), ["c1"]);

    let (runner, _) = manager(vec![], vec![Reply::calls([removal("a.txt", "r1")])]);
    let end = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert_eq!((&end.reason, paths(&end)), (&EndReason::OpenCalls, vec!["c1:cleaner > r1".to_owned()]));

    let (runner, model) = manager(vec![Reply::text("Done.")], vec![Reply::text("It is clean.")]);
    let answer = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).answer().await.unwrap();
    assert_eq!((answer.as_str(), results(&model)), ("Done.", vec!["It is clean.".to_owned()]));
    assert_eq!(office.effects(), ["a.txt"]);
}

async fn a_rule_that_denies_an_agent_later_does_not_hide_what_its_run_did<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let manager = |rules: Vec<Rule>, replies: Vec<Reply>, below: Vec<Reply>| {
        let (cleaner, _) = office.leaf("cleaner", below);
        let tools = Registry::builder().add(AgentTool::new(cleaner.build().unwrap()).unwrap());
        let executor = office.world.executor(tools.build().unwrap()).rules(Rules::new(rules));
        let model = ScriptedModel::new(replies);
        let agent = Agent::builder("manager", model.clone()).tools(executor.build().unwrap());
        (office.runner(agent), model)
    };
    let asking = vec![Reply::calls([removal("a.txt", "r1")])];
    let (runner, _) = manager(vec![], vec![Reply::calls([ask("cleaner", "c1")])], asking);
    let end = runner.run_with(run("s"), "Clean up.").end().await;
    let (runner, model) = manager(vec![Rule::deny("cleaner")], vec![Reply::text("Done.")], vec![]);
    let answers = Answers::new().approve(address(&end, 0));
    assert_eq!(runner.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    let results = results(&model);
    assert!(results[0].starts_with("the call was interrupted, and may have taken effect ("), "{results:?}");
    assert!(office.effects().is_empty());
    assert!(office.world.open_calls.list(&OpenFilter::default()).await.unwrap().is_empty());
}

async fn a_team_below_a_call_goes_on_with_its_usage<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let manager = |cleaner: Vec<Reply>, checker: Vec<Reply>, replies: Vec<Reply>| {
        let (cleaner, checker) = (office.leaf("cleaner", cleaner).0, office.leaf("checker", checker).0);
        let members = [cleaner.build().unwrap(), checker.build().unwrap()];
        let team = AgentTool::new(Agent::sequence("team", members).build().unwrap()).unwrap();
        let (manager, _) = office.agent("manager", Registry::builder().add(team), replies);
        office.runner(manager)
    };
    let asking = vec![Reply::calls([removal("a.txt", "r1")])];
    let end = manager(asking, vec![], vec![Reply::calls([ask("team", "c1")])])
        .run_with(run("s"), "Clean up.")
        .end()
        .await;
    assert_eq!((end.usage.children.runs, end.usage.children.rounds), (1, 1), "{end}");
    let runner =
        manager(vec![Reply::text("It is clean.")], vec![Reply::text("Yes.")], vec![Reply::text("Done.")]);
    let end = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert_eq!((end.text.as_str(), end.usage.children.rounds), ("Done.", 2), "{end}");
    assert_eq!(office.effects(), ["a.txt"]);
}

/// Never ends, and tells that it has begun.
#[tool(register = false, confirm)]
async fn hang(begun: &tokio::sync::Notify) {
    begun.notify_one();
    std::future::pending().await
}

async fn a_team_that_waits_again_below_a_call_asks_again_after_a_crash<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let begun = Arc::new(tokio::sync::Notify::new());
    let manager = |cleaner: Vec<Reply>, checker: Vec<Reply>, stuck: Vec<Reply>, replies: Vec<Reply>| {
        let (cleaner, checker) = (office.leaf("cleaner", cleaner).0, office.leaf("checker", checker).0);
        let members = [cleaner.build().unwrap(), checker.build().unwrap()];
        let team = AgentTool::new(Agent::sequence("team", members).build().unwrap()).unwrap();
        let tools = Registry::builder().tool::<hang>().provide_shared(Arc::clone(&begun));
        let (stuck, _) = office.agent("stuck", tools, stuck);
        let tools = Registry::builder().add(team).add(AgentTool::new(stuck.build().unwrap()).unwrap());
        office.runner(office.agent("manager", tools, replies).0)
    };
    let removals = Reply::calls([removal("a.txt", "r1"), removal("b.txt", "r2")]);
    let hanging = Reply::calls([ToolCall::new("hang", "{}").with_id("h1")]);
    let calls = Reply::calls([ask("team", "c1"), ask("stuck", "c2")]);
    let runner = manager(vec![removals], vec![], vec![hanging], vec![calls]);
    let end = runner.run_with(run("s"), "Clean up.").end().await;
    assert_eq!(paths(&end), ["c1:team > r1", "c1:team > r2", "c2:stuck > h1"]);

    // The process ends after the team waits for its other answer, while another call of the batch continues.
    let outcomes = async || {
        let entries = office.world.entries("s").await.into_iter().map(|entry| entry.content);
        let is_outcome = |it: &EntryContent| &*it.kind == EntryContent::CALL_OUTCOME && it.view.is_none();
        entries.filter(|it| is_outcome(it) && it.body.as_str().contains("\"c1\"")).count()
    };
    let (answers, before) =
        (Answers::new().approve(address(&end, 0)).approve(address(&end, 2)), outcomes().await);
    let runner = manager(vec![], vec![], vec![], vec![]);
    let mut events = runner.resume(run("s"), answers);
    let mut has_begun = false;
    while !has_begun || outcomes().await == before {
        tokio::select! {
            () = begun.notified() => has_begun = true,
            event = events.next() => assert!(event.is_some(), "the run ended"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(events);
    office.world.pass(60);
    let runner = manager(vec![], vec![], vec![Reply::text("It hangs.")], vec![]);
    let end = runner.recover(run("s")).end().await;
    assert_eq!((&end.reason, paths(&end)), (&EndReason::OpenCalls, vec!["c1:team > r2".to_owned()]), "{end}");
    let runner = manager(
        vec![Reply::text("It is clean.")],
        vec![Reply::text("Yes.")],
        vec![],
        vec![Reply::text("Done.")],
    );
    let end = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert_eq!(
        (end.text.as_str(), office.effects()),
        ("Done.", vec!["a.txt".to_owned(), "b.txt".to_owned()])
    );
}

async fn an_agent_that_has_control_below_a_call_keeps_its_own_limits_after_an_answer<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let manager = |desk: Vec<Reply>, payer: Vec<Reply>, replies: Vec<Reply>| {
        let (payer, _) = office.leaf("payer", payer);
        let payer = payer.limits(Limits { rounds: Some(2), ..Limits::default() }).build().unwrap();
        let (desk, _) = office.leaf("desk", desk);
        let desk = AgentTool::new(desk.sub_agent(payer).build().unwrap()).unwrap();
        office.runner(office.agent("manager", Registry::builder().add(desk), replies).0)
    };
    let order = |id: &str| Reply::calls([ToolCall::new("unknown", "{}").with_id(id.to_owned())]);
    let transfer = Reply::call("transfer_to_agent", json!({ "agent_name": "payer" }));
    let desk = vec![order("o1"), order("o2"), transfer];
    let payer = vec![Reply::calls([removal("a.txt", "r1")])];
    let runner = manager(desk, payer, vec![Reply::calls([ask("desk", "c1")])]);
    let end = runner.run_with(run("s"), "Pay.").end().await;
    assert_eq!(end.reason, EndReason::OpenCalls, "{end}");
    let runner = manager(vec![], vec![Reply::text("It is paid.")], vec![Reply::text("Done.")]);
    let end = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert_eq!((&end.reason, end.text.as_str()), (&EndReason::Answered, "Done."), "{end}");
    assert_eq!(office.effects(), ["a.txt"]);
}

async fn a_history_that_waits_for_an_answer_takes_no_message_of_another_call<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let manager = |below: Vec<Reply>, replies: Vec<Reply>| {
        let cleaner = AgentTool::new(office.leaf("cleaner", below).0.build().unwrap()).unwrap();
        let cleaner = cleaner.history(HistoryScope::Persistent("k".to_owned()));
        let (manager, model) = office.agent("manager", Registry::builder().add(cleaner), replies);
        (office.runner(manager), model)
    };
    let asking = |path: &str| Reply::calls([removal(path, "r1")]);
    let calls = Reply::calls([ask("cleaner", "c1"), ask("cleaner", "c2")]);
    let (runner, _) = manager(vec![asking("a.txt"), asking("b.txt")], vec![calls]);
    let end = runner.run_with(run("s"), "Clean up.").end().await;
    assert_eq!(paths(&end), ["c1:cleaner > r1"], "{end}");
    let (runner, model) = manager(vec![Reply::text("It is clean.")], vec![Reply::text("Done.")]);
    let answer = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).answer().await.unwrap();
    assert_eq!(answer, "Done.");
    let results = results(&model);
    assert_eq!(results[0], "It is clean.");
    assert!(results[1].contains("another call waits for an answer in the history `k`"), "{results:?}");
    assert_eq!(office.effects(), ["a.txt"]);
}

/// The runner of the root, and what a tool reads of its conversation.
#[derive(Default)]
struct Root {
    runner: OnceLock<Runner>,
    texts: Mutex<Vec<String>>,
}

/// Reads the conversation of the session.
#[tool(register = false)]
async fn look_back(root: &Root, cx: &ToolContext) -> String {
    let (Some(runner), Some(run)) = (root.runner.get(), cx.run()) else { return "no run".to_owned() };
    let texts = runner.history(run).await.iter().map(Message::text).collect();
    *root.texts.lock().unwrap() = texts;
    "looked".to_owned()
}

async fn a_call_on_the_second_level_reads_the_conversation_of_the_session<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let root = Arc::new(Root::default());
    let tools = Registry::builder().tool::<look_back>().provide_shared(Arc::clone(&root));
    let (worker, _) = office.agent("worker", tools, [Reply::call("look_back", "{}"), Reply::text("Seen.")]);
    let (team, _) =
        office.above("team", [worker], [Reply::calls([ask("worker", "c2")]), Reply::text("Seen.")]);
    let (manager, _) =
        office.above("manager", [team], [Reply::calls([ask("team", "c1")]), Reply::text("Done.")]);
    let runner = office.runner(manager);
    assert!(root.runner.set(runner.clone()).is_ok());
    assert_eq!(runner.run_with(run("s"), "What was said?").answer().await.unwrap(), "Done.");
    assert_eq!(root.texts.lock().unwrap()[0], "What was said?");
}

async fn an_agent_below_a_parallel_member_continues_the_history_of_its_key<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let ask_once = async |request: &str| {
        let (cleaner, child_model) = office.leaf("cleaner", [Reply::text("It is clean.")]);
        let cleaner = AgentTool::new(cleaner.build().unwrap()).unwrap();
        let cleaner = cleaner.history(HistoryScope::Persistent("k".to_owned()));
        let replies = [Reply::calls([ask("cleaner", "c1")]), Reply::text("Done.")];
        let (manager, _) = office.agent("manager", Registry::builder().add(cleaner), replies);
        let team = Agent::parallel("team", [manager.build().unwrap()]).build().unwrap();
        let runner = Runner::new(team).with_app("shop").with_store(office.world.store.clone());
        runner.run_with(run("s"), request).answer().await.unwrap();
        child_model.requests()[0].messages.len()
    };
    assert_eq!(ask_once("Clean up.").await, 1);
    assert_eq!(ask_once("And again.").await, 3);
}
