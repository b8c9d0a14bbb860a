//! The worker's side of large values: it reads the requests of calls, and stores reports.

use std::{sync::Arc, time::Instant};

use tokio::time::MissedTickBehavior;
use tool_runtime::{
    ErrorKind, ToolError,
    context::{LogLevel, LogLine},
    definition::ContentHash,
};

use super::{OTHER_DEFINITION, Server, call::Reporter, state::RunningCall, steps::StepRequest};
use crate::{
    FleetError,
    message::{CallEpoch, CallReport, CallRequest, Message, Report, StoredCall},
    values::{LargeValues, ValueOwner, ValueReference},
};

/// A call as it was received.
pub(super) enum ReceivedCall {
    Whole(Box<CallRequest>),
    /// Its request is in the store.
    Stored(Box<StoredCall>),
}

impl ReceivedCall {
    pub(super) fn of_message(message: Message) -> Option<Self> {
        match message {
            Message::Call(request) => Some(Self::Whole(request)),
            Message::StoredCall(stored) => Some(Self::Stored(stored)),
            _ => None,
        }
    }

    pub(super) fn call(&self) -> &CallEpoch {
        match self {
            Self::Whole(request) => &request.call,
            Self::Stored(stored) => &stored.call,
        }
    }

    pub(super) fn definition(&self) -> ContentHash {
        match self {
            Self::Whole(request) => request.definition,
            Self::Stored(stored) => stored.definition,
        }
    }

    /// Returns `true` if the caller reads reports in the store.
    fn reads_values(&self) -> bool {
        match self {
            Self::Whole(request) => request.reads_values,
            Self::Stored(_) => true,
        }
    }
}

impl Server {
    /// Returns the store for the reports about a call, if both sides have one.
    pub(super) fn values_for(&self, received: &ReceivedCall) -> Option<Arc<LargeValues>> {
        self.values.clone().filter(|_| received.reads_values())
    }

    /// Returns why this worker cannot read the request of the call.
    pub(super) fn unreadable_reason(&self, stored: &StoredCall) -> Option<String> {
        if self.index.definition(stored.definition).is_none() {
            return Some(OTHER_DEFINITION.to_owned());
        }
        match &self.values {
            None => Some(
                "the request is in a store of large values, and this worker has none; set `Worker::value_store`"
                    .to_owned(),
            ),
            Some(values) => values.check_reference(&stored.request).err().map(|error| error.to_string()),
        }
    }

