//! Request bodies, exactly: the media type that is chosen, the schema, and the remarks.

use serde_json::{Map, Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::{FileContent, OpenApiToolSet, OpenApiToolSetBuilder};
use tool_runtime::Tool as _;

use crate::{built, call, document};

const PLACE: &str = "/paths/~1x/post/requestBody";

/// `POST /x` with this request body.
fn posting(body: Value) -> OpenApiToolSetBuilder {
    let paths = json!({ "/x": { "post": { "operationId": "post", "requestBody": body } } });
    let schemas =
        json!({ "Text": { "type": "string", "maxLength": 3 }, "Form": { "properties": { "a": {} } } });
    OpenApiToolSet::builder(document(paths, json!({ "components": { "schemas": schemas } })))
}

/// Content of one media type.
fn content(media_type: &str, schema: &Value) -> Value {
    json!({ "content": { media_type: { "schema": schema } } })
}

/// The schema of all arguments.
fn arguments(builder: OpenApiToolSetBuilder) -> Value {
    let set = built(builder.base_url("http://h"));
    set.tools()[0].definition().input_schema().as_value().clone()
}

fn remarks(builder: OpenApiToolSetBuilder) -> Vec<String> {
    let set = built(builder.base_url("http://h"));
    let all = set.diagnostics().iter();
    all.map(|it| format!("{} {} {}: {}", it.severity, it.code, it.location.pointer, it.message)).collect()
}

#[test]
fn the_simplest_media_type_is_sent_and_the_others_are_named() {
    let form = "application/x-www-form-urlencoded";
    for (media_types, preferred, chosen) in [
        (&["application/json"][..], &[][..], None),
        (&["multipart/form-data", "application/json"], &[], Some(1)),
        (&["application/json", "application/vnd.a+json"], &[], Some(0)),
        (&["text/plain", "multipart/form-data", form], &[], Some(2)),
        (&["text/plain", "multipart/form-data"], &[], Some(1)),
        (&["application/pdf", "text/plain"], &[], Some(1)),
        (&["application/pdf", "text/plain"], &["Application/PDF; q=1"], Some(0)),
        (&["a/one", "a/two", "application/json"], &["a/two", "a/one"], Some(1)),
        (&["a/one", "application/json"], &["a/two"], Some(1)),
        (&["multipart/mixed", "text/plain"], &["multipart/mixed"], Some(1)),
    ] {
        let all: Map<_, _> = media_types.iter().map(|it| ((*it).to_owned(), json!({}))).collect();
        let builder = posting(json!({ "content": all }));
        let builder = preferred.iter().fold(builder, |builder, it| builder.prefer_media_type(it));
        let expected = chosen.map(|at: usize| {
            let others = media_types.iter().filter(|it| **it != media_types[at]);
            let others: Vec<_> = others.map(|it| format!("`{it}`")).collect();
            let message =
                format!("the request body is sent as `{}`, not as {}", media_types[at], others.join(", "));
            format!("note media_type_chosen {PLACE}/content: {message}")
        });
        assert_eq!(remarks(builder), Vec::from_iter(expected), "{media_types:?} {preferred:?}");
    }
}

#[test]
fn a_body_that_cannot_be_sent_costs_its_operation() {
    for (body, reason, place) in [
        (json!({ "content": {} }), "the request body has no content", PLACE.to_owned()),
        (json!({ "content": [] }), "the request body has no content", PLACE.to_owned()),
        (json!({}), "the request body has no content", PLACE.to_owned()),
        (
            json!({ "content": { "multipart/mixed": {}, "nothing": {} } }),
            "the request body `multipart/mixed`, `nothing` is not supported",
            format!("{PLACE}/content"),
        ),
        (json!({ "$ref": "#/gone" }), "the reference `#/gone` leads to nothing", PLACE.to_owned()),
    ] {
        let set = built(posting(body.clone()).base_url("http://h"));
        let skipped: Vec<_> = set.skipped().iter().map(|it| (&*it.reason, &*it.pointer)).collect();
        assert_eq!(skipped, [(reason, &*place)], "{body}");
        assert!(set.tools().is_empty());
    }
}

#[test]
fn a_body_is_required_and_described_as_the_document_says() {
    for (others, is_required, description) in [
        (json!({ "required": true, "description": " It. " }), true, Some("It.")),
        (json!({ "required": false, "description": "" }), false, None),
        (json!({ "required": "true", "description": 1 }), false, None),
        (json!({}), false, None),
    ] {
        let mut body = content("application/json", &json!({}));
        body.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        let schema = arguments(posting(body));
        assert_eq!(schema.get("required").is_some(), is_required, "{others}");
        let property = &schema["properties"]["body"];
        assert_eq!(property.get("description").and_then(Value::as_str), description, "{others}");
    }
}

#[tokio::test]
async fn a_range_of_media_types_becomes_one_of_them() {
    let (any, text) = (json!({}), json!({ "type": "string" }));
    let binary = json!({ "type": "string", "format": "binary" });
    for (media_type, schema, body, sent_type, secret_as_sent) in [
        ("*/*", &any, json!({ "a": 1 }), "application/json", "{\"a\":1}"),
        ("application/*", &any, json!(1), "application/json", "1"),
        ("text/*", &text, json!("a"), "text/plain; charset=utf-8", "a"),
        ("text/csv; charset=latin1", &text, json!("a"), "text/csv; charset=latin1", "a"),
        ("application/xml", &text, json!("<a/>"), "application/xml", "<a/>"),
        ("application/xml", &any, json!("<a/>"), "application/xml", "<a/>"),
        ("*/*", &binary, json!("YQ"), "application/octet-stream", "a"),
        ("application/*", &binary, json!("YQ"), "application/octet-stream", "a"),
        ("image/*", &binary, json!("data:image/gif;base64,YQ"), "image/gif", "a"),
        ("image/*", &binary, json!("data:;base64,YQ"), "application/octet-stream", "a"),
        ("image/png", &binary, json!("data:image/gif;base64,YQ"), "image/png", "a"),
    ] {
        let server = Recorder::new(Answer::json("{}")).await;
        let set = built(posting(content(media_type, schema)).base_url(&server.url));
        call(&set, "post", &json!({ "body": body }).to_string()).await.unwrap();
        let received = server.one();
        let seen = (received.header("content-type"), received.text());
        assert_eq!(seen, (Some(sent_type), secret_as_sent), "{media_type} {schema}");
    }
}

#[test]
fn the_structure_of_a_text_is_not_described() {
    let replaced = json!({ "type": "string", "description": "A text of the type `text/xml`." });
    let message = "the request body `text/xml` is a text; its structure is not described";
    let note = format!("note body_as_text {PLACE}/content/text~1xml/schema: {message}");
    for (schema, kept) in [
        (json!({ "type": "string", "maxLength": 3 }), None),
        (json!({ "type": "integer" }), None),
        (json!({ "type": "number" }), None),
        (json!({ "type": "boolean" }), None),
        (json!({ "$ref": "#/components/schemas/Text" }), Some(json!({ "type": "string", "maxLength": 3 }))),
    ] {
        let builder = || posting(content("text/xml", &schema));
        assert_eq!(arguments(builder())["properties"]["body"], kept.unwrap_or(schema.clone()));
        assert_eq!(remarks(builder()), [""; 0], "{schema}");
    }
    for (schema, is_noted) in [
        (json!({}), false),
        (json!({ "type": "object" }), true),
        (json!({ "type": ["string", "null"] }), true),
        (json!({ "description": "It." }), true),
    ] {
        let builder = || posting(content("text/xml", &schema));
        assert_eq!(arguments(builder())["properties"]["body"], replaced, "{schema}");
        assert_eq!(remarks(builder()), Vec::from_iter(is_noted.then(|| note.clone())), "{schema}");
    }
}

/// The property `file` of a form with this schema and encoding, and whether it is a file.
fn file_property(schema: &Value, encoding: &Value) -> (Value, bool) {
    let schema = json!({ "type": "object", "properties": { "file": schema } });
    let form = json!({ "schema": schema, "encoding": { "file": encoding } });
    let schema = arguments(posting(json!({ "content": { "multipart/form-data": form } })));
    let property = schema["properties"]["body"]["properties"]["file"].clone();
    let is_file = property["description"].as_str().is_some_and(|it| it.contains("file in base64"));
    (property, is_file)
}

#[test]
fn a_property_is_a_file_by_its_schema_or_by_its_encoding() {
    let text = |members: Value| {
        let mut schema = json!({ "type": "string" });
        schema.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        schema
    };
    for (schema, expected) in [
        (text(json!({ "format": "binary" })), true),
        (json!({ "format": "binary" }), true),
        (json!({ "type": ["string", "null"], "format": "binary" }), true),
        (json!({ "type": ["integer", "null"], "format": "binary" }), false),
        (json!({ "type": "integer", "format": "binary" }), false),
        (json!({ "type": "file" }), true),
        (json!({ "contentMediaType": "image/png" }), true),
        (text(json!({ "contentMediaType": "image/png" })), true),
        (text(json!({ "contentMediaType": "image/png", "contentEncoding": "binary" })), true),
        (text(json!({ "contentMediaType": "image/png", "contentEncoding": "base64" })), false),
        (text(json!({ "contentMediaType": "text/plain" })), false),
        (text(json!({ "contentEncoding": "binary" })), false),
        (text(json!({ "format": "byte" })), false),
        (json!({}), false),
    ] {
        let (property, is_file) = file_property(&schema, &json!({}));
        assert_eq!(is_file, expected, "{schema}: {property}");
        assert_eq!(is_file, property != schema, "{schema}: {property}");
    }
    for (media_types, expected) in [
        ("image/png", true),
        ("image/*", true),
        ("image/png, application/pdf", true),
        ("image/png, text/plain", false),
        ("application/json", false),
        ("*/*", false),
        ("image", false),
    ] {
        let (property, is_file) = file_property(&json!({}), &json!({ "contentType": media_types }));
        assert_eq!(is_file, expected, "{media_types}: {property}");
    }
}

#[test]
fn the_schema_of_a_file_keeps_its_description() {
    let (property, _) = file_property(&json!({ "format": "binary", "description": "A photo." }), &json!({}));
    let base64 = "The content of a file in base64.";
    let described =
        |text: String| json!({ "type": "string", "description": text, "contentEncoding": "base64" });
    assert_eq!(property, described(format!("A photo. ({base64})")));
    let (property, _) = file_property(&json!({ "format": "binary" }), &json!({}));
    assert_eq!(property, described(base64.to_owned()));
    let reference = |schema: Value| {
        let builder = posting(content("image/png", &schema));
        let resolver = |_: String, _: tool_runtime::ToolContext| async { Ok(FileContent::new(b"".to_vec())) };
        arguments(builder.files(resolver))["properties"]["body"].clone()
    };
    let what = "A reference to a file, such as its name; the program reads the file.";
    assert_eq!(reference(json!({})), json!({ "type": "string", "description": what }));
    let old = json!({ "description": "A photo." });
    assert_eq!(reference(old), json!({ "type": "string", "description": format!("A photo. ({what})") }));
}

#[test]
fn a_form_without_a_type_is_an_object() {
    let object = json!({ "type": "object" });
    for media_type in ["multipart/form-data", "application/x-www-form-urlencoded"] {
        let form =
            |schema: Value| arguments(posting(content(media_type, &schema)))["properties"]["body"].clone();
        assert_eq!(form(json!({})), object);
        assert_eq!(
            form(json!({ "properties": { "a": {} } })),
            json!({ "properties": { "a": {} }, "type": "object" })
        );
        assert_eq!(form(object.clone()), object);
        for key in ["allOf", "anyOf", "oneOf"] {
            let schema = json!({ key: [{ "properties": { "a": {} } }] });
            assert_eq!(form(schema.clone()), schema);
        }
        let component = form(json!({ "$ref": "#/components/schemas/Form" }));
        assert_eq!(component, json!({ "properties": { "a": {} } }));
    }
    let any = arguments(posting(content("application/json", &json!({}))))["properties"]["body"].clone();
    assert_eq!(any, json!({}));
}
