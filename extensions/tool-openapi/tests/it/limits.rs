//! Limits, at which a document is read, and one above, at which it is not.

use serde_json::{Value, json};
use tool_openapi::{Document, OpenApiErrorKind, OpenApiToolSet};
use tool_runtime::Tool as _;

use crate::{built, document};

/// `inner` within `levels` objects with the member `key`.
fn nested(levels: usize, key: &str, inner: Value) -> Value {
    (0..levels).fold(inner, |inner, _| json!({ key: inner }))
}

/// `inner` within `levels` lists of one schema.
fn branches(levels: usize, keyword: &str, inner: Value) -> Value {
    (0..levels).fold(inner, |inner, _| json!({ keyword: [inner] }))
}

#[test]
fn a_document_is_nested_to_a_limit() {
    let root = |inner: Value| json!({ "openapi": "3.1.0", "info": { "title": "It", "version": "1" }, "paths": {}, "x-deep": inner });
    // Two levels for each branch, and one for the document.
    for (inner, is_read) in [
        (nested(159, "a", json!(1)), true),
        (nested(160, "a", json!(1)), false),
        (nested(158, "a", json!([])), true),
        (nested(159, "a", json!([])), false),
        (nested(159, "a", json!({})), false),
        (branches(79, "a", json!({})), true),
        (branches(79, "a", json!({ "a": {} })), false),
    ] {
        match Document::from_value(root(inner)) {
            Ok(_) => assert!(is_read),
            Err(error) => {
                assert!(!is_read, "{error}");
                assert_eq!(error.kind(), OpenApiErrorKind::Unsupported);
                assert_eq!(error.to_string(), "the document is nested more than 160 levels deep");
            }
        }
    }
}

#[test]
fn the_parameters_of_an_operation_of_swagger_have_a_limit() {
    let list = |name: &str, count: usize| -> Value {
        (0..count)
            .map(|at| json!({ "name": format!("{name}{at}"), "in": "query", "type": "integer" }))
            .collect()
    };
    for (shared, own, is_read) in [
        (1000, 0, true),
        (0, 1000, true),
        (998, 2, true),
        (1001, 0, false),
        (0, 1001, false),
        (999, 2, false),
    ] {
        let paths = json!({ "/pets": {
            "parameters": list("s", shared), "get": { "operationId": "get", "parameters": list("o", own) },
        }});
        let root = json!({ "swagger": "2.0", "info": { "title": "It", "version": "1" }, "paths": paths });
        let set = built(OpenApiToolSet::builder(Document::from_value(root).unwrap()).base_url("http://h"));
        let reasons: Vec<_> = set.skipped().iter().map(|it| it.reason.as_str()).collect();
        if is_read {
            assert_eq!(reasons, [""; 0], "{shared} {own}");
            let schema = set.tools()[0].definition().input_schema().as_value();
            let properties = schema["properties"].as_object().unwrap();
            assert_eq!(properties.len(), shared + own);
            assert!(properties.values().all(|it| it["type"] == "integer"));
        } else {
            assert_eq!(reasons, ["there are more than 1000 parameters"], "{shared} {own}");
        }
    }
}

