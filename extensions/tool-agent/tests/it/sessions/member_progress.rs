//! The progress of agents in parallel that wait: their changes of state, their usage and their limits.

use tool_agent::{
    AgentEventKind, AgentTool, Answers, EndReason, Limit, Limits, OutputType, ScriptedModel, hook,
    model::Reply,
};
use tool_runtime::{RunContext, context::Budget, prelude::*, schemars};
use tool_session::{Entry, EntryContent, JsonText, LeaseRequest, SessionWrite};

use super::{
    below::{Office, address, ask, over_stores, paths, results},
    below_members::{noting, parallel, removals, sequence},
    world::{StoreFactory, key, run},
};

over_stores! {
    a_temporary_value_of_a_member_is_in_no_entry,
    an_entry_of_a_member_has_what_changed_since_the_one_before,
    the_limit_of_a_member_counts_its_rounds_before_an_answer_of_the_handle,
    the_limit_of_a_member_counts_its_rounds_before_an_answer_in_another_process,
    the_limit_of_a_member_counts_its_rounds_before_a_crash,
    a_member_is_reminded_of_its_output_once_also_after_an_answer,
    a_reminder_of_a_member_that_waited_is_not_for_the_agent_after_it,
    a_budget_below_a_call_is_charged_once,
    a_member_that_cannot_be_closed_is_reported_and_the_others_are_closed,
}

impl Office {
    /// Returns the entries of the members of a session.
    async fn member_entries(&self) -> Vec<Entry> {
        let entries = self.world.entries("s").await;
        entries.into_iter().filter(|entry| &*entry.content.kind == "member").collect()
    }
}

fn body(entry: &Entry) -> Value {
    serde_json::from_str(entry.content.body.as_str()).unwrap()
}

fn is_at_round_limit(reason: &EndReason) -> bool {
    matches!(reason, EndReason::Limit { limit: Limit::Rounds, .. })
}

async fn a_temporary_value_of_a_member_is_in_no_entry<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let team = |a: Vec<Reply>, b: Vec<Reply>, next: Vec<Reply>| {
        let panel = parallel("panel", [office.built("a", a), office.built("b", b)]);
        let (next, model) = office.member("next", next);
        let next = next.instruction_fn(|run| async move { Ok(json!(*run.state()).to_string()) });
        (office.runner_of(sequence("team", [panel, next.build().unwrap()])), model)
    };
    // Within the run, the agents after the team have it.
    let noted = || vec![noting("temp:token", "t-1"), noting("kept", "k"), Reply::text("A.")];
    let (runner, model) = team(noted(), vec![Reply::text("B.")], vec![Reply::text("Done.")]);
    runner.run_with(run("s"), "Go.").answer().await.unwrap();
    let state =
        |model: &ScriptedModel| serde_json::from_str::<Value>(&model.requests()[0].instruction).unwrap();
    assert_eq!(state(&model), json!({ "kept": "k", "temp:token": "t-1" }));
    // Another run that continues the team does not.
    let (runner, _) = team(noted(), vec![removals(&["b.txt"])], vec![]);
    let end = runner.run_with(run("s"), "Go.").end().await;
    let (runner, model) = team(vec![], vec![Reply::text("B.")], vec![Reply::text("Done.")]);
    runner.resume(run("s"), Answers::new().approve(address(&end, 0))).answer().await.unwrap();
    assert_eq!(state(&model), json!({ "kept": "k" }));
    let entries = office.member_entries().await;
    assert!(entries.iter().any(|entry| body(entry)["changes"]["kept"] == "k"));
    assert!(entries.iter().all(|entry| !entry.content.body.as_str().contains("temp:")), "{entries:?}");
}

async fn an_entry_of_a_member_has_what_changed_since_the_one_before<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let notes =
        (0..20).map(|at| noting(&format!("k{at}"), "v")).chain([noting("k0", "w"), removals(&["a.txt"])]);
    let runner = office.runner_of(parallel("panel", [office.built("a", notes)]));
    let end = runner.run_with(run("s"), "Go.").end().await;
    let entries = office.member_entries().await;
    let changes = |entry: &Entry| body(entry)["changes"].as_object().map_or(0, serde_json::Map::len);
    assert_eq!(entries.iter().map(changes).max(), Some(1));
    assert_eq!(entries.iter().map(changes).sum::<usize>(), 21);
    // Another process has them all.
    let runner = office.runner_of(parallel("panel", [office.built("a", [Reply::text("A.")])]));
    runner.resume(run("s"), Answers::new().approve(address(&end, 0))).answer().await.unwrap();
    let state = office.world.state("s").await;
    assert_eq!(
        (&state["k0"], &state["k19"], state.as_object().unwrap().len()),
        (&json!("w"), &json!("v"), 20)
    );
}

