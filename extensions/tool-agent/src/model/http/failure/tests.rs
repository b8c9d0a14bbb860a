#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;

use super::*;

/// The kind, the message, the status and the pause of an error.
fn parts(error: &ModelError) -> (ModelErrorKind, String, Option<u16>, Option<Duration>) {
    (error.kind(), error.to_string(), error.status(), error.retry_after())
}

fn kind_of_report(report: &Value) -> Option<ModelErrorKind> {
    redacted_error_in_json(&report.to_string(), str::to_owned).map(|error| error.kind())
}

#[test]
fn the_status_of_an_answer_determines_the_kind() {
    use ModelErrorKind::{
        Authentication, ContextTooLong, InvalidRequest, RateLimited, TimedOut, Unavailable,
    };
    let none = [""; 3];
    for (status, texts, message, expected) in [
        (400, none, "bad", InvalidRequest),
        (400, none, "The prompt is too long.", ContextTooLong),
        (413, none, "maximum context length", ContextTooLong),
        (422, ["context_length_exceeded", "", ""], "", ContextTooLong),
        (404, none, "prompt is too long", InvalidRequest),
        (429, ["", "insufficient_quota", ""], "", InvalidRequest),
        (429, none, "", RateLimited),
        (401, none, "", Authentication),
        (403, none, "", Authentication),
        (408, none, "", TimedOut),
        (499, none, "", InvalidRequest),
        (500, none, "", Unavailable),
        (529, none, "prompt is too long", Unavailable),
    ] {
        assert_eq!(error_kind(status, texts, message), expected, "{status} {texts:?} {message}");
    }
}

