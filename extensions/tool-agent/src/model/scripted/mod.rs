//! A model with prepared responses.
//!
//! - `line.rs`: the lines of a script, which [`RecordingModel`](super::RecordingModel) writes.
//! - `request.rs`, `difference.rs`: a request in a script, and its comparison with a received one.
//! - `error.rs`: errors of scripts.

mod difference;
mod error;
mod line;
mod reply;
mod request;

use std::{
    collections::VecDeque,
    fmt,
    io::Read,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{StreamExt as _, stream};

use self::{difference::Differences, line::ScriptedExchange};
pub use self::{error::ScriptError, reply::Reply};
pub(super) use self::{
    line::exchange_line,
    reply::{Piece, ReplyStream},
    request::WrittenRequest,
};
use super::{Model, ModelErrorKind, Request, ResponseStream};

/// A model with prepared responses, for tests and offline examples. Each request takes the next one; a request beyond
/// the last is an error. Cheap to clone; clones share the responses.
///
/// The responses are values of the program, or lines of a script.
///
/// # Scripts
///
/// A script is a text with one JSON object per line, which [`RecordingModel`](super::RecordingModel) writes, too:
///
/// ```json
/// {"response":{"parts":[{"call":{"name":"add","arguments":{"a":2,"b":3}}}]}}
/// {"request":{"messages":[{"role":"user"},{"role":"assistant"},{"role":"tool","parts":[{"result":{"text":"5"}}]}]},"response":{"parts":[{"text":"It is 5."}]}}
/// {"error":{"kind":"rate_limited","message":"slow down"}}
/// ```
///
/// | member | contents |
/// | --- | --- |
/// | `request` | `instruction`, `messages`, `tools` (their names, in any order), `tool_choice` (`"auto"`, `"none"`, `"required"`, `{"tool":NAME}`), `output` (the name of the output format, or `null`) |
/// | `messages` | objects with `role` (`user`, `assistant`, `tool`) and `parts` |
/// | a part | an object with one member: `text`, `reasoning`, `content` (an image, audio or a document), `call`, or in requests `result` |
/// | `call` | `name`; `arguments`, as a text that has to be equal, or as JSON whose white space does not count; `id` |
/// | `result` | `id`, `name`, `text`; `error`: `true` for a failed call; `content`, `follow_ups` |
/// | `response` | `parts`; `stream`, `stop_reason`, `usage`, `id`, `model`, `truncated`, and in `original` the message in the JSON of its provider |
/// | `stream` | the text as it arrives: `"words"`, or a list of texts, and of `{"reasoning":TEXT}`, `{"unsupported":TEXT}` and `{"notice":TEXT}`. Without `parts`, the text of the response. Default: each part as a whole |
/// | `error` | `kind` (a [`ModelErrorKind`], such as `rate_limited`); `message`, `status`, `retry_after_ms`; `stream` before the error |
///
/// A line has `response` or `error`. `request` can be left out, and so can each of its members, `parts`, the members of
/// a call, and `id`, `name` and `text` of a result: what is left out is not compared. A request that differs from the
/// next line fails with [`ModelErrorKind::Script`], and the error lists the differences by JSON pointer. A line whose
/// request is complete, as in a recording, is also found further below: requests of concurrent runs have no order.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Runner, ScriptedModel};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::from_text(r#"
///     {"request":{"messages":[{"role":"user","parts":[{"text":"Hi."}]}]},"response":{"stream":["Hel","lo."]}}
/// "#)?;
/// let runner = Runner::new(Agent::builder("greeter", model.clone()).build()?);
/// assert_eq!(runner.run("Hi.").answer().await?, "Hello.");
/// model.finished()?;
///
/// let model = ScriptedModel::from_text(r#"{"request":{"tools":["add"]},"response":{"parts":[]}}"#);
/// let error = model.unwrap_err().to_string();
/// assert!(error.starts_with("script, line 1: expected `parts` or `stream` in `response`"), "{error}");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct ScriptedModel(Arc<SharedScript>);

struct SharedScript {
    settings: ScriptedModelSettings,
    state: Arc<Mutex<ScriptState>>,
}

#[derive(Clone)]
struct ScriptedModelSettings {
    name: String,
    /// The name of the script, for messages.
    script: Arc<str>,
    context_window: Option<u64>,
    strict_output: bool,
}

struct ScriptState {
    exchanges: VecDeque<ScriptedExchange>,
    requests: Vec<Request>,
}

impl ScriptedModel {
    /// Creates a model with these responses.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let exchange = |reply| ScriptedExchange { line: None, request: None, reply };
        Self::from_exchanges("script".into(), replies.into_iter().map(exchange).collect())
    }

    /// Creates a model from the text of a [script](Self#scripts).
    ///
    /// # Errors
    ///
    /// Returns an error with its number if a line does not have the format.
    pub fn from_text(script: impl AsRef<str>) -> Result<Self, ScriptError> {
        Self::from_named_text("script".into(), script.as_ref())
    }

    /// Creates a model from a file with a [script](Self#scripts).
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or if a line does not have the format.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let name: Arc<str> = path.as_ref().display().to_string().into();
        let text = std::fs::read_to_string(path).map_err(|error| ScriptError::of_reading(&name, &error))?;
        Self::from_named_text(name, &text)
    }

    /// Creates a model from a reader of a [script](Self#scripts), which is read to its end.
    ///
    /// # Errors
    ///
    /// Returns an error if the reader fails, or if a line does not have the format.
    pub fn from_reader(mut script: impl Read) -> Result<Self, ScriptError> {
        let (name, mut text) = (Arc::from("script"), String::new());
        script.read_to_string(&mut text).map_err(|error| ScriptError::of_reading(&name, &error))?;
        Self::from_named_text(name, &text)
    }

    fn from_named_text(name: Arc<str>, text: &str) -> Result<Self, ScriptError> {
        let exchanges = line::read_script(&name, text)?;
        Ok(Self::from_exchanges(name, exchanges.into()))
    }

    fn from_exchanges(script: Arc<str>, exchanges: VecDeque<ScriptedExchange>) -> Self {
        let settings = ScriptedModelSettings {
            name: "scripted".to_owned(),
            script,
            context_window: None,
            strict_output: false,
        };
        let state = Arc::new(Mutex::new(ScriptState { exchanges, requests: Vec::new() }));
        Self(Arc::new(SharedScript { settings, state }))
    }

    fn with_changed_settings(self, change: impl FnOnce(&mut ScriptedModelSettings)) -> Self {
        let mut settings = self.0.settings.clone();
        change(&mut settings);
        Self(Arc::new(SharedScript { settings, state: Arc::clone(&self.0.state) }))
    }

    /// Sets the name of the model. Default: `scripted`.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        self.with_changed_settings(|it| it.name = name.into())
    }

    /// Sets the maximum number of tokens of a request and its response. Default: unknown.
    #[must_use]
    pub fn with_context_window(self, tokens: u64) -> Self {
        self.with_changed_settings(|it| it.context_window = Some(tokens))
    }

    /// Sets whether the responses have the [output format](super::Request::output) of their requests. Default: `false`.
    #[must_use]
    pub fn with_strict_output(self, is_strict: bool) -> Self {
        self.with_changed_settings(|it| it.strict_output = is_strict)
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    /// Checks that each response was taken.
    ///
    /// # Errors
    ///
    /// Returns an error with the number of the others, and the line of the first one.
    pub fn finished(&self) -> Result<(), ScriptError> {
        let state = self.lock();
        let Some(next) = state.exchanges.front() else { return Ok(()) };
        let message = match state.exchanges.len() {
            1 => "expected a request for the last response, got none".to_owned(),
            left => format!("expected requests for the last {left} responses, got none"),
        };
        Err(ScriptError::of_unused_rest(&self.0.settings.script, next.line, message))
    }

    /// No user code runs under the lock.
    fn lock(&self) -> MutexGuard<'_, ScriptState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the reply to a request.
    fn next_reply(&self, request: Request) -> Reply {
        let mut state = self.lock();
        let is_compared = state.exchanges.front().is_some_and(|next| next.request.is_some());
        let written = is_compared.then(|| WrittenRequest::of(&request));
        state.requests.push(request);
        let asked = state.requests.len();
        let Some(next) = state.exchanges.front() else {
            let script = &self.0.settings.script;
            return script_error_reply(format!("{script} has no response for request {asked}"));
        };
        let differences = match (&next.request, &written) {
            (Some(expected), Some(received)) => Differences::between(expected, received),
            _ => Differences::default(),
        };
        let line = next.line.map(|line| format!(", line {line}")).unwrap_or_default();
        let same = |it: &ScriptedExchange| match (&it.request, &written) {
            (Some(expected), Some(received)) => {
                expected.is_complete() && Differences::between(expected, received).is_empty()
            }
            _ => false,
        };
        let found = match differences.is_empty() {
            true => Some(0),
            false => state.exchanges.iter().position(same),
        };
        if let Some(found) = found.and_then(|at| state.exchanges.remove(at)) {
            return found.reply;
        }
        let script = &self.0.settings.script;
        script_error_reply(format!("request {asked} differs from {script}{line}:{differences}"))
    }
}

fn script_error_reply(message: String) -> Reply {
    Reply::error(ModelErrorKind::Script, message)
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.0.settings.name
    }

    fn provider(&self) -> &str {
        "scripted"
    }

    fn context_window(&self) -> Option<u64> {
        self.0.settings.context_window
    }

    fn has_strict_output(&self) -> bool {
        self.0.settings.strict_output
    }

    /// Follows the next line of the script, if its request states the format of the answer or its absence.
    fn has_strict_output_for(&self, _: &Request) -> bool {
        let state = self.lock();
        let next = state.exchanges.front().and_then(|next| next.request.as_ref()?.output.as_ref());
        next.map_or(self.0.settings.strict_output, Option::is_some)
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let model = self.clone();
        let events = stream::once(async move { stream::iter(model.next_reply(request).events()) });
        ResponseStream::new(events.flatten())
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("name", &self.0.settings.name).finish_non_exhaustive()
    }
}
