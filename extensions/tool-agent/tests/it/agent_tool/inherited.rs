//! The hooks and rules that a run below a call inherits, and the visibility that it does not.

use tool_agent::{RunOptions, hook};
use tool_runtime::{
    executor::RunSettings,
    hook::{Before, BeforeCall, Hook, SharedHook},
    policy::{Rule, Rules},
    toolbox::Visibility,
};

use super::*;

/// Writes the names of the calls that it sees.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Hook for Seen {
    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.0.lock().unwrap().push(call.definition().name().to_string());
        Ok(Before::Continue)
    }
}

// Q21
#[tokio::test]
async fn hooks_of_the_runner_and_plugins_of_the_executor_see_what_happens_below() {
    let (agent, _) = researcher([found(), Reply::text("717,710 people.")]);
    let tools = Registry::builder().add(AgentTool::new(agent.build().unwrap()).unwrap()).build().unwrap();
    let (plugin, own, rounds) = (Seen::default(), Seen::default(), Seen::default());
    let executor = Executor::builder(tools).plugin(plugin.clone()).hook(own.clone()).build().unwrap();
    let model = ScriptedModel::new([ask("c1"), Reply::text("Done.")]);
    let sees = rounds.clone();
    let runner = Runner::new(Agent::builder("manager", model).tools(executor).build().unwrap());
    let runner = runner.with_hook(hook::before_model(move |step| {
        sees.0.lock().unwrap().push(step.request.run.agent().unwrap_or_default().to_owned());
        async move { Ok(hook::BeforeModel::from(step)) }
    }));
    assert_eq!(runner.run("How large is Oslo?").end().await.text, "Done.");
    assert_eq!(*plugin.0.lock().unwrap(), ["researcher", "look_up"]);
    // A hook of the executor belongs to its own tools.
    assert_eq!(*own.0.lock().unwrap(), ["researcher"]);
    assert_eq!(*rounds.0.lock().unwrap(), ["manager", "researcher", "researcher", "manager"]);
}

// Q21
#[tokio::test]
async fn the_rules_of_the_settings_of_a_run_apply_below_and_its_visibility_does_not() {
    let (agent, child) = researcher([found(), Reply::text("Nothing.")]);
    let (agent, _) = manager(AgentTool::new(agent.build().unwrap()).unwrap());
    let options = RunOptions::new(RunContext::new())
        .settings(RunSettings::new().rules(Rules::new([Rule::deny("look_up")])))
        .show(Visibility::all().only(["researcher"]));
    let end = Runner::new(agent.build().unwrap()).run_with(options, "How large is Oslo?").end().await;
    assert_eq!(end.text, "Done.", "{end}");
    let requests = child.requests();
    assert!(requests[0].tools.get("look_up").is_some());
    let result = requests[1].messages[2].tool_results().next().unwrap().text().into_owned();
    assert_eq!(result, "Denied: a rule denies it: look_up");
}

// Q21
#[tokio::test]
async fn a_plugin_of_both_executors_is_called_once_for_each_call() {
    let seen = Seen::default();
    let shared = SharedHook::new(seen.clone());
    let tools = Registry::builder().tool::<look_up>().build().unwrap();
    let below = Executor::builder(tools).plugin(shared.clone()).build().unwrap();
    let child =
        Agent::builder("researcher", ScriptedModel::new([found(), Reply::text("Found.")])).tools(below);
    let tools = Registry::builder().add(AgentTool::new(child.build().unwrap()).unwrap()).build().unwrap();
    let executor = Executor::builder(tools).plugin(shared).build().unwrap();
    let model = ScriptedModel::new([ask("c1"), Reply::text("Done.")]);
    let agent = Agent::builder("manager", model).tools(executor).build().unwrap();
    assert_eq!(Runner::new(agent).run("How large is Oslo?").end().await.text, "Done.");
    assert_eq!(*seen.0.lock().unwrap(), ["researcher", "look_up"]);
}
