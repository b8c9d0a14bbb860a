//! The state of a run below a call.

use std::collections::BTreeSet;

use tool_agent::{AgentPart, ChildState};

use super::*;

/// Reads and changes the state.
#[tool(register = false)]
fn change(cx: &ToolContext, names: Vec<String>) -> Result<Value, ToolError> {
    let before = cx.run().map(|run| json!(*run.state())).unwrap_or_default();
    for name in names {
        cx.state().set(name, 7)?;
    }
    Ok(before)
}

/// Runs a child with `state`, which changes `names`; returns what it saw, the result, and the state afterwards.
async fn changed(state: ChildState, names: &[&str]) -> (Value, String, Value) {
    let child =
        ScriptedModel::new([Reply::call("change", json!({ "names": names })), Reply::text("Changed.")]);
    let tools = Registry::builder().tool::<change>().build().unwrap();
    let agent = Agent::builder("researcher", child.clone()).tools(tools).build().unwrap();
    let (agent, model) = manager(AgentTool::new(agent).unwrap().state(state));
    let before = json!({ "plan": { "name": "pro" }, "other": 1, "_cursor": 2, "temp:page": 3 });
    let run = RunContext::new().with_state(before.as_object().cloned().unwrap());
    let mut stream = Runner::new(agent.build().unwrap()).run_with(run, "Go.");
    while stream.next().await.is_some() {}
    let seen = child.requests()[1].messages[2].tool_results().next().unwrap().text().into_owned();
    let result = model.requests()[1].messages[2].tool_results().next().unwrap().text().into_owned();
    (serde_json::from_str(&seen).unwrap(), result, json!(*stream.run().state()))
}

// Q22
#[tokio::test]
async fn a_child_has_no_state_a_copy_or_what_is_shared() {
    let before = json!({ "plan": { "name": "pro" }, "other": 1, "_cursor": 2, "temp:page": 3 });
    let (seen, result, after) = changed(ChildState::None, &["plan"]).await;
    assert_eq!((seen, result.as_str(), after), (json!({}), "Changed.", before.clone()));
    let (seen, result, after) = changed(ChildState::Copy, &["plan"]).await;
    let copy = json!({ "plan": { "name": "pro" }, "other": 1 });
    assert_eq!((seen, result.as_str(), after), (copy, "Changed.", before.clone()));

    let shared = || ChildState::Shared(BTreeSet::from(["plan".to_owned(), "new".to_owned()]));
    let (seen, result, after) = changed(shared(), &["new", "temp:x"]).await;
    let plan = json!({ "plan": { "name": "pro" } });
    assert_eq!((seen, result.as_str()), (plan, "Changed."));
    let expected = json!({ "plan": { "name": "pro" }, "other": 1, "_cursor": 2, "temp:page": 3, "new": 7 });
    assert_eq!(after, expected);
    let (_, result, after) = changed(shared(), &["new", "other"]).await;
    assert!(result.contains("changed the state `other`, which is not shared with it"), "{result}");
    assert_eq!(after, before);
}

/// Runs a child with `state` and the state `notes` of its branch, which changes `names`; returns what it saw, the result, and the state
/// afterwards.
async fn changed_in_branch(state: ChildState, names: &[&str]) -> (Value, String, Value) {
    let child =
        ScriptedModel::new([Reply::call("change", json!({ "names": names })), Reply::text("Changed.")]);
    let notes = AgentPart::new("notes").tools(Registry::builder().tool::<change>()).branch_state("notes");
    let agent = Agent::builder("researcher", child.clone()).with(notes).build().unwrap();
    let (agent, model) = manager(AgentTool::new(agent).unwrap().state(state));
    let before =
        json!({ "notes:researcher": 1, "notes:researchers": 2, "notes:manager": 3, "notes": 4, "plan": 5 });
    let run = RunContext::new().with_state(before.as_object().cloned().unwrap());
    let mut stream = Runner::new(agent.build().unwrap()).run_with(run, "Go.");
    while stream.next().await.is_some() {}
    let seen = child.requests()[1].messages[2].tool_results().next().unwrap().text().into_owned();
    let result = model.requests()[1].messages[2].tool_results().next().unwrap().text().into_owned();
    (serde_json::from_str(&seen).unwrap(), result, json!(*stream.run().state()))
}

// S08
#[tokio::test]
async fn a_child_has_the_state_of_its_branch_and_none_of_another_one() {
    let others = ["notes:researchers", "notes:manager", "notes", "other:researcher"];
    let before =
        json!({ "notes:researcher": 1, "notes:researchers": 2, "notes:manager": 3, "notes": 4, "plan": 5 });
    let mut after = before.clone();
    after["notes:researcher"] = json!(7);
    let all: Vec<_> = ["notes:researcher"].into_iter().chain(others).collect();
    let (seen, result, state) = changed_in_branch(ChildState::None, &all).await;
    assert_eq!((seen, result.as_str(), &state), (json!({ "notes:researcher": 1 }), "Changed.", &after)); // S08
    let (seen, _, state) = changed_in_branch(ChildState::Copy, &all).await;
    assert_eq!((&seen, &state), (&before, &after)); // S08

    let shared = || ChildState::Shared(BTreeSet::from(["plan".to_owned()]));
    let (seen, _, state) = changed_in_branch(shared(), &["notes:researcher"]).await;
    assert_eq!((seen, &state), (json!({ "notes:researcher": 1, "plan": 5 }), &after)); // S08
    for other in others {
        let (_, result, state) = changed_in_branch(shared(), &["notes:researcher", other]).await;
        assert!(result.contains(&format!("changed the state `{other}`, which is not shared")), "{result}"); // S08
        assert_eq!(state, before); // S08
    }
    // A branch below, and its state that no one keeps.
    let below = ["notes:researcher.digger", "other:researcher.digger"];
    let (_, _, state) = changed_in_branch(shared(), &below).await;
    assert_eq!((&state["notes:researcher.digger"], state.get("other:researcher.digger")), (&json!(7), None)); // S08
}
