//! Request bodies, as a server receives them.

use serde_json::{Value, json};
use test_support::http::{Answer, Received, Recorder};
use tool_openapi::{FileContent, OpenApiToolSet, OpenApiToolSetBuilder};
use tool_runtime::{ErrorKind, Tool as _, ToolError, schema::Arguments};

use crate::{built, call, document, registry};

fn posting(content: Value) -> OpenApiToolSetBuilder {
    let paths = json!({ "/x": { "post": { "operationId": "post", "requestBody": { "content": content } } } });
    let components = json!({ "components": { "schemas": {
        "File": { "type": "string", "format": "binary", "description": "A photo." },
        "Upload": { "type": "object", "properties": { "file": { "$ref": "#/components/schemas/File" } } },
    } } });
    OpenApiToolSet::builder(document(paths, components))
}

async fn attempt(set: OpenApiToolSetBuilder, body: &Value) -> Result<Received, ToolError> {
    let server = Recorder::new(Answer::json("{}")).await;
    let set = built(set.base_url(&server.url));
    call(&set, "post", &json!({ "body": body }).to_string()).await?;
    Ok(server.one())
}

async fn sent(content: Value, body: Value) -> Received {
    attempt(posting(content), &body).await.unwrap()
}

fn schema_of(set: OpenApiToolSetBuilder) -> Value {
    let set = built(set.base_url("http://h"));
    set.tools()[0].definition().input_schema().as_value()["properties"]["body"].clone()
}

const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

#[tokio::test]
async fn a_form_is_written_by_the_encoding_of_each_property() {
    let content = json!({ FORM: { "schema": { "type": "object" }, "encoding": {
        "comma": { "explode": false },
        "pipes": { "style": "pipeDelimited" },
        "deep": { "style": "deepObject", "explode": true },
        "spread": { "style": "form", "explode": true },
        "json": { "contentType": "application/json" },
    } } });
    let body = json!({
        "text": "a b&c=d+é", "list": [1, "x"], "object": { "k": [1] }, "none": null, "yes": true,
        "comma": ["a", "b"], "pipes": ["a", "b"], "deep": { "k": { "l": 1 } }, "spread": { "m": 1 }, "json": ["q"],
    });
    let received = sent(content.clone(), body).await;
    assert_eq!(received.header("content-type"), Some(FORM));
    let expected = "text=a%20b%26c%3Dd%2B%C3%A9&list=1&list=x&object=%7B%22k%22%3A%5B1%5D%7D&yes=true&comma=a,b\
                    &pipes=a%7Cb&deep%5Bk%5D%5Bl%5D=1&m=1&json=%5B%22q%22%5D";
    assert_eq!(received.text(), expected);
    let smuggled = json!({ "spread": { "deep": "x" } });
    let error = attempt(posting(content.clone()), &smuggled).await.unwrap_err();
    assert!(error.feedback().contains("`deep`"), "{error}");
    let declared = json!({ "$ref": "#/components/schemas/Upload" });
    let content =
        json!({ FORM: { "schema": { "allOf": [declared] }, "encoding": { "spread": { "explode": true } } } });
    let error = attempt(posting(content), &json!({ "spread": { "file": "x" } })).await.unwrap_err();
    assert!(error.feedback().contains("`file`, which is the name of another property"), "{error}");
    let error = attempt(posting(json!({ FORM: {} })), &json!([1])).await.unwrap_err();
    assert!(error.feedback().contains("object"), "{error}");
}

/// The parts of a body: their headers and contents.
fn parts(received: &Received) -> Vec<(String, String)> {
    let media_type = received.header("content-type").unwrap();
    let boundary = media_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    let text = received.text().strip_suffix(&format!("--{boundary}--\r\n")).unwrap();
    let delimiter = format!("--{boundary}\r\n");
    let parts = text.split(&delimiter).skip(1);
    parts
        .map(|part| {
            let (head, content) = part.split_once("\r\n\r\n").unwrap();
            (head.to_owned(), content.strip_suffix("\r\n").unwrap().to_owned())
        })
        .collect()
}

fn part(head: &str, content: &str) -> (String, String) {
    (format!("Content-Disposition: form-data; {head}"), content.to_owned())
}

