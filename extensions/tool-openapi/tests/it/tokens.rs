//! Access tokens of OAuth 2 clients.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use test_support::http::{Answer, Received, Recorder};
use tool_openapi::{ClientCredentials, Credential, Document, OpenApiToolSet};

use crate::{built, call, document};

/// `GET /a` with the scope `read`, and `GET /b` with `read` and `write`.
fn api(token_url: &str) -> Document {
    let operation =
        |id, scopes: Value| json!({ "get": { "operationId": id, "security": [{ "oauth": scopes }] } });
    let paths =
        json!({ "/a": operation("a", json!(["read"])), "/b": operation("b", json!(["read", "write"])) });
    let flows = json!({ "clientCredentials": { "tokenUrl": token_url, "scopes": {} } });
    document(
        paths,
        json!({ "components": { "securitySchemes": { "oauth": { "type": "oauth2", "flows": flows } } } }),
    )
}

/// A token endpoint that numbers its tokens.
async fn issuer(lifetime: Value) -> Recorder {
    let count = Arc::new(AtomicUsize::new(0));
    Recorder::answering(move |_| {
        let count = count.fetch_add(1, Ordering::SeqCst);
        let answer = json!({ "access_token": format!("token-{count}"), "token_type": "Bearer", "expires_in": lifetime });
        Answer::json(&answer.to_string())
    })
    .await
}

fn client() -> ClientCredentials {
    ClientCredentials::new("the id", "hunter:2")
}

fn set(server: &Recorder, token_url: &str, client: ClientCredentials) -> OpenApiToolSet {
    let builder = OpenApiToolSet::builder(api(token_url)).base_url(&server.url);
    built(builder.credential("oauth", Credential::client_credentials(client)))
}

fn token(received: &Received) -> &str {
    received.header("authorization").unwrap().strip_prefix("Bearer ").unwrap()
}

#[tokio::test]
async fn a_token_is_requested_once_for_its_scopes() {
    let (server, issuer) = (Recorder::new(Answer::json("{}")).await, issuer(json!(3600)).await);
    let set =
        set(&server, "https://elsewhere.example/token", client().token_url(format!("{}/token", issuer.url)));
    let calls = ["a", "a", "b", "a"].map(|tool| call(&set, tool, "{}"));
    let [one, two, three, four] = calls;
    let (one, two, three, four) = tokio::join!(one, two, three, four);
    for output in [one, two, three, four] {
        output.unwrap();
    }
    let requests = issuer.take();
    assert_eq!(requests.len(), 2, "{requests:?}");
    for request in &requests {
        assert_eq!((&*request.method, &*request.target), ("POST", "/token"));
        // base64 of `the%20id:hunter%3A2`
        assert_eq!(request.header("authorization"), Some("Basic dGhlJTIwaWQ6aHVudGVyJTNBMg=="));
        assert!(request.text().starts_with("grant_type=client_credentials&scope=read"), "{}", request.text());
    }
    assert_eq!(server.take().len(), 4);
    call(&set, "b", "{}").await.unwrap();
    assert!(issuer.take().is_empty());
    assert!(token(&server.one()).starts_with("token-"));
}

#[tokio::test]
async fn settings_of_a_client_are_sent_to_the_token_endpoint() {
    let (server, issuer) = (Recorder::new(Answer::json("{}")).await, issuer(json!(3600)).await);
    let client = client().token_url(&issuer.url).scopes(["all"]).parameter("audience", "a&b").in_body();
    let set = set(&server, "https://elsewhere.example/token", client);
    call(&set, "a", "{}").await.unwrap();
    call(&set, "b", "{}").await.unwrap();
    let request = issuer.one();
    assert_eq!(
        request.text(),
        "grant_type=client_credentials&scope=all&audience=a%26b&client_id=the%20id&client_secret=hunter%3A2"
    );
    assert_eq!(request.header("authorization"), None);
}

#[tokio::test]
async fn an_expired_token_is_not_used() {
    // Some servers write the lifetime as a string.
    for lifetime in [json!(0), json!("0")] {
        let (server, issuer) = (Recorder::new(Answer::json("{}")).await, issuer(lifetime).await);
        let set = set(&server, "https://elsewhere.example/token", client().token_url(&issuer.url));
        for expected in ["token-0", "token-1"] {
            call(&set, "a", "{}").await.unwrap();
            assert_eq!(token(&server.one()), expected);
        }
    }
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let server = Recorder::answering(|received| match token(received) {
        "token-0" => Answer::of(401, "text/plain", "expired"),
        _ => Answer::json("{}"),
    })
    .await;
    let issuer = issuer(json!(3600)).await;
    let set = set(&server, "https://elsewhere.example/token", client().token_url(&issuer.url));
    let output = call(&set, "a", "{}").await.unwrap();
    assert_eq!(output.details().unwrap()["status"], 200);
    assert_eq!(server.take().iter().map(token).collect::<Vec<_>>(), ["token-0", "token-1"]);

    let server = Recorder::new(Answer::of(401, "text/plain", "never")).await;
    let set = self::set(&server, "https://elsewhere.example/token", client().token_url(&issuer.url));
    let output = call(&set, "a", "{}").await.unwrap();
    assert_eq!(output.details().unwrap()["status"], 401); // P10
    assert_eq!(server.take().len(), 2);
}

