use std::{
    any::Any,
    sync::Arc,
    task::{Context, Wake, Waker},
    thread::{self, Thread},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ToolError, ToolOutput, tool::BoxFuture};

/// Takes what a running call reports.
///
/// All methods do nothing by default: a tool reports whether or not somebody listens.
pub trait CallSink: Send + Sync {
    /// Takes a partial result. The future ends when there is room for the next one.
    fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
        let _ = update;
        Box::pin(std::future::ready(()))
    }

    /// Takes a partial result without waiting; returns `false` if there is no room for it, and then does not take it.
    ///
    /// The default asks [`update`](Self::update) once. A sink whose `update` waits after it has taken something has a
    /// method of its own.
    fn try_update(&self, update: ToolOutput) -> bool {
        self.update(update).as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Takes a partial result from a thread that may block; returns when there is room for the next one.
    ///
    /// The default blocks the thread on [`update`](Self::update).
    ///
    /// # Errors
    ///
    /// If the call is over.
    fn blocking_update(&self, update: ToolOutput) -> Result<(), ToolError> {
        /// Wakes a thread.
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

    /// Takes a note on how far the call is.
    ///
    /// # Errors
    ///
    /// If the note could not be delivered.
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        let _ = progress;
        Ok(())
    }

    /// Takes a log line.
    ///
    /// # Errors
    ///
    /// If the line could not be delivered.
    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        let _ = line;
        Ok(())
    }

    /// The sink as its own type, for whoever runs calls: events of a run below the call pass through it.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// A line of a call's log, for those who watch and never for the model.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_core::{LogLevel, LogLine, ToolContext};
///
/// let cx = ToolContext::for_test();
/// cx.log(LogLine::new(LogLevel::Warning, "the index is stale").with_data(json!({ "days": 3 })))?;
/// # Ok::<(), tool_core::ToolError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogLine {
    /// The severity.
    pub level: LogLevel,
    /// The text.
    pub message: String,
    /// The structured data beside the text; `null` where there is none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl LogLine {
    /// A line without data.
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

/// The severity of a [`LogLine`]: those of syslog ([RFC 5424](https://www.rfc-editor.org/rfc/rfc5424)), from the least to
/// the most severe.
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

/// How far a call is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// What is done, in units of the tool's choice.
    pub done: f64,
    /// What there is to do in all, where it is known; above 0 where a [`CallSink`] is given it.
    pub total: Option<f64>,
    /// A word for people.
    pub message: Option<String>,
}

impl Progress {
    /// `done` units, of an unknown number.
    #[must_use]
    pub fn new(done: f64) -> Self {
        Self { done, ..Self::default() }
    }

    /// Sets what there is to do in all; 0, or what is no positive number, means that it is not known.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_core::Progress;
    ///
    /// assert_eq!(Progress::new(3.0).of(5.0).total, Some(5.0));
    /// assert_eq!(Progress::new(3.0).of(0.0).total, None);
    /// ```
    #[must_use]
    pub fn of(mut self, total: f64) -> Self {
        self.total = Some(total);
        self.settled()
    }

    /// The same without a total that is none.
    pub(super) fn settled(mut self) -> Self {
        self.total = self.total.filter(|total| *total > 0.0 && total.is_finite());
        self
    }

    /// With a word for people.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}
