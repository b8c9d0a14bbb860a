//! Responses and errors of servers that do not follow the format of their provider in all details, and parts of requests that
//! a provider does not support.

use std::time::Duration;

use serde_json::{Value, json};
use test_support::http::Recorder;
use tool_agent::{
    Message,
    model::{Model, ModelError, ModelErrorKind, ModelEvent, Request},
};
use tool_runtime::{Dialect, Registry, ToolBuilder, diagnostic::Severity, schema::InputSchema};

use super::{WIRES, ask, dialect, events, model, saying, server::Answer, streaming};

fn question() -> Request {
    Request::new([Message::user("25 times 4?")])
}

/// Returns the error of a model whose server sends `answer`.
async fn error(wire: &str, answer: Answer) -> ModelError {
    let server = Recorder::scripted([answer]).await;
    model(wire, &server.url).with_retries(0).respond(question()).response().await.unwrap_err()
}

#[tokio::test]
async fn a_numeric_code_of_an_error_is_its_status() {
    let cases = [
        (json!(400), ModelErrorKind::InvalidRequest, 400),
        (json!("400"), ModelErrorKind::InvalidRequest, 400),
        (json!(401), ModelErrorKind::Authentication, 401),
        (json!(429), ModelErrorKind::RateLimited, 429),
        (json!(503), ModelErrorKind::Unavailable, 503),
        (json!(429.0), ModelErrorKind::RateLimited, 429),
        (json!("429 Too Many Requests"), ModelErrorKind::RateLimited, 429),
    ];
    for wire in WIRES {
        for (code, kind, status) in &cases {
            let report = json!({ "error": { "code": code, "message": "no" } });
            for answer in [Answer::json(&report), Answer::events(std::slice::from_ref(&report))] {
                let error = error(wire, answer).await;
                assert_eq!((error.kind(), error.status()), (*kind, Some(*status)), "{wire}: {error}");
                assert!(error.to_string().ends_with("the server reported an error: no"), "{wire}: {error}");
            }
        }
    }
    // Beside an empty response, and within a choice.
    for report in [
        json!({ "choices": [], "error": { "code": 400, "message": "no" } }),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "error", "error": { "code": 400, "message": "no" } }] }),
    ] {
        let error = error("openai", Answer::events(std::slice::from_ref(&report))).await;
        assert_eq!((error.kind(), error.status()), (ModelErrorKind::InvalidRequest, Some(400)), "{report}");
    }
    // A number that is no status.
    let report = json!({ "error": { "code": 1301, "type": "rate_limit_error", "message": "no" } });
    let error = error("openai", Answer::json(&report)).await;
    assert_eq!((error.kind(), error.status()), (ModelErrorKind::RateLimited, None));
}

