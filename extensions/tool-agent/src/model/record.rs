//! Recording a model as a script.

use std::{
    collections::VecDeque,
    fmt,
    fs::File,
    io::{self, Write as _},
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt as _};
use tool_runtime::request::RequestAdditions;

use super::{
    Model, ModelError, ModelErrorKind, ModelEvent, Request, ResponseStream, SharedModel,
    scripted::{Piece, Reply, ReplyStream, WrittenRequest, exchange_line},
};

/// A model that writes each exchange to a file, which a [`ScriptedModel`](super::ScriptedModel) answers from: a run that
/// was recorded replays without a network. Cheap to clone; clones write to the same file.
///
/// The file has the [format of scripts](super::ScriptedModel#scripts), one line for each exchange, in the order in which
/// they end. It contains the conversation in full, with the arguments and results of calls; keys and headers of providers
/// are no part of it. The retries of an [`HttpModel`](super::HttpModel) and the models of a
/// [`Fallback`](super::Fallback) are one exchange, without the text that was withdrawn. A request that is dropped before
/// its end is an exchange with an error of the kind [`Cancelled`](ModelErrorKind::Cancelled).
///
/// A line that cannot be written ends the recording and not the run: the response has a
/// [notice](ModelEvent::Notice), and [`failure`](Self::failure) returns the reason.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Runner, ScriptedModel, model::{RecordingModel, Reply}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let path = std::env::temp_dir().join(format!("recording-{}.jsonl", std::process::id()));
/// let model = RecordingModel::create(ScriptedModel::new([Reply::text("Hello.")]), &path)?;
/// let runner = Runner::new(Agent::builder("greeter", model).build()?);
/// assert_eq!(runner.run("Hi.").answer().await?, "Hello.");
///
/// let model = ScriptedModel::from_file(&path)?;
/// let runner = Runner::new(Agent::builder("greeter", model).build()?);
/// assert_eq!(runner.run("Hi.").answer().await?, "Hello.");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct RecordingModel {
    model: SharedModel,
    recording: Arc<Mutex<Recording>>,
}

/// The file, or the reason for which nothing more is written.
enum Recording {
    Open(File),
    Failed(Arc<str>),
}

impl RecordingModel {
    /// Records `model` in a new file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file exists or cannot be created.
    pub fn create(model: impl Into<SharedModel>, path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self::to_file(model, File::create_new(path)?))
    }

    /// Records `model` in an open file.
    pub fn to_file(model: impl Into<SharedModel>, file: File) -> Self {
        Self { model: model.into(), recording: Arc::new(Mutex::new(Recording::Open(file))) }
    }

    /// Returns the reason for which the recording ended; `None` while it is complete.
    #[must_use]
    pub fn failure(&self) -> Option<Arc<str>> {
        match &*self.recording.lock().unwrap_or_else(PoisonError::into_inner) {
            Recording::Open(_) => None,
            Recording::Failed(reason) => Some(Arc::clone(reason)),
        }
    }
}

impl Model for RecordingModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn provider(&self) -> &str {
        self.model.provider()
    }

    fn context_window(&self) -> Option<u64> {
        self.model.context_window()
    }

    fn has_strict_output(&self) -> bool {
        self.model.has_strict_output()
    }

    fn has_strict_output_for(&self, request: &Request) -> bool {
        self.model.has_strict_output_for(request)
    }

    fn asks_request_hooks(&self) -> bool {
        self.model.asks_request_hooks()
    }

    fn respond(&self, request: Request) -> ResponseStream {
        ResponseStream::new(RecordedStream {
            events: self.model.respond(request.clone()),
            request,
            additions: RequestAdditions::default(),
            pieces: Vec::new(),
            recording: Arc::clone(&self.recording),
            state: RecordState::Idle,
            held: VecDeque::new(),
        })
    }
}

impl fmt::Debug for RecordingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingModel").field("model", &self.model).finish_non_exhaustive()
    }
}

