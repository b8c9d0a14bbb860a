//! Redirects.

use serde_json::json;
use test_support::http::{Answer, Received, Recorder};
use tool_openapi::{Credential, OpenApiToolSet, OpenApiToolSetBuilder};

use crate::{
    built, call,
    credentials::{api_key, secured},
    document,
};

/// Redirects to `target`, with the status `status`.
fn to(status: u16, target: &str) -> Answer {
    Answer::of(status, "text/plain", "elsewhere").with_header("location", target)
}

/// A server that redirects `/pets` to `target`, and answers everything else.
async fn redirecting(status: u16, target: &str) -> Recorder {
    let target = target.to_owned();
    Recorder::answering(move |it: &Received| match it.target.starts_with("/pets") {
        true => to(status, &target),
        false => Answer::json(r#"{"found":true}"#),
    })
    .await
}

fn set(server: &Recorder) -> OpenApiToolSetBuilder {
    let document = secured(json!({ "key": api_key("header", "X-Key") }), json!([{ "key": [] }]));
    OpenApiToolSet::builder(document)
        .base_url(&server.url)
        .credential("key", Credential::secret("hunter2"))
        .header("x-tenant", "t1")
}

fn targets(server: &Recorder) -> Vec<String> {
    server.take().into_iter().map(|it| it.target).collect()
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_with_the_credential() {
    for target in ["/other?x=1", "other?x=1", "?x=1/../../other"] {
        let server = redirecting(307, target).await;
        let output = call(&built(set(&server)), "list", "{}").await.unwrap();
        let received = server.take();
        if target.starts_with('?') {
            // `/pets?x=..` redirects to itself.
            assert_eq!(received.len(), 2);
            assert!(output.text().contains("requested before"), "{}", output.text());
            continue;
        }
        assert_eq!(received.len(), 2);
        assert_eq!(received[1].target, "/other?x=1");
        for one in &received {
            assert_eq!((one.header("x-key"), one.header("x-tenant")), (Some("hunter2"), Some("t1")));
        }
        assert_eq!(output.structured(), Some(json!({ "found": true })));
        assert_eq!(output.details().unwrap()["url"], format!("{}/other?x=1", server.url));
    }
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_an_answer_that_names_it() {
    let other = Recorder::new(Answer::json("{}")).await;
    for status in [301, 302, 303, 307, 308] {
        let server = redirecting(status, &format!("{}/x", other.url)).await;
        let output = call(&built(set(&server)), "list", "{}").await.unwrap();
        let text = output.text();
        assert!(text.contains(&format!("{status} ")) && text.contains(&format!("{}/x", other.url)), "{text}");
        assert!(text.contains("another origin") && text.ends_with("elsewhere"), "{text}");
        assert_eq!((server.take().len(), other.take().len()), (1, 0));
    }
}

#[tokio::test]
async fn an_allowed_origin_receives_neither_credentials_nor_headers() {
    let other = Recorder::new(Answer::json(r#"{"found":true}"#)).await;
    let server = redirecting(302, &format!("{}/x", other.url)).await;
    let set = built(set(&server).follow_redirects_to(&other.url));
    let output = call(&set, "list", "{}").await.unwrap();
    assert_eq!(output.structured(), Some(json!({ "found": true })));
    let received = other.one();
    assert_eq!((received.header("x-key"), received.header("x-tenant")), (None, None));
    assert!(!format!("{received:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_redirect_that_returns_is_sent_without_the_credential() {
    let server = Recorder::answering(|it| match &*it.target {
        "/pets" => to(302, &format!("{}/x", it.header("x-other").unwrap())),
        _ => Answer::json("{}"),
    })
    .await;
    let back = format!("{}/back", server.url);
    let other = Recorder::answering(move |_| to(302, &back)).await;
    let set = built(set(&server).header("x-other", &other.url).follow_redirects_to(&other.url));
    call(&set, "list", "{}").await.unwrap();
    let received = server.take();
    assert_eq!(received.len(), 2);
    assert_eq!((&*received[1].target, received[1].header("x-key")), ("/back", None));
}

#[tokio::test]
async fn a_redirect_never_carries_a_key_of_the_query_to_another_origin() {
    let other = Recorder::new(Answer::json("{}")).await;
    for location in ["/x?key=hunter2&y=1", "/x?z=hunter2&y=1", "/hunter2"] {
        let server = redirecting(302, &format!("{}{location}", other.url)).await;
        let document = secured(json!({ "key": api_key("query", "key") }), json!([{ "key": [] }]));
        let builder = OpenApiToolSet::builder(document).base_url(&server.url).follow_redirects_to(&other.url);
        let set = built(builder.credential("key", Credential::secret("hunter2")));
        let output = call(&set, "list", "{}").await.unwrap();
        assert_eq!(targets(&server), ["/pets?key=hunter2"]);
        assert!(other.take().is_empty());
        let text = format!("{} {:?}", output.text(), output.details());
        assert!(text.contains("has a credential in its URL") && !text.contains("hunter2"), "{text}"); // E10
    }
    let server = redirecting(302, "/x?key=hunter2&y=1").await;
    let document = secured(json!({ "key": api_key("query", "key") }), json!([{ "key": [] }]));
    let builder = OpenApiToolSet::builder(document).base_url(&server.url);
    let set = built(builder.credential("key", Credential::secret("hunter2")));
    let output = call(&set, "list", "{}").await.unwrap();
    assert_eq!(targets(&server), ["/pets?key=hunter2", "/x?y=1&key=hunter2"]);
    assert_eq!(output.details().unwrap()["url"], format!("{}/x?y=1", server.url)); // E10
}

#[tokio::test]
async fn redirects_that_lead_nowhere_are_answers() {
    let long = format!("http://127.0.0.1:1/{}", "x".repeat(5000));
    let cases = [
        (&*long, "a long URL at `http://127.0.0.1:1`"),
        ("http://user:secret@127.0.0.1:1/x", "user name or password"),
        ("file:///etc/passwd", "not an `http` or `https` URL"),
        ("javascript:alert(1)", "not an `http` or `https` URL"),
        ("http://[", "not a URL"),
        ("/pets", "requested before"),
        ("/pets#fragment", "requested before"),
        ("//127.0.0.1:1/x", "another origin"),
        ("\\\\127.0.0.1:1/x", "another origin"),
    ];
    for (target, reason) in cases {
        let server = redirecting(302, target).await;
        let output = call(&built(set(&server)), "list", "{}").await.unwrap();
        let text = output.text();
        assert!(!text.contains("secret"), "{target}: {text}");
        let note = text.lines().find(|line| line.contains("not followed")).unwrap();
        assert!(note.contains(reason) && note.len() < 500, "{target}: {text}");
        assert_eq!(server.take().len(), 1);
    }
    let without = Recorder::new(Answer::of(302, "text/plain", "no location")).await;
    let output = call(&built(set(&without)), "list", "{}").await.unwrap();
    assert!(output.text().contains("302 Found"), "{}", output.text());
}

#[tokio::test]
async fn five_redirects_are_followed_and_no_more() {
    let server = Recorder::answering(|it| {
        let at: usize = it.target.trim_start_matches(|it: char| !it.is_ascii_digit()).parse().unwrap_or(0);
        to(302, &format!("/{}", at + 1))
    })
    .await;
    let output = call(&built(set(&server)), "list", "{}").await.unwrap();
    assert!(output.text().contains("more than 5"), "{}", output.text());
    assert_eq!(targets(&server), ["/pets", "/1", "/2", "/3", "/4", "/5"]);
}

#[tokio::test]
async fn only_get_and_head_follow_redirects() {
    let server = redirecting(307, "/other").await;
    let operation = |id| json!({ "operationId": id });
    let all = ["get", "head", "post", "put", "delete", "patch", "options"];
    let item: serde_json::Map<_, _> = all.iter().map(|it| ((*it).to_owned(), operation(it))).collect();
    let set =
        built(OpenApiToolSet::builder(document(json!({ "/pets": item }), json!({}))).base_url(&server.url));
    for method in all {
        let output = call(&set, method, "{}").await.unwrap();
        let follows = matches!(method, "get" | "head");
        assert_eq!(server.take().len(), if follows { 2 } else { 1 }, "{method}");
        assert_eq!(output.text().contains("GET and HEAD only"), !follows, "{method}: {}", output.text());
    }
}

#[tokio::test]
async fn a_key_whose_name_has_a_space_is_replaced_in_every_spelling() {
    for target in ["/x?the+key=old&y=1", "/x?the%20key=old&y=1", "/x?y=1&%74he+key"] {
        let server = redirecting(302, target).await;
        let document = secured(json!({ "key": api_key("query", "the key") }), json!([{ "key": [] }]));
        let builder = OpenApiToolSet::builder(document).base_url(&server.url);
        let set = built(builder.credential("key", Credential::secret("hunter2")));
        call(&set, "list", "{}").await.unwrap();
        assert_eq!(targets(&server), ["/pets?the%20key=hunter2", "/x?y=1&the%20key=hunter2"], "{target}");
    }
}

#[tokio::test]
async fn a_status_that_is_no_redirect_leads_nowhere() {
    for status in [201, 300, 304, 305, 306, 404] {
        let server = redirecting(status, "/other").await;
        let output = call(&built(set(&server)), "list", "{}").await.unwrap();
        assert_eq!(output.details().unwrap()["status"], status);
        assert_eq!(targets(&server), ["/pets"], "{status}");
        assert!(!output.text().contains("redirect"), "{}", output.text());
    }
}
