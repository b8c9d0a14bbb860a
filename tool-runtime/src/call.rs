//! What a model asks for, and what becomes of it.

use std::{
    borrow::Cow,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use tool_core::{
    Actions, Arguments, CallAddress, CallId, Content, Correction, ErrorKind, Resource, ToolError, ToolOutput,
};

use crate::{dialect::content, policy::ApprovalRequest};

/// One request of a model: a tool by its name, with arguments.
///
/// # Examples
///
/// ```
/// use tool_runtime::ToolCall;
///
/// let call = ToolCall::new("add", r#"{ "a": 2, "b": 3 }"#).with_id("call_1");
/// assert_eq!(call.id.to_string(), "call_1");
/// // Arguments may hold what nobody else should read.
/// assert_eq!(format!("{call:?}"), r#"ToolCall { id: "call_1", name: "add", arguments: 18 bytes }"#);
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCall {
    /// The id that the model gave the call, or a new one where it gave none.
    #[serde(deserialize_with = "given_or_new", default = "CallId::generate")]
    pub id: CallId,
    /// The name of the tool, as the model wrote it.
    pub name: Arc<str>,
    /// The arguments, as the model wrote them.
    #[serde(serialize_with = "as_text", deserialize_with = "text_or_value", default = "no_arguments")]
    pub arguments: Arguments<'static>,
    /// What the caller sent along, outside the arguments; `traceparent` is read by the framework.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// Documents that the caller sent along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// The mark of a call that was cut off; absent in a call that is complete.
    ///
    /// An executor answers a marked call with [`ErrorKind::Incomplete`] and runs nothing. A program that calls
    /// a [`Registry`](crate::Registry) with the arguments of a call asks [`completed`](Self::completed) first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<Incomplete>,
}

impl ToolCall {
    /// A call of the tool `name`, with a new id.
    pub fn new(name: impl Into<Arc<str>>, arguments: impl Into<Arguments<'static>>) -> Self {
        Self {
            id: CallId::generate(),
            name: name.into(),
            arguments: arguments.into(),
            meta: None,
            resources: Vec::new(),
            incomplete: None,
        }
    }

    /// Sets the id that the model gave the call; an empty one is none.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        let id = id.into();
        if !id.is_empty() {
            self.id = CallId::from(id);
        }
        self
    }

    /// Sets what the caller sent along with the call.
    #[must_use]
    pub fn with_meta(mut self, meta: Map<String, Value>) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Sets the documents that the caller sent along with the call.
    #[must_use]
    pub fn with_resources(mut self, resources: Vec<Resource>) -> Self {
        self.resources = resources;
        self
    }

    /// Marks the call as cut off.
    #[must_use]
    pub fn with_incomplete(mut self, incomplete: Incomplete) -> Self {
        self.incomplete = Some(incomplete);
        self
    }

    /// Checks that the call was not cut off.
    ///
    /// # Errors
    ///
    /// If it is [marked](Self::incomplete): the error of kind [`Incomplete`](ErrorKind::Incomplete) that
    /// answers the call.
    pub fn completed(&self) -> Result<(), ToolError> {
        match &self.incomplete {
            None => Ok(()),
            Some(mark) => Err(mark.error().of_tool(self.name.to_string())),
        }
    }
}

/// Without the arguments: there may be a secret among them, and only the tool knows.
impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ToolCall");
        debug
            .field("id", &self.id)
            .field("name", &self.name)
            .field("arguments", &format_args!("{} bytes", self.arguments.as_str().len()));
        if let Some(incomplete) = &self.incomplete {
            debug.field("incomplete", incomplete);
        }
        debug.finish()
    }
}

/// The mark of a call that was cut off: the response that holds it ended before the model had finished it.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Incomplete, ToolCall};
///
/// let call = ToolCall::new("delete", "{}").with_incomplete(Incomplete::because("length"));
/// assert_eq!(
///     call.completed().unwrap_err().feedback(),
///     "Incomplete: the response ended (`length`) before this call did. Nothing was executed.",
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Incomplete {
    /// The stop reason, as the provider wrote it; absent where the response ended without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

impl Incomplete {
    /// The mark for a response that ended with the stop reason `reason`.
    pub fn because(reason: impl Into<Arc<str>>) -> Self {
        Self { reason: Some(reason.into()) }
    }

    /// The mark for a response that ended without a stop reason.
    #[must_use]
    pub fn without_reason() -> Self {
        Self { reason: None }
    }

    /// The answer to a marked call.
    fn error(&self) -> ToolError {
        /// The most characters of a stop reason that the answer repeats.
        const LONGEST: usize = 64;
        let plain = |reason: &Arc<str>| -> String {
            let is_plain = |letter: &char| letter.is_ascii_graphic() && *letter != '`';
            reason.chars().filter(is_plain).take(LONGEST).collect()
        };
        let reason = self.reason.as_ref().map(plain).filter(|reason| !reason.is_empty());
        let reason = reason.map(|reason| format!(" (`{reason}`)")).unwrap_or_default();
        let message = format!("the response ended{reason} before this call did");
        ToolError::new(ErrorKind::Incomplete, message)
    }
}

fn as_text<S: Serializer>(arguments: &Arguments<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(arguments.as_str())
}

/// Some send JSON in a text, some the value itself.
fn text_or_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arguments<'static>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text.into(),
        value => value.into(),
    })
}

