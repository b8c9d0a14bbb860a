//! Questions inside runs below calls, which another process answers.

use std::sync::{Arc, Mutex};

use tool_agent::{
    Agent, AgentBuilder, AgentEventKind, AgentTool, Answers, End, EndReason, Runner, ScriptedModel,
    model::Reply,
};
use tool_runtime::{
    CallOutcome, ToolCall,
    call::{CallAddress, CallId},
    open_calls::{OpenFilter, OpenKind},
    prelude::*,
    registry::RegistryBuilder,
};
use tool_session::Entry;

use super::world::{StoreFactory, World, run};

// Over all stores.
pub(super) use super::open_calls::tests as over_stores;

over_stores! {
    a_question_of_a_child_is_answered_in_another_process,
    external_and_long_running_calls_of_a_child_are_answered_by_the_program,
    questions_on_the_third_level_and_of_siblings_are_answered_one_at_a_time_in_any_order,
    a_root_run_that_waits_passes_answers_to_the_run_below,
    calls_with_equal_ids_on_all_levels_have_different_addresses,
    a_run_below_agents_with_long_names_is_stored_without_its_branch,
}

/// The effects of bodies, in order.
pub(super) type Log = Arc<Mutex<Vec<String>>>;

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(log: &Mutex<Vec<String>>, path: String) -> String {
    log.lock().unwrap().push(path.clone());
    format!("{path} is removed")
}

/// Delivers a parcel, by the program.
#[tool(register = false)]
fn deliver() {}

/// Orders a parcel, which takes days.
#[tool(register = false, long_running)]
fn order() -> ToolOutput {
    ToolOutput::from("ordered").with_operation_id("order-7")
}

/// A program of several processes: each has agents of its own.
pub(super) struct Office {
    pub(super) world: World,
    pub(super) log: Log,
}

impl Office {
    pub(super) async fn new<F: StoreFactory>() -> Self {
        Self { world: World::new::<F>().await, log: Log::default() }
    }

    pub(super) fn tools(&self) -> RegistryBuilder {
        let tools = Registry::builder().tool::<remove>().tool::<deliver>().tool::<order>();
        tools.provide_shared(Arc::clone(&self.log))
    }

    /// Returns an agent with `tools`, and its model.
    pub(super) fn agent(
        &self,
        name: &str,
        tools: RegistryBuilder,
        replies: impl IntoIterator<Item = Reply>,
    ) -> (AgentBuilder, ScriptedModel) {
        let tools = self.world.executor(tools.build().unwrap()).external(|call| call.tool() == "deliver");
        let model = ScriptedModel::new(replies);
        (Agent::builder(name, model.clone()).tools(tools.build().unwrap()), model)
    }

    /// Returns an agent that has effects.
    pub(super) fn leaf(
        &self,
        name: &str,
        replies: impl IntoIterator<Item = Reply>,
    ) -> (AgentBuilder, ScriptedModel) {
        self.agent(name, self.tools(), replies)
    }

    /// Returns an agent that asks others.
    pub(super) fn above(
        &self,
        name: &str,
        below: impl IntoIterator<Item = AgentBuilder>,
        replies: impl IntoIterator<Item = Reply>,
    ) -> (AgentBuilder, ScriptedModel) {
        let tools = below.into_iter().map(|agent| AgentTool::new(agent.build().unwrap()).unwrap());
        self.agent(name, tools.fold(Registry::builder(), |tools, tool| tools.add(tool)), replies)
    }

    pub(super) fn runner(&self, agent: AgentBuilder) -> Runner {
        self.world.runner_of(agent)
    }

