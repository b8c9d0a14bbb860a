//! One call, until its outcome: it is sent, in growing epochs, until a worker answers; the start of a body with effects is given once.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tool_runtime::{
    ErrorKind, ToolContext, ToolError, ToolOutput,
    context::{LogLevel, LogLine},
};

use super::{
    connection::{MAX_UNREAD_REPLIES, Reply},
    route::CallRoute,
    sent::SentCall,
    silence::{Silence, SilenceEnd},
    tool::{RemoteTool, interrupted_error},
    values::StoredRequest,
};
use crate::message::{BodyAnswer, CallEpoch, CallReport, Control, Message, Report};

/// The pauses before a call is sent to another worker, after one that had no slot: each twice as long as the one before.
const FIRST_BUSY_PAUSE: Duration = Duration::from_millis(20);
const MAX_BUSY_PAUSE: Duration = Duration::from_millis(250);

/// The end of an epoch.
enum EpochEnd {
    Outcome(Result<ToolOutput, ToolError>),
    /// The body asks a person, and there is no answer yet.
    Question(ToolError),
    /// No worker received the call.
    NoReceiver,
    /// A worker received it and did not run it.
    Busy,
    Refused(String),
    /// The worker showed no sign of life.
    Lost,
    /// The worker sent more than the caller had room for.
    Overflow,
    /// The worker broke a limit. Its call is cancelled.
    GivenUp(ToolError),
    Closed,
}

impl RemoteTool {
    /// Calls the tool with `arguments`, the canonical text.
    pub(super) async fn call_worker(
        &self,
        arguments: &str,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let connection = self.connection();
        let settings = connection.settings;
        let mut replies = connection.register_replies();
        let mut stored = StoredRequest::new(connection);
        // From the first of several workers without a slot.
        let mut busy_until = None;
        let (mut epoch, mut lost, mut refused, mut pause) = (0, 0, None, FIRST_BUSY_PAUSE);
        let mut route = CallRoute::default();
        loop {
            if connection.closed.is_cancelled() {
                return Err(self.closed_error(false));
            }
            let Some(registry) = route.choose_registry(self, settings.busy).await else {
                return Err(self.no_worker_error(lost, refused));
            };
            epoch += 1;
            let call = CallEpoch { call: replies.name().to_owned(), epoch };
            self.send_call(registry, (call.clone(), arguments), &mut stored, &replies, cx).await?;
            let mut sent = SentCall::new(&mut replies, call, cx);
            let end = follow_epoch(&mut sent).await;
            sent.ended = matches!(end, EpochEnd::Outcome(_) | EpochEnd::Busy | EpochEnd::Refused(_));
            match end {
                // The worker waits for the answer: its call is cancelled, and a new one receives it.
                EpochEnd::Question(question) => return Err(question),
                EpochEnd::Outcome(outcome) => return outcome.map_err(|error| self.rename_error(error)),
                EpochEnd::NoReceiver => route.note_no_receiver(registry),
                EpochEnd::Busy
                    if Instant::now() < *busy_until.get_or_insert(Instant::now() + settings.busy) =>
                {
                    drop(sent);
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MAX_BUSY_PAUSE);
                }
                EpochEnd::Busy => return Err(self.busy_error()),
                EpochEnd::Refused(reason) => {
                    route.note_refused(registry);
                    refused = Some(reason);
                }
                EpochEnd::Lost if sent.started => return Err(interrupted_error(lost + 1, true)),
                EpochEnd::Lost => {
                    busy_until = None;
                    route.note_lost_worker();
                    lost += 1;
                    if lost >= settings.max_workers {
                        return Err(interrupted_error(lost, false));
                    }
                }
                EpochEnd::GivenUp(error) => return Err(error),
                EpochEnd::Overflow => return Err(self.overflow_error(sent.started)),
                EpochEnd::Closed => return Err(self.closed_error(sent.started)),
            }
        }
    }

    fn no_worker_error(&self, lost: u32, refused: Option<String>) -> ToolError {
        let pool = self.connection().channel.pool();
        if lost > 0 {
            return interrupted_error(lost, false);
        }
        let message = match refused {
            None if !self.connection().channel.is_connected() => {
                format!("the connection to the broker of the pool `{pool}` is lost; try again later")
            }
            None => {
                format!("no worker of the pool `{pool}` has this tool; start one, or list the tools again")
            }
            Some(reason) => {
                format!("the workers of the pool `{pool}` refused the call: {reason}; list the tools again")
            }
        };
        ToolError::new(ErrorKind::Unavailable, message).retryable(self.is_harmless())
    }

    fn busy_error(&self) -> ToolError {
        let pool = self.connection().channel.pool();
        let message = format!("all workers of the pool `{pool}` are busy; try again later, or start more");
        ToolError::new(ErrorKind::Unavailable, message).retryable(true)
    }

    fn closed_error(&self, started: bool) -> ToolError {
        let effect = if started { "; the call may have taken effect" } else { "" };
        ToolError::new(ErrorKind::Unavailable, format!("the connection to the workers is closed{effect}"))
    }
    fn overflow_error(&self, started: bool) -> ToolError {
        let effect = if started { "; it may have taken effect" } else { "" };
        ToolError::failed(format!(
            "the call was given up, since {MAX_UNREAD_REPLIES} reports about it were unread when more arrived{effect}"
        ))
    }
}

