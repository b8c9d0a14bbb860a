//! The format of an answer in the requests to each provider.

use test_support::http::{Answer, Recorder};
use tool_agent::{Agent, HttpModel, Model as _, Runner};
use tool_runtime::prelude::*;

/// A forecast.
#[tool_args]
#[derive(Debug, PartialEq)]
struct Forecast {
    /// The town.
    town: String,
    /// The days.
    #[schemars(range(min = 1))]
    days: Option<u8>,
}

/// Finds a town.
#[tool(read_only, register = false)]
fn find(name: String) -> String {
    name
}

/// Returns the forecast that `model` answers, and the request.
async fn forecast(model: HttpModel, response: Value, tools: Registry) -> (Forecast, Value) {
    let server = Recorder::new(Answer::json(&response.to_string())).await;
    let model = model.with_base_url(&server.url).with_streaming(false);
    let runner = Runner::new(Agent::builder("weather", model).tools(tools).build().unwrap());
    let forecast = runner.run_structured("What is the weather in Oslo?").await.unwrap();
    let request = server.received()[0].json();
    (forecast, request)
}

const ANSWER: &str = r#"{"town":"Oslo","days":null}"#;

fn oslo() -> Forecast {
    Forecast { town: "Oslo".to_owned(), days: None }
}

fn tools() -> Registry {
    Registry::builder().tool::<find>().build().unwrap()
}

fn assert_strict(schema: &Value) {
    assert_eq!(schema["additionalProperties"], false, "{schema}");
    assert!(schema["properties"]["town"].is_object(), "{schema}");
}

#[tokio::test]
async fn openai_chat_receives_a_strict_schema() {
    let response = json!({ "choices": [{ "index": 0, "finish_reason": "stop",
        "message": { "role": "assistant", "content": ANSWER } }] });
    // Not the default for a compatible server.
    let model = HttpModel::openai_chat("m").unwrap().with_strict_output(true);
    let (answer, request) = forecast(model, response, tools()).await;
    let format = &request["response_format"]["json_schema"];
    assert_eq!((answer, &format["strict"], &format["name"]), (oslo(), &json!(true), &json!("Forecast")));
    assert_strict(&format["schema"]);
    // Strict schemas have no optional properties.
    assert_eq!(format["schema"]["required"], json!(["town", "days"]));
    assert_eq!(request["tools"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn openai_responses_receives_a_strict_schema() {
    let response = json!({ "status": "completed", "output": [{ "type": "message", "role": "assistant",
        "status": "completed", "id": "m1", "content": [{ "type": "output_text", "text": ANSWER, "annotations": [] }] }] });
    let (answer, request) = forecast(HttpModel::openai_responses("m").unwrap(), response, tools()).await;
    let format = &request["text"]["format"];
    assert_eq!((answer, &format["strict"]), (oslo(), &json!(true)));
    assert_strict(&format["schema"]);
}

#[tokio::test]
async fn anthropic_receives_a_strict_schema() {
    let response = json!({ "type": "message", "role": "assistant", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": r#"{"town":"Oslo"}"# }] });
    let (answer, request) = forecast(HttpModel::anthropic("m").unwrap(), response, tools()).await;
    let format = &request["output_config"]["format"];
    assert_eq!((answer, &format["type"]), (oslo(), &json!("json_schema")));
    assert_strict(&format["schema"]);
}

#[tokio::test]
async fn gemini_receives_a_schema_without_tools_and_the_output_tool_with_tools() {
    let part = |part: Value| {
        json!({ "candidates": [{ "index": 0, "finishReason": "STOP",
            "content": { "role": "model", "parts": [part] } }] })
    };
    let text = part(json!({ "text": r#"{"town":"Oslo"}"# }));
    let model = || HttpModel::gemini("m").unwrap();
    let (answer, request) = forecast(model(), text, Registry::default()).await;
    assert_eq!(answer, oslo());
    let config = &request["generationConfig"];
    assert_eq!(config["responseMimeType"], "application/json");
    assert!(config["responseJsonSchema"]["properties"]["town"].is_object());
    assert!(request.get("tools").is_none(), "{request}");

    let call = part(json!({ "functionCall": { "name": "submit_output", "args": { "town": "Oslo" } } }));
    let (answer, request) = forecast(model(), call, tools()).await;
    assert_eq!(answer, oslo());
    assert!(request.get("generationConfig").is_none(), "{request}");
    assert_eq!(request["tools"][0]["functionDeclarations"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_unsupported_schema_is_sent_with_the_output_tool() {
    type Counts = std::collections::BTreeMap<String, u32>;
    let call = json!({ "id": "c1", "type": "function",
        "function": { "name": "submit_output", "arguments": r#"{"tea":2}"# } });
    let response = json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls",
        "message": { "role": "assistant", "content": null, "tool_calls": [call] } }] });
    let server = Recorder::new(Answer::json(&response.to_string())).await;
    let model = HttpModel::openai_chat("m").unwrap().with_base_url(&server.url).with_streaming(false);
    let model = model.with_strict_output(true);
    let runner = Runner::new(Agent::builder("clerk", model).build().unwrap());
    let counts = runner.run_structured::<Counts>("Two teas.").await.unwrap();
    assert_eq!(counts, Counts::from([("tea".to_owned(), 2)]));
    assert!(server.received()[0].json().get("response_format").is_none());
}

#[tokio::test]
async fn a_compatible_server_is_not_expected_to_guarantee_a_format() {
    let call = json!({ "id": "c1", "type": "function",
        "function": { "name": "submit_output", "arguments": r#"{"town":"Oslo"}"# } });
    let response = json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls",
        "message": { "role": "assistant", "content": null, "tool_calls": [call] } }] });
    let chat = || HttpModel::openai_chat("m").unwrap();
    let (answer, request) = forecast(chat(), response, tools()).await;
    assert_eq!((answer, request.get("response_format")), (oslo(), None));
    assert_eq!(request["tools"].as_array().unwrap().len(), 2);

    let local = "http://127.0.0.1:9";
    assert!(!chat().with_base_url(local).has_strict_output());
    assert!(chat().with_base_url("https://api.openai.com/v1/").has_strict_output());
    assert!(chat().with_base_url(local).with_strict_output(true).has_strict_output());
    let others = [HttpModel::openai_responses("m"), HttpModel::anthropic("m"), HttpModel::gemini("m")];
    for other in others.map(Result::unwrap) {
        assert!(other.clone().with_base_url(local).has_strict_output(), "{other:?}");
        assert!(!other.with_strict_output(false).has_strict_output());
    }
}
