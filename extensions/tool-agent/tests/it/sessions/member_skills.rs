//! The rule of active skills over the calls of a batch that another process restores.

use tool_agent::{
    Agent, Answers, Runner, ScriptedModel,
    model::Reply,
    skills::{AgentSkills, AllowedTools, InMemorySkills, Skill},
};
use tool_runtime::prelude::*;

use super::{
    below::{Office, address, over_stores, removal, results},
    below_members::{parallel, sequence},
    world::{StoreFactory, run},
};

over_stores! {
    the_restored_batch_of_an_agent_has_the_rule_of_its_run_wherever_it_works,
}

fn skills_of(allowed: Option<&str>) -> AgentSkills {
    let skill = allowed.map(|tools| {
        let skill = Skill::new("orders", "How to do orders.", "Do orders.").unwrap();
        skill.with_allowed_tools(AllowedTools::parse(tools).unwrap())
    });
    AgentSkills::new(InMemorySkills::new(skill).unwrap())
}

/// The place of the clerk, whose skill it is.
#[derive(Debug, Clone, Copy)]
enum Team {
    Alone,
    InSequence,
    InParallel,
    InPanelOfSequence,
    InSequenceOfPanel,
}

/// Returns the runner of a process, and the model of its clerk, who works with others.
fn process(
    office: &Office,
    team: Team,
    allowed: Option<&str>,
    replies: Vec<Reply>,
    others: &[Reply],
) -> (Runner, ScriptedModel) {
    let (clerk, model) = office.leaf("clerk", replies);
    let clerk = clerk.skills(skills_of(allowed)).build().unwrap();
    let other = |name: &str| -> Agent { office.built(name, others.to_vec()) };
    let agent = match team {
        Team::Alone => clerk,
        Team::InSequence => sequence("team", [clerk, other("other")]),
        Team::InParallel => parallel("panel", [other("other"), clerk]),
        Team::InPanelOfSequence => {
            let panel = parallel("panel", [clerk, other("other")]);
            sequence("team", [panel, other("last")])
        }
        Team::InSequenceOfPanel => {
            let team = sequence("team", [clerk, other("other")]);
            parallel("panel", [team, other("last")])
        }
    };
    (office.runner_of(agent), model)
}

async fn the_restored_batch_of_an_agent_has_the_rule_of_its_run_wherever_it_works<F: StoreFactory>() {
    let teams =
        [Team::Alone, Team::InSequence, Team::InParallel, Team::InPanelOfSequence, Team::InSequenceOfPanel];
    for team in teams {
        // Of the skill with which the batch was made, the next process has another version, or none.
        for (allowed, runs) in [(Some("remove"), true), (Some("order"), false), (None, false)] {
            let office = Office::new::<F>().await;
            let load = Reply::call("skill_load", json!({ "name": "orders" }));
            let replies = vec![load, Reply::calls([removal("a.txt", "r1")])];
            let (runner, _) = process(&office, team, Some("remove"), replies, &[Reply::text("Mine.")]);
            let end = runner.run_with(run("s"), "Go.").end().await;
            assert_eq!(end.open.len(), 1, "{team:?}: {end}");
            let answers = Answers::new().approve(address(&end, 0));
            let (runner, model) =
                process(&office, team, allowed, vec![Reply::text("Done.")], &[Reply::text("Mine.")]);
            let end = runner.resume(run("s"), answers).end().await;
            assert!(end.reason.is_success(), "{team:?}: {end}");
            assert_eq!(!office.effects().is_empty(), runs, "{team:?} {allowed:?}");
            let result = &results(&model)[1];
            assert_eq!(
                result.contains("the skill `orders` is active"),
                !runs,
                "{team:?} {allowed:?}: {result}"
            );
        }
    }
}
