//! Questions of agents that work in parallel: their team waits, and another process answers.

use tool_agent::{
    Agent, AgentBuilder, AgentEventKind, AgentTool, Answers, EndReason, Role, Runner, ScriptedModel, hook,
    model::{ModelErrorKind, Reply},
};
use tool_runtime::{open_calls::OpenFilter, prelude::*};

use super::{
    below::{Office, address, ask, over_stores, paths, removal, results},
    world::{StoreFactory, run},
};
use crate::runner::open::assert_valid;

over_stores! {
    members_that_wait_are_answered_one_at_a_time_and_those_that_ended_are_not_run_again,
    an_answer_that_no_member_has_changes_nothing,
    a_message_in_place_of_the_answers_closes_the_calls_of_all_members,
    teams_within_members_wait_and_continue,
    a_parallel_team_below_a_call_asks_with_the_path_of_the_call,
    a_crash_is_continued_by_the_members_that_had_not_ended,
    a_crash_after_the_answer_of_a_team_adds_no_second_answer,
    a_member_that_fails_closes_the_calls_of_the_others_if_asked_to,
    two_calls_of_an_agent_in_sequence_are_answered_one_at_a_time,
}

/// Sets a value of the state.
#[tool(register = false)]
fn note(state: &State, key: String, value: String) -> Result<String, ToolError> {
    state.set(&key, value)?;
    Ok("noted".to_owned())
}

pub(super) fn noting(key: &str, value: &str) -> Reply {
    Reply::call("note", json!({ "key": key, "value": value }))
}

impl Office {
    pub(super) fn member(
        &self,
        name: &str,
        replies: impl IntoIterator<Item = Reply>,
    ) -> (AgentBuilder, ScriptedModel) {
        self.agent(name, self.tools().tool::<note>(), replies)
    }

    pub(super) fn built(&self, name: &str, replies: impl IntoIterator<Item = Reply>) -> Agent {
        self.member(name, replies).0.build().unwrap()
    }

    pub(super) fn runner_of(&self, agent: Agent) -> Runner {
        Runner::new(agent).with_app("shop").with_store(self.world.store.clone())
    }

    pub(super) async fn is_free_of_open_calls(&self) -> bool {
        self.world.open_calls.list(&OpenFilter::default()).await.unwrap().is_empty()
    }
}

pub(super) fn removals(paths: &[&str]) -> Reply {
    // Models repeat ids.
    Reply::calls(paths.iter().enumerate().map(|(at, path)| removal(path, &format!("r{at}"))))
}

pub(super) fn parallel(name: &str, members: impl IntoIterator<Item = Agent>) -> Agent {
    Agent::parallel(name, members).build().unwrap()
}

pub(super) fn sequence(name: &str, members: impl IntoIterator<Item = Agent>) -> Agent {
    Agent::sequence(name, members).build().unwrap()
}

async fn members_that_wait_are_answered_one_at_a_time_and_those_that_ended_are_not_run_again<
    F: StoreFactory,
