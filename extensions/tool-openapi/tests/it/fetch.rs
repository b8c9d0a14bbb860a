//! Documents by URL.

use std::io::Write as _;

use serde_json::json;
use test_support::http::{Answer, Received, Recorder};
use tool_openapi::{Document, Fetch, OpenApiError, OpenApiErrorKind, OpenApiToolSet};

const DOCUMENT: &str = r#"{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"paths":{"/pets":{"get":{"operationId":"list"}}}}"#;

async fn failed(fetch: Fetch) -> OpenApiError {
    Document::fetch(fetch).await.expect_err("a refused document")
}

fn local(server: &Recorder) -> Fetch {
    Fetch::new(format!("{}/openapi", server.url)).allow_private()
}

#[tokio::test]
async fn the_text_decides_between_json_and_yaml() {
    let yaml = "openapi: 3.1.0\ninfo: { title: Pets, version: '1' }\npaths: { /pets: { get: { operationId: list } } }";
    for text in [DOCUMENT, yaml] {
        for media_type in ["application/json", "application/yaml", "text/html"] {
            let server = Recorder::new(Answer::of(200, media_type, text)).await;
            let document = Document::fetch(local(&server)).await.unwrap();
            assert_eq!(document.title(), "Pets"); // P02
            assert_eq!(OpenApiToolSet::import(document).unwrap().tools().len(), 1); // P02
        }
    }
    let server = Recorder::new(Answer::json("{\"openapi\":")).await;
    let error = failed(local(&server)).await;
    assert_eq!(error.kind(), OpenApiErrorKind::Malformed);
    assert!(error.to_string().contains("JSON"), "{error}"); // P02
}

#[tokio::test]
async fn private_addresses_are_refused_in_every_spelling_before_a_request() {
    let server = Recorder::new(Answer::json(DOCUMENT)).await;
    let port = server.url.rsplit(':').next().unwrap().to_owned();
    let hosts = [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "localhost",
        "LocalHost",
        "localhost.",
        "a.localhost",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "[::]",
        "[fe80::1]",
        "[fc00::1]",
        "[ff02::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:db8::1]",
    ];
    for host in hosts {
        let error = failed(Fetch::new(format!("http://{host}:{port}/openapi"))).await;
        assert_eq!(error.kind(), OpenApiErrorKind::Refused, "{host}: {error}");
        assert!(error.to_string().contains("`Fetch::allow_private`"), "{error}");
    }
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn a_name_is_refused_if_all_its_addresses_are_private() {
    let server = Recorder::new(Answer::json(DOCUMENT)).await;
    let port = server.url.rsplit(':').next().unwrap().to_owned();
    let fetch = || {
        let fetch = Fetch::new(format!("http://public.example:{port}/openapi"));
        fetch.resolver(|name| async move {
            assert_eq!(name, "public.example");
            Ok(vec!["127.0.0.1".parse().unwrap(), "::ffff:10.0.0.1".parse().unwrap()])
        })
    };
    let error = failed(fetch()).await;
    assert_eq!(error.kind(), OpenApiErrorKind::Refused, "{error:?}");
    assert!(error.to_string().contains("`public.example`"), "{error}");
    assert!(server.take().is_empty());
    Document::fetch(fetch().allow_private()).await.unwrap();
    server.one();
}

#[tokio::test]
async fn urls_that_hide_their_host_or_have_a_password_are_mistakes() {
    for url in [
        "http://public.example@127.0.0.1/hunter2",
        "http://u:hunter2@public.example",
        "file:///etc/hunter2",
        "/hunter2",
        "hunter2",
    ] {
        let error = failed(Fetch::new(url)).await;
        assert_eq!(error.kind(), OpenApiErrorKind::Config, "{url}");
        assert!(!format!("{error} {error:?} {:?}", Fetch::new(url).bearer("hunter2")).contains("u:hunter2")); // E10
    }
    for (name, value) in [("x y", "hunter2"), ("x", "a\r\nhunter2")] {
        let error = failed(Fetch::new("http://public.example").header(name, value)).await;
        assert_eq!(error.kind(), OpenApiErrorKind::Config);
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}"); // E10
    }
}

#[tokio::test]
async fn credentials_go_to_the_origin_of_the_url_only() {
    let server = Recorder::answering(|it: &Received| match &*it.target {
        "/openapi" => Answer::of(302, "text/plain", "").with_header("location", "/v2/openapi"),
        _ => Answer::json(DOCUMENT),
    })
    .await;
    let fetch = local(&server).bearer("hunter2").header("x-key", "k");
    let document = Document::fetch(fetch.clone()).await.unwrap();
    for received in server.take() {
        assert_eq!(
            (received.header("authorization"), received.header("x-key")),
            (Some("Bearer hunter2"), Some("k"))
        );
    }
    assert!(!format!("{fetch:?} {document:?}").contains("hunter2")); // E10
    // The tools of the document have no part in them.
    let set = OpenApiToolSet::import(document).unwrap();
    crate::call(&set, "list", "{}").await.unwrap();
    assert!(!format!("{:?}", server.one()).contains("hunter2"));
}