    pub(super) fn effects(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

pub(super) fn ask(agent: &str, id: &str) -> ToolCall {
    ToolCall::new(agent.to_owned(), json!({ "request": "Clean up." })).with_id(id.to_owned())
}

pub(super) fn removal(path: &str, id: &str) -> ToolCall {
    ToolCall::new("remove", json!({ "path": path })).with_id(id.to_owned())
}

/// The texts of the results that the model received with its last request.
pub(super) fn results(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    let messages = &requests.last().unwrap().messages;
    messages.iter().flat_map(tool_agent::Message::tool_results).map(|it| it.text().into_owned()).collect()
}

pub(super) fn address(end: &End, index: usize) -> CallAddress {
    end.open[index].address().unwrap().clone()
}

/// The ids of the open calls, each after those of the calls above it.
pub(super) fn paths(end: &End) -> Vec<String> {
    let path = |at: usize| {
        let above = end.paths.get(at).into_iter().flatten();
        let above: String = above.map(|it| format!("{}:{} > ", it.call.call_id, it.agent)).collect();
        format!("{above}{}", end.open[at].id())
    };
    (0..end.open.len()).map(path).collect()
}

async fn a_question_of_a_child_is_answered_in_another_process<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let (cleaner, child_model) = office.leaf("cleaner", [Reply::calls([removal("a.txt", "r1")])]);
    let (manager, _) = office.above("manager", [cleaner], [Reply::calls([ask("cleaner", "c1")])]);
    let end = office.runner(manager).run_with(run("s"), "Clean up.").end().await;
    assert_eq!((&end.reason, paths(&end)), (&EndReason::OpenCalls, vec!["c1:cleaner > r1".to_owned()]));
    assert_eq!((end.confirmations.len(), end.usage.children.runs), (1, 1));
    assert_eq!(child_model.requests().len(), 1);
    // The call above the question has a record, too, and any executor with the key reads both.
    let records = office.world.open_calls.list(&OpenFilter::default()).await.unwrap();
    let reader = office.world.executor(Registry::default()).build().unwrap();
    let mut read: Vec<_> = records
        .iter()
        .map(|record| {
            (record.kind == OpenKind::Confirmation, reader.open_call(record).unwrap().call().name.to_string())
        })
        .collect();
    read.sort();
    assert_eq!(read, [(false, "cleaner".to_owned()), (true, "remove".to_owned())]);
    // Q17: the history of the child is in the session, under its view key.
    let entries = office.world.entries("s").await;
    let below: Vec<&Entry> = entries.iter().filter(|entry| entry.content.view.is_some()).collect();
    let kinds: Vec<_> = below.iter().map(|entry| &*entry.content.kind).collect();
    assert_eq!(kinds, ["message", "message", "call-outcome", "open-batch", "end"]);
    assert!(below.iter().all(|entry| entry.content.view.as_deref().unwrap().starts_with("cleaner-")));
    assert!(below.iter().all(|it| it.content.outer_call.as_ref().unwrap().call_id == CallId::from("c1")));

    // Another process.
    let (cleaner, child_model) = office.leaf("cleaner", [Reply::text("It is clean.")]);
    let (manager, model) = office.above("manager", [cleaner], [Reply::text("Done.")]);
    let runner = office.runner(manager);
    let end = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert_eq!((&end.reason, end.text.as_str()), (&EndReason::Answered, "Done."), "{end}");
    assert_eq!(office.effects(), ["a.txt"]);
    assert_eq!(results(&child_model), ["a.txt is removed"]);
    assert_eq!(results(&model), ["It is clean."]);
    // The child goes on with its own history, and the parent does not see it.
    assert_eq!((child_model.requests()[0].messages.len(), model.requests()[0].messages.len()), (3, 3));
    assert_eq!(runner.history(&run("s")).await.len(), 4);
    assert!(office.world.open_calls.list(&OpenFilter::default()).await.unwrap().is_empty());
}

async fn external_and_long_running_calls_of_a_child_are_answered_by_the_program<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let calls = [
        ToolCall::new("deliver", "{}").with_id("d1"),
        ToolCall::new("order", "{}").with_id("o1"),
        removal("a.txt", "r1"),
    ];
    let (clerk, _) = office.leaf("clerk", [Reply::calls(calls)]);
    let (manager, _) = office.above("manager", [clerk], [Reply::calls([ask("clerk", "c1")])]);
    let end = office.runner(manager).run_with(run("s"), "Send it.").end().await;
    assert_eq!(paths(&end), ["c1:clerk > d1", "c1:clerk > o1", "c1:clerk > r1"]);
    assert!(matches!(&end.open[0], CallOutcome::External(..)));
    assert_eq!(end.open[1].result().unwrap().text(), "ordered");
    // A decision for a call that waits for a result, and the other way around: nothing changes.
    let process = |child_replies: Vec<Reply>, replies: Vec<Reply>| {
        let (clerk, child_model) = office.leaf("clerk", child_replies);
        let (manager, model) = office.above("manager", [clerk], replies);
        (office.runner(manager), child_model, model)
    };
    let (runner, ..) = process(vec![], vec![]);
    for wrong in [
        Answers::new().approve(address(&end, 0)),
        Answers::new().result(address(&end, 2), Ok("yes".into())),
        Answers::new().result("d1", Ok("a".into())).result(address(&end, 0), Ok("b".into())),
        Answers::new().result("c1", Ok("the call above".into())),
    ] {
        let end = runner.resume(run("s"), wrong).end().await;
        assert!(matches!(end.reason, EndReason::Failed { .. }), "{end}");
    }
    let answers = Answers::new().result("d1", Ok("delivered".into())).reject("r1", "too late");
    let again = runner.resume(run("s"), answers).end().await;
    assert_eq!((&again.reason, paths(&again)), (&EndReason::OpenCalls, vec!["c1:clerk > o1".to_owned()]));
    let (runner, child_model, model) = process(vec![Reply::text("Sent.")], vec![Reply::text("Done.")]);
    let answers = Answers::new().result(address(&again, 0), Ok("arrived".into()));
    assert_eq!(runner.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    let texts = results(&child_model);
    assert_eq!(
        (&texts[..2], results(&model)),
        (&["delivered".to_owned(), "arrived".to_owned()][..], vec!["Sent.".to_owned()])
    );
    assert!(texts[2].contains("too late"), "{texts:?}");
    assert!(office.effects().is_empty());
}

async fn questions_on_the_third_level_and_of_siblings_are_answered_one_at_a_time_in_any_order<
    F: StoreFactory,
>() {
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let office = Office::new::<F>().await;
        // Two teams below the root; the second one has two workers.
        let first = |text: &str, path: &str, answered: bool| match answered {
            false => vec![Reply::calls([removal(path, "r")])],
            true => vec![Reply::text(text)],
        };
        let process = |answered: [bool; 3]| {
            let (one, _) = office.leaf("one", first("1", "one.txt", answered[0]));
            let (two, _) = office.leaf("two", first("2", "two.txt", answered[1]));
            let (three, _) = office.leaf("three", first("3", "three.txt", answered[2]));
            let (left, left_model) = office.above(
                "left",
                [one],
                match answered[0] {
                    false => vec![Reply::calls([ask("one", "c")])],
                    true => vec![Reply::text("left")],
                },
            );
            let (right, right_model) = office.above(
                "right",
                [two, three],
                match answered[1] && answered[2] {
                    false => vec![Reply::calls([ask("two", "c"), ask("three", "d")])],
                    true => vec![Reply::text("right")],
                },
            );
            let replies = match answered {
                [true, true, true] => vec![Reply::text("Done.")],
                _ => vec![Reply::calls([ask("left", "c"), ask("right", "d")])],
            };
            let (root, model) = office.above("root", [left, right], replies);
            (office.runner(root), [left_model, right_model, model])
        };
        let mut end = process([false; 3]).0.run_with(run("s"), "Clean up.").end().await;
        let all = ["c:left > c:one > r", "d:right > c:two > r", "d:right > d:three > r"];
        assert_eq!(paths(&end), all);
        let mut open: Vec<usize> = vec![0, 1, 2];
        // Each process has the answers of the models that follow its own answer alone.
        for at in order {
            let place = open.iter().position(|it| *it == at).unwrap();
            open.remove(place);
            let answered = [0, 1, 2].map(|it| !open.contains(&it));
            let (runner, models) = process(answered);
            end = runner.resume(run("s"), Answers::new().approve(address(&end, place))).end().await;
            let expected: Vec<_> = open.iter().map(|it| all[*it]).collect();
            assert_eq!(paths(&end), expected, "{end}");
            assert_eq!(office.effects().len(), 3 - open.len());
            if open.is_empty() {
                assert_eq!(end.text, "Done.");
                assert_eq!(results(&models[2]), ["left", "right"]);
            }
        }
        assert!(office.world.open_calls.list(&OpenFilter::default()).await.unwrap().is_empty());
    }
}

