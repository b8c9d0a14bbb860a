//! One list for each branch, and the name of its state.

use tool_agent::{Agent, AgentTool, ChildState, Runner, ScriptedModel};
use tool_builtins::todo::TodoEnforcer;
use tool_runtime::context::StateScope;

use super::*;

/// Runs a coder that writes a list and asks an explorer, whose agent is the second argument, `times` times; returns the state at the end.
async fn explored(explorer: AgentTool, times: usize) -> Value {
    let ask = || Reply::call("explorer", json!({ "request": "Look." }));
    let script = [write(&[("plan", "pending")])].into_iter().chain((0..times).map(|_| ask()));
    let model = ScriptedModel::new(script.chain([Reply::text("Done.")]));
    let tools = Registry::builder().add(explorer).build().unwrap();
    let agent = Agent::builder("coder", model).tools(tools).with(TodoTools::new()).build().unwrap();
    let mut stream = Runner::new(agent).run("Explore.");
    while stream.next().await.is_some() {}
    json!(*stream.run().state())
}

#[tokio::test]
async fn a_parent_and_the_agent_of_its_tool_have_a_list_each() {
    let shared = ChildState::Shared(["other".to_owned()].into());
    for state in [ChildState::None, ChildState::Copy, shared] {
        let model = ScriptedModel::new([
            write(&[("look", "pending")]),
            Reply::text("First."),
            write(&[("look", "in_progress")]),
            Reply::text("Second."),
        ]);
        let agent = Agent::builder("explorer", model.clone()).with(TodoTools::new()).build().unwrap();
        let state = explored(AgentTool::new(agent).unwrap().state(state), 2).await;
        let expected = json!({
            "todos:coder": list(&[("plan", "pending")]),
            "todos:explorer": list(&[("look", "in_progress")]),
        });
        assert_eq!(state, expected); // S08
        // The second call begins with the list of the first.
        let requests = model.requests();
        let result = requests[3].messages.last().unwrap().tool_results().next().unwrap().text().into_owned();
        let result: Value = tool_runtime::serde_json::from_str(&result).unwrap();
        assert_eq!(result["oldTodos"], list(&[("look", "pending")])); // S07 S08
    }
}

#[tokio::test]
async fn an_agent_below_one_of_its_name_has_a_list_of_its_own_that_ends_with_its_run() {
    for state in [ChildState::None, ChildState::Shared(["other".to_owned()].into())] {
        let below = ScriptedModel::new([write(&[("look", "pending")]), Reply::text("Looked.")]);
        let agent = Agent::builder("coder", below.clone()).with(TodoTools::new()).build().unwrap();
        let tool = AgentTool::new(agent).unwrap().state(state);
        let ask = Reply::call("coder", json!({ "request": "Look." }));
        let model = ScriptedModel::new([write(&[("plan", "pending")]), ask, Reply::text("Done.")]);
        let tools = Registry::builder().add(tool).build().unwrap();
        let agent = Agent::builder("coder", model.clone()).tools(tools).with(TodoTools::new());
        let mut stream = Runner::new(agent.build().unwrap()).run("Explore.");
        while stream.next().await.is_some() {}
        assert_eq!(json!(*stream.run().state()), json!({ "todos:coder": list(&[("plan", "pending")]) }));
        let text = |model: &ScriptedModel, at: usize| {
            let requests = model.requests();
            requests[at].messages.last().unwrap().tool_results().next().unwrap().text().into_owned()
        };
        assert!(!text(&below, 1).contains("oldTodos"), "{}", text(&below, 1));
        assert_eq!(text(&model, 2), "Looked.");
    }
}

/// Writes into the list of another agent.
#[tool(register = false)]
fn meddle(cx: &ToolContext) -> Result<&'static str, ToolError> {
    cx.state().set("todos:coder", json!([]))?;
    Ok("changed")
}

#[tokio::test]
async fn a_child_run_changes_no_list_that_it_was_not_given() {
    let child = |state| {
        let model = ScriptedModel::new([Reply::call("meddle", json!({})), Reply::text("Done.")]);
        let tools = Registry::builder().tool::<meddle>().build().unwrap();
        let agent = Agent::builder("explorer", model).tools(tools).with(TodoTools::new()).build().unwrap();
        AgentTool::new(agent).unwrap().state(state)
    };
    let unchanged = json!({ "todos:coder": list(&[("plan", "pending")]) });
    let shared = ChildState::Shared(["todos:explorer".to_owned()].into());
    for state in [ChildState::None, ChildState::Copy, shared] {
        assert_eq!(explored(child(state), 1).await, unchanged); // S08
    }
    // A child without the part has no list that lasts.
    let model = ScriptedModel::new([write(&[("look", "pending")]), Reply::text("Done.")]);
    let tools = Registry::builder().toolset(TodoTools::new()).build().unwrap();
    let agent = Agent::builder("explorer", model).tools(tools).build().unwrap();
    assert_eq!(explored(AgentTool::new(agent).unwrap(), 1).await, unchanged); // S08
}

