//! The answer to a call.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::{Map, Value, json};
use tool_core::{Actions, CallId, Content, Correction, ErrorKind, ToolError, ToolOutput};

use super::{ToolCall, content, replace::FollowUps};

/// The answer to one call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub id: CallId,
    /// The name of the tool, as the model wrote it; for a [redirected](Self::redirected_from) call, the tool that ran.
    pub name: Arc<str>,
    /// The output of the tool, or the error.
    pub outcome: Result<ToolOutput, ToolError>,
    /// The number of attempts; 0 if the tool was not run.
    pub attempts: u32,
    /// The time at which the result was available.
    pub finished_at: SystemTime,
    /// The running time of the tool, including pauses between attempts.
    pub duration: Duration,
    /// The name of the tool that the model called, if that tool [redirected](tool_core::Tool::redirect) the call to the
    /// tool of this result.
    pub redirected_from: Option<Arc<str>>,
    /// The user messages that follow the results of the batch. Boxed, since results are moved often and few have any.
    pub(crate) follow_ups: Option<Box<FollowUps>>,
}

impl ToolResult {
    /// Creates the answer `outcome` to the call `id` of the tool `name`. `attempts` and `duration` are 0; `finished_at`
    /// is now.
    pub fn new(id: CallId, name: impl Into<Arc<str>>, outcome: Result<ToolOutput, ToolError>) -> Self {
        Self {
            id,
            name: name.into(),
            outcome,
            attempts: 0,
            finished_at: SystemTime::now(),
            duration: Duration::ZERO,
            redirected_from: None,
            follow_ups: None,
        }
    }

    /// Returns the result as the answer to `call`, which may be redirected.
    pub(crate) fn redirected_as(mut self, call: &ToolCall) -> Self {
        self.redirected_from.clone_from(&call.redirected_from);
        self
    }

    /// Returns the name of the tool that the model called: of [`redirected_from`](Self::redirected_from), or of the tool
    /// itself. Providers that match results to calls by name receive this one.
    #[must_use]
    pub fn called_name(&self) -> &str {
        self.redirected_from.as_deref().unwrap_or(&self.name)
    }

    /// Returns the id of the run of an agent that the tool ran, whether it succeeded or not.
    #[must_use]
    pub fn child_run_id(&self) -> Option<&str> {
        match &self.outcome {
            Ok(output) => output.child_run_id(),
            Err(error) => error.child_run_id(),
        }
    }

    /// Returns `true` if the call failed, or if its output reports a failure.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.outcome.as_ref().map_or(true, ToolOutput::is_failure)
    }

    /// Returns the text for the model, the same for every provider: the texts of the [content](Self::content),
    /// separated by line breaks, or the [structured value](Self::structured) as JSON if there is no content.
    ///
    /// A resource contributes its text below its URI, and a link its name with its URI; images and audio have no text.
    /// If the results of a provider have no failure flag, its dialect adds `Error: ` before the text of a failure; for
    /// a file that a provider does not support, its dialect adds a note.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.outcome {
            Ok(output) if !output.needs_words() => output.text(),
            _ => Cow::Owned(content::result_texts(self).join("\n")),
        }
    }

    /// Returns the content for the model: for an error, its feedback, followed by the content that the tool attached.
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

    /// Returns the text of the tool without the prefix of the error kind, followed by the texts that an error attaches.
    pub(crate) fn text_without_kind_prefix(&self) -> Cow<'_, str> {
        match &self.outcome {
            Ok(output) => output.text(),
            Err(error) => {
                let texts = error.content().iter().filter_map(Content::as_text);
                let texts = texts.fold(error.reason(), |all, text| format!("{all}\n{text}").into());
                Cow::Owned(texts.into_owned())
            }
        }
    }

    /// Replaces the text of the tool with `words`; other blocks of the content are kept if `stays` returns `true`.
    pub(crate) fn replace_text(&mut self, words: String, stays: impl Fn(&Content) -> bool) {
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

    /// Returns the structured value, for programs. For a call that was not permitted, it is `{"status": "denied" or
    /// "approval_required", "tool", "reason"}`; an empty reason is omitted.
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

    /// Returns the details for user interfaces and logs; never sent to a model.
    #[must_use]
    pub fn details(&self) -> Option<&Value> {
        match &self.outcome {
            Ok(output) => output.details(),
            Err(error) => error.details(),
        }
    }

    /// Returns the metadata that the tool sends with the result; never sent to a model.
    #[must_use]
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.outcome.as_ref().ok()?.meta()
    }

    /// Returns the actions that the tool requests of the run; `None` for a failed call, including an output that
    /// [reports a failure](ToolOutput::is_failure).
    #[must_use]
    pub fn actions(&self) -> Option<&Actions> {
        self.outcome.as_ref().ok().filter(|output| !output.is_failure())?.actions()
    }

    /// Returns the corrections that were made to the arguments before they were valid.
    #[must_use]
    pub fn corrections(&self) -> &[Correction] {
        self.outcome.as_ref().map_or(&[], ToolOutput::corrections)
    }
}
