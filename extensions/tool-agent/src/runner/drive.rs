//! The loop of a run: step, response, calls, until an end.

use std::{ops::ControlFlow, sync::Arc, time::SystemTime};

use tool_runtime::{ErrorKind, Executor, RunContext, ToolCall, ToolError};

use super::{
    AgentEvent, AgentEventKind, End, EndReason, RunUsage, Runner,
    answers::Input,
    ask::Failure,
    handle::Inbox,
    limits::Repeated,
    open::{OpenBatch, unanswered},
    output::Submissions,
    session::Turn,
};
use crate::{
    Agent, Limit, Message, Role,
    agent::Instruction,
    driven::Emitter,
    guard::guarded,
    hook::{BoxAgentHook, Step, StepEnd},
    model::{Request, Response, ToolChoice},
    telemetry::AgentSpan,
};

/// A run that takes place.
pub(super) struct Drive {
    pub(super) runner: Runner,
    pub(super) run: Arc<RunContext>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) usage: RunUsage,
    pub(super) output: Option<Submissions>,
    emitter: Emitter<AgentEvent>,
    pub(super) turn: Turn,
    /// The conversation as the model receives it: with messages that are not stored.
    pub(super) view: Vec<Message>,
    pub(super) tool_choice: ToolChoice,
    pub(super) repeated: Repeated,
    pub(super) text: String,
}

/// The continuation or the end of a run.
pub(super) type Next = ControlFlow<End>;

impl Drive {
    /// Runs an agent to its end.
    pub(super) async fn run(
        runner: Runner,
        run: Arc<RunContext>,
        inbox: Arc<Inbox>,
        emitter: Emitter<AgentEvent>,
        input: Input,
        mut span: AgentSpan,
    ) {
        let turn = run.cancellation().run_until_cancelled(runner.0.sessions.turn(&run)).await;
        let Some(turn) = turn else {
            let end = End::new(EndReason::Cancelled);
            span.ended(&end);
            let kind = AgentEventKind::Ended { end };
            return emitter.emit(event(&runner.0.agent, &run, kind)).await;
        };
        let tool_choice = runner.0.agent.0.tool_choice.clone();
        let view = turn.messages.clone();
        let mut drive = Self {
            runner,
            run,
            inbox,
            usage: RunUsage::default(),
            output: None,
            emitter,
            turn,
            view,
            tool_choice,
            repeated: Repeated::default(),
            text: String::new(),
        };
        let mut next = drive.begin(input).await;
        let mut end = loop {
            match next {
                ControlFlow::Break(end) => break end,
                ControlFlow::Continue(()) => next = drive.step().await,
            }
        };
        end.usage = drive.usage;
        if end.text.is_empty() {
            end.text = std::mem::take(&mut drive.text);
        }
        span.ended(&end);
        drive.emit(AgentEventKind::Ended { end }).await;
    }

    /// Starts the run with a message, or with answers to the open calls of its session.
    async fn begin(&mut self, input: Input) -> Next {
        match input {
            Input::Message(message) => {
                self.abandon("not answered: the user sent another message").await;
                self.repair().await;
                self.add(message).await;
                self.expect_output()
            }
            Input::Answers(answers) => {
                self.expect_output()?;
                self.answered_later(answers).await
            }
        }
    }

    pub(super) fn agent(&self) -> &Agent {
        &self.runner.0.agent
    }

    pub(super) async fn emit(&self, kind: AgentEventKind) {
        self.emitter.emit(event(self.agent(), &self.run, kind)).await;
    }

    /// All hooks: those of the runner, then those of the agent.
    pub(super) fn hooks(&self) -> Vec<BoxAgentHook> {
        self.runner.0.hooks.iter().chain(&self.agent().0.hooks).cloned().collect()
    }

    /// Stores a message in the conversation.
    pub(super) async fn add(&mut self, message: Message) {
        self.turn.messages.push(message.clone());
        self.view.push(message.clone());
        self.emit(AgentEventKind::Message { message }).await;
    }

    /// Answers the calls of a run that was dropped before their results were stored: each call has a result.
    async fn repair(&mut self) {
        let Some(last) = self.turn.messages.last().filter(|last| last.role() == Role::Assistant) else {
            return;
        };
        let interrupted =
            |call: &ToolCall| unanswered(call, "the run was interrupted; the call may have taken effect");
        let results: Vec<_> = last.calls().map(interrupted).collect();
        if !results.is_empty() {
            self.add(Message::results(results)).await;
        }
    }

    /// Takes one step: a request, and the calls of its response.
    async fn step(&mut self) -> Next {
        self.before_round()?;
        let executor = self.executor().await?;
        let mut step = self.prepared(&executor).await?;
        let response = self.response(&mut step).await?;
        let executor = self.executor_of(&step, executor)?;
        self.count(&response).await;
        self.text = response.message.text();
        self.add(response.message.clone()).await;
        let calls: Vec<_> = response.message.calls().cloned().collect();
        if calls.is_empty() {
            return self.answered(&step, &response).await;
        }
        if let ControlFlow::Break(end) = self.before_calls(&calls) {
            self.refuse(&calls, &end.reason).await;
            return ControlFlow::Break(end);
        }
        let (outcomes, after) = self.executed(&executor, calls).await;
        self.turn.open = Some(OpenBatch { executor, outcomes, after });
        if self.tool_choice.is_forced() {
            self.tool_choice = ToolChoice::Auto;
        }
        self.after_calls(step.number, &response).await
    }

