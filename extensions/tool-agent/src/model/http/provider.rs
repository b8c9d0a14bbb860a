//! The URLs, headers and members of each provider.

use serde_json::{Map, Value, json};
use tool_runtime::Dialect;

use super::{Secret, Settings};
use crate::model::ToolChoice;

/// A provider's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    OpenAiChat,
    OpenAiResponses,
    Anthropic,
    Gemini,
}

impl Provider {
    /// The names for [`of`](Self::of), for messages.
    pub(super) const NAMES: &str = "`openai`, `openai-responses`, `anthropic` or `gemini`";

    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "openai" | "openai-chat" => Self::OpenAiChat,
            "openai-responses" => Self::OpenAiResponses,
            "anthropic" => Self::Anthropic,
            "gemini" => Self::Gemini,
            _ => return None,
        })
    }

    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::OpenAiChat => Dialect::openai_chat(),
            Self::OpenAiResponses => Dialect::openai_responses(),
            Self::Anthropic => Dialect::anthropic(),
            Self::Gemini => Dialect::gemini(),
        }
    }

    /// The name of the dialect. All variants of a dialect have the same messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The prefix of environment variables.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => "OPENAI",
            Self::Anthropic => "ANTHROPIC",
            Self::Gemini => "GEMINI",
        }
    }

    /// The value of `gen_ai.provider.name`
    /// (<https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/>).
    pub(super) fn semantic_name(self) -> &'static str {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gcp.gemini",
        }
    }

    pub(super) fn base_url(self) -> &'static str {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }

    /// The URL of a request.
    pub(super) fn url(self, settings: &Settings) -> String {
        let Settings { base_url, name, streams, .. } = settings;
        let name = name.strip_prefix("models/").filter(|_| self == Self::Gemini).unwrap_or(name);
        match self {
            Self::OpenAiChat => format!("{base_url}/chat/completions"),
            Self::OpenAiResponses => format!("{base_url}/responses"),
            Self::Anthropic => format!("{base_url}/v1/messages"),
            Self::Gemini if *streams => {
                format!("{base_url}/v1beta/models/{}:streamGenerateContent?alt=sse", path_segment(name))
            }
            Self::Gemini => format!("{base_url}/v1beta/models/{}:generateContent", path_segment(name)),
        }
    }

    /// The headers with the key, and the version of the API.
    pub(super) fn headers(self, key: Option<&Secret>) -> Vec<(&'static str, String)> {
        let key = key.map(|Secret(key)| match self {
            Self::OpenAiChat | Self::OpenAiResponses => ("authorization", format!("Bearer {key}")),
            Self::Anthropic => ("x-api-key", (**key).to_owned()),
            Self::Gemini => ("x-goog-api-key", (**key).to_owned()),
        });
        let version = (self == Self::Anthropic).then(|| ("anthropic-version", "2023-06-01".to_owned()));
        key.into_iter().chain(version).collect()
    }

    /// The members of a request besides messages and tools.
    pub(super) fn members(self, settings: &Settings) -> Map<String, Value> {
        let Settings { name, streams, .. } = settings;
        let members = match self {
            Self::OpenAiChat if *streams => {
                json!({ "model": name, "stream": true, "stream_options": { "include_usage": true } })
            }
            Self::Anthropic => json!({ "model": name, "max_tokens": 8_192, "stream": streams }),
            Self::Gemini => json!({}),
            Self::OpenAiChat | Self::OpenAiResponses => json!({ "model": name, "stream": streams }),
        };
        match members {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    /// Sets the instruction.
    pub(super) fn instruct(self, members: &mut Map<String, Value>, text: &str) {
        let (name, value) = match self {
            Self::OpenAiChat => ("messages", json!([{ "role": "system", "content": text }])),
            Self::OpenAiResponses => ("instructions", text.into()),
            Self::Anthropic => ("system", text.into()),
            Self::Gemini => ("systemInstruction", json!({ "parts": [{ "text": text }] })),
        };
        members.insert(name.to_owned(), value);
    }

    /// Sets the choice of tools; `tool` is the name of a chosen tool on the wire.
    pub(super) fn choose(self, members: &mut Map<String, Value>, choice: &ToolChoice, tool: &str) {
        let (name, value) = match (self, choice) {
            (_, ToolChoice::Auto) => return,
            (Self::OpenAiChat, ToolChoice::Tool(_)) => {
                ("tool_choice", json!({ "type": "function", "function": { "name": tool } }))
            }
            (Self::OpenAiResponses, ToolChoice::Tool(_)) => {
                ("tool_choice", json!({ "type": "function", "name": tool }))
            }
            (Self::OpenAiChat | Self::OpenAiResponses, ToolChoice::None) => ("tool_choice", "none".into()),
            (Self::OpenAiChat | Self::OpenAiResponses, _) => ("tool_choice", "required".into()),
            (Self::Anthropic, ToolChoice::Tool(_)) => {
                ("tool_choice", json!({ "type": "tool", "name": tool }))
            }
            (Self::Anthropic, ToolChoice::None) => ("tool_choice", json!({ "type": "none" })),
            (Self::Anthropic, _) => ("tool_choice", json!({ "type": "any" })),
            (Self::Gemini, ToolChoice::Tool(_)) => (
                "toolConfig",
                json!({ "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": [tool] } }),
            ),
            (Self::Gemini, ToolChoice::None) => {
                ("toolConfig", json!({ "functionCallingConfig": { "mode": "NONE" } }))
            }
            (Self::Gemini, _) => ("toolConfig", json!({ "functionCallingConfig": { "mode": "ANY" } })),
        };
        members.insert(name.to_owned(), value);
    }

    /// Sets the format of the answer.
    pub(super) fn format(self, members: &mut Map<String, Value>, name: &str, schema: &Value, strict: bool) {
        let (member, value) = match self {
            Self::OpenAiChat => (
                "response_format",
                json!({ "type": "json_schema", "json_schema": { "name": name, "schema": schema, "strict": strict } }),
            ),
            Self::OpenAiResponses => (
                "text",
                json!({ "format": { "type": "json_schema", "name": name, "schema": schema, "strict": strict } }),
            ),
            Self::Anthropic => {
                ("output_config", json!({ "format": { "type": "json_schema", "schema": schema } }))
            }
            Self::Gemini => (
                "generationConfig",
                json!({ "responseMimeType": "application/json", "responseJsonSchema": schema }),
            ),
        };
        members.insert(member.to_owned(), value);
    }
}

/// Encodes a name as one segment of a path.
fn path_segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                segment.push(char::from(byte))
            }
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}