>() {
    let office = Office::new::<F>().await;
    // A member without replies fails if it is run.
    let team = |a: Vec<Reply>, b: Vec<Reply>, c: Vec<Reply>, next: Vec<Reply>| {
        let panel = parallel("panel", [office.built("a", a), office.built("b", b), office.built("c", c)]);
        let (next, model) = office.member("next", next);
        (office.runner_of(sequence("team", [panel, next.build().unwrap()])), model)
    };
    let (runner, _) = team(
        vec![noting("last", "a"), Reply::text("A.")],
        vec![noting("last", "b"), removals(&["b.txt"])],
        vec![removals(&["c0.txt", "c1.txt"])],
        vec![],
    );
    let end = runner.run_with(run("s"), "Clean up.").end().await;
    assert_eq!(
        (&end.reason, paths(&end)),
        (&EndReason::OpenCalls, ["r0", "r0", "r1"].map(String::from).to_vec())
    );
    assert_eq!((end.confirmations.len(), end.text.as_str(), end.usage.rounds), (3, "a:\nA.", 5));
    // The state of the session has the changes once all members have ended.
    assert_eq!(office.world.state("s").await, json!({}));

    let (runner, _) = team(vec![], vec![], vec![], vec![]);
    let end = runner.resume(run("s"), Answers::new().approve(address(&end, 2))).end().await;
    assert_eq!((&end.reason, end.open.len()), (&EndReason::OpenCalls, 2), "{end}");
    assert_eq!(office.effects(), ["c1.txt"]);
    let (runner, _) = team(vec![], vec![Reply::text("B.")], vec![], vec![]);
    let end = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert_eq!((end.open.len(), end.text.as_str()), (1, "a:\nA.\n\nb:\nB."), "{end}");
    let (runner, model) = team(vec![], vec![], vec![Reply::text("C.")], vec![Reply::text("Done.")]);
    let end = runner.resume(run("s"), Answers::new().reject("r0", "keep it")).end().await;
    assert_eq!((&end.reason, end.text.as_str()), (&EndReason::Answered, "Done."), "{end}");
    assert_eq!(office.effects(), ["c1.txt", "b.txt"]);
    let request = &model.requests()[0];
    assert_eq!(request.messages[1].text(), "[panel] said:\na:\nA.\n\nb:\nB.\n\nc:\nC.");
    // Merged in the order of the list.
    assert_eq!(office.world.state("s").await, json!({ "last": "b" }));
    assert_valid(&runner.history(&run("s")).await);
    assert!(office.is_free_of_open_calls().await);
    let end = runner.resume(run("s"), Answers::new().approve("r0")).end().await;
    assert!(end.to_string().contains("no open calls"), "{end}");
}

async fn an_answer_that_no_member_has_changes_nothing<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let panel = |a: Vec<Reply>, b: Vec<Reply>| {
        office.runner_of(parallel("panel", [office.built("a", a), office.built("b", b)]))
    };
    let runner = panel(vec![removals(&["a.txt"])], vec![removals(&["b.txt"])]);
    let end = runner.run_with(run("s"), "Clean up.").end().await;
    let other = panel(vec![removals(&["x.txt"])], vec![removals(&["y.txt"])]);
    let foreign = other.run_with(run("t"), "Clean up.").end().await;
    let runner = panel(vec![], vec![]);
    for (wrong, problem) in [
        (Answers::new().approve("r0"), "several open calls have the id"),
        (Answers::new().approve("none"), "no call `none` waits"),
        // A question of another session.
        (Answers::new().approve(address(&foreign, 0)), "waits for an answer"),
        (Answers::new().result(address(&end, 0), Ok("yes".into())), "waits for an approval"),
        (Answers::new().approve(address(&end, 1)).reject(address(&end, 1), "no"), "received two answers"),
        // The first answer is valid.
        (Answers::new().approve(address(&end, 0)).approve("none"), "no call `none` waits"),
    ] {
        let refused = runner.resume(run("s"), wrong).end().await;
        assert!(refused.to_string().contains(problem), "{refused}");
    }
    assert!(office.effects().is_empty());
    let runner = panel(vec![Reply::text("A.")], vec![Reply::text("B.")]);
    let answers = Answers::new().approve(address(&end, 1)).approve(address(&end, 0));
    assert_eq!(runner.resume(run("s"), answers).answer().await.unwrap(), "a:\nA.\n\nb:\nB.");
    assert_eq!(office.effects().len(), 2);
}

async fn a_message_in_place_of_the_answers_closes_the_calls_of_all_members<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let panel = |a: Vec<Reply>, b: Vec<Reply>| {
        let inner = parallel("inner", [office.built("b", b)]);
        office.runner_of(parallel("panel", [office.built("a", a), inner]))
    };
    let runner = panel(vec![removals(&["a.txt"])], vec![removals(&["b.txt"])]);
    let end = runner.run_with(run("s"), "Clean up.").end().await;
    assert_eq!(end.open.len(), 2);
    let runner = panel(vec![Reply::text("A.")], vec![Reply::text("B.")]);
    let answer = runner.run_with(run("s"), "Stop.").answer().await.unwrap();
    assert_eq!(answer, "a:\nA.\n\ninner:\nb:\nB.");
    assert!(office.is_free_of_open_calls().await);
    let late = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert!(late.to_string().contains("no open calls"), "{late}");
    assert!(office.effects().is_empty());
}