/// An empty id is none, and so is `null`.
fn given_or_new<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CallId, D::Error> {
    let given = Option::<String>::deserialize(deserializer)?.filter(|id| !id.is_empty());
    Ok(given.map_or_else(CallId::generate, CallId::from))
}

fn no_arguments() -> Arguments<'static> {
    Arguments::EMPTY
}

/// The answer to one call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub id: CallId,
    /// The name of the tool, as the model wrote it.
    pub name: Arc<str>,
    /// What the tool gave, or why there is nothing.
    pub outcome: Result<ToolOutput, ToolError>,
    /// How often the tool was run: 0 where it was not.
    pub attempts: u32,
    /// When the answer was there.
    pub finished_at: SystemTime,
    /// How long the tool ran, pauses between attempts included.
    pub duration: Duration,
}

impl ToolResult {
    /// The answer `outcome` to the call `id` of the tool `name`, which was not run.
    pub fn new(id: CallId, name: impl Into<Arc<str>>, outcome: Result<ToolOutput, ToolError>) -> Self {
        Self {
            id,
            name: name.into(),
            outcome,
            attempts: 0,
            finished_at: SystemTime::now(),
            duration: Duration::ZERO,
        }
    }

    /// Whether the call failed, or the tool told of a failure.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.outcome.as_ref().map_or(true, ToolOutput::is_failure)
    }

    /// The text that the model reads, with every provider: the texts of the [content](Self::content), one
    /// below the other, or the [value](Self::structured) as JSON where there is no content.
    ///
    /// A resource is its text below its URI, a link its name with its URI; a picture or a sound has no
    /// text. Where a provider's results have no sign of failure, its dialect puts `Error: ` before the text
    /// of one; for a file that a provider does not take, its dialect adds a note.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.outcome {
            Ok(output) if !output.needs_words() => output.text(),
            _ => Cow::Owned(content::texts(self).join("\n")),
        }
    }

    /// The content for the model: the text of an error comes before what the tool attached to it.
    #[must_use]
    pub fn content(&self) -> Cow<'_, [Content]> {
        match &self.outcome {
            Ok(output) => output.content(),
            Err(error) => {
                let feedback = std::iter::once(Content::text(error.feedback()));
                Cow::Owned(feedback.chain(error.content().iter().cloned()).collect())
            }
        }
    }

    /// The tool's own words: what the model reads without what is put before an error, and with the texts
    /// that an error brings.
    pub(crate) fn words(&self) -> Cow<'_, str> {
        match &self.outcome {
            Ok(output) => output.text(),
            Err(error) => {
                let texts = error.content().iter().filter_map(Content::as_text);
                let texts = texts.fold(error.reason(), |all, text| format!("{all}\n{text}").into());
                Cow::Owned(texts.into_owned())
            }
        }
    }

    /// Puts `words` in the place of the tool's own; of what is no text, `stays` picks what stays.
    pub(crate) fn reword(&mut self, words: String, stays: impl Fn(&Content) -> bool) {
        let stays = |content: &[Content]| -> Vec<_> {
            content.iter().filter(|block| block.as_text().is_none() && stays(block)).cloned().collect()
        };
        match &mut self.outcome {
            Ok(output) => {
                let stay = stays(&output.content());
                let output_in_words = std::mem::take(output).with_text(words);
                *output = stay.into_iter().fold(output_in_words, ToolOutput::with_content);
            }
            Err(error) => {
                let stay = stays(error.content());
                *error = error.clone().with_message(words).with_content(stay);
            }
        }
    }

    /// The result as a value, for programs. A call that was not permitted is
    /// `{"status": "denied" or "approval_required", "tool", "reason"}`, without an empty reason.
    #[must_use]
    pub fn structured(&self) -> Option<Value> {
        let error = match &self.outcome {
            Ok(output) => return output.structured(),
            Err(error) => error,
        };
        if !matches!(error.kind(), ErrorKind::Denied | ErrorKind::ApprovalRequired) {
            return None;
        }
        let mut value = json!({ "status": error.kind().name(), "tool": self.name });
        let reason = error.reason();
        if !reason.is_empty() {
            value["reason"] = Value::String(reason.into_owned());
        }
        Some(value)
    }

    /// Details for user interfaces and logs; never for a model.
    #[must_use]
    pub fn details(&self) -> Option<&Value> {
        match &self.outcome {
            Ok(output) => output.details(),
            Err(error) => error.details(),
        }
    }

    /// Returns the actions that the tool asks of the run. A call that failed asks for none, also where its
    /// output [tells of a failure](ToolOutput::is_failure).
    #[must_use]
    pub fn actions(&self) -> Option<&Actions> {
        self.outcome.as_ref().ok().filter(|output| !output.is_failure())?.actions()
    }

    /// What was corrected in the arguments before they fitted.
    #[must_use]
    pub fn corrections(&self) -> &[Correction] {
        self.outcome.as_ref().map_or(&[], ToolOutput::corrections)
    }
}