async fn the_limit_of_a_member_counts_its_rounds_before_an_answer_of_the_handle<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let replies = [removals(&["0.txt"]), removals(&["1.txt"]), removals(&["2.txt"]), Reply::text("A.")];
    let limits = Limits { rounds: Some(2), ..Limits::default() };
    let a = office.member("a", replies).0.limits(limits).wait_for_answers(true).build().unwrap();
    let runner = office.runner_of(parallel("panel", [a]));
    let mut events = runner.run_with(run("s"), "Go.");
    let (handle, mut reached) = (events.handle(), None);
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Open { .. } => handle.answer(Answers::new().approve("r0")),
            AgentEventKind::Ended { end } => reached = Some(end),
            _ => {}
        }
    }
    let end = reached.unwrap();
    assert!(is_at_round_limit(&end.reason), "{end}");
    assert_eq!((end.usage.rounds, office.effects()), (2, vec!["0.txt".to_owned(), "1.txt".to_owned()]));
}

async fn the_limit_of_a_member_counts_its_rounds_before_an_answer_in_another_process<F: StoreFactory>() {
    for is_below_call in [false, true] {
        let office = Office::new::<F>().await;
        let process = |a: Vec<Reply>, replies: Vec<Reply>| {
            let limits = Limits { rounds: Some(2), ..Limits::default() };
            let a = office.member("a", a).0.limits(limits).build().unwrap();
            let panel = parallel("panel", [a]);
            let tools = office.tools().add(AgentTool::new(panel.clone()).unwrap());
            let (manager, model) = office.agent("manager", tools, replies);
            (if is_below_call { office.runner(manager) } else { office.runner_of(panel) }, model)
        };
        let calls = Reply::calls([ask("panel", "c")]);
        let (runner, _) = process(vec![removals(&["0.txt"])], vec![calls]);
        let end = runner.run_with(run("s"), "Go.").end().await;
        let (runner, _) = process(vec![removals(&["1.txt"])], vec![]);
        let end = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
        assert_eq!((&end.reason, paths(&end).len()), (&EndReason::OpenCalls, 1), "{end}");
        let (runner, model) = process(vec![removals(&["2.txt"])], vec![Reply::text("Done.")]);
        let end = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
        match is_below_call {
            true => assert!(results(&model)[0].contains("Limits::rounds"), "{:?}", results(&model)),
            false => assert!(is_at_round_limit(&end.reason), "{end}"),
        }
        assert_eq!(
            (office.effects(), end.usage.children.rounds),
            (vec!["0.txt".to_owned(), "1.txt".to_owned()], 0)
        );
    }
}

async fn the_limit_of_a_member_counts_its_rounds_before_a_crash<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let panel = |a: Vec<Reply>, waits: bool| {
        let waiting = hook::before_model(move |step| async move {
            if waits && step.number > 1 {
                std::future::pending::<()>().await;
            }
            Ok(step.into())
        });
        let limits = Limits { rounds: Some(2), ..Limits::default() };
        let a = office.member("a", a).0.limits(limits).hook(waiting).build().unwrap();
        office.runner_of(parallel("panel", [a]))
    };
    let mut events = panel(vec![noting("k", "v")], true).run_with(run("s"), "Go.");
    while let Some(event) = events.next().await {
        if matches!(&event.kind, AgentEventKind::Message { message } if message.role() == tool_agent::Role::Tool)
        {
            break;
        }
    }
    drop(events);
    office.world.pass(60);
    // The first of two rounds is counted.
    let end = panel(vec![noting("k", "w"), noting("k", "x")], false).recover(run("s")).end().await;
    assert!(is_at_round_limit(&end.reason), "{end}");
    assert_eq!(end.usage.rounds, 2);
}

/// A word.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Word {
    _word: String,
}

async fn a_member_is_reminded_of_its_output_once_also_after_an_answer<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let replies =
        [Reply::text("A word."), removals(&["0.txt"]), Reply::text("Another."), Reply::text("Third.")];
    let (a, model) = office.member("a", replies);
    let a = a.output_type(OutputType::of::<Word>()).wait_for_answers(true).build().unwrap();
    let mut events = office.runner_of(parallel("panel", [a])).run_with(run("s"), "Go.");
    let (handle, mut reached) = (events.handle(), None);
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Open { .. } => handle.answer(Answers::new().approve("r0")),
            AgentEventKind::Ended { end } => reached = Some(end),
            _ => {}
        }
    }
    let end = reached.unwrap();
    assert!(end.to_string().contains("after a reminder"), "{end}");
    assert_eq!(model.requests().len(), 3);
}

