//! From documents to definitions.

use serde_json::json;
use test_support::http::{Answer, Recorder};
use tool_openapi::{Document, Fetch, OpenApiErrorKind, OpenApiToolSet};
use tool_runtime::Tool as _;

use crate::{built, document, file, petstore};

fn names(set: &OpenApiToolSet) -> Vec<&str> {
    set.tools().iter().map(|tool| tool.definition().name().as_str()).collect()
}

#[tokio::test]
async fn each_operation_is_the_same_tool_from_text_file_url_and_value() {
    let set = OpenApiToolSet::import(petstore()).unwrap();
    assert_eq!((set.tools().len(), set.skipped()), (20, &[][..])); // P01
    assert!(names(&set).contains(&"getPetById"));
    let json = std::fs::read_to_string(file("petstore-3.0.json")).unwrap();
    // A text that does not begin with `{` is YAML.
    let yaml = format!("---\n{json}");
    let folder = std::env::temp_dir().join(format!("tool-openapi-factories-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("petstore.yaml"), &yaml).unwrap();
    let of_yaml_file = Document::from_file(folder.join("petstore.yaml"));
    std::fs::remove_dir_all(&folder).unwrap();
    let mut documents = vec![
        ("text of JSON", Document::from_text(&json)),
        ("text of YAML", Document::from_text(&yaml)),
        ("file of JSON", Document::from_file(file("petstore-3.0.json"))),
        ("file of YAML", of_yaml_file),
    ];
    for (what, text) in [("URL of JSON", &json), ("URL of YAML", &yaml)] {
        let server = Recorder::new(Answer::of(200, "text/plain", text.clone())).await;
        documents.push((what, Document::fetch(Fetch::new(&server.url).allow_private()).await));
    }
    let imported = |document: Document| {
        let set = built(OpenApiToolSet::builder(document).base_url("http://h"));
        assert_eq!(set.skipped(), []);
        let definitions: Vec<_> = set.tools().iter().map(|it| it.definition().clone()).collect();
        (definitions, set.diagnostics().to_vec())
    };
    let expected = imported(Document::from_value(serde_json::from_str(&json).unwrap()).unwrap());
    assert_eq!(expected.0.len(), 20); // P01
    for (what, document) in documents {
        assert_eq!(imported(document.unwrap()), expected, "{what}"); // P02
    }
}

#[test]
fn a_malformed_text_names_its_format() {
    for (text, format) in [("{\"openapi\":", "JSON"), ("openapi: [", "YAML"), (" \n{ openapi: 3 }", "JSON")] {
        let error = Document::from_text(text).unwrap_err();
        assert_eq!(error.kind(), OpenApiErrorKind::Malformed);
        assert!(error.to_string().contains(format), "{error}"); // P02
    }
}

#[test]
fn what_is_no_openapi_document_is_named() {
    for (text, received) in [
        ("", "received nothing"),
        ("hello", "received a text"),
        ("[]", "received a list"),
        (" <!doctype html><p>Not found</p>", "received a page of HTML or XML"),
        ("asyncapi: 3.0.0", "received an AsyncAPI document"),
        (r#"{"$schema":"https://json-schema.org/draft/2020-12/schema"}"#, "received a JSON Schema"),
        (
            r#"{"info":{"schema":"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"}}"#,
            "a Postman collection",
        ),
    ] {
        let error = Document::from_text(text).unwrap_err().to_string();
        assert!(error.starts_with("expected an OpenAPI document") && error.contains(received), "{error}"); // P02
    }
}

#[test]
fn parameters_of_a_path_belong_to_each_of_its_operations() {
    let id = |kind| json!({ "name": "id", "in": "path", "required": true, "schema": { "type": kind } });
    let paths = json!({ "/pets/{id}": {
        "parameters": [id("string")],
        "get": { "operationId": "get" },
        "put": { "operationId": "put", "parameters": [id("integer")] },
    }});
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
    let schema = |at: usize| set.tools()[at].definition().input_schema().as_value().clone();
    assert_eq!(schema(0)["properties"]["id"]["type"], "string"); // P05
    assert_eq!(schema(0)["required"], json!(["id"])); // P05
    assert_eq!(schema(1)["properties"]["id"]["type"], "integer"); // P05
}

#[test]
fn a_document_without_servers_needs_a_base_url() {
    let paths = json!({ "/pets": { "get": {} } });
    let error = OpenApiToolSet::import(document(paths.clone(), json!({}))).unwrap_err();
    assert_eq!(error.kind(), OpenApiErrorKind::Config);
    assert!(error.to_string().contains("`base_url`"), "{error}"); // P04
    assert!(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h/v1/").build().is_ok());
}

#[test]
fn hints_follow_from_the_method_and_claim_no_more() {
    let methods = ["get", "put", "post", "delete", "patch", "head"];
    let item: serde_json::Map<_, _> = methods.iter().map(|it| ((*it).to_owned(), json!({}))).collect();
    let set = built(OpenApiToolSet::builder(document(json!({ "/a": item }), json!({}))).base_url("http://h"));
    let hints = |method: &str| {
        let tool = set.tools().iter().find(|it| it.definition().name().as_str() == format!("{method}_a"));
        let metadata = tool.unwrap().definition().metadata().clone();
        (metadata.read_only, metadata.idempotent, metadata.destructive)
    };
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(["get", "head"].map(hints), [(yes, yes, no); 2]); // P14
    assert_eq!(hints("delete"), (no, yes, yes)); // P14
    assert_eq!(hints("put"), (no, yes, None));
    assert_eq!(["post", "patch"].map(hints), [(no, no, None); 2]);
}

#[test]
fn an_output_schema_stays_small_where_every_component_leads_to_all_others() {
    let long = "a".repeat(1_000);
    let component = |at: usize| {
        let next = |step: usize| json!({ "$ref": format!("#/components/schemas/S{}", (at + step) % 500) });
        json!({ "type": "object", "description": long, "properties": { "a": next(1), "b": next(7), "c": next(31) } })
    };
    let schemas: serde_json::Map<_, _> = (0..500).map(|at| (format!("S{at}"), component(at))).collect();
    let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/S0" } } });
    let paths =
        json!({ "/a": { "get": { "responses": { "200": { "description": "", "content": content } } } } });
    let components = json!({ "components": { "schemas": schemas } });
    let set = built(OpenApiToolSet::builder(document(paths, components)).base_url("http://h"));
    let schema = set.tools()[0].definition().output_schema().unwrap().as_value().to_string();
    assert!((30_000..50_000).contains(&schema.len()), "{}", schema.len());
    assert!(schema.contains("too large to be shown in full"));
}

#[test]
fn the_operations_of_version_3_2_are_tools_and_webhooks_and_callbacks_are_not() {
    let set = built(OpenApiToolSet::builder(Document::from_file(file("library-3.2.yaml")).unwrap()));
    let expected = ["findBooks", "searchBooks", "copyBooks", "getBook", "followBooks", "importBooks"];
    assert_eq!(names(&set), expected); // P01
    let books = set.tools()[0].definition().output_schema().unwrap().as_value();
    assert_eq!(books["type"], "array"); // a media type by reference
    assert!(set.tools()[4].definition().output_schema().is_none()); // a stream of events is text

    let event = json!({ "post": { "operationId": "event" } });
    let callbacks = json!({ "done": { "{$request.query.url}": event } });
    let paths = json!({ "/orders": { "post": { "operationId": "order", "callbacks": callbacks } } });
    let webhooks = json!({ "webhooks": { "event": event } });
    let set = built(OpenApiToolSet::builder(document(paths, webhooks)).base_url("http://h"));
    assert_eq!(names(&set), ["order"]);
}

#[test]
fn a_deprecated_operation_says_so_and_unknown_arguments_are_refused() {
    let paths = json!({ "/a": { "get": { "operationId": "a", "deprecated": true }, "query": { "operationId": "b" } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
    let [a, b] = [0, 1].map(|at: usize| set.tools()[at].definition());
    assert_eq!(a.metadata().custom.get("deprecated"), Some(&json!(true)));
    assert_eq!(b.metadata().custom.get("deprecated"), None);
    assert_eq!((a.metadata().read_only, b.metadata().read_only), (Some(true), Some(true))); // P14
    assert_eq!(a.input_schema().as_value()["additionalProperties"], json!(false)); // P13
}

/// The codes of diagnostics in the sources below `folder`.
fn codes(folder: &std::path::Path, found: &mut std::collections::BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            codes(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for before in [".warn(", ".note(", ".warn_document(", "code:", "MALFORMED: &str ="] {
            let codes = text.split(before).skip(1).filter_map(|it| it.trim_start().strip_prefix('"'));
            found.extend(codes.filter_map(|it| it.split('"').next()).map(str::to_owned));
        }
    }
}

#[test]
fn every_diagnostic_is_explained() {
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = std::collections::BTreeSet::new();
    codes(&sources, &mut found);
    let page = std::fs::read_to_string(sources.join("lib.rs")).unwrap();
    let explained = page.lines().filter_map(|it| it.strip_prefix("//! | `")?.split_once("` | "));
    let explained: Vec<_> =
        explained.filter(|(_, it)| it.split('|').count() == 3).map(|(code, _)| code).collect();
    assert!(found.len() > 20 && explained.is_sorted());
    assert_eq!(explained, found.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn properties_of_clashing_names_are_those_of_no_other_parameter() {
    let parameter =
        |name: &str, location: &str| json!({ "name": name, "in": location, "required": true, "schema": {} });
    let parameters = [
        parameter("id", "path"),
        parameter("id", "query"),
        parameter("id__path", "query"),
        parameter("id__path_", "header"),
    ];
    let paths = json!({ "/pets/{id}": { "get": { "operationId": "get", "parameters": parameters } } });
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
    let schema = set.tools()[0].definition().input_schema().as_value();
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["id__path__", "id__query", "id__path", "id__path_"]); // P07
}

#[test]
fn a_list_of_more_than_a_thousand_parameters_costs_its_operation() {
    for count in [1000, 1001] {
        let parameter = |at: usize| json!({ "name": format!("p{at}"), "in": "query", "schema": {} });
        let parameters: Vec<_> = (0..count).map(parameter).collect();
        let paths = json!({ "/pets": { "get": { "operationId": "get", "parameters": parameters } } });
        let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
        let reasons: Vec<_> = set.skipped().iter().map(|it| it.reason.as_str()).collect();
        let expected: &[&str] = if count == 1000 { &[] } else { &["there are more than 1000 parameters"] };
        assert_eq!(reasons, expected);
    }
}
