//! Hooks, steering and follow-ups.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use tool_agent::{
    Agent, AgentBuilder, AgentEventKind, AgentHook, EndReason, Message, Part, QueueMode, Runner,
    ScriptedModel, Step, StepEnd,
    model::{Model, ModelError, ModelErrorKind, Reply, Request, Response},
};
use tool_runtime::{Executor, RunContext, ToolCall, executor::ExecutionStrategy, prelude::*};

use super::open::assert_valid;

/// Echoes a text.
#[tool(read_only)]
fn echo(text: String) -> String {
    text
}

/// Echoes a text after a while, so that the reader of events can react to its start.
#[tool(read_only)]
async fn slow(text: String) -> String {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    text
}

/// Reverses a text.
#[tool(read_only)]
fn reverse(text: String) -> String {
    text.chars().rev().collect()
}

pub(super) fn agent(replies: impl IntoIterator<Item = Reply>) -> (AgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new(replies);
    let tools = Registry::builder().tool::<echo>().build().unwrap();
    (Agent::builder("parrot", model.clone()).tools(tools), model)
}

pub(super) fn echoes(text: &str) -> Reply {
    Reply::call("echo", json!({ "text": text }))
}

fn answer(text: &str) -> Response {
    Response::new(Message::assistant([Part::Text(text.to_owned())]))
}

type Log = Arc<Mutex<Vec<&'static str>>>;

/// Answers, replaces or recovers, as its fields say, and logs its name.
#[derive(Default)]
struct On {
    name: &'static str,
    log: Log,
    before: Option<&'static str>,
    after: Option<&'static str>,
    recover: Option<&'static str>,
}

impl AgentHook for On {
    async fn before_model(&self, _: &mut Step) -> Result<Option<Response>, ToolError> {
        self.log.lock().unwrap().push(self.name);
        Ok(self.before.map(answer))
    }

    async fn after_model(&self, _: &Step, _: &Response) -> Result<Option<Response>, ToolError> {
        self.log.lock().unwrap().push(self.name);
        Ok(self.after.map(answer))
    }

    async fn on_model_error(&self, _: &Step, _: &ModelError) -> Result<Option<Response>, ToolError> {
        self.log.lock().unwrap().push(self.name);
        Ok(self.recover.map(answer))
    }
}

#[tokio::test]
async fn a_hook_answers_replaces_or_recovers() {
    let (answering, model) = agent([Reply::text("model")]);
    let hook = On { before: Some("hook"), ..On::default() };
    let mut events = Runner::new(answering.hook(hook).build().unwrap()).run("Hello.");
    let (mut shown, mut text) = (String::new(), String::new());
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Text { delta } => shown.push_str(&delta),
            AgentEventKind::Ended { end } => text = end.text,
            _ => {}
        }
    }
    assert_eq!((shown.as_str(), text.as_str(), model.requests().len()), ("hook", "hook", 0)); // H12

    let (replacing, _) = agent([Reply::text("model")]);
    let hook = On { after: Some("hook"), ..On::default() };
    let runner = Runner::new(replacing.hook(hook).build().unwrap());
    assert_eq!(runner.run("Hello.").answer().await.unwrap(), "hook"); // H12

    let (recovering, _) = agent([Reply::error(ModelErrorKind::Other, "down")]);
    let hook = On { recover: Some("hook"), ..On::default() };
    let runner = Runner::new(recovering.hook(hook).build().unwrap());
    assert_eq!(runner.run("Hello.").answer().await.unwrap(), "hook"); // H12
}

#[tokio::test]
async fn hooks_of_the_runner_precede_and_override_those_of_the_agent() {
    let log = Log::default();
    let (builder, _) = agent([Reply::text("model")]);
    let local = On { name: "agent", log: Arc::clone(&log), after: Some("agent"), ..On::default() };
    let wide = On { name: "runner", log: Arc::clone(&log), after: Some("runner"), ..On::default() };
    let runner = Runner::new(builder.hook(local).build().unwrap()).with_hook(wide);
    assert_eq!(runner.run("Hello.").answer().await.unwrap(), "runner");
    // H18: both before hooks, then only the runner's after hook.
    assert_eq!(*log.lock().unwrap(), ["runner", "agent", "runner"]);
}