/// As programs exchange it: what the model reads in `content`, the rest beside it.
impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire<'a> {
            id: &'a CallId,
            name: &'a str,
            is_error: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'static str>,
            content: Cow<'a, [Content]>,
            #[serde(skip_serializing_if = "Option::is_none")]
            structured: Option<Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            details: Option<&'a Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            child_run_id: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            operation_id: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            actions: Option<&'a Actions>,
            #[serde(skip_serializing_if = "<[Correction]>::is_empty")]
            corrections: &'a [Correction],
            attempts: u32,
            duration_ms: u128,
        }
        let output = self.outcome.as_ref().ok();
        Wire {
            id: &self.id,
            name: &self.name,
            is_error: self.is_error(),
            error: self.outcome.as_ref().err().map(|error| error.kind().name()),
            content: self.content(),
            structured: self.structured(),
            details: self.details(),
            child_run_id: output.and_then(ToolOutput::child_run_id),
            operation_id: output.and_then(ToolOutput::operation_id),
            actions: self.actions(),
            corrections: self.corrections(),
            attempts: self.attempts,
            duration_ms: self.duration.as_millis(),
        }
        .serialize(serializer)
    }
}

/// What became of one call of a batch.
#[derive(Debug, Clone)]
pub enum CallOutcome {
    /// It was answered.
    Finished(ToolResult),
    /// It is left to the caller, who answers by [`Executor::answer`](crate::Executor::answer) to this address.
    External(ToolCall, CallAddress),
    /// Its answer is still to come.
    Pending(Pending),
}

/// A call whose answer is still to come.
#[derive(Debug, Clone)]
pub struct Pending {
    /// The call.
    pub call: ToolCall,
    /// The address of the call, by which it is answered.
    pub address: CallAddress,
    /// The operation that the call waits for.
    pub operation: Operation,
    /// The interim result for the model, such as that an approval is required; `None` if there is none yet.
    pub result: Option<ToolResult>,
}

/// What a pending call waits for.
#[derive(Debug, Clone)]
pub enum Operation {
    /// For what the tool started, under the id that the tool gave it; `None` where it gave none.
    LongRunning(Option<String>),
    /// For a person, who was asked this.
    Confirmation(Box<ApprovalRequest>),
}

impl CallOutcome {
    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        match self {
            Self::Finished(result) => &result.id,
            Self::External(call, _) => &call.id,
            Self::Pending(pending) => &pending.call.id,
        }
    }

    /// The name of the tool, as the model wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Finished(result) => &result.name,
            Self::External(call, _) => &call.name,
            Self::Pending(pending) => &pending.call.name,
        }
    }

    /// The address by which the call is answered; `None` where it is finished.
    #[must_use]
    pub fn address(&self) -> Option<&CallAddress> {
        match self {
            Self::Finished(_) => None,
            Self::External(_, address) => Some(address),
            Self::Pending(pending) => Some(&pending.address),
        }
    }

    /// What the model is told now: at most one result for each call.
    #[must_use]
    pub fn result(&self) -> Option<&ToolResult> {
        match self {
            Self::Finished(result) => Some(result),
            Self::External(..) => None,
            Self::Pending(pending) => pending.result.as_ref(),
        }
    }

    /// Whether the answer is there.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self, Self::Finished(_))
    }
}

/// Merges the actions that the calls of a batch ask of their run: states and artifacts in the order of the calls, so
/// that the later call wins; [`terminate`](Actions::terminate) only where every call asks for it. A call that failed asks
/// for nothing. The loop of a program looks at it after each batch, and ends where it asks for that: an executor applies
/// the changes of [`State`](crate::State) itself, and no other action.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Actions, ToolOutput, ToolResult, CallOutcome, merged_actions};
///
/// let asks = Actions { terminate: true, ..Actions::default() };
/// let result = |output| CallOutcome::Finished(ToolResult::new("id".into(), "tool", Ok(output)));
/// let asking = result(ToolOutput::from("done").with_actions(asks));
/// assert!(merged_actions([&asking, &asking]).terminate);
/// assert!(!merged_actions([&asking, &result(ToolOutput::from("not yet"))]).terminate);
/// ```
pub fn merged_actions<'a>(outcomes: impl IntoIterator<Item = &'a CallOutcome>) -> Actions {
    let (mut merged, mut unanimous, mut any) = (Actions::default(), true, false);
    for outcome in outcomes {
        any = true;
        let actions = outcome.result().and_then(ToolResult::actions);
        unanimous &= actions.is_some_and(|actions| actions.terminate);
        if let Some(actions) = actions {
            merged.follow(actions.clone());
        }
    }
    merged.terminate = any && unanimous;
    merged
}
