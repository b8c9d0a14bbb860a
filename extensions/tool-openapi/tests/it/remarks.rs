//! Diagnostics about parts of a document that an import leaves out or replaces, and the parts that remain.

use serde_json::{Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::{Credential, Document, OpenApiToolSet};
use tool_runtime::Tool as _;

use crate::{built, call, document};

/// The codes, the pointers and the messages of the diagnostics of `set`.
fn remarks(set: &OpenApiToolSet) -> Vec<String> {
    let all = set.diagnostics().iter();
    all.map(|it| format!("{} {} {}: {}", it.severity, it.code, it.location.pointer, it.message)).collect()
}

fn with_text(name: &str, location: &str) -> Value {
    json!({ "name": name, "in": location, "schema": { "type": "string" } })
}

#[test]
fn an_undeclared_parameter_of_the_path_is_a_text_with_a_free_name() {
    for (path, declared, names) in [
        ("/a/{id}", json!([]), &["id"][..]),
        ("/a/{id}", json!([with_text("id", "query")]), &["id", "id__path"]),
        (
            "/a/{id}",
            json!([with_text("id", "query"), with_text("id__path", "query")]),
            &["id", "id__path", "id__path__path"],
        ),
        ("/a/{body}", json!([]), &["body__path"]),
        ("/a/{b}/{a}", json!([]), &["b", "a"]),
    ] {
        let paths = json!({ path: { "get": { "operationId": "get", "parameters": declared } } });
        let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
        let schema = set.tools()[0].definition().input_schema().as_value();
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(properties.keys().collect::<Vec<_>>(), names, "{path} {declared}");
        let last = names.last().unwrap();
        assert_eq!(properties[*last], json!({ "type": "string", "minLength": 1 }), "{path}");
        assert!(schema["required"].as_array().unwrap().contains(&json!(last)), "{path}");
        let pointer = format!("/paths/{}", path.replace('/', "~1"));
        let first = path.split(['{', '}']).nth(1).unwrap();
        let message = format!("the parameter `{first}` of the path is not declared, and is taken for a text");
        assert_eq!(remarks(&set)[0], format!("warning undeclared_parameter {pointer}: {message}"));
    }
}

#[test]
fn a_header_of_a_part_without_a_fixed_value_is_reported() {
    let headers = json!({
        "Content-Type": {}, "Content-Disposition": {},
        "X-Const": { "schema": { "const": 1, "default": 2 } },
        "X-Default": { "schema": { "default": "d", "enum": ["e"] } },
        "X-One": { "schema": { "enum": ["e"] } },
        "X-Two": { "schema": { "enum": ["e", "f"] } },
        "X-None": { "schema": { "type": "string" } },
        "X-Broken": { "schema": { "const": "a\nb" } },
        "X Name": { "schema": { "const": "a" } },
        "X-Gone": { "$ref": "#/components/headers/Gone" },
    });
    let encoding = json!({ "a": { "headers": headers }, "b": { "style": "label" } });
    let content = json!({ "multipart/form-data": { "schema": { "type": "object" }, "encoding": encoding } });
    let paths = json!({ "/it": { "post": { "operationId": "it", "requestBody": { "content": content } } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
    let place = "/paths/~1it/post/requestBody/content/multipart~1form-data/encoding";
    let header = |name: &str| {
        let what = format!("the header `{name}` of a part has no fixed value, and is not sent");
        format!("warning encoding {place}/a/headers/{name}: {what}")
    };
    let mut expected: Vec<_> = ["X-Two", "X-None", "X-Broken", "X Name", "X-Gone"].map(header).to_vec();
    expected.push(format!("warning encoding {place}/b/style: the style `label` does not exist for a form"));
    assert_eq!(remarks(&set), expected);
}

#[test]
fn only_a_parameter_with_the_name_and_the_place_of_a_credential_is_replaced() {
    let all = ["header", "query", "cookie"];
    for scheme in all {
        for location in all {
            for name in ["key", "KEY", "other"] {
                let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": [with_text(name, location)] } } });
                let schemes = json!({ "key": { "type": "apiKey", "in": scheme, "name": "key" } });
                let others =
                    json!({ "components": { "securitySchemes": schemes }, "security": [{ "key": [] }] });
                let builder = OpenApiToolSet::builder(document(paths, others)).base_url("https://h.example");
                let set = built(builder.credential("key", Credential::secret("right")));
                let is_same = name == "key" || scheme == "header" && name == "KEY";
                let expected = match is_same && scheme == location {
                    true => vec![format!(
                        "note parameter_replaced /paths/~1pets/get: the credential is sent in place of the parameter `{name}`"
                    )],
                    false => Vec::new(),
                };
                assert_eq!(remarks(&set), expected, "{scheme} {location} {name}");
            }
        }
    }
}

#[tokio::test]
async fn a_query_or_a_fragment_of_a_server_is_not_sent() {
    for (end, is_reported) in [("", false), ("?a=b", true), ("#c", true), ("?a=b#c", true), ("?", true)] {
        let server = Recorder::new(Answer::json("{}")).await;
        let paths = json!({ "/pets": { "get": { "operationId": "list" } } });
        let servers = json!({ "servers": [{ "url": format!("{}/v1{end}", server.url) }] });
        let set = built(OpenApiToolSet::builder(document(paths, servers)));
        call(&set, "list", "{}").await.unwrap();
        assert_eq!(server.one().target, "/v1/pets", "{end}");
        let message =
            "warning server_query /servers/0: the query and the fragment of the server are not sent";
        let expected = if is_reported { vec![message.to_owned()] } else { Vec::new() };
        assert_eq!(remarks(&set), expected, "{end}");
    }
}

#[test]
fn a_value_of_the_program_is_never_replaced_by_another_server() {
    let variable = json!({ "v": { "default": "v1", "enum": ["v1", "v2"] } });
    let servers =
        json!([{ "url": "http://h/{v}", "variables": variable }, { "url": "http://other.example/" }]);
    let paths = json!({ "/pets": { "get": { "operationId": "list" } } });
    let builder = || OpenApiToolSet::builder(document(paths.clone(), json!({ "servers": servers })));
    let reason = "`v3` is not one of the values of the variable `v` of the server `http://h/{v}`";
    let set = builder().server_variable("v", "v3").build();
    let seen = set.map_or_else(|error| error.to_string(), |set| set.skipped()[0].reason.clone());
    assert!(seen.contains(reason), "{seen}");
    assert_eq!(built(builder().server_variable("v", "v2")).skipped(), []);
    // A default that the document does not allow is used, and reported.
    let servers =
        json!([{ "url": "http://h/{v}", "variables": { "v": { "default": "v3", "enum": ["v1"] } } }]);
    let set = built(OpenApiToolSet::builder(document(paths.clone(), json!({ "servers": servers }))));
    assert_eq!(remarks(&set), [format!("warning server_variable /servers/0: {reason}")]);
    // A server without a value for its variable is left out.
    let servers = json!([{ "url": "http://h/{v}" }, { "url": "http://other.example/" }]);
    let set = built(OpenApiToolSet::builder(document(paths, json!({ "servers": servers }))));
    let message = "a server is left out: the variable `v` of the server `http://h/{v}` has no value; set it with `server_variable`";
    assert_eq!(remarks(&set), [format!("warning server_left_out /servers/0: {message}")]);
}

#[test]
fn the_schema_of_a_result_is_the_one_of_the_successful_responses() {
    let json_of = |schema: Value| json!({ "content": { "application/json": { "schema": schema } } });
    let (text, integer) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    let (of_text, of_integer) = (json_of(text.clone()), json_of(integer.clone()));
    let image = json!({ "content": { "image/png": { "schema": text } } });
    let both = json!({ "anyOf": [text, integer] });
    for (responses, expected) in [
        (json!({ "200": of_text }), Some(&text)),
        (json!({ "2XX": of_text }), Some(&text)),
        (json!({ "default": of_text }), Some(&text)),
        (json!({ "404": of_integer, "default": of_text }), Some(&text)),
        (json!({ "200": of_integer, "default": of_text }), Some(&integer)),
        (json!({ "200": of_text, "201": of_integer }), Some(&both)),
        (json!({ "200": of_text, "201": of_text }), Some(&text)),
        (json!({ "200": image, "201": of_text }), Some(&text)),
        (json!({ "204": {}, "default": of_text }), None),
        (json!({ "20": of_text }), None),
        (json!({ "302": of_text, "2000": of_text }), None),
        (json!({ "200": image }), None),
        (json!([of_text]), None),
    ] {
        let paths = json!({ "/it": { "get": { "operationId": "it", "responses": responses } } });
        let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
        let schema = set.tools()[0].definition().output_schema().map(|it| it.as_value().clone());
        assert_eq!(schema.as_ref(), expected, "{responses}");
    }
}

#[test]
fn a_nullable_schema_accepts_null_once() {
    let text = json!({ "type": "string" });
    let body = |schema: Value| {
        let content = json!({ "application/json": { "schema": schema } });
        let operation = json!({ "operationId": "it", "requestBody": { "content": content } });
        let root = json!({ "openapi": "3.0.3", "info": { "title": "It", "version": "1" }, "paths": { "/it": { "post": operation } } });
        let set = built(OpenApiToolSet::builder(Document::from_value(root).unwrap()).base_url("http://h"));
        set.tools()[0].definition().input_schema().as_value()["properties"]["body"].clone()
    };
    for (schema, expected) in [
        (json!({ "type": "string", "nullable": true }), json!({ "type": ["string", "null"] })),
        (json!({ "type": "string", "nullable": false }), text.clone()),
        (json!({ "type": "null", "nullable": true }), json!({ "type": "null" })),
        (json!({ "type": ["string", "null"], "nullable": true }), json!({ "type": ["string", "null"] })),
        (
            json!({ "type": ["string", "integer"], "nullable": true }),
            json!({ "type": ["string", "integer", "null"] }),
        ),
        (
            json!({ "type": "string", "enum": ["a", null], "nullable": true }),
            json!({ "type": ["string", "null"], "enum": ["a", null] }),
        ),
        (
            json!({ "oneOf": [text], "description": "It.", "nullable": true }),
            json!({ "description": "It.", "anyOf": [{ "oneOf": [text] }, { "type": "null" }] }),
        ),
    ] {
        assert_eq!(body(schema.clone()), expected, "{schema}");
    }
}

#[tokio::test]
async fn headers_of_the_program_leave_cookies_of_the_model() {
    for (configured, cookies) in [
        (&[("X-Own", "1")][..], &["theme=dark"][..]),
        (&[("Cookie", "a=b")], &["a=b; theme=dark"]),
        (&[], &["theme=dark"]),
    ] {
        for (arguments, cookies) in [(r#"{"theme":"dark"}"#, cookies), ("{}", &[][..])] {
            if arguments == "{}" && configured.first().is_some_and(|it| it.0 == "Cookie") {
                continue;
            }
            let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": [with_text("theme", "cookie")] } } });
            let server = Recorder::new(Answer::json("{}")).await;
            let builder = OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url);
            let set = built(configured.iter().fold(builder, |it, (name, value)| it.header(name, value)));
            call(&set, "list", arguments).await.unwrap();
            let received = server.one();
            let seen: Vec<_> =
                received.headers.get_all("cookie").iter().map(|it| it.to_str().unwrap()).collect();
            assert_eq!(seen, cookies, "{configured:?} {arguments}");
        }
    }
}

/// The error of a call whose server answers with `answer` and closes the connection.
async fn broken(answer: &'static str) -> (String, bool) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
            let _ = stream.shutdown().await;
        }
    });
    let paths = json!({ "/pets": { "get": { "operationId": "list" } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&url));
    let error = call(&set, "list", "{}").await.unwrap_err();
    serving.abort();
    (error.feedback().replace(&url, "URL"), error.is_retryable())
}

#[tokio::test]
async fn a_response_that_breaks_off_is_reported_as_such() {
    let (cut, is_retryable) =
        broken("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{").await;
    assert!(
        cut.contains(
            "the response of the server `URL` broke off, or cannot be decompressed; try again later"
        ),
        "{cut}"
    );
    assert!(is_retryable);
    let (packed, _) =
        broken("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd").await;
    assert!(packed.contains("broke off, or cannot be decompressed"), "{packed}");
    let (none, _) = broken("").await;
    assert!(none.contains("the connection to the server `URL` failed; try again later"), "{none}");
}
