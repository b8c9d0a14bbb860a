//! The tools of the tests, and processes that share the stores.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tool_agent::{
    Agent, AgentEventKind, AgentStream, EndReason, Limits, Message, Price, Runner, ScriptedModel,
    model::{Reply, ToolChoice},
};
use tool_runtime::{
    CallOutcome, Executor, RunContext, State, ToolCall,
    call::CallAddress,
    executor::{CallIntent, CallJournal, ExecutionStrategy, SharedCallJournal},
    open_calls::{MemoryOpenCalls, ProgramKey, SharedOpenCallStore},
    prelude::*,
};
use tool_session::{EntryContent, JsonText, LeaseRequest, SessionWrite};

use crate::sessions::{
    caller::Caller,
    world::{StoreFactory, World, key, run},
};

/// The bodies that ran, in order.
#[derive(Default)]
pub(super) struct Bodies {
    started: Mutex<Vec<String>>,
    /// `true` if the bodies named `stuck` wait forever.
    are_stuck: bool,
    stuck: Notify,
}

impl Bodies {
    async fn run(&self, name: String) -> String {
        self.started.lock().unwrap().push(name.clone());
        if self.are_stuck && name.contains("stuck") {
            self.stuck.notify_one();
            std::future::pending::<()>().await;
        }
        format!("did {name}")
    }

    pub(super) fn started(&self) -> Vec<String> {
        self.started.lock().unwrap().clone()
    }
}

/// Has an effect, and changes the state.
#[tool(register = false)]
async fn charge(bodies: &Bodies, state: &State, name: String) -> Result<String, ToolError> {
    state.set(&name, true)?;
    Ok(bodies.run(name).await)
}

/// Has no effect.
#[tool(register = false, read_only)]
async fn look_up(bodies: &Bodies, name: String) -> String {
    bodies.run(name).await
}

/// Has an effect that a repetition does not add to.
#[tool(register = false, idempotent)]
async fn put(bodies: &Bodies, name: String) -> String {
    bodies.run(name).await
}

/// Has an effect that a person approves.
#[tool(register = false, confirm)]
async fn remove(bodies: &Bodies, name: String) -> String {
    bodies.run(name).await
}

/// Has an effect and a secret.
#[tool(register = false)]
async fn sign_in(bodies: &Bodies, name: String, #[arg(secret)] password: String) -> String {
    bodies.run(format!("{name} {}", password.len())).await
}

/// A process of a program.
pub(super) struct Process {
    pub(super) runner: Runner,
    pub(super) model: ScriptedModel,
    pub(super) bodies: Arc<Bodies>,
}

/// The world of several processes.
pub(super) struct Program {
    pub(super) world: World,
    pub(super) open_calls: SharedOpenCallStore,
    pub(super) strategy: ExecutionStrategy,
    pub(super) limits: Limits,
    pub(super) price: Option<Price>,
    pub(super) tool_choice: ToolChoice,
    pub(super) journal: Option<SharedCallJournal>,
}

impl Program {
    pub(super) async fn new<F: StoreFactory>() -> Self {
        Self {
            world: World::new::<F>().await,
            open_calls: SharedOpenCallStore::new(MemoryOpenCalls::new()),
            strategy: ExecutionStrategy::Sequential,
            limits: Limits::default(),
            price: None,
            tool_choice: ToolChoice::Auto,
            journal: None,
        }
    }

    pub(super) fn process(&self, are_stuck: bool, replies: impl IntoIterator<Item = Reply>) -> Process {
        let bodies = Arc::new(Bodies { are_stuck, ..Bodies::default() });
        let tools = Registry::builder().tool::<charge>().tool::<look_up>().tool::<put>().tool::<remove>();
        let tools =
            tools.tool::<sign_in>().add(Caller::new()).provide_shared(Arc::clone(&bodies)).build().unwrap();
        let mut executor = Executor::builder(tools).open_calls(self.open_calls.clone());
        if let Some(journal) = &self.journal {
            executor = executor.journal(journal.clone());
        }
        let executor =
            executor.strategy(self.strategy).program_key(ProgramKey::new([1; 32])).build().unwrap();
        let model = ScriptedModel::new(replies);
        let mut agent = Agent::builder("cashier", model.clone()).tools(executor).limits(self.limits.clone());
        agent = agent.tool_choice(self.tool_choice.clone());
        if let Some(price) = self.price {
            agent = agent.price("scripted", price);
        }
        let runner = self.world.runner_of(agent).with_program_key(ProgramKey::new([1; 32]));
        Process { runner, model, bodies }
    }

