//! Loops of agents.

use tool_agent::{EndReason, Part, Role, hook};
use tool_runtime::{ToolCall, output::Actions};

use super::*;

/// Asks the loop to end, and its own agent to go on.
#[tool(register = false)]
fn escalate() -> ToolOutput {
    ToolOutput::from("escalated").with_actions(Actions { escalate: true, ..Actions::default() })
}

#[tokio::test]
async fn a_call_ends_the_loop_and_no_member_runs_after_it() {
    let (writer, writer_model) = builder("writer", (1..=5).map(|at| Reply::text(format!("Draft {at}."))));
    let (critic, critic_model) = builder("critic", [Reply::text("Shorter."), exit()]);
    let members = [writer.build().unwrap(), critic.build().unwrap(), speaker("printer", "Printed.")];
    let review = Agent::repeat("review", members, 5).build().unwrap();
    let (events, end) = events_of(Runner::new(review).run("Write.")).await;
    assert_eq!((writer_model.requests().len(), critic_model.requests().len()), (2, 2)); // V08
    assert_eq!((&end.reason, end.usage.rounds, end.usage.calls), (&EndReason::Escalated, 5, 1));
    // The critic ended with a call and no text: the answer is the last one that was given.
    assert_eq!(end.text, "Draft 2.");
    assert!(end.reason.is_success() && notices(&events).is_empty());
    // The writer sees its own draft, the critic and the printer under their names.
    let messages = &writer_model.requests()[1].messages;
    let texts: Vec<_> = messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["Write.", "Draft 1.", "[critic] said:\nShorter.", "[printer] said:\nPrinted."]);
}

#[tokio::test]
async fn a_loop_ends_after_its_last_iteration_with_the_answer_of_the_last_member() {
    let texts = |name: &str| agent(name, (1..=3).map(|at| Reply::text(format!("{name} {at}"))));
    let end = end_of(Agent::repeat("loop", [texts("a"), texts("b")], 3).build().unwrap()).await;
    assert_eq!((end.text.as_str(), end.reason, end.usage.rounds), ("b 3", EndReason::Answered, 6));
}

#[tokio::test]
async fn an_agent_that_repeats_itself_is_asked_to_continue() {
    let (solo, model) = builder("solo", (1..=3).map(|at| Reply::text(format!("{at}"))));
    let runner = Runner::new(Agent::repeat("loop", [solo.build().unwrap()], 3).build().unwrap());
    let run = || tool_runtime::RunContext::new().with_session("s");
    assert_eq!(runner.run_with(run(), "Count.").answer().await.unwrap(), "3");
    // A request ends with no message of its own model.
    let texts = |at: usize| -> Vec<String> {
        model.requests()[at].messages.iter().map(|message| message.text()).collect()
    };
    assert_eq!(
        (texts(1), texts(2)),
        (
            vec!["Count.".to_owned(), "1".to_owned(), "Continue.".to_owned()],
            vec!["Count.".to_owned(), "1".to_owned(), "2".to_owned(), "Continue.".to_owned()],
        )
    );
    assert!(model.requests().iter().all(|request| request.messages.last().unwrap().role() == Role::User));
    assert_eq!(runner.history(&run()).await.len(), 4, "the request to continue is no message of the session");
}

#[tokio::test]
async fn the_innermost_loop_ends_first() {
    let inner = Agent::repeat("inner", [agent("quitter", (0..3).map(|_| exit()))], 9).build().unwrap();
    let outer =
        Agent::repeat("outer", [inner, agent("counter", (1..=3).map(|at| Reply::text(format!("{at}"))))], 3);
    let end = end_of(outer.build().unwrap()).await;
    assert_eq!((end.text.as_str(), end.reason, end.usage.rounds), ("3", EndReason::Answered, 6));
}

#[tokio::test]
async fn a_parallel_team_in_a_sequence_in_a_loop_ends_the_loop_after_all_of_its_members() {
    let (slow, slow_model) = builder("slow", [product(), Reply::text("100")]);
    let panel =
        Agent::parallel("panel", [agent("quitter", [exit()]), slow.build().unwrap()]).build().unwrap();
    let (after, after_model) = builder("after", [Reply::text("After.")]);
    let sequence = Agent::sequence("steps", [panel, after.build().unwrap()]).build().unwrap();
    let end = end_of(Agent::repeat("loop", [sequence], 5).build().unwrap()).await;
    assert_eq!((slow_model.requests().len(), after_model.requests().len()), (2, 0)); // V08
    assert_eq!((end.text.as_str(), end.reason), ("slow:\n100", EndReason::Escalated));
}

#[tokio::test]
async fn a_tool_that_escalates_ends_its_agent_with_the_text_of_the_agent() {
    let model = ScriptedModel::new([Reply::parts([
        Part::Text("I give up.".to_owned()),
        Part::Call(ToolCall::new("escalate", "{}")),
    ])]);
    let tools = Registry::builder().tool::<escalate>().build().unwrap();
    let quitter = Agent::builder("quitter", model).tools(tools).build().unwrap();
    let end = end_of(Agent::repeat("loop", [quitter], 5).build().unwrap()).await;
    assert_eq!((end.text.as_str(), end.reason), ("I give up.", EndReason::Escalated));
}

#[tokio::test]
async fn escalating_has_no_effect_outside_of_a_loop() {
    let model = ScriptedModel::new([Reply::call("escalate", json!({})), Reply::text("On I go.")]);
    let tools = Registry::builder().tool::<escalate>().build().unwrap();
    let solo = Agent::builder("solo", model).tools(tools).build().unwrap();
    let team = Agent::sequence("team", [solo, speaker("next", "Next.")]).build().unwrap();
    let (events, end) = events_of(Runner::new(team).run("Go.")).await;
    assert_eq!((end.text.as_str(), end.usage.rounds), ("Next.", 3));
    assert!(notices(&events)[0].starts_with("a tool asked to escalate, which has no effect"));
}

#[tokio::test]
async fn a_member_that_fails_ends_its_loop_and_what_follows_it() {
    let (failing, _) = builder("failing", [Reply::text("One.")]);
    let review = Agent::repeat("review", [failing.build().unwrap()], 5).build().unwrap();
    let team = Agent::sequence("team", [review, speaker("next", "Next.")]).build().unwrap();
    let end = end_of(team).await;
    assert!(matches!(end.reason, EndReason::ModelFailed { .. }), "{end}");
    assert_eq!(end.usage.rounds, 2);
}

#[tokio::test]
async fn the_hooks_of_a_runner_see_each_turn() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let notes = std::sync::Arc::clone(&seen);
    let hook = hook::before_model(move |step| {
        let run = &step.request.run;
        let names = (run.agent().unwrap().to_owned(), run.branch().unwrap().to_owned());
        notes.lock().unwrap().push(names);
        async move { Ok(step.into()) }
    });
    let inner = Agent::repeat("inner", [speaker("a", "A."), speaker("b", "B.")], 1).build().unwrap();
    let team = Agent::sequence("team", [inner, speaker("c", "C.")]).build().unwrap();
    Runner::new(team).with_hook(hook).run("Go.").answer().await.unwrap();
    let expected = [("a", "team.inner.a"), ("b", "team.inner.b"), ("c", "team.c")];
    let expected: Vec<_> =
        expected.iter().map(|(name, branch)| ((*name).to_owned(), (*branch).to_owned())).collect();
    assert_eq!(*seen.lock().unwrap(), expected);
}