async fn teams_within_members_wait_and_continue<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let tree = |x: Vec<Reply>, y: Vec<Reply>, z: Vec<Reply>, w: Vec<Reply>| {
        let pair = parallel("pair", [office.built("y", y), office.built("z", z)]);
        let steps = sequence("steps", [office.built("x", x), pair]);
        office.runner_of(parallel("all", [steps, office.built("w", w)]))
    };
    let end = tree(
        vec![Reply::text("X.")],
        vec![noting("y", "was here"), removals(&["y.txt"])],
        vec![Reply::text("Z.")],
        vec![removals(&["w.txt"])],
    );
    let end = end.run_with(run("s"), "Go.").end().await;
    assert_eq!((&end.reason, end.open.len()), (&EndReason::OpenCalls, 2), "{end}");
    let answers = Answers::new().approve(address(&end, 0));
    let end = tree(vec![], vec![Reply::text("Y.")], vec![], vec![]).resume(run("s"), answers).end().await;
    assert_eq!((end.open.len(), office.effects()), (1, vec!["y.txt".to_owned()]), "{end}");
    assert_eq!(end.text, "steps:\ny:\nY.\n\nz:\nZ.");
    let answers = Answers::new().approve(address(&end, 0));
    let end = tree(vec![], vec![], vec![], vec![Reply::text("W.")]).resume(run("s"), answers).end().await;
    assert_eq!(end.text, "steps:\ny:\nY.\n\nz:\nZ.\n\nw:\nW.");
    assert_eq!(office.world.state("s").await, json!({ "y": "was here" }));
    assert!(office.is_free_of_open_calls().await);
}

async fn a_parallel_team_below_a_call_asks_with_the_path_of_the_call<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let process = |a: Vec<Reply>, b: Vec<Reply>, replies: Vec<Reply>| {
        let panel = parallel("panel", [office.built("a", a), office.built("b", b)]);
        let tools = office.tools().add(AgentTool::new(panel).unwrap());
        let (manager, model) = office.agent("manager", tools, replies);
        (office.runner(manager), model)
    };
    let calls = Reply::calls([ask("panel", "c")]);
    let (runner, _) = process(vec![Reply::text("A.")], vec![removals(&["b0.txt", "b1.txt"])], vec![calls]);
    let end = runner.run_with(run("s"), "Clean up.").end().await;
    assert_eq!(paths(&end), ["c:panel > r0", "c:panel > r1"]);
    let (runner, _) = process(vec![], vec![], vec![]);
    let end = runner.resume(run("s"), Answers::new().approve("r1")).end().await;
    assert_eq!((paths(&end), office.effects()), (vec!["c:panel > r0".to_owned()], vec!["b1.txt".to_owned()]));
    let (runner, model) = process(vec![], vec![Reply::text("B.")], vec![Reply::text("Done.")]);
    let end = runner.resume(run("s"), Answers::new().approve("r0")).end().await;
    assert_eq!((end.text.as_str(), results(&model)), ("Done.", vec!["a:\nA.\n\nb:\nB.".to_owned()]));
    // The usage of the last process: one round of the member that went on.
    assert_eq!((end.usage.children.rounds, office.effects().len()), (1, 2));
    assert!(office.is_free_of_open_calls().await);
}

async fn a_crash_is_continued_by_the_members_that_had_not_ended<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let panel = |a: Vec<Reply>, b: Vec<Reply>, c: Vec<Reply>, waits: bool| {
        let (b, _) = office.member("b", b);
        // The process ends while the second round waits.
        let waiting = hook::before_model(move |step| async move {
            if step.number > 1 {
                std::future::pending::<()>().await;
            }
            Ok(step.into())
        });
        let b = if waits { b.hook(waiting) } else { b };
        let members = [office.built("a", a), b.build().unwrap(), office.built("c", c)];
        office.runner_of(parallel("panel", members))
    };
    let runner = panel(vec![Reply::text("A.")], vec![noting("b", "noted")], vec![removals(&["c.txt"])], true);
    let mut events = runner.run_with(run("s"), "Go.");
    let mut waits_for = 3;
    while let Some(event) = events.next().await {
        waits_for -= match &event.kind {
            AgentEventKind::Message { message } if &*event.agent == "a" || message.role() == Role::Tool => 1,
            AgentEventKind::Open { .. } => 1,
            _ => 0,
        };
        if waits_for == 0 {
            break;
        }
    }
    drop(events);
    office.world.pass(60);
    let runner = panel(vec![Reply::text("A again.")], vec![Reply::text("B.")], vec![], false);
    let end = runner.recover(run("s")).end().await;
    assert_eq!((&end.reason, end.open.len()), (&EndReason::OpenCalls, 1), "{end}");
    assert!(end.text.ends_with("b:\nB."), "{end:?}");
    let runner = panel(vec![], vec![], vec![Reply::text("C.")], false);
    let end = runner.resume(run("s"), Answers::new().approve(address(&end, 0))).end().await;
    assert!(end.text.ends_with("b:\nB.\n\nc:\nC."), "{end:?}");
    assert_eq!(
        (office.effects(), office.world.state("s").await),
        (vec!["c.txt".to_owned()], json!({ "b": "noted" }))
    );
    assert!(runner.recover(run("s")).end().await.to_string().contains("nothing to continue"));
}