    /// Runs `calls` until the body of the stuck one has begun, and ends the process.
    pub(super) async fn crash(&self, calls: impl IntoIterator<Item = ToolCall>) -> Vec<String> {
        let process = self.process(true, [Reply::calls(calls)]);
        let mut events = process.runner.run_with(run("s").with_id("run-1"), "Go.");
        until_stuck(&mut events, &process.bodies).await;
        drop(events);
        self.world.pass(31);
        process.bodies.started()
    }

    /// Stores the first entries of the session `s` as the session `t`, up to its message with the number `messages` and the records of calls after it,
    /// as a process leaves them that ends then.
    pub(super) async fn copy_as_crashed(&self, messages: usize) {
        let lease = LeaseRequest::new("run-1", "crashed");
        let lease = self.world.store.acquire(&key("t"), &lease).await.unwrap().lease;
        let mut remaining = messages;
        let entries = self.world.entries("s").await.into_iter().map(|entry| entry.content);
        let entries: Vec<_> = entries
            .take_while(|content| match &*content.kind {
                EntryContent::MESSAGE => {
                    let is_kept = remaining > 0;
                    remaining = remaining.saturating_sub(1);
                    is_kept
                }
                EntryContent::END => false,
                _ => true,
            })
            .collect();
        let write = SessionWrite::new(0).entries(entries).usage(JsonText::new("{}").unwrap());
        self.world.store.write(&lease, &write).await.unwrap();
        self.world.pass(31);
    }

    pub(super) async fn kinds(&self) -> Vec<String> {
        self.world.kinds("s").await
    }
}

/// Polls a run until the body of a stuck call has begun.
pub(super) async fn until_stuck(events: &mut AgentStream, bodies: &Bodies) {
    until(events, &bodies.stuck).await;
}

/// Polls a run until it is notified.
pub(super) async fn until(events: &mut AgentStream, notify: &Notify) {
    loop {
        tokio::select! {
            () = notify.notified() => return,
            event = events.next() => assert!(event.is_some(), "the run ended"),
        }
    }
}

/// Polls a run until its messages have `count` results.
pub(super) async fn until_results(events: &mut AgentStream, count: usize) {
    let mut results = 0;
    while results < count {
        if let AgentEventKind::Message { message } = events.next().await.unwrap().kind {
            results += message.tool_results().count();
        }
    }
}

pub(super) fn call(tool: &'static str, name: &'static str) -> ToolCall {
    ToolCall::new(tool, json!({ "name": name })).with_id(name)
}

/// Returns a call that the tool `call_tool` redirects to `tool`.
pub(super) fn redirected(tool: &'static str, name: &'static str) -> ToolCall {
    ToolCall::new("call_tool", json!({ "name": tool, "arguments": { "name": name } })).with_id(name)
}

pub(super) fn batch() -> [ToolCall; 5] {
    [
        call("charge", "a"),
        call("look_up", "b"),
        call("put", "c"),
        call("charge", "stuck"),
        call("charge", "d"),
    ]
}

/// Returns the results that the model received last.
pub(super) fn results(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    let results = requests.last().unwrap().messages.iter().flat_map(Message::tool_results);
    results.map(|result| result.text().into_owned()).collect()
}

pub(super) fn failure(reason: EndReason) -> String {
    match reason {
        EndReason::Failed { message } => message,
        other => panic!("{other}"),
    }
}

/// A journal of a program.
#[derive(Clone, Default)]
pub(super) struct ProgramJournal {
    lines: Arc<Mutex<Vec<String>>>,
    pub(super) ended: Arc<Notify>,
}

impl ProgramJournal {
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl CallJournal for ProgramJournal {
    async fn starting(&self, intent: &CallIntent, _: Option<&RunContext>) -> Result<(), ToolError> {
        self.lines.lock().unwrap().push(format!("starts {}", intent.address.call_id));
        match intent.address.call_id == "refused".into() {
            true => Err(ToolError::failed("no")),
            false => Ok(()),
        }
    }

    async fn ended(&self, address: &CallAddress, outcome: &CallOutcome, _: Option<&RunContext>) {
        let text = format!("ended {} {}", address.call_id, outcome.result().is_some_and(|it| !it.is_error()));
        self.lines.lock().unwrap().push(text);
        self.ended.notify_one();
    }
}