/// Changes the model, the tools and the messages of a step.
struct Changing(ScriptedModel);

impl AgentHook for Changing {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        // A hook may ask a model itself.
        let asked = self.0.respond(Request::new([Message::user("Which tool?")])).response().await;
        let advice = asked.map_err(|error| ToolError::failed(error.to_string()))?.message.text();
        step.request.messages.push(Message::user(advice));
        step.set_tools(
            Registry::builder().tool::<reverse>().build().map_err(|_| ToolError::failed("tools"))?,
        );
        step.model = self.0.clone().into();
        Ok(None)
    }
}

#[tokio::test]
async fn a_hook_changes_model_tools_and_messages_of_its_step_only() {
    let (builder, original) = agent([]);
    let other = ScriptedModel::new([
        Reply::text("Use `reverse`."),
        Reply::calls([
            ToolCall::new("reverse", json!({ "text": "ab" })),
            ToolCall::new("echo", json!({ "text": "ab" })),
        ]),
        Reply::text("Answer now."),
        Reply::text("ba"),
    ]);
    let run = || RunContext::new().with_session("s");
    let runner = Runner::new(builder.hook(Changing(other.clone())).build().unwrap());
    assert_eq!(runner.run_with(run(), "Turn it.").answer().await.unwrap(), "ba");
    assert!(original.requests().is_empty()); // H12, H20: another model
    let requests = other.requests();
    assert_eq!(requests[1].messages.last().unwrap().text(), "Use `reverse`."); // H12
    let results: Vec<_> =
        requests[3].messages[2].tool_results().map(|it| (it.text().into_owned(), it.is_error())).collect();
    assert_eq!(results[0], ("ba".to_owned(), false));
    assert!(results[1].1, "{results:?}"); // H12: the tool was removed
    let history = runner.history(&run()).await;
    assert!(history.iter().all(|message| !message.text().contains("reverse")));
}

/// Takes the tool `echo` out of each step. Nothing else is listed before or after.
struct Narrowing;

impl AgentHook for Narrowing {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        let tools = Registry::builder().tool::<reverse>().build();
        let tools = tools.map_err(|error| ToolError::failed(error.to_string()))?;
        step.set_tools(tools.with_deferred(|_| true));
        Ok(None)
    }
}

#[tokio::test]
async fn a_hook_takes_a_deferred_tool_away() {
    let (builder, model) = agent([echoes("a"), Reply::text("No.")]);
    let tools = Registry::builder().tool::<echo>().tool::<reverse>().build().unwrap();
    let builder = builder.tools(tools.with_deferred(|_| true)).hook(Narrowing);
    assert_eq!(Runner::new(builder.build().unwrap()).run("Echo.").answer().await.unwrap(), "No.");
    let result = model.requests()[1].messages.last().unwrap().tool_results().next().unwrap().clone();
    assert!(result.is_error(), "{}", result.text());
}

struct StopAfterStep;

impl AgentHook for StopAfterStep {
    async fn after_step(&self, step: &StepEnd) -> Result<ControlFlow<()>, ToolError> {
        assert_eq!(step.results.as_ref().unwrap().tool_results().count(), 1);
        Ok(ControlFlow::Break(()))
    }
}

#[tokio::test]
async fn a_hook_ends_the_run_after_a_step() {
    let (builder, model) = agent([echoes("a"), Reply::text("a")]);
    let end = Runner::new(builder.hook(StopAfterStep).build().unwrap()).run("Hello.").end().await;
    assert_eq!((end.reason, model.requests().len()), (EndReason::HookStopped, 1)); // H20
}

/// Asks for a second answer.
struct Again;

impl AgentHook for Again {
    async fn before_end(&self, step: &StepEnd) -> Result<Option<Message>, ToolError> {
        Ok((step.number == 1).then(|| Message::user("Shorter, please.")))
    }
}

