//! A server with OpenAI's chat completions, streamed, without state.

use axum::{Router, http::header::CONTENT_TYPE, response::IntoResponse, routing::post};
use tokio::net::TcpListener;

use crate::{Outcome, ROUNDS};

pub(crate) const ANSWER: &str = "That is all.";

/// Serves until the process is killed; prints the URL first.
pub(crate) async fn serve() -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let app = Router::new().route("/v1/chat/completions", post(complete));
    Ok(axum::serve(listener, app).await?)
}

/// Answers after 20 rounds with results, which it counts in the request; makes three calls before.
async fn complete(body: String) -> impl IntoResponse {
    let round = body.matches("\"role\":\"tool\"").count() / 3;
    let mut events = Vec::new();
    if round < ROUNDS {
        for index in 0..3 {
            let role = if index == 0 { "\"role\":\"assistant\"," } else { "" };
            events.push(format!(
                r#"{{"choices":[{{"index":0,"delta":{{{role}"tool_calls":[{{"index":{index},"id":"call_{round}_{index}","type":"function","function":{{"name":"add","arguments":""}}}}]}}}}]}}"#
            ));
            for piece in [format!("{{\\\"a\\\":{round},"), format!("\\\"b\\\":{index}}}")] {
                events.push(format!(
                    r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{index},"function":{{"arguments":"{piece}"}}}}]}}}}]}}"#
                ));
            }
        }
        events.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned());
    } else {
        events.push(format!(
            r#"{{"choices":[{{"index":0,"delta":{{"role":"assistant","content":"{ANSWER}"}}}}]}}"#
        ));
        events.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned());
    }
    events.push("[DONE]".to_owned());
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    ([(CONTENT_TYPE, "text/event-stream")], stream)
}
