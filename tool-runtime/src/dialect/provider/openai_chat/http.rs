//! The URL, the headers and the members of requests.

use serde_json::{Map, Value, json};

use super::OpenAiChat;
use crate::{
    Dialect,
    dialect::{
        Thinking,
        provider::api::{Provider, ToolSelection, object_members, sealed::Sealed},
        thinking::{ThinkingLevel, always_thinks_notice, never_thinks_notice},
    },
};

/// The URL of OpenAI's own server.
pub(in crate::dialect::provider) const BASE_URL: &str = "https://api.openai.com/v1";

/// Returns the header with the key.
pub(in crate::dialect::provider) fn authorization(key: Option<&str>) -> Vec<(&'static str, String)> {
    key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
}

/// Returns the effort for `thinking` of a model, and a sentence about what it lacks.
///
/// `none` is known since GPT-5.1, and `minimal` to GPT-5; the models before them that think (`o1`, `o3`, `o4`) always do.
pub(in crate::dialect::provider) fn reasoning_effort(
    model: &str,
    thinking: Thinking,
) -> (Option<&'static str>, Option<String>) {
    let level = thinking.level();
    if ["gpt-3", "gpt-4", "chatgpt-4"].iter().any(|prefix| model.starts_with(prefix)) {
        let notice = (level != ThinkingLevel::Off).then(|| never_thinks_notice(model));
        return (None, notice);
    }
    if level != ThinkingLevel::Off {
        return (Some(level.name()), thinking.level_notice("openai"));
    }
    let least = match model {
        "gpt-5" => "minimal",
        _ if model.starts_with("gpt-5-") => "minimal",
        _ if ["o1", "o3", "o4"].iter().any(|prefix| model.starts_with(prefix)) => "low",
        _ => return (Some(level.name()), None),
    };
    (Some(least), Some(always_thinks_notice(model, least)))
}

impl Sealed for OpenAiChat {}

impl Provider for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn short_names(&self) -> Vec<&'static str> {
        vec!["openai", "openai-chat"]
    }

    fn environment_prefix(&self) -> &'static str {
        "OPENAI"
    }

    fn semantic_name(&self) -> &'static str {
        "openai"
    }

    fn base_url(&self) -> &'static str {
        BASE_URL
    }

    fn url(&self, base_url: &str, _model: &str, _streams: bool) -> String {
        format!("{base_url}/chat/completions")
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        authorization(key)
    }

    fn has_compatible_servers(&self) -> bool {
        true
    }

    fn request_members(&self, model: &str, streams: bool) -> Map<String, Value> {
        object_members(match streams {
            true => json!({ "model": model, "stream": true, "stream_options": { "include_usage": true } }),
            false => json!({ "model": model, "stream": false }),
        })
    }

    fn set_instruction(&self, members: &mut Map<String, Value>, text: &str) {
        members.insert("messages".to_owned(), json!([{ "role": "system", "content": text }]));
    }

    fn set_tool_selection(&self, members: &mut Map<String, Value>, selection: ToolSelection<'_>) {
        let choice = match selection {
            ToolSelection::Auto => return,
            ToolSelection::None => "none".into(),
            ToolSelection::Required => "required".into(),
            ToolSelection::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
        };
        members.insert("tool_choice".to_owned(), choice);
    }

    fn set_output_format(&self, members: &mut Map<String, Value>, name: &str, schema: &Value, strict: bool) {
        let format = json!({ "name": name, "schema": schema, "strict": strict });
        let format = json!({ "type": "json_schema", "json_schema": format });
        members.insert("response_format".to_owned(), format);
    }

    fn set_thinking(
        &self,
        members: &mut Map<String, Value>,
        model: &str,
        thinking: Thinking,
    ) -> Option<String> {
        let (effort, notice) = reasoning_effort(model, thinking);
        if let Some(effort) = effort {
            members.insert("reasoning_effort".to_owned(), effort.into());
        }
        notice
    }

    fn strict_dialect(&self) -> Option<Dialect> {
        Some(Dialect::openai_responses_strict())
    }

    fn enforced_schema<'d>(&self, definition: &'d Value) -> Option<&'d Value> {
        definition.get("parameters").filter(|it| it.is_object() && definition["strict"] == true)
    }
}
