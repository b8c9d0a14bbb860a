//! The answers and outputs of agents of agents, also as tools.

use tool_agent::{AgentTool, EndReason, Limits, OutputType};
use tool_runtime::ToolCall;

use super::*;

/// A town.
#[tool_args]
#[derive(Debug, PartialEq)]
struct Town {
    name: String,
    population: u32,
}

fn oslo() -> Reply {
    Reply::call("submit_output", json!({ "name": "Oslo", "population": 717_710 }))
}

/// An agent whose output is a town.
fn extractor(name: &str) -> Agent {
    builder(name, [oslo(), oslo()]).0.output::<Town>().build().unwrap()
}

fn town() -> Town {
    Town { name: "Oslo".to_owned(), population: 717_710 }
}

#[tokio::test]
async fn a_sequence_and_a_loop_have_the_output_of_their_last_member() {
    let team = Agent::sequence("team", [speaker("a", "A."), extractor("b")]).build().unwrap();
    assert!(team.output_type().is_some());
    assert_eq!(Runner::new(team).run("Go.").output::<Town>().await.unwrap(), town());
    let closed = Agent::sequence("team", [extractor("a"), speaker("b", "B.")]).build().unwrap();
    let end = end_of(closed).await;
    assert_eq!((end.output, end.text.as_str(), end.reason), (None, "B.", EndReason::Answered));
    let again = Agent::repeat("again", [extractor("a")], 2).build().unwrap();
    let end = end_of(again).await;
    assert_eq!((end.output.unwrap()["name"].as_str(), end.usage.rounds), (Some("Oslo"), 2));
    // A member that ends the loop without an output leaves the one before it.
    let until = Agent::repeat("until", [extractor("a"), agent("b", [exit()])], 5).build().unwrap();
    assert_eq!(Runner::new(until).run("Go.").output::<Town>().await.unwrap(), town());
}

#[tokio::test]
async fn the_output_of_a_parallel_team_is_an_object_by_the_names_of_its_members() {
    let list = builder("list", [Reply::call("submit_output", json!({ "output": [1, 2] }))]).0;
    let members = [extractor("town"), list.output::<Vec<u8>>().build().unwrap(), speaker("text", "T.")];
    let panel = Agent::parallel("panel", members).build().unwrap();
    assert!(panel.output_type().is_some());
    let end = end_of(panel).await;
    let expected = json!({ "town": { "name": "Oslo", "population": 717_710 }, "list": [1, 2], "text": "T." });
    assert_eq!((end.output, end.reason), (Some(expected), EndReason::Submitted));
    assert_eq!(end.text, "town:\n{\"name\":\"Oslo\",\"population\":717710}\n\nlist:\n[1,2]\n\ntext:\nT.");
    let texts = Agent::parallel("texts", [speaker("a", "A."), speaker("b", "B.")]).build().unwrap();
    assert!(texts.output_type().is_none());
    assert_eq!(end_of(texts).await.output, None);
}

#[tokio::test]
async fn a_type_of_the_runner_applies_to_the_last_member_or_to_the_joined_object() {
    let team = Agent::sequence("team", [speaker("a", "A."), agent("b", [oslo()])]).build().unwrap();
    assert_eq!(Runner::new(team).run_structured::<Town>("Go.").await.unwrap(), town());

    /// Two opinions.
    #[tool_args]
    #[derive(Debug, PartialEq)]
    struct Opinions {
        a: String,
        b: String,
    }
    let panel = || Agent::parallel("panel", [speaker("a", "Yes."), speaker("b", "No.")]).build().unwrap();
    let opinions: Opinions = Runner::new(panel()).run_structured("Go.").await.unwrap();
    assert_eq!(opinions, Opinions { a: "Yes.".to_owned(), b: "No.".to_owned() });
    let end = Runner::new(panel()).with_output_type(OutputType::of::<Town>()).run("Go.").end().await;
    assert!(matches!(end.reason, EndReason::InvalidOutput { .. }), "{end}");
    assert_eq!(end.text, "a:\nYes.\n\nb:\nNo.");
}

/// A manager that calls the tool `team` once.
fn manager(team: Agent) -> (Agent, ScriptedModel) {
    let call = ToolCall::new("team", json!({ "request": "Go." })).with_id("c1".to_owned());
    let model = ScriptedModel::new([Reply::calls([call]).with_usage(usage()), Reply::text("Done.")]);
    let tools = Registry::builder().add(AgentTool::new(team).unwrap()).build().unwrap();
    (Agent::builder("manager", model.clone()).tools(tools).build().unwrap(), model)
}

