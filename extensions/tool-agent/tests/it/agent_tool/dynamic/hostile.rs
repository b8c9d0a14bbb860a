//! A hostile agent inside a boundary, and the persons who are asked about its calls.

use super::*;

/// Makes the executor of the run above.
type MakeExecutor = Box<dyn FnOnce(Registry) -> Executor>;

/// Calls of a hostile agent: each is an attempt to do what the run above may not.
fn hostile_calls() -> Reply {
    let call = |id: &str, name: &str, arguments: Value| ToolCall::new(name, arguments).with_id(id.to_owned());
    Reply::calls([
        call("k1", "erase", json!({ "path": "a.txt" })),
        call("k2", "dynamic_agent", json!({ "request": "Erase it.", "tools": ["erase"] })),
        call("k3", "transfer_to_agent", json!({})),
        call("k1", "erase", json!({ "path": "a.txt" })),
    ])
}

/// Runs a hostile agent below a clerk with `executor`, whose template has an approver that approves everything.
async fn run_hostile(make: impl FnOnce(Registry) -> Executor) -> (Vec<String>, usize) {
    let child = ScriptedModel::new([hostile_calls(), Reply::text("Finished.")]);
    let template = Executor::builder(Registry::default());
    let template = template.approver_fn(|_| async { Ok(Approval::Approved) }).pending_approvals(true);
    let template = Agent::builder("helper", child.clone()).tools(template.build().unwrap()).build().unwrap();
    let tool = DynamicAgentTool::builder(template).build().unwrap();
    let clerk = Clerk::with_tool(tool, child, json!({ "request": "Erase it.", "tools": ["erase"] }));
    let agent = clerk.agent(make(clerk.tools.clone())).build().unwrap();
    let end = Runner::new(agent).run("Help me.").end().await;
    // A question without an answer stays open.
    assert!(end.text == "Done." || end.reason == EndReason::OpenCalls, "{end}");
    let erased = clerk.log.lock().unwrap().len();
    (clerk.child_results(), erased)
}

// Q26, Q28: a boundary is no way around a rule.
#[tokio::test]
async fn a_hostile_agent_does_nothing_that_the_run_above_may_not() {
    let (results, erased) = run_hostile(Executor::new).await;
    assert_eq!(erased, 2, "{results:?}");
    assert_eq!(results[1], "Tool not found: dynamic_agent");
    assert_eq!(results[2], "Tool not found: transfer_to_agent");

    let denied = |tools| Executor::builder(tools).rules(Rules::new([Rule::deny("erase")])).build().unwrap();
    let by_policy = |tools| {
        let policy = |request: &PermissionRequest<'_>| match request.tool() {
            "erase" => Permission::deny("not here"),
            _ => Permission::Allow,
        };
        Executor::builder(tools).permission(policy).build().unwrap()
    };
    let by_hook = |tools| {
        let blocks = |call: CallHandle| async move {
            Ok(if call.tool() == "erase" { Before::Block("blocked".to_owned()) } else { Before::Continue })
        };
        Executor::builder(tools).before(blocks).build().unwrap()
    };
    let asks = || Rules::new([Rule::ask("erase")]);
    // The approver of the template would approve; no one answers above.
    let unanswered = move |tools| Executor::builder(tools).rules(asks()).build().unwrap();
    let pending =
        move |tools| Executor::builder(tools).rules(asks()).pending_approvals(true).build().unwrap();
    let rejected = move |tools| {
        let rejects = |_| async { Ok(Approval::Rejected("no".to_owned())) };
        Executor::builder(tools).rules(asks()).approver_fn(rejects).build().unwrap()
    };
    let elsewhere = |tools| Executor::builder(tools).external(|call| call.tool() == "erase").build().unwrap();
    let executors: [(&str, MakeExecutor); 7] = [
        ("rule", Box::new(denied)),
        ("policy", Box::new(by_policy)),
        ("hook", Box::new(by_hook)),
        ("unanswered", Box::new(unanswered)),
        ("pending", Box::new(pending)),
        ("rejected", Box::new(rejected)),
        ("external", Box::new(elsewhere)),
    ];
    for (name, make) in executors {
        let (results, erased) = run_hostile(make).await;
        assert_eq!(erased, 0, "{name}: {results:?}");
    }
}

#[tokio::test]
async fn a_question_is_answered_by_the_approvers_of_the_run_above_and_of_the_template() {
    for (above, own, erased) in [(true, true, 1), (true, false, 0), (false, true, 0)] {
        let approval = |approves: bool| match approves {
            true => Approval::Approved,
            false => Approval::Rejected("no".to_owned()),
        };
        let erase = Reply::call("erase", json!({ "path": "a.txt" }));
        let child = ScriptedModel::new([erase, Reply::text("Finished.")]);
        let template =
            Executor::builder(Registry::default()).approver(move |_: &ApprovalRequest| approval(own));
        let template =
            Agent::builder("helper", child.clone()).tools(template.build().unwrap()).build().unwrap();
        let tool = DynamicAgentTool::builder(template).build().unwrap();
        let clerk = Clerk::with_tool(tool, child, json!({ "request": "Erase it." }));
        let executor = Executor::builder(clerk.tools.clone()).rules(Rules::new([Rule::ask("erase")]));
        let executor = executor.approver(move |_: &ApprovalRequest| approval(above)).build().unwrap();
        clerk.run(executor).await;
        assert_eq!(clerk.log.lock().unwrap().len(), erased, "{above} {own}");
    }
}

#[tokio::test]
async fn a_person_with_the_handle_is_asked_once_for_a_call_below() {
    let erase = Reply::call("erase", json!({ "path": "a.txt" }));
    let child = ScriptedModel::new([erase, Reply::text("Finished.")]);
    let template = Agent::builder("helper", child.clone()).approvals_by_handle(true).build().unwrap();
    let tool = DynamicAgentTool::builder(template).build().unwrap();
    let clerk = Clerk::with_tool(tool, child, json!({ "request": "Erase it." }));
    let executor = Executor::builder(clerk.tools.clone()).rules(Rules::new([Rule::ask("erase")]));
    let agent = clerk.agent(executor.build().unwrap()).approvals_by_handle(true).build().unwrap();
    let mut stream = Runner::new(agent).run("Help me.");
    let (handle, mut asked) = (stream.handle(), 0);
    while let Some(event) = stream.next().await {
        let AgentEventKind::Child { event, .. } = event.kind else { continue };
        let AgentEventKind::Tool { event } = event.kind else { continue };
        let EventKind::ApprovalRequested { request } = &event.kind else { continue };
        asked += 1;
        assert!(handle.approve(&request.address, Approval::Approved));
    }
    assert_eq!((asked, clerk.log.lock().unwrap().len()), (1, 1));
}
