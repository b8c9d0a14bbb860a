//! Estimates of the tokens of definitions.

use serde_json::json;
use tool_runtime::dialect::Dialect;

use super::{definition, registry};

#[test]
fn a_token_estimate_counts_each_character_beyond_ascii() {
    let tokens = |description: &str| {
        Dialect::openai_responses()
            .bind_tools(&registry([definition("t", description, json!({}))]))
            .estimated_tokens()
    };
    assert_eq!(tokens(&"x".repeat(400)) - tokens(""), 100);
    assert_eq!(tokens(&"天".repeat(400)) - tokens(""), 400);
    assert_eq!(Dialect::gemini().bind_tools(&registry([])).estimated_tokens(), 0);
    let native = Dialect::openai_responses().with_native(json!({ "type": "web_search" }));
    assert_eq!(native.bind_tools(&registry([])).estimated_tokens(), 6);
}

#[test]
fn definitions_of_exactly_ten_thousand_tokens_are_not_a_finding() {
    let bound = |length: usize| {
        Dialect::anthropic().bind_tools(&registry([definition("t", &"x".repeat(length), json!({}))]))
    };
    let length = 4 * (10_000 - bound(0).estimated_tokens());
    let found = |length: usize| (bound(length).estimated_tokens(), bound(length).diagnostics().len());
    assert_eq!(found(length), (10_000, 0));
    assert_eq!(found(length + 4), (10_001, 1));
}
