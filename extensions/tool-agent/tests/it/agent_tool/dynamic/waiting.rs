//! Dynamic agents on two levels of a session in memory, whose calls wait for answers.

use tool_agent::{Answers, EndReason};
use tool_runtime::policy::Approval;

use super::*;

/// Orders a parcel, which takes days.
#[tool(register = false, long_running)]
fn order() -> ToolOutput {
    ToolOutput::from("ordered").with_operation_id("order-7")
}

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(path: String, log: &Log) -> String {
    log.lock().unwrap().push("removed");
    path
}

/// Approves what the run asks; returns its end.
async fn end_with_approvals(mut stream: tool_agent::AgentStream) -> tool_agent::End {
    let (handle, mut end) = (stream.handle(), None);
    while let Some(mut event) = stream.next().await {
        while let AgentEventKind::Child { event: below, .. } = event.kind {
            event = *below;
        }
        match event.kind {
            AgentEventKind::Tool { event } if matches!(event.kind, EventKind::ApprovalRequested { .. }) => {
                handle.approve(&event.address, Approval::Approved);
            }
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    end.unwrap()
}

#[tokio::test]
async fn a_question_two_levels_below_is_not_asked_of_the_handle_of_a_run_that_has_ended() {
    let call = |name: &str| Reply::call(name.to_owned(), json!({ "request": "Do it." }));
    let removal = Reply::call("remove", json!({ "path": "a.txt" }));
    let bottom = ScriptedModel::new([Reply::call("order", json!({})), removal, Reply::text("Bottom.")]);
    let first = ScriptedModel::new([call("second"), Reply::text("First.")]);
    let model = ScriptedModel::new([call("first"), Reply::text("Done.")]);
    let tool = |name: &str, model: &ScriptedModel| {
        let template = Agent::builder(name.to_owned(), model.clone()).build().unwrap();
        DynamicAgentTool::builder(template).name(name).build().unwrap()
    };
    let log = Arc::new(Log::default());
    let tools = Registry::builder().tool::<order>().tool::<remove>().provide_shared(Arc::clone(&log));
    let tools = tools.add(tool("first", &first)).add(tool("second", &bottom)).build().unwrap();
    let agent = Agent::builder("clerk", model).tools(tools).approvals_by_handle(true).build().unwrap();
    let runner = Runner::new(agent);
    let run = || RunContext::new().with_session("s");
    let end = runner.run_with(run(), "Go.").end().await;
    assert_eq!((&end.reason, end.open.len(), end.paths[0].len()), (&EndReason::OpenCalls, 1, 2), "{end}");
    let delivered = Answers::new().result(end.open[0].address().unwrap(), Ok("delivered".into()));
    let mut end = end_with_approvals(runner.resume(run(), delivered)).await;
    if end.reason == EndReason::OpenCalls {
        // The guards of the calls above are those of the run that ended: its handle has no one who answers.
        let approval = Answers::new().approve(end.open[0].address().unwrap());
        end = end_with_approvals(runner.resume(run(), approval)).await;
    }
    assert_eq!((end.text.as_str(), log.lock().unwrap().len()), ("Done.", 1), "{end}");
}