/// The smallest limit of definitions at which all operations of `root` are imported.
fn smallest_limit(root: &Document) -> usize {
    let fits = |limit: usize| {
        let builder = OpenApiToolSet::builder(root.clone()).base_url("http://h").definitions_limit(limit);
        builder.build().is_ok_and(|set| set.skipped().is_empty())
    };
    let (mut low, mut high) = (0, 1 << 20);
    assert!(fits(high));
    while low < high {
        let middle = low.midpoint(high);
        if fits(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// `POST /it` with a body of `content`, and these components.
fn posting(content: Value, schemas: Value) -> Document {
    let operation = json!({ "operationId": "it", "requestBody": { "required": true, "content": content } });
    document(json!({ "/it": { "post": operation } }), json!({ "components": { "schemas": schemas } }))
}

#[test]
fn a_component_counts_with_its_text_its_name_and_its_punctuation() {
    let body = |reference: &str| json!({ "application/json": { "schema": { "$ref": reference } } });
    let text = json!({ "type": "string" });
    let one = smallest_limit(&posting(body("#/components/schemas/A"), json!({ "A": text })));
    let list = json!({ "type": "array", "items": { "$ref": "#/components/schemas/Bcd" } });
    let two = smallest_limit(&posting(body("#/components/schemas/A"), json!({ "A": list, "Bcd": text })));
    // The list replaces the text, which is a component of its own: its text, its name, and `"":,`.
    let list = json!({ "type": "array", "items": { "$ref": "#/$defs/Bcd" } }).to_string();
    assert_eq!(two - one, list.len() + "Bcd".len() + 4, "{one} {two}");
    // Each component counts once.
    let twice = json!({ "type": "array", "items": { "$ref": "#/components/schemas/Bcd" },
        "contains": { "$ref": "#/components/schemas/Bcd" } });
    let again = smallest_limit(&posting(body("#/components/schemas/A"), json!({ "A": twice, "Bcd": text })));
    assert_eq!(again - two, r##","contains":{"$ref":"#/$defs/Bcd"}"##.len());
}

#[test]
fn a_property_of_a_form_counts_with_its_name_its_media_type_and_its_headers() {
    let form = |encoding: Value| {
        let content =
            json!({ "multipart/form-data": { "schema": { "type": "object" }, "encoding": encoding } });
        smallest_limit(&posting(content, json!({})))
    };
    let header = |name: &str, value: &str| json!({ name: { "schema": { "const": value } } });
    let plain = form(json!({ "a": {} }));
    assert_eq!(form(json!({ "abc": {} })) - plain, 2);
    assert_eq!(form(json!({ "a": { "contentType": "text/plain" } })) - plain, "text/plain".len());
    assert_eq!(form(json!({ "a": { "headers": header("X-A", "12345") } })) - plain, 32 + 3 + 5);
    let all = json!({ "contentType": "text/plain", "headers": header("X-A", "12345") });
    assert_eq!(form(json!({ "a": all })) - plain, "text/plain".len() + 32 + 3 + 5);
    let two = form(json!({ "a": {}, "b": {} }));
    assert_eq!(form(json!({ "a": {}, "b": {}, "c": {} })) - two, two - plain);
}

/// The schema of the property `file` of a form with these properties around it.
fn property_of_form(schema: Value, schemas: Value) -> Value {
    let content = json!({ "multipart/form-data": { "schema": schema } });
    let set = built(OpenApiToolSet::builder(posting(content, schemas)).base_url("http://h"));
    let mut body = set.tools()[0].definition().input_schema().as_value()["properties"]["body"].clone();
    while body.get("properties").is_none() {
        body = ["allOf", "anyOf", "oneOf"].iter().find_map(|key| body.get(*key)).unwrap()[0].clone();
    }
    body["properties"]["file"].clone()
}

#[test]
fn a_file_is_found_within_branches_to_a_limit() {
    let binary = json!({ "type": "string", "format": "binary" });
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for (levels, is_file) in [(0, true), (1, true), (16, true), (17, false)] {
            let form = json!({ "type": "object", "properties": { "file": branches(levels, keyword, binary.clone()) } });
            let property = property_of_form(form, json!({}));
            assert_eq!(property["contentEncoding"] == "base64", is_file, "{levels} {keyword}: {property}");
            // The branches are around the form.
            let form = json!({ "type": "object", "properties": { "file": binary } });
            let property = property_of_form(branches(levels, keyword, form), json!({}));
            assert_eq!(property["contentEncoding"] == "base64", is_file, "{levels} {keyword}: {property}");
        }
    }
    // A list of files, and a file that may be null.
    let list = json!({ "type": "array", "items": binary, "description": "All.", "minItems": 1, "maxItems": 2, "x": 3 });
    let form = json!({ "type": "object", "properties": { "file": list } });
    let file = json!({ "type": "string", "description": "The content of a file in base64.", "contentEncoding": "base64" });
    let expected =
        json!({ "type": "array", "items": file, "description": "All.", "minItems": 1, "maxItems": 2 });
    assert_eq!(property_of_form(form, json!({})), expected);
    let form =
        json!({ "type": "object", "properties": { "file": { "anyOf": [{ "type": "null" }, binary] } } });
    assert_eq!(property_of_form(form, json!({})), file);
    let form = json!({ "type": "object", "properties": { "file": { "anyOf": [{ "type": "null" }, { "type": "string" }] } } });
    assert_eq!(property_of_form(form.clone(), json!({})), form["properties"]["file"]);
}

#[test]
fn a_form_has_copies_of_a_limited_number_of_components() {
    let file =
        |at: usize| json!({ "properties": { format!("f{at}"): { "type": "string", "format": "binary" } } });
    for (count, copies) in [(200, 200), (201, 200)] {
        let schemas = (0..count).map(|at| (format!("C{at}"), file(at))).collect();
        let parts = (0..count).map(|at| json!({ "$ref": format!("#/components/schemas/C{at}") }));
        let form = json!({ "type": "object", "allOf": parts.collect::<Vec<_>>() });
        let content = json!({ "multipart/form-data": { "schema": form } });
        let set =
            built(OpenApiToolSet::builder(posting(content, Value::Object(schemas))).base_url("http://h"));
        let text = set.tools()[0].definition().input_schema().as_value().to_string();
        assert_eq!(text.matches(r#""contentEncoding":"base64""#).count(), copies, "{count}");
    }
}

#[test]
fn a_long_name_of_a_component_has_a_hash() {
    for (chars, is_shortened) in [(64, false), (65, true)] {
        let name = "n".repeat(chars);
        let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
        let content = json!({ "application/json": { "schema": { "items": schema, "not": schema } } });
        // As large as a component that is not copied into the schema.
        let schemas = json!({ name: { "type": "string", "description": "d".repeat(5000) } });
        let set = built(OpenApiToolSet::builder(posting(content, schemas)).base_url("http://h"));
        let root = set.tools()[0].definition().input_schema().as_value().clone();
        let names: Vec<_> = root["$defs"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        assert_eq!(names[0].starts_with(&format!("{}_", "n".repeat(64))), is_shortened, "{names:?}");
        assert_eq!(names[0].len(), if is_shortened { 64 + 1 + 10 } else { 64 }, "{names:?}");
    }
}

/// Components `C0` to `C<last>`, each of which refers to the next one in `folder`; the last one is `end`.
fn chain(folder: &str, last: usize, end: &Value) -> Value {
    let reference = |at: usize| json!({ "$ref": format!("#/components/{folder}/C{}", at + 1) });
    let component = |at: usize| (format!("C{at}"), if at == last { end.clone() } else { reference(at) });
    Value::Object((0..=last).map(component).collect())
}

#[test]
fn references_are_followed_from_one_to_the_next_to_a_limit() {
    let id = json!({ "name": "id", "in": "query", "required": true, "schema": { "type": "integer" } });
    for (last, is_read) in [(0, true), (31, true), (32, false)] {
        let operation =
            json!({ "operationId": "get", "parameters": [{ "$ref": "#/components/parameters/C0" }] });
        let components = json!({ "components": { "parameters": chain("parameters", last, &id) } });
        let document = document(json!({ "/it": { "get": operation } }), components);
        let set = built(OpenApiToolSet::builder(document).base_url("http://h"));
        let read = set.tools().first().is_some_and(|it| {
            it.definition().input_schema().as_value()["properties"]["id"]["type"] == "integer"
        });
        assert_eq!(read, is_read, "{last}: {:?} {:?}", set.skipped(), set.diagnostics());
        let all = format!("{:?} {:?}", set.skipped(), set.diagnostics());
        assert_eq!(all.contains("leads to itself, or over more than 32 others"), !is_read, "{last}: {all}");
    }
    let integer = json!({ "type": "integer" });
    for (last, is_read) in [(0, true), (32, true), (33, false)] {
        let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/C0" } } });
        let document = posting(content, chain("schemas", last, &integer));
        let set = built(OpenApiToolSet::builder(document).base_url("http://h"));
        let all = format!("{:?} {:?}", set.skipped(), set.diagnostics());
        assert_eq!(all.contains("leads to itself, or over more than 32 others"), !is_read, "{last}: {all}");
    }
}

#[test]
fn a_path_and_the_url_of_a_server_have_a_length_limit() {
    for (length, is_read) in [(1024, true), (1025, false)] {
        let path = format!("/{}", "a".repeat(length - 1));
        let set = document(json!({ path.as_str(): { "get": {} } }), json!({}));
        let set = built(OpenApiToolSet::builder(set).base_url("http://h"));
        assert_eq!((set.tools().len(), set.skipped().len()), (usize::from(is_read), usize::from(!is_read)));
        if let Some(skipped) = set.skipped().first() {
            assert_eq!(skipped.operation, path[..200]);
            assert_eq!(skipped.reason, "the path has 1025 bytes; at most 1024 are carried");
        }
    }
    // The name of a path that is skipped is cut only if it is too long, and between characters.
    let skipped = |path: &str| {
        let set = document(json!({ path: 7, "/other": { "get": {} } }), json!({}));
        built(OpenApiToolSet::builder(set).base_url("http://h")).skipped()[0].operation.clone()
    };
    let longest = format!("/{}", "a".repeat(1023));
    assert_eq!(skipped(&longest), longest);
    let wide = format!("/{}", "é".repeat(512));
    assert_eq!((wide.len(), skipped(&wide)), (1025, format!("/{}", "é".repeat(99))));
    for (length, is_read) in [(4096, true), (4097, false)] {
        let url = format!("https://a.example/{}", "a".repeat(length - "https://a.example/".len()));
        let paths = json!({ "/a": { "get": {} } });
        let set = built(OpenApiToolSet::builder(document(paths, json!({ "servers": [{ "url": url }] }))));
        assert_eq!(set.tools().len(), usize::from(is_read), "{:?}", set.skipped());
    }
    for (count, reason) in [(16, None), (17, Some("1 more methods of the path; at most 16 are carried"))] {
        let others: serde_json::Map<_, _> = (0..count).map(|at| (format!("M{at}"), json!({}))).collect();
        let paths = json!({ "/a": { "additionalOperations": others } });
        let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"));
        assert_eq!(set.tools().len(), 16);
        assert_eq!(set.skipped().first().map(|it| &*it.reason), reason);
    }
}

#[test]
fn a_property_of_the_other_direction_is_not_required_within_a_number_of_parts() {
    let hidden = json!({ "properties": { "id": { "type": "integer", "readOnly": true } } });
    for (others, is_required) in [(0, false), (62, false), (63, false), (64, true)] {
        let mut parts: Vec<_> = (0..others).map(|_| json!({ "description": "It." })).collect();
        parts.push(hidden.clone());
        let schema = json!({ "type": "object", "required": ["id", "name"], "allOf": parts });
        let set = posting(json!({ "application/json": { "schema": schema } }), json!({}));
        let set = built(OpenApiToolSet::builder(set).base_url("http://h"));
        let body = &set.tools()[0].definition().input_schema().as_value()["properties"]["body"];
        let required = if is_required { json!(["id", "name"]) } else { json!(["name"]) };
        assert_eq!(body["required"], required, "{others}");
    }
}
