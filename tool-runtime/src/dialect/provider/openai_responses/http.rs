//! The URL, the headers and the members of requests.

use serde_json::{Map, Value, json};

use super::OpenAiResponses;
use crate::{
    Dialect,
    dialect::{
        Thinking,
        provider::{
            api::{Provider, ToolSelection, object_members, object_or_insert, sealed::Sealed},
            openai_chat::http::{BASE_URL, authorization, reasoning_effort},
        },
    },
};

impl Sealed for OpenAiResponses {}

impl Provider for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
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
        format!("{base_url}/responses")
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        authorization(key)
    }

    fn request_members(&self, model: &str, streams: bool) -> Map<String, Value> {
        object_members(json!({ "model": model, "stream": streams }))
    }

    fn set_instruction(&self, members: &mut Map<String, Value>, text: &str) {
        members.insert("instructions".to_owned(), text.into());
    }

    fn set_tool_selection(&self, members: &mut Map<String, Value>, selection: ToolSelection<'_>) {
        let choice = match selection {
            ToolSelection::Auto => return,
            ToolSelection::None => "none".into(),
            ToolSelection::Required => "required".into(),
            ToolSelection::Tool(name) => json!({ "type": "function", "name": name }),
        };
        members.insert("tool_choice".to_owned(), choice);
    }

    fn set_output_format(&self, members: &mut Map<String, Value>, name: &str, schema: &Value, strict: bool) {
        let format = json!({ "type": "json_schema", "name": name, "schema": schema, "strict": strict });
        members.insert("text".to_owned(), json!({ "format": format }));
    }

    fn set_thinking(
        &self,
        members: &mut Map<String, Value>,
        model: &str,
        thinking: Thinking,
    ) -> Option<String> {
        let (effort, notice) = reasoning_effort(model, thinking);
        if let Some(effort) = effort {
            object_or_insert(members, "reasoning")["effort"] = effort.into();
        }
        notice
    }

    fn strict_dialect(&self) -> Option<Dialect> {
        Some(Dialect::openai_responses_strict())
    }

    fn enforced_schema<'d>(&self, definition: &'d Value) -> Option<&'d Value> {
        definition.get("parameters").filter(|it| it.is_object() && definition["strict"] == true)
    }

    fn is_last_event(&self, name: &str) -> bool {
        matches!(name, "response.completed" | "response.incomplete")
    }

    fn is_response_event(&self, name: &str) -> bool {
        ["response.", "message", "error"].iter().any(|prefix| name.starts_with(prefix))
    }
}
