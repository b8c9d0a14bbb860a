//! One call of a worker.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::time::MissedTickBehavior;
use tool_runtime::{
    CallOutcome, CancellationToken, ErrorKind, RunContext, ToolCall, ToolDefinition, ToolError,
    call::Operation,
    event::EventKind,
    executor::{CallStream, RunSettings, SharedCallJournal, StreamItem},
};

use super::{
    OTHER_DEFINITION, Server,
    approver::CallerApprover,
    budget::CallerBudget,
    claim::ClaimJournal,
    sent_end::{EndedCalls, SentEnd},
    state::RunningCall,
    values::ReceivedCall,
};
use crate::{
    FleetError,
    channel::Channel,
    message::{CallEpoch, CallReport, CallRequest, Message, REPORT_WINDOW, Report, RunParts},
    trace::trace_members,
    values::LargeValues,
};

/// The time after which a call that has not ended shows that this worker has it: a short one is answered by its outcome alone. Before, its
/// caller cannot cancel it.
const FIRST_BEAT_AFTER: Duration = Duration::from_millis(10);

/// Sends the reports of one call.
pub(super) struct Reporter {
    channel: Channel,
    call: CallEpoch,
    /// The subject of the caller.
    to: String,
    /// The subject of this worker for controls of the call.
    control: String,
    sequence: AtomicU64,
    /// The last number of a report with contents.
    contents: AtomicU64,
    /// The greatest number of a report with contents that was sent, or left out.
    sent: AtomicU64,
    /// The number of tokens that child runs have used.
    tokens: AtomicU64,
    /// The store for reports that are too large for the broker.
    pub(super) values: Option<Arc<LargeValues>>,
    pub(super) heartbeat: Duration,
    pub(super) running: Arc<RunningCall>,
    /// Keeps the end of the call, if its body has effects.
    ended: Option<Arc<EndedCalls>>,
}

impl Reporter {
    /// Sends a report, whose message returns to this worker if the caller is gone.
    pub(super) async fn send_report(&self, report: Report) -> Result<(), ToolError> {
        // Taken before it is sent: questions of the body and its other reports are sent beside each other.
        let number = report.has_contents().then(|| self.contents.fetch_add(1, Ordering::Relaxed) + 1);
        let contents = number.unwrap_or_else(|| self.sent.load(Ordering::Relaxed));
        let message = self.message_of(contents, report);
        // Boxed, since the future of a call has one for each place that reports.
        let sent = match Box::pin(self.send_or_return(message)).await {
            Err((error, Some(message))) => Box::pin(self.send_too_large(error, message)).await,
            sent => sent.map_err(|(error, _)| error),
        };
        if let Some(number) = number {
            // Also if it was not sent: the caller counts it as missing.
            self.sent.fetch_max(number, Ordering::Relaxed);
        }
        sent.map_err(|error| {
            ToolError::new(ErrorKind::Unavailable, format!("the report of a worker was not sent: {error}"))
        })
    }

    /// Returns the message of a report, with the number of reports with contents.
    fn message_of(&self, contents: u64, report: Report) -> Message {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        let tokens = self.tokens.load(Ordering::Relaxed);
        Message::Report(CallReport { call: self.call.clone(), sequence, contents, tokens, report })
    }

    /// Returns the number of reports with contents that were sent, or left out.
    pub(super) fn sent_reports(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Sends a report about, or in place of, the report with contents of the number `contents`.
    pub(super) async fn send_as(&self, contents: u64, report: Report) -> Result<(), FleetError> {
        self.send_or_return(self.message_of(contents, report)).await.map_err(|(error, _)| error)
    }

    /// Sends a message; returns one that is too large for the broker. The end of a call is kept.
    async fn send_or_return(&self, message: Message) -> Result<(), (FleetError, Option<Box<Message>>)> {
        let ends = matches!(&message, Message::Report(report) if report.report.ends_call());
        let sealed = self.channel.seal_message(&self.to, Some(&self.control), message)?;
        if let Some(ended) = self.ended.as_ref().filter(|_| ends) {
            let (to, control) = (self.to.clone(), self.control.clone());
            ended.keep_end(&self.call, SentEnd { to, control, sealed: sealed.clone() });
        }
        let sent = self.channel.send_sealed(&self.to, Some(&self.control), sealed).await;
        sent.map_err(|error| (error, None))
    }

    /// Returns `true` if the end of the call is sent again once its caller asks.
    pub(super) fn keeps_end(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.has_end(&self.call, &self.to))
    }

    /// Sends a report of a call that goes on without it. The caller sees that one with contents is missing.
    pub(super) async fn send_if_possible(&self, report: Report) {
        if let Err(error) = self.send_report(report).await {
            tracing::warn!(%error, "a report of a running call was not sent");
        }
    }

