//! A run as a stream of events.

use std::{
    error::Error,
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt as _};
use serde::de::DeserializeOwned;
use tool_runtime::{RunContext, guard::catch};

use super::{AgentEvent, AgentEventKind, End, RunHandle};
use crate::event_stream::EventStream;

/// The events of a run; the last one is [`AgentEventKind::Ended`]. The run progresses only while the stream is polled,
/// and dropping it cancels the run: the request to the model, the calls, and their child processes.
#[must_use = "a run does nothing until its stream is polled"]
pub struct AgentStream {
    events: EventStream<AgentEvent>,
    handle: RunHandle,
    run: Arc<RunContext>,
}

/// A run ended without an answer, or without an output of the requested type.
#[derive(Debug, Clone)]
pub struct RunError {
    end: Box<End>,
    /// The problem, if it is not the reason of the end.
    problem: Option<Arc<str>>,
}

impl AgentStream {
    pub(super) fn new(events: EventStream<AgentEvent>, handle: RunHandle, run: Arc<RunContext>) -> Self {
        Self { events, handle, run }
    }

    /// Waits for the next event; `None` after the last.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        self.events.next().await
    }

    /// Waits for the next event in its box, as [`next`](Self::next) does.
    pub(crate) async fn next_boxed(&mut self) -> Option<Box<AgentEvent>> {
        poll_fn(|cx| self.events.poll_next_boxed(cx)).await
    }

    /// Returns a handle that steers the run.
    #[must_use]
    pub fn handle(&self) -> RunHandle {
        self.handle.clone()
    }

    /// Returns the run.
    #[must_use]
    pub fn run(&self) -> &Arc<RunContext> {
        &self.run
    }

    /// Waits for the end of the run, and discards all other events.
    pub async fn end(mut self) -> End {
        let mut end = None;
        while let Some(event) = self.next().await {
            if let AgentEventKind::Ended { end: reached } = event.kind {
                end = Some(reached);
            }
        }
        // The driver of a run emits its end last, whatever happens.
        end.unwrap_or_else(End::without_reason)
    }

    /// Waits for the text of the answer, and discards all events.
    ///
    /// # Errors
    ///
    /// Returns an error with the [end](RunError::end) if the run ended for [another
    /// reason](super::EndReason::is_success).
    pub async fn answer(self) -> Result<String, RunError> {
        let end = self.end().await;
        if end.reason.is_success() {
            Ok(end.text)
        } else {
            Err(RunError { end: Box::new(end), problem: None })
        }
    }

    /// Waits for the [structured output](End::output), and discards all events.
    ///
    /// # Errors
    ///
    /// Returns an error with the [end](RunError::end) if the run ended without an output, or if the output does not
    /// decode as `T`, because the agent has another [output type](crate::AgentBuilder::output).
    pub async fn output<T: DeserializeOwned>(self) -> Result<T, RunError> {
        let end = Box::new(self.end().await);
        let problem = match &end.output_json {
            Some(json) => match catch(|| serde_json::from_str(json)) {
                Ok(Ok(output)) => return Ok(output),
                Ok(Err(error)) => decoding_problem::<T>(&error.to_string()),
                Err(panic) => decoding_problem::<T>(&format!("its decoder {panic}")),
            },
            None if end.reason.is_success() => format!(
                "the run ended without a structured output ({}); set its type by `AgentBuilder::output`",
                end.reason
            ),
            None => return Err(RunError { end, problem: None }),
        };
        Err(RunError { end, problem: Some(problem.into()) })
    }
}

impl Stream for AgentStream {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        self.events.poll_next_unpin(cx)
    }
}

impl fmt::Debug for AgentStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentStream").field("run", &self.run).finish_non_exhaustive()
    }
}

impl RunError {
    /// Returns the end of the run.
    #[must_use]
    pub fn end(&self) -> &End {
        &self.end
    }
}

fn decoding_problem<T>(reason: &str) -> String {
    let wanted = std::any::type_name::<T>();
    format!(
        "the output of the run does not decode as `{wanted}`: {reason}; use the type of the agent's output"
    )
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Some(problem) => f.write_str(problem),
            None => self.end.fmt(f),
        }
    }
}

impl Error for RunError {}
