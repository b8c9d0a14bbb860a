//! Running a call that is ready.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout_at},
};
use tool_core::{
    __private::within_call, Arguments, ErrorKind, Metadata, Prepared, Retry, ToolContext, ToolError,
    ToolOutput,
};
use tracing::{Instrument, Span};

use super::{
    Inner,
    around::{Place, Stop, unless},
    build::Settings,
    group::Body,
    outlet::{CallReports, shown},
    prepare::Ready,
};
use crate::{
    ToolCall,
    policy::{RetryInfo, RetryPolicy, pauses},
    registry::Entry,
    shield::{caught, panic_of},
    telemetry,
};

/// How long an attempt may take in all, and without a sign of life.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    total: Option<Duration>,
    idle: Option<Duration>,
}

impl Patience {
    /// What a tool says of itself counts more than what its executor says.
    pub(super) fn new(settings: &Settings, metadata: &Metadata) -> Self {
        Self {
            total: metadata.timeout.or(settings.timeout),
            idle: metadata.idle_timeout.or(settings.idle_timeout),
        }
    }

    pub(super) fn waits_for_signs(self) -> bool {
        self.idle.is_some()
    }

    pub(super) fn is_endless(self) -> bool {
        self.total.is_none() && self.idle.is_none()
    }
}

/// Runs a call that is ready, in a span; `None` where it has no place, which every call has.
pub(super) fn perform<'a>(executor: &'a Arc<Inner>, ready: Ready<'a>, place: &'a Place) -> Option<Body<'a>> {
    let cx = place.cx.as_ref()?;
    let definition = ready.entry.definition();
    let span = telemetry::call(definition, cx);
    if !span.is_disabled() {
        return Some(Box::pin(traced(executor, ready, cx, place, span)));
    }
    Some(Box::pin(performed(executor, ready, cx, place)))
}

async fn traced<'a>(
    executor: &'a Arc<Inner>,
    ready: Ready<'a>,
    cx: &'a ToolContext,
    place: &'a Place,
    span: Span,
) -> Option<Result<ToolOutput, ToolError>> {
    let (definition, traces) = (ready.entry.definition(), executor.settings.traces);
    if traces.arguments {
        let arguments = Arguments::from(ready.prepared.arguments().as_str().to_owned());
        let call = ToolCall::new(definition.name().as_str(), arguments);
        telemetry::arguments(&span, &shown(&call, Some(definition)));
    }
    let outcome = performed(executor, ready, cx, place).instrument(span.clone()).await;
    telemetry::ended(&span, outcome.as_ref(), traces.results);
    outcome
}

/// Runs a call that is ready, as often as it takes; `cx` is the context of the whole call.
async fn performed<'a>(
    executor: &'a Arc<Inner>,
    ready: Ready<'a>,
    cx: &'a ToolContext,
    place: &'a Place,
) -> Option<Result<ToolOutput, ToolError>> {
    let first = place.first.as_ref().unwrap_or(cx);
    let performed = answered(executor, ready, cx, first, place);
    let outcome = match cx.asked_cancellation() {
        // Somebody has a token for this call alone.
        Some(token) => {
            let mut performed = Box::pin(performed);
            match unless(token, &mut performed).await {
                Some(outcome) => outcome,
                None => match place.grace_end() {
                    Some(end) => timeout_at(end, performed).await.ok().flatten(),
                    None => None,
                },
            }
        }
        None => performed.await,
    };
    place.runs.end();
    if let Some(reports) = &place.reports {
        reports.close();
    }
    outcome
}

async fn answered<'a>(
    executor: &'a Arc<Inner>,
    ready: Ready<'a>,
    cx: &'a ToolContext,
    first: &'a ToolContext,
    place: &'a Place,
) -> Option<Result<ToolOutput, ToolError>> {
    let Ready { entry, prepared, source } = ready;
    let name = entry.definition().name().as_str();
    // What hooks asked for is no matter of the body's.
    cx.forget_asked();
    let _permits = match executor.limits.concerns(name) {
        true => Some(executor.limits.enter(name).await),
        false => None,
    };
    // Meanwhile, or by what a call before this one did.
    if cx.should_stop() {
        return None;
    }
    if is_late(cx) {
        return Some(Err(Stop::Late.error()));
    }
    let patience = Patience::new(&executor.settings, entry.definition().metadata());
    let reports = place.reports.as_deref();
    place.runs.begin();
    let run = async {
        match patience.is_endless() {
            true => Entry::run(prepared, first)?.await,
            // In a box, so that a call without a limit does not carry the timer around.
            false => Box::pin(patient(patience, prepared, first, reports)).await,
        }
    };
    let outcome = match source {
        None => run.await,
        Some(_) => Box::pin(run.instrument(telemetry::attempt(1))).await,
    };
    let outcome = entry.hold(outcome);
    Some(match source {
        None => outcome,
        Some(source) => {
            let again = Again { executor, entry, cx, place, patience, source };
            Box::pin(again.until_it_succeeds(outcome, first)).await
        }
    })
}

