//! Open calls: external and long-running calls, and approvals after the end of a run.

use std::sync::{Arc, Mutex};

use tool_agent::{
    Agent, AgentEventKind, Answers, EndReason, Message, Role, Runner, ScriptedModel,
    model::{Reply, ToolChoice},
};
use tool_runtime::{CallOutcome, Executor, RunContext, ToolCall, prelude::*};

/// The texts that bodies wrote, in order.
type Log = Mutex<Vec<String>>;

/// Removes a file.
#[tool(destructive, confirm)]
fn remove(path: String, log: &Log) -> String {
    log.lock().unwrap().push(format!("remove {path}"));
    format!("{path} is removed")
}

/// Lists the files.
#[tool(read_only)]
fn list(log: &Log) -> String {
    log.lock().unwrap().push("list".to_owned());
    "a b".to_owned()
}

/// Opens a page in the browser of the user.
#[tool]
fn open_page(url: String) -> String {
    url
}

/// Starts a build.
#[tool(long_running)]
fn build() -> ToolOutput {
    ToolOutput::from("started").with_operation_id("build-7")
}

struct Setup {
    runner: Runner,
    model: ScriptedModel,
    log: Arc<Log>,
}

fn setup(replies: impl IntoIterator<Item = Reply>) -> Setup {
    setup_with(replies, |agent| agent)
}

fn setup_with(
    replies: impl IntoIterator<Item = Reply>,
    change: impl FnOnce(tool_agent::AgentBuilder) -> tool_agent::AgentBuilder,
) -> Setup {
    let log = Arc::new(Log::default());
    let tools = Registry::builder().tool::<remove>().tool::<list>().tool::<open_page>().tool::<build>();
    let tools = tools.provide_shared(Arc::clone(&log)).build().unwrap();
    let executor = Executor::builder(tools)
        .external(|call| call.tool() == "open_page")
        .confirmation_call("please_confirm")
        .build()
        .unwrap();
    let model = ScriptedModel::new(replies);
    let agent = change(Agent::builder("clerk", model.clone()).tools(executor)).build().unwrap();
    Setup { runner: Runner::new(agent), model, log }
}

fn run() -> RunContext {
    RunContext::new().with_session("s-1")
}

fn call(name: &str, arguments: Value, id: &str) -> ToolCall {
    ToolCall::new(name, arguments).with_id(id)
}

fn removes(path: &str, id: &str) -> ToolCall {
    call("remove", json!({ "path": path }), id)
}

fn page(id: &str) -> ToolCall {
    call("open_page", json!({ "url": "a.example" }), id)
}

/// The texts of the results in the last message of the last request.
fn results(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    let last = requests.last().unwrap().messages.last().unwrap();
    last.tool_results().map(|result| result.text().into_owned()).collect()
}

/// Asserts that a provider accepts the messages: each call has one result, in the message after it.
pub(crate) fn assert_valid(messages: &[Message]) {
    for (index, message) in messages.iter().enumerate() {
        let calls: Vec<_> = message.calls().map(|call| call.id.clone()).collect();
        let next = messages.get(index + 1).filter(|_| !calls.is_empty());
        let answered: Vec<_> =
            next.into_iter().flat_map(Message::tool_results).map(|it| it.id.clone()).collect();
        assert_eq!(calls, answered, "message {index} of {messages:#?}");
        if message.role() == Role::Tool {
            assert!(messages[index - 1].calls().next().is_some(), "{messages:#?}");
        }
    }
}

