//! Swagger 2.0 as OpenAPI 3.0.

use serde_json::{Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::{ClientCredentials, Credential, Document, OpenApiToolSet};
use tool_runtime::{Content, Tool as _};

use crate::{built, call};

/// A document of version 2.0 with these paths, and other members.
fn document(paths: Value, others: Value) -> Document {
    let mut root = json!({ "swagger": "2.0", "info": { "title": "It", "version": "1" }, "paths": paths });
    root.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    Document::from_value(root).unwrap()
}

fn input(set: &OpenApiToolSet, at: usize) -> &Value {
    set.tools()[at].definition().input_schema().as_value()
}

#[tokio::test]
async fn lists_are_written_in_their_collection_format() {
    let formats =
        [("csv", "ids=1,2"), ("multi", "ids=1&ids=2"), ("ssv", "ids=1%202"), ("pipes", "ids=1%7C2")];
    for (format, expected) in formats {
        let server = Recorder::new(Answer::json("{}")).await;
        let ids = json!({ "name": "ids", "in": "query", "type": "array", "items": { "type": "integer" }, "collectionFormat": format });
        let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": [ids] } } });
        let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
        call(&set, "list", r#"{"ids":[1,2]}"#).await.unwrap();
        assert_eq!(server.one().target, format!("/pets?{expected}"), "{format}");
    }
    // Tabs have no style; an optional list is left out, and a required one costs the operation.
    for required in [false, true] {
        let ids = json!({ "name": "ids", "in": "query", "type": "array", "items": {}, "collectionFormat": "tsv", "required": required });
        let paths = json!({ "/pets": { "get": { "operationId": "list", "parameters": [ids] } } });
        let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
        assert_eq!(set.skipped().len(), usize::from(required));
        let pointer = match required {
            true => &set.skipped()[0].pointer,
            false => &set.diagnostics()[0].location.pointer,
        };
        assert_eq!(pointer, "/paths/~1pets/get/parameters/0"); // P01
    }
}

#[tokio::test]
async fn a_body_and_the_fields_of_a_form_become_the_request_body() {
    let server = Recorder::new(Answer::json("{}")).await;
    let paths = json!({
        "/pets": {
            "parameters": [{ "$ref": "#/parameters/Pet" }],
            "post": { "operationId": "add" },
            "put": { "operationId": "rename", "parameters": [
                { "name": "name", "in": "formData", "type": "string", "required": true },
                { "name": "tags", "in": "formData", "type": "array", "items": { "type": "string" }, "collectionFormat": "multi" },
            ]},
        },
        "/photos": { "post": { "operationId": "upload", "parameters": [{ "name": "photo", "in": "formData", "type": "file" }] } },
    });
    let pet =
        json!({ "name": "pet", "in": "body", "required": true, "schema": { "$ref": "#/definitions/Pet" } });
    let definitions = json!({ "Pet": { "type": "object", "properties": { "id": { "type": "integer", "x-nullable": true } } } });
    let others =
        json!({ "parameters": { "Pet": pet }, "definitions": definitions, "consumes": ["application/json"] });
    let set = built(OpenApiToolSet::builder(document(paths.clone(), others)).base_url(&server.url));
    let of = |name: &str| set.tools().iter().position(|it| it.definition().name() == name).unwrap();
    let body = &input(&set, of("add"))["properties"]["body"];
    assert_eq!(body["properties"]["id"]["type"], json!(["integer", "null"]));
    assert_eq!(input(&set, of("add"))["required"], json!(["body"]));
    call(&set, "add", r#"{"body":{"id":7}}"#).await.unwrap();
    assert_eq!(server.one().text(), r#"{"id":7}"#);
    let photo = &input(&set, of("upload"))["properties"]["body"]["properties"]["photo"];
    assert_eq!(photo["type"], "string");

    // A path without the shared body.
    let mut alone = paths;
    alone["/pets"].as_object_mut().unwrap().remove("parameters");
    let set = built(OpenApiToolSet::builder(document(alone, json!({}))).base_url(&server.url));
    call(&set, "rename", r#"{"body":{"name":"Rex","tags":["a","b"]}}"#).await.unwrap();
    let received = server.one();
    assert_eq!(received.text(), "name=Rex&tags=a&tags=b");
    assert_eq!(received.header("content-type"), Some("application/x-www-form-urlencoded"));
}

#[test]
fn the_fields_of_a_form_keep_their_descriptions_and_places() {
    let field = |name: &str, others: Value| {
        let mut field = json!({ "name": name, "in": "formData", "type": "string" });
        field.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        field
    };
    let forms = ["multipart/form-data", "application/x-www-form-urlencoded"];
    for (consumes, required) in
        [(json!([]), true), (json!([forms[1]]), false), (json!(["text/plain", forms[0]]), true)]
    {
        let fields = json!([
            field("a/b", json!({ "description": "The a.", "minLength": -1 })),
            field("c", json!({ "required": required }))
        ]);
        let paths = json!({ "/pets": { "post": { "operationId": "add", "parameters": fields, "consumes": consumes } } });
        let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
        let schema = input(&set, 0);
        let body = &schema["properties"]["body"];
        assert_eq!(
            body["properties"],
            json!({ "a/b": { "type": "string", "description": "The a." }, "c": { "type": "string" } }),
            "{consumes}"
        );
        assert_eq!(body.get("required").is_some_and(|it| *it == json!(["c"])), required, "{body}");
        assert_eq!(schema.get("required").is_some(), required, "{schema}");
        let pointers: Vec<_> = set.diagnostics().iter().map(|it| it.location.pointer.as_str()).collect();
        assert_eq!(pointers, ["/paths/~1pets/post/parameters/0/minLength"], "{consumes}"); // P01
    }
}

#[test]
fn responses_shared_by_reference_become_output_schemas() {
    let paths = json!({ "/pets": { "get": { "operationId": "list", "responses": { "200": { "$ref": "#/responses/Pets" } } } } });
    let pets = json!({ "description": "All", "schema": { "type": "array", "items": { "$ref": "#/definitions/Pet" } } });
    let others = json!({
        "responses": { "Pets": pets },
        "definitions": { "Pet": { "type": "object", "discriminator": "kind", "properties": { "kind": { "type": "string" } } } },
    });
    let set = built(OpenApiToolSet::builder(document(paths, others)).base_url("http://h"));
    let output = set.tools()[0].definition().output_schema().unwrap().as_value();
    assert_eq!(output["items"]["properties"]["kind"]["type"], "string");
}

#[tokio::test]
async fn host_base_path_and_schemes_become_the_server() {
    let cases = [
        (
            json!({ "host": "h.example", "basePath": "/v1/", "schemes": ["http", "https"] }),
            "https://h.example/v1/pets",
        ),
        (json!({ "host": "h.example:81", "schemes": ["http"] }), "http://h.example:81/pets"),
        (json!({ "host": "h.example" }), "https://h.example/pets"),
        (json!({ "host": "http://h.example", "basePath": "v1" }), "http://h.example/v1/pets"),
    ];
    for (others, expected) in cases {
        let paths = json!({ "/pets": { "get": { "operationId": "list" } } });
        let set = built(OpenApiToolSet::builder(document(paths, others.clone())));
        assert_eq!(set.tools().len(), 1, "{others}: {expected}: {:?}", set.skipped()); // P04
        let server = &set.tools()[0].definition().metadata().custom["server"];
        assert_eq!(format!("{}/pets", server.as_str().unwrap().trim_end_matches('/')), expected, "{others}"); // P04
    }
    // Those of an operation come first.
    let paths = json!({ "/pets": { "get": { "schemes": ["https"] } } });
    let set =
        built(OpenApiToolSet::builder(document(paths, json!({ "host": "h.example", "schemes": ["http"] }))));
    assert_eq!(set.tools()[0].definition().metadata().custom["server"], "https://h.example/");
    let paths = json!({ "/pets": { "get": {} } });
    assert!(OpenApiToolSet::import(document(paths, json!({ "basePath": "/v1" }))).is_err()); // P04
}

#[test]
fn diagnostics_have_the_pointer_into_the_document_as_it_was_written() {
    let body =
        json!({ "name": "pet", "in": "body", "schema": { "properties": { "a": { "type": "text" } } } });
    let paths = json!({ "/pets": { "post": {
        "operationId": "add",
        "parameters": [{ "name": "x", "in": "query", "type": "string", "maxLength": -1 }, body],
    }}});
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
    let mut pointers: Vec<_> = set.diagnostics().iter().map(|it| it.location.pointer.as_str()).collect();
    pointers.sort_unstable();
    let expected = [
        "/paths/~1pets/post/parameters/0/maxLength",
        "/paths/~1pets/post/parameters/1/schema/properties/a/type",
    ];
    assert_eq!(pointers, expected);
}

#[test]
fn a_reference_that_leads_nowhere_costs_its_operation() {
    let paths = json!({
        "/a": { "get": { "operationId": "a", "parameters": [{ "$ref": "#/parameters/Nope" }] } },
        "/b": { "post": { "operationId": "b", "parameters": [{ "name": "b", "in": "body", "schema": { "$ref": "#/definitions/Nope" } }] } },
        "/c": { "$ref": "#/x-paths/Nope" },
        "/d": { "get": { "operationId": "d" } },
    });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
    assert_eq!((set.tools().len(), set.skipped().len()), (1, 3), "{:?}", set.skipped());
    for skipped in set.skipped() {
        assert!(skipped.reason.contains("/Nope` leads to nothing"), "{skipped:?}"); // P06
    }
}

#[tokio::test]
async fn the_media_types_of_an_operation_come_before_those_of_the_document() {
    let server = Recorder::new(Answer::json("{}")).await;
    let body = json!({ "name": "pet", "in": "body", "schema": { "type": "object" } });
    let result = json!({ "200": { "description": "", "schema": { "type": "object" } } });
    let own = json!({ "consumes": ["application/json"], "produces": ["application/json"] });
    for (own, is_json) in [(own, true), (json!({}), false)] {
        let mut operation = json!({ "operationId": "add", "parameters": [body], "responses": result });
        operation.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let others = json!({ "consumes": ["text/plain"], "produces": ["text/plain"] });
        let document = document(json!({ "/pets": { "post": operation } }), others);
        let set = built(OpenApiToolSet::builder(document).base_url(&server.url));
        call(&set, "add", if is_json { r#"{"body":{}}"# } else { r#"{"body":"a"}"# }).await.unwrap();
        let expected = if is_json { "application/json" } else { "text/plain; charset=utf-8" };
        assert_eq!(server.one().header("content-type"), Some(expected));
        assert_eq!(set.tools()[0].definition().output_schema().is_some(), is_json);
    }
}

#[tokio::test]
async fn a_file_is_sent_in_parts_and_received_as_bytes() {
    let server = Recorder::new(Answer::of(200, "application/octet-stream", vec![0xff, 0])).await;
    let photo = json!({ "name": "photo", "in": "formData", "type": "file", "required": true });
    let file = json!({ "200": { "description": "", "schema": { "type": "file" } } });
    let paths =
        json!({ "/photos": { "post": { "operationId": "copy", "parameters": [photo], "responses": file } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    assert!(set.tools()[0].definition().output_schema().is_none());
    assert_eq!(set.diagnostics(), []);
    let output = call(&set, "copy", r#"{"body":{"photo":"YWJj"}}"#).await.unwrap();
    assert!(server.one().header("content-type").unwrap().starts_with("multipart/form-data; "));
    assert!(matches!(output.content()[1], Content::Resource { .. }), "{output:?}");
}

#[test]
fn the_body_of_an_operation_replaces_the_one_of_its_path() {
    let body = |name: &str, kind: &str| json!({ "name": name, "in": "body", "schema": { "type": kind } });
    let paths = json!({ "/pets": {
        "parameters": [body("shared", "string")],
        "post": { "operationId": "add", "parameters": [body("own", "integer")] },
    }});
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
    assert_eq!(input(&set, 0)["properties"]["body"]["type"], "integer");
}

#[tokio::test]
async fn an_application_has_the_flow_of_client_credentials() {
    let server = Recorder::new(Answer::json(r#"{"access_token":"t","token_type":"bearer"}"#)).await;
    let token_url = format!("{}/token", server.url);
    let scheme = json!({ "type": "oauth2", "flow": "application", "tokenUrl": token_url, "scopes": {} });
    let paths = json!({ "/pets": { "get": { "operationId": "list", "security": [{ "app": [] }] } } });
    let document = document(paths, json!({ "securityDefinitions": { "app": scheme } }));
    let client = Credential::client_credentials(ClientCredentials::new("id", "secret"));
    let set = built(OpenApiToolSet::builder(document).base_url(&server.url).credential("app", client));
    call(&set, "list", "{}").await.unwrap();
    let received = server.take();
    assert_eq!(received.iter().map(|it| it.target.as_str()).collect::<Vec<_>>(), ["/token", "/pets"]);
    assert_eq!(received[1].header("authorization"), Some("Bearer t"));
}
