//! Questions inside dynamic agents, which another process answers.

use std::sync::{Arc, Mutex};

use tool_agent::{Agent, AgentBuilder, Answers, DynamicAgentTool, EndReason, ScriptedModel, model::Reply};
use tool_runtime::{
    ToolCall,
    policy::{Approval, ApprovalRequest},
    prelude::*,
};

use super::{
    open_calls::tests,
    world::{StoreFactory, World, run},
};

tests! {
    a_question_of_a_dynamic_agent_is_answered_in_another_process,
}

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(log: &Mutex<Vec<String>>, path: String) -> String {
    log.lock().unwrap().push(path.clone());
    format!("{path} is removed")
}

/// Returns a clerk whose helpers have these replies, and an approver that approves everything.
fn clerk(
    world: &World,
    log: &Arc<Mutex<Vec<String>>>,
    own: Reply,
    child: Reply,
) -> (AgentBuilder, ScriptedModel) {
    let helper = ScriptedModel::new([child]);
    let template = world.executor(Registry::default()).approver(|_: &ApprovalRequest| Approval::Approved);
    let template =
        Agent::builder("helper", helper.clone()).instruction("Help.").tools(template.build().unwrap());
    let tool = DynamicAgentTool::builder(template.build().unwrap()).build().unwrap();
    let tools =
        Registry::builder().tool::<remove>().provide_shared(Arc::clone(log)).add(tool).build().unwrap();
    let executor = world.executor(tools).build().unwrap();
    (Agent::builder("clerk", ScriptedModel::new([own])).tools(executor), helper)
}

async fn a_question_of_a_dynamic_agent_is_answered_in_another_process<F: StoreFactory>() {
    let (world, log) = (World::new::<F>().await, Arc::default());
    let request = json!({
        "request": "Remove it.", "instruction": "Be brief.", "tools": ["remove", "shell"],
    });
    let start = Reply::calls([ToolCall::new("dynamic_agent", request).with_id("c1")]);
    let removal = Reply::calls([ToolCall::new("remove", json!({ "path": "a.txt" })).with_id("r1")]);
    let (agent, _) = clerk(&world, &log, start, removal);
    let end = world.runner_of(agent).run_with(run("s"), "Clean up.").end().await;
    // The approver of the template does not answer what is asked of a person above.
    assert_eq!(end.reason, EndReason::OpenCalls, "{end}");
    assert!(log.lock().unwrap().is_empty());

    let (agent, helper) = clerk(&world, &log, Reply::text("Done."), Reply::text("It is gone."));
    let answers = Answers::new().approve(end.open[0].address().unwrap());
    let runner = world.runner_of(agent);
    let end = runner.resume(run("s"), answers).end().await;
    assert_eq!((&end.reason, end.text.as_str()), (&EndReason::Answered, "Done."), "{end}");
    assert_eq!(*log.lock().unwrap(), ["a.txt"]);
    // It goes on with its own tools and instruction.
    let requests = helper.requests();
    assert_eq!(&*requests[0].instruction, "Help.\n\nBe brief.");
    assert!(requests[0].tools.get("remove").is_some() && requests[0].tools.len() == 1);
    let history = runner.history(&run("s")).await;
    let result = history[2].tool_results().next().unwrap().text().into_owned();
    assert_eq!(result, "Warning: the agent had no tools `shell`, which are unknown.\nIt is gone.");
}