fn result(model: &ScriptedModel) -> String {
    model.requests()[1].messages[2].tool_results().next().unwrap().text().into_owned()
}

#[tokio::test]
async fn an_agent_of_agents_is_a_tool_whose_result_is_its_answer() {
    let counted = |name: &str, text: &str| agent(name, [product(), Reply::text(text).with_usage(usage())]);
    let team = Agent::sequence("team", [counted("a", "A."), counted("b", "B.")]);
    let (agent, model) = manager(team.description("Works.").build().unwrap());
    let (events, end) = events_of(Runner::new(agent).run("Ask.")).await;
    assert_eq!(result(&model), "B.");
    let children = end.usage.children;
    assert_eq!((children.runs, children.rounds, children.calls, children.tokens), (1, 4, 2, 100));
    let below: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            AgentEventKind::Child { event, .. } => Some(event),
            _ => None,
        })
        .collect();
    assert!(below.iter().all(|event| !matches!(event.kind, AgentEventKind::Child { .. })));
    let names: std::collections::BTreeSet<_> = below.iter().map(|event| &*event.agent).collect();
    assert_eq!(names, ["a", "b", "team"].into());

    let panel = Agent::parallel("team", [speaker("a", "A."), speaker("b", "B.")]).build().unwrap();
    let (agent, model) = manager(panel);
    end_of(agent).await;
    assert_eq!(result(&model), "a:\nA.\n\nb:\nB.");

    let drafts = agent_of_drafts();
    let (agent, model) = manager(drafts);
    end_of(agent).await;
    assert_eq!(result(&model), "Draft.");
}

fn agent_of_drafts() -> Agent {
    Agent::repeat("team", [speaker("a", "Draft."), agent("b", [exit()])], 3).build().unwrap()
}

#[tokio::test]
async fn runs_below_the_calls_of_members_count_for_their_member_and_for_the_run() {
    let asking = |name: &str, tool: &str, limits: Limits| {
        let helper = agent(tool, [Reply::text("H.").with_usage(usage())]);
        let tools = Registry::builder().add(AgentTool::new(helper).unwrap()).build().unwrap();
        let call = Reply::call(tool, json!({ "request": "Help." })).with_usage(usage());
        let model = ScriptedModel::new([call, Reply::text(name).with_usage(usage())]);
        Agent::builder(name, model).tools(tools).limits(limits).build().unwrap()
    };
    // One of them uses 150 tokens: 100 of its own, and 50 below its call.
    let limits = || Limits { tokens: Some(120), ..Limits::default() };
    for kind in ["sequence", "parallel"] {
        let members = [asking("a", "helper_a", limits()), asking("b", "helper_b", limits())];
        let team = match kind {
            "sequence" => Agent::sequence("team", members),
            _ => Agent::parallel("team", members),
        };
        let (events, end) = events_of(Runner::new(team.build().unwrap()).run("Go.")).await;
        assert!(end.reason.is_success(), "{kind}: {end}");
        assert_eq!(
            (end.usage.tokens(), end.usage.children.runs, end.usage.children.tokens),
            (300, 2, 100),
            "{kind}"
        );
        let below = events.iter().filter(|event| matches!(event.kind, AgentEventKind::Child { .. }));
        let agents: std::collections::BTreeSet<_> = below.map(|event| &*event.agent).collect();
        assert_eq!(agents, ["a", "b"].into(), "{kind}");
    }
}

#[test]
fn a_tree_of_sixteen_levels_runs_on_a_small_stack() {
    let mut agent = speaker("leaf", "Deep.");
    for level in 0..16 {
        let members = [agent, speaker(&format!("other{level}"), "Deep.")];
        agent = match level % 3 {
            0 => Agent::sequence(format!("level{level}"), members).build().unwrap(),
            1 => Agent::repeat(format!("level{level}"), members, 1).build().unwrap(),
            _ => Agent::parallel(format!("level{level}"), members).build().unwrap(),
        };
    }
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Runner::new(agent).run("Go.").end())
    };
    let end = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
    assert_eq!((end.reason.is_success(), end.usage.rounds), (true, 17));
}