#[tokio::test]
async fn a_hook_continues_after_the_answer_with_a_message_that_is_not_stored() {
    let (builder, model) = agent([Reply::text("A long answer."), Reply::text("Short.")]);
    let runner = Runner::new(builder.hook(Again).build().unwrap());
    let run = || RunContext::new().with_session("s");
    assert_eq!(runner.run_with(run(), "Hello.").answer().await.unwrap(), "Short.");
    assert_eq!(model.requests()[1].messages.last().unwrap().text(), "Shorter, please.");
    let texts: Vec<_> = runner.history(&run()).await.iter().map(Message::text).collect();
    assert_eq!(texts, ["Hello.", "A long answer.", "Short."]);
}

/// Panics before it returns a future.
struct Panics(u8);

impl AgentHook for Panics {
    fn before_model(&self, _: &mut Step) -> impl Future<Output = Result<Option<Response>, ToolError>> + Send {
        assert_ne!(self.0, 0, "before");
        async { Ok(None) }
    }

    fn after_step(&self, _: &StepEnd) -> impl Future<Output = Result<ControlFlow<()>, ToolError>> + Send {
        assert_ne!(self.0, 1, "step");
        async { Ok(ControlFlow::Continue(())) }
    }

    fn before_end(&self, _: &StepEnd) -> impl Future<Output = Result<Option<Message>, ToolError>> + Send {
        assert_ne!(self.0, 2, "end");
        async { Ok(None) }
    }
}

#[tokio::test]
async fn a_panic_of_the_program_ends_the_run_and_does_not_escape() {
    for stage in 0..3 {
        let (builder, _) = agent([echoes("a"), Reply::text("a")]);
        let end = Runner::new(builder.hook(Panics(stage)).build().unwrap()).run("Hello.").end().await;
        assert!(matches!(end.reason, EndReason::Failed { .. }), "{stage}: {:?}", end.reason);
    }
    let (builder, _) = agent([Reply::text("a")]);
    let broken = builder.instruction_fn(|_| async { panic!("no instruction") }).build().unwrap();
    assert!(matches!(Runner::new(broken).run("Hello.").end().await.reason, EndReason::Failed { .. }));

    struct Bomb;
    impl Model for Bomb {
        fn name(&self) -> &str {
            "bomb"
        }
        fn respond(&self, _: Request) -> tool_agent::model::ResponseStream {
            panic!("no response")
        }
    }
    let end = Runner::new(Agent::builder("bomb", Bomb).build().unwrap()).run("Hello.").end().await;
    assert!(matches!(end.reason, EndReason::ModelFailed { .. }));

    /// Panics.
    #[tool]
    fn panics() {
        panic!("no result");
    }
    let model = ScriptedModel::new([Reply::call("panics", "{}"), Reply::text("It failed.")]);
    let tools = Registry::builder().tool::<panics>().build().unwrap();
    let runner = Runner::new(Agent::builder("a", model).tools(tools).build().unwrap());
    assert_eq!(runner.run("Hello.").answer().await.unwrap(), "It failed.");
}

/// Runs three calls, steered at the start of the first one; returns the errors of the results, and what follows them.
async fn steered(strategy: ExecutionStrategy, mode: QueueMode) -> (Vec<bool>, Vec<String>, Vec<Message>) {
    let calls = ["a", "b", "c"].map(|text| ToolCall::new("slow", json!({ "text": text })));
    let model = ScriptedModel::new([Reply::calls(calls), Reply::text("x"), Reply::text("y")]);
    let tools = Registry::builder().tool::<slow>().build().unwrap();
    let executor = Executor::builder(tools).strategy(strategy).build().unwrap();
    let agent = Agent::builder("parrot", model.clone()).tools(executor).steering_mode(mode);
    let mut events = Runner::new(agent.build().unwrap()).run("Say a, b, c.");
    let handle = events.handle();
    let (mut started, mut finished, mut is_steered) = (0, 0, false);
    while let Some(event) = events.next().await {
        if let AgentEventKind::Tool { event } = event.kind {
            let event = serde_json::to_string(&event).unwrap();
            started += usize::from(event.contains("\"started\""));
            finished += usize::from(event.contains("\"finished\""));
            if !std::mem::replace(&mut is_steered, true) {
                handle.steer("Wait.");
                handle.steer("Stop.");
            }
        }
    }
    assert_eq!((started, finished), (3, 3)); // G10: skipped calls have both events
    let requests = model.requests();
    let messages = requests[1].messages.clone();
    assert_valid(&messages);
    let errors = messages[2].tool_results().map(|it| it.is_error()).collect();
    let after = messages[3..].iter().map(Message::text).collect();
    (errors, after, messages)
}

