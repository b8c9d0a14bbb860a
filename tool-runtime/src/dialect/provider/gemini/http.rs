//! The URL, the headers and the members of requests.

use serde_json::{Map, Value, json, value::RawValue};

use super::Gemini;
use crate::{
    Dialect,
    dialect::{
        Thinking,
        provider::api::{Provider, ToolSelection, object_or_insert, sealed::Sealed},
        thinking::{ModelVersion, ThinkingLevel, always_thinks_notice, never_thinks_notice},
    },
};

/// The signature of a call that no Gemini model wrote
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures#faqs>): since Gemini 3, the first call of a message needs
/// one.
const NO_SIGNATURE: &str = r#"{"thoughtSignature":"skip_thought_signature_validator","functionCall":"#;

/// The first version whose models think.
const FIRST_THINKING_VERSION: ModelVersion = ModelVersion::new(2, 5);

/// The first version with levels of thinking.
const LEVELS_VERSION: ModelVersion = ModelVersion::new(3, 0);

/// The minimum number of tokens for thinking of the models `pro` of version 2.5.
const MIN_PRO_TOKENS: u32 = 128;

/// Returns `true` for a model since version 3.
fn needs_signatures(model: &str) -> bool {
    let name = model.strip_prefix("models/").unwrap_or(model);
    !["gemini-1", "gemini-2"].iter().any(|it| name.starts_with(it))
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

impl Sealed for Gemini {}

impl Provider for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn environment_prefix(&self) -> &'static str {
        "GEMINI"
    }

    fn semantic_name(&self) -> &'static str {
        "gcp.gemini"
    }

    fn base_url(&self) -> &'static str {
        "https://generativelanguage.googleapis.com"
    }

    fn url(&self, base_url: &str, model: &str, streams: bool) -> String {
        let model = path_segment(model.strip_prefix("models/").unwrap_or(model));
        let method = if streams { "streamGenerateContent?alt=sse" } else { "generateContent" };
        format!("{base_url}/v1beta/models/{model}:{method}")
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn request_members(&self, _model: &str, _streams: bool) -> Map<String, Value> {
        Map::new()
    }

    fn set_instruction(&self, members: &mut Map<String, Value>, text: &str) {
        members.insert("systemInstruction".to_owned(), json!({ "parts": [{ "text": text }] }));
    }

    fn set_tool_selection(&self, members: &mut Map<String, Value>, selection: ToolSelection<'_>) {
        let config = match selection {
            ToolSelection::Auto => return,
            ToolSelection::None => json!({ "mode": "NONE" }),
            ToolSelection::Required => json!({ "mode": "ANY" }),
            ToolSelection::Tool(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
        };
        members.insert("toolConfig".to_owned(), json!({ "functionCallingConfig": config }));
    }

    fn set_output_format(
        &self,
        members: &mut Map<String, Value>,
        _name: &str,
        schema: &Value,
        _strict: bool,
    ) {
        let config = json!({ "responseMimeType": "application/json", "responseJsonSchema": schema });
        members.insert("generationConfig".to_owned(), config);
    }

    /// Since Gemini 3, a model has levels and always thinks; Gemini 2.5 has a number of tokens, of which the models `pro` need
    /// at least 128; before, no model thinks.
    fn set_thinking(
        &self,
        members: &mut Map<String, Value>,
        model: &str,
        thinking: Thinking,
    ) -> Option<String> {
        let name = model.strip_prefix("models/").unwrap_or(model);
        let level = thinking.level();
        let version = ModelVersion::of(name);
        if version.is_some_and(|it| !it.is_since(FIRST_THINKING_VERSION)) {
            return (level != ThinkingLevel::Off).then(|| never_thinks_notice(name));
        }
        let config = object_or_insert(members, "generationConfig");
        if version.is_some_and(|it| !it.is_since(LEVELS_VERSION)) {
            let least = if name.contains("pro") { MIN_PRO_TOKENS } else { 0 };
            let tokens = thinking.tokens().max(least);
            config["thinkingConfig"] = json!({ "thinkingBudget": tokens });
            return (tokens != thinking.tokens())
                .then(|| always_thinks_notice(name, &format!("{tokens} tokens")));
        }
        let sent = if level == ThinkingLevel::Off { ThinkingLevel::Low } else { level };
        config["thinkingConfig"] = json!({ "thinkingLevel": sent.name() });
        match level {
            ThinkingLevel::Off => Some(always_thinks_notice(name, sent.name())),
            _ => thinking.level_notice("gemini"),
        }
    }

    /// The provider [rejects both together](https://github.com/googleapis/python-genai/issues/867).
    fn combines_output_with_tools(&self) -> bool {
        false
    }

    fn strict_dialect(&self) -> Option<Dialect> {
        Some(Dialect::gemini())
    }

    fn enforced_schema<'d>(&self, definition: &'d Value) -> Option<&'d Value> {
        definition.pointer("/functionDeclarations/0/parametersJsonSchema").filter(|it| it.is_object())
    }

    /// A [blocked](https://ai.google.dev/api/generate-content#PromptFeedback) prompt: the response has no candidate.
    fn refusal(&self, response: &str) -> Option<String> {
        if !response.contains("blockReason") {
            return None;
        }
        let response: Value = serde_json::from_str(response).ok()?;
        response.pointer("/promptFeedback/blockReason")?.as_str().map(str::to_owned)
    }

    fn has_call_id_rules(&self) -> bool {
        false
    }

    fn message_variant(&self, model: &str) -> &'static str {
        if needs_signatures(model) { "" } else { "older" }
    }

    fn complete_foreign_message(&self, model: &str, message: Box<RawValue>) -> Box<RawValue> {
        if !needs_signatures(model) {
            return message;
        }
        // Inside a text, the quotes would be escaped.
        let signed = message.get().replacen(r#"{"functionCall":"#, NO_SIGNATURE, 1);
        RawValue::from_string(signed).unwrap_or(message)
    }
}
