//! Questions inside runs below calls, where something has changed before the answer: the session, an agent, the message, the process.

use std::sync::{Arc, Mutex};

use tool_agent::{AgentEventKind, AgentTool, Answers, ChildState, EndReason, Limits, model::Reply};
use tool_runtime::{State, ToolCall, dialect::Usage, open_calls::OpenFilter, prelude::*};

use super::{
    below::{Office, address, ask, over_stores, removal, results},
    world::{Gate, StoreFactory, run},
};

over_stores! {
    an_answer_to_a_question_of_another_session_changes_nothing,
    a_child_whose_tool_or_agent_has_changed_is_answered_with_an_error,
    a_message_in_place_of_answers_closes_the_questions_below,
    an_answer_after_the_parent_was_cancelled_runs_nothing,
    usage_state_and_limits_of_a_child_go_on_where_they_were,
    a_child_that_was_interrupted_after_its_answer_is_continued_by_recover,
}

async fn an_answer_to_a_question_of_another_session_changes_nothing<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let mut ends = Vec::new();
    for session in ["s", "t"] {
        let (cleaner, _) = office.leaf("cleaner", [Reply::calls([removal(session, "r1")])]);
        let (manager, _) = office.above("manager", [cleaner], [Reply::calls([ask("cleaner", "c1")])]);
        ends.push(office.runner(manager).run_with(run(session), "Clean up.").end().await);
    }
    let (cleaner, _) = office.leaf("cleaner", []);
    let (manager, _) = office.above("manager", [cleaner], []);
    let runner = office.runner(manager);
    let end = runner.resume(run("s"), Answers::new().approve(address(&ends[1], 0))).end().await;
    assert!(end.to_string().contains("waits for an answer; use an id or address of `End::open`"), "{end}");
    assert!(office.effects().is_empty());
    for (session, end) in ["s", "t"].into_iter().zip(&ends) {
        let (cleaner, _) = office.leaf("cleaner", [Reply::text("It is clean.")]);
        let (manager, _) = office.above("manager", [cleaner], [Reply::text("Done.")]);
        let answers = Answers::new().approve(address(end, 0));
        assert_eq!(office.runner(manager).resume(run(session), answers).answer().await.unwrap(), "Done.");
    }
    assert_eq!(office.effects(), ["s", "t"]);
}

/// Removes a folder.
#[tool(register = false, name = "remove", destructive, confirm)]
fn remove_folder(log: &Mutex<Vec<String>>, folder: String) {
    log.lock().unwrap().push(folder);
}

async fn a_child_whose_tool_or_agent_has_changed_is_answered_with_an_error<F: StoreFactory>() {
    for changes_agent in [false, true] {
        let office = Office::new::<F>().await;
        let (cleaner, _) = office.leaf("cleaner", [Reply::calls([removal("a.txt", "r1")])]);
        let (manager, _) = office.above("manager", [cleaner], [Reply::calls([ask("cleaner", "c1")])]);
        let end = office.runner(manager).run_with(run("s"), "Clean up.").end().await;
        let tools = Registry::builder().tool::<remove_folder>().provide_shared(Arc::clone(&office.log));
        let (cleaner, child_model) = match changes_agent {
            true => {
                let (cleaner, model) = office.leaf("cleaner", []);
                (cleaner.description("Cleans up otherwise."), model)
            }
            false => office.agent("cleaner", tools, [Reply::text("It changed.")]),
        };
        let (manager, model) = office.above("manager", [cleaner], [Reply::text("Done.")]);
        let answers = Answers::new().approve(address(&end, 0));
        let end = office.runner(manager).resume(run("s"), answers).end().await;
        let texts = match changes_agent {
            true => {
                assert!(end.to_string().contains("waits for an answer"), "{end}");
                let (manager, model) = office.above("manager", [], [Reply::text("Done.")]);
                let end = office.runner(manager).run_with(run("s"), "And now?").end().await;
                assert_eq!(end.text, "Done.");
                results(&model)
            }
            false => {
                assert_eq!((end.text.as_str(), results(&model)), ("Done.", vec!["It changed.".to_owned()]));
                results(&child_model)
            }
        };
        // What waits for an approval has not run, and the run of an agent has begun.
        let expected = match changes_agent {
            true => "may have taken effect (the tool has changed since the call was made)",
            false => "since the call was made; the call was not executed",
        };
        assert!(texts[0].contains(expected), "{texts:?}");
        assert!(office.effects().is_empty());
        assert!(office.world.open_calls.list(&OpenFilter::default()).await.unwrap().is_empty());
    }
}

async fn a_message_in_place_of_answers_closes_the_questions_below<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let (worker, _) = office.leaf("worker", [Reply::calls([removal("a.txt", "r1")])]);
    let (team, _) = office.above("team", [worker], [Reply::calls([ask("worker", "c2")])]);
    let (root, _) = office.above("root", [team], [Reply::calls([ask("team", "c1")])]);
    let end = office.runner(root).run_with(run("s"), "Clean up.").end().await;
    assert_eq!(office.world.open_calls.list(&OpenFilter::default()).await.unwrap().len(), 3);
    let (worker, _) = office.leaf("worker", []);
    let (team, _) = office.above("team", [worker], []);
    let (root, model) = office.above("root", [team], [Reply::text("Never mind.")]);
    let runner = office.runner(root);
    assert_eq!(runner.run_with(run("s"), "Stop.").answer().await.unwrap(), "Never mind.");
    assert_eq!(
        results(&model),
        ["not answered: the user sent another message; what the agent did before may have taken effect"]
    );
    assert!(office.world.open_calls.list(&OpenFilter::default()).await.unwrap().is_empty());
    let late = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert!(late.to_string().contains("the session has no open calls"), "{late}");
    assert!(office.effects().is_empty());
}