/// Runs `prepared`, unless it takes too long, or gives no sign of life for too long.
async fn patient<'a>(
    patience: Patience,
    prepared: Prepared<'a>,
    cx: &'a ToolContext,
    reports: Option<&CallReports>,
) -> Result<ToolOutput, ToolError> {
    if !keeps_time() {
        let message = "it has a `timeout`, and no tokio runtime keeps the time; \
                       build the runtime with `enable_time` or `enable_all`";
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    }
    let total = patience.total.and_then(|total| Some((Instant::now().checked_add(total)?, total)));
    if let Some((end, _)) = total {
        cx.begin(end.into_std());
    }
    if let Some(reports) = reports {
        reports.sign();
    }
    // Not before its context has the deadline: a tool may take a copy.
    let mut running = pin!(Entry::run(prepared, cx)?);
    loop {
        let silence = patience
            .idle
            .zip(reports)
            .and_then(|(idle, reports)| Some((reports.last_sign().checked_add(idle)?, idle)));
        let next = [total, silence].into_iter().flatten().min_by_key(|(end, _)| *end);
        let Some((next, _)) = next else { return running.await };
        if let Ok(result) = timeout_at(next, &mut running).await {
            return result;
        }
        let now = Instant::now();
        let message = if let Some((_, limit)) = total.filter(|(end, _)| *end <= now) {
            format!("no result after {limit:?}")
        } else if let (Some((_, limit)), Some(reports)) = (silence, reports)
            && reports.last_sign().checked_add(limit).is_some_and(|end| end <= now)
        {
            format!("no sign of life for {limit:?}")
        } else {
            continue;
        };
        cx.cancel();
        return Err(ToolError::new(ErrorKind::TimedOut, message));
    }
}

/// What it takes to make a call again.
struct Again<'a> {
    executor: &'a Inner,
    entry: &'a Entry,
    cx: &'a ToolContext,
    place: &'a Place,
    patience: Patience,
    source: Arguments<'a>,
}

impl Again<'_> {
    /// Makes the call until it succeeds, is not worth another attempt, or has had all of them; gives the
    /// last result.
    async fn until_it_succeeds(
        self,
        mut outcome: Result<ToolOutput, ToolError>,
        first: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let policy = self.executor.settings.retry.as_ref();
        let Some(retry) = RetryPolicy::of(policy, self.entry.definition()) else { return outcome };
        // A stream has shown its items.
        let mut has_streamed = first.has_streamed();
        for pause in pauses(retry) {
            // None runs now that might clean up.
            self.cx.forget_asked();
            if has_streamed || self.cx.should_stop() {
                break;
            }
            match self.is_worth_it(retry, &outcome) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(both(outcome, &error)),
            }
            if !pause.is_zero() && !waited(pause).await || is_late(self.cx) {
                break;
            }
            let number = self.place.runs.attempts().saturating_add(1);
            let cx = self.cx.of_attempt(number);
            let again = self.attempt(&cx).instrument(telemetry::attempt(number));
            outcome = self.entry.hold(again.await);
            has_streamed = cx.has_streamed();
        }
        outcome
    }

    fn is_worth_it(&self, retry: Retry, outcome: &Result<ToolOutput, ToolError>) -> Result<bool, ToolError> {
        let failed = match outcome {
            Ok(output) => output.is_failure(),
            // A tool that says it was cancelled should not be run.
            Err(error) => error.kind() != ErrorKind::Cancelled,
        };
        if !failed {
            return Ok(false);
        }
        let info = RetryInfo {
            tool: self.entry.definition().name().as_str(),
            id: self.cx.call_id(),
            arguments: &self.source,
            attempt: self.place.runs.attempts(),
            max_attempts: retry.attempts,
            outcome,
        };
        let decides = || RetryPolicy::decides(self.executor.settings.retry.as_ref(), &info);
        caught(|| within_call(info.id.clone(), decides))
            .unwrap_or_else(|message| Err(panic_of("it", &message)))
    }

    async fn attempt(&self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let prepared = self.entry.prepare_again(self.source.clone())?;
        self.place.runs.begin();
        match self.patience.is_endless() {
            true => Entry::run(prepared, cx)?.await,
            false => patient(self.patience, prepared, cx, self.place.reports.as_deref()).await,
        }
    }
}

/// Whether `pause` is over; it never is where nothing keeps the time.
async fn waited(pause: Duration) -> bool {
    let keeps_time = keeps_time();
    if keeps_time {
        sleep(pause).await;
    }
    keeps_time
}

/// Whether the run of a call has no time left.
fn is_late(cx: &ToolContext) -> bool {
    let end = cx.run().and_then(|run| run.deadline());
    end.is_some_and(|end| end <= Instant::now().into_std())
}

/// Whether a runtime keeps the time, which is nowhere to be asked: a timer panics where none does.
pub(super) fn keeps_time() -> bool {
    Handle::try_current().is_ok() && caught(|| drop(Box::pin(sleep(Duration::ZERO)))).is_ok()
}

/// The failure of a call, and that of the rule that was to say whether it is made again.
fn both(outcome: Result<ToolOutput, ToolError>, rule: &ToolError) -> ToolError {
    let (failure, content, details) = match &outcome {
        Err(error) => (error.feedback(), error.content().to_vec(), error.details()),
        Ok(output) => (output.text().into_owned(), Vec::new(), output.details()),
    };
    let text = format!("{failure} (and the rule for another attempt failed: {})", rule.feedback());
    let error = ToolError::failed(text).with_content(content);
    match details {
        Some(details) => error.with_details(details.clone()),
        None => error,
    }
}
