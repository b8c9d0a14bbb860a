//! The URL, the headers and the members of requests.

use serde_json::{Map, Value, json, value::RawValue};

use super::{Anthropic, cache};
use crate::{
    Dialect,
    dialect::{
        Thinking,
        provider::api::{Provider, ToolSelection, object_members, object_or_insert, sealed::Sealed},
        thinking::{ModelVersion, ThinkingLevel},
    },
};

/// The maximum number of tokens of a response: the provider requires one.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// The minimum number of tokens for thinking.
const MIN_THINKING_TOKENS: u32 = 1_024;

/// The first version whose models decide themselves how much they think.
const ADAPTIVE_VERSION: ModelVersion = ModelVersion::new(4, 6);

impl Sealed for Anthropic {}

impl Provider for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn environment_prefix(&self) -> &'static str {
        "ANTHROPIC"
    }

    fn base_url(&self) -> &'static str {
        "https://api.anthropic.com"
    }

    fn url(&self, base_url: &str, _model: &str, _streams: bool) -> String {
        format!("{base_url}/v1/messages")
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        key.into_iter().chain([("anthropic-version", "2023-06-01".to_owned())]).collect()
    }

    fn request_members(&self, model: &str, streams: bool) -> Map<String, Value> {
        object_members(json!({ "model": model, "max_tokens": DEFAULT_MAX_TOKENS, "stream": streams }))
    }

    fn set_instruction(&self, members: &mut Map<String, Value>, text: &str) {
        members.insert("system".to_owned(), text.into());
    }

    fn set_tool_selection(&self, members: &mut Map<String, Value>, selection: ToolSelection<'_>) {
        let choice = match selection {
            ToolSelection::Auto => return,
            ToolSelection::None => json!({ "type": "none" }),
            ToolSelection::Required => json!({ "type": "any" }),
            ToolSelection::Tool(name) => json!({ "type": "tool", "name": name }),
        };
        members.insert("tool_choice".to_owned(), choice);
    }

    fn set_output_format(
        &self,
        members: &mut Map<String, Value>,
        _name: &str,
        schema: &Value,
        _strict: bool,
    ) {
        let format = json!({ "type": "json_schema", "schema": schema });
        members.insert("output_config".to_owned(), json!({ "format": format }));
    }

    /// Since 4.6, a model decides itself, within an effort; before, it has a number of tokens, at least 1,024. With forced
    /// calls, no model thinks.
    fn set_thinking(
        &self,
        members: &mut Map<String, Value>,
        model: &str,
        thinking: Thinking,
    ) -> Option<String> {
        let level = thinking.level();
        let is_adaptive = ModelVersion::of(model).is_some_and(|it| it.is_since(ADAPTIVE_VERSION));
        if level == ThinkingLevel::Off {
            if !is_adaptive {
                members.insert("thinking".to_owned(), json!({ "type": "disabled" }));
            }
            return None;
        }
        let choice = members.get("tool_choice").and_then(|choice| choice["type"].as_str());
        if matches!(choice, Some("any" | "tool")) {
            return Some("`anthropic` does not think with a forced call; the setting is left out".to_owned());
        }
        if is_adaptive {
            members.insert("thinking".to_owned(), json!({ "type": "adaptive" }));
            object_or_insert(members, "output_config")["effort"] = level.name().into();
            return thinking.level_notice("anthropic");
        }
        let tokens = thinking.tokens().max(MIN_THINKING_TOKENS);
        members.insert("thinking".to_owned(), json!({ "type": "enabled", "budget_tokens": tokens }));
        // They count among the tokens of the response.
        members.insert("max_tokens".to_owned(), tokens.saturating_add(DEFAULT_MAX_TOKENS).into());
        (tokens != thinking.tokens()).then(|| {
            format!(
                "`anthropic` thinks with at least {MIN_THINKING_TOKENS} tokens; they are sent in place of {}",
                thinking.tokens()
            )
        })
    }

    fn strict_dialect(&self) -> Option<Dialect> {
        Some(Dialect::anthropic_strict())
    }

    fn enforced_schema<'d>(&self, definition: &'d Value) -> Option<&'d Value> {
        definition.get("input_schema").filter(|it| it.is_object() && definition["strict"] == true)
    }

    fn is_last_event(&self, name: &str) -> bool {
        name == "message_stop"
    }

    fn is_response_event(&self, name: &str) -> bool {
        ["message", "content_block_", "error"].iter().any(|prefix| name.starts_with(prefix))
    }

    fn max_cache_points(&self) -> usize {
        cache::MAX_POINTS
    }

    fn with_cache_point(&self, message: &RawValue) -> Option<Box<RawValue>> {
        cache::message_with_cache_mark(message)
    }

    fn add_cache_point_after_instruction(&self, request: &mut Value) {
        cache::add_cache_mark_to_instruction(request);
    }

    fn add_cache_point_after_tools(&self, request: &mut Value) {
        cache::add_cache_mark_to_tools(request);
    }
}
