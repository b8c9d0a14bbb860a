//! Agents that reach themselves. An agent does not change, so a cycle goes through what is filled after the agent was built, or chosen when it is
//! called: a toolbox, a set, a value that a body takes, a boundary, the options of a run. The depth limit ends each of them.

use std::sync::OnceLock;

use tool_agent::{
    AgentHook, DynamicAgentTool, End, Message, Part, RunOptions, Step, SubAgentTool, model::Response,
};
use tool_runtime::{
    BoxFuture, Tool, Toolbox,
    context::{Budget, ReadonlyContext},
    toolbox::RunTools,
    toolset::ToolSet,
};

use super::{stack::STACK_BYTES, *};

/// The number of levels below a run, by default.
const MAX_DEPTH: u64 = 16;

/// A model that calls a tool first, and answers with its result.
struct Descends(&'static str);

impl AgentHook for Descends {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        tokio::task::yield_now().await;
        let result = step.request.messages.last().and_then(|it| it.tool_results().next());
        let part = match result {
            Some(result) => Part::Text(result.text().into_owned()),
            None => Part::Call(ToolCall::new(self.0, json!({ "request": "Go on." }))),
        };
        Ok(Some(Response::new(Message::assistant([part]))))
    }
}

/// An agent that calls `tool`, and answers with its result.
fn descending(name: &'static str, tool: &'static str) -> AgentBuilder {
    Agent::builder(name, ScriptedModel::new([])).hook(Descends(tool))
}

fn agent_tool(agent: &Agent) -> AgentTool {
    AgentTool::new(agent.clone()).unwrap()
}

/// Runs the agent on the stack of a thread of the runtime.
fn run_on_small_stack(agent: Agent, options: impl FnOnce() -> RunOptions + Send + 'static) -> End {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Runner::new(agent).run_with(options(), "Go on.").end())
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap()
}

/// Checks that a run of the agent goes down to the depth limit, whose error is the answer of all levels.
fn assert_ends_at_limit(case: &str, agent: Agent) {
    let end = run_on_small_stack(agent, || RunContext::new().into());
    assert!(end.reason.is_success(), "{case}: {end}");
    assert_eq!(end.usage.children.runs, MAX_DEPTH, "{case}");
    assert!(end.text.contains("would be on level 17, and 16 are allowed"), "{case}: {}", end.text);
}

#[test]
fn an_agent_in_its_own_toolbox_ends_at_the_depth_limit() {
    let toolbox = Toolbox::new();
    let agent = descending("own", "own").tools(toolbox.clone()).build().unwrap();
    toolbox.add(agent_tool(&agent)).unwrap();
    assert_ends_at_limit("itself", agent);

    let toolbox = Toolbox::new();
    let one = descending("one", "two").tools(toolbox.clone()).build().unwrap();
    let tools = Registry::builder().add(agent_tool(&one)).build().unwrap();
    let two = descending("two", "one").tools(tools).build().unwrap();
    toolbox.add(agent_tool(&two)).unwrap();
    assert_ends_at_limit("each other", one);

    let toolbox = Toolbox::new();
    let member = descending("member", "team").tools(toolbox.clone()).build().unwrap();
    for (case, team) in [
        ("sequence", Agent::sequence("team", [member.clone()])),
        ("loop", Agent::repeat("team", [member.clone()], 1)),
        ("parallel", Agent::parallel("team", [member])),
    ] {
        let team = team.build().unwrap();
        toolbox.remove("team");
        toolbox.add(agent_tool(&team)).unwrap();
        assert_ends_at_limit(case, team);
    }
}

/// Lists an agent that is set later.
#[derive(Default)]
struct LateSet(OnceLock<AgentTool>);

impl ToolSet for LateSet {
    fn name(&self) -> &str {
        "late"
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        let tools = self.0.get().map(|tool| Arc::new(tool.clone()) as _);
        Box::pin(async { Ok(tools.into_iter().collect()) })
    }
}

#[test]
fn an_agent_in_a_set_of_its_own_ends_at_the_depth_limit() {
    let (toolbox, set) = (Toolbox::new(), Arc::new(LateSet::default()));
    toolbox.add_toolset(Arc::clone(&set)).unwrap();
    let agent = descending("own", "own").tools(toolbox).build().unwrap();
    set.0.set(agent_tool(&agent)).unwrap();
    assert_ends_at_limit("set", agent);
}

/// Asks the agent that is set later.
#[tool(register = false)]
async fn delegate(
    cx: &ToolContext,
    request: String,
    late: &OnceLock<AgentTool>,
) -> Result<ToolOutput, ToolError> {
    late.get().unwrap().run_below(cx, request, None).await
}

#[test]
fn an_agent_in_a_body_of_its_own_ends_at_the_depth_limit() {
    let late = Arc::new(OnceLock::new());
    let tools = Registry::builder().tool::<delegate>().provide_shared(Arc::clone(&late)).build().unwrap();
    let agent = descending("own", "delegate").tools(tools).build().unwrap();
    late.set(agent_tool(&agent)).unwrap();
    assert_ends_at_limit("body", agent);
}

