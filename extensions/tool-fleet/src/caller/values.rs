//! The caller's side of large values: it stores the requests of calls, reads stored reports, and deletes both.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};
use tool_runtime::{
    BoxFuture, ErrorKind, ToolContext, ToolError,
    context::{LogLevel, LogLine},
    definition::ContentHash,
};

use super::{
    connection::{Connection, Replies},
    sent::SentCall,
    tool::RemoteTool,
};
use crate::{
    FleetError,
    message::{CallEpoch, CallRequest, Message, Report, StoredCall},
    values::{LargeValues, ValueOwner, ValueReference},
};

/// The deletions that run at once.
const DELETIONS_AT_ONCE: usize = 8;

/// The values that wait for their deletion; further ones are left to the rules of the store.
const MAX_WAITING_DELETIONS: usize = 1024;

/// A value that is to be deleted.
type Deletion = (Arc<LargeValues>, String);

/// The store of a set, if it has one.
pub(super) struct CallerValues {
    values: Mutex<Option<Arc<LargeValues>>>,
    deletions: mpsc::Sender<Deletion>,
    /// The number of values that were not deleted.
    left: AtomicU64,
}

impl CallerValues {
    pub(super) fn new() -> (Self, Deletions) {
        let (sender, waiting) = mpsc::channel(MAX_WAITING_DELETIONS);
        let values = Self { values: Mutex::default(), deletions: sender, left: AtomicU64::new(0) };
        (values, Deletions { waiting, running: FuturesUnordered::new() })
    }

    pub(super) fn set_values(&self, values: Arc<LargeValues>) {
        *self.values.lock().unwrap_or_else(PoisonError::into_inner) = Some(values);
    }

    pub(super) fn values(&self) -> Option<Arc<LargeValues>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has the task of the connection delete a value of the set's store.
    pub(super) fn delete_later(&self, name: &str) {
        if let Some(values) = self.values() {
            self.delete_later_from(values, name.to_owned());
        }
    }

    /// Has the task of the connection delete a value.
    pub(super) fn delete_later_from(&self, values: Arc<LargeValues>, name: String) {
        if self.deletions.try_send((values, name)).is_err() {
            let left = self.left.fetch_add(1, Ordering::Relaxed) + 1;
            // Repeated reports, which any client of the broker can send, may name many.
            if left.is_power_of_two() {
                tracing::warn!(
                    left,
                    "large values are left in the store, since their set is closed, or deletes many"
                );
            }
        }
    }

    /// Deletes the value of a message that is not read.
    pub(super) fn delete_unread(&self, message: &Message) {
        match message {
            Message::Report(report) => self.delete_report(&report.report),
            Message::StoredAnswer { answer } => self.delete_reference(answer),
            _ => {}
        }
    }

    /// Deletes the value of a stored report that is not shown.
    pub(super) fn delete_report(&self, report: &Report) {
        if let Report::Stored { report, .. } = report {
            self.delete_reference(report);
        }
    }

    fn delete_reference(&self, reference: &ValueReference) {
        if self.values().is_some_and(|values| values.check_reference(reference).is_ok()) {
            self.delete_later(reference.name());
        }
    }
}

/// The deletions of a set, which its task runs.
pub(super) struct Deletions {
    waiting: mpsc::Receiver<Deletion>,
    running: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl Deletions {
    /// Runs deletions, without an end. Dropping the future stops none.
    pub(super) async fn run(&mut self) {
        loop {
            tokio::select! {
                Some(next) = self.waiting.recv(), if self.running.len() < DELETIONS_AT_ONCE => self.begin(next),
                Some(()) = self.running.next() => {}
                else => std::future::pending().await,
            }
        }
    }

    fn begin(&mut self, (values, name): Deletion) {
        self.running.push(Box::pin(async move { values.delete_or_warn(&name).await }));
    }

    /// Runs those that are left, and those of `names`, until the deadline.
    pub(super) async fn finish(&mut self, names: Vec<String>, values: &CallerValues, deadline: Instant) {
        while let Ok(next) = self.waiting.try_recv() {
            self.begin(next);
        }
        for name in names {
            if let Some(values) = values.values() {
                self.begin((values, name));
            }
        }
        while let Ok(Some(())) = timeout_at(deadline, self.running.next()).await {}
        if !self.running.is_empty() {
            tracing::warn!(
                values = self.running.len(),
                "large values were not deleted in time after their set was closed"
            );
        }
    }
}

/// The request of a call in the store, if it is too large for the broker; dropping it deletes the value.
pub(super) struct StoredRequest<'a> {
    connection: &'a Connection,
    /// Also of a value that may not be stored.
    name: Option<String>,
    reference: Option<ValueReference>,
}

impl<'a> StoredRequest<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection, name: None, reference: None }
    }

    /// Stores a request, unless the call is cancelled or the set is closed meanwhile.
    async fn store(
        &mut self,
        request: &CallRequest,
        values: &LargeValues,
        replies: &Replies,
        cx: &ToolContext,
    ) -> Result<(), ToolError> {
        let text = serde_json::to_string(request)
            .map_err(|error| unsent_error(&FleetError::Unwritable(error.to_string())))?;
        let name = values.new_name().map_err(|error| unsent_error(&error))?;
        replies.set_stored_request(name.clone());
        self.name = Some(name.clone());
        let storing = values.put_text(name, &text, ValueOwner::Call(&request.call.call));
        let stored = tokio::select! {
            stored = storing => stored,
            () = cx.cancellation().cancelled() => return Err(ToolError::cancelled()),
            () = self.connection.closed.cancelled() => {
                return Err(ToolError::new(ErrorKind::Unavailable, "the connection to the workers is closed"));
            }
        };
        self.reference = Some(stored.map_err(|error| unsent_error(&error))?);
        Ok(())
    }

    /// Returns the message of a stored request.
    fn message(&self, call: CallEpoch, definition: ContentHash, cx: &ToolContext) -> Option<Message> {
        let request = self.reference.clone()?;
        let time_left = super::request::millis_until(cx.deadline());
        Some(Message::StoredCall(Box::new(StoredCall { call, definition, time_left, request })))
    }
}

