//! A request as scripts have it.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, value::RawValue};
use tool_runtime::{ToolCall, ToolResult};

use crate::{
    Message, Part, Role,
    model::{Request, ToolChoice},
};

/// A request in a script. A member that is `None` was left out, and is not compared.
///
/// It has no times, no durations and no tools: two runs of the same conversation have the same requests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) instruction: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) messages: Option<Vec<WrittenMessage>>,
    /// The names of the tools, in any order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<ToolChoice>,
    /// The name of the output format; `null` for none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_present")]
    pub(super) output: Option<Option<String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenMessage {
    pub(super) role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parts: Option<Vec<WrittenPart>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WrittenPart {
    Text(String),
    Content(Value),
    Reasoning(String),
    Call(WrittenCall),
    Result(WrittenResult),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<WrittenArguments>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) error: bool,
    /// Images, audio and documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) content: Vec<Value>,
    /// The messages of the user that follow the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) follow_ups: Vec<Value>,
}

/// Arguments: their exact text, or JSON whose white space does not count.
#[derive(Debug, Clone)]
pub(super) enum WrittenArguments {
    Text(String),
    Json(String),
}

impl WrittenRequest {
    /// The request in full.
    pub(crate) fn of(request: &Request) -> Self {
        let tools = request.tools.definitions().iter().map(|tool| tool.name().to_string());
        Self {
            instruction: Some((*request.instruction).to_owned()),
            messages: Some(request.messages.iter().map(WrittenMessage::of).collect()),
            tools: Some(tools.collect()),
            tool_choice: Some(request.tool_choice.clone()),
            output: Some(request.output.as_ref().map(|format| (*format.name).to_owned())),
        }
    }

    /// Returns `true` if no member was left out.
    pub(super) fn is_complete(&self) -> bool {
        let Self { instruction, messages, tools, tool_choice, output } = self;
        let texts = instruction.is_some() && messages.is_some();
        texts && tools.is_some() && tool_choice.is_some() && output.is_some()
    }
}

impl WrittenMessage {
    fn of(message: &Message) -> Self {
        Self { role: message.role(), parts: Some(message.parts().iter().map(WrittenPart::of).collect()) }
    }
}

impl WrittenPart {
    fn of(part: &Part) -> Self {
        match part {
            Part::Text(text) => Self::Text(text.clone()),
            Part::Content(content) => Self::Content(json_value(content)),
            Part::Reasoning(text) => Self::Reasoning(text.clone()),
            Part::Call(call) => Self::Call(WrittenCall::of(call)),
            Part::Result(result) => Self::Result(WrittenResult::of(result)),
        }
    }
}

impl WrittenCall {
    fn of(call: &ToolCall) -> Self {
        Self {
            id: Some(call.id.to_string()),
            name: Some((*call.name).to_owned()),
            arguments: Some(WrittenArguments::Text(call.arguments.as_str().to_owned())),
        }
    }
}

impl WrittenResult {
    fn of(result: &ToolResult) -> Self {
        let content = result.content();
        let files = content.iter().filter(|block| block.as_text().is_none());
        Self {
            id: Some(result.id.to_string()),
            name: Some((*result.name).to_owned()),
            text: Some(result.text().into_owned()),
            error: result.is_error(),
            content: files.map(json_value).collect(),
            follow_ups: result.follow_ups().iter().map(json_value).collect(),
        }
    }
}

impl WrittenArguments {
    /// The text that [`is`](Self::is) compares.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Text(text) | Self::Json(text) => text,
        }
    }

    /// Returns `true` if `received` has the same text, or the same JSON except for white space.
    pub(super) fn matches(&self, received: &Self) -> bool {
        match self {
            Self::Text(text) => text == received.as_str(),
            Self::Json(json) => *json == json_in_one_line(received.as_str()),
        }
    }
}

impl Serialize for WrittenArguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for WrittenArguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        match json.get().starts_with('"') {
            true => serde_json::from_str(json.get()).map(Self::Text).map_err(D::Error::custom),
            false => Ok(Self::Json(json_in_one_line(json.get()))),
        }
    }
}

/// Returns JSON without the white space outside of its strings.
pub(super) fn json_in_one_line(json: &str) -> String {
    let (mut is_string, mut is_escaped) = (false, false);
    let mut kept = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' => is_string = !is_string,
            ' ' | '\t' | '\r' | '\n' if !is_string => continue,
            _ => {}
        }
        kept.push(letter);
    }
    kept
}

/// Content as JSON; it has no member that cannot be written.
fn json_value(content: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_value(content).unwrap_or_default()
}

/// Reads a member that is there; `null` is a value.
fn deserialize_present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_of_strings_is_kept() {
        for (json, expected) in [
            ("{ \"a b\" :\t[ 1 ,\r\n 2 ] }", "{\"a b\":[1,2]}"),
            (r#" "a \" b" "#, r#""a \" b""#),
            (r#"[ "a\\" , "b c" ]"#, r#"["a\\","b c"]"#),
            ("", ""),
        ] {
            assert_eq!(json_in_one_line(json), expected);
        }
        let written = WrittenArguments::Json(json_in_one_line("{ \"a\": 1 }"));
        assert!(written.matches(&WrittenArguments::Text("{\"a\" :1}".to_owned())));
        assert!(!written.matches(&WrittenArguments::Text("{\"a\" :2}".to_owned())));
        let text = WrittenArguments::Text("a b".to_owned());
        assert!(text.matches(&text) && !text.matches(&WrittenArguments::Text("ab".to_owned())));
    }
}
