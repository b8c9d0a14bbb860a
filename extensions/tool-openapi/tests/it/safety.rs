//! Attacks of a model and of a document on the requests of the program.

use serde_json::{Value, json};
use test_support::http::{Answer, Received, Recorder};
use tool_openapi::{Document, OpenApiToolSet};

use crate::{built, call, document};

/// Calls `GET /pets/{id}/toys` with one value in each location, and returns the request or the error.
async fn sent(id: &str, location: &str, value: &str) -> Result<Received, String> {
    let text = json!({ "type": "string" });
    let parameters = json!([
        { "name": "id", "in": "path", "required": true, "schema": text },
        { "name": "X-Query", "in": "query", "schema": text },
        { "name": "X-Header", "in": "header", "schema": text },
        { "name": "X-Cookie", "in": "cookie", "schema": text },
    ]);
    let paths = json!({ "/pets/{id}/toys": { "get": { "operationId": "get", "parameters": parameters } } });
    let server = Recorder::new(Answer::json("{}")).await;
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    let mut arguments = json!({ "id": id });
    if !location.is_empty() {
        arguments[format!("X-{location}")] = Value::String(value.to_owned());
    }
    match call(&set, "get", &arguments.to_string()).await {
        Ok(_) => Ok(server.one()),
        Err(error) => {
            assert!(server.take().is_empty(), "{error}");
            Err(error.feedback())
        }
    }
}

const BREAKS: [&str; 6] =
    ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\0b", "a\u{7f}b", "a\r\n\r\nGET /evil HTTP/1.1"];

#[tokio::test]
async fn line_breaks_and_control_characters_never_end_a_header() {
    for value in BREAKS {
        let error = sent("1", "Header", value).await.unwrap_err();
        assert!(error.contains("`X-Header`"), "{error}");
        match sent("1", "Cookie", value).await {
            Ok(received) => {
                let cookie = received.header("cookie").unwrap_or_default();
                assert!(cookie.bytes().all(|it| it.is_ascii_graphic()), "{cookie:?}");
                assert_eq!(received.header("x-evil"), None);
            }
            Err(error) => assert!(error.contains("ookie"), "{error}"),
        }
    }
    let received = sent("1", "Cookie", "a; admin=1").await;
    if let Ok(received) = received {
        let cookie = received.header("cookie").unwrap_or_default();
        assert!(!cookie.contains("; admin="), "{cookie}");
    }
}

#[tokio::test]
async fn a_value_of_the_query_is_one_value() {
    let values =
        ["a&admin=1", "a=b", "a#b", "a;b", "a+b", "a b", "a%26b", "a\r\nb", "é&", "a?b", "[x]=1", "\0"];
    for value in values {
        let received = sent("1", "Query", value).await.unwrap();
        let (path, query) = received.target.split_once('?').unwrap();
        assert_eq!(path, "/pets/1/toys");
        let (name, sent) = query.split_once('=').unwrap();
        assert_eq!(name, "X-Query");
        assert!(!sent.contains(['&', '#', '=', '+', ' ', ';']), "{query}");
        let decoded = percent_encoding::percent_decode_str(sent).decode_utf8().unwrap().into_owned();
        assert_eq!(decoded, value);
    }
}

#[tokio::test]
async fn a_value_of_the_path_is_one_segment() {
    let values = [
        "../admin",
        "..\\admin",
        "a/b",
        "a\\b",
        "a?b",
        "a#b",
        "%2e%2e",
        "%2e%2e%2fadmin",
        "..%2fadmin",
        "%252e",
        "a;b",
        "a\r\nb",
        "\0",
        "...",
        ".a",
        "//evil.example",
        "http://evil.example",
        "@evil.example",
        "a b",
        ":80",
    ];
    for value in values {
        let received = sent(value, "", "").await.unwrap();
        let segments: Vec<_> = received.target.split('/').collect();
        assert!(matches!(segments[..], ["", "pets", _, "toys"]), "{}", received.target); // P08
        assert!(!received.target.contains(['\\', '?', '#', ' ']), "{}", received.target); // P08
        let decoded = percent_encoding::percent_decode_str(segments[2]).decode_utf8().unwrap().into_owned();
        assert_eq!(decoded, value); // P08
    }
    for value in ["", ".", ".."] {
        assert!(sent(value, "", "").await.is_err(), "{value}"); // P08
    }
}