impl Drop for StoredRequest<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            self.connection.values.delete_later(name);
        }
    }
}

impl RemoteTool {
    /// Sends a call to a worker of `registry`. A request that is too large for the broker is stored once, for all epochs.
    pub(super) async fn send_call(
        &self,
        registry: ContentHash,
        (call, arguments): (CallEpoch, &str),
        stored: &mut StoredRequest<'_>,
        replies: &Replies,
        cx: &ToolContext,
    ) -> Result<(), ToolError> {
        let connection = self.connection();
        let channel = &connection.channel;
        let (subject, reply) = (channel.calls_subject(registry), replies.subject());
        if stored.reference.is_none() {
            let request = self.call_request(call.clone(), arguments, cx)?;
            let Err((error, message)) = channel.send_or_return(&subject, Some(&reply), request).await else {
                return Ok(());
            };
            let request = match message.map(|message| *message) {
                Some(Message::Call(request)) => request,
                _ => return Err(unsent_error(&error)),
            };
            let values = connection.values.values().ok_or_else(|| unsent_error(&error))?;
            stored.store(&request, &values, replies, cx).await?;
        }
        let Some(message) = stored.message(call, self.hash(), cx) else { return Ok(()) };
        channel.send_message(&subject, Some(&reply), message).await.map_err(|error| unsent_error(&error))
    }
}

/// A value of a question in the store; dropping it deletes the value.
pub(super) struct StoredValue<'a> {
    connection: &'a Connection,
    name: String,
}

impl Drop for StoredValue<'_> {
    fn drop(&mut self) {
        self.connection.values.delete_later(&self.name);
    }
}

impl Connection {
    /// Sends the request of a step; one that is too large for the broker is stored until the result is dropped.
    pub(super) async fn send_step(
        &self,
        subject: &str,
        replies: &Replies,
        request: Message,
    ) -> Result<Option<StoredValue<'_>>, FleetError> {
        let reply = replies.subject();
        let Err((error, message)) = self.channel.send_or_return(subject, Some(&reply), request).await else {
            return Ok(None);
        };
        let (Some(request), Some(values)) = (message, self.values.values()) else { return Err(error) };
        let text =
            serde_json::to_string(&request).map_err(|error| FleetError::Unwritable(error.to_string()))?;
        let name = values.new_name()?;
        replies.set_stored_request(name.clone());
        let stored = StoredValue { connection: self, name: name.clone() };
        let request = tokio::select! {
            request = values.put_text(name, &text, ValueOwner::Step(replies.name())) => request?,
            () = self.closed.cancelled() => {
                return Err(FleetError::Transport("the connection to the workers is closed".to_owned()));
            }
        };
        self.channel.send_message(subject, Some(&reply), Message::StoredStep { request }).await?;
        Ok(Some(stored))
    }

    /// Returns the answer to a step, read from the store if it is there.
    pub(super) async fn read_answer(
        &self,
        answer: Message,
        replies: &Replies,
    ) -> Result<Message, FleetError> {
        let Message::StoredAnswer { answer } = answer else { return Ok(answer) };
        let no_store = || FleetError::ValueStore("this set of tools has none".to_owned());
        let values = self.values.values().ok_or_else(no_store)?;
        let message = values.read_json(&answer, ValueOwner::Step(replies.name())).await;
        self.values.delete_reference(&answer);
        message
    }
}

fn unsent_error(error: &FleetError) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, error.to_string())
}

impl SentCall<'_> {
    /// Returns the report, read from the store if it is there; in place of one that cannot be read, an error or log line.
    pub(super) async fn read_if_stored(&self, report: Report) -> Report {
        let Report::Stored { report: reference, ends } = report else { return report };
        let problem = match self.read_stored(&reference).await {
            Ok(report) if report.has_contents() && report.ends_call() == ends => return report,
            Ok(_) => FleetError::ValueStore("a value is another report than its worker said".to_owned()),
            Err(error) => error,
        };
        match ends {
            true => Report::Error(Box::new(ToolError::failed(format!(
                "the call ended, and its result is lost: {problem}"
            )))),
            false => Report::Log(LogLine::new(
                LogLevel::Warning,
                format!("a report of the worker is left out: {problem}"),
            )),
        }
    }

    async fn read_stored(&self, reference: &ValueReference) -> Result<Report, FleetError> {
        let connection = self.replies.connection();
        let no_store = || FleetError::ValueStore("this set of tools has none".to_owned());
        let values = connection.values.values().ok_or_else(no_store)?;
        let report = values.read_json(reference, ValueOwner::Reports(&self.call.call)).await;
        connection.values.delete_reference(reference);
        match report? {
            // One that names a further value.
            Report::Stored { .. } => Err(FleetError::ValueStore("a value is no report".to_owned())),
            report => Ok(report),
        }
    }
}
