//! Approvals during a run, and answers that belong to one question.

use std::sync::{Arc, Mutex};

use tool_agent::{
    Agent, AgentBuilder, AgentEventKind, Answers, End, EndReason, Runner, ScriptedModel, model::Reply,
};
use tool_runtime::{
    CallOutcome, RunContext, ToolCall, ToolContext,
    call::Operation,
    policy::{Approval, ApprovalRequest},
    prelude::*,
};

/// The texts that bodies wrote, in order.
type Log = Mutex<Vec<&'static str>>;

/// Wipes a disk, after a second question.
#[tool(destructive, confirm)]
fn wipe(cx: &ToolContext, log: &Log) -> Result<&'static str, ToolError> {
    log.lock().unwrap().push("asked");
    match cx.confirmation_of("Is there a backup?", &Value::Null) {
        None => Err(cx.request_confirmation("Is there a backup?", Value::Null)),
        Some(answer) if answer.confirmed => {
            log.lock().unwrap().push("wiped");
            Ok("wiped")
        }
        Some(_) => Ok("kept"),
    }
}

/// Removes a file.
#[tool(destructive, confirm)]
fn remove(log: &Log) -> &'static str {
    log.lock().unwrap().push("removed");
    "removed"
}

struct Setup {
    runner: Runner,
    model: ScriptedModel,
    log: Arc<Log>,
}

fn setup(tool: &str, change: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Setup {
    let log = Arc::new(Log::default());
    let tools = Registry::builder().tool::<wipe>().tool::<remove>().provide_shared(Arc::clone(&log));
    let call = ToolCall::new(tool, "{}").with_id("c1");
    let model = ScriptedModel::new([Reply::calls([call]), Reply::text("Done.")]);
    let agent = Agent::builder("clerk", model.clone()).tools(tools.build().unwrap());
    Setup { runner: Runner::new(change(agent).build().unwrap()), model, log }
}

fn run() -> RunContext {
    RunContext::new().with_session("s")
}

fn request(end: &End) -> &ApprovalRequest {
    match &end.open[..] {
        [CallOutcome::Pending(pending)] => match &pending.operation {
            Operation::Confirmation(request) => request,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// The notices and the end of a run.
async fn ended(mut events: tool_agent::AgentStream) -> (Vec<String>, End) {
    let (mut notices, mut end) = (Vec::new(), None);
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Notice { text } => notices.push(text),
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    (notices, end.unwrap())
}

#[tokio::test]
async fn an_approval_by_id_or_address_answers_the_first_question_only() {
    let Setup { runner, model, log } = setup("wipe", |agent| agent);
    let first = runner.run_with(run(), "Wipe it.").end().await;
    let address = first.open[0].address().unwrap().clone();
    let (_, second) = ended(runner.resume(run(), Answers::new().approve("c1"))).await;
    assert_eq!(request(&second).hint, "Is there a backup?");
    assert_eq!(*log.lock().unwrap(), ["asked"]);

    // A duplicate of the first answer, as of a second click.
    let duplicates = [
        Answers::new().approve("c1"),
        Answers::new().approve(&address),
        Answers::new().approve(request(&first)),
    ];
    for (index, answers) in duplicates.into_iter().enumerate() {
        let (notices, end) = ended(runner.resume(run(), answers)).await;
        assert_eq!(*log.lock().unwrap(), ["asked"], "{index}"); // I19
        match &end.reason {
            EndReason::OpenCalls => assert!(notices[0].contains("another question"), "{index}: {notices:?}"),
            // A question that is not open any more names no call.
            EndReason::Failed { message } => assert!(message.contains("no call"), "{index}: {message}"),
            other => panic!("{index}: {other:?}"),
        }
    }
    assert_eq!(model.requests().len(), 1);
    let answers = Answers::new().approve(request(&second));
    assert_eq!(runner.resume(run(), answers).answer().await.unwrap(), "Done.");
    assert_eq!(*log.lock().unwrap(), ["asked", "asked", "wiped"]);
}

#[tokio::test]
async fn an_answer_that_arrives_before_a_batch_does_not_approve_its_calls() {
    let Setup { runner, log, .. } = setup("remove", |agent| agent);
    let events = runner.run_with(run(), "Clean up.");
    events.handle().answer(Answers::new().approve("c1"));
    let (notices, end) = ended(events).await;
    assert_eq!((&end.reason, notices.len()), (&EndReason::OpenCalls, 1), "{notices:?}");
    assert!(notices[0].contains("earlier batch"), "{notices:?}");
    assert!(log.lock().unwrap().is_empty()); // I15
}

#[tokio::test]
async fn a_call_waits_within_the_run_for_the_approval_by_its_handle() {
    for (approval, expected) in
        [(Approval::Approved, "removed"), (Approval::Rejected("not today".to_owned()), "not today")]
    {
        let Setup { runner, model, log } = setup("remove", |agent| agent.approvals_by_handle(true));
        let mut events = runner.run_with(run(), "Clean up.");
        let handle = events.handle();
        let mut end = None;
        while let Some(event) = events.next().await {
            match event.kind {
                AgentEventKind::Tool { event } => {
                    let json = serde_json::to_value(&event).unwrap();
                    if json["type"] == "approvalRequested" {
                        assert!(log.lock().unwrap().is_empty());
                        assert!(handle.approve(&event.address, approval.clone()));
                        assert!(!handle.approve(&event.address, approval.clone()), "answered before");
                    }
                }
                AgentEventKind::Ended { end: reached } => end = Some(reached),
                _ => {}
            }
        }
        assert_eq!(end.unwrap().text, "Done.");
        let requests = model.requests();
        let result = requests[1].messages[2].tool_results().next().unwrap().clone();
        assert!(result.text().contains(expected), "{}", result.text());
        assert_eq!(log.lock().unwrap().len(), usize::from(expected == "removed"));
    }
}

#[tokio::test]
async fn a_run_that_waits_for_an_approval_by_its_handle_can_be_cancelled() {
    let Setup { runner, log, .. } = setup("remove", |agent| agent.approvals_by_handle(true));
    let mut events = runner.run_with(run(), "Clean up.");
    let handle = events.handle();
    let mut end = None;
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Tool { event } if serde_json::to_string(&event).unwrap().contains("pproval") => {
                handle.cancel();
            }
            AgentEventKind::Ended { end: reached } => end = Some(reached.reason),
            _ => {}
        }
    }
    assert_eq!(end, Some(EndReason::Cancelled));
    assert!(log.lock().unwrap().is_empty());
}
