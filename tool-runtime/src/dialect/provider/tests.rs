//! The HTTP API of each provider: its addresses, headers, members and events.

use serde_json::{Map, Value, json, value::RawValue};

use tool_core::internals::ExactValue;

use super::{
    Anthropic, Gemini, JsonLocation, OpenAiChat, OpenAiResponses, Provider, ToolSelection, providers,
    refuse_failure,
};

const CHAT: OpenAiChat = OpenAiChat { strict: false };
const RESPONSES: OpenAiResponses = OpenAiResponses { strict: false };
const ANTHROPIC: Anthropic = Anthropic { strict: false };
const GEMINI: Gemini = Gemini { json_schema: true };

/// Returns the members that `set` adds to a request.
fn members(set: impl FnOnce(&mut Map<String, Value>)) -> Value {
    let mut members = Map::new();
    set(&mut members);
    members.into()
}

// A19
#[test]
fn each_provider_is_listed_once_with_its_names() {
    let listed = providers().into_iter().map(|it| {
        format!(
            "{} {} {} {}",
            it.name(),
            it.short_names().join(","),
            it.environment_prefix(),
            it.semantic_name()
        )
    });
    let expected = [
        "openai-chat openai,openai-chat OPENAI openai",
        "openai-responses openai-responses OPENAI openai",
        "anthropic anthropic ANTHROPIC anthropic",
        "gemini gemini GEMINI gcp.gemini",
    ];
    assert_eq!(listed.collect::<Vec<_>>(), expected);
    let compatible: Vec<_> = providers().iter().map(|it| it.has_compatible_servers()).collect();
    assert_eq!(compatible, [true, false, false, false]);
}

// A19
#[test]
fn a_request_has_the_url_and_the_headers_of_its_provider() {
    for (provider, model, url, streaming_url, header) in [
        (
            &CHAT as &dyn Provider,
            "m",
            "b/chat/completions",
            "b/chat/completions",
            ("authorization", "Bearer k"),
        ),
        (&RESPONSES, "m", "b/responses", "b/responses", ("authorization", "Bearer k")),
        (&ANTHROPIC, "m", "b/v1/messages", "b/v1/messages", ("x-api-key", "k")),
        (
            &GEMINI,
            "models/a b/é",
            "b/v1beta/models/a%20b%2F%C3%A9:generateContent",
            "b/v1beta/models/a%20b%2F%C3%A9:streamGenerateContent?alt=sse",
            ("x-goog-api-key", "k"),
        ),
        (
            &GEMINI,
            "aZ09-._~",
            "b/v1beta/models/aZ09-._~:generateContent",
            "b/v1beta/models/aZ09-._~:streamGenerateContent?alt=sse",
            ("x-goog-api-key", "k"),
        ),
    ] {
        assert_eq!(
            (provider.url("b", model, false).as_str(), provider.url("b", model, true).as_str()),
            (url, streaming_url)
        );
        assert!(provider.base_url().starts_with("https://") && !provider.base_url().ends_with('/'));
        assert_eq!(provider.headers(Some("k"))[0], (header.0, header.1.to_owned()));
        let without_key = provider.headers(None);
        assert!(without_key.iter().all(|(name, _)| *name == "anthropic-version"), "{without_key:?}");
        assert_eq!(without_key.is_empty(), provider.name() != "anthropic");
    }
}

// A19
#[test]
fn a_request_has_the_members_of_its_provider() {
    let of = |provider: &dyn Provider, streams: bool| Value::from(provider.request_members("m", streams));
    let usage = json!({ "model": "m", "stream": true, "stream_options": { "include_usage": true } });
    assert_eq!((of(&CHAT, true), of(&CHAT, false)), (usage, json!({ "model": "m", "stream": false })));
    for streams in [true, false] {
        assert_eq!(of(&RESPONSES, streams), json!({ "model": "m", "stream": streams }));
        assert_eq!(of(&ANTHROPIC, streams), json!({ "model": "m", "max_tokens": 8192, "stream": streams }));
        assert_eq!(of(&GEMINI, streams), json!({}));
    }
    for (provider, instruction) in [
        (&CHAT as &dyn Provider, json!({ "messages": [{ "role": "system", "content": "Say" }] })),
        (&RESPONSES, json!({ "instructions": "Say" })),
        (&ANTHROPIC, json!({ "system": "Say" })),
        (&GEMINI, json!({ "systemInstruction": { "parts": [{ "text": "Say" }] } })),
    ] {
        assert_eq!(members(|it| provider.set_instruction(it, "Say")), instruction);
    }
}

