//! Mistakes in a tree of agents.

use tool_agent::{Agent, AgentBuilder, AgentError, ScriptedModel};
use tool_runtime::prelude::*;

fn builder(name: &'static str) -> AgentBuilder {
    Agent::builder(name, ScriptedModel::new([]))
}

fn problem(agent: AgentBuilder) -> String {
    match agent.build() {
        Err(error @ AgentError::InvalidSubAgent { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn with_tool(agent: AgentBuilder, name: &'static str) -> AgentBuilder {
    agent.tools(Registry::builder().add(super::tool_named(name)).build().unwrap())
}

#[test]
fn agents_of_one_tree_have_different_names() {
    let leaf = || builder("leaf").build().unwrap();
    let twins = problem(builder("root").sub_agent(leaf()).sub_agent(leaf()));
    assert!(twins.contains("two agents below `root` have the name `leaf`"), "{twins}");
    let deep = builder("middle").sub_agent(leaf()).build().unwrap();
    let cousins = problem(builder("root").sub_agent(deep.clone()).sub_agent(leaf()));
    assert!(cousins.contains("two agents below `root` have the name `leaf`"), "{cousins}");
    let own = problem(builder("leaf").sub_agent(deep));
    assert!(own.contains("`leaf` is the name of an agent below it, too; give each agent"), "{own}");
    assert!(problem(builder("leaf").sub_agent(leaf())).contains("`leaf` is the name of an agent below it"));
}

#[test]
fn no_tool_has_the_name_of_a_sub_agent_or_of_a_tool_that_the_agent_receives() {
    let leaf = || builder("leaf").build().unwrap();
    let namesake = problem(with_tool(builder("root"), "leaf").sub_agent(leaf()));
    assert!(namesake.contains("a tool and a sub-agent with the name `leaf`"), "{namesake}");
    let above = problem(with_tool(builder("root"), "transfer_to_agent").sub_agent(leaf()));
    assert!(above.contains("`root` has a tool `transfer_to_agent`"), "{above}");
    let below = with_tool(builder("leaf"), "transfer_to_agent").build().unwrap();
    let below = problem(builder("root").sub_agent(below));
    assert!(below.contains("`leaf` has a tool `transfer_to_agent`"), "{below}");
    let awaiting = problem(with_tool(builder("root"), "await_user_reply").await_user_reply(true));
    assert!(awaiting.contains("`root` has a tool `await_user_reply`"), "{awaiting}");
    // Without the tools of this crate, the names are the program's.
    with_tool(builder("root"), "transfer_to_agent").build().unwrap();
    with_tool(builder("root"), "await_user_reply").sub_agent(leaf()).build().unwrap();
}

#[test]
fn teams_neither_take_over_nor_have_members_that_transfer() {
    let leaf = || builder("leaf").build().unwrap();
    let team = Agent::sequence("team", [leaf()]).build().unwrap();
    let taking_over = problem(builder("root").sub_agent(team));
    assert!(taking_over.contains("`team` is a team of agents"), "{taking_over}");
    let desk = builder("desk").sub_agent(leaf()).build().unwrap();
    match Agent::sequence("team", [desk]).build() {
        Err(error @ AgentError::InvalidSubAgent { .. }) => {
            assert!(error.to_string().contains("the member `desk` of `team` has sub-agents"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
