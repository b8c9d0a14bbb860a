//! The thinking of a model in the members of each provider.

use serde_json::{Map, Value, json};

use super::{Anthropic, Gemini, OpenAiChat, OpenAiResponses, Provider};
use crate::dialect::Thinking::{self, High, Low, Medium, Off, Tokens};

const CHAT: OpenAiChat = OpenAiChat { strict: false };
const RESPONSES: OpenAiResponses = OpenAiResponses { strict: false };
const ANTHROPIC: Anthropic = Anthropic { strict: false };
const GEMINI: Gemini = Gemini { json_schema: true };

/// Returns the members and the notice for a model.
fn set(provider: &dyn Provider, model: &str, thinking: Thinking) -> (Value, Option<String>) {
    let mut members = Map::new();
    let notice = provider.set_thinking(&mut members, model, thinking);
    (Value::Object(members), notice)
}

/// Compares the members for a model, and the beginning of the notice; an empty one is none.
fn check(provider: &dyn Provider, model: &str, expected: &[(Thinking, Value, &str)]) {
    for (thinking, members, notice) in expected {
        let (set, sentence) = set(provider, model, *thinking);
        assert_eq!(set, *members, "{model} {thinking:?}");
        let sentence = sentence.unwrap_or_default();
        assert!(
            sentence.starts_with(notice) && sentence.is_empty() == notice.is_empty(),
            "{model}: {sentence}"
        );
    }
}

// Q01, U32
#[test]
fn openai_has_levels_which_older_models_lack() {
    let effort = |level: &str| json!({ "reasoning_effort": level });
    check(
        &CHAT,
        "gpt-5.2",
        &[
            (Off, effort("none"), ""),
            (Low, effort("low"), ""),
            (Medium, effort("medium"), ""),
            (High, effort("high"), ""),
            (Tokens(0), effort("none"), ""),
            (Tokens(1), effort("low"), "`openai` has levels of thinking and no number of tokens; 1 tokens"),
            (
                Tokens(2_048),
                effort("low"),
                "`openai` has levels of thinking and no number of tokens; 2048 tokens",
            ),
            (Tokens(2_049), effort("medium"), "`openai` has levels"),
            (Tokens(8_192), effort("medium"), "`openai` has levels"),
            (Tokens(8_193), effort("high"), "`openai` has levels"),
        ],
    );
    for model in ["gpt-5", "gpt-5-mini"] {
        let notice = format!("`{model}` cannot turn thinking off");
        check(&CHAT, model, &[(Off, effort("minimal"), &notice)]);
    }
    check(&CHAT, "o3", &[(Off, effort("low"), "`o3` cannot turn thinking off")]);
    check(&CHAT, "gpt-4o", &[(Off, json!({}), ""), (High, json!({}), "`gpt-4o` does not think")]);
    // A compatible server.
    check(&CHAT, "qwen3", &[(Off, effort("none"), ""), (High, effort("high"), "")]);
    check(&RESPONSES, "gpt-5.2", &[(Low, json!({ "reasoning": { "effort": "low" } }), "")]);
}

// Q01, U32
#[test]
fn anthropic_has_a_number_of_tokens_or_decides_within_an_effort() {
    let enabled = |tokens: u32| {
        let thinking = json!({ "type": "enabled", "budget_tokens": tokens });
        json!({ "thinking": thinking, "max_tokens": tokens + 8_192 })
    };
    let adaptive =
        |effort: &str| json!({ "thinking": { "type": "adaptive" }, "output_config": { "effort": effort } });
    for model in ["claude-sonnet-4-5-20250929", "claude-3-7-sonnet-20250219", "claude-sonnet-4-20250514", "m"]
    {
        check(
            &ANTHROPIC,
            model,
            &[
                (Off, json!({ "thinking": { "type": "disabled" } }), ""),
                (Low, enabled(2_048), ""),
                (High, enabled(24_576), ""),
                (Tokens(5_000), enabled(5_000), ""),
                (Tokens(1), enabled(1_024), "`anthropic` thinks with at least 1024 tokens"),
            ],
        );
    }
    for model in ["claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-4-7-20260416", "claude-opus-5"] {
        check(
            &ANTHROPIC,
            model,
            &[
                (Off, json!({}), ""),
                (Medium, adaptive("medium"), ""),
                (Tokens(5_000), adaptive("medium"), "`anthropic` has levels"),
            ],
        );
    }
    // The API refuses both together.
    let forced = json!({ "tool_choice": { "type": "any" } }).as_object().cloned().unwrap();
    let mut members = forced.clone();
    let notice = ANTHROPIC.set_thinking(&mut members, "claude-opus-4-6", High).unwrap();
    assert_eq!(members, forced);
    assert!(notice.starts_with("`anthropic` does not think with a forced call"));
    // The format of an answer stays.
    let mut members = json!({ "output_config": { "format": {} } }).as_object().cloned().unwrap();
    ANTHROPIC.set_thinking(&mut members, "claude-opus-4-6", Low);
    assert_eq!(members["output_config"], json!({ "format": {}, "effort": "low" }));
}

// Q01, U32
#[test]
fn gemini_has_levels_or_a_number_of_tokens_by_version() {
    let config = |config: Value| json!({ "generationConfig": { "thinkingConfig": config } });
    let budget = |tokens: u32| config(json!({ "thinkingBudget": tokens }));
    let level = |level: &str| config(json!({ "thinkingLevel": level }));
    check(
        &GEMINI,
        "gemini-2.5-flash",
        &[(Off, budget(0), ""), (Low, budget(2_048), ""), (Tokens(9), budget(9), "")],
    );
    check(
        &GEMINI,
        "models/gemini-2.5-pro",
        &[(Off, budget(128), "`gemini-2.5-pro` cannot turn thinking off")],
    );
    check(
        &GEMINI,
        "gemini-3-pro-preview",
        &[
            (Off, level("low"), "`gemini-3-pro-preview` cannot turn thinking off"),
            (High, level("high"), ""),
            (Tokens(9_000), level("high"), "`gemini` has levels"),
        ],
    );
    check(
        &GEMINI,
        "gemini-2.0-flash",
        &[(Off, json!({}), ""), (Low, json!({}), "`gemini-2.0-flash` does not think")],
    );
    let mut members =
        json!({ "generationConfig": { "responseMimeType": "a" } }).as_object().cloned().unwrap();
    GEMINI.set_thinking(&mut members, "gemini-3-flash", Low);
    assert_eq!(members["generationConfig"]["responseMimeType"], "a");
    // Another value in place of the object is replaced.
    let mut members = json!({ "generationConfig": "a" }).as_object().cloned().unwrap();
    GEMINI.set_thinking(&mut members, "gemini-3-flash", Low);
    assert_eq!(Value::Object(members), level("low"));
}