    /// Counts tokens of child runs, of which the caller learns with the next report.
    pub(super) fn count_tokens(&self, tokens: u64) {
        self.tokens.fetch_add(tokens, Ordering::Relaxed);
    }

    /// Leaves out a report with contents, which the caller counts as missing.
    fn skip_report(&self) {
        let number = self.contents.fetch_add(1, Ordering::Relaxed) + 1;
        self.sent.fetch_max(number, Ordering::Relaxed);
    }

    /// Waits until the caller has read enough for one more report; `false` if the report is to be left out, since the caller is gone or has
    /// cancelled the call.
    async fn wait_for_room(&self, running: &RunningCall) -> bool {
        let contents = self.contents.load(Ordering::Relaxed);
        if contents < REPORT_WINDOW {
            return true;
        }
        let mut read = running.read().subscribe();
        tokio::select! {
            biased;
            room = read.wait_for(|read| contents.saturating_sub(*read) < REPORT_WINDOW) => room.is_ok(),
            () = running.token.cancelled() => false,
            () = running.caller_left().cancelled() => false,
        }
    }
}

/// Removes a call when its task ends, also by a panic.
struct Registration<'a>(&'a Server, CallEpoch);

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        self.0.calls.remove_call(&self.1);
    }
}

impl Server {
    /// Runs a call, and reports until its end.
    pub(super) async fn run_call(
        self: Arc<Self>,
        received: ReceivedCall,
        to: String,
        running: Arc<RunningCall>,
    ) {
        let _slot = self.channel.metrics().take_slot();
        let registration = Registration(&self, received.call().clone());
        let control = self.channel.own_subject(&received.call().call);
        let (channel, call) = (self.channel.clone(), received.call().clone());
        let (values, heartbeat) = (self.values_for(&received), self.worker.heartbeat);
        let (sequence, contents, sent, tokens) =
            (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let is_harmless = self.index.is_harmless(received.definition());
        let ended = (!is_harmless).then(|| Arc::clone(&self.ended));
        let reporter = Arc::new(Reporter {
            channel,
            call,
            to,
            control,
            sequence,
            contents,
            sent,
            tokens,
            values,
            heartbeat,
            running: Arc::clone(&running),
            ended,
        });
        if let ReceivedCall::Whole(request) = &received
            && let Some(reason) = self.changes_arguments(request.definition, &request.arguments)
        {
            reporter.send_if_possible(Report::Refused(reason)).await;
            return;
        }
        let count = self.channel.metrics().begin_run();
        let request = match received {
            ReceivedCall::Whole(request) => Ok(request),
            // Boxed, so that the future of other calls has no room for it.
            received => Box::pin(self.read_request(received, &reporter, &running)).await,
        };
        let result = match request.and_then(|request| self.stream_of(request, &reporter, &running)) {
            Ok(stream) => self.report_until_end(stream, &reporter, &running).await,
            Err(error) => Err(error),
        };
        let report = match result {
            Ok(report) => report,
            Err(error) => Report::Error(Box::new(error)),
        };
        count.end(report.error());
        if let Err(error) = reporter.send_report(report).await {
            if reporter.keeps_end() {
                tracing::warn!(%error, "the outcome of a call was not sent, and is sent again once its caller asks");
                return;
            }
            // The caller learns that there is a result, and why it is not here.
            let error =
                ToolError::failed(format!("the call ended, and its result is lost: {}", error.feedback()));
            if let Err(error) = reporter.send_report(Report::Error(Box::new(error))).await {
                tracing::warn!(%error, "the outcome of a call was not sent");
            }
        }
        drop(registration);
    }

    /// Begins the call in an executor of its own run.
    fn stream_of(
        &self,
        mut request: Box<CallRequest>,
        reporter: &Arc<Reporter>,
        running: &Arc<RunningCall>,
    ) -> Result<CallStream, ToolError> {
        let Some(definition) = self.index.definition(request.definition) else {
            return Err(ToolError::new(ErrorKind::Unavailable, OTHER_DEFINITION));
        };
        let (call, mut run) = call_in_run(definition, &mut request, running.token.clone());
        if request.run.is_some_and(|run| run.has_budget) {
            run = run.with_budget_source(Arc::new(CallerBudget {
                reporter: Arc::clone(reporter),
                running: running.clone(),
                heartbeat: self.worker.heartbeat,
            }));
        }
        let approver = CallerApprover {
            reporter: Arc::clone(reporter),
            running: running.clone(),
            heartbeat: self.worker.heartbeat,
            approval: request.approval,
        };
        let executor = &self.worker.executor;
        let mut settings = RunSettings::new()
            .single_attempt(true)
            .unshared_open_calls(true)
            .prepared_calls(executor.tools().steps_of(definition.name()).prepares_arguments)
            .streams_reports(true)
            .approver(approver);
        // A body that may be repeated has no start to give; the executor's own journal has its end.
        if !self.index.is_harmless(request.definition) {
            settings = settings.journal(SharedCallJournal::new(ClaimJournal {
                reporter: Arc::clone(reporter),
                running: running.clone(),
                heartbeat: self.worker.heartbeat,
                own: executor.journal().cloned(),
            }));
        }
        let executor = executor
            .with_settings(&run, settings)
            .map_err(|error| ToolError::failed(format!("the worker cannot run the call: {error}")))?;
        Ok(executor.batch(vec![call]).with_run(run).stream())
    }

    /// Passes on what the call reports, as fast as the caller reads it, and shows that this worker lives.
    async fn report_until_end(
        &self,
        mut stream: CallStream,
        reporter: &Reporter,
        running: &RunningCall,
    ) -> Result<Report, ToolError> {
        let first_beat = tokio::time::Instant::now() + self.worker.heartbeat.min(FIRST_BEAT_AFTER);
        let mut beat = tokio::time::interval_at(first_beat, self.worker.heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let item = tokio::select! {
                biased;
                item = stream.next() => item,
                _ = beat.tick() => {
                    reporter.send_if_possible(Report::Beat).await;
                    continue;
                }
            };
            let report = match item {
                Some(StreamItem::Event(event)) => report_of(event.kind),
                Some(StreamItem::Outcomes(outcomes)) => {
                    return outcomes.into_iter().next().map_or_else(|| Err(no_outcome()), end_report);
                }
                None => return Err(no_outcome()),
            };
            let Some(report) = report else { continue };
            let has_room = loop {
                tokio::select! {
                    biased;
                    has_room = reporter.wait_for_room(running) => break has_room,
                    _ = beat.tick() => reporter.send_if_possible(Report::Beat).await,
                }
            };
            match has_room {
                true => reporter.send_if_possible(report).await,
                false => reporter.skip_report(),
            }
        }
    }
}

/// Takes the call of a request, and its run, which `token` cancels.
pub(super) fn call_in_run(
    definition: &ToolDefinition,
    request: &mut CallRequest,
    token: CancellationToken,
) -> (ToolCall, RunContext) {
    let arguments = std::mem::take(&mut request.arguments);
    let mut call = ToolCall::new(definition.name().to_string(), arguments)
        .with_id(request.address.call_id.to_string())
        .with_address(request.address.clone())
        .with_resources(std::mem::take(&mut request.resources));
    if let Some(meta) = request.meta.take() {
        call = call.with_meta(meta);
    }
    let mut run = run_of(request.run.as_ref(), request.time_left).with_cancellation(token);
    if request.run.is_none() {
        run = call.meta.as_ref().map(trace_members).into_iter().fold(run, RunContext::with_meta);
    }
    (call, run)
}

/// Returns the run of a call, with the parts that travel.
pub(super) fn run_of(parts: Option<&RunParts>, time_left: Option<u64>) -> RunContext {
    let mut run = RunContext::new();
    if let Some(parts) = parts {
        run = run.with_id(parts.id.as_str()).with_meta(parts.meta.clone()).with_state(parts.state.clone());
        run = parts.app.iter().fold(run, RunContext::with_app);
        run = parts.agent.iter().fold(run, RunContext::with_agent);
        run = parts.user.iter().fold(run, RunContext::with_user);
        run = parts.session.iter().fold(run, RunContext::with_session);
        run = parts.user_content.iter().fold(run, RunContext::with_user_content);
    }
    let end = time_left.and_then(|left| Instant::now().checked_add(Duration::from_millis(left)));
    end.into_iter().fold(run, RunContext::with_deadline)
}

/// Returns the report of an event that the caller shows.
fn report_of(event: EventKind) -> Option<Report> {
    match event {
        EventKind::Updated { update, .. } => Some(Report::Update(update)),
        EventKind::Progress { progress } => Some(Report::Progress(progress)),
        EventKind::Log { line } => Some(Report::Log((*line).clone())),
        EventKind::Child { event } => Some(Report::Child(Box::new(Arc::unwrap_or_clone(event)))),
        _ => None,
    }
}

fn no_outcome() -> ToolError {
    ToolError::new(ErrorKind::Internal, "the executor of the worker returned no outcome")
}

fn end_report(outcome: CallOutcome) -> Result<Report, ToolError> {
    match outcome {
        CallOutcome::Finished(result) => result.outcome.map(|output| Report::Output(Box::new(output))),
        CallOutcome::Pending(pending) if matches!(pending.operation, Operation::LongRunning(_)) => {
            let interim = pending.result.map_or_else(|| Err(no_outcome()), |result| result.outcome);
            interim.map(|output| Report::Output(Box::new(output)))
        }
        CallOutcome::Pending(_) | CallOutcome::External(..) => Err(ToolError::new(
            ErrorKind::Unavailable,
            "the worker left the call open, and its answer has no way back; run this tool in the program of the caller",
        )),
    }
}
