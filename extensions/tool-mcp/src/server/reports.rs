//! Progress and log lines of a call, sent to its client while it runs.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    RoleServer,
    model::{
        LoggingLevel, LoggingMessageNotificationParam, Notification, ProgressNotificationParam,
        ProgressToken, RequestId, ServerNotification,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::Notify;
use tool_runtime::{
    ToolError,
    context::{CallSink, LogLevel, LogLine, Progress},
};

/// The most reports that wait until they are sent.
const MAX_WAITING_REPORTS: usize = 1_024;

enum CallReport {
    Progress(Progress),
    Log(LogLine),
}

/// The receiver of a call's reports. A body is never delayed by a slow client: reports beyond [`MAX_WAITING_REPORTS`] are left out, and
/// the number of the lines among them is sent at the end.
struct ReportSink {
    takes_progress: bool,
    /// The least rank of a line that the client wants.
    least: Option<u8>,
    waiting: Mutex<WaitingReports>,
    changed: Notify,
}

/// Not a channel: it would be allocated for each call, and few calls have reports.
#[derive(Default)]
struct WaitingReports {
    reports: VecDeque<CallReport>,
    /// The number of lines.
    left_out: usize,
    is_over: bool,
}

impl ReportSink {
    fn lock_waiting(&self) -> MutexGuard<'_, WaitingReports> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, report: CallReport) {
        let mut waiting = self.lock_waiting();
        if waiting.reports.len() == MAX_WAITING_REPORTS {
            // A later report replaces progress that was left out.
            waiting.left_out += usize::from(matches!(report, CallReport::Log(_)));
            return;
        }
        waiting.reports.push_back(report);
        drop(waiting);
        self.changed.notify_one();
    }

    /// Ends the reports. The executor discards later ones.
    fn end_reports(&self) {
        self.lock_waiting().is_over = true;
        self.changed.notify_one();
    }

    /// Returns the next report, and `true` if the call is over.
    fn next(&self) -> (Option<CallReport>, bool) {
        let mut waiting = self.lock_waiting();
        (waiting.reports.pop_front(), waiting.is_over)
    }
}

impl CallSink for ReportSink {
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        if self.takes_progress {
            self.add(CallReport::Progress(progress));
        }
        Ok(())
    }

    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        if self.least.is_some_and(|least| severity_rank(protocol_level(line.level)) >= least) {
            self.add(CallReport::Log(line));
        }
        Ok(())
    }
}

/// The request that a log line belongs to, on its way to the transport.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "the transport of sessions over HTTP reads it"))]
pub(super) struct LogOrigin(pub(super) RequestId);

/// The reports of one call.
pub(super) struct Reports {
    sink: Arc<ReportSink>,
    token: Option<ProgressToken>,
}

impl Reports {
    /// Creates the receiver for a call, and the reports to be sent; `None` if the client wants neither progress, for which
    /// it sends a `token`, nor lines of at least `level`.
    pub(super) fn requested_by(
        token: Option<ProgressToken>,
        level: Option<LoggingLevel>,
    ) -> Option<(Arc<dyn CallSink>, Self)> {
        let (takes_progress, least) = (token.is_some(), level.map(severity_rank));
        if !takes_progress && least.is_none() {
            return None;
        }
        let (waiting, changed) = (Mutex::default(), Notify::new());
        let sink = Arc::new(ReportSink { takes_progress, least, waiting, changed });
        Some((Arc::clone(&sink) as _, Self { sink, token }))
    }

    /// Runs the call of `tool` to its end; sends its reports to the client as they arrive, all of them before the result.
    pub(super) async fn sent_while<T>(
        self,
        running: impl Future<Output = T>,
        context: &RequestContext<RoleServer>,
        tool: &str,
    ) -> T {
        let over = async {
            let outcome = running.await;
            self.sink.end_reports();
            outcome
        };
        tokio::join!(over, self.send_all(context, tool)).0
    }

    /// Sends reports until the call is over, and those that wait then.
    async fn send_all(&self, context: &RequestContext<RoleServer>, tool: &str) {
        loop {
            match self.sink.next() {
                (Some(report), _) => self.send_report(report, context, tool).await,
                (None, true) => break,
                (None, false) => self.sink.changed.notified().await,
            }
        }
        let left_out = self.sink.lock_waiting().left_out;
        if left_out > 0 {
            let line = LogLine::new(LogLevel::Warning, format!("{left_out} log lines were left out"));
            self.send_report(CallReport::Log(line), context, tool).await;
        }
    }

    /// Sends a report. One that cannot be sent is logged: the call goes on.
    async fn send_report(&self, report: CallReport, context: &RequestContext<RoleServer>, tool: &str) {
        let peer = &context.peer;
        let sent = match (report, &self.token) {
            (CallReport::Progress(progress), Some(token)) => {
                peer.notify_progress(progress_of(token.clone(), progress)).await
            }
            (CallReport::Log(line), _) => {
                let mut notification = Notification::new(log_message(line, tool));
                notification.extensions.insert(LogOrigin(context.id.clone()));
                peer.send_notification(ServerNotification::LoggingMessageNotification(notification)).await
            }
            (CallReport::Progress(_), None) => return,
        };
        if let Err(error) = sent {
            tracing::debug!(%error, tool, "a report of a call cannot be sent");
        }
    }
}

fn progress_of(token: ProgressToken, progress: Progress) -> ProgressNotificationParam {
    let mut param = ProgressNotificationParam::new(token, progress.done);
    param.total = progress.total;
    param.message = progress.message;
    param
}

/// A line as a message: its text, or its data with the text under `message`.
fn log_message(line: LogLine, tool: &str) -> LoggingMessageNotificationParam {
    let level = protocol_level(line.level);
    let data = match line.data {
        Value::Null => Value::String(line.message),
        data => serde_json::json!({ "message": line.message, "data": data }),
    };
    LoggingMessageNotificationParam::new(level, data).with_logger(tool)
}

fn protocol_level(level: LogLevel) -> LoggingLevel {
    match level {
        LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Notice => LoggingLevel::Notice,
        LogLevel::Warning => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
        LogLevel::Critical => LoggingLevel::Critical,
        LogLevel::Alert => LoggingLevel::Alert,
        LogLevel::Emergency => LoggingLevel::Emergency,
    }
}

/// The severity as a number, least first.
fn severity_rank(level: LoggingLevel) -> u8 {
    level as u8
}
