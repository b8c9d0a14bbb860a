//! Parts of agents.

use std::sync::{Arc, Mutex};

use tool_agent::{Agent, AgentError, AgentPart, Runner, ScriptedModel, hook, model::Reply};
use tool_runtime::{
    Executor, Toolbox,
    dialect::Usage,
    policy::{Rule, Rules},
    prelude::*,
};

/// Rolls a die.
#[tool(register = false)]
fn roll() -> u8 {
    4
}

/// Tosses a coin.
#[tool(register = false)]
fn toss() -> &'static str {
    "heads"
}

struct Table(&'static str);

/// Names the table.
#[tool(register = false)]
fn table(table: &Table) -> &'static str {
    table.0
}

fn dice() -> AgentPart {
    AgentPart::new("dice").tools(Registry::builder().tool::<roll>()).instruction("Roll.")
}

fn call(tool: &str) -> [Reply; 2] {
    [Reply::call(tool, json!({})), Reply::text("Done.")]
}

/// Runs an agent that calls a tool; returns the result of the call.
async fn result_of(agent: Agent, model: &ScriptedModel) -> String {
    Runner::new(agent).run("Go.").answer().await.unwrap();
    let requests = model.requests();
    let message = requests[requests.len() - 1].messages.last().unwrap();
    message.tool_results().next().unwrap().text().into_owned()
}

#[tokio::test]
async fn instructions_follow_the_one_of_the_agent_and_hooks_keep_their_order() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let noted = |name: &'static str| {
        let order = Arc::clone(&order);
        hook::before_model(move |step| {
            order.lock().unwrap().push(name);
            async move { Ok(step.into()) }
        })
    };
    let model = ScriptedModel::new([Reply::text("Done.")]);
    let blank = AgentPart::new("blank").hook(noted("third")).instruction(" \n");
    let agent = Agent::builder("player", model.clone())
        .hook(noted("first"))
        .with(dice().hook(noted("second")))
        .with(blank)
        .hook(noted("fourth"))
        // After the parts, also for what is set later.
        .instruction_fn(|run| async move { Ok(format!("You are {}.", run.agent().unwrap_or_default())) })
        .build()
        .unwrap();
    Runner::new(agent).run("Go.").answer().await.unwrap();
    assert_eq!(&*model.requests()[0].instruction, "You are player.\n\nRoll."); // S16
    assert_eq!(*order.lock().unwrap(), ["first", "second", "third", "fourth"]); // S16
}

#[tokio::test]
async fn the_tools_of_a_part_are_in_each_snapshot_of_a_toolbox() {
    let toolbox = Toolbox::from_registry(&Registry::builder().tool::<toss>().build().unwrap());
    let model = ScriptedModel::new([call("roll"), call("toss")].into_iter().flatten());
    let agent = Agent::builder("player", model.clone()).tools(toolbox.clone()).with(dice()).build().unwrap();
    assert_eq!(result_of(agent.clone(), &model).await, "4"); // S16
    toolbox.remove("toss");
    assert!(result_of(agent, &model).await.starts_with("Tool not found: toss"));
    assert_eq!(model.requests()[2].tools.len(), 1);
    assert_eq!(model.requests()[0].tools.len(), 2);
}

#[tokio::test]
async fn rules_of_the_executor_hold_for_the_tools_of_a_part() {
    let rules = Rules::new([Rule::deny("roll").reason("no dice here")]);
    let executor =
        Executor::builder(Registry::builder().tool::<toss>().build().unwrap()).rules(rules).build().unwrap();
    let model = ScriptedModel::new(call("roll"));
    let agent = Agent::builder("player", model.clone()).tools(executor).with(dice()).build().unwrap();
    assert_eq!(result_of(agent, &model).await, "Denied: no dice here");
}

#[tokio::test]
async fn a_name_that_is_taken_and_a_value_that_is_missing_are_errors_of_the_part() {
    let own = Registry::builder().tool::<roll>().build().unwrap();
    // The same function, and not the same definition: another registry compiled it.
    let builder = |model| Agent::builder("player", model).with(dice());
    let error = builder(ScriptedModel::new([])).tools(own).build().unwrap_err();
    assert!(matches!(&error, AgentError::InvalidPart { part, .. } if part == "dice"), "{error}"); // S16
    assert!(error.to_string().contains("`roll`"), "{error}"); // S16

    let tables = || AgentPart::new("tables").tools(Registry::builder().tool::<table>());
    let error = Agent::builder("player", ScriptedModel::new([])).with(tables()).build().unwrap_err();
    assert!(error.to_string().contains("Table"), "{error}");
    let model = ScriptedModel::new(call("table"));
    let tools = Registry::builder().provide(Table("round")).build().unwrap();
    let agent = Agent::builder("player", model.clone()).with(tables()).tools(tools).build().unwrap();
    assert_eq!(result_of(agent, &model).await, "round");
}

#[tokio::test]
async fn hooks_see_the_usage_of_the_run_so_far() {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (Some(40), Some(10));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (before, after, end) = (Arc::clone(&seen), Arc::clone(&seen), Arc::clone(&seen));
    let part = dice()
        .hook(hook::before_model(move |step| {
            let usage = *step.usage();
            before.lock().unwrap().push(("before", usage.calls, usage.tokens()));
            async move { Ok(step.into()) }
        }))
        .hook(hook::after_step(move |step| {
            let usage = *step.usage();
            after.lock().unwrap().push(("after", usage.calls, usage.tokens()));
            async move { Ok(std::ops::ControlFlow::Continue(())) }
        }))
        .hook(hook::before_end(move |step| {
            let usage = *step.usage();
            end.lock().unwrap().push(("end", usage.calls, usage.tokens()));
            async move { Ok(None) }
        }));
    let model = ScriptedModel::new(call("roll").map(|reply| reply.with_usage(usage)));
    let agent = Agent::builder("player", model).with(part).build().unwrap();
    Runner::new(agent).run("Go.").answer().await.unwrap();
    let expected = [("before", 0, 0), ("after", 1, 50), ("before", 1, 50), ("end", 1, 100)];
    assert_eq!(*seen.lock().unwrap(), expected); // T09
}