#[tokio::test]
async fn redirects_lead_to_public_addresses_only() {
    let secret = Recorder::new(Answer::json(DOCUMENT)).await;
    let port = secret.url.rsplit(':').next().unwrap();
    let targets = [
        secret.url.clone(),
        format!("http://localhost:{port}"),
        format!("http://2130706433:{port}"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        format!("http://[::ffff:127.0.0.1]:{port}"),
        format!("//127.0.0.1:{port}/x"),
        "file:///etc/passwd".to_owned(),
        format!("http://user:pass@127.0.0.1:{port}"),
        "/openapi".to_owned(),
    ];
    for target in targets {
        let server = Recorder::new(Answer::of(302, "text/plain", "").with_header("location", &target)).await;
        let error = failed(local(&server).bearer("hunter2")).await;
        assert_eq!(error.kind(), OpenApiErrorKind::Refused, "{target}: {error}");
        assert_eq!(server.take().len(), 1);
    }
    assert!(secret.take().is_empty());
    let endless = Recorder::answering(|it| {
        Answer::of(302, "text/plain", "").with_header("location", &format!("{}x", it.target))
    })
    .await;
    assert!(failed(local(&endless)).await.to_string().contains("more than 5"));
    assert_eq!(endless.take().len(), 6);
}

#[tokio::test]
async fn failures_name_the_url_without_its_query() {
    let server = Recorder::new(Answer::of(404, "text/plain", "hunter2")).await;
    let with = |url: &str| Fetch::new(format!("{url}/openapi?key=hunter2")).allow_private();
    for (error, expected) in [
        (failed(with(&server.url)).await, "404"),
        (failed(with("http://127.0.0.1:1")).await, "did not answer"),
    ] {
        assert_eq!(error.kind(), OpenApiErrorKind::Unreadable);
        let text = format!("{error} {error:?}");
        assert!(text.contains(expected) && text.contains("/openapi") && !text.contains("hunter2"), "{text}"); // E10
    }
    let server = Recorder::new(Answer::json(DOCUMENT)).await;
    let document = Document::fetch(with(&server.url)).await.unwrap();
    assert!(!format!("{document:?}").contains("hunter2")); // E10
}

#[tokio::test(start_paused = true)]
async fn a_document_that_never_arrives_ends_at_its_timeout() {
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let fetch = Fetch::new(format!("http://{}/", server.local_addr().unwrap())).allow_private();
    let error = failed(fetch.timeout(std::time::Duration::from_millis(50))).await;
    assert_eq!(error.kind(), OpenApiErrorKind::Unreadable);
    assert!(error.to_string().contains("50ms"), "{error}");
}

#[tokio::test]
async fn a_document_is_at_most_64_mib_after_its_decompression() {
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let block = vec![b' '; 1 << 20];
    (0..65).for_each(|_| zip.write_all(&block).unwrap());
    let zip = zip.finish().unwrap();
    assert!(zip.len() < 1 << 20);
    let server =
        Recorder::new(Answer::of(200, "application/json", zip).with_header("content-encoding", "gzip")).await;
    let error = failed(local(&server)).await;
    assert_eq!(error.kind(), OpenApiErrorKind::Unreadable);
    assert!(error.to_string().contains("longer than 67108864 bytes"), "{error}");
}

#[tokio::test]
async fn references_of_a_fetched_document_lead_to_no_server_and_no_file() {
    let other = Recorder::new(Answer::json(r#"{"type":"string"}"#)).await;
    let references = [
        format!("{}/x", other.url),
        "/etc/passwd".to_owned(),
        "../x.json".to_owned(),
        "file:///etc/passwd".to_owned(),
    ];
    for reference in references {
        let body = json!({ "content": { "application/json": { "schema": { "$ref": reference } } } });
        let paths = json!({ "/a": { "post": { "operationId": "a", "requestBody": body } }, "/b": { "get": { "operationId": "b" } } });
        let root = json!({ "openapi": "3.1.0", "info": { "title": "It", "version": "1" }, "paths": paths });
        let server = Recorder::new(Answer::json(&root.to_string())).await;
        let set = OpenApiToolSet::import(Document::fetch(local(&server)).await.unwrap()).unwrap();
        assert_eq!((set.tools().len(), set.skipped().len()), (1, 1), "{reference}");
        assert!(set.skipped()[0].reason.contains(&reference), "{:?}", set.skipped());
    }
    assert!(other.take().is_empty());
}

#[tokio::test]
async fn a_server_that_refuses_and_a_page_that_is_no_document_are_named() {
    // Bound and dropped, so that nothing listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = failed(Fetch::new(format!("http://127.0.0.1:{port}/a?key=hunter2")).allow_private()).await;
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("`http://127.0.0.1:{port}/a` did not answer with a document: ")),
        "{text}"
    );
    assert!(text.contains("refused") && !text.contains("hunter2"), "{text}"); // P02
    let server = Recorder::new(Answer::of(200, "text/html", "<html></html>")).await;
    let text = failed(local(&server)).await.to_string();
    assert!(text.contains(&format!("`{}/openapi`: expected an OpenAPI document", server.url)), "{text}"); // P02
}

#[tokio::test]
async fn debug_texts_name_the_url_and_the_title() {
    let fetch = Fetch::new("https://h.example/openapi?key=hunter2#a");
    assert_eq!(format!("{fetch:?}"), "Fetch { url: \"`https://h.example/openapi`\", timeout: 30s, .. }");
    assert_eq!(format!("{:?}", Fetch::new("hunter2")), "Fetch { url: \"\", timeout: 30s, .. }");
    let server = Recorder::new(Answer::json(DOCUMENT)).await;
    let document = Document::fetch(local(&server)).await.unwrap();
    let expected = format!("Document {{ title: \"Pets\", origin: Url({}/openapi), .. }}", server.url);
    assert_eq!(format!("{document:?}"), expected);
    let document = Document::from_text(DOCUMENT).unwrap();
    assert_eq!(format!("{document:?}"), "Document { title: \"Pets\", origin: Program, .. }");
    let set = OpenApiToolSet::builder(document).base_url("https://h.example").build().unwrap();
    assert_eq!(format!("{set:?}"), "OpenApiToolSet { name: \"Pets\", tools: 1, skipped: 0, .. }");
    assert_eq!(format!("{:?}", set.tools()), "[OperationTool { name: \"list\", .. }]");
}