/// The events of a model, which are written once they are complete.
struct RecordedStream {
    request: Request,
    /// The additions of tools and request hooks for the model that answers.
    additions: RequestAdditions,
    events: ResponseStream,
    pieces: Vec<Piece>,
    recording: Arc<Mutex<Recording>>,
    state: RecordState,
    /// Events that follow a notice.
    held: VecDeque<Result<ModelEvent, ModelError>>,
}

#[derive(PartialEq)]
enum RecordState {
    /// Nothing was requested yet.
    Idle,
    Requested,
    Written,
}

impl RecordedStream {
    /// Writes the exchange; returns a notice if that fails for the first time.
    fn write_exchange(&mut self, outcome: Result<super::Response, ModelError>) -> Option<ModelEvent> {
        self.state = RecordState::Written;
        let reply = Reply { outcome, stream: self.take_reply_stream() };
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let Recording::Open(file) = &mut *recording else { return None };
        // What has no place in a script is not compared when it is replayed.
        drop(self.request.add_supported_additions(&std::mem::take(&mut self.additions)));
        let written = exchange_line(&WrittenRequest::of(&self.request), &reply).map_err(io::Error::other);
        let written = written.and_then(|line| file.write_all(line.as_bytes()).and_then(|()| file.flush()));
        let reason: Arc<str> = format!("the recording ended: {}", written.err()?).into();
        *recording = Recording::Failed(Arc::clone(&reason));
        Some(ModelEvent::Notice(reason.to_string()))
    }

    fn take_reply_stream(&mut self) -> ReplyStream {
        match std::mem::take(&mut self.pieces) {
            none if none.is_empty() => ReplyStream::Whole,
            pieces => ReplyStream::Pieces(pieces),
        }
    }

    /// Removes the text of a response that was withdrawn.
    fn remove_withdrawn_text(&mut self) {
        self.pieces.retain(|piece| !matches!(piece, Piece::Text(_) | Piece::Reasoning(_)));
    }

    /// Takes note of an event; returns a notice that precedes it.
    fn observe_event(&mut self, event: &Result<ModelEvent, ModelError>) -> Option<ModelEvent> {
        match event {
            Ok(ModelEvent::Text(text)) => self.pieces.push(Piece::Text(text.clone())),
            Ok(ModelEvent::Reasoning(text)) => self.pieces.push(Piece::Reasoning(text.clone())),
            Ok(ModelEvent::Unsupported(text)) => self.pieces.push(Piece::Unsupported(text.clone())),
            Ok(ModelEvent::Notice(text)) => self.pieces.push(Piece::Notice(text.clone())),
            Ok(ModelEvent::Extended(additions)) => self.additions = additions.clone(),
            // The diagnostics of the request stay: it is repeated as it was.
            Ok(ModelEvent::Retried { .. }) => self.remove_withdrawn_text(),
            Ok(ModelEvent::FellBack { .. }) => {
                self.remove_withdrawn_text();
                self.additions = RequestAdditions::default();
            }
            Ok(ModelEvent::Finished(response)) => return self.write_exchange(Ok(response.clone())),
            Err(error) => return self.write_exchange(Err(error.clone())),
        }
        None
    }
}

impl Stream for RecordedStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(event) = self.held.pop_front() {
            return Poll::Ready(Some(event));
        }
        if self.state == RecordState::Written {
            return Poll::Ready(None);
        }
        self.state = RecordState::Requested;
        let event = match self.events.poll_next_unpin(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(event) => event.unwrap_or_else(|| Err(ModelError::of_ended_stream())),
        };
        match self.observe_event(&event) {
            None => Poll::Ready(Some(event)),
            Some(notice) => {
                self.held.push_back(event);
                Poll::Ready(Some(Ok(notice)))
            }
        }
    }
}

/// Writes a request that is dropped before its end.
impl Drop for RecordedStream {
    fn drop(&mut self) {
        if self.state == RecordState::Requested {
            let error = ModelError::new(ModelErrorKind::Cancelled, "the request was cancelled");
            // The run is over; `failure` returns the reason.
            drop(self.write_exchange(Err(error)));
        }
    }
}
