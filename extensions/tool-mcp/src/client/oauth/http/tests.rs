//! Requests to the endpoints of an authorization server.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn request(form: &str, authorization: Option<&str>) -> reqwest::Request {
    let mut request = reqwest::Request::new(Method::POST, Url::parse("http://a.example/token").unwrap());
    *request.body_mut() = Some(form.to_owned().into());
    if let Some(value) = authorization {
        request.headers_mut().insert(header::AUTHORIZATION, value.parse().unwrap());
    }
    request
}

#[test]
fn the_secrets_of_a_request_are_known_as_they_are_and_as_they_are_sent() {
    let form = "grant_type=refresh_token&client_secret=a%20b&code=c&code_verifier=v&refresh_token=r&x=y&z";
    assert_eq!(request_secrets(&request(form, None)), ["a%20b", "c", "v", "r", "a b", "c", "v", "r"]);
    // `me:s%2Bt`
    let basic = request_secrets(&request("", Some("Basic bWU6cyUyQnQ=")));
    assert_eq!(basic[..2], ["bWU6cyUyQnQ=", "s%2Bt"]);
    assert!(basic.contains(&"s+t".to_owned()), "{basic:?}");
    assert_eq!(request_secrets(&request("", Some("Basic !!"))), ["!!", "!!"]);
    assert_eq!(request_secrets(&request("a=b", Some("Bearer x"))), [""; 0]);
}

#[test]
fn the_resource_of_a_form_is_the_exact_one() {
    let exact = |form: &str| form_with_resource(form.as_bytes(), "https://s.example");
    let other = "a=1&resource=https%3A%2F%2Fs.example%2F&b=2";
    assert_eq!(exact(other), "a=1&resource=https%3A%2F%2Fs.example&b=2");
    // What is right stays as it was written.
    let same = "resource=https://s.example&b=%7E";
    assert_eq!(exact(same), same);
    assert_eq!(exact("a=1"), "a=1");
    let page = Url::parse("http://a.example/p?resource=x&a=b").unwrap();
    assert_eq!(page_with_resource(&page, "y").as_str(), "http://a.example/p?resource=y&a=b");
    assert_eq!(page_with_resource(&page, "x"), page);
}

#[tokio::test]
async fn requests_go_to_the_endpoints_of_the_authorization_alone() {
    let server = Url::parse("http://127.0.0.1:1/mcp").unwrap();
    let mut metadata = AuthorizationMetadata::default();
    metadata.token_endpoint = "http://127.0.0.1:1/token".to_owned();
    metadata.registration_endpoint = Some("http://127.0.0.1:1/register".to_owned());
    let http = AuthorizationHttpClient::new(&server, false).unwrap();
    let client = EndpointClient::new(http, &metadata, "http://127.0.0.1:1/callback", "r");
    let send = async |url: &str| {
        let request = Request::builder().method("POST").uri(url).body(Vec::new()).unwrap();
        client.send_to_endpoint(request).await.unwrap_err().to_string()
    };
    for other in ["http://127.0.0.1:1/other", "http://127.0.0.1:1/token/", "http://127.0.0.1:1/token?x"] {
        assert_eq!(send(other).await, "`http://127.0.0.1:1` has no endpoint of this authorization");
    }
    // Nothing listens there.
    for own in ["http://127.0.0.1:1/token", "http://127.0.0.1:1/register"] {
        assert!(!send(own).await.contains("has no endpoint"), "{own}");
    }
}

