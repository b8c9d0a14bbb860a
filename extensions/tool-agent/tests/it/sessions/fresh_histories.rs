//! Histories that are stored until their calls are answered, and removed then.

use tool_agent::{
    Agent, AgentTool, Answers, EndReason, HistoryScope, Message, Runner, ScriptedModel, model::Reply,
};
use tool_runtime::prelude::*;
use tool_session::{Entry, EntryContent};

use super::{
    below::{Office, address, ask, over_stores, paths, removal, results},
    world::{Gate, StoreFactory, run},
};

over_stores! {
    a_fresh_child_sees_no_earlier_history_and_leaves_none,
    a_question_of_a_fresh_child_is_answered_in_another_process,
    the_runs_below_a_fresh_child_leave_nothing_but_the_histories_that_they_keep,
    members_of_a_fresh_team_leave_nothing,
    a_message_in_place_of_the_answer_removes_a_fresh_history,
    what_an_interrupted_run_left_of_a_fresh_history_is_removed_with_the_next_message,
}

/// Returns the agent as a tool with a fresh history.
fn fresh(agent: Agent) -> AgentTool {
    AgentTool::new(agent).unwrap().history(HistoryScope::Fresh)
}

/// Returns a runner, as another process has it, whose manager asks a clerk with a fresh history; and the models of clerk and manager.
fn process(
    office: &Office,
    child_replies: impl IntoIterator<Item = Reply>,
    replies: impl IntoIterator<Item = Reply>,
) -> (Runner, ScriptedModel, ScriptedModel) {
    let (clerk, child_model) = office.leaf("clerk", child_replies);
    let (manager, model) =
        office.agent("manager", Registry::builder().add(fresh(clerk.build().unwrap())), replies);
    (office.runner(manager), child_model, model)
}

fn asks() -> [Reply; 2] {
    [Reply::calls([ask("clerk", "c1")]), Reply::text("Done.")]
}

/// Returns the entries of runs below calls that are not removed, in order. Of a removed one, nothing but its place is left.
async fn entries_below(office: &Office) -> Vec<Entry> {
    let mut entries = office.world.entries("s").await;
    entries.retain(|entry| entry.content.view.is_some());
    for entry in &entries {
        let is_removed = &*entry.content.kind == EntryContent::REMOVED;
        assert_eq!(is_removed, entry.content.body.as_str() == "null", "{entry:?}");
    }
    entries.retain(|entry| &*entry.content.kind != EntryContent::REMOVED);
    entries
}

/// Returns the view keys of the entries of runs below calls that are not removed, each once.
async fn views(office: &Office) -> Vec<String> {
    let mut views: Vec<_> = entries_below(office).await.iter().map(view_of).collect();
    views.sort();
    views.dedup();
    views
}

fn view_of(entry: &Entry) -> String {
    entry.content.view.as_deref().unwrap_or_default().to_owned()
}

// Q22
async fn a_fresh_child_sees_no_earlier_history_and_leaves_none<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let (runner, child_model, model) =
        process(&office, ["One.", "Two."].map(Reply::text), [asks(), asks()].concat());
    for _ in 0..2 {
        assert_eq!(runner.run_with(run("s"), "The secret is 7.").answer().await.unwrap(), "Done.");
    }
    for request in child_model.requests() {
        assert_eq!(request.messages.iter().map(Message::text).collect::<Vec<_>>(), ["Clean up."]);
    }
    assert_eq!(results(&model), ["One.", "Two."]);
    assert_eq!(views(&office).await, [""; 0]);
    // Each was stored, with its end.
    let entries = office.world.entries("s").await;
    let removed = entries.iter().filter(|entry| &*entry.content.kind == EntryContent::REMOVED);
    assert_eq!(removed.count(), 6);
    // The conversation of the session is whole.
    assert_eq!(runner.history(&run("s")).await.len(), 8);
}

// Q22
async fn a_question_of_a_fresh_child_is_answered_in_another_process<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let (runner, ..) = process(&office, [Reply::calls([removal("a.txt", "r1")])], asks());
    let end = runner.run_with(run("s"), "Go.").end().await;
    assert_eq!((&end.reason, paths(&end)), (&EndReason::OpenCalls, vec!["c1:clerk > r1".to_owned()]));
    let stored = views(&office).await;
    assert!(stored.len() == 1 && stored[0].starts_with("%fresh/clerk-"), "{stored:?}");

    // It asks again, and its history is there until its last answer.
    let second = [Reply::calls([removal("b.txt", "r2")])];
    let (runner, child_model, _) = process(&office, second, []);
    let end = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert_eq!(paths(&end), ["c1:clerk > r2"]);
    assert_eq!(views(&office).await, stored);
    assert_eq!(child_model.requests()[0].messages.len(), 3);

    let (runner, child_model, model) =
        process(&office, [Reply::text("It is clean.")], [Reply::text("Done.")]);
    let answers = Answers::new().approve(address(&end, 0));
    assert_eq!(runner.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    assert_eq!(
        (results(&model), office.effects()),
        (vec!["It is clean.".to_owned()], vec!["a.txt".to_owned(), "b.txt".to_owned()])
    );
    let seen: Vec<_> = child_model.requests()[0].messages.iter().map(Message::text).collect();
    assert_eq!((seen.len(), &*seen[0]), (5, "Clean up."));
    assert_eq!(views(&office).await, [""; 0]);
}