async fn an_answer_after_the_parent_was_cancelled_runs_nothing<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let (cleaner, _) = office.leaf("cleaner", [Reply::calls([removal("a.txt", "r1")])]);
    let (manager, _) = office.above("manager", [cleaner], [Reply::calls([ask("cleaner", "c1")])]);
    let end = office.runner(manager).run_with(run("s"), "Clean up.").end().await;
    let (cleaner, _) = office.leaf("cleaner", []);
    let (manager, _) = office.above("manager", [cleaner], []);
    let token = tool_runtime::CancellationToken::new();
    token.cancel();
    let cancelled = run("s").with_cancellation(token);
    let late = office.runner(manager).resume(cancelled, Answers::new().approve(address(&end, 0))).end().await;
    assert_eq!((&late.reason, office.effects().len()), (&EndReason::Cancelled, 0));
}

/// Counts in the state.
#[tool(register = false)]
fn count(state: &State) -> Result<u64, ToolError> {
    let next = state.get::<u64>("count")?.unwrap_or_default() + 1;
    state.set("count", next)?;
    Ok(next)
}

async fn usage_state_and_limits_of_a_child_go_on_where_they_were<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let mut usage = Usage::default();
    (usage.input, usage.output) = (Some(40), Some(10));
    let counting = || ToolCall::new("count", "{}").with_id("n");
    let process = |child_replies: Vec<Reply>, replies: Vec<Reply>| {
        let (agent, child_model) = office.agent("cleaner", office.tools().tool::<count>(), child_replies);
        let limits = Limits { rounds: Some(3), ..Limits::default() };
        let child = AgentTool::new(agent.limits(limits).build().unwrap()).unwrap();
        let child = child.state(ChildState::Shared(["count".to_owned()].into()));
        let (manager, model) = office.agent("manager", Registry::builder().add(child), replies);
        (office.runner(manager), child_model, model)
    };
    let (runner, ..) = process(
        vec![
            Reply::calls([counting()]).with_usage(usage),
            Reply::calls([removal("a.txt", "r1")]).with_usage(usage),
        ],
        vec![Reply::calls([ask("cleaner", "c1")])],
    );
    let end = runner.run_with(run("s"), "Clean up.").end().await;
    assert_eq!((end.usage.children.rounds, end.usage.children.tokens), (2, 100));
    assert_eq!(office.world.state("s").await, json!({}));
    let (runner, child_model, model) = process(
        vec![Reply::text("So far.").with_usage(usage), Reply::text("Never.")],
        vec![Reply::text("Done.")],
    );
    let answers = Answers::new().approve(address(&end, 0));
    let end = runner.resume(run("s"), answers).end().await;
    assert_eq!((end.text.as_str(), child_model.requests().len()), ("Done.", 1));
    assert_eq!((end.usage.children.runs, end.usage.children.rounds, end.usage.children.tokens), (1, 1, 50));
    // The first process counted to 1, and the call brings that to the run above.
    assert_eq!(
        (office.world.state("s").await, results(&model)),
        (json!({ "count": 1 }), vec!["So far.".to_owned()])
    );

    // The limit of rounds counts for the whole run.
    let (runner, ..) = process(
        vec![Reply::calls([counting()]), Reply::calls([removal("b.txt", "r2")])],
        vec![Reply::calls([ask("cleaner", "c2")])],
    );
    let end = runner.run_with(run("t"), "Clean up.").end().await;
    let (runner, _, model) = process(vec![Reply::calls([counting()])], vec![Reply::text("Done.")]);
    let answers = Answers::new().approve(address(&end, 0));
    runner.resume(run("t"), answers).answer().await.unwrap();
    assert!(results(&model)[0].contains("agent error: the run made 3 requests"), "{:?}", results(&model));
}

async fn a_child_that_was_interrupted_after_its_answer_is_continued_by_recover<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let (cleaner, _) =
        office.leaf("cleaner", [Reply::calls([removal("a.txt", "r1"), removal("b.txt", "r2")])]);
    let (manager, _) = office.above("manager", [cleaner], [Reply::calls([ask("cleaner", "c1")])]);
    let end = office.runner(manager).run_with(run("s"), "Clean up.").end().await;
    // The process ends after the body, and before the next request of the child.
    let gate = Gate::closed();
    let (cleaner, _) = office.leaf("cleaner", []);
    let (manager, _) = office.above("manager", [cleaner.hook(gate.hook())], []);
    let answers = Answers::new().approve(address(&end, 0)).approve(address(&end, 1));
    let mut stream = office.runner(manager).resume(run("s"), answers);
    // Once the results are stored, the child waits at the gate.
    loop {
        if let AgentEventKind::Child { event, .. } = stream.next().await.unwrap().kind
            && let AgentEventKind::Message { message } = event.kind
            && message.tool_results().count() == 2
        {
            break;
        }
    }
    drop(stream);
    office.world.pass(60);
    let (cleaner, child_model) = office.leaf("cleaner", [Reply::text("It is clean.")]);
    let (manager, model) = office.above("manager", [cleaner], [Reply::text("Done.")]);
    let end = office.runner(manager).recover(run("s")).end().await;
    // The bodies of a batch run at once.
    let mut effects = office.effects();
    effects.sort_unstable();
    assert_eq!(
        (end.text.as_str(), effects),
        ("Done.", vec!["a.txt".to_owned(), "b.txt".to_owned()]),
        "{end}"
    );
    assert_eq!((results(&model), child_model.requests().len()), (vec!["It is clean.".to_owned()], 1));
    let texts = results(&child_model);
    assert_eq!(texts.len(), 2, "{texts:?}");
}