/// Sends a request to an endpoint that answers so; returns the response, and what the endpoint received.
async fn answered(path: &str, form: bool, answer: String) -> (Response<Vec<u8>>, String) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let mut metadata = AuthorizationMetadata::default();
    // Both at one URL, as a server may have them.
    metadata.token_endpoint = format!("{origin}{path}");
    metadata.registration_endpoint = Some(format!("{origin}{path}"));
    let http = AuthorizationHttpClient::new(&Url::parse(&origin).unwrap(), false).unwrap();
    let client = EndpointClient::new(http, &metadata, "http://127.0.0.1:1/callback", "http://s/mcp");
    let kind = if form { "application/x-www-form-urlencoded; charset=utf-8" } else { "application/json" };
    let body = b"grant_type=refresh_token&refresh_token=s3cret&resource=x".to_vec();
    let request = Request::builder()
        .method("POST")
        .uri(format!("{origin}{path}"))
        .header("content-type", kind)
        .body(body)
        .unwrap();
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut received = vec![0; 65_536];
        let mut length = 0;
        while !String::from_utf8_lossy(&received[..length]).contains("grant_type") {
            length += stream.read(&mut received[length..]).await.unwrap();
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&received[..length]).into_owned()
    };
    let (response, received) = tokio::join!(client.send_to_endpoint(request), serving);
    (response.unwrap(), received)
}

fn text(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn a_form_is_a_request_for_a_token_whose_answer_is_json() {
    let (response, received) = answered("/x", true, text("201 Created", r#"{"access_token":"t"}"#)).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &"application/json".parse().unwrap())
    );
    let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(body, serde_json::json!({ "access_token": "t", "token_type": "bearer" }));
    assert!(received.ends_with("resource=http%3A%2F%2Fs%2Fmcp"), "{received}");
    // A refusal of a refresh asks for the user, without the secret that it repeats.
    let refusal = r#"{"error":"expired_token","error_description":"s3cret is old"}"#;
    let (response, _) = answered("/x", true, text("200 OK", refusal)).await;
    let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    let expected =
        serde_json::json!({ "error": "invalid_grant", "error_description": "expired_token: *** is old" });
    assert_eq!((response.status().as_u16(), body), (400, expected));
}

#[tokio::test]
async fn another_request_is_a_registration() {
    let (response, received) = answered("/x", false, text("201 Created", r#"{"client_id":7}"#)).await;
    let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    let expected = serde_json::json!({ "client_id": "7", "redirect_uris": ["http://127.0.0.1:1/callback"] });
    assert_eq!((response.status().as_u16(), body), (201, expected));
    assert!(received.ends_with("resource=x"), "{received}");
}

/// Fetches a document from a server that answers so; returns the response, and the request in lower case.
async fn fetched(answer: &str) -> (Result<Response<Vec<u8>>, AuthError>, String) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/document", listener.local_addr().unwrap())).unwrap();
    let http = AuthorizationHttpClient::new(&url, false).unwrap();
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut received = Vec::new();
        while !received.ends_with(b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut received).await.unwrap(), 0);
        }
        // A client reads no more than it needs.
        stream.write_all(answer.as_bytes()).await.ok();
        String::from_utf8(received).unwrap().to_ascii_lowercase()
    };
    tokio::join!(http.fetch_public_document(&url), serving)
}

#[tokio::test]
async fn a_document_is_asked_for_as_json_and_keeps_what_the_server_says_of_it() {
    let (response, request) = fetched(&text("404 Not Found", "gone")).await;
    let response = response.unwrap();
    assert!(request.starts_with("get /document http/1.1\r\n"), "{request}");
    assert!(request.contains("\r\naccept: application/json\r\n"), "{request}");
    assert_eq!(response.status().as_u16(), 404);
    assert_eq!(response.headers()["content-type"], "text/html");
    assert_eq!(response.body(), b"gone");
}

#[tokio::test]
async fn a_document_has_a_mebibyte_at_most() {
    for (bytes, is_read) in [(MAX_ANSWER_BYTES, true), (MAX_ANSWER_BYTES + 1, false)] {
        match fetched(&text("200 OK", &"x".repeat(bytes))).await.0 {
            Ok(response) => assert!(is_read && response.body().len() == bytes),
            Err(AuthError::DiscoveryRequestFailed { source, .. }) => {
                assert!(!is_read, "{source}");
                assert!(source.to_string().ends_with("is larger than 1048576 bytes"), "{source}");
            }
            Err(error) => unreachable!("{error}"),
        }
    }
}