#[tokio::test]
async fn the_token_endpoint_of_the_document_needs_the_permission_of_the_program() {
    let (server, issuer) = (Recorder::new(Answer::json("{}")).await, issuer(json!(3600)).await);
    let url = format!("{}/token", issuer.url);
    let builder = || OpenApiToolSet::builder(api(&url)).base_url(&server.url);
    let credential = Credential::client_credentials(client());
    let error = builder().credential("oauth", credential.clone()).build().err().unwrap().to_string();
    assert!(error.contains(&format!(".token_url(\"{url}\")")), "{error}");
    let allowed = credential.for_origin(&server.url).for_origin(&issuer.url);
    call(&built(builder().credential("oauth", allowed)), "a", "{}").await.unwrap();
    assert_eq!((issuer.one().target, server.take().len()), ("/token".to_owned(), 1));
}

#[tokio::test]
async fn an_answer_without_a_token_is_an_error_that_repeats_nothing_of_it() {
    let server = Recorder::new(Answer::json("{}")).await;
    let answers = [
        (
            Answer::of(
                400,
                "application/json",
                r#"{"error":"invalid_client","error_description":"hunter:2"}"#,
            ),
            "`invalid_client`",
        ),
        (Answer::of(400, "application/json", r#"{"error":"hunter:2"}"#), "the status 400"),
        (Answer::of(302, "text/plain", "hunter:2").with_header("location", &server.url), "the status 302"),
        (Answer::json(r#"{"token":"hunter:2"}"#), "`access_token`"),
        (Answer::json(r#"{"access_token":"hunter:2","token_type":"mac"}"#), "`bearer`"),
        (Answer::json("hunter:2"), "`access_token`"),
    ];
    for (answer, expected) in answers {
        let issuer = Recorder::new(answer).await;
        let set = set(&server, "https://elsewhere.example/token", client().token_url(&issuer.url));
        let error = call(&set, "a", "{}").await.unwrap_err();
        let text = format!("{error} {error:?} {}", error.feedback());
        assert!(text.contains(expected) && !text.contains("hunter"), "{text}"); // E10
        issuer.one();
    }
    let set = set(&server, "https://elsewhere.example/token", client().token_url("http://127.0.0.1:1/token"));
    let error = call(&set, "a", "{}").await.unwrap_err();
    assert!(error.to_string().contains("no access token"), "{error}");
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn a_token_is_replaced_one_minute_before_it_expires() {
    let (server, issuer) = (Recorder::new(Answer::json("{}")).await, issuer(json!(3600)).await);
    let set = set(&server, "https://elsewhere.example/token", client().token_url(&issuer.url));
    // The clock runs between the steps, so that it never skips the time of a request.
    for (seconds, expected) in [(0, "token-0"), (3500, "token-0"), (41, "token-1")] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
        call(&set, "a", "{}").await.unwrap();
        assert_eq!(token(&server.one()), expected, "{seconds}");
    }
}

#[tokio::test]
async fn an_answer_of_a_token_endpoint_has_at_most_one_mebibyte() {
    let server = Recorder::new(Answer::json("{}")).await;
    let empty = json!({ "access_token": "token-0", "more": "" }).to_string().len();
    for (more, is_read) in [(0, true), (1, false)] {
        let more = "x".repeat((1 << 20) - empty + more);
        let answer = json!({ "access_token": "token-0", "more": more }).to_string();
        let issuer = Recorder::new(Answer::json(&answer)).await;
        let set = set(&server, "https://elsewhere.example/token", client().token_url(&issuer.url));
        match call(&set, "a", "{}").await {
            Ok(_) => assert!(is_read),
            Err(error) => assert!(!is_read && error.to_string().contains("too long"), "{error}"),
        }
        assert_eq!(server.take().len(), usize::from(is_read));
    }
}

#[tokio::test]
async fn a_refusal_of_a_request_without_its_token_replaces_no_token() {
    let other = Recorder::new(Answer::of(401, "text/plain", "who are you?")).await;
    let target = other.url.clone();
    let server =
        Recorder::answering(move |_| Answer::of(302, "text/plain", "").with_header("location", &target))
            .await;
    let issuer = issuer(json!(3600)).await;
    let client = client().token_url(&issuer.url);
    let builder = OpenApiToolSet::builder(api("https://elsewhere.example/token")).base_url(&server.url);
    let builder = builder.credential("oauth", Credential::client_credentials(client));
    let output = call(&built(builder.follow_redirects_to(&other.url)), "a", "{}").await.unwrap();
    assert!(output.text().contains("sent without credentials"), "{}", output.text());
    assert_eq!(other.one().header("authorization"), None);
    assert_eq!((server.take().len(), issuer.take().len()), (1, 1));
}
