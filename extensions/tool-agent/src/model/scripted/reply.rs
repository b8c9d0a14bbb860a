//! A prepared response, and its events.

use std::sync::Arc;

use tool_runtime::{ToolCall, dialect::Usage, schema::Arguments};

use crate::{
    Message, Part,
    model::{ModelError, ModelErrorKind, ModelEvent, Response},
};

/// A prepared response of a [`ScriptedModel`](super::ScriptedModel).
#[derive(Debug, Clone)]
pub struct Reply {
    pub(in crate::model) outcome: Result<Response, ModelError>,
    pub(in crate::model) stream: ReplyStream,
}

/// The text of a response as it arrives.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::model) enum ReplyStream {
    /// Each part as a whole.
    #[default]
    Whole,
    /// The texts by words.
    Words,
    Pieces(Vec<Piece>),
}

/// A part of a response that arrives.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::model) enum Piece {
    Text(String),
    Reasoning(String),
    Unsupported(String),
    Notice(String),
}

impl Reply {
    /// A response with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::parts([Part::Text(text.into())])
    }

    /// A response with one call.
    pub fn call(tool: impl Into<String>, arguments: impl Into<Arguments<'static>>) -> Self {
        Self::calls([ToolCall::new(tool, arguments)])
    }

    /// A response with calls.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self::parts(calls.into_iter().map(Part::Call))
    }

    /// A response with these parts.
    pub fn parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self::from(Response::new(Message::assistant(parts)))
    }

    /// An error.
    pub fn error(kind: ModelErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self::from(ModelError::new(kind, message))
    }

    /// Sets the token counts of the response.
    #[must_use]
    pub fn with_usage(self, usage: Usage) -> Self {
        Self { outcome: self.outcome.map(|response| response.with_usage(usage)), ..self }
    }

    /// Sets the parts in which the text arrives, before the response or the error. Default: the whole text.
    #[must_use]
    pub fn with_stream<T: Into<String>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        let pieces = texts.into_iter().map(|text| Piece::Text(text.into()));
        Self { stream: ReplyStream::Pieces(pieces.collect()), ..self }
    }

    /// Lets the text arrive by words.
    #[must_use]
    pub fn with_words(self) -> Self {
        Self { stream: ReplyStream::Words, ..self }
    }

    /// The events of the response.
    pub(super) fn events(self) -> Vec<Result<ModelEvent, ModelError>> {
        let Self { outcome, stream } = self;
        let pieces = match (stream, &outcome) {
            (ReplyStream::Pieces(pieces), _) => pieces,
            (stream, Ok(response)) => pieces_of_message(&response.message, stream == ReplyStream::Words),
            (_, Err(_)) => Vec::new(),
        };
        let pieces = pieces.into_iter().map(|piece| Ok(ModelEvent::from(piece)));
        pieces.chain([outcome.map(ModelEvent::Finished)]).collect()
    }
}

impl From<Response> for Reply {
    fn from(response: Response) -> Self {
        Self { outcome: Ok(response), stream: ReplyStream::Whole }
    }
}

impl From<ModelError> for Reply {
    fn from(error: ModelError) -> Self {
        Self { outcome: Err(error), stream: ReplyStream::Whole }
    }
}

impl From<Piece> for ModelEvent {
    fn from(piece: Piece) -> Self {
        match piece {
            Piece::Text(text) => Self::Text(text),
            Piece::Reasoning(text) => Self::Reasoning(text),
            Piece::Unsupported(text) => Self::Unsupported(text),
            Piece::Notice(text) => Self::Notice(text),
        }
    }
}

impl ReplyStream {
    pub(super) fn is_whole(&self) -> bool {
        *self == Self::Whole
    }

    /// The pieces of a message of which each part arrives as a whole.
    pub(super) fn with_whole_parts(message: &Message) -> Self {
        Self::Pieces(pieces_of_message(message, false))
    }
}

fn pieces_of_message(message: &Message, by_words: bool) -> Vec<Piece> {
    let of_text = |text: &str| -> Vec<Piece> {
        match by_words {
            true => {
                text.split_inclusive(char::is_whitespace).map(|word| Piece::Text(word.to_owned())).collect()
            }
            false => vec![Piece::Text(text.to_owned())],
        }
    };
    let pieces = message.parts().iter().flat_map(|part| match part {
        Part::Text(text) => of_text(text),
        Part::Reasoning(text) => vec![Piece::Reasoning(text.clone())],
        _ => Vec::new(),
    });
    pieces.collect()
}