// Bad input: a child that forges the ids of its parent and its sibling; two parallel calls of one agent with equal ids.
async fn calls_with_equal_ids_on_all_levels_have_different_addresses<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let forged = || Reply::calls([removal("child.txt", "x")]);
    let (worker, _) = office.leaf("worker", [forged(), forged()]);
    let tools = office.tools().add(AgentTool::new(worker.build().unwrap()).unwrap());
    let calls = [ask("worker", "x"), ask("worker", "x"), removal("root.txt", "x")];
    let (root, _) = office.agent("root", tools, [Reply::calls(calls)]);
    let runner = office.runner(root);
    let end = runner.run_with(run("s"), "Clean up.").end().await;
    assert_eq!(paths(&end), ["x:worker > x", "x:worker > x", "x"]);
    let above: Vec<_> = end.paths.iter().flatten().map(|it| it.call.clone()).collect();
    assert_ne!(above[0], above[1]);
    let refused = runner.resume(run("s"), Answers::new().approve("x")).end().await;
    assert!(refused.to_string().contains("several open calls have the id"), "{refused}");
    // The call above is no question.
    let refused = runner.resume(run("s"), Answers::new().approve(above[0].clone())).end().await;
    assert!(refused.to_string().contains("waits for the answers of calls below it"), "{refused}");
    assert!(office.effects().is_empty());

    let (worker, _) = office.leaf("worker", [Reply::text("Mine.")]);
    let tools = office.tools().add(AgentTool::new(worker.build().unwrap()).unwrap());
    let (root, _) = office.agent("root", tools, []);
    let end = office.runner(root).resume(run("s"), Answers::new().approve(address(&end, 1))).end().await;
    assert_eq!(
        (paths(&end), office.effects()),
        (vec!["x:worker > x".to_owned(), "x".to_owned()], vec!["child.txt".to_owned()])
    );
    let (worker, _) = office.leaf("worker", [Reply::text("First.")]);
    let tools = office.tools().add(AgentTool::new(worker.build().unwrap()).unwrap());
    let (root, model) = office.agent("root", tools, [Reply::text("Done.")]);
    let answers = Answers::new().approve(address(&end, 0)).reject(address(&end, 1), "no");
    assert_eq!(office.runner(root).resume(run("s"), answers).answer().await.unwrap(), "Done.");
    let texts = results(&model);
    assert_eq!((&*texts[0], &*texts[1], office.effects().len()), ("First.", "Mine.", 2));
}

