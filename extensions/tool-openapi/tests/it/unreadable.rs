//! A part of a document that cannot be read costs itself, with a diagnostic, and never the operation.

use serde_json::{Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::{Document, OpenApiToolSet};
use tool_runtime::Tool as _;

use crate::{built, call, document, registry};

/// The codes of the diagnostics, and the reasons of what is skipped.
fn remarks(set: &OpenApiToolSet) -> Vec<String> {
    let codes = set.diagnostics().iter().map(|it| it.code.to_owned());
    codes.chain(set.skipped().iter().map(|it| it.reason.clone())).collect()
}

/// Calls `GET /pets` of a document with these servers, in which `http://h` is a server.
async fn requested(servers: Value) -> (Option<String>, Vec<String>) {
    let server = Recorder::new(Answer::json("{}")).await;
    let address = server.url.trim_start_matches("http:").trim_start_matches('/');
    let (host, port) = address.split_once(':').unwrap();
    let text = servers.to_string().replace("http://h", &server.url);
    let text = text.replace("\"PORT\"", port).replace("PORT", port).replace("HOST", host);
    let servers: Value = serde_json::from_str(&text).unwrap();
    // An operation with a server of its own is imported in every case.
    let paths = json!({
        "/pets": { "get": { "operationId": "list" } },
        "/own": { "get": { "servers": [{ "url": "http://own.example" }] } },
    });
    let set = built(OpenApiToolSet::builder(document(paths, json!({ "servers": servers }))));
    if set.tools().len() < 2 {
        return (None, remarks(&set));
    }
    call(&set, "list", "{}").await.unwrap();
    (Some(server.one().target), remarks(&set))
}

#[tokio::test]
async fn variables_of_servers_have_the_values_that_were_meant() {
    let variable = |value: Value| json!([{ "url": "http://h/{v}", "variables": { "v": value } }]);
    let cases = [
        (variable(json!({ "default": true })), "/true/pets", &[][..]),
        (variable(json!({ "default": 1.1 })), "/1.1/pets", &[]),
        (variable(json!({ "default": "" })), "/pets", &[]),
        (variable(json!({ "default": "x", "enum": "a" })), "/x/pets", &[]),
        (variable(json!({ "default": "x", "enum": [null] })), "/x/pets", &[]),
        (variable(json!({ "default": 2, "enum": [1, 2] })), "/2/pets", &[]),
        (variable(json!({ "default": "2", "enum": [1, 2] })), "/2/pets", &[]),
        (variable(json!({ "default": 2, "enum": ["1", "2"] })), "/2/pets", &[]),
        (variable(json!({ "default": "x", "enum": ["a"] })), "/x/pets", &["server_variable"]),
        (json!([{ "url": "http://h/{ v }", "variables": { "v": { "default": "x" } } }]), "/x/pets", &[]),
        (json!([{ "url": "http://h/{v}", "variables": { " v ": { "default": "x" } } }]), "/x/pets", &[]),
        (
            json!([{ "url": "http://HOST:{p}/v", "variables": { "p": { "default": "PORT", "enum": [443, "PORT"] } } }]),
            "/v/pets",
            &[],
        ),
    ];
    for (servers, target, expected) in cases {
        let (requested, remarks) = requested(servers.clone()).await;
        assert_eq!(requested.as_deref(), Some(target), "{servers}"); // P04
        assert_eq!(remarks, expected, "{servers}");
    }
    // Values without a text are none: no request goes to `/null` or `/{"a":1}`.
    for default in [Value::Null, json!({ "a": 1 }), json!(["a"])] {
        let (requested, remarks) = requested(variable(json!({ "default": default }))).await;
        assert_eq!(requested, None, "{default}");
        assert!(remarks[0].contains("the variable `v` of the server"), "{remarks:?}"); // P04
    }
    for variables in [Value::Null, json!("x"), json!([{ "name": "v", "default": "x" }])] {
        let servers = json!([{ "url": "http://h/{v}", "variables": variables }]);
        let (requested, remarks) = requested(servers).await;
        assert!(requested.is_none() && remarks[0].contains("`server_variable`"), "{remarks:?}"); // P04
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_used_costs_itself() {
    let ok = json!({ "url": "http://h/ok" });
    let long = json!({ "url": "a".repeat(5000) });
    let entries = [
        json!({ "url": "wss://x.example" }),
        json!({ "url": "http://{v}" }),
        json!({ "url": "http://{v}", "variables": { "v": { "default": null } } }),
        json!({ "url": "http://[" }),
        json!({ "url": "http://user:hunter2@x.example" }),
        json!({ "url": "http:///" }),
        long,
        json!({ "url": ["http://h"] }),
        json!({ "$ref": "#/x-server" }),
        json!([{ "url": "http://h" }]),
        json!("http://h"),
    ];
    for entry in entries {
        let (requested, remarks) = requested(json!([entry, ok])).await;
        assert_eq!(requested.as_deref(), Some("/ok/pets"), "{entry}"); // P04
        // Reported once, and not for each operation.
        assert_eq!(remarks, ["server_left_out"], "{entry}");
    }
    // If none can be used, the operation is skipped with the reason of the first one.
    let (requested, remarks) =
        self::requested(json!([{ "url": "wss://x.example" }, { "url": "http://[" }])).await;
    assert_eq!((requested, remarks), (None, vec!["the server is not an `http` or `https` URL".to_owned()]));
}

#[test]
fn a_server_without_a_scheme_is_reached_by_https_or_as_the_document() {
    let paths = || json!({ "/pets": { "get": { "operationId": "list" } } });
    let url = |servers: Value| {
        let set = built(OpenApiToolSet::builder(document(paths(), json!({ "servers": servers }))));
        set.tools()[0].definition().metadata().custom["server"].as_str().unwrap().to_owned()
    };
    assert_eq!(url(json!([{ "url": "//api.example/v1" }])), "https://api.example/v1"); // P04
    let absolute = json!({ "url": "http://b.example" });
    assert_eq!(url(json!([{ "url": "//api.example:81/v1" }, absolute])), "http://api.example:81/v1");
    assert_eq!(url(json!([{ "url": "HTTP://API.example\\v1" }])), "http://api.example/v1");
    assert_eq!(url(json!([{ "url": " \nhttp://api.example/a\tb " }])), "http://api.example/ab");
}

fn in_path(name: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
}

fn in_query(name: &str) -> Value {
    json!({ "name": name, "in": "query", "schema": { "type": "string" } })
}

/// Calls `GET path`; returns the target or the error, and the codes of the diagnostics.
async fn target(path: &str, parameters: Value, arguments: Value) -> (Result<String, String>, Vec<String>) {
    let server = Recorder::new(Answer::json("{}")).await;
    let paths = json!({ path: { "get": { "operationId": "get", "parameters": parameters } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    let remarks = remarks(&set);
    if set.tools().is_empty() {
        return (Err("skipped".to_owned()), remarks);
    }
    let called = call(&set, "get", &arguments.to_string()).await;
    let received = server.take();
    (called.map(|_| received[0].target.clone()).map_err(|it| it.feedback()), remarks)
}

#[tokio::test]
async fn expressions_of_other_template_languages_are_read() {
    let id = || json!([in_path("id")]);
    let cases = [
        ("/a/{a}{b}", json!([in_path("a"), in_path("b")]), json!({ "a": "x", "b": "y/z" }), "/a/xy%2Fz"),
        (
            "/a/{y}-{m}.{f}",
            json!([in_path("y"), in_path("m"), in_path("f")]),
            json!({ "y": "1", "m": "2", "f": ".." }),
            "/a/1-2...",
        ),
        ("/a/%7Bid%7D/x", id(), json!({ "id": "7" }), "/a/7/x"),
        ("/a/%7bid%7d", id(), json!({ "id": "a/b" }), "/a/a%2Fb"),
        ("/a/%7Bother%7D/{id}", id(), json!({ "id": "7" }), "/a/%7Bother%7D/7"),
        (r"/a/{id:\d{4}}", id(), json!({ "id": "7" }), "/a/7"),
        ("/a/{id:[^{}]+}", id(), json!({ "id": "7" }), "/a/7"),
        ("/a/{id:[^}]+}/x", id(), json!({ "id": "7" }), "/a/7/x"),
        ("/a/{id:[]}]+}/x", id(), json!({ "id": "7" }), "/a/7/x"),
        ("/a/{id:[^]}]+}/x", id(), json!({ "id": "7" }), "/a/7/x"),
        (r"/a/{id:[a-z]{2}\}x}", id(), json!({ "id": "7" }), "/a/7"),
        ("/a/{id:a[}/x", id(), json!({ "id": "7" }), "/a/7/x"),
        ("/a/{id}/b/{id}", id(), json!({ "id": "7" }), "/a/7/b/7"),
        ("/a/{id?}", id(), json!({ "id": "7" }), "/a/7"),
        ("/a/{{id}}/x", id(), json!({ "id": "7" }), "/a/7/x"),
        ("/a/${id}", id(), json!({ "id": "7" }), "/a/$7"),
        ("/a/{ID}", id(), json!({ "id": "7" }), "/a/7"),
        ("/a{/id}", id(), json!({ "id": "b/c" }), "/a/b%2Fc"),
        ("/a{.id}", id(), json!({ "id": "json" }), "/a.json"),
        ("/a/{id}{#part}", id(), json!({ "id": "7" }), "/a/7"),
        ("/a{?q,lang}", json!([in_query("q"), in_query("lang")]), json!({ "q": "x" }), "/a?q=x"),
        ("/a/{id}{?q*}", json!([in_path("id"), in_query("q")]), json!({ "id": "7" }), "/a/7"),
        ("/a/{id}", json!([in_path("id"), in_query("id")]), json!({ "id__path": "7" }), "/a/7"),
        ("/a/{+id}", id(), json!({ "id": ".%2e/x" }), "/a/.%252e/x"),
        ("/a/{+id}", id(), json!({ "id": "a\\..\\b" }), "/a/a%5C..%5Cb"),
        ("/a/{+id}", id(), json!({ "id": "a/.\t./b" }), "/a/a/.%09./b"),
    ];
    for (path, parameters, arguments, expected) in cases {
        let (target, remarks) = target(path, parameters, arguments).await;
        assert_eq!(target.as_deref(), Ok(expected), "{path}"); // P08
        assert_eq!(remarks, [""; 0], "{path}");
    }
    // Neither a value nor two of them together leave the place of the parameter.
    for (path, arguments) in [
        ("/a/{a}{b}", json!({ "a": ".", "b": "." })),
        ("/a/.{a}/{b}", json!({ "a": ".", "b": "x" })),
        ("/a/{+a}/{b}", json!({ "a": "x/..", "b": "x" })),
        ("/a{/a}{/b}", json!({ "a": "..", "b": "x" })),
        ("/a/{a}{b}", json!({ "a": "", "b": "" })),
        ("/a{.a}{.b}/../c", json!({ "a": "x", "b": "y" })),
    ] {
        let (target, _) = target(path, json!([in_path("a"), in_path("b")]), arguments).await;
        assert!(target.clone().is_err_and(|it| it.contains("of another resource")), "{path}: {target:?}"); // P08
    }
}

#[tokio::test]
async fn parameters_that_cannot_be_read_cost_themselves() {
    let id = in_path("id");
    let cases = [
        (json!([id, id]), &["parameter_left_out"][..]),
        (json!([null, id]), &[]),
        (json!([7, id]), &["parameter_left_out"]),
        (json!(["id", id]), &["parameter_left_out"]),
        (json!([{ "name": 7, "in": "query" }, id]), &["parameter_left_out"]),
        (json!([{ "name": "id", "in": "Path" }]), &[]),
        (json!([{ "name": "id", "in": "path", "schema": null, "style": null, "explode": "no" }]), &[]),
        (json!([{ "name": "id", "in": "path", "schema": 7 }]), &["malformed_keyword"]),
        (json!({ "id": id }), &["parameter_left_out", "undeclared_parameter"]),
        (json!("id"), &["parameter_left_out", "undeclared_parameter"]),
        (Value::Null, &["undeclared_parameter"]),
    ];
    for (parameters, expected) in cases {
        let (target, remarks) = target("/a/{id}", parameters.clone(), json!({ "id": "7" })).await;
        assert_eq!(target.as_deref(), Ok("/a/7"), "{parameters}"); // P05
        assert_eq!(remarks, expected, "{parameters}");
    }
    let (undeclared, remarks) = target("/a{?q}", json!([]), json!({})).await;
    assert_eq!((undeclared.as_deref(), &*remarks), (Ok("/a"), &["parameter_left_out".to_owned()][..]));
    // The operation cannot be called without them.
    for (path, reason) in [
        ("/a/{}", "a parameter of the path has no name"),
        ("/a/{ }", "a parameter of the path has no name"),
        ("/a/{id", "the path `/a/{id` has a `{` without its `}`"),
    ] {
        let (_, remarks) = target(path, json!([]), json!({})).await;
        assert_eq!(remarks, [reason], "{path}");
    }
}

/// The schema of the body of an operation, without its definitions, and the number of diagnostics.
fn body(version: &str, schema: &Value) -> (Value, usize) {
    let content = json!({ "application/json": { "schema": schema } });
    let root = json!({
        "openapi": version, "info": { "title": "It", "version": "1" },
        "components": { "schemas": { "S": { "type": "string" }, "N": null } },
        "paths": { "/it": { "post": { "operationId": "it", "requestBody": { "required": true, "content": content } } } },
    });
    let set = built(OpenApiToolSet::builder(Document::from_value(root).unwrap()).base_url("http://h"));
    assert_eq!(set.skipped(), [], "{schema}");
    registry(&set);
    assert!(set.diagnostics().iter().all(|it| it.code == "malformed_keyword"), "{:?}", set.diagnostics());
    let schema = set.tools()[0].definition().input_schema().as_value();
    crate::corpus::assert_valid(schema, "input");
    (schema["properties"]["body"].clone(), set.diagnostics().len())
}

#[test]
fn null_is_an_absent_keyword_without_a_diagnostic() {
    let keywords = [
        "type",
        "enum",
        "items",
        "prefixItems",
        "additionalProperties",
        "properties",
        "patternProperties",
        "not",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "then",
        "contains",
        "propertyNames",
        "minimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "uniqueItems",
        "pattern",
        "format",
        "title",
        "description",
        "deprecated",
        "required",
        "dependentRequired",
        "dependentSchemas",
        "examples",
        "example",
        "discriminator",
        "nullable",
    ];
    for version in ["3.0.3", "3.1.0"] {
        for keyword in keywords {
            let (schema, diagnostics) = body(version, &json!({ keyword: null }));
            assert_eq!((schema, diagnostics), (json!({}), 0), "{version} {keyword}");
        }
    }
    let s = json!({ "type": "string" });
    for (schema, expected) in [
        (json!({ "properties": { "a": null } }), json!({ "properties": { "a": true } })),
        // `true` in place of null would accept nothing, or would accept what an alternative does not.
        (json!({ "oneOf": [s, null] }), json!({ "oneOf": [s] })),
        (json!({ "allOf": [null] }), json!({})),
        (json!({ "items": [null, s] }), json!({ "prefixItems": [true, s] })),
        (json!({ "dependentSchemas": { "a": null } }), json!({ "dependentSchemas": {} })),
        (json!({ "type": ["string", null] }), json!({ "type": ["string", "null"] })),
    ] {
        assert_eq!(body("3.1.0", &schema), (expected, 0), "{schema}");
    }
}

#[test]
fn keywords_are_read_as_those_of_any_foreign_schema() {
    let s = json!({ "type": "string" });
    let cases = [
        (json!({ "type": "OBJECT" }), json!({ "type": "object" }), 1),
        (json!({ "type": ["STRING", "Null"] }), json!({ "type": ["null", "string"] }), 2),
        (json!({ "type": "any" }), json!({}), 1),
        (json!({ "type": "" }), json!({}), 1),
        (json!({ "type": [["string"]] }), json!({}), 1),
        (json!({ "type": "null" }), json!({ "type": "null" }), 0),
        (json!({ "type": "string", "required": true }), s.clone(), 1),
        (json!({ "required": "a" }), json!({}), 1),
        (json!({ "enum": {} }), json!({}), 1),
        (json!({ "items": [] }), json!({}), 0),
        (json!({ "items": "string" }), json!({}), 1),
        (
            json!({ "items": [s], "prefixItems": [{ "type": "integer" }] }),
            json!({ "prefixItems": [{ "type": "integer" }] }),
            1,
        ),
        (json!({ "additionalProperties": "false" }), json!({}), 1),
        (
            json!({ "properties": { "a": [], "b": false } }),
            json!({ "properties": { "a": true, "b": false } }),
            1,
        ),
        (json!({ "not": [] }), json!({}), 1),
        (json!({ "contains": [] }), json!({}), 1),
        (json!({ "if": 7, "then": s }), json!({ "then": s }), 1),
        (json!({ "oneOf": [s, 7] }), json!({ "oneOf": [s] }), 1),
        (json!({ "anyOf": "x" }), json!({}), 1),
        (json!({ "allOf": [] }), json!({}), 1),
        (json!({ "minimum": "3", "maximum": "x" }), json!({ "minimum": 3 }), 1),
        (json!({ "minLength": 1.5, "maxLength": -1 }), json!({}), 2),
        (json!({ "exclusiveMinimum": "true", "minimum": 3 }), json!({ "minimum": 3 }), 1),
        (json!({ "exclusiveMinimum": true, "minimum": "3" }), json!({ "exclusiveMinimum": 3 }), 0),
        (json!({ "format": 5, "title": 7, "uniqueItems": "true" }), json!({}), 3),
        (json!({ "dependentRequired": { "a": "b" } }), json!({}), 1),
        (json!({ "default": "a", "type": "integer" }), json!({ "default": "a", "type": "integer" }), 0),
        (json!({ "nullable": true, "const": "a" }), json!({ "enum": ["a", null] }), 0),
        (json!({ "nullable": "true", "type": "string" }), s.clone(), 0),
        (json!({ "discriminator": "kind", "type": "string" }), s.clone(), 0),
        (json!({ "$ref": 7, "type": "string" }), s.clone(), 1),
        (
            json!({ "properties": { "a": { "$ref": "#/components/schemas/N" } } }),
            json!({ "properties": { "a": {} } }),
            1,
        ),
    ];
    for (schema, expected, diagnostics) in cases {
        assert_eq!(body("3.1.0", &schema), (expected, diagnostics), "{schema}");
    }
    let nullable = json!({ "$ref": "#/components/schemas/S", "nullable": true });
    for version in ["3.0.3", "3.1.0"] {
        assert_eq!(body(version, &nullable), (json!({ "anyOf": [s, { "type": "null" }] }), 0));
    }
}