#[tokio::test]
async fn the_pause_that_a_server_asks_for_is_read_from_header_and_body() {
    let report = |delay: Value| {
        let details = json!([
            { "@type": "type.googleapis.com/google.rpc.Help", "links": [] },
            { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay },
        ]);
        json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota", "details": details } })
    };
    let text = |body: &Value| Answer::text(429, body.to_string());
    let seconds = |seconds: f64| Some(Duration::from_secs_f64(seconds));
    let quota = || Answer::text(429, r#"{"error":{"message":"quota"}}"#);
    let cases = [
        (text(&report(json!("38s"))), seconds(38.0)),
        (text(&json!([report(json!("0.5s"))])), seconds(0.5)),
        (text(&report(json!({ "seconds": 7 }))), seconds(7.0)),
        (text(&report(json!({ "seconds": "7", "nanos": 500_000_000 }))), seconds(7.5)),
        (text(&report(json!(7))), seconds(7.0)),
        (quota().with_header("retry-after", "500ms"), seconds(0.5)),
        (quota().with_header("retry-after-ms", "1500.5"), seconds(1.5005)),
        (Answer::json(&report(json!("38s"))), seconds(38.0)),
        (text(&report(json!("soon"))), None),
        (text(&report(json!("-1s"))), None),
        (quota().with_header("retry-after", "2s"), seconds(2.0)),
        (quota().with_header("retry-after", "2"), seconds(2.0)),
        (quota().with_header("retry-after", "1.5 s"), seconds(1.5)),
        (quota().with_header("retry-after", "soon"), None),
        // The header states when this server accepts requests.
        (text(&report(json!("38s"))).with_header("retry-after", "2"), seconds(2.0)),
    ];
    for (at, (answer, expected)) in cases.into_iter().enumerate() {
        let error = error("gemini", answer).await;
        assert_eq!((error.kind(), error.retry_after()), (ModelErrorKind::RateLimited, expected), "case {at}");
    }
}

#[tokio::test]
async fn the_first_bytes_of_a_response_decide_whether_it_is_a_stream() {
    for wire in WIRES {
        let events = || Answer::event_text(&streaming(wire, "100"));
        let json = || saying(wire, "100").to_string();
        let comment = || format!("\n: processing\n\n{}", events());
        let answers = [
            Answer::text(200, events()),
            Answer::text(200, comment()),
            Answer::text(200, format!("  {}", events())),
            Answer::text(200, format!("\u{feff}{}", events())),
            Answer::untyped(events()),
            Answer::untyped(json()),
            Answer::untyped(format!("\u{feff}{}", json())),
            Answer::untyped(format!(" \n{}", json())).with_header("content-type", "text/event-stream"),
            Answer::untyped(json()).with_header("content-type", "text/plain"),
        ];
        for (at, answer) in answers.into_iter().enumerate() {
            let server = Recorder::scripted([answer]).await;
            let response = ask(&model(wire, &server.url).with_retries(0), question()).await;
            assert_eq!(response.message.text(), "100", "{wire}, answer {at}");
        }
    }
}

#[tokio::test]
async fn the_reason_of_an_error_is_shown_in_whatever_member_it_is() {
    let cases = [
        (json!({ "error": { "code": 400, "message": { "detail": "x is bad" } } }), "x is bad"),
        (json!({ "error": ["x is bad"] }), "x is bad"),
        (json!({ "error": true, "message": "x is bad" }), "x is bad"),
        (json!({ "error": { "reason": "x is bad" } }), "x is bad"),
        (json!({ "object": "error", "message": "x is bad", "code": 400 }), "x is bad"),
    ];
    for (report, reason) in cases {
        for answer in [Answer::text(400, report.to_string()), Answer::events(std::slice::from_ref(&report))] {
            let error = error("openai", answer).await.to_string();
            assert!(error.contains(reason), "{report}: {error}");
        }
    }
    // A response that breaks off is not an error of its server.
    let begun = json!({ "type": "message_start", "message": { "role": "assistant", "content": [] } });
    let error = error("anthropic", Answer::events(&[begun])).await;
    assert_eq!(error.kind(), ModelErrorKind::Connection, "{error}");
}

#[tokio::test]
async fn keep_alives_between_events_are_skipped() {
    for wire in WIRES {
        let keep_alives = [
            "data: : keepalive\n\n",
            "data:\n\n",
            ": comment\n\n",
            "event: ping\ndata: still here\n\n",
            "event: keepalive\ndata: {\n\n",
            "event: Heartbeat\ndata: null\n\n",
            "event: ping\n\n",
            "event: pong\ndata: pong\n\n",
            "data: null\n\n",
            "data: {}\n\n",
        ];
        for keep_alive in keep_alives {
            let events = streaming(wire, "100");
            let mut body = keep_alive.to_owned();
            for event in &events {
                body.push_str(&Answer::event_text(std::slice::from_ref(event)));
                body.push_str(keep_alive);
            }
            let server =
                Recorder::scripted([Answer::untyped(body).with_header("content-type", "text/event-stream")])
                    .await;
            let response = ask(&model(wire, &server.url).with_retries(0), question()).await;
            assert_eq!(response.message.text(), "100", "{wire}: {keep_alive:?}");
        }
    }
}

#[tokio::test]
async fn an_event_without_a_name_or_with_json_is_no_keep_alive() {
    // Without a name, a text that is no JSON is a part of a response that cannot be read.
    let broken = Answer::untyped("data: pong\n\n").with_header("content-type", "text/event-stream");
    assert_eq!(error("openai", broken).await.kind(), ModelErrorKind::Malformed);
    // JSON belongs to the response, whatever the name of its event is.
    let mut body = String::new();
    for event in streaming("openai", "100") {
        body.push_str(&format!("event: pong\n{}", Answer::event_text(std::slice::from_ref(&event))));
    }
    let answer = Answer::untyped(body).with_header("content-type", "text/event-stream");
    let server = Recorder::scripted([answer]).await;
    let response = ask(&model("openai", &server.url).with_retries(0), question()).await;
    assert_eq!(response.message.text(), "100");
}

#[tokio::test]
async fn a_part_of_a_response_without_text_is_no_event() {
    for wire in WIRES {
        for answer in [Answer::json(&saying(wire, "100")), Answer::events(&streaming(wire, "100"))] {
            let server = Recorder::scripted([answer]).await;
            let events = events(model(wire, &server.url).respond(question())).await;
            let texts = events.iter().filter_map(|event| match event {
                Ok(ModelEvent::Text(text)) => Some(format!("text {text}")),
                Ok(ModelEvent::Reasoning(text)) => Some(format!("reasoning {text}")),
                _ => None,
            });
            assert_eq!(texts.collect::<Vec<_>>(), ["text 100"], "{wire}");
        }
    }
    // A response with a call alone.
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let message = json!({ "role": "assistant", "content": "", "tool_calls": [call] });
    let whole = json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": message }] });
    let server = Recorder::scripted([Answer::json(&whole)]).await;
    let events = events(model("openai", &server.url).respond(question())).await;
    assert!(!events.iter().any(|event| matches!(event, Ok(ModelEvent::Text(_) | ModelEvent::Reasoning(_)))));
}

#[test]
fn keep_alives_are_no_events_of_an_assembler() {
    for dialect in Dialect::all().into_iter().filter(|it| it.name() != "mcp") {
        let mut assembler = dialect.bind_tools(&Registry::default()).assembler();
        for text in [": keepalive", " : OPENROUTER PROCESSING", "", "[DONE]"] {
            assert_eq!(assembler.push(text).unwrap(), [], "{}: {text:?}", dialect.name());
        }
    }
}

#[tokio::test]
async fn parts_of_tools_that_a_provider_does_not_support_are_reported_and_notes_are_not() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "object", "patternProperties": { "^x": { "type": "string", "minLength": 2 } } } },
        "required": ["a"],
    });
    let schema = InputSchema::new(schema).unwrap();
    // More tools than OpenAI accepts.
    let tools = (0..130).fold(Registry::builder(), |builder, number| {
        let tool = ToolBuilder::new(format!("search_{number}")).description("Searches.");
        builder.add(tool.input_schema(schema.clone()).external().unwrap())
    });
    let tools = tools.build().unwrap();
    let (mut warnings, mut notes) = (0, 0);
    for wire in WIRES {
        let dialect = Dialect::all().into_iter().find(|it| it.name() == dialect(wire)).unwrap();
        let bound = dialect.bind_tools(&tools);
        let all = bound.diagnostics().iter();
        let expected: Vec<_> =
            all.filter(|it| it.severity > Severity::Note).map(ToString::to_string).collect();
        warnings += expected.len();
        notes += bound.diagnostics().len() - expected.len();

        let server = Recorder::scripted([Answer::json(&saying(wire, "100"))]).await;
        let mut request = question();
        request.tools = tools.clone();
        let events = events(model(wire, &server.url).respond(request)).await;
        let reported = events.into_iter().filter_map(|event| match event {
            Ok(ModelEvent::Unsupported(text)) => Some(text),
            _ => None,
        });
        assert_eq!(reported.collect::<Vec<_>>(), expected, "{wire}");
    }
    assert!(warnings > 0 && notes > 0, "{warnings} warnings, {notes} notes");
}