// A19
#[test]
fn the_tools_that_a_model_may_call_are_selected() {
    let gemini = |config: Value| json!({ "toolConfig": { "functionCallingConfig": config } });
    for (provider, none, required, only) in [
        (
            &CHAT as &dyn Provider,
            json!({ "tool_choice": "none" }),
            json!({ "tool_choice": "required" }),
            json!({ "tool_choice": { "type": "function", "function": { "name": "t" } } }),
        ),
        (
            &RESPONSES,
            json!({ "tool_choice": "none" }),
            json!({ "tool_choice": "required" }),
            json!({ "tool_choice": { "type": "function", "name": "t" } }),
        ),
        (
            &ANTHROPIC,
            json!({ "tool_choice": { "type": "none" } }),
            json!({ "tool_choice": { "type": "any" } }),
            json!({ "tool_choice": { "type": "tool", "name": "t" } }),
        ),
        (
            &GEMINI,
            gemini(json!({ "mode": "NONE" })),
            gemini(json!({ "mode": "ANY" })),
            gemini(json!({ "mode": "ANY", "allowedFunctionNames": ["t"] })),
        ),
    ] {
        let selected = |selection| members(|it| provider.set_tool_selection(it, selection));
        assert_eq!(selected(ToolSelection::Auto), json!({}));
        assert_eq!(selected(ToolSelection::None), none);
        assert_eq!(selected(ToolSelection::Required), required);
        assert_eq!(selected(ToolSelection::Tool("t")), only);
    }
}

// A19
#[test]
fn the_format_of_an_answer_is_a_schema() {
    let schema = json!({ "type": "object" });
    for strict in [true, false] {
        for (provider, format) in [
            (
                &CHAT as &dyn Provider,
                json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "n", "schema": schema, "strict": strict } } }),
            ),
            (
                &RESPONSES,
                json!({ "text": { "format": { "type": "json_schema", "name": "n", "schema": schema, "strict": strict } } }),
            ),
            (
                &ANTHROPIC,
                json!({ "output_config": { "format": { "type": "json_schema", "schema": schema } } }),
            ),
            (
                &GEMINI,
                json!({ "generationConfig": { "responseMimeType": "application/json", "responseJsonSchema": schema } }),
            ),
        ] {
            assert_eq!(members(|it| provider.set_output_format(it, "n", &schema, strict)), format);
        }
    }
    let combines: Vec<_> = providers().iter().map(|it| it.combines_output_with_tools()).collect();
    assert_eq!(combines, [true, true, true, false]);
    let strict: Vec<_> = providers().iter().filter_map(|it| it.strict_dialect()).collect();
    let names: Vec<_> = strict.iter().map(|dialect| dialect.name()).collect();
    assert_eq!(names, ["openai-responses-strict", "openai-responses-strict", "anthropic-strict", "gemini"]);
}

// A19
#[test]
fn a_schema_is_enforced_where_the_definition_is_strict() {
    let schema = json!({ "type": "object" });
    for (provider, key) in
        [(&CHAT as &dyn Provider, "parameters"), (&RESPONSES, "parameters"), (&ANTHROPIC, "input_schema")]
    {
        for (definition, is_enforced) in [
            (json!({ key: schema, "strict": true }), true),
            (json!({ key: schema, "strict": false }), false),
            (json!({ key: schema }), false),
            (json!({ key: true, "strict": true }), false),
            (json!({ "strict": true }), false),
        ] {
            let enforced = provider.enforced_schema(&definition);
            assert_eq!(enforced, is_enforced.then_some(&schema), "{} {definition}", provider.name());
        }
    }
    let declared = |schema: Value| json!({ "functionDeclarations": [{ "parametersJsonSchema": schema }] });
    assert_eq!(GEMINI.enforced_schema(&declared(schema.clone())), Some(&schema));
    assert_eq!(GEMINI.enforced_schema(&declared(json!(1))), None);
    assert_eq!(GEMINI.enforced_schema(&json!({ "functionDeclarations": [{ "parameters": schema }] })), None);
}

