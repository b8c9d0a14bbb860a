//! The heads of responses: the headers in the details, and those that a model reads.

use serde_json::json;
use test_support::http::{Answer, Recorder};
use tool_runtime::ToolOutput;

use crate::{built, call, responses::api};

async fn answered(answer: Answer) -> (ToolOutput, String) {
    let server = Recorder::new(answer).await;
    let output = call(&built(api("get", None).base_url(&server.url)), "op", "{}").await.unwrap();
    (output, server.url.clone())
}

#[tokio::test]
async fn details_have_the_headers_that_describe_the_answer() {
    let kept = [
        "allow",
        "content-disposition",
        "content-language",
        "content-location",
        "content-range",
        "content-type",
        "deprecation",
        "etag",
        "expires",
        "last-modified",
        "link",
        "location",
        "request-id",
        "retry-after",
        "sunset",
        "warning",
        "www-authenticate",
        "ratelimit",
        "ratelimit-policy",
        "x-ratelimit-limit",
        "x-rate-limit-reset",
        "x-request-id",
        "x-correlation-id",
        "x-total-count",
        "x-page",
    ];
    let left_out =
        ["set-cookie", "server", "via", "age", "x-internal", "x-ratelimit", "x-tota", "a-link", "etags"];
    let answer = kept.iter().chain(&left_out).filter(|name| **name != "content-type");
    let answer = answer.fold(Answer::of(200, "text/plain", "x"), |it, name| it.with_header(name, "v1"));
    let (output, _) = answered(answer).await;
    let details = output.details().unwrap();
    for name in kept {
        let value = if name == "content-type" { "text/plain" } else { "v1" };
        assert_eq!(details["headers"][name], value, "{name}");
    }
    for name in left_out {
        assert_eq!(details["headers"].get(name), None, "{name}");
    }
}

#[tokio::test]
async fn a_model_reads_where_to_go_and_when() {
    for (status, headers, lines) in [
        (200, &[][..], &["200 OK"][..]),
        (
            202,
            &[("location", "/jobs/1"), ("retry-after", "7")],
            &["202 Accepted", "location: /jobs/1", "retry-after: 7"],
        ),
        (201, &[("retry-after", "7"), ("etag", "e")], &["201 Created", "retry-after: 7"]),
        (201, &[("location", "http://u:p@h.example/1")], &["201 Created", "location: http://h.example/1"]),
        (299, &[], &["299"]),
    ] {
        let answer = headers
            .iter()
            .fold(Answer::of(status, "text/plain", "x"), |it, (name, value)| it.with_header(name, value));
        let (output, url) = answered(answer).await;
        let text = output.text().into_owned();
        let seen: Vec<_> = text.lines().collect();
        assert_eq!(seen[0], format!("GET {url}/x"));
        assert_eq!((&seen[1..seen.len() - 2], &seen[seen.len() - 2..]), (lines, &["", "x"][..])); // P10
    }
}

#[tokio::test]
async fn a_response_of_a_type_that_is_json_has_a_value() {
    for (media_type, body, value) in [
        ("application/json", "[1]", Some(json!([1]))),
        ("application/problem+json; charset=utf-8", r#"{"a":1}"#, Some(json!({ "a": 1 }))),
        ("application/json", "[1", None),
        ("text/plain", "[1]", None),
        ("", "[1]", None),
    ] {
        let (output, _) = answered(Answer::of(200, media_type, body)).await;
        assert_eq!(output.structured(), value, "{media_type} {body}");
        assert!(output.text().ends_with(body), "{}", output.text());
    }
    // The value of a failure is no result.
    let (output, _) = answered(Answer::of(400, "application/json", "[1]")).await;
    assert_eq!(output.structured(), None);
}
