//! Contexts, results and calls of tools, as a run sees them.

use std::sync::{Arc, Mutex};

use tool_agent::{
    Agent, AgentEvent, AgentEventKind, EndReason, RunOptions, Runner, ScriptedModel,
    model::{Reply, Request},
};
use tool_runtime::{
    Dialect, Executor, RunContext, Tool, ToolCall, ToolContext, ToolResult, Toolbox, builder::ToolBuilder,
    context::Trigger, output::Actions, prelude::*, schema::InputSchema, toolbox::RunTools,
};

/// The texts that bodies wrote, in order.
type Log = Mutex<Vec<String>>;

/// Shows a picture.
#[tool(skip_summarization)]
fn show() -> &'static str {
    "shown"
}

/// Returns a picture that needs no words of the model.
#[tool]
fn exhibit() -> ToolOutput {
    ToolOutput::from("exhibited").with_actions(Actions { skip_summarization: true, ..Actions::default() })
}

/// Shows a picture, and asks to end the loop around its agent.
#[tool(skip_summarization)]
fn show_and_escalate() -> ToolOutput {
    ToolOutput::from("shown").with_actions(Actions { escalate: true, ..Actions::default() })
}

/// Fails to show a picture.
#[tool(skip_summarization)]
fn show_nothing() -> Result<(), ToolError> {
    Err(ToolError::failed("no picture"))
}

/// Ends the run, or not.
#[tool]
fn end(terminate: bool) -> ToolOutput {
    ToolOutput::from("end").with_actions(Actions { terminate, ..Actions::default() })
}

/// Fails.
#[tool]
fn fail() -> Result<(), ToolError> {
    Err(ToolError::failed("disk full"))
}

/// Returns a value that JSON cannot represent.
#[tool(output_schema = false)]
fn odd() -> std::collections::BTreeMap<Vec<u8>, u8> {
    [(vec![1], 2)].into()
}

/// Returns details that are not for the model.
#[tool]
fn detailed() -> ToolOutput {
    ToolOutput::from("ok").with_details(json!({ "secret": 1 }))
}

/// Notes the id of its call.
#[tool]
fn note(cx: &ToolContext, log: &Log) -> &'static str {
    log.lock().unwrap().push(cx.call_id().to_string());
    "noted"
}

/// Cancels its own call.
#[tool]
async fn quit(cx: &ToolContext) -> Result<(), ToolError> {
    cx.cancellation().cancel();
    cx.cancellation().cancelled().await;
    Err(ToolError::cancelled())
}

/// Returns the fields of its run.
#[tool]
fn describe(cx: &ToolContext) -> Value {
    let Some(run) = cx.run() else { return Value::Null };
    json!([
        run.app(),
        run.agent(),
        run.user(),
        run.session(),
        run.id(),
        run.parent_id(),
        run.branch(),
        run.user_content(),
        run.value::<u32>("n").as_deref(),
        run.value::<String>("n").as_deref(),
        run.value::<u32>("m").as_deref(),
    ])
}

/// Asks another agent.
#[tool]
async fn delegate(cx: &ToolContext, researcher: &Runner, log: &Log) -> Result<String, ToolError> {
    let child = cx.child_run("researcher")?;
    let parent = cx.run().ok_or_else(|| ToolError::failed("no run"))?;
    child.set("n", 2_u32);
    let trigger = match child.trigger() {
        Some(Trigger::Call { id, tool, .. }) => format!("{id} {tool}"),
        _ => "none".to_owned(),
    };
    let is_child = child.parent_id() == Some(parent.id()) && child.id() != parent.id();
    let values = (parent.value::<u32>("n").as_deref().copied(), child.value::<u32>("n").as_deref().copied());
    log.lock().unwrap().push(format!("{trigger} {is_child} {values:?}"));
    researcher
        .run_with(child, "Find it.")
        .answer()
        .await
        .map_err(|error| ToolError::failed(error.to_string()))
}

fn tools(log: &Arc<Log>) -> Registry {
    let declared = ToolBuilder::new("elsewhere").description("Runs elsewhere.");
    let declared = declared.input_schema(InputSchema::new(json!({ "type": "object" })).unwrap());
    let researcher = Agent::builder("researcher", ScriptedModel::new([Reply::text("found")]));
    let tools =
        Registry::builder().add(declared.external().unwrap()).tool::<show>().tool::<end>().tool::<fail>();
    let tools = tools.tool::<exhibit>().tool::<show_and_escalate>().tool::<show_nothing>();
    let tools = tools.tool::<odd>().tool::<detailed>().tool::<note>().tool::<quit>().tool::<describe>();
    let tools = tools.tool::<delegate>().provide(Runner::new(researcher.build().unwrap()));
    tools.provide_shared(Arc::clone(log)).build().unwrap()
}

