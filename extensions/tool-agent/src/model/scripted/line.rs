//! The lines of a script: reading and writing.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Value, value::RawValue};
use tool_runtime::{Content, ToolCall, dialect::Usage};

use super::{
    Piece, Reply, ReplyStream,
    error::ScriptError,
    request::{WrittenRequest, json_in_one_line},
};
use crate::{
    Message, Part,
    message::Original,
    model::{ModelError, ModelErrorKind, Response},
};

/// The maximum number of characters of a line that an error repeats.
const MAX_QUOTED_CHARS: usize = 120;

/// One exchange: a line of a script.
#[derive(Debug, Clone)]
pub(super) struct ScriptedExchange {
    /// The number of the line, from 1; `None` for a reply of the program.
    pub(super) line: Option<usize>,
    pub(super) request: Option<WrittenRequest>,
    pub(super) reply: Reply,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExchange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<WrittenRequest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<WrittenResponse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<WrittenError>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenResponse {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<ResponsePart>,
    #[serde(default, skip_serializing_if = "ReplyStream::is_whole")]
    stream: ReplyStream,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original: Option<Original>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// A part of a response.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ResponsePart {
    Text(String),
    Content(Content),
    Reasoning(String),
    #[serde(deserialize_with = "deserialize_call")]
    Call(ToolCall),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenError {
    kind: ModelErrorKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "ReplyStream::is_whole")]
    stream: ReplyStream,
}

/// Reads the exchanges of a script.
pub(super) fn read_script(name: &Arc<str>, text: &str) -> Result<Vec<ScriptedExchange>, ScriptError> {
    // A byte order mark is added by editors.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            read_exchange(number, line).map_err(|it| ScriptError::of_line(name, number, it))
        })
        .collect()
}

fn read_exchange(number: usize, line: &str) -> Result<ScriptedExchange, String> {
    let got = || {
        let line = line.trim();
        let more = line.chars().count().saturating_sub(MAX_QUOTED_CHARS);
        let more = if more > 0 { format!("… ({more} more characters)") } else { String::new() };
        let shown: String = line.chars().take(MAX_QUOTED_CHARS).collect();
        format!("got `{shown}`{more}")
    };
    let expected = "expected `{\"response\": {..}}` or `{\"error\": {..}}`, with `request` beside it or not";
    let read: WrittenExchange = serde_json::from_str(line).map_err(|error| {
        // Each line is a text of its own for the parser.
        let reason = error.to_string().replace(" at line 1 column ", " at column ");
        match error.classify() {
            serde_json::error::Category::Data => format!("{reason}; {}", got()),
            _ => format!("{expected}; {reason}; {}", got()),
        }
    })?;
    let reply = match (read.response, read.error) {
        (Some(response), None) => response.into_reply().map_err(|reason| format!("{reason}; {}", got()))?,
        (None, Some(error)) => error.into_reply(),
        _ => return Err(format!("{expected}; {}", got())),
    };
    Ok(ScriptedExchange { line: Some(number), request: read.request, reply })
}

/// Returns the line of an exchange, with its line end.
pub(crate) fn exchange_line(request: &WrittenRequest, reply: &Reply) -> Result<String, serde_json::Error> {
    let (response, error) = match &reply.outcome {
        Ok(response) => (Some(WrittenResponse::of(response, &reply.stream)), None),
        Err(error) => (None, Some(WrittenError::of(error, &reply.stream))),
    };
    let mut line =
        serde_json::to_string(&WrittenExchange { request: Some(request.clone()), response, error })?;
    line.push('\n');
    Ok(line)
}

impl WrittenResponse {
    fn of(response: &Response, stream: &ReplyStream) -> Self {
        let Response { message, stop_reason, usage, id, model, truncated } = response.clone();
        let original = message.original().map(|original| Original {
            dialect: Arc::clone(&original.dialect),
            // A line has no line breaks; the text of numbers and strings stays.
            json: RawValue::from_string(json_in_one_line(original.json.get()))
                .unwrap_or_else(|_| original.json.clone()),
        });
        let parts = message.parts().iter().filter_map(|part| match part.clone() {
            Part::Text(text) => Some(ResponsePart::Text(text)),
            Part::Content(content) => Some(ResponsePart::Content(content)),
            Part::Reasoning(text) => Some(ResponsePart::Reasoning(text)),
            Part::Call(call) => Some(ResponsePart::Call(call)),
            // The message of a model has no results.
            Part::Result(_) => None,
        });
        let parts = parts.collect();
        let stream = if *stream == ReplyStream::with_whole_parts(&message) {
            ReplyStream::Whole
        } else {
            stream.clone()
        };
        Self { parts, stream, original, stop_reason, usage, id, model, truncated }
    }