async fn a_crash_after_the_answer_of_a_team_adds_no_second_answer<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let team = |a: Vec<Reply>, next: Vec<Reply>, waits: bool| {
        let (next, _) = office.member("next", next);
        let next = if waits { next.hook(hook::before_model(|_| std::future::pending())) } else { next };
        office.runner_of(sequence("team", [parallel("panel", [office.built("a", a)]), next.build().unwrap()]))
    };
    let mut events = team(vec![Reply::text("A.")], vec![], true).run_with(run("s"), "Go.");
    while let Some(event) = events.next().await {
        if matches!(&event.kind, AgentEventKind::Message { message } if message.agent() == Some("panel")) {
            break;
        }
    }
    drop(events);
    office.world.pass(60);
    let runner = team(vec![], vec![Reply::text("Done.")], false);
    assert_eq!(runner.recover(run("s")).answer().await.unwrap(), "Done.");
    let history = runner.history(&run("s")).await;
    let texts: Vec<_> = history.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["Go.", "a:\nA.", "Done."]);
}

async fn a_member_that_fails_closes_the_calls_of_the_others_if_asked_to<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let team = |a: Vec<Reply>, b: Vec<Reply>, cancels: bool| {
        let members = [office.built("a", a), office.built("b", b)];
        office.runner_of(Agent::parallel("panel", members).cancel_on_failure(cancels).build().unwrap())
    };
    let failing = || vec![noting("k", "v"), Reply::error(ModelErrorKind::Other, "no model")];
    let end = team(vec![removals(&["a.txt"])], failing(), true).run_with(run("s"), "Go.").end().await;
    assert!(matches!(end.reason, EndReason::ModelFailed { .. }) && end.open.is_empty(), "{end}");
    assert!(office.is_free_of_open_calls().await);
    // Otherwise the others are waited for, and then the team reports the failure.
    let end = team(vec![removals(&["a.txt"])], failing(), false).run_with(run("t"), "Go.").end().await;
    assert_eq!((&end.reason, end.open.len()), (&EndReason::OpenCalls, 1), "{end}");
    let answers = Answers::new().approve(address(&end, 0));
    let end = team(vec![Reply::text("A.")], vec![], false).resume(run("t"), answers).end().await;
    assert!(matches!(end.reason, EndReason::ModelFailed { .. }), "{end}");
    assert_eq!((end.text.as_str(), office.effects()), ("a:\nA.", vec!["a.txt".to_owned()]));
}

async fn two_calls_of_an_agent_in_sequence_are_answered_one_at_a_time<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    let team = |a: Vec<Reply>| office.runner_of(sequence("team", [office.built("a", a)]));
    let mut end = team(vec![removals(&["0.txt", "1.txt", "2.txt"])]).run_with(run("s"), "Go.").end().await;
    for _ in 0..2 {
        let answers = Answers::new().approve(address(&end, 0));
        end = team(vec![]).resume(run("s"), answers).end().await;
        assert_eq!(end.reason, EndReason::OpenCalls, "{end}");
    }
    let answers = Answers::new().approve(address(&end, 0));
    end = team(vec![Reply::text("Done.")]).resume(run("s"), answers).end().await;
    assert_eq!((end.text.as_str(), office.effects().len()), ("Done.", 3), "{end}");
}