#[tokio::test]
async fn an_external_call_ends_the_run_and_its_result_completes_the_batch() {
    let calls = [call("list", json!({}), "c1"), page("c2")];
    let Setup { runner, model, log } = setup([Reply::calls(calls), Reply::text("Done.")]);
    let mut events = runner.run_with(run(), "Open it.");
    let (mut finished, mut end) = (0, None);
    while let Some(event) = events.next().await {
        let json = serde_json::to_value(&event).unwrap();
        finished += usize::from(json.to_string().contains("\"finished\""));
        if let AgentEventKind::Ended { end: reached } = event.kind {
            end = Some(reached);
        }
    }
    let end = end.unwrap();
    assert_eq!(end.reason, EndReason::OpenCalls); // X01
    assert_eq!((finished, end.open.len()), (1, 1)); // X06: one result, one open id
    let CallOutcome::External(open, _) = &end.open[0] else { panic!("{:?}", end.open) };
    assert_eq!((open.id.to_string().as_str(), open.arguments.as_str()), ("c2", r#"{"url":"a.example"}"#)); // X01
    assert_eq!(model.requests().len(), 1); // X06: no made-up result reaches the model

    let answer = runner.resume(run(), Answers::new().result("c2", Ok("opened".into())));
    assert_eq!(answer.answer().await.unwrap(), "Done.");
    assert_eq!(results(&model), ["a b", "opened"]); // X06: both, in call order
    assert_eq!(*log.lock().unwrap(), ["list"]);
    assert_valid(&runner.history(&run()).await);
}

#[tokio::test]
async fn approvals_and_rejections_are_resumed_in_call_order_and_siblings_keep_their_results() {
    let calls = [removes("a", "c1"), call("list", json!({}), "c2"), removes("b", "c3"), removes("c", "c4")];
    let Setup { runner, model, log } = setup([Reply::calls(calls), Reply::text("Done.")]);
    let end = runner.run_with(run(), "Clean up.").end().await;
    let open: Vec<_> = end.open.iter().map(|it| it.id().to_string()).collect();
    assert_eq!(open, ["c1", "c3", "c4"]); // I19: in call order
    assert_eq!(*log.lock().unwrap(), ["list"]);

    let end = runner.resume(run(), Answers::new().approve("c3")).end().await;
    assert_eq!((end.reason, end.open.len()), (EndReason::OpenCalls, 2));
    assert_eq!(model.requests().len(), 1);
    let first = end.open[0].address().unwrap();
    let answers = Answers::new().reject("c4", "no").approve(first).approve("c3");
    assert_eq!(runner.resume(run(), answers).answer().await.unwrap(), "Done.");
    let results = results(&model);
    assert_eq!(&results[..3], ["a is removed", "a b", "b is removed"]); // I19: results of ungated siblings survive
    assert!(results[3].starts_with("Denied: "), "{results:?}");
    assert_eq!(*log.lock().unwrap(), ["list", "remove b", "remove a"]); // I19: gated calls run once each
    assert_valid(&runner.history(&run()).await);
}

#[tokio::test]
async fn a_pending_approval_is_shown_as_a_virtual_call_with_a_configured_name() {
    let Setup { runner, .. } = setup([Reply::calls([removes("a", "c1")])]);
    let mut events = runner.run_with(run(), "Clean up.");
    let (mut shown, mut end) = (Vec::new(), None);
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Open { calls, long_running } => shown.push((calls, long_running)),
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    let [(calls, long_running)] = &shown[..] else { panic!("{shown:?}") };
    assert_eq!((calls.len(), &*calls[0].name), (1, "please_confirm")); // I15
    assert_eq!(*long_running, [calls[0].id.clone()]); // I15: its id is listed
    assert!(calls[0].arguments.as_str().contains(r#""id":"c1","name":"remove""#)); // I15: the original call
    assert_eq!(end.unwrap().confirmations[0].id, calls[0].id);
}

#[tokio::test]
async fn the_final_result_of_a_long_running_call_replaces_the_interim_one() {
    let replies = [Reply::calls([call("build", json!({}), "c1")]), Reply::text("Built.")];
    let Setup { runner, model, .. } = setup(replies);
    let end = runner.run_with(run(), "Build.").end().await;
    assert_eq!(end.open[0].result().unwrap().text(), "started");
    let answers = Answers::new().result("c1", Ok("3 warnings".into()));
    assert_eq!(runner.resume(run(), answers).answer().await.unwrap(), "Built.");
    assert_eq!(results(&model), ["3 warnings"]); // X11
}

#[tokio::test]
async fn a_message_closes_open_calls_so_that_each_call_has_one_result() {
    let calls = [removes("a", "c1"), page("c2"), call("build", json!({}), "c3")];
    let Setup { runner, model, log } = setup([Reply::calls(calls), Reply::text("As you like.")]);
    runner.run_with(run(), "Clean up.").end().await;
    assert_eq!(runner.run_with(run(), "Forget it.").answer().await.unwrap(), "As you like.");
    let messages = &model.requests()[1].messages;
    assert_valid(messages); // no call without a result reaches a provider
    let texts: Vec<_> = messages[2].tool_results().map(|it| it.text()).collect();
    assert!(texts[1].contains("the user sent another message"), "{texts:?}");
    assert_eq!(texts[2], "started");
    let late = runner.resume(run(), Answers::new().approve("c1")).end().await;
    assert!(matches!(late.reason, EndReason::Failed { .. }));
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn answers_that_name_no_call_change_nothing() {
    let Setup { runner, model, log } =
        setup([Reply::calls([removes("a", "c1"), page("c2")]), Reply::text("ok")]);
    runner.run_with(run(), "Clean up.").end().await;
    let wrong = [
        Answers::new().approve("c1").approve("c9"),
        Answers::new().approve("c2"),
        Answers::new().result("c1", Ok("removed".into())),
        Answers::new().approve("c1").reject("c1", "no"),
    ];
    for answers in wrong {
        let end = runner.resume(run(), answers).end().await;
        assert!(matches!(end.reason, EndReason::Failed { .. }), "{:?}", end.reason);
    }
    assert!(log.lock().unwrap().is_empty());
    let answers = Answers::new().approve("c1").result("c2", Ok("opened".into()));
    assert_eq!(runner.resume(run(), answers).answer().await.unwrap(), "ok");
    assert_eq!(results(&model), ["a is removed", "opened"]);
}

#[tokio::test]
async fn a_run_that_waits_receives_answers_by_its_handle() {
    let replies = [Reply::calls([removes("a", "c1"), page("c2")]), Reply::text("Done.")];
    let Setup { runner, model, .. } = setup_with(replies, |agent| agent.wait_for_answers(true));
    let mut events = runner.run_with(RunContext::new(), "Clean up.");
    let handle = events.handle();
    let mut end = None;
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Open { .. } => {
                handle.answer(Answers::new().result("c2", Ok("opened".into())));
                handle.answer(Answers::new().approve("c1"));
            }
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    assert_eq!(end.unwrap().text, "Done.");
    assert_eq!(results(&model), ["a is removed", "opened"]);
}

#[tokio::test]
async fn a_run_that_waits_for_answers_can_be_cancelled() {
    let Setup { runner, .. } = setup_with([Reply::calls([page("c1")])], |agent| agent.wait_for_answers(true));
    let mut events = runner.run_with(run(), "Open it.");
    let handle = events.handle();
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Open { .. } => handle.cancel(),
            AgentEventKind::Ended { end } => assert_eq!(end.reason, EndReason::Cancelled),
            _ => {}
        }
    }
}

/// Never ends.
#[tool(confirm)]
async fn stuck(log: &Log) {
    log.lock().unwrap().push("stuck".to_owned());
    std::future::pending::<()>().await;
}

/// A session with two open calls, of which the first was approved in a run that was dropped while it executed.
async fn dropped_resume() -> Setup {
    let log = Arc::new(Log::default());
    let tools = Registry::builder().tool::<stuck>().tool::<remove>().provide_shared(Arc::clone(&log));
    let calls = [call("stuck", json!({}), "c1"), removes("a", "c2")];
    let model = ScriptedModel::new([Reply::calls(calls), Reply::text("ok")]);
    let agent = Agent::builder("clerk", model.clone()).tools(tools.build().unwrap()).build().unwrap();
    let runner = Runner::new(agent);
    runner.run_with(run(), "Go.").end().await;
    let mut resumed = runner.resume(run(), Answers::new().approve("c1"));
    while log.lock().unwrap().is_empty() {
        let _ = futures_util::future::poll_immediate(resumed.next()).await;
        tokio::task::yield_now().await;
    }
    Setup { runner, model, log }
}

#[tokio::test]
async fn a_resumed_call_that_was_dropped_is_reported_and_not_run_again() {
    let Setup { runner, model, log } = dropped_resume().await;
    let answers = Answers::new().approve("c1").reject("c2", "no");
    assert_eq!(runner.resume(run(), answers).answer().await.unwrap(), "ok");
    assert!(results(&model)[0].contains("may have taken effect"), "{:?}", results(&model));
    assert_eq!(log.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_message_after_a_dropped_resume_tells_calls_that_may_have_run_from_those_that_did_not() {
    let Setup { runner, model, log } = dropped_resume().await;
    let mut events = runner.run_with(run(), "Never mind.");
    let mut closed = Vec::new();
    while let Some(event) = events.next().await {
        if let AgentEventKind::Notice { text } = event.kind {
            closed.push(text);
        }
    }
    let messages = &model.requests()[1].messages;
    assert_valid(messages);
    let texts: Vec<_> = messages[2].tool_results().map(|it| it.text().into_owned()).collect();
    assert!(texts[0].contains("may have taken effect"), "{texts:?}"); // I19
    assert!(texts[1].contains("the user sent another message"), "{texts:?}");
    assert_eq!(closed.len(), 2, "{closed:?}");
    assert!(closed[0].contains("interrupted") && !closed[1].contains("interrupted"), "{closed:?}");
    assert_eq!(*log.lock().unwrap(), ["stuck"]);
}

#[tokio::test]
async fn a_tool_that_stops_the_run_closes_the_open_calls_of_its_batch() {
    /// Stops the run.
    #[tool(register = false)]
    fn halt() -> Result<(), ToolError> {
        Err(ToolError::stop("enough"))
    }
    let log = Arc::new(Log::default());
    let tools = Registry::builder().tool::<halt>().tool::<remove>().provide_shared(Arc::clone(&log));
    let calls = [removes("a", "c1"), call("halt", json!({}), "c2")];
    let model = ScriptedModel::new([Reply::calls(calls)]);
    let agent = Agent::builder("clerk", model).tools(tools.build().unwrap());
    let runner = Runner::new(agent.build().unwrap());
    let end = runner.run_with(run(), "Go.").end().await;
    assert_eq!(end.reason, EndReason::Stopped { message: "enough".to_owned() }); // E07
    let history = runner.history(&run()).await;
    assert_valid(&history);
    let text = history[2].tool_results().next().unwrap().text().into_owned();
    assert!(text.contains("the run was stopped"), "{text}");
    let late = runner.resume(run(), Answers::new().approve("c1")).end().await;
    assert!(matches!(late.reason, EndReason::Failed { .. }), "{:?}", late.reason);
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_answer_by_the_handle_that_is_not_valid_is_a_notice_and_the_run_waits_on() {
    let replies = [Reply::calls([removes("a", "c1"), page("c2")]), Reply::text("Done.")];
    let Setup { runner, .. } = setup_with(replies, |agent| agent.wait_for_answers(true));
    let mut events = runner.run_with(RunContext::new(), "Clean up.");
    let handle = events.handle();
    let (mut notices, mut end) = (Vec::new(), None);
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Open { .. } => {
                handle.answer(Answers::new().approve("c9"));
                handle.answer(Answers::new().approve("c1").result("c2", Ok("opened".into())));
            }
            AgentEventKind::Notice { text } => notices.push(text),
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    assert_eq!(end.unwrap().text, "Done.");
    assert_eq!(notices, ["no call `c9` waits for an answer; use an id or address of `End::open`"]);
}

#[tokio::test]
async fn a_further_answer_is_distinguished_from_one_that_names_no_call_also_by_address() {
    let replies = [Reply::calls([removes("a", "c1"), page("c2")]), Reply::text("Done.")];
    let Setup { runner, log, .. } = setup(replies);
    let end = runner.run_with(run(), "Clean up.").end().await;
    let first = end.open[0].address().unwrap().clone();
    runner.resume(run(), Answers::new().approve(&first)).end().await;
    // The address of a call that no batch has had.
    let mut unknown = first.clone();
    unknown.call_id = "c9".into();
    let error = runner.resume(run(), Answers::new().approve(&unknown)).answer().await.unwrap_err();
    assert!(error.to_string().contains("waits for an answer; use an id or address"), "{error}");
    let mut events = runner.resume(run(), Answers::new().approve(&first).result("c2", Ok("opened".into())));
    let mut notices = Vec::new();
    while let Some(event) = events.next().await {
        if let AgentEventKind::Notice { text } = event.kind {
            notices.push(text);
        }
    }
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].ends_with("has its result; the further answer is ignored"), "{notices:?}");
    assert_eq!(*log.lock().unwrap(), ["remove a"]);
}

#[tokio::test]
async fn a_call_that_the_model_had_to_make_is_not_required_again_once_it_is_answered() {
    let forced = ToolChoice::Tool("remove".into());
    let replies = [Reply::call("remove", json!({ "path": "a" })), Reply::text("Done.")];
    let Setup { runner, model, log } = setup_with(replies, |agent| agent.tool_choice(forced.clone()));
    let run = || RunContext::new().with_session("s");
    let end = runner.run_with(run(), "Remove a.").end().await;
    let approval = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(runner.resume(run(), approval).answer().await.unwrap(), "Done.");
    let choices: Vec<_> = model.requests().iter().map(|request| request.tool_choice.clone()).collect();
    assert_eq!(choices, [forced, ToolChoice::Auto]);
    assert_eq!(*log.lock().unwrap(), ["remove a"]);
}