// A19
#[test]
fn events_are_those_of_a_response_or_its_last_one() {
    for (provider, name, is_response, is_last) in [
        (&RESPONSES as &dyn Provider, "response.created", true, false),
        (&RESPONSES, "response.completed", true, true),
        (&RESPONSES, "response.incomplete", true, true),
        (&RESPONSES, "response.failed", true, false),
        (&RESPONSES, "error", true, false),
        (&RESPONSES, "keepalive", false, false),
        (&ANTHROPIC, "message_start", true, false),
        (&ANTHROPIC, "message_stop", true, true),
        (&ANTHROPIC, "content_block_delta", true, false),
        (&ANTHROPIC, "error", true, false),
        (&ANTHROPIC, "ping", false, false),
        (&GEMINI, "message", true, false),
        (&CHAT, "message", true, false),
    ] {
        let found = (provider.is_response_event(name), provider.is_last_event(name));
        assert_eq!(found, (is_response, is_last), "{} {name}", provider.name());
    }
}

// A19
#[test]
fn messages_of_another_model_are_signed_for_newer_models_of_gemini() {
    let message = || {
        RawValue::from_string(r#"{"parts":[{"functionCall":{}},{"functionCall":{}}]}"#.to_owned()).unwrap()
    };
    let signed = r#"{"parts":[{"thoughtSignature":"skip_thought_signature_validator","functionCall":{}},{"functionCall":{}}]}"#;
    for (model, is_older) in [
        ("gemini-1.5-pro", true),
        ("models/gemini-2.5-flash", true),
        ("gemini-3-pro", false),
        ("models/gemini-3-pro", false),
        ("other", false),
    ] {
        assert_eq!(GEMINI.message_variant(model), if is_older { "older" } else { "" }, "{model}");
        let complete = GEMINI.complete_foreign_message(model, message());
        assert_eq!(
            complete.get(),
            if is_older { message().get().to_owned() } else { signed.to_owned() },
            "{model}"
        );
    }
    for provider in [&CHAT as &dyn Provider, &RESPONSES, &ANTHROPIC] {
        assert_eq!(provider.complete_foreign_message("m", message()).get(), message().get());
        assert_eq!((provider.message_variant("m"), provider.has_call_id_rules()), ("", true));
    }
    assert!(!GEMINI.has_call_id_rules());
}

#[test]
fn a_request_to_anthropic_has_cache_points_and_one_to_another_provider_has_none() {
    let message = RawValue::from_string(r#"{"role":"user","content":"a"}"#.to_owned()).unwrap();
    let mark = json!({ "type": "ephemeral" });
    let request = || json!({ "system": "a", "tools": [{ "name": "b" }] });
    let marked = |provider: &dyn Provider| {
        let mut request = request();
        provider.add_cache_point_after_instruction(&mut request);
        provider.add_cache_point_after_tools(&mut request);
        let message = provider.with_cache_point(&message).map(|it| it.get().to_owned());
        (provider.max_cache_points(), message, request)
    };
    let text =
        r#"{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}"#;
    let expected = json!({
        "system": [{ "type": "text", "text": "a", "cache_control": mark }],
        "tools": [{ "name": "b", "cache_control": mark }],
    });
    assert_eq!(marked(&ANTHROPIC), (4, Some(text.to_owned()), expected));
    for provider in [&CHAT as &dyn Provider, &RESPONSES, &GEMINI] {
        assert_eq!(marked(provider), (0, None, request()), "{}", provider.name());
    }
}

// A19
#[test]
fn a_blocked_prompt_of_gemini_is_a_refusal() {
    let refusal = |response: &str| GEMINI.refusal(response);
    assert_eq!(refusal(r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#).as_deref(), Some("SAFETY"));
    for other in [
        r#"{"promptFeedback":{}}"#,
        r#"{"promptFeedback":{"blockReason":1}}"#,
        r#"{"blockReason":"SAFETY"}"#,
        "blockReason",
    ] {
        assert_eq!(refusal(other), None, "{other}");
    }
    assert_eq!(CHAT.refusal(r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#), None);
}

#[test]
fn a_response_with_an_error_is_refused_whatever_the_error_is() {
    for (message, is_refused) in [
        ("{}", false),
        (r#"{"error":null}"#, false),
        (r#"{"error":false}"#, false),
        (r#"{"error":""}"#, false),
        (r#"{"error":{}}"#, false),
        (r#"{"error":true}"#, true),
        (r#"{"error":0}"#, true),
        (r#"{"error":[]}"#, true),
        (r#"{"error":"overloaded"}"#, true),
        (r#"{"error":{"code":null}}"#, true),
    ] {
        let value = ExactValue::read(message).unwrap();
        assert_eq!(refuse_failure(&JsonLocation::root(&value)).is_err(), is_refused, "{message}");
    }
}
