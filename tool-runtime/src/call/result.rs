//! The answer to a call.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::{Map, Value, json};
use tool_core::{Actions, CallId, Content, Correction, ErrorKind, ToolError, ToolOutput};

use super::replace::FollowUps;
use crate::dialect::content;

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
    /// The messages that follow the results of the batch, in the name of the user. In a box, since a result is moved often
    /// and hardly one has any.
    pub(crate) follow_ups: Option<Box<FollowUps>>,
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
            follow_ups: None,
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

    /// Returns what the tool sends along with the result, outside of it; never for a model.
    #[must_use]
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.outcome.as_ref().ok()?.meta()
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
