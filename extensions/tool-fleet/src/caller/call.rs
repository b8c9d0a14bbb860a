//! One call, until its outcome: it is sent, in growing epochs, until a worker answers; the start of a body with effects is given once.

use std::time::Duration;

use serde_json::Map;
use tokio::time::{Instant, timeout_at};
use tool_runtime::{ErrorKind, ToolContext, ToolError, ToolOutput};

use super::{
    connection::{Connection, Replies, Reply},
    tool::RemoteTool,
};
use crate::message::{CallControl, CallEpoch, CallReport, CallRequest, Control, Message, Report, RunParts};

/// The pauses before a call is sent to another worker, after one that had no slot: each twice as long as the one before.
const FIRST_BUSY_PAUSE: Duration = Duration::from_millis(20);
const MAX_BUSY_PAUSE: Duration = Duration::from_millis(250);

/// The limit of a run's state that travels with a call, in bytes.
const MAX_STATE_BYTES: usize = 256 * 1024;

/// The end of an epoch.
enum EpochEnd {
    Outcome(Result<ToolOutput, ToolError>),
    /// No worker received the call.
    NoReceiver,
    /// A worker received it and did not run it.
    Busy,
    Refused(String),
    /// The worker showed no sign of life.
    Lost,
    Closed,
}

/// A call that was sent; dropping it cancels the call.
struct SentCall<'a> {
    connection: &'a Connection,
    call: CallEpoch,
    /// The worker's subject for controls, once it is known.
    control: Option<String>,
    /// The start was given.
    started: bool,
    /// There is nothing to cancel.
    ended: bool,
    cancelled: bool,
    last_sequence: u64,
}

impl SentCall<'_> {
    fn control_message(&self, control: Control) -> Option<(String, CallControl)> {
        Some((self.control.clone()?, CallControl { call: self.call.clone(), control }))
    }

    fn send_cancel(&mut self) {
        if !self.cancelled
            && let Some((subject, control)) = self.control_message(Control::Cancel)
        {
            self.cancelled = true;
            self.connection.send_later(subject, control);
        }
    }
}