/// A run of one batch of calls, followed by an answer.
struct Ran {
    model: ScriptedModel,
    end: tool_agent::End,
    events: Vec<AgentEvent>,
    log: Vec<String>,
}

impl Ran {
    /// The results that the model received, each with its error flag.
    fn results(&self) -> Vec<(String, bool)> {
        let request = self.model.requests().into_iter().nth(1).unwrap();
        let last = request.messages.last().unwrap();
        last.tool_results().map(|result| (result.text().into_owned(), result.is_error())).collect()
    }
}

async fn ran_in(run: RunContext, calls: impl IntoIterator<Item = ToolCall>) -> Ran {
    ran_on(run, calls, Executor::new).await
}

async fn ran_on(
    run: RunContext,
    calls: impl IntoIterator<Item = ToolCall>,
    executor: impl FnOnce(Registry) -> Executor,
) -> Ran {
    let log = Arc::new(Log::default());
    let model = ScriptedModel::new([Reply::calls(calls), Reply::text("Done.")]);
    let agent = Agent::builder("clerk", model.clone()).tools(executor(tools(&log))).build().unwrap();
    let mut stream = Runner::new(agent).with_app("shop").run_with(run, "Hello.");
    let (mut events, mut end) = (Vec::new(), None);
    while let Some(event) = stream.next().await {
        if let AgentEventKind::Ended { end: reached } = &event.kind {
            end = Some(reached.clone());
        }
        events.push(event);
    }
    let log = log.lock().unwrap().clone();
    Ran { model, end: end.unwrap(), events, log }
}

