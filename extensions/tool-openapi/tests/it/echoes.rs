//! Servers that repeat credentials.

use std::time::Duration;

use serde_json::json;
use test_support::http::{Answer, Recorder};
use tool_openapi::OpenApiToolSet;
use tool_runtime::Tool as _;

use crate::{built, call};

/// Calls with the secret `secret` in the query as `key`, and returns all that is shown.
async fn echoed(
    secret: &'static str,
    answer: impl Fn(&str) -> Answer + Clone + Send + Sync + 'static,
) -> String {
    let server = Recorder::answering(move |it| answer(&it.target)).await;
    let document = crate::credentials::secured(
        json!({ "it": crate::credentials::api_key("query", "key") }),
        json!([{ "it": [] }]),
    );
    let builder = OpenApiToolSet::builder(document).base_url(&server.url);
    let set = built(builder.credential("it", tool_openapi::Credential::secret(secret)));
    let name = set.tools()[0].definition().name().to_string();
    let output = call(&set, &name, "{}").await.unwrap();
    assert!(server.take()[0].target.contains("key="));
    let content = serde_json::to_string(&output.content()).unwrap();
    format!("{} {content} {:?} {:?}", output.text(), output.details(), output.structured())
}

#[tokio::test]
async fn a_redirect_that_repeats_the_secret_does_not_show_it() {
    for location in ["/final?again=hunter2-secret", "/final/hunter2-secret"] {
        let shown = echoed("hunter2-secret", move |target| match target.starts_with("/final") {
            true => Answer::json("{}"),
            false => Answer::of(302, "text/plain", "").with_header("location", location),
        })
        .await;
        assert!(shown.contains("/final") && !shown.contains("hunter2"), "{shown}"); // P09
    }
}

#[tokio::test]
async fn a_secret_with_quotes_or_escapes_is_hidden_where_json_repeats_it() {
    let secret = "hunter2\"x+/y";
    let bodies = [
        json!({ "key": secret }).to_string(),
        "{\"key\":\"hunter2%22x%2b%2fy\"}".to_owned(),
        "{\"key\":\"hunter2%22x%2B%2Fy\"}".to_owned(),
    ];
    for body in bodies {
        let shown = echoed(secret, move |_| Answer::json(&body)).await;
        assert!(!shown.contains("hunter2"), "{shown}"); // P09
    }
}

#[tokio::test]
async fn bytes_that_repeat_the_secret_are_not_shown() {
    let shown =
        echoed("hunter2-secret", |target| Answer::of(200, "application/octet-stream", format!("\0{target}")))
            .await;
    let encoded = ["aHVudGVyMi1zZWNyZXQ", "1bnRlcjItc2VjcmV0", "dW50ZXIyLXNlY3Jld"];
    assert!(!encoded.iter().any(|it| shown.contains(it)), "{shown}"); // P09
    assert!(shown.contains("not shown"), "{shown}");
}

#[tokio::test]
async fn a_long_answer_of_escapes_is_searched_for_a_long_secret_in_time() {
    let secret: &str = String::leak("s3cret".repeat(500));
    for part in ["\\", "&#38;", "%25", "\\u005c", "s3cret", "é"] {
        let body = part.repeat((1 << 20) / part.len());
        let shown = in_time_of(echoed(secret, move |_| Answer::of(200, "text/plain", body.clone()))).await;
        assert!(shown.contains("200 OK"));
    }
}

/// Awaits `work`, and fails if it takes minutes.
async fn in_time_of<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("the time is not bounded")
}

#[tokio::test]
async fn the_beginning_of_a_secret_is_hidden_where_a_response_was_cut() {
    let secret = "hunter2-secret";
    for (shown, echo) in
        [(secret.len() - 1, secret.to_owned()), (2 * 3 + 8 * 3, "%68%75nter2-%73ecret".to_owned())]
    {
        let body = format!("{}{echo}", "a".repeat(100));
        let limit = 100 + shown.min(echo.len() - 1);
        let server = Recorder::new(Answer::of(200, "text/plain", body)).await;
        let scheme = json!({ "it": crate::credentials::api_key("query", "key") });
        let document = crate::credentials::secured(scheme, json!([{ "it": [] }]));
        let builder = OpenApiToolSet::builder(document).base_url(&server.url).read_limit(limit);
        let set = built(builder.credential("it", tool_openapi::Credential::secret(secret)));
        let name = set.tools()[0].definition().name().to_string();
        let output = call(&set, &name, "{}").await.unwrap();
        let text = output.text();
        assert!(text.contains("aaa***") && !text.contains("nter2"), "{text}"); // E10, P09
    }
}

#[tokio::test]
async fn a_secret_in_the_name_of_a_header_is_hidden() {
    let shown =
        echoed("hunter2-secret", |_| Answer::json("{}").with_header("x-page-hunter2-secret", "1")).await;
    assert!(shown.contains("x-page-***") && !shown.contains("hunter2"), "{shown}"); // E10, P09
}