#[tokio::test]
async fn a_multipart_body_has_a_part_for_each_value_and_file() {
    let file = json!({ "type": "string", "format": "binary" });
    let content = json!({ MULTIPART: {
        "schema": { "type": "object", "properties": {
            "name": { "type": "string" },
            "meta": { "type": "object" },
            "file": { "anyOf": [file, { "type": "null" }] },
            "photos": { "type": "array", "items": { "type": "string", "contentMediaType": "image/png" } },
            "icon": {},
        } },
        "encoding": {
            "icon": { "contentType": "image/png, image/jpeg", "headers": { "X-Kind": { "schema": { "const": "small" } } } },
            "meta": { "contentType": "application/vnd.x+json" },
        },
    } });
    let schema = schema_of(posting(content.clone()));
    for pointer in ["/properties/file", "/properties/photos/items", "/properties/icon"] {
        let file = schema.pointer(pointer).unwrap();
        assert_eq!(file["type"], "string", "{pointer}");
        assert!(file["description"].as_str().unwrap().contains("base64"), "{pointer}: {file}");
    }
    let body = json!({
        "name": "a\r\n--b", "meta": { "k": 1 }, "file": "aGVsbG8", "photos": ["YQ==", "data:image/gif;base64,Yg=="],
        "icon": "aWNvbg", "tags": ["x", "y"], "odd\"\r\nX: 1": 7, "none": null,
    });
    let received = sent(content, body).await;
    let expected = [
        part("name=\"name\"", "a\r\n--b"),
        part("name=\"meta\"\r\nContent-Type: application/vnd.x+json", "{\"k\":1}"),
        part("name=\"file\"; filename=\"file\"\r\nContent-Type: application/octet-stream", "hello"),
        part("name=\"photos\"; filename=\"photos\"\r\nContent-Type: application/octet-stream", "a"),
        part("name=\"photos\"; filename=\"photos\"\r\nContent-Type: image/gif", "b"),
        part("name=\"icon\"; filename=\"icon\"\r\nContent-Type: image/png\r\nX-Kind: small", "icon"),
        part("name=\"tags\"", "x"),
        part("name=\"tags\"", "y"),
        part("name=\"odd%22%0D%0AX: 1\"", "7"),
    ];
    assert_eq!(parts(&received), expected);
}

#[tokio::test]
async fn a_file_of_a_shared_component_is_base64_in_forms() {
    let content = json!({ MULTIPART: { "schema": { "$ref": "#/components/schemas/Upload" } } });
    let schema = schema_of(posting(content.clone()));
    assert!(schema.pointer("/properties/file/description").is_some(), "{schema}");
    let description = schema["properties"]["file"]["description"].as_str().unwrap();
    assert!(description.contains("A photo.") && description.contains("base64"), "{description}");
    let received = sent(content.clone(), json!({ "file": "aGVsbG8=" })).await;
    assert!(parts(&received)[0].0.contains("filename="));
    let error = attempt(posting(content), &json!({ "file": "not base64!" })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadParameter);
    assert!(error.feedback().contains("`file`") && error.feedback().contains("base64"), "{error}");
}

