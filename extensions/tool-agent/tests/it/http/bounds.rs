//! Secrets, redirects and sizes.

use serde_json::json;
use test_support::http::Recorder;
use tool_agent::{
    Message,
    model::{Model, ModelErrorKind, Request},
};

use super::{WIRES, events, model, server::Answer, streaming};

fn question() -> Request {
    Request::new([Message::user("25 times 4?")])
}

#[tokio::test]
async fn a_key_is_in_no_error_and_no_event() {
    for wire in WIRES {
        let echo = |status| {
            Answer::text(
                status,
                json!({ "error": { "message": "bad: sk-test-key, Bearer sk-test-key, hidden, pass" } })
                    .to_string(),
            )
        };
        let event = json!({ "error": { "message": "bad: sk-test-key hidden pass" }, "sk-test-key": 1 });
        for answer in [
            echo(401),
            echo(500),
            Answer::events(std::slice::from_ref(&event)),
            Answer::text(200, event.to_string()),
        ] {
            let server = Recorder::scripted([answer, echo(400)]).await;
            let url = server.url.replace("http://", "http://user:pass@");
            let model = model(wire, &url).with_header("x-secret", "hidden").with_retries(0);
            let printed = format!("{model:?} {:?}", events(model.respond(question())).await);
            for secret in ["sk-test-key", "hidden", "pass@", " pass"] {
                assert!(!printed.contains(secret), "{wire}: {printed}");
            }
            assert!(printed.contains("[secret]"), "{wire}: {printed}");
        }
    }
}

#[tokio::test]
async fn a_key_that_no_header_can_contain_is_an_error_without_the_key() {
    let model = model("anthropic", "http://127.0.0.1:9").with_api_key("sk-line\nbreak").with_retries(0);
    let error = model.respond(question()).response().await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::InvalidRequest);
    assert!(!format!("{error:?} {error}").contains("sk-line"), "{error:?}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Recorder::scripted([] as [Answer; 0]).await;
    for wire in WIRES {
        let server =
            Recorder::scripted([Answer::text(307, "").with_header("location", other.url.clone())]).await;
        let error = model(wire, &server.url).respond(question()).response().await.unwrap_err();
        assert_eq!(error.status(), Some(307), "{wire}");
    }
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn an_endless_response_is_an_error() {
    let keep_alive = ": still here\n\n";
    let deltas = "data: {\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n";
    let line = "data: 0000000000000000000000000000000000000000000000000000000000000000";
    for chunk in [keep_alive, deltas, line] {
        let server = Recorder::scripted([Answer::endless(chunk)]).await;
        let model = model("openai", &server.url).with_longest_response(100_000);
        let error = model.respond(question()).response().await.unwrap_err();
        assert_eq!((error.kind(), server.received().len()), (ModelErrorKind::Other, 1), "{error:?}");
        assert!(error.to_string().contains("longer than 100000 bytes"), "{error}");
    }
    // Also after the end of the response.
    let mut events = streaming("openai", "100");
    assert_eq!(events.pop(), Some(json!("[DONE]")));
    let server = Recorder::scripted([Answer::endless_after(&events, keep_alive)]).await;
    let model_of_stream = model("openai", &server.url).with_longest_response(100_000).with_retries(0);
    let error = model_of_stream.respond(question()).response().await.unwrap_err();
    assert!(error.to_string().contains("longer than 100000 bytes"), "{error}");
    let whole = "0".repeat(200_000);
    for status in [200, 400] {
        let server = Recorder::scripted([Answer::text(status, whole.clone())]).await;
        let model = model("openai", &server.url).with_longest_response(100_000);
        let error = model.respond(question()).response().await.unwrap_err();
        assert!(error.to_string().len() < 2_000 && !error.is_transient(), "{error}");
    }
}

#[tokio::test]
async fn an_error_of_a_connection_names_the_server_without_secrets() {
    let secret = "http://user:hunter2@127.0.0.1:9/proxy?token=hunter3#hunter4";
    let refused = model("anthropic", secret).with_retries(0);
    let server = Recorder::scripted([] as [Answer; 0]).await;
    let slow = model("anthropic", &server.url.replace("http://", "http://user:hunter2@"));
    let slow = slow.with_retries(0).with_timeout(std::time::Duration::from_millis(50));
    let broken = Recorder::scripted([Answer::broken(&[])]).await;
    let broken_model = model("anthropic", &broken.url).with_retries(0);
    for (model, kind, url) in [
        (refused, ModelErrorKind::Connection, "`http://127.0.0.1:9/proxy`"),
        (slow, ModelErrorKind::TimedOut, &*format!("`{}`", server.url)),
        (broken_model, ModelErrorKind::Connection, &*format!("`{}`", broken.url)),
    ] {
        let error = model.respond(question()).response().await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(error.to_string().contains(url), "{error}");
        assert!(!format!("{error:?} {model:?}").contains("hunter"), "{error:?} {model:?}");
    }
}

#[tokio::test]
async fn a_response_of_the_longest_size_is_read_and_a_longer_one_is_an_error() {
    let text = super::saying("openai", "100").to_string();
    for (longest, is_read) in [(text.len(), true), (text.len() - 1, false)] {
        let server = Recorder::scripted([Answer::text(200, text.clone())]).await;
        let model = model("openai", &server.url).with_longest_response(longest).with_retries(0);
        let response = model.respond(question()).response().await;
        assert_eq!(response.is_ok(), is_read, "{longest}: {response:?}");
    }
}