async fn ran(calls: impl IntoIterator<Item = (&'static str, Value)>) -> Ran {
    ran_in(RunContext::new(), calls.into_iter().map(|(name, arguments)| ToolCall::new(name, arguments))).await
}

fn plain(names: &[&'static str]) -> Vec<(&'static str, Value)> {
    names.iter().map(|name| (*name, json!({}))).collect()
}

#[tokio::test]
async fn errors_of_calls_are_results_and_the_run_continues() {
    let ran = ran(plain(&["elsewhere", "odd", "fail"])).await;
    let results = ran.results();
    assert!(results[0].0.starts_with("Tool unavailable") && results[0].1, "{results:?}"); // A15
    assert!(results[1].0.contains("cannot be written as JSON") && results[1].1, "{results:?}"); // D10
    assert_eq!(results[2], ("disk full".to_owned(), true)); // E03: dispatch returns a message
    assert_eq!(ran.end.reason, EndReason::Answered); // A15, D10
    let direct = tools(&Arc::default()).call("fail", "{}").await;
    assert_eq!(direct.unwrap_err().feedback(), "disk full"); // E03: a direct call returns an error
}

#[tokio::test]
async fn details_are_in_events_and_in_no_request() {
    let ran = ran(plain(&["detailed"])).await;
    let is_detailed = |event: &&AgentEvent| {
        matches!(event.kind, AgentEventKind::Tool { .. })
            && serde_json::to_string(event).unwrap().contains(r#""secret":1"#)
    };
    assert_eq!(ran.events.iter().filter(is_detailed).count(), 1); // D03
    let request = ran.model.requests().pop().unwrap();
    let results: Vec<_> = request.messages.iter().flat_map(|it| it.tool_results()).cloned().collect();
    for dialect in
        [Dialect::openai_chat(), Dialect::openai_responses(), Dialect::anthropic(), Dialect::gemini()]
    {
        let sent = dialect.bind_tools(&request.tools).results(&results);
        assert!(!sent.to_string().contains("secret")); // D03
    }
}

#[tokio::test]
async fn a_result_for_the_user_ends_the_turn_without_another_request() {
    let ran = ran(plain(&["note", "show"])).await;
    assert_eq!((ran.model.requests().len(), ran.end.reason), (1, EndReason::SkippedSummarization)); // D13
}

#[tokio::test]
async fn a_flag_a_result_and_a_hook_each_end_the_turn_after_their_result() {
    for (names, shown) in [
        (vec!["show"], "shown"),
        (vec!["exhibit"], "exhibited"),
        (vec!["show_and_escalate"], "shown"),
        (vec!["note", "exhibit", "note"], "noted\nexhibited\nnoted"),
    ] {
        let ran = ran(plain(&names)).await;
        assert_eq!((ran.model.requests().len(), &ran.end.reason), (1, &EndReason::SkippedSummarization)); // D13
        assert_eq!(ran.end.text, shown, "{names:?}");
        // The completion signal is the last event, after the results.
        let kinds = ran.events.iter().rev().map(|event| &event.kind);
        let kinds: Vec<_> =
            kinds.filter(|kind| !matches!(kind, AgentEventKind::Notice { .. })).take(2).collect();
        assert!(matches!(kinds[0], AgentEventKind::Ended { .. }), "{kinds:?}"); // D13
        assert!(
            matches!(kinds[1], AgentEventKind::Message { message } if message.tool_results().count() == names.len())
        );
    }
    let skipping = |tools| {
        let executor = Executor::builder(tools).after(|_, mut result: ToolResult| async move {
            if let Ok(output) = &mut result.outcome {
                output.set_actions(Actions { skip_summarization: true, ..Actions::default() });
            }
            Ok(result)
        });
        executor.build().unwrap()
    };
    let ran = ran_on(RunContext::new(), [ToolCall::new("note", "{}")], skipping).await;
    assert_eq!((ran.model.requests().len(), ran.end.reason), (1, EndReason::SkippedSummarization)); // D13
}

#[tokio::test]
async fn the_model_reads_a_failure_of_a_tool_whose_results_are_for_the_user() {
    let ran = ran(plain(&["show_nothing"])).await;
    assert_eq!(ran.results(), [("no picture".to_owned(), true)]);
    assert_eq!(ran.end.reason, EndReason::Answered); // D13
}

/// No arguments.
#[tool_args]
struct Empty {}

#[tokio::test]
async fn tools_of_a_toolbox_are_listed_again_before_each_request() {
    let tool = |name: &'static str| {
        ToolBuilder::new(name).description("Counts.").handler(|_: Empty, _| async { Ok::<_, ToolError>(1) })
    };
    let toolbox = Toolbox::new();
    toolbox.add(tool("first").unwrap()).unwrap();
    let changed = toolbox.clone();
    let model = ScriptedModel::new([Reply::call("first", json!({})), Reply::text("Done.")]);
    let exchange = tool_agent::hook::after_step(move |_| {
        let toolbox = changed.clone();
        async move {
            assert!(toolbox.remove("first"));
            toolbox.add(tool("second").unwrap()).unwrap();
            Ok(std::ops::ControlFlow::Continue(()))
        }
    });
    let agent = Agent::builder("clerk", model.clone()).tools(toolbox).hook(exchange).build().unwrap();
    assert_eq!(Runner::new(agent).run("Hello.").answer().await.unwrap(), "Done.");
    let listed = |request: &Request| request.tools.definitions()[0].name().to_string();
    assert_eq!(model.requests().iter().map(listed).collect::<Vec<_>>(), ["first", "second"]); // L04
}

#[tokio::test]
async fn tools_of_one_run_stand_beside_those_of_the_agent_of_which_some_stay_deferred() {
    let tool = |name: &'static str| {
        let tool = ToolBuilder::new(name).description("Counts.");
        tool.expect_handler(|_: Empty, _| async { Ok::<_, ToolError>(1) })
    };
    let tools = Registry::builder().add(tool("first")).add(tool("second")).build().unwrap();
    for (deferred, expected) in [
        ("none", &["extra", "first", "second"][..]),
        ("first", &["extra", "second"]),
        ("extra", &["extra", "first", "second"]),
    ] {
        let model = ScriptedModel::new([Reply::call("first", json!({})), Reply::text("Done.")]);
        let agent =
            Agent::builder("clerk", model.clone()).tools(tools.with_deferred(|tool| tool.name() == deferred));
        let extra: Arc<dyn Tool> = Arc::new(tool("extra"));
        let options = RunOptions::new(RunContext::new()).tools(RunTools::new().additional([extra]));
        let end = Runner::new(agent.build().unwrap()).run_with(options, "Hello.").end().await;
        assert_eq!(end.text, "Done.");
        let requests = model.requests();
        let mut names: Vec<_> =
            requests[0].tools.definitions().iter().map(|tool| tool.name().to_string()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{deferred}");
        // A deferred tool can be called.
        assert_eq!(requests[1].messages[2].tool_results().next().unwrap().text(), "1");
    }
}

#[tokio::test]
async fn a_run_terminates_only_if_all_results_ask_for_it() {
    let ends = |terminate: bool| ("end", json!({ "terminate": terminate }));
    assert_eq!(ran([ends(true), ends(true)]).await.end.reason, EndReason::Terminated); // D14
    assert_eq!(ran([ends(true), ends(false)]).await.end.reason, EndReason::Answered); // D14
    assert_eq!(ran([ends(true), ("fail", json!({}))]).await.end.reason, EndReason::Answered); // D14
}

#[tokio::test]
async fn a_hook_decides_whether_the_run_ends_after_a_call() {
    for terminate in [true, false] {
        let call = Reply::call("end", json!({ "terminate": !terminate }));
        let model = ScriptedModel::new([call, Reply::text("Done.")]);
        let executor = Executor::builder(tools(&Arc::default())).after(move |_, mut result| async move {
            result.set_terminate(terminate);
            Ok(result)
        });
        let agent = Agent::builder("clerk", model).tools(executor.build().unwrap()).build().unwrap();
        let end = Runner::new(agent).run("Hello.").end().await;
        let expected = if terminate { EndReason::Terminated } else { EndReason::Answered };
        assert_eq!(end.reason, expected); // H06
    }
}

#[tokio::test]
async fn calls_without_ids_receive_ids_that_events_contexts_and_results_share() {
    let calls: Vec<ToolCall> =
        serde_json::from_value(json!([{ "name": "note" }, { "name": "note" }])).unwrap();
    let ran = ran_in(RunContext::new(), calls).await;
    let request = ran.model.requests().pop().unwrap();
    let ids: Vec<_> = request.messages[2].tool_results().map(|it| it.id.to_string()).collect();
    assert_ne!(ids[0], ids[1]); // C06
    assert_eq!(ran.log, ids); // C06: the contexts
    assert_eq!(request.messages[1].calls().map(|it| it.id.to_string()).collect::<Vec<_>>(), ids);
    for id in &ids {
        let with_id = ran.events.iter().filter(|event| {
            matches!(event.kind, AgentEventKind::Tool { .. })
                && serde_json::to_string(event).unwrap().contains(id.as_str())
        });
        assert_eq!(with_id.count(), 2); // C06: started and finished
    }
}

#[tokio::test]
async fn a_cancelled_call_does_not_touch_its_siblings_or_the_run() {
    let ran = ran(plain(&["quit", "note"])).await;
    let results = ran.results();
    assert!(results[0].1, "{results:?}");
    assert_eq!(results[1], ("noted".to_owned(), false)); // C03
    assert_eq!(ran.end.reason, EndReason::Answered); // C03
}

#[tokio::test]
async fn a_tool_reads_its_run() {
    let run = RunContext::new().with_id("run-1").with_user("u-7").with_session("s-1").with_branch("root");
    run.set("n", 1_u32);
    let ran = ran_in(run, [ToolCall::new("describe", "{}")]).await;
    let expected = json!(["shop", "clerk", "u-7", "s-1", "run-1", null, "root", "Hello.", 1, null, null]);
    let result: Value = serde_json::from_str(&ran.results()[0].0).unwrap();
    assert_eq!(result, expected); // C08, C10
}

#[tokio::test]
async fn a_tool_runs_another_agent_in_a_child_run() {
    let run = RunContext::new();
    run.set("n", 1_u32);
    let ran = ran_in(run, [ToolCall::new("delegate", "{}").with_id("c1")]).await;
    assert_eq!(ran.results()[0], ("found".to_owned(), false));
    assert_eq!(ran.log, ["c1 delegate true (Some(1), Some(2))"]); // C09
}

#[tokio::test]
async fn outputs_with_the_same_call_id_have_one_result_each_and_one_counts() {
    let submits = |value: Value| ToolCall::new("submit_output", json!({ "output": value })).with_id("c1");
    for (values, expected) in [
        ([json!(1), json!(2)], 2),
        ([json!(2), json!(1)], 1),
        ([json!(1), json!("x")], 1),
        ([json!("x"), json!(2)], 2),
    ] {
        let calls = values.clone().map(submits);
        let agent = Agent::builder("clerk", ScriptedModel::new([Reply::calls(calls)])).output::<u32>();
        let runner = Runner::new(agent.build().unwrap());
        let run = || RunContext::new().with_session("s");
        assert_eq!(runner.run_with(run(), "How many?").output::<u32>().await.unwrap(), expected); // Y02
        let history = runner.history(&run()).await;
        let results: Vec<_> =
            history[2].tool_results().map(|it| (it.id.to_string(), it.is_error())).collect();
        let expected = values.map(|value| ("c1".to_owned(), value.is_string()));
        assert_eq!(results, expected, "{history:?}"); // C06: each call has one result
    }
}

#[tokio::test]
async fn an_output_that_a_hook_refused_does_not_count_for_a_call_with_the_same_id() {
    let submits = |value| ToolCall::new("submit_output", json!({ "output": value })).with_id("c1");
    let executor = Executor::builder(Registry::default()).after(|_, result| async move {
        match result.text().contains('2') {
            true => Err(ToolError::failed("not this one")),
            false => Ok(result),
        }
    });
    let model = ScriptedModel::new([Reply::calls([submits(1), submits(2)])]);
    let agent = Agent::builder("clerk", model).tools(executor.build().unwrap()).output::<u32>();
    assert_eq!(Runner::new(agent.build().unwrap()).run("How many?").output::<u32>().await.unwrap(), 1);
}