#[tokio::test]
async fn a_resolver_turns_references_into_files() {
    let content = json!({ MULTIPART: { "schema": { "$ref": "#/components/schemas/Upload" } } });
    let set = posting(content).files(|reference: String, cx: tool_runtime::ToolContext| async move {
        match &*reference {
            "cat" => {
                let file = FileContent::new(*b"meow").with_name("cat \"1\".png").with_media_type("image/png");
                Ok(file)
            }
            "evil" => Ok(FileContent::new(*b"").with_media_type("a/b\r\nX: 1")),
            other => {
                let message = format!("`{}` has no file `{other}`; use `cat`", cx.tool_name());
                Err(ToolError::bad_parameter(message))
            }
        }
    });
    let server = Recorder::new(Answer::json("{}")).await;
    let set = built(set.base_url(&server.url));
    let schema = set.tools()[0].definition().input_schema().as_value()["properties"]["body"].clone();
    assert!(schema["properties"]["file"]["description"].as_str().unwrap().contains("reference"), "{schema}");
    call(&set, "post", r#"{"body":{"file":"cat"}}"#).await.unwrap();
    let head = "name=\"file\"; filename=\"cat %221%22.png\"\r\nContent-Type: image/png";
    assert_eq!(parts(&server.one()), [part(head, "meow")]);
    let error = call(&set, "post", r#"{"body":{"file":"dog"}}"#).await.unwrap_err();
    assert!(error.feedback().contains("`post` has no file `dog`"), "{error}");
    assert!(call(&set, "post", r#"{"body":{"file":"evil"}}"#).await.is_err());
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn text_xml_and_bytes_are_bodies() {
    let received = sent(json!({ "text/plain": { "schema": { "type": "string" } } }), json!("é\n")).await;
    assert_eq!(
        (received.header("content-type"), received.text()),
        (Some("text/plain; charset=utf-8"), "é\n")
    );
    let xml = json!({ "application/xml": { "schema": { "type": "object", "properties": {} } } });
    let set = posting(xml.clone());
    assert_eq!(schema_of(set)["type"], "string");
    let set = built(posting(xml.clone()).base_url("http://h"));
    assert!(set.diagnostics().iter().any(|it| it.code == "body_as_text"), "{:?}", set.diagnostics());
    let received = sent(xml, json!("<a/>")).await;
    assert_eq!((received.header("content-type"), received.text()), (Some("application/xml"), "<a/>"));
    for (media_type, sent_type) in [
        ("application/octet-stream", "application/octet-stream"),
        ("image/png", "image/png"),
        ("image/*", "application/octet-stream"),
    ] {
        let content = json!({ media_type: { "schema": { "type": "string", "format": "binary" } } });
        let schema = schema_of(posting(content.clone()));
        assert_eq!(schema["contentEncoding"], "base64", "{schema}");
        let received = sent(content, json!("AP-A")).await;
        assert_eq!(
            (received.header("content-type"), &received.body[..]),
            (Some(sent_type), &[0, 0xff, 0x80][..])
        );
    }
}

#[tokio::test]
async fn json_is_chosen_before_other_media_types_unless_another_is_preferred() {
    let content = json!({
        "application/octet-stream": {}, "text/plain": {}, MULTIPART: {}, FORM: {}, "application/json; charset=utf-8": {},
    });
    let body = json!({ "a": 1 });
    let received = sent(content.clone(), body.clone()).await;
    assert_eq!(
        (received.header("content-type"), received.text()),
        (Some("application/json; charset=utf-8"), "{\"a\":1}")
    );
    let received =
        attempt(posting(content.clone()).prefer_media_type("text/csv").prefer_media_type(FORM), &body).await;
    assert_eq!(received.unwrap().text(), "a=1");
    let mut without = content;
    without.as_object_mut().unwrap().shift_remove("application/json; charset=utf-8");
    assert_eq!(sent(without, body.clone()).await.header("content-type"), Some(FORM));
    assert_eq!(sent(json!({ "*/*": {} }), body).await.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn bodies_that_are_no_objects_are_sent_as_they_are() {
    for body in [json!([1, 2]), json!("text"), json!(1.5), json!(true)] {
        let received = sent(json!({ "application/json": {} }), body.clone()).await;
        assert_eq!(received.text(), body.to_string());
    }
    let server = Recorder::new(Answer::json("{}")).await;
    let set = built(posting(json!({ "application/json": {} })).base_url(&server.url));
    call(&set, "post", "{}").await.unwrap();
    let received = server.one();
    assert_eq!((received.header("content-type"), received.text()), (None, ""));
    let error = call(&set, "post", r#"{"body":{"a":{"b":1,"b":2}}}"#).await.unwrap_err();
    assert!(error.feedback().contains("twice"), "{error}");
}

#[tokio::test]
async fn the_headers_of_the_format_are_not_those_of_a_part() {
    let fixed = |value: &str| json!({ "schema": { "const": value } });
    let headers = json!({
        "Content-Type": fixed("text/evil"), "content-disposition": fixed("attachment"), "X-Own": fixed("1"),
    });
    let content =
        json!({ MULTIPART: { "schema": { "type": "object" }, "encoding": { "a": { "headers": headers } } } });
    let set = built(posting(content.clone()).base_url("http://h"));
    assert!(set.diagnostics().is_empty(), "{:?}", set.diagnostics());
    let received = sent(content, json!({ "a": "x" })).await;
    assert_eq!(parts(&received), [part("name=\"a\"\r\nX-Own: 1", "x")]);
}

#[tokio::test]
async fn a_list_of_parts_has_none_for_null() {
    let content = json!({ MULTIPART: { "schema": { "type": "object" } } });
    let received = sent(content, json!({ "a": [null, 1, null, "x"], "b": null, "c": [null] })).await;
    assert_eq!(parts(&received), [part("name=\"a\"", "1"), part("name=\"a\"", "x")]);
}

#[tokio::test]
async fn base64_may_have_line_breaks() {
    let content = json!({ "image/png": { "schema": { "type": "string", "format": "binary" } } });
    for text in ["AP+A", "AP\n+A\r\n", " A P\t-A "] {
        assert_eq!(sent(content.clone(), json!(text)).await.body[..], [0, 0xff, 0x80], "{text:?}");
    }
}

#[tokio::test]
async fn a_name_that_stands_twice_is_refused_also_without_a_registry() {
    let server = Recorder::new(Answer::json("{}")).await;
    let set = built(posting(json!({ "application/json": {} })).base_url(&server.url));
    let cx = registry(&set).context_for("post").unwrap();
    for arguments in [r#"{"body":1,"body":2}"#, r#"{"body":[{"a":1,"\u0061":2}]}"#] {
        let prepared = set.tools()[0].prepare(Arguments::from(arguments)).unwrap();
        let error = prepared.run(&cx).await.unwrap_err();
        assert!(error.feedback().contains("twice"), "{error}");
    }
    assert!(server.take().is_empty());
}
