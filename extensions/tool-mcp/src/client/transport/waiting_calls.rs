//! A transport that hands reports of a server to the calls that they belong to.
//!
//! Reports are delivered here and not by the callbacks of [`rmcp::ClientHandler`], which run in tasks of their own: here
//! they arrive in the order in which the server sent them, and before the result of their call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    RoleClient,
    model::{
        GetExtensions, GetMeta, JsonRpcMessage, LoggingMessageNotificationParam, ProgressNotificationParam,
        ProgressToken, ServerNotification,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::DropGuard;
use tool_runtime::{
    CancellationToken, ToolContext,
    context::{LogLevel, LogLine, Progress},
};

use crate::client::questions::{QuestionAllowance, QuestionRefusal};

/// A report of a server about a call.
pub(in crate::client) enum CallReport {
    Progress(Progress),
    Log(LogLine),
}

/// A call that waits for its result. As an extension of its request, it never leaves the process.
#[derive(Clone)]
pub(in crate::client) struct CallSlot {
    reports: mpsc::Sender<CallReport>,
    /// The context of the call, for questions of the server; `None` outside a run.
    context: Option<ToolContext>,
    /// The questions that the call has left.
    allowance: Arc<QuestionAllowance>,
    /// Cancelled once the call no longer waits. Read and set under the lock of [`WaitingCalls`]: the request may be sent later.
    over: CancellationToken,
}

/// The number of reports that wait for a call to take them. Progress beyond is dropped: a newer report follows.
const MAX_WAITING_REPORTS: usize = 256;

impl CallSlot {
    pub(in crate::client) fn new(
        context: Option<ToolContext>,
        allowance: Arc<QuestionAllowance>,
    ) -> (Self, mpsc::Receiver<CallReport>) {
        let (reports, received) = mpsc::channel(MAX_WAITING_REPORTS);
        (Self { reports, context, allowance, over: CancellationToken::new() }, received)
    }
}

/// The calls of a connection that wait for their results.
#[derive(Default)]
pub(in crate::client) struct WaitingCalls {
    slots: Mutex<HashMap<ProgressToken, CallSlot>>,
    /// The requests whose timeout progress starts anew.
    waiting: Mutex<HashMap<ProgressToken, Arc<Notify>>>,
}

impl WaitingCalls {
    fn lock_slots(&self) -> MutexGuard<'_, HashMap<ProgressToken, CallSlot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_progress_signals(&self) -> MutexGuard<'_, HashMap<ProgressToken, Arc<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the signal of a request's progress, until the request ends.
    pub(in crate::client) fn progress_signal(&self, token: &ProgressToken) -> Arc<Notify> {
        Arc::clone(self.lock_progress_signals().entry(token.clone()).or_default())
    }

    /// Adds a call, unless it is over.
    fn add_call(&self, token: ProgressToken, slot: &CallSlot) {
        let mut calls = self.lock_slots();
        if !slot.over.is_cancelled() {
            calls.insert(token, slot.clone());
        }
    }

    /// Ends a request, of a call that has a `slot`; `token` is `None` if it was not sent.
    pub(in crate::client) fn end_request(&self, slot: Option<&CallSlot>, token: Option<&ProgressToken>) {
        if let Some(token) = token {
            self.lock_progress_signals().remove(token);
        }
        let Some(slot) = slot else { return };
        let mut calls = self.lock_slots();
        slot.over.cancel();
        let removed = token.and_then(|token| calls.remove(token));
        drop(calls);
        drop(removed);
    }

    /// The context of the call that waits, if it is the only one, and the ends of all that wait.
    pub(in crate::client) fn only_waiting_call_and_ends(
        &self,
    ) -> (Option<ToolContext>, Vec<CancellationToken>) {
        let calls = self.lock_slots();
        let context =
            calls.values().next().filter(|_| calls.len() == 1).and_then(|slot| slot.context.clone());
        (context, calls.values().map(|slot| slot.over.clone()).collect())
    }

    /// Takes a question of the call that has most of them left: a question does not say which call it belongs to.
    pub(in crate::client) fn take_question_of_any_call(&self) -> Result<(), QuestionRefusal> {
        let calls = self.lock_slots();
        let Some(slot) = calls.values().max_by_key(|slot| slot.allowance.questions_left()) else {
            return Err(QuestionRefusal::NoCall);
        };
        if slot.allowance.take() { Ok(()) } else { Err(QuestionRefusal::NoneLeft) }
    }

    fn deliver_progress(&self, report: &ProgressNotificationParam) {
        if let Some(waiting) = self.lock_progress_signals().get(&report.progress_token) {
            waiting.notify_one();
        }
        let Some(reports) = self.lock_slots().get(&report.progress_token).map(|slot| slot.reports.clone())
        else {
            return;
        };
        let mut progress = Progress::new(report.progress);
        progress.total = report.total;
        progress.message.clone_from(&report.message);
        if reports.try_send(CallReport::Progress(progress)).is_err() {
            tracing::debug!("a progress report of an MCP server was dropped: its call has too many");
        }
    }

    /// Gives a log line to the only call that waits. The protocol does not say which call a line belongs to.
    fn deliver_log_to_only_call(&self, server: &str, message: &LoggingMessageNotificationParam) {
        let line = log_line_of_message(message);
        let reports = {
            let calls = self.lock_slots();
            let mut all = calls.values();
            all.next().filter(|_| calls.len() == 1).map(|slot| slot.reports.clone())
        };
        match reports.map(|reports| reports.try_send(CallReport::Log(line.clone()))) {
            Some(Ok(())) => {}
            _ => trace_server_log_line(server, message.logger.as_deref(), &line),
        }
    }
}

/// A line of a server's log. A member `message` of an object is its text, and any other value its data.
fn log_line_of_message(message: &LoggingMessageNotificationParam) -> LogLine {
    use rmcp::model::LoggingLevel as Level;
    let level = match message.level {
        Level::Debug => LogLevel::Debug,
        Level::Info => LogLevel::Info,
        Level::Notice => LogLevel::Notice,
        Level::Warning => LogLevel::Warning,
        Level::Error => LogLevel::Error,
        Level::Critical => LogLevel::Critical,
        Level::Alert => LogLevel::Alert,
        Level::Emergency => LogLevel::Emergency,
    };
    match &message.data {
        Value::String(text) => LogLine::new(level, text.clone()),
        Value::Object(object) => match object.get("message").and_then(Value::as_str) {
            Some(text) if object.len() == 2 && object.contains_key("data") => {
                LogLine::new(level, text).with_data(object["data"].clone())
            }
            Some(text) => LogLine::new(level, text).with_data(message.data.clone()),
            None => LogLine::new(level, "").with_data(message.data.clone()),
        },
        other => LogLine::new(level, "").with_data(other.clone()),
    }
}

fn trace_server_log_line(server: &str, logger: Option<&str>, line: &LogLine) {
    let data = (!line.data.is_null()).then(|| tracing::field::display(&line.data));
    macro_rules! event {
        ($level:expr) => {
            tracing::event!(target: "tool_mcp::server_log", $level, server, logger, data, "{}", line.message)
        };
    }
    match line.level {
        LogLevel::Debug => event!(tracing::Level::DEBUG),
        LogLevel::Info | LogLevel::Notice => event!(tracing::Level::INFO),
        LogLevel::Warning => event!(tracing::Level::WARN),
        _ => event!(tracing::Level::ERROR),
    }
}

/// A transport whose reports go to the calls that they belong to.
pub(in crate::client) struct ReportDeliveringTransport<T> {
    transport: T,
    server: Arc<str>,
    calls: Arc<WaitingCalls>,
    /// Signals the end of the transport.
    _end: Option<DropGuard>,
}

impl<T> ReportDeliveringTransport<T> {
    pub(in crate::client) fn new(transport: T, server: Arc<str>, calls: Arc<WaitingCalls>) -> Self {
        Self { transport, server, calls, _end: None }
    }

    /// Cancels `lost` when the transport ends.
    pub(in crate::client) fn with_end_signal(mut self, lost: CancellationToken) -> Self {
        self._end = Some(lost.drop_guard());
        self
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for ReportDeliveringTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &message
            && let Some(slot) = request.request.extensions().get::<CallSlot>()
            && let Some(token) = request.request.get_meta().get_progress_token()
        {
            self.calls.add_call(token, slot);
        }
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await?;
        if let JsonRpcMessage::Notification(notification) = &message {
            match &notification.notification {
                ServerNotification::ProgressNotification(report) => {
                    self.calls.deliver_progress(&report.params)
                }
                ServerNotification::LoggingMessageNotification(line) => {
                    self.calls.deliver_log_to_only_call(&self.server, &line.params);
                }
                _ => {}
            }
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.transport.close()
    }
}

#[cfg(test)]
mod tests;