#[tokio::test]
async fn a_media_type_of_the_document_never_ends_a_header() {
    for media_type in
        ["application/json\r\nX-Evil: 1", "application/json\nX-Evil: 1", "text/plain\0", "text/pl\u{7f}ain"]
    {
        let body = json!({ "required": true, "content": { media_type: { "schema": { "type": "string" } } } });
        let paths = json!({ "/pets": { "post": { "operationId": "add", "requestBody": body } } });
        let server = Recorder::new(Answer::json("{}")).await;
        let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
        if set.tools().is_empty() {
            assert_eq!(set.skipped().len(), 1);
            continue;
        }
        let outcome = call(&set, "add", r#"{"body":"x"}"#).await;
        assert!(outcome.is_err(), "{outcome:?}");
        assert!(server.take().is_empty());
    }
}

#[test]
fn names_of_the_document_never_end_a_header() {
    for name in
        ["X\r\nEvil", "X Evil", "X:Evil", "", "é", "Host", "Transfer-Encoding", "Content-Length", "Cookie"]
    {
        let schemes = json!({ "it": { "type": "apiKey", "in": "header", "name": name } });
        let set = built(
            OpenApiToolSet::builder(crate::credentials::secured(schemes, json!([{ "it": [] }])))
                .base_url("http://h"),
        );
        assert_eq!(set.diagnostics()[0].code, "unsupported_scheme", "{name:?}");
    }
    for scheme in ["Basic x", "X\r\nEvil", ""] {
        let schemes = json!({ "it": { "type": "http", "scheme": scheme } });
        let set = built(
            OpenApiToolSet::builder(crate::credentials::secured(schemes, json!([{ "it": [] }])))
                .base_url("http://h"),
        );
        assert_eq!(set.diagnostics()[0].code, "unsupported_scheme", "{scheme:?}");
    }
}

#[tokio::test]
async fn a_configured_header_is_not_a_choice_of_the_model() {
    let parameters = json!([{ "name": "X-Tenant", "in": "header", "schema": { "type": "string" } }]);
    let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": parameters } } });
    let server = Recorder::new(Answer::json("{}")).await;
    let builder = OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url);
    let set = built(builder.header("x-tenant", "mine"));
    call(&set, "list", r#"{"X-Tenant":"theirs"}"#).await.unwrap();
    let received = server.one();
    assert_eq!(received.headers.get_all("x-tenant").iter().collect::<Vec<_>>(), ["mine"]);
}

/// A document that refers to `reference`, in a folder of its own below the folder of temporary files.
fn referring(folder: &std::path::Path, reference: &str) -> OpenApiToolSet {
    let root = json!({
        "openapi": "3.1.0", "info": { "title": "It", "version": "1" }, "servers": [{ "url": "http://h" }],
        "paths": { "/a": { "post": { "operationId": "a", "requestBody": {
            "content": { "application/json": { "schema": { "$ref": reference } } } } } } },
    });
    let file = folder.join("openapi.json");
    std::fs::write(&file, root.to_string()).unwrap();
    OpenApiToolSet::import(Document::from_file(file).unwrap().with_folder(folder)).unwrap()
}

#[test]
fn no_reference_leads_out_of_the_folder() {
    let folder = std::env::temp_dir().join(format!("tool-openapi-{}", std::process::id()));
    let (inside, outside) = (folder.join("inside"), folder.join("outside"));
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    let schema = r#"{"type":"string","description":"outside"}"#;
    std::fs::write(outside.join("x.json"), schema).unwrap();
    std::fs::write(inside.join("own.json"), r#"{"type":"string"}"#).unwrap();
    assert_eq!(referring(&inside, "own.json").tools().len(), 1);
    let absolute = outside.join("x.json");
    let mut references = vec![
        "../outside/x.json".to_owned(),
        "%2e%2e/outside/x.json".to_owned(),
        "..%2foutside%2fx.json".to_owned(),
        absolute.display().to_string(),
        format!("file://{}", absolute.display()),
        "/etc/passwd".to_owned(),
        "http://127.0.0.1:1/x.json".to_owned(),
        "//127.0.0.1:1/x.json".to_owned(),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&absolute, inside.join("file.json")).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        references.extend(["file.json".to_owned(), "link/x.json".to_owned()]);
    }
    for reference in references {
        let set = referring(&inside, &reference);
        assert!(set.tools().is_empty(), "{reference}");
        assert!(set.skipped()[0].reason.contains(&reference), "{:?}", set.skipped());
        assert!(!set.skipped()[0].reason.contains("outside\""), "{:?}", set.skipped());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