    /// Reads the request of a call, and shows meanwhile that this worker lives.
    pub(super) async fn read_request(
        &self,
        received: ReceivedCall,
        reporter: &Reporter,
        running: &RunningCall,
    ) -> Result<Box<CallRequest>, ToolError> {
        let stored = match received {
            ReceivedCall::Whole(request) => return Ok(request),
            ReceivedCall::Stored(stored) => stored,
        };
        let received_at = Instant::now();
        let reading = self.read_stored_request(&stored);
        tokio::pin!(reading);
        let mut beat = tokio::time::interval(self.worker.heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let request = loop {
            tokio::select! {
                request = &mut reading => break request?,
                _ = beat.tick() => reporter.send_if_possible(Report::Beat).await,
                () = running.token.cancelled() => return Err(ToolError::cancelled()),
            }
        };
        let passed = u64::try_from(received_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let time_left = stored.time_left.map(|left| left.saturating_sub(passed));
        Ok(Box::new(CallRequest { call: stored.call.clone(), time_left, ..request }))
    }

    async fn read_stored_request(&self, stored: &StoredCall) -> Result<CallRequest, ToolError> {
        let not_run = |problem: String| {
            let problem = format!("{problem}; the tool did not run");
            Err(ToolError::new(ErrorKind::Unavailable, problem))
        };
        let Some(values) = &self.values else { return not_run("this worker has no store".to_owned()) };
        let owner = ValueOwner::Call(&stored.call.call);
        let request: CallRequest = match values.read_json(&stored.request, owner).await {
            Ok(request) => request,
            Err(error) => return not_run(error.to_string()),
        };
        if request.definition != stored.definition {
            return not_run("the stored request is of another definition".to_owned());
        }
        match self
            .refusal_reason(&request)
            .or_else(|| self.changes_arguments(request.definition, &request.arguments))
        {
            Some(reason) => not_run(reason),
            None => Ok(request),
        }
    }
}

impl Server {
    /// Returns the request of a step, read from the store if it is there.
    pub(super) async fn read_step(
        &self,
        request: StepRequest,
        reply: &str,
    ) -> Result<StepRequest, FleetError> {
        let StepRequest::Stored(reference) = request else { return Ok(request) };
        let no_store =
            || FleetError::ValueStore("this worker has none; set `Worker::value_store`".to_owned());
        let values = self.values.as_ref().ok_or_else(no_store)?;
        match values.read_json(&reference, ValueOwner::Step(name_of(reply))).await? {
            Message::Prepare(request) => Ok(StepRequest::Prepare(*request)),
            Message::Redirect(request) => Ok(StepRequest::Redirect(request)),
            Message::Additions(request) => Ok(StepRequest::Additions(*request)),
            _ => Err(FleetError::ValueStore("a value is no request of a step".to_owned())),
        }
    }

    /// Sends the answer to a step, through the store if it is too large for the broker.
    pub(super) async fn send_large_answer(&self, reply: &str, answer: Message) {
        let (error, message) = match self.channel.send_or_return(reply, None, answer).await {
            Err((error, Some(message))) => (error, message),
            sent => return self.warn_if_unsent(sent.map_err(|(error, _)| error)),
        };
        let stored = match &self.values {
            Some(values) => store_answer(values, reply, &message).await,
            None => Err(error),
        };
        let answer = match stored {
            Ok(answer) => Message::StoredAnswer { answer },
            Err(error) => {
                Message::Unanswerable { problem: format!("an answer of the worker was not sent: {error}") }
            }
        };
        self.send_or_warn(reply, answer).await;
    }
}

async fn store_answer(
    values: &LargeValues,
    reply: &str,
    answer: &Message,
) -> Result<ValueReference, FleetError> {
    let text = serde_json::to_string(answer).map_err(|error| FleetError::Unwritable(error.to_string()))?;
    let name = values.new_name()?;
    let stored = values.put_text(name.clone(), &text, ValueOwner::Step(name_of(reply))).await;
    if matches!(stored, Err(FleetError::ValueStore(_))) {
        // It may be there.
        values.delete_or_warn(&name).await;
    }
    stored
}

/// Returns the name of a reply subject.
fn name_of(reply: &str) -> &str {
    reply.rsplit('.').next().unwrap_or_default()
}

impl Reporter {
    /// Sends a report that is too large for the broker through the store; if it cannot, an error or log line in its place.
    pub(super) async fn send_too_large(
        &self,
        error: FleetError,
        message: Box<Message>,
    ) -> Result<(), FleetError> {
        let Message::Report(report) = *message else { return Err(error) };
        // The answer to a question would be too large, too.
        if !report.report.has_contents() || matches!(report.report, Report::Question { .. }) {
            return Err(error);
        }
        let (number, ends) = (report.contents, report.report.ends_call());
        let (error, left) = match &self.values {
            None => (error, None),
            Some(values) => {
                let name = values.new_name()?;
                match self.store_report(values, &report, name.clone()).await {
                    Ok(stored) => {
                        let sent = self.send_as(number, Report::Stored { report: stored, ends }).await;
                        // An end that is kept names the value when its caller asks for it.
                        if sent.is_err() && !(ends && self.keeps_end()) {
                            values.delete_or_warn(&name).await;
                        }
                        return sent;
                    }
                    Err(error) => (error, Some((values, name))),
                }
            }
        };
        let replacement = match ends {
            true => Report::Error(Box::new(ToolError::failed(format!(
                "the call ended, and its result is lost: {error}"
            )))),
            false => Report::Log(LogLine::new(
                LogLevel::Warning,
                format!("a report of the worker is left out: {error}"),
            )),
        };
        let sent = self.send_as(number, replacement).await;
        if let Some((values, name)) = left {
            // It may be there. The end of a call does not wait for it.
            let deleting = values.delete_or_warn(&name);
            match ends {
                true => deleting.await,
                false => self.beat_during(deleting, || (self.sent_reports(), Report::Beat)).await,
            }
        }
        sent
    }

    /// Shows that this worker lives while `work` goes on, by the reports of `beat`.
    async fn beat_during<T>(&self, work: impl Future<Output = T>, beat: impl Fn() -> (u64, Report)) -> T {
        tokio::pin!(work);
        let mut interval = tokio::time::interval(self.heartbeat);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        interval.reset();
        loop {
            tokio::select! {
                output = &mut work => return output,
                _ = interval.tick() => {
                    let (contents, report) = beat();
                    if let Err(error) = self.send_as(contents, report).await {
                        tracing::warn!(%error, "a sign of life of a worker was not sent");
                    }
                }
            }
        }
    }

    /// Stores a report, unless its call is abandoned meanwhile. After an error, it may be stored nevertheless.
    async fn store_report(
        &self,
        values: &LargeValues,
        report: &CallReport,
        name: String,
    ) -> Result<ValueReference, FleetError> {
        let text = serde_json::to_string(&report.report)
            .map_err(|error| FleetError::Unwritable(error.to_string()))?;
        let storing = async {
            tokio::select! {
                biased;
                // It would have no reader, who deletes it.
                () = self.running.abandoned().cancelled() => Err(abandoned_error()),
                stored = values.put_text(name, &text, ValueOwner::Reports(&report.call.call)) => stored,
            }
        };
        match self.beat_during(storing, || (report.contents, Report::Storing)).await {
            Ok(_) if self.running.abandoned().is_cancelled() => Err(abandoned_error()),
            stored => stored,
        }
    }
}

fn abandoned_error() -> FleetError {
    FleetError::ValueStore("the caller does not read the value".to_owned())
}