async fn a_reminder_of_a_member_that_waited_is_not_for_the_agent_after_it<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let checks = hook::before_end(|step| async move {
        let is_first = step.number == 1;
        Ok(is_first.then(|| "Check it.".into()))
    });
    let (x, x_model) = office.member("x", [Reply::text("Draft."), removals(&["0.txt"]), Reply::text("X.")]);
    let x = x.hook(checks).wait_for_answers(true).build().unwrap();
    let (y, y_model) = office.member("y", [Reply::text("Y.")]);
    let steps = sequence("steps", [x, y.build().unwrap()]);
    let mut events = office.runner_of(parallel("panel", [steps])).run_with(run("s"), "Go.");
    let handle = events.handle();
    while let Some(event) = events.next().await {
        if matches!(event.kind, AgentEventKind::Open { .. }) {
            handle.answer(Answers::new().approve("r0"));
        }
    }
    let has_reminder = |model: &ScriptedModel| {
        let requests = model.requests();
        requests.last().unwrap().messages.iter().any(|message| message.text() == "Check it.")
    };
    assert_eq!((has_reminder(&x_model), has_reminder(&y_model)), (true, false));
}

async fn a_budget_below_a_call_is_charged_once<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let process = |a: Vec<Reply>, b: Vec<Reply>, replies: Vec<Reply>| {
        let steps = sequence("steps", [office.built("a", a), office.built("b", b)]);
        let tools = office.tools().add(AgentTool::new(steps).unwrap());
        office.runner(office.agent("manager", tools, replies).0)
    };
    let calls = Reply::calls([ask("steps", "c")]);
    let runner = process(vec![noting("k", "v"), Reply::text("A.")], vec![removals(&["0.txt"])], vec![calls]);
    let end = runner.run_with(run("s"), "Go.").end().await;
    assert_eq!(paths(&end), ["c:steps > r0"]);
    // One request of `b`, and one of the manager.
    let budget = Budget { rounds: Some(2), ..Budget::default() };
    let runner = process(vec![], vec![Reply::text("B.")], vec![Reply::text("Done.")]);
    let answers = Answers::new().approve(address(&end, 0));
    let run: RunContext = run("s").with_budget(budget);
    let end = runner.resume(run, answers).end().await;
    assert_eq!((&end.reason, end.text.as_str()), (&EndReason::Answered, "Done."), "{end}");
}

async fn a_member_that_cannot_be_closed_is_reported_and_the_others_are_closed<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let panel = |a: Vec<Reply>, b: Vec<Reply>| {
        office.runner_of(parallel("panel", [office.built("a", a), office.built("b", b)]))
    };
    let runner = panel(vec![removals(&["a.txt"])], vec![removals(&["b.txt"])]);
    runner.run_with(run("s"), "Clean up.").end().await;
    // The last entry of `a` is broken.
    let entries = office.member_entries().await;
    let broken = entries.iter().find(|entry| entry.content.agent.as_deref() == Some("a")).unwrap();
    let store = &office.world.store;
    let grant = store.acquire(&key("s"), &LeaseRequest::new("import", "test")).await.unwrap();
    let mut entry = EntryContent::new("import", "member", JsonText::of(&json!({ "changes": 7 })).unwrap());
    entry.view.clone_from(&broken.content.view);
    let write = SessionWrite::new(grant.session.revision).entry(entry).end_of_run();
    store.write(&grant.lease, &write).await.unwrap();

    let runner = panel(vec![Reply::text("A.")], vec![Reply::text("B.")]);
    let (mut events, mut notices, mut text) = (runner.run_with(run("s"), "Stop."), Vec::new(), String::new());
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Notice { text } => notices.push(text),
            AgentEventKind::Ended { end } => text = end.text,
            _ => {}
        }
    }
    assert_eq!(text, "a:\nA.\n\nb:\nB.");
    let problem = "the open calls of the agent `a` are not closed, and remain until they expire: ";
    assert!(notices.iter().any(|notice| notice.starts_with(problem)), "{notices:?}");
    let open = office.world.open_calls.list(&tool_runtime::open_calls::OpenFilter::default()).await.unwrap();
    assert_eq!(open.len(), 1, "{open:?}");
}