#[test]
fn an_error_in_a_response_has_the_kind_of_its_code() {
    use ModelErrorKind::{Authentication, ContextTooLong, InvalidRequest, RateLimited, Unavailable};
    for (report, expected) in [
        (json!({ "error": { "type": "rate_limit_error" } }), Some(RateLimited)),
        (json!({ "error": { "code": "rate_limit_exceeded" } }), Some(RateLimited)),
        (json!([{ "error": { "status": "RESOURCE_EXHAUSTED" } }]), Some(RateLimited)),
        (json!({ "error": { "code": "insufficient_quota" } }), Some(InvalidRequest)),
        (json!({ "error": { "type": "authentication_error" } }), Some(Authentication)),
        (json!({ "error": { "status": "UNAUTHENTICATED" } }), Some(Authentication)),
        (json!({ "response": { "error": { "code": "invalid_prompt" } } }), Some(InvalidRequest)),
        (
            json!({ "choices": [{ "error": { "message": "the context window is full" } }] }),
            Some(ContextTooLong),
        ),
        (json!({ "error": { "type": "overloaded_error" } }), Some(Unavailable)),
        (json!({ "error": { "code": 429 } }), Some(RateLimited)),
        (json!({ "error": { "status": "401 Unauthorized" } }), Some(Authentication)),
        (json!({ "error": "it broke" }), Some(Unavailable)),
        (json!({ "error": true }), Some(Unavailable)),
        (json!({ "message": "it broke" }), Some(Unavailable)),
        (json!({ "object": "error" }), Some(Unavailable)),
        (json!({ "error": null }), None),
        (json!({ "error": false }), None),
        (json!({ "error": "" }), None),
        (json!({ "error": {} }), None),
        (json!({ "message": 1, "object": "list" }), None),
        (json!({ "choices": [] }), None),
    ] {
        assert_eq!(kind_of_report(&report), expected, "{report}");
    }
    assert!(redacted_error_in_json("no json", str::to_owned).is_none());
    let report =
        json!({ "error": { "code": 503, "message": "busy", "details": [{}, { "retryDelay": "2s" }] } });
    let error = redacted_error_in_json(&report.to_string(), |text| format!("<{text}>")).unwrap();
    let message = "the server reported an error: <busy>".to_owned();
    let expected = (ModelErrorKind::Unavailable, message, Some(503), Some(Duration::from_secs(2)));
    assert_eq!(parts(&error), expected);
    for (report, message) in [
        (json!({ "error": { "message": {} } }), "no message"),
        (json!({ "error": { "message": { "a": 1 } } }), r#"{"a":1}"#),
        (json!({ "error": { "message": null, "type": "a" } }), r#"{"message":null,"type":"a"}"#),
        (json!({ "error": { "type": "a" }, "message": "beside" }), "beside"),
    ] {
        let error = redacted_error_in_json(&report.to_string(), str::to_owned).unwrap();
        assert_eq!(error.to_string(), format!("the server reported an error: {message}"));
    }
}

#[test]
fn a_pause_in_the_headers_precedes_one_in_the_body() {
    let headers = |pairs: &[(&'static str, &str)]| {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (reqwest::header::HeaderName::from_static(name), value.parse().unwrap()));
        pairs.collect::<HeaderMap>()
    };
    for (pairs, expected) in [
        (&[][..], None),
        (&[("retry-after", "3")], Some(3_000)),
        (&[("retry-after", " 1.5 ")], Some(1_500)),
        (&[("retry-after", "250ms")], Some(250)),
        (&[("retry-after-ms", "20"), ("retry-after", "3")], Some(20)),
        (&[("retry-after-ms", "soon"), ("retry-after", "3")], Some(3_000)),
        (&[("retry-after-ms", "-1"), ("retry-after", "3s")], Some(3_000)),
        (&[("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT")], Some(0)),
        (&[("retry-after", "soon")], None),
    ] {
        let found = retry_after(&headers(pairs)).map(|it| it.as_millis());
        assert_eq!(found, expected, "{pairs:?}");
    }
    let body = json!({ "error": { "message": "busy", "details": [{ "retryDelay": { "seconds": "2", "nanos": 5e8 } }] } });
    let error = |pairs| {
        redacted_error_of_status(
            StatusCode::TOO_MANY_REQUESTS,
            &headers(pairs),
            &body.to_string(),
            str::to_owned,
        )
    };
    let message = "the server answered 429: busy".to_owned();
    let expected = (ModelErrorKind::RateLimited, message, Some(429), Some(Duration::from_millis(2_500)));
    assert_eq!(parts(&error(&[])), expected);
    assert_eq!(error(&[("retry-after", "1")]).retry_after(), Some(Duration::from_secs(1)));
    let plain = redacted_error_of_status(StatusCode::BAD_GATEWAY, &HeaderMap::new(), "<html>", str::to_owned);
    assert_eq!(plain.to_string(), "the server answered 502: <html>");
}

#[test]
fn a_delay_is_a_text_an_object_or_a_number() {
    let delay = |value: Value| {
        let error = json!({ "message": "m", "details": [{ "retryDelay": value }] });
        ErrorReport::of(&json!({ "error": error })).unwrap().retry_delay().map(|it| it.as_millis())
    };
    assert_eq!(delay(json!("1.5s")), Some(1_500));
    assert_eq!(delay(json!("10 ms")), Some(10));
    assert_eq!(delay(json!(2)), Some(2_000));
    assert_eq!(delay(json!({ "seconds": 1 })), Some(1_000));
    assert_eq!(delay(json!({ "nanos": "5000000" })), Some(5));
    assert_eq!(delay(json!({ "seconds": -1 })), None);
    assert_eq!(delay(json!("soon")), None);
    for (value, expected) in [
        (json!(399), None),
        (json!(400), Some(400)),
        (json!(599), Some(599)),
        (json!(600), None),
        (json!("503 Service Unavailable"), Some(503)),
        (json!(" "), None),
        (json!("busy"), None),
        (json!(null), None),
    ] {
        assert_eq!(stated_http_error_status(&value), expected, "{value}");
    }
}

#[test]
fn a_text_has_no_secret_and_an_end() {
    assert_eq!(redacted_bounded_text(" a key ", ["key", ""].into_iter()), "a [secret]");
    assert_eq!(redacted_bounded_text(" ", [].into_iter()), "no message");
    assert_eq!(
        redacted_bounded_text(&"x".repeat(MAX_MESSAGE_CHARS), [].into_iter()),
        "x".repeat(MAX_MESSAGE_CHARS)
    );
    let long = redacted_bounded_text(&"x".repeat(MAX_MESSAGE_CHARS + 1), [].into_iter());
    assert_eq!(long, format!("{}.. (1001 bytes in all)", "x".repeat(MAX_MESSAGE_CHARS)));
    for (url, shown, credentials) in [
        ("http://a:1/v1?key=b#c", "http://a:1/v1", &[][..]),
        ("http://user:pass@a/v1", "http://a/v1", &["user:pass", "pass"]),
        ("http://user@a", "http://a", &["user"]),
        ("http://a/b@c", "http://a/b@c", &[]),
        // What looks like the credentials may be a part of the path.
        ("http://user@a/user@b", "http://a/user@b", &["user"]),
        ("http://a@b@c/v1", "http://c/v1", &["a@b"]),
        ("http://a?b@c", "http://a", &[]),
        ("a", "a", &[]),
        ("http://u@h/u@x", "http://h/u@x", &["u"]),
    ] {
        assert_eq!(url_without_secrets(url), shown, "{url}");
        assert_eq!(url_credentials(url).collect::<Vec<_>>(), credentials, "{url}");
    }
}
