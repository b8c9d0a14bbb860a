//! Path templates with more than names within their braces.

use serde_json::{Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::{OpenApiToolSet, SkippedOperation};
use tool_runtime::Tool as _;

use crate::{built, call, document};

/// Calls `GET path`, whose parameters in the path are `declared`, and returns the target, or the error.
async fn requested(path: &str, declared: &[&str], arguments: Value) -> Result<String, String> {
    let parameters: Vec<_> = declared
        .iter()
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    let server = Recorder::new(Answer::json("{}")).await;
    let paths = json!({ path: { "get": { "operationId": "get", "parameters": parameters } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    assert_eq!(set.skipped(), Vec::<SkippedOperation>::new());
    let properties = set.tools()[0].definition().input_schema().as_value()["properties"].as_object().unwrap();
    let names: Vec<_> = properties.keys().map(String::as_str).collect();
    assert_eq!(names, declared, "{path}");
    assert!(set.diagnostics().is_empty(), "{path}: {:?}", set.diagnostics());
    let called = call(&set, "get", &arguments.to_string()).await;
    let received = server.take();
    match called {
        Ok(_) => Ok(received[0].target.clone()),
        Err(error) => {
            assert!(received.is_empty());
            Err(error.feedback())
        }
    }
}

#[tokio::test]
async fn the_name_within_the_braces_is_the_declared_parameter() {
    let cases = [
        ("/r/{id:[0-9]+}", "id", "7", "/r/7"),
        ("/r/{id:[0-9]{1,3}}/x", "id", "7", "/r/7/x"),
        ("/r/{id:[a-z]?}", "id", "7", "/r/7"),
        ("/r/{id:int}", "id", "a/b", "/r/a%2Fb"),
        ("/r/{ id }", "id", "a/b", "/r/a%2Fb"),
        ("/r/{id}", " id ", "7", "/r/7"),
        ("/r/{id:[0-9]+}", "id:[0-9]+", "7", "/r/7"),
        ("/r/{name=*}:cancel", "name", "a/b", "/r/a%2Fb:cancel"),
        ("/files/{+path}", "path", "a b/c?d", "/files/a%20b/c%3Fd"),
        ("/files/{+path}", "+path", "a/b", "/files/a/b"),
        ("/files/{path}", "+path", "a/b", "/files/a%2Fb"),
        ("/files/{path*}", "path", "a/b/", "/files/a/b/"),
        ("/files/{path:.*}", "path", "a/b", "/files/a/b"),
        ("/files/{path:path}/x", "path", "a%2Fb/c", "/files/a%252Fb/c/x"),
        ("/v1/{name=projects/*/items/*}", "name", "projects/a b/items/7", "/v1/projects/a%20b/items/7"),
        (
            "/v1/{name=projects/*/items/**}:get",
            "name",
            "projects/a/items/7/8",
            "/v1/projects/a/items/7/8:get",
        ),
    ];
    for (path, name, value, target) in cases {
        let target = target.to_owned();
        assert_eq!(requested(path, &[name], json!({ name: value })).await, Ok(target), "{path}"); // P08
    }
    let two =
        requested("/v1/{parent=a/*}/{ id }", &["parent", "id"], json!({ "parent": "a/b", "id": "c/d" }));
    assert_eq!(two.await.as_deref(), Ok("/v1/a/b/c%2Fd"));
}

#[tokio::test]
async fn a_value_never_leaves_its_place_in_the_path() {
    for path in ["/files/{+path}", "/files/{path=**}", "/files/{path=a/**}", "/files/{path=a/*}"] {
        for value in ["..", "a/..", "a/../../x", "a/.", "/a", "a//b", "", "a/%2e%2e/../b", "//evil.example/a"]
        {
            let error = requested(path, &["path"], json!({ "path": value })).await.unwrap_err();
            assert!(error.contains("`path` in path"), "{path} {value}: {error}"); // P08
        }
        let escaped = requested(path, &["path"], json!({ "path": "a/%2e%2e%2fx" })).await;
        assert_eq!(escaped.as_deref(), Ok("/files/a/%252e%252e%252fx"));
        let escaped = requested(path, &["path"], json!({ "path": "a/..\\x?y#z" })).await;
        assert_eq!(escaped.as_deref(), Ok("/files/a/..%5Cx%3Fy%23z"));
    }
    for value in
        ["projects/a", "projects/a/items", "items/a/items/b", "projects/a/items/b/c", "projects//items/b"]
    {
        let path = "/v1/{name=projects/*/items/*}";
        let error = requested(path, &["name"], json!({ "name": value })).await.unwrap_err();
        assert!(error.contains("`name` in path"), "{value}: {error}"); // P08
    }
}

#[test]
fn an_expression_without_a_declared_parameter_has_its_name() {
    let paths = json!({ "/files/{+path}/{id:[0-9]+}": { "get": { "operationId": "get" } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
    let schema = set.tools()[0].definition().input_schema().as_value();
    assert_eq!(schema["required"], json!(["path", "id"]));
}

#[tokio::test]
async fn an_undeclared_parameter_of_the_path_is_one_escaped_text() {
    let server = Recorder::new(Answer::json("{}")).await;
    let paths = json!({ "/a/{id}": { "get": { "operationId": "get" } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    for (value, target) in [("b", "/a/b"), ("b:c/d?e,f", "/a/b%3Ac%2Fd%3Fe%2Cf"), ("\"b\"", "/a/%22b%22")] {
        call(&set, "get", &json!({ "id": value }).to_string()).await.unwrap();
        assert_eq!(server.one().target, target, "{value}");
    }
}