    /// Returns the executor with the tools of this round.
    async fn executor(&self) -> ControlFlow<End, Executor> {
        let executor = match self.agent().0.tools.executor(&self.run).await {
            Ok(executor) => executor,
            Err(error) => return failed(error.to_string()),
        };
        match self.with_approvals(executor) {
            Ok(executor) => ControlFlow::Continue(executor),
            Err(error) => failed(error.to_string()),
        }
    }

    /// Returns the executor of the tools of `step`, which a hook may have changed.
    fn executor_of(&self, step: &Step, executor: Executor) -> ControlFlow<End, Executor> {
        if std::ptr::eq(step.request.tools.definitions(), executor.tools().definitions()) {
            return ControlFlow::Continue(executor);
        }
        match executor.with_tools(step.request.tools.clone()) {
            Ok(executor) => ControlFlow::Continue(executor),
            Err(error) => failed(error.to_string()),
        }
    }

    /// Prepares a step: its request with instruction, conversation and tools.
    async fn prepared(&self, executor: &Executor) -> ControlFlow<End, Step> {
        let agent = self.agent();
        let instruction = match &agent.0.instruction {
            Instruction::Text(text) => Arc::clone(text),
            Instruction::Of(make) => {
                let panicked = |message| ToolError::new(ErrorKind::Panicked, message);
                match guarded(|| make(Arc::clone(&self.run)), panicked).await {
                    Ok(text) => text.into(),
                    Err(error) => {
                        return failed(format!("the instruction of the agent failed: {}", error.reason()));
                    }
                }
            }
        };
        let request = Request {
            instruction,
            messages: self.view.clone(),
            tools: executor.tools().clone(),
            tool_choice: self.tool_choice.clone(),
            output: None,
            cache: Vec::new(),
            parameters: agent.0.parameters.clone(),
            run: Arc::clone(&self.run),
        };
        ControlFlow::Continue(Step { number: self.usage.rounds, model: agent.0.model.clone(), request })
    }

    /// Returns the response of the step, from the model or from a hook.
    async fn response(&self, step: &mut Step) -> ControlFlow<End, Response> {
        match self.asked(step).await {
            Ok(response) => ControlFlow::Continue(response),
            Err(Failure::Model(error)) => ControlFlow::Break(End::new(EndReason::ModelFailed {
                kind: error.kind(),
                message: error.to_string(),
            })),
            Err(Failure::Hook(error)) if error.is_stop() => stopped(&error),
            Err(Failure::Hook(error)) => failed(error.reason().into_owned()),
            Err(Failure::Cancelled) => ControlFlow::Break(End::new(EndReason::Cancelled)),
            Err(Failure::Late) => limit(Limit::Time, "the time of the run is over".to_owned()),
        }
    }

    async fn count(&mut self, response: &Response) {
        let Some(usage) = response.usage else { return };
        self.usage.add(&usage);
        // An exceeded budget ends the run before its next round.
        drop(self.run.count_tokens(usage));
        self.emit(AgentEventKind::Usage { usage, total: self.usage }).await;
    }

    /// Continues or ends the run after a response without calls.
    async fn answered(&mut self, step: &Step, response: &Response) -> Next {
        if let Some(message) = self.inbox.next_steering() {
            self.add(message).await;
            return ControlFlow::Continue(());
        }
        if response.truncated {
            return ControlFlow::Break(End::new(EndReason::Truncated {
                stop_reason: response.stop_reason.clone(),
            }));
        }
        if response.message.content().is_empty() {
            return ControlFlow::Break(End::new(EndReason::Empty));
        }
        let Some(ended) = self.output_of(step, response).await? else { return ControlFlow::Continue(()) };
        for hook in self.hooks() {
            let end = StepEnd { number: step.number, response, results: None, run: &self.run };
            if let Some(message) = self.hooked(&hook, hook.dynamic().before_end(&end)).await? {
                self.view.push(message);
                return ControlFlow::Continue(());
            }
        }
        if let Some(message) = self.inbox.next_follow_up() {
            self.add(message).await;
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(ended)
    }

    /// Awaits the future of a hook.
    pub(super) async fn hooked<T>(
        &self,
        hook: &BoxAgentHook,
        asked: impl Future<Output = Result<T, ToolError>>,
    ) -> ControlFlow<End, T> {
        let panicked = |message| ToolError::new(ErrorKind::Panicked, message);
        match guarded(|| asked, panicked).await {
            Ok(answer) => ControlFlow::Continue(answer),
            Err(error) if error.is_stop() => stopped(&error),
            Err(error) => failed(format!("the hook `{}` failed: {}", hook.name(), error.reason())),
        }
    }
}

/// Creates an event of a run.
fn event(agent: &Agent, run: &RunContext, kind: AgentEventKind) -> AgentEvent {
    AgentEvent { time: SystemTime::now(), run: run.id().clone(), agent: Arc::clone(&agent.0.name), kind }
}

pub(super) fn limit<T>(limit: Limit, message: String) -> ControlFlow<End, T> {
    ControlFlow::Break(End::new(EndReason::Limit { limit, message }))
}

pub(super) fn failed<T>(message: String) -> ControlFlow<End, T> {
    ControlFlow::Break(End::new(EndReason::Failed { message }))
}

pub(super) fn stopped<T>(stop: &ToolError) -> ControlFlow<End, T> {
    ControlFlow::Break(End::new(EndReason::Stopped { message: stop.reason().into_owned() }))
}