impl Drop for SentCall<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.send_cancel();
        }
    }
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
        let busy_until = Instant::now() + settings.busy;
        let (mut epoch, mut lost, mut refused, mut pause) = (0, 0, None, FIRST_BUSY_PAUSE);
        loop {
            let registries = self.live_registries();
            let Some(registry) = registries.get(fastrand::usize(..registries.len().max(1))).copied() else {
                return Err(self.no_worker_error(lost, refused));
            };
            epoch += 1;
            let call = CallEpoch { call: replies.name().to_owned(), epoch };
            let request = self.call_request(call.clone(), arguments, cx)?;
            let subject = connection.channel.calls_subject(registry);
            let sent = connection.channel.send_message(&subject, Some(&replies.subject()), request).await;
            sent.map_err(|error| ToolError::new(ErrorKind::Unavailable, error.to_string()))?;
            let mut sent = SentCall {
                connection,
                call,
                control: None,
                started: false,
                ended: false,
                cancelled: false,
                last_sequence: 0,
            };
            let end = self.follow_epoch(&mut sent, &mut replies, cx).await;
            sent.ended = matches!(end, EpochEnd::Outcome(_) | EpochEnd::Busy | EpochEnd::Refused(_));
            match end {
                EpochEnd::Outcome(outcome) => return outcome,
                EpochEnd::NoReceiver => connection.workers.remove_registry(registry),
                EpochEnd::Busy if Instant::now() < busy_until => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MAX_BUSY_PAUSE);
                }
                EpochEnd::Busy => return Err(self.busy_error()),
                EpochEnd::Refused(reason) => {
                    connection.workers.remove_registry(registry);
                    refused = Some(reason);
                }
                EpochEnd::Lost if sent.started => return Err(self.interrupted_error(lost + 1, true)),
                EpochEnd::Lost => {
                    lost += 1;
                    if lost >= settings.max_workers {
                        return Err(self.interrupted_error(lost, false));
                    }
                }
                EpochEnd::Closed => return Err(self.closed_error(sent.started)),
            }
        }
    }

    /// Reads the reports of one epoch.
    async fn follow_epoch(
        &self,
        sent: &mut SentCall<'_>,
        replies: &mut Replies,
        cx: &ToolContext,
    ) -> EpochEnd {
        let token = cx.cancellation().clone();
        let lost_after = sent.connection.settings.lost_after;
        // Only a new report of this epoch is a sign of life: others may be forged or repeated.
        let mut lost_at = Instant::now() + lost_after;
        loop {
            let reply = tokio::select! {
                biased;
                () = token.cancelled(), if !sent.cancelled && sent.control.is_some() => {
                    sent.send_cancel();
                    continue;
                }
                reply = timeout_at(lost_at, replies.next()) => reply,
            };
            let received = match reply {
                Err(_) => return EpochEnd::Lost,
                Ok(None) => return EpochEnd::Closed,
                Ok(Some(Reply::NoReceiver)) if sent.control.is_none() => return EpochEnd::NoReceiver,
                Ok(Some(Reply::NoReceiver)) => continue,
                Ok(Some(Reply::Received(received))) => received,
            };
            let Message::Report(report) = received.message else { continue };
            // Of an earlier epoch: a worker that was regarded as lost, and goes on.
            if report.call != sent.call {
                sent.connection.cancel_unowned(report);
                continue;
            }
            let last_sequence = sent.last_sequence;
            if let Some(end) = self.read_report(sent, report, cx).await {
                return end;
            }
            if sent.last_sequence > last_sequence {
                lost_at = Instant::now() + lost_after;
            }
        }
    }

    async fn read_report(
        &self,
        sent: &mut SentCall<'_>,
        report: CallReport,
        cx: &ToolContext,
    ) -> Option<EpochEnd> {
        // The broker gave the same message to another worker, too.
        if sent.control.as_ref().is_some_and(|known| *known != report.control) {
            sent.connection.cancel_unowned(report);
            return None;
        }
        let CallReport { control, sequence, report, .. } = report;
        sent.control.get_or_insert(control);
        // The worker has begun: a refusal is one of a repeated message.
        let has_begun = sent.started || sent.last_sequence > 0;
        let is_new = sequence > sent.last_sequence;
        sent.last_sequence = sent.last_sequence.max(sequence);
        match report {
            Report::Busy | Report::Refused(_) if has_begun => {}
            Report::Busy => return Some(EpochEnd::Busy),
            Report::Refused(reason) => return Some(EpochEnd::Refused(reason)),
            Report::Output(output) => return Some(EpochEnd::Outcome(Ok(*output))),
            Report::Error(error) => return Some(EpochEnd::Outcome(Err(*error))),
            // Asked again, the worker receives the same start once more.
            Report::Claim if !sent.cancelled && !cx.cancellation().is_cancelled() => {
                let (subject, control) = sent.control_message(Control::Start)?;
                // Before it is sent: from here on, the body may have run.
                sent.started = true;
                let given =
                    sent.connection.channel.send_message(&subject, None, Message::Control(control)).await;
                if let Err(error) = given {
                    tracing::warn!(%error, "the start of a call was not sent");
                }
            }
            Report::Update(update) if is_new => cx.update(update).await,
            Report::Progress(progress) if is_new => {
                if let Err(error) = cx.progress(progress) {
                    tracing::warn!(%error, "the progress of a remote call was not shown");
                }
            }
            Report::Log(line) if is_new => {
                if let Err(error) = cx.log(line) {
                    tracing::warn!(%error, "a log line of a remote call was not shown");
                }
            }
            Report::Claim | Report::Beat | Report::Update(_) | Report::Progress(_) | Report::Log(_) => {}
        }
        None
    }

    fn call_request(&self, call: CallEpoch, arguments: &str, cx: &ToolContext) -> Result<Message, ToolError> {
        let time_left = cx.deadline().map(|end| {
            let left = end.saturating_duration_since(std::time::Instant::now());
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
        });
        let run = cx.run().map(|run| run_parts(run, cx)).transpose()?;
        Ok(Message::Call(Box::new(CallRequest {
            call,
            definition: self.hash(),
            arguments: arguments.to_owned(),
            address: cx.address(),
            time_left,
            approval: cx.approval().cloned(),
            meta: cx.meta().cloned(),
            run,
        })))
    }

    fn no_worker_error(&self, lost: u32, refused: Option<String>) -> ToolError {
        let pool = self.connection().channel.pool();
        if lost > 0 {
            return self.interrupted_error(lost, false);
        }
        let message = match refused {
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

    /// The error of a call whose `workers` have ended; `started` tells whether the last one had obtained the start of a body with effects.
    fn interrupted_error(&self, workers: u32, started: bool) -> ToolError {
        let effect = if started { "; it may have taken effect, and is not run again" } else { "" };
        let of_workers = if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
        ToolError::failed(format!("the call was interrupted: {of_workers} ended during it{effect}"))
    }

    fn closed_error(&self, started: bool) -> ToolError {
        let effect = if started { "; the call may have taken effect" } else { "" };
        ToolError::new(ErrorKind::Unavailable, format!("the connection to the workers is closed{effect}"))
    }
}

/// Returns the parts of a run that travel.
fn run_parts(run: &tool_runtime::RunContext, cx: &ToolContext) -> Result<RunParts, ToolError> {
    let values =
        cx.state().names().into_iter().filter_map(|name| Some((name.clone(), cx.state().value(&name)?)));
    let state: Map<_, _> = values.collect();
    let bytes = serde_json::to_string(&state).map_or(usize::MAX, |text| text.len());
    if bytes > MAX_STATE_BYTES {
        return Err(ToolError::failed(format!(
            "the state of the run has {bytes} bytes, and a remote call takes at most {MAX_STATE_BYTES}"
        )));
    }
    Ok(RunParts {
        id: run.id().to_string(),
        app: run.app().map(str::to_owned),
        agent: run.agent().map(str::to_owned),
        user: run.user().map(str::to_owned),
        session: run.session().map(str::to_owned),
        meta: run.meta().clone(),
        state,
    })
}