    fn into_reply(self) -> Result<Reply, String> {
        let Self { parts, stream, original, stop_reason, usage, id, model, truncated } = self;
        let mut parts: Vec<_> = parts.into_iter().map(Part::from).collect();
        if let (true, ReplyStream::Pieces(pieces)) = (parts.is_empty(), &stream) {
            parts = parts_of_pieces(pieces);
        }
        if parts.is_empty() && stop_reason.is_none() && !truncated && original.is_none() {
            return Err("expected `parts` or `stream` in `response`, or a `stop_reason`".to_owned());
        }
        let mut message = Message::assistant(parts);
        if let Some(original) = original {
            message = message.with_original(original);
        }
        let response = Response { message, stop_reason, usage, id, model, truncated };
        Ok(Reply { outcome: Ok(response), stream })
    }
}

impl From<ResponsePart> for Part {
    fn from(part: ResponsePart) -> Self {
        match part {
            ResponsePart::Text(text) => Self::Text(text),
            ResponsePart::Content(content) => Self::Content(content),
            ResponsePart::Reasoning(text) => Self::Reasoning(text),
            ResponsePart::Call(call) => Self::Call(call),
        }
    }
}

/// The parts of a message that was written as a stream only.
fn parts_of_pieces(pieces: &[Piece]) -> Vec<Part> {
    let joined = |text: &dyn Fn(&Piece) -> Option<&str>| pieces.iter().filter_map(text).collect::<String>();
    let reasoning = joined(&|piece| if let Piece::Reasoning(text) = piece { Some(text) } else { None });
    let text = joined(&|piece| if let Piece::Text(text) = piece { Some(text) } else { None });
    let reasoning = Some(reasoning).filter(|text| !text.is_empty()).map(Part::Reasoning);
    reasoning.into_iter().chain(Some(text).filter(|text| !text.is_empty()).map(Part::Text)).collect()
}

impl WrittenError {
    fn of(error: &ModelError, stream: &ReplyStream) -> Self {
        Self {
            kind: error.kind(),
            message: Some(error.to_string()),
            status: error.status(),
            retry_after_ms: error.retry_after().map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
            stream: stream.clone(),
        }
    }

    fn into_reply(self) -> Reply {
        let Self { kind, message, status, retry_after_ms, stream } = self;
        let message = message.unwrap_or_else(|| "the model failed as scripted".to_owned());
        let error =
            ModelError::new(kind, message).with_retry_after(retry_after_ms.map(Duration::from_millis));
        let error = match status {
            Some(status) => error.with_status(status),
            None => error,
        };
        Reply { outcome: Err(error), stream }
    }
}

/// Reads a call; a member that calls do not have is an error.
fn deserialize_call<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolCall, D::Error> {
    const MEMBERS: [&str; 7] = ["id", "name", "arguments", "meta", "resources", "incomplete", "v"];
    let json = Box::<RawValue>::deserialize(deserializer)?;
    let members: std::collections::BTreeMap<String, &RawValue> =
        serde_json::from_str(json.get()).map_err(D::Error::custom)?;
    if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        let expected = "expected `id`, `name`, `arguments`, `meta`, `resources` or `incomplete`";
        return Err(D::Error::custom(format!("unknown member `{unknown}` of `call`; {expected}")));
    }
    serde_json::from_str(json.get()).map_err(D::Error::custom)
}

impl Serialize for ReplyStream {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole => serializer.serialize_none(),
            Self::Words => serializer.serialize_str("words"),
            Self::Pieces(pieces) => serializer.collect_seq(pieces),
        }
    }
}

impl<'de> Deserialize<'de> for ReplyStream {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "expected `\"words\"` or a list of texts as `stream`";
        match Value::deserialize(deserializer)? {
            Value::String(text) if text == "words" => Ok(Self::Words),
            Value::Array(pieces) => {
                let pieces = pieces.into_iter().map(Piece::deserialize).collect::<Result<_, _>>();
                pieces.map(Self::Pieces).map_err(|error| D::Error::custom(format!("{expected}: {error}")))
            }
            other => Err(D::Error::custom(format!("{expected}, got {other}"))),
        }
    }
}

impl Serialize for Piece {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, text) = match self {
            Self::Text(text) => return serializer.serialize_str(text),
            Self::Reasoning(text) => ("reasoning", text),
            Self::Unsupported(text) => ("unsupported", text),
            Self::Notice(text) => ("notice", text),
        };
        serializer.collect_map([(name, text)])
    }
}

impl<'de> Deserialize<'de> for Piece {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum TaggedPiece {
            Reasoning(String),
            Unsupported(String),
            Notice(String),
        }
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Text(text)),
            other => Ok(match TaggedPiece::deserialize(other).map_err(D::Error::custom)? {
                TaggedPiece::Reasoning(text) => Self::Reasoning(text),
                TaggedPiece::Unsupported(text) => Self::Unsupported(text),
                TaggedPiece::Notice(text) => Self::Notice(text),
            }),
        }
    }
}