// Q22
async fn the_runs_below_a_fresh_child_leave_nothing_but_the_histories_that_they_keep<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let process = |worker_replies: Vec<Reply>, clerk_replies: Vec<Reply>, replies: Vec<Reply>| {
        let (worker, _) = office.leaf("worker", worker_replies);
        let (archivist, _) = office.leaf("archivist", [Reply::text("Filed.")]);
        let archivist = AgentTool::new(archivist.build().unwrap()).unwrap();
        let archivist = archivist.history(HistoryScope::Persistent("files".to_owned()));
        let (shadow, _) = office.leaf("shadow", [Reply::text("Seen.")]);
        let shadow = AgentTool::new(shadow.build().unwrap()).unwrap().history(HistoryScope::ParentBranch);
        let (inner, _) = office.leaf("inner", [Reply::text("In.")]);
        let worker = AgentTool::new(worker.build().unwrap()).unwrap();
        let tools =
            Registry::builder().add(worker).add(archivist).add(shadow).add(fresh(inner.build().unwrap()));
        let (clerk, _) = office.agent("clerk", tools, clerk_replies);
        let (manager, model) =
            office.agent("manager", Registry::builder().add(fresh(clerk.build().unwrap())), replies);
        (office.runner(manager), model)
    };
    let calls = [("worker", "w1"), ("archivist", "a1"), ("shadow", "s1"), ("inner", "i1")];
    let calls = Reply::calls(calls.map(|(agent, id)| ask(agent, id)));
    let (runner, _) =
        process(vec![Reply::calls([removal("a.txt", "r1")])], vec![calls], vec![asks()[0].clone()]);
    let end = runner.run_with(run("s"), "Go.").end().await;
    assert_eq!(paths(&end), ["c1:clerk > w1:worker > r1"]);
    let stored = views(&office).await;
    let clerk = &stored[0];
    assert_eq!(stored.len(), 5, "{stored:?}");
    assert!(stored.iter().take(4).all(|it| it.starts_with(&**clerk)), "{stored:?}");

    let replies = (vec![Reply::text("Worked.")], vec![Reply::text("All done.")], vec![Reply::text("Done.")]);
    let (runner, model) = process(replies.0, replies.1, replies.2);
    runner.resume(run("s"), Answers::new().approve(address(&end, 0))).answer().await.unwrap();
    assert_eq!(
        (results(&model), views(&office).await),
        (vec!["All done.".to_owned()], vec!["files".to_owned()])
    );
}

// Q22
async fn members_of_a_fresh_team_leave_nothing<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let process = |replies: [Vec<Reply>; 2], above: Vec<Reply>| {
        let [left, right] = replies;
        let members = [("left", left), ("right", right)]
            .map(|(name, replies)| office.leaf(name, replies).0.build().unwrap());
        let clerk = Agent::parallel("clerk", members);
        let (manager, model) =
            office.agent("manager", Registry::builder().add(fresh(clerk.build().unwrap())), above);
        (office.runner(manager), model)
    };
    let first = [vec![Reply::calls([removal("a.txt", "r1")])], vec![Reply::text("Right.")]];
    let (runner, _) = process(first, vec![asks()[0].clone()]);
    let end = runner.run_with(run("s"), "Go.").end().await;
    assert_eq!(paths(&end), ["c1:clerk > r1"]);
    assert_eq!(views(&office).await.len(), 3);
    let (runner, model) = process([vec![Reply::text("Left.")], vec![]], vec![Reply::text("Done.")]);
    runner.resume(run("s"), Answers::new().approve(address(&end, 0))).answer().await.unwrap();
    assert_eq!(views(&office).await, [""; 0]);
    let result = &results(&model)[0];
    assert!(result.contains("Left.") && result.contains("Right."), "{result}");
}

// Q22
async fn a_message_in_place_of_the_answer_removes_a_fresh_history<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let (runner, ..) = process(&office, [Reply::calls([removal("a.txt", "r1")])], asks());
    let end = runner.run_with(run("s"), "Go.").end().await;
    assert_eq!(views(&office).await.len(), 1);
    let (runner, ..) = process(&office, [], [Reply::text("Left as it is.")]);
    assert_eq!(runner.run_with(run("s"), "Leave it.").answer().await.unwrap(), "Left as it is.");
    assert_eq!((views(&office).await, office.effects().len()), (vec![], 0));
    let late = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert!(matches!(late.reason, EndReason::Failed { .. }), "{late}");
}

// Q22
async fn what_an_interrupted_run_left_of_a_fresh_history_is_removed_with_the_next_message<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let gate = Gate::closed();
    let (worker, _) = office.leaf("worker", []);
    let worker = AgentTool::new(worker.hook(gate.hook()).build().unwrap()).unwrap();
    let (clerk, _) =
        office.agent("clerk", Registry::builder().add(worker), [Reply::calls([ask("worker", "w1")])]);
    let (manager, _) =
        office.agent("manager", Registry::builder().add(fresh(clerk.build().unwrap())), asks());
    let mut events = Box::pin(office.runner(manager).run_with(run("s"), "Go.").end());
    // The process ends while the run on the third level waits.
    while entries_below(&office).await.iter().all(|entry| !view_of(entry).contains("/worker-")) {
        assert!(futures_util::poll!(&mut events).is_pending());
        tokio::task::yield_now().await;
    }
    drop(events);
    office.world.pass(3600);
    assert_eq!(views(&office).await.len(), 2);
    let (runner, ..) = process(&office, [], [Reply::text("Again.")]);
    assert_eq!(runner.run_with(run("s"), "And now?").answer().await.unwrap(), "Again.");
    assert_eq!(views(&office).await, [""; 0]);
}
