use std::{
    any::Any,
    sync::Arc,
    task::{Context, Wake, Waker},
    thread::{self, Thread},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ToolError, ToolOutput, tool::BoxFuture};

/// A receiver of the reports of a running call.
///
/// All methods do nothing by default.
pub trait CallSink: Send + Sync {
    /// Receives a partial result. The future completes when there is room for the next one.
    fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
        let _ = update;
        Box::pin(std::future::ready(()))
    }

    /// Receives a partial result without waiting. Returns `false`, and discards the update, if there is no room for
    /// it.
    ///
    /// The default polls [`update`](Self::update) once. A sink whose `update` waits after it has accepted an update
    /// must override this method.
    fn try_update(&self, update: ToolOutput) -> bool {
        self.update(update).as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Receives a partial result from a thread that may block; returns when there is room for the next one.
    ///
    /// The default blocks the thread on [`update`](Self::update).
    ///
    /// # Errors
    ///
    /// Returns an error if the call is over.
    fn blocking_update(&self, update: ToolOutput) -> Result<(), ToolError> {
        /// A waker that unparks a thread.
        struct Unpark(Thread);

        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }

        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut running = self.update(update);
        while running.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            thread::park();
        }
        Ok(())
    }

    /// Receives a progress report.
    ///
    /// # Errors
    ///
    /// Returns an error if the report could not be delivered.
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        let _ = progress;
        Ok(())
    }

    /// Receives a log line.
    ///
    /// # Errors
    ///
    /// Returns an error if the line could not be delivered.
    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        let _ = line;
        Ok(())
    }

    /// Returns the sink as its concrete type, for code that runs calls: events of child runs of the call pass through
    /// it.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// A line of a call's log, for listeners and never for the model.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::{ToolContext, context::{LogLevel, LogLine}};
///
/// let cx = ToolContext::for_test();
/// cx.log(LogLine::new(LogLevel::Warning, "the index is stale").with_data(json!({ "days": 3 })))?;
/// # Ok::<(), tool_runtime::ToolError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogLine {
    /// The severity.
    pub level: LogLevel,
    /// The text.
    pub message: String,
    /// The structured data beside the text; `null` if there is none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl LogLine {
    /// Creates a line without data.
    pub fn new(level: LogLevel, message: impl Into<String>) -> Self {
        Self { level, message: message.into(), data: Value::Null }
    }

    /// Sets the structured data beside the text.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }
}

/// The severity of a [`LogLine`] in ascending order, as in syslog ([RFC
/// 5424](https://www.rfc-editor.org/rfc/rfc5424)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Normal, but significant.
    Notice,
    /// Not an error, but may become one.
    Warning,
    /// An error of the operation.
    Error,
    /// A failure of a component.
    Critical,
    /// Action must be taken immediately.
    Alert,
    /// The system is unusable.
    Emergency,
}

/// The progress of a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// The completed work, in units of the tool's choice.
    pub done: f64,
    /// The total work in the same units, if it is known; a [`CallSink`] receives only totals above 0.
    pub total: Option<f64>,
    /// A message for people.
    pub message: Option<String>,
}

impl Progress {
    /// Creates a report of `done` units with an unknown total.
    #[must_use]
    pub fn new(done: f64) -> Self {
        Self { done, ..Self::default() }
    }

    /// Sets the total. Values that are 0, negative or not finite mean that it is unknown.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::context::Progress;
    ///
    /// assert_eq!(Progress::new(3.0).of(5.0).total, Some(5.0));
    /// assert_eq!(Progress::new(3.0).of(0.0).total, None);
    /// ```
    #[must_use]
    pub fn of(mut self, total: f64) -> Self {
        self.total = Some(total);
        self.without_invalid_total()
    }

    /// Removes an invalid total.
    pub(super) fn without_invalid_total(mut self) -> Self {
        self.total = self.total.filter(|total| *total > 0.0 && total.is_finite());
        self
    }

    /// Sets a message for people.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}
