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

    fn add_report(&self, report: CallReport) {
        let mut waiting = self.lock_waiting();
        if waiting.reports.len() == MAX_WAITING_REPORTS {
            // A later report replaces progress that was left out.
            waiting.left_out += usize::from(matches!(report, CallReport::Log(_)));
            return;
        }
        waiting.reports.push_back(report);
        self.changed.notify_one();
    }

    /// Ends the reports. The executor discards later ones.
    fn end_reports(&self) {
        self.lock_waiting().is_over = true;
        self.changed.notify_one();
    }

    /// Returns the next report, and `true` if the call is over.
    fn next_report(&self) -> (Option<CallReport>, bool) {
        let mut waiting = self.lock_waiting();
        (waiting.reports.pop_front(), waiting.is_over)
    }
}

impl CallSink for ReportSink {
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        if self.takes_progress {
            self.add_report(CallReport::Progress(progress));
        }
        Ok(())
    }

    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        if self.least.is_some_and(|least| severity_rank(protocol_level(line.level)) >= least) {
            self.add_report(CallReport::Log(line));
        }
        Ok(())
    }
}

/// The request that a log line belongs to, on its way to the transport.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "the transport of sessions over HTTP reads it"))]
pub(super) struct LogOrigin(pub(super) RequestId);

/// The reports of one call.
pub(super) struct CallReports {
    sink: Arc<ReportSink>,
    token: Option<ProgressToken>,
}

impl CallReports {
    /// Creates the receiver for a call, and the reports to be sent; `None` if the client wants neither progress, for which
    /// it sends a `token`, nor lines of at least `level`.
    pub(super) fn sink_and_reports(
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
    pub(super) async fn send_while_running<T>(
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
        tokio::join!(over, self.send_reports_until_end(context, tool)).0
    }

    /// Sends reports until the call is over, and those that wait then.
    async fn send_reports_until_end(&self, context: &RequestContext<RoleServer>, tool: &str) {
        loop {
            match self.sink.next_report() {
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
                peer.notify_progress(progress_notification(token.clone(), progress)).await
            }
            (CallReport::Log(line), _) => {
                let mut notification = Notification::new(log_notification(line, tool));
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

fn progress_notification(token: ProgressToken, progress: Progress) -> ProgressNotificationParam {
    let mut param = ProgressNotificationParam::new(token, progress.done);
    param.total = progress.total;
    param.message = progress.message;
    param
}

/// A line as a message: its text, or its data with the text under `message`.
fn log_notification(line: LogLine, tool: &str) -> LoggingMessageNotificationParam {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use rmcp::model::NumberOrString;
    use serde_json::json;

    use super::*;

    fn token() -> ProgressToken {
        ProgressToken(NumberOrString::Number(1))
    }

    fn line(level: LogLevel) -> LogLine {
        LogLine::new(level, "text")
    }

    /// The progress and the lines that wait, and the number of lines that were left out.
    fn waiting(reports: &CallReports) -> (usize, usize, usize) {
        let waiting = reports.sink.lock_waiting();
        let progress = waiting.reports.iter().filter(|it| matches!(it, CallReport::Progress(_))).count();
        (progress, waiting.reports.len() - progress, waiting.left_out)
    }

    #[test]
    fn only_the_reports_that_a_client_asked_for_wait() {
        assert!(CallReports::sink_and_reports(None, None).is_none());
        for (token, level, expected) in [
            (Some(token()), None, (1, 0, 0)),
            (None, Some(LoggingLevel::Warning), (0, 2, 0)),
            (Some(token()), Some(LoggingLevel::Debug), (1, 3, 0)),
            (None, Some(LoggingLevel::Emergency), (0, 0, 0)),
        ] {
            let (sink, reports) = CallReports::sink_and_reports(token, level).unwrap();
            sink.progress(Progress::new(1.0)).unwrap();
            for level in [LogLevel::Notice, LogLevel::Warning, LogLevel::Error] {
                sink.log(line(level)).unwrap();
            }
            assert_eq!(waiting(&reports), expected);
        }
    }

    #[test]
    fn reports_beyond_the_limit_are_left_out_and_lines_are_counted() {
        let (sink, reports) =
            CallReports::sink_and_reports(Some(token()), Some(LoggingLevel::Debug)).unwrap();
        for _ in 0..MAX_WAITING_REPORTS {
            sink.log(line(LogLevel::Info)).unwrap();
        }
        assert_eq!(waiting(&reports), (0, MAX_WAITING_REPORTS, 0));
        sink.progress(Progress::new(1.0)).unwrap();
        sink.log(line(LogLevel::Info)).unwrap();
        sink.log(line(LogLevel::Info)).unwrap();
        assert_eq!(waiting(&reports), (0, MAX_WAITING_REPORTS, 2));
        assert!(matches!(reports.sink.next_report(), (Some(CallReport::Log(_)), false)));
        reports.sink.end_reports();
        assert!(matches!(reports.sink.next_report(), (Some(_), true)));
    }

    #[test]
    fn levels_have_the_order_and_the_names_of_the_protocol() {
        let levels = [
            (LogLevel::Debug, "debug"),
            (LogLevel::Info, "info"),
            (LogLevel::Notice, "notice"),
            (LogLevel::Warning, "warning"),
            (LogLevel::Error, "error"),
            (LogLevel::Critical, "critical"),
            (LogLevel::Alert, "alert"),
            (LogLevel::Emergency, "emergency"),
        ];
        for (rank, (level, name)) in (0..).zip(levels) {
            let level = protocol_level(level);
            assert_eq!((serde_json::to_value(level).unwrap(), severity_rank(level)), (json!(name), rank));
        }
    }

    #[test]
    fn a_line_is_its_text_or_its_text_with_its_data() {
        let message = log_notification(line(LogLevel::Error), "t");
        assert_eq!((message.level, message.logger.as_deref()), (LoggingLevel::Error, Some("t")));
        assert_eq!(message.data, json!("text"));
        let message = log_notification(line(LogLevel::Error).with_data(json!([1])), "t");
        assert_eq!(message.data, json!({ "message": "text", "data": [1] }));
        let progress = progress_notification(token(), Progress::new(1.0).of(2.0).message("half"));
        let parts = (progress.progress, progress.total, progress.message.as_deref());
        assert_eq!((parts, progress.progress_token), ((1.0, Some(2.0), Some("half")), token()));
    }
}
