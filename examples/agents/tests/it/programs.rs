//! The output of each program.

use std::process::Stdio;

use axum::{Router, http::header::CONTENT_TYPE, response::IntoResponse, routing::post};
use tokio::{net::TcpListener, process::Command};

/// Runs a program with these variables; returns its output.
async fn run(program: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(program);
    command.env_remove("MODEL").envs(variables.iter().copied()).stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const TRANSCRIPT: &str =
    "[calculator {\"operation\":\"multiply\",\"a\":25,\"b\":4}]\n[calculator: 100.0]\n25 times 4 is 100.\n";

#[tokio::test]
async fn calculator_prints_the_call_with_its_parameters_and_the_answer() {
    assert_eq!(run(env!("CARGO_BIN_EXE_calculator"), &[]).await, TRANSCRIPT); // Z03
}

/// A server with OpenAI's chat completions, which streams a call and, once it has the result, the answer.
async fn server() -> String {
    async fn complete(body: String) -> impl IntoResponse {
        let answered = body.contains("\"role\":\"tool\"") && body.contains("\"content\":\"100.0\"");
        let events: &[&str] = match answered {
            false => &[
                r#"{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"calculator","arguments":"{\"operation\":\"multiply\","}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\":25,\"b\":4}"}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
                "[DONE]",
            ],
            true => &[
                r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"25 times 4 "}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"is 100."}}]}"#,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
        };
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        ([(CONTENT_TYPE, "text/event-stream")], stream)
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let app = Router::new().route("/v1/chat/completions", post(complete));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[tokio::test]
async fn calculator_answers_the_same_by_a_model_over_http() {
    let url = server().await;
    let variables = [("MODEL", "openai:local"), ("OPENAI_BASE_URL", &url), ("OPENAI_API_KEY", "none")];
    assert_eq!(run(env!("CARGO_BIN_EXE_calculator"), &variables).await, TRANSCRIPT);
}
