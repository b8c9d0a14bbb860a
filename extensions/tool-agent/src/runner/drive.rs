//! The loop of a run: request, response, calls, until an end.

use std::{
    collections::HashSet,
    ops::ControlFlow,
    sync::{Arc, Mutex, atomic::Ordering},
    time::SystemTime,
};

use tool_runtime::{
    ErrorKind, Executor, RunContext, ToolCall, ToolError, call::Incomplete, toolbox::RunDiagnostic,
};

use super::{
    AgentEvent, AgentEventKind, End, EndReason, RunUsage, Runner,
    answers::Input,
    ask::Failure,
    compact::Measured,
    handle::Inbox,
    limits::Repeated,
    open::{OpenBatch, unexecuted},
    output::Submissions,
    session::SessionTurn,
};
use crate::{
    Agent, Limit, Message, QueueMode, Role,
    agent::{CheckFuture, Instruction},
    driven::Emitter,
    guard::guarded,
    hook::{Beside, Step},
    model::{ModelError, ModelErrorKind, Request, Response, ToolChoice},
    telemetry::AgentSpan,
};

/// A run that takes place.
pub(super) struct Drive {
    pub(super) runner: Runner,
    pub(super) run: Arc<RunContext>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) usage: RunUsage,
    pub(super) output: Option<Submissions>,
    /// The requests of hooks.
    pub(super) beside: Beside,
    emitter: Emitter<AgentEvent>,
    pub(super) turn: SessionTurn,
    /// The conversation as the model receives it: with messages that are not stored.
    pub(super) view: Vec<Message>,
    pub(super) tool_choice: ToolChoice,
    pub(super) repeated: Repeated,
    pub(super) text: String,
    /// The check of the user's message, until it has decided.
    pub(super) check: Mutex<Option<CheckFuture>>,
    pub(super) measured: Option<Measured>,
    /// The reason for which the cost of the run is not known.
    pub(super) uncounted: Option<String>,
    /// The diagnostics about tools so far.
    reported: HashSet<String>,
    /// The model is asked again after an empty response, a broken one, and one for a conversation that was too long.
    after_empty: bool,
    after_broken: bool,
    after_too_long: bool,
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
        let beside = Beside::new(runner.0.agent.clone());
        let mut drive = Self {
            runner,
            beside,
            run,
            inbox,
            usage: RunUsage::default(),
            output: None,
            emitter,
            turn,
            view,
            tool_choice,
            repeated: Repeated::default(),
            check: Mutex::default(),
            measured: None,
            uncounted: None,
            reported: HashSet::new(),
            after_empty: false,
            after_broken: false,
            after_too_long: false,
            text: String::new(),
        };
        let mut next = drive.begin(input).await;
        let mut end = loop {
            match next {
                ControlFlow::Break(end) => break end,
                ControlFlow::Continue(()) => next = drive.step().await,
            }
        };
        drive.count_beside().await;
        end.usage = drive.usage;
        if end.text.is_empty() {
            end.text = std::mem::take(&mut drive.text);
        }
        span.ended(&end);
        drive.emit(AgentEventKind::Ended { end }).await;
    }

    /// Starts the run with a message, or with answers to the open calls of its session.
    async fn begin(&mut self, input: Input) -> Next {
        if self.turn.forget_unchecked() {
            self.view.pop();
        }
        match input {
            Input::Message(message) => {
                self.abandon("not answered: the user sent another message").await;
                self.repair().await;
                let check = self.check_of(&message);
                // In one step with the message: the run may be dropped at each wait.
                self.turn.unchecked.store(check.is_some(), Ordering::Release);
                self.check = Mutex::new(check);
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
            |call: &ToolCall| unexecuted(call, "the run was interrupted; the call may have taken effect");
        let results: Vec<_> = last.calls().map(interrupted).collect();
        if !results.is_empty() {
            self.add(Message::results(results)).await;
        }
    }

    /// Takes one round: a request, and the calls of its response.
    async fn step(&mut self) -> Next {
        self.count_beside().await;
        self.before_round()?;
        self.compact_if_full().await?;
        let executor = self.executor().await?;
        let mut step = self.prepared(&executor).await?;
        let Some(response) = self.response(&mut step).await? else { return ControlFlow::Continue(()) };
        let executor = self.executor_of(&step, executor)?;
        self.count(&step, &response).await;
        self.text = response.message.text();
        let calls = complete_calls(&response);
        let is_empty = calls.is_empty() && response.message.content().is_empty();
        if is_empty && !response.truncated {
            return self.empty().await;
        }
        (self.after_empty, self.after_broken, self.after_too_long) = (false, false, false);
        if !is_empty {
            self.add(response.message.clone()).await;
        }
        if calls.is_empty() {
            return self.answered(&step, &response).await;
        }
        if let ControlFlow::Break(end) = self.before_calls(&calls) {
            self.refuse(&calls, &end.reason).await;
            return ControlFlow::Break(end);
        }
        self.ignore_answers().await;
        let (outcomes, after) = self.executed(&executor, calls).await;
        self.turn.open = Some(OpenBatch { executor, outcomes, after });
        if self.tool_choice.is_forced() {
            self.tool_choice = ToolChoice::Auto;
        }
        self.after_calls(step.number, &response).await
    }

    /// Returns the executor with the tools of this round, and reports the tools that it lost.
    async fn executor(&mut self) -> ControlFlow<End, Executor> {
        let (executor, diagnostics) = match self.unless_over(self.agent().0.tools.executor(&self.run)).await {
            Ok(Ok(listed)) => listed,
            Ok(Err(error)) => return failed(error.to_string()),
            Err(failure) => return over(&failure),
        };
        for diagnostic in diagnostics {
            self.report(&diagnostic).await;
        }
        match self.with_approvals(executor) {
            Ok(executor) => ControlFlow::Continue(executor),
            Err(error) => failed(error.to_string()),
        }
    }

    /// Reports a diagnostic about the tools, once in a run: as a notice, and in the log.
    async fn report(&mut self, diagnostic: &RunDiagnostic) {
        let text = diagnostic.to_string();
        if self.reported.insert(text.clone()) {
            tracing::warn!(agent = self.agent().name(), code = diagnostic.code(), diagnostic = ?text, "tools of a run");
            self.emit(AgentEventKind::Notice { text }).await;
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

    /// Prepares a round: its request with instruction, conversation and tools.
    async fn prepared(&self, executor: &Executor) -> ControlFlow<End, Step> {
        let agent = self.agent();
        let instruction = match &agent.0.instruction {
            Instruction::Text(text) => Arc::clone(text),
            Instruction::Of(make) => {
                let panicked = |message| ToolError::new(ErrorKind::Panicked, message);
                match self.unless_over(guarded(|| make(Arc::clone(&self.run)), panicked)).await {
                    Ok(Ok(text)) => text.into(),
                    Ok(Err(error)) => {
                        return failed(format!("the instruction of the agent failed: {}", error.reason()));
                    }
                    Err(failure) => return over(&failure),
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
            has_additions: false,
        };
        let (number, model, beside) = (self.usage.rounds, agent.0.model.clone(), self.beside.clone());
        ControlFlow::Continue(Step { number, model, request, beside })
    }

    /// Returns the response of the round, from the model or from a hook; `None` if the model is asked again.
    async fn response(&mut self, step: &mut Step) -> ControlFlow<End, Option<Response>> {
        let failure = match self.checked(step).await {
            Ok(response) => return ControlFlow::Continue(Some(response)),
            Err(failure) => failure,
        };
        match failure {
            Failure::Model(error) => {
                if self.is_repeated(&error).await? {
                    return ControlFlow::Continue(None);
                }
                let (kind, message) = (error.kind(), error.to_string());
                ControlFlow::Break(End::new(EndReason::ModelFailed { kind, message }))
            }
            Failure::Hook(error) if error.is_stop() => stopped(&error),
            Failure::Hook(error) => failed(error.reason().into_owned()),
            Failure::Cancelled | Failure::Late => over(&failure),
            Failure::Refused(message) => {
                self.withdraw_input(&message).await;
                ControlFlow::Break(End::new(EndReason::Refused { message }))
            }
        }
    }

    /// Returns `true` if the request is made again after this error: once if the response is broken, and once if the
    /// conversation was too long and is shorter now.
    async fn is_repeated(&mut self, error: &ModelError) -> ControlFlow<End, bool> {
        let repeats = match error.kind() {
            ModelErrorKind::Malformed => !std::mem::replace(&mut self.after_broken, true),
            ModelErrorKind::ContextTooLong => {
                !std::mem::replace(&mut self.after_too_long, true) && self.compact().await?
            }
            _ => false,
        };
        if repeats {
            self.emit(AgentEventKind::Withdrawn { reason: error.to_string() }).await;
        }
        ControlFlow::Continue(repeats)
    }

    /// Asks again after the first of several empty responses. An empty response is not stored.
    async fn empty(&mut self) -> Next {
        if std::mem::replace(&mut self.after_empty, true) {
            return ControlFlow::Break(End::new(EndReason::Empty));
        }
        let text = "the response of the model is empty; it is asked again".to_owned();
        self.emit(AgentEventKind::Notice { text }).await;
        ControlFlow::Continue(())
    }

    /// Continues or ends the run after a response without calls.
    async fn answered(&mut self, step: &Step, response: &Response) -> Next {
        let steering = self.agent().0.steering_mode;
        if self.take(steering, Inbox::next_steering).await {
            return ControlFlow::Continue(());
        }
        if response.truncated {
            return ControlFlow::Break(End::new(EndReason::Truncated {
                stop_reason: response.stop_reason.clone(),
            }));
        }
        let Some(ended) = self.output_of(step, response).await? else { return ControlFlow::Continue(()) };
        let end = self.step_end(step.number, response, None);
        for hook in self.hooks() {
            if let Some(message) = self.hooked(&hook, || hook.dynamic().before_end(&end)).await? {
                self.view.push(message);
                return ControlFlow::Continue(());
            }
        }
        let follow_up = self.agent().0.follow_up_mode;
        match self.take(follow_up, Inbox::next_follow_up).await {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(ended),
        }
    }

    /// Takes one or all messages of a queue; `false` if there is none.
    async fn take(&mut self, mode: QueueMode, next: fn(&Inbox) -> Option<Message>) -> bool {
        let mut taken = false;
        while let Some(message) = next(&self.inbox) {
            self.add(message).await;
            taken = true;
            if mode == QueueMode::One {
                break;
            }
        }
        taken
    }
}

/// Returns the calls of a response. The last call of one that was cut off is incomplete.
fn complete_calls(response: &Response) -> Vec<ToolCall> {
    let mut calls: Vec<_> = response.message.calls().cloned().collect();
    if let Some(last) = calls.last_mut().filter(|last| response.truncated && last.incomplete.is_none()) {
        let reason = response.stop_reason.clone().unwrap_or_else(|| "truncated".to_owned());
        last.incomplete = Some(Incomplete::new(reason));
    }
    calls
}

/// Creates an event of a run.
fn event(agent: &Agent, run: &RunContext, kind: AgentEventKind) -> AgentEvent {
    AgentEvent { time: SystemTime::now(), run: run.id().clone(), agent: Arc::clone(&agent.0.name), kind }
}

pub(super) fn limit<T>(limit: Limit, message: String) -> ControlFlow<End, T> {
    ControlFlow::Break(End::new(EndReason::Limit { limit, message }))
}

/// The end of a run that is cancelled, or whose time is over.
pub(super) fn over<T>(failure: &Failure) -> ControlFlow<End, T> {
    match failure {
        Failure::Cancelled => ControlFlow::Break(End::new(EndReason::Cancelled)),
        _ => limit(Limit::Time, "the time of the run is over".to_owned()),
    }
}

pub(super) fn failed<T>(message: String) -> ControlFlow<End, T> {
    ControlFlow::Break(End::new(EndReason::Failed { message }))
}

pub(super) fn stopped<T>(stop: &ToolError) -> ControlFlow<End, T> {
    ControlFlow::Break(End::new(EndReason::Stopped { message: stop.reason().into_owned() }))
}