async fn a_root_run_that_waits_passes_answers_to_the_run_below<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let replies =
        [Reply::calls([removal("a.txt", "r1"), removal("b.txt", "r2")]), Reply::text("It is clean.")];
    let (cleaner, _) = office.leaf("cleaner", replies);
    let replies = [Reply::calls([ask("cleaner", "c1")]), Reply::text("Done.")];
    let (manager, _) = office.above("manager", [cleaner.wait_for_answers(true)], replies);
    let mut stream = office.runner(manager.wait_for_answers(true)).run_with(run("s"), "Clean up.");
    let (handle, mut end, mut asked) = (stream.handle(), None, 0);
    while let Some(event) = stream.next().await {
        match event.kind {
            AgentEventKind::Open { calls, .. } => {
                asked += 1;
                assert_eq!(calls.len(), 2);
                // One at a time.
                handle.answer(Answers::new().approve("r2"));
                handle.answer(Answers::new().approve("r1"));
            }
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    let end = end.unwrap();
    assert_eq!(
        (end.text.as_str(), asked, office.effects()),
        ("Done.", 1, vec!["b.txt".to_owned(), "a.txt".to_owned()])
    );
}

async fn a_run_below_agents_with_long_names_is_stored_without_its_branch<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let name = |level: usize| format!("agent_{level:02}_{}", "x".repeat(54));
    let (mut agent, _) = office.leaf(&name(13), [Reply::text("Done.")]);
    for level in (0..13).rev() {
        let replies = [Reply::calls([ask(&name(level + 1), "c")]), Reply::text("Done.")];
        (agent, _) = office.above(&name(level), [agent], replies);
    }
    let context = run("s").with_max_depth(20);
    assert_eq!(office.runner(agent).run_with(context, "Clean up.").answer().await.unwrap(), "Done.");
    let entries = office.world.entries("s").await;
    let branches: Vec<_> =
        entries.iter().map(|entry| entry.content.branch.as_deref().unwrap_or_default()).collect();
    // Twelve names and the points between them fit; the last one has the depth of the leaf.
    let longest = branches.iter().map(|branch| branch.len()).max().unwrap();
    assert!((700..=768).contains(&longest), "{longest}");
    assert!(entries.iter().any(|entry| entry.content.outer_call.is_some() && entry.content.branch.is_none()));
}