/// Reads the reports of one epoch, and shows those with contents in their order.
async fn follow_epoch(sent: &mut SentCall<'_>) -> EpochEnd {
    let cx = sent.cx;
    let token = cx.cancellation().clone();
    let lost_after = sent.replies.connection().settings.lost_after;
    // Only a new report of this epoch is a sign of life: others may be forged or repeated.
    let mut silence = Silence::new(lost_after);
    loop {
        while let Some(report) = sent.order.take_next() {
            let report = sent.read_if_stored(report).await;
            if let Some(end) = show_report(sent, report).await {
                return end;
            }
            sent.acknowledge_if_due().await;
        }
        let missing_until = sent.order.missing_until();
        if missing_until.is_some_and(|until| until <= Instant::now()) {
            log_missing(sent.order.skip_missing(), cx);
            continue;
        }
        // While one is missing, others are here, perhaps the outcome.
        let until = missing_until.unwrap_or_else(|| silence.until());
        let reply = tokio::select! {
            biased;
            () = token.cancelled(), if !sent.cancelled && sent.worker.is_some() => {
                sent.send_cancel();
                continue;
            }
            reply = timeout_at(until, sent.replies.next()) => reply,
        };
        let received = match reply {
            Err(_) if missing_until.is_some() => continue,
            Err(_) => match silence.go_on(sent.is_away()) {
                SilenceEnd::Ask => {
                    // Without a connection, questions would wait for it.
                    if !sent.is_away() {
                        sent.ask_for_end();
                    }
                    continue;
                }
                SilenceEnd::Lost => return EpochEnd::Lost,
            },
            Ok(Reply::Closed) => return EpochEnd::Closed,
            Ok(Reply::Overflow) => return EpochEnd::Overflow,
            Ok(Reply::NoReceiver) if sent.worker.is_none() => return EpochEnd::NoReceiver,
            Ok(Reply::NoReceiver) => continue,
            Ok(Reply::Received(received)) => received,
        };
        let Message::Report(report) = received.message else { continue };
        // Of an earlier epoch: a worker that was regarded as lost, and goes on. Of another worker: the broker gave it the same message, too.
        if report.call != sent.call || !sent.bind_worker(&received.sender, report.report.goes_on()) {
            sent.replies.connection().cancel_unowned(report, &received.sender);
            continue;
        }
        let last_sequence = sent.last_sequence;
        if let Some(end) = read_report(sent, report).await {
            return end;
        }
        if sent.last_sequence > last_sequence {
            silence.note_sign();
        }
    }
}

/// Reads a report of the call's worker. One with contents is added to the order.
async fn read_report(sent: &mut SentCall<'_>, report: CallReport) -> Option<EpochEnd> {
    let cx = sent.cx;
    let CallReport { sequence, contents, tokens, report, .. } = report;
    // The worker has begun: a refusal is one of a repeated message.
    let has_begun = sent.started || sent.last_sequence > 0;
    sent.last_sequence = sent.last_sequence.max(sequence);
    sent.order.note_sent(contents);
    sent.budget.count_tokens(tokens, cx);
    match report {
        Report::Busy | Report::Refused(_) if has_begun => {}
        Report::Busy => return Some(EpochEnd::Busy),
        Report::Refused(reason) => return Some(EpochEnd::Refused(reason)),
        Report::Claim if !sent.cancelled && !cx.cancellation().is_cancelled() => sent.give_start().await,
        Report::Claim => {}
        Report::Beat => {
            sent.order.note_beat(sequence);
            sent.acknowledge().await;
        }
        Report::Storing => {
            sent.order.note_storing(contents, sequence);
            sent.acknowledge().await;
        }
        Report::Budget { number, item } => {
            if let Some(grant) = sent.budget.grant_item(number, item, cx).await {
                sent.send_control(grant).await;
            }
        }
        report => {
            if let Some(unread) = sent.order.add_report(contents, report) {
                sent.replies.connection().values.delete_report(&unread);
            }
        }
    }
    None
}

/// Shows the contents of a report; returns the end of the epoch if it is the last one, or a question that has no answer yet.
async fn show_report(sent: &mut SentCall<'_>, report: Report) -> Option<EpochEnd> {
    let cx = sent.cx;
    if !matches!(report, Report::Progress(_) | Report::Log(_)) {
        sent.unshown.log(cx).await;
    }
    match report {
        Report::Output(output) => return Some(EpochEnd::Outcome(Ok(*output))),
        Report::Error(error) => return Some(EpochEnd::Outcome(Err(*error))),
        Report::Update(update) => cx.update(update).await,
        Report::Child(event) => {
            if let Err(error) = sent.children.show_event(*event, cx).await {
                return Some(EpochEnd::GivenUp(error));
            }
        }
        Report::Progress(progress) => sent.unshown.note_report(cx.progress(progress)),
        Report::Log(line) => sent.unshown.note_report(cx.log(line)),
        Report::Question { hint, payload } => {
            let Some(answer) = cx.confirmation_of(&hint, &payload).cloned() else {
                return Some(EpochEnd::Question(cx.request_confirmation(hint, payload)));
            };
            sent.send_control(Control::Answer(BodyAnswer { hint, payload, answer })).await;
        }
        // A stored one was read, or replaced by an error.
        Report::Storing | Report::Stored { .. } => {}
        Report::Busy | Report::Refused(_) | Report::Beat | Report::Claim | Report::Budget { .. } => {}
    }
    None
}

/// Reports in the log of the call that reports of its worker are missing.
fn log_missing(missing: u64, cx: &ToolContext) {
    let reports = if missing == 1 { "1 report".to_owned() } else { format!("{missing} reports") };
    let message = format!("{reports} of the worker (updates, progress, log lines) did not arrive");
    if let Err(error) = cx.log(LogLine::new(LogLevel::Warning, message)) {
        tracing::warn!(%error, missing, "that reports of a remote call are missing was not shown");
    }
}