#[tokio::test]
async fn an_agent_below_an_agent_has_a_list_that_ends_where_no_one_keeps_it() {
    let deep = || {
        let model = ScriptedModel::new([write(&[("dig", "pending")]), Reply::text("Dug.")]);
        let agent = Agent::builder("digger", model).with(TodoTools::new()).build().unwrap();
        Registry::builder().add(AgentTool::new(agent).unwrap()).build().unwrap()
    };
    let middle = || {
        let model =
            ScriptedModel::new([Reply::call("digger", json!({ "request": "Dig." })), Reply::text("Looked.")]);
        Agent::builder("explorer", model).tools(deep())
    };
    let own = list(&[("plan", "pending")]);
    let shared = || ChildState::Shared(["other".to_owned()].into());
    let kept = AgentTool::new(middle().with(TodoTools::new()).build().unwrap()).unwrap().state(shared());
    let expected = json!({ "todos:coder": own, "todos:explorer.digger": list(&[("dig", "pending")]) });
    assert_eq!(explored(kept, 1).await, expected); // S08
    let ended = AgentTool::new(middle().build().unwrap()).unwrap().state(shared());
    assert_eq!(explored(ended, 1).await, json!({ "todos:coder": own })); // S08
}

#[tokio::test]
async fn the_branch_is_the_one_of_the_run_or_the_name_of_its_agent_or_none() {
    let mut world = World::new(TodoTools::new());
    world.write(&[("by agent", "pending")]).await.unwrap();
    let state = world.run.state();
    world.run = Arc::new(
        RunContext::new().with_agent("coder").with_branch("main.coder").with_state((*state).clone()),
    );
    world.write(&[("by branch", "pending")]).await.unwrap();
    let state = world.run.state();
    world.run = Arc::new(RunContext::new().with_state((*state).clone()));
    world.write(&[("on top", "pending")]).await.unwrap();
    let state = world.run.state();
    let read = |branch: &str| world.todos.read_values(&state, branch).unwrap().unwrap()[0].content.clone();
    assert_eq!((&*read("coder"), &*read("main.coder"), &*read("")), ("by agent", "by branch", "on top")); // S08
    assert_eq!(world.todos.read(&State::new((*state).clone()), "").unwrap().unwrap()[0].content, "on top"); // S08
}

#[tokio::test]
async fn the_name_of_the_state_is_chosen_and_a_blank_one_is_ignored() {
    let world = World::new(TodoTools::new().with_key("temp:plan"));
    world.write(&[("a", "pending")]).await.unwrap();
    let state = world.run.state();
    assert_eq!(TodoTools::new().read_values(&state, "coder").unwrap(), None); // S13
    assert_eq!(
        TodoTools::new().with_key("temp:plan").read_values(&state, "coder").unwrap().unwrap().len(),
        1
    ); // S13
    let names: Vec<_> = state.keys().map(String::as_str).collect();
    assert_eq!(names, ["temp:plan:coder"]); // S13
    assert_eq!(StateScope::of(names[0]), StateScope::Temp); // S13
    for blank in ["", "  ", "\n"] {
        let world = World::new(TodoTools::new().with_key(blank));
        world.write(&[("a", "pending")]).await.unwrap();
        assert!(world.run.state().contains_key("todos:coder")); // S13
    }
}

#[tokio::test]
async fn members_of_a_group_have_a_list_each_also_below_a_call() {
    let member = |name: &str, task: &str| {
        let script = [write(&[(task, "pending")]), Reply::text("Hm."), Reply::text("Hm.")];
        let model = ScriptedModel::new(script);
        let enforcer = TodoEnforcer::new().max_reminders(1);
        (Agent::builder(name.to_owned(), model.clone()).with(enforcer).build().unwrap(), model)
    };
    let ((first, first_model), (second, second_model)) = (member("scout", "look"), member("digger", "dig"));
    let group = Agent::sequence("explorer", [first, second]).build().unwrap();
    let state = explored(AgentTool::new(group).unwrap(), 1).await;
    let expected = json!({
        "todos:coder": list(&[("plan", "pending")]),
        "todos:explorer.scout": list(&[("look", "pending")]),
        "todos:explorer.digger": list(&[("dig", "pending")]),
    });
    assert_eq!(state, expected); // S08
    assert_eq!((first_model.requests().len(), second_model.requests().len()), (3, 3)); // S18
}