#[tokio::test]
async fn steering_skips_calls_that_have_not_started_and_follows_the_results() {
    let (errors, after, messages) = steered(ExecutionStrategy::Sequential, QueueMode::One).await;
    assert_eq!(errors, [false, true, true]); // G09
    assert_eq!(after, ["Wait."]); // G10: after the results
    let text = messages[2].tool_results().nth(1).unwrap().text().into_owned();
    assert!(text.contains("a message of the user came first"), "{text}"); // G10
    let (errors, _, _) = steered(ExecutionStrategy::Batched { size: 1 }, QueueMode::One).await;
    assert_eq!(errors, [false, true, true]); // G09, G10
    let (errors, after, _) = steered(ExecutionStrategy::Parallel, QueueMode::All).await;
    assert_eq!(errors, [false, false, false]); // G09
    assert_eq!(after, ["Wait.", "Stop."]); // H20: queue mode
}

#[tokio::test]
async fn follow_ups_continue_after_the_answer_one_by_one_or_all_at_once() {
    for (mode, expected) in [(QueueMode::One, vec![1, 3, 5]), (QueueMode::All, vec![1, 4])] {
        let (builder, model) = agent([Reply::text("1"), Reply::text("2"), Reply::text("3")]);
        let events = Runner::new(builder.follow_up_mode(mode).build().unwrap()).run("Hello.");
        events.handle().follow_up("Second.");
        events.handle().follow_up("Third.");
        events.end().await;
        let lengths: Vec<_> = model.requests().iter().map(|request| request.messages.len()).collect();
        assert_eq!(lengths, expected); // H20
    }
}

#[tokio::test]
async fn calls_that_steering_skips_are_answered_also_without_arguments() {
    let calls: Vec<ToolCall> = serde_json::from_value(json!([
        { "id": "c1", "name": "slow", "arguments": "{\"text\":\"a\"}" },
        { "id": "c2", "name": "slow", "arguments": "null" },
        { "id": "c3", "name": "slow", "arguments": "" },
        { "id": "c4", "name": "slow" },
    ]))
    .unwrap();
    let model = ScriptedModel::new([Reply::calls(calls), Reply::text("x")]);
    let tools = Registry::builder().tool::<slow>().build().unwrap();
    let executor = Executor::builder(tools).strategy(ExecutionStrategy::Sequential).build().unwrap();
    let agent = Agent::builder("parrot", model.clone()).tools(executor);
    let mut events = Runner::new(agent.build().unwrap()).run("Say a.");
    let handle = events.handle();
    let (mut started, mut finished) = (Vec::new(), Vec::new());
    while let Some(event) = events.next().await {
        let AgentEventKind::Tool { event } = event.kind else { continue };
        let json = serde_json::to_value(&event).unwrap();
        match json["type"].as_str() {
            Some("started") => started.push(event.address.call_id.to_string()),
            Some("finished") => finished.push(event.address.call_id.to_string()),
            _ => {}
        }
        if started.len() == 1 && finished.is_empty() {
            handle.steer("Stop.");
        }
    }
    let ids = ["c1", "c2", "c3", "c4"];
    assert_eq!((started, finished), (ids.map(str::to_owned).to_vec(), ids.map(str::to_owned).to_vec())); // G10
    let requests = model.requests();
    let results: Vec<_> = requests[1].messages[2].tool_results().cloned().collect();
    assert_eq!(results.iter().map(|it| it.id.to_string()).collect::<Vec<_>>(), ids); // G10
    for skipped in &results[1..] {
        let text = skipped.text();
        assert!(skipped.is_error() && text.contains("a message of the user came first"), "{text}"); // G10
    }
    assert_eq!(requests[1].messages[3].text(), "Stop."); // G10
}