#[test]
fn dynamic_agents_whose_boundaries_have_each_other_end_at_the_depth_limit() {
    let (boundary, toolbox) = (Arc::new(OnceLock::<Registry>::new()), Toolbox::new());
    let dynamic = |name: &'static str, other: &'static str| {
        let (boundary, template) = (Arc::clone(&boundary), descending(name, other).build().unwrap());
        let tools = move |_| std::future::ready(Ok(boundary.get().unwrap().clone()));
        DynamicAgentTool::builder(template).name(name).boundary_fn(tools).build().unwrap()
    };
    let (one, two) = (dynamic("one", "two"), dynamic("two", "one"));
    boundary.set(Registry::builder().add(one.clone()).add(two.clone()).build().unwrap()).unwrap();
    toolbox.add(one.clone()).unwrap();
    assert_ends_at_limit("each other", descending("root", "one").tools(toolbox.clone()).build().unwrap());

    // Never itself, under the name of its call.
    let template = descending("own", "own").build().unwrap();
    let own = Arc::new(OnceLock::<Registry>::new());
    let tools = Arc::clone(&own);
    let tools = move |_| std::future::ready(Ok(tools.get().unwrap().clone()));
    let tool = DynamicAgentTool::builder(template).name("own").boundary_fn(tools).build().unwrap();
    own.set(Registry::builder().add(tool.clone()).build().unwrap()).unwrap();
    let tools = Registry::builder().add(tool).build().unwrap();
    let root = descending("root", "own").tools(tools).build().unwrap();
    let end = run_on_small_stack(root, || RunContext::new().into());
    assert_eq!((end.text.as_str(), end.usage.children.runs), ("Tool not found: own", 1));

    // Of the tools of the run, each level has one less.
    let tool = |name: &'static str, other: &'static str| {
        DynamicAgentTool::builder(descending(name, other).build().unwrap()).name(name).build().unwrap()
    };
    let tools = Registry::builder().add(tool("one", "two")).add(tool("two", "one")).build().unwrap();
    let root = descending("root", "one").tools(tools).build().unwrap();
    let end = run_on_small_stack(root, || RunContext::new().into());
    assert_eq!((end.text.as_str(), end.usage.children.runs), ("Tool not found: one", 2));
}

#[test]
fn an_agent_among_the_additional_tools_of_its_run_does_not_have_itself_below() {
    let agent = descending("own", "own").build().unwrap();
    let tool: Arc<dyn Tool> = Arc::new(agent_tool(&agent));
    let options = || RunOptions::new(RunContext::new()).tools(RunTools::new().additional([tool]));
    let end = run_on_small_stack(agent, options);
    assert_eq!((end.text.as_str(), end.usage.children.runs), ("Tool not found: own", 1));
}

#[test]
fn a_sub_agent_in_its_own_toolbox_refuses_the_call() {
    /// Calls itself, with its own argument.
    fn calls_itself() -> ScriptedModel {
        ScriptedModel::new([Reply::call("own", json!({ "task": "Go on." })), Reply::text("Alone.")])
    }
    let (toolbox, model) = (Toolbox::new(), calls_itself());
    let own = SubAgentTool::builder("own", model.clone()).tools(toolbox.clone()).build().unwrap();
    toolbox.add(own).unwrap();
    let root = Agent::builder("root", calls_itself()).tools(toolbox).build().unwrap();
    let end = run_on_small_stack(root, || RunContext::new().into());
    assert_eq!((end.text.as_str(), end.usage.children.runs), ("Alone.", 1));
    let result = model.requests()[1].messages[2].tool_results().next().unwrap().text().into_owned();
    assert!(result.contains("a sub-agent may not call another one"), "{result}");
}

/// A hook that runs an agent with this hook, below the run of its step.
struct AsksItself(Arc<OnceLock<Agent>>);

impl AgentHook for AsksItself {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        let run = step.request.run.child("own");
        let end = Box::pin(Runner::new(self.0.get().unwrap().clone()).run_with(run, "Go on.").end()).await;
        let text = if end.text.is_empty() { end.to_string() } else { end.text };
        Ok(Some(Response::new(Message::assistant([Part::Text(text)]))))
    }
}

#[test]
fn a_hook_that_runs_its_own_agent_ends_at_the_depth_limit() {
    let own = Arc::default();
    let agent = Agent::builder("own", ScriptedModel::new([])).hook(AsksItself(Arc::clone(&own)));
    let agent = agent.build().unwrap();
    own.set(agent.clone()).unwrap();
    let end = run_on_small_stack(agent, || RunContext::new().into());
    assert!(end.text.contains("would be on level 17, and 16 are allowed"), "{end}");
}

/// A model that never stops calling itself, each time for another reason.
struct NeverStops;

impl AgentHook for NeverStops {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        let request = format!("Go on to {}.", step.number);
        let calls = [1, 2].map(|_| Part::Call(ToolCall::new("own", json!({ "request": request }))));
        Ok(Some(Response::new(Message::assistant(calls))))
    }
}

#[test]
fn a_budget_bounds_the_tree_of_an_agent_that_never_stops_calling_itself() {
    let toolbox = Toolbox::new();
    let agent = Agent::builder("own", ScriptedModel::new([])).hook(NeverStops).tools(toolbox.clone());
    let agent = agent.build().unwrap();
    toolbox.add(agent_tool(&agent)).unwrap();
    let budget = Budget { rounds: Some(100), ..Budget::default() };
    let end = run_on_small_stack(agent, move || RunContext::new().with_budget(budget).into());
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Budget, .. }), "{end}");
    assert_eq!(end.usage.rounds + end.usage.children.rounds, 100);
}
