//! Calls against a server that records them.

use serde_json::json;
use test_support::http::{Answer, Recorder};
use tool_openapi::OpenApiToolSet;

use crate::{built, call, document, petstore};

#[tokio::test]
async fn a_call_of_the_petstore_reaches_the_server_and_returns_its_answer() {
    let server = Recorder::new(Answer::json(r#"{"id":7,"name":"Rex"}"#)).await;
    let set = built(OpenApiToolSet::builder(petstore()).base_url(&server.url));
    let output = call(&set, "getPetById", r#"{"petId":7}"#).await.unwrap();
    let received = server.one();
    assert_eq!((&*received.method, &*received.target), ("GET", "/pet/7"));
    assert_eq!(output.structured(), Some(json!({ "id": 7, "name": "Rex" })));
    assert!(output.text().contains("200 OK") && output.text().contains("Rex"), "{}", output.text()); // P10
    assert_eq!(output.details().unwrap()["status"], 200); // P10
}

/// `GET /pets/{name}`.
fn by_name() -> tool_openapi::Document {
    let name = json!({ "name": "name", "in": "path", "required": true, "schema": { "type": "string" } });
    document(json!({ "/pets/{name}": { "get": { "operationId": "get", "parameters": [name] } } }), json!({}))
}

#[tokio::test]
async fn a_value_in_a_path_stays_one_segment() {
    let server = Recorder::new(Answer::json("{}")).await;
    let set = built(OpenApiToolSet::builder(by_name()).base_url(&server.url));
    call(&set, "get", r#"{"name":"../admin?x=1#y"}"#).await.unwrap();
    assert_eq!(server.one().target, "/pets/..%2Fadmin%3Fx%3D1%23y"); // P08
    for id in ["..", ".", ""] {
        let error = call(&set, "get", &json!({ "name": id }).to_string()).await.unwrap_err();
        assert_eq!(error.kind(), tool_runtime::ErrorKind::BadParameter, "{id}: {error}"); // P08
    }
    let missing = call(&set, "get", "{}").await.unwrap_err();
    assert_eq!(missing.kind(), tool_runtime::ErrorKind::InvalidArguments); // P08
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn a_query_parameter_and_the_body_of_one_name_both_reach_the_server() {
    let server = Recorder::new(Answer::json("{}")).await;
    let text = json!({ "type": "string" });
    let paths = json!({ "/notes": { "post": {
        "operationId": "add",
        "parameters": [{ "name": "body", "in": "query", "schema": text }],
        "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": "integer" } } } },
    }}});
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    call(&set, "add", r#"{"body__query":"a&b=c","body":12345678901234567890123}"#).await.unwrap();
    let received = server.one();
    assert_eq!((&*received.target, received.text()), ("/notes?body=a%26b%3Dc", "12345678901234567890123")); // P07
    assert_eq!(received.header("content-type"), Some("application/json"));
}
