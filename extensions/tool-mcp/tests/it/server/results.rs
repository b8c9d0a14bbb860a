//! Results of every kind, in the form of each revision.

use rmcp::model::{ContentBlock, ResourceContents};
use serde_json::{Value, json};
use tool_runtime::{
    output::{Blob, Content, Resource, ResourceBody, ToolOutput},
    prelude::*,
    schema::OutputSchema,
};

use super::{BOTH, connect, text};

/// A point.
#[derive(serde::Serialize, tool_runtime::schemars::JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[schemars(crate = "tool_runtime::schemars")]
struct Point {
    x: i64,
}

/// Returns an object.
#[tool(register = false)]
fn object() -> Point {
    Point { x: 1 }
}

/// Returns a list.
#[tool(register = false)]
fn list() -> Vec<Point> {
    vec![Point { x: 1 }, Point { x: 2 }]
}

/// Returns a text.
#[tool(register = false)]
fn words() -> String {
    "some words".to_owned()
}

/// Fails, where it promises a list.
#[tool(register = false)]
fn failing() -> Result<Vec<i64>, ToolError> {
    Err(ToolError::failed("no list"))
}

/// Returns a number, if there is one.
#[tool(register = false)]
fn number(there_is_one: bool) -> Option<i64> {
    there_is_one.then_some(3)
}

/// Returns a point, if there is one.
#[tool(register = false)]
fn point(there_is_one: bool) -> Option<Point> {
    there_is_one.then_some(Point { x: 1 })
}

/// Explains in words, where it promises an object.
fn explaining() -> impl Tool + 'static {
    #[tool_args]
    struct NoArgs {}
    let schema = OutputSchema::deferred(|| json!({ "type": "object" }));
    let tool = ToolBuilder::new("explaining").description("Explains.").output_schema(schema);
    tool.body(tool_body!(|_: NoArgs| ToolOutput::new([Content::text("404 Not Found")]))).unwrap()
}

/// Returns content of each kind.
#[tool(register = false)]
fn mixed() -> ToolOutput {
    let resource = |body| Resource { uri: "a://b".to_owned(), mime_type: "a/b".to_owned(), body };
    let content = vec![
        Content::text("a text"),
        Content::image([1, 2, 3], "image/png"),
        Content::audio([4, 5, 6], "audio/wav"),
        Content::Resource { resource: resource(ResourceBody::Text("in it".to_owned())) },
        Content::Resource { resource: resource(ResourceBody::Blob(Blob(vec![7, 8, 9]))) },
        Content::ResourceLink { uri: "c://d".to_owned(), name: "d".to_owned(), mime_type: None },
    ];
    let meta = json!({ "k": 1 });
    ToolOutput::from(content).with_meta(meta.as_object().unwrap().clone())
}

fn tools() -> Registry {
    let tools = Registry::builder().tool::<object>().tool::<list>().tool::<words>();
    tools
        .tool::<failing>()
        .tool::<number>()
        .tool::<point>()
        .tool::<mixed>()
        .add(explaining())
        .build()
        .unwrap()
}

#[tokio::test]
async fn structured_results_match_the_listed_schema() {
    for version in BOTH {
        // E10, O07
        let it = connect(tools(), (), version.clone()).await;
        let listed = it.client.list_all_tools().await.unwrap();
        let schema = |name: &str| -> Value {
            let tool = listed.iter().find(|tool| tool.name == name).unwrap();
            tool.output_schema.as_ref().map(|it| Value::Object((**it).clone())).unwrap_or_default()
        };
        let result = it.call("object", json!({})).await;
        assert_eq!(result.structured_content, Some(json!({ "x": 1 })));
        assert_eq!(serde_json::from_str::<Value>(&text(&result)).unwrap(), json!({ "x": 1 }));
        assert_eq!(schema("object")["properties"]["x"]["type"], "integer");

        let result = it.call("list", json!({})).await;
        let points = json!([{ "x": 1 }, { "x": 2 }]);
        let (expected, at) = match version.has_initialize() {
            true => (json!({ "result": points }), "/properties/result/type"),
            false => (points, "/type"),
        };
        assert_eq!(result.structured_content, Some(expected));
        assert_eq!(schema("list").pointer(at), Some(&json!("array")));

        let result = it.call("words", json!({})).await;
        assert_eq!((text(&result).as_str(), result.structured_content), ("some words", None));
        assert_eq!(schema("words"), Value::Null);

        let result = it.call("failing", json!({})).await;
        assert_eq!((result.is_error, result.structured_content), (Some(true), None));
    }
}

#[tokio::test]
async fn a_result_without_the_promised_value_is_an_error() {
    for version in BOTH {
        let it = connect(tools(), (), version.clone()).await;
        let result = it.call("explaining", json!({})).await;
        assert_eq!((text(&result).as_str(), result.is_error), ("404 Not Found", Some(true)));
        // `null` is a value of the schema.
        for (there_is_one, value) in [(true, json!(3)), (false, Value::Null)] {
            let result = it.call("number", json!({ "there_is_one": there_is_one })).await;
            let expected = if version.has_initialize() { json!({ "result": value }) } else { value };
            assert_eq!((result.is_error, result.structured_content), (Some(false), Some(expected)));
        }
    }
}

#[tokio::test]
async fn an_object_in_the_place_of_another_value_is_wrapped_as_the_other() {
    for version in BOTH {
        let it = connect(tools(), (), version.clone()).await;
        for (there_is_one, value) in [(true, json!({ "x": 1 })), (false, Value::Null)] {
            let result = it.call("point", json!({ "there_is_one": there_is_one })).await;
            let expected = if version.has_initialize() { json!({ "result": value }) } else { value };
            assert_eq!(result.structured_content, Some(expected));
        }
    }
}

#[tokio::test]
async fn content_of_every_kind_arrives() {
    for version in BOTH {
        // O07
        let it = connect(tools(), (), version).await;
        let result = it.call("mixed", json!({})).await;
        let [a, b, c, d, e, f] = &result.content[..] else { panic!("{result:?}") };
        assert_eq!(a.as_text().unwrap().text, "a text");
        assert_eq!(*b, ContentBlock::image("AQID", "image/png"));
        assert_eq!(
            serde_json::to_value(c).unwrap(),
            json!({ "type": "audio", "data": "BAUG", "mimeType": "audio/wav" })
        );
        let text = ResourceContents::text("in it", "a://b").with_mime_type("a/b");
        assert_eq!(*d, ContentBlock::resource(text));
        assert_eq!(*e, ContentBlock::resource(ResourceContents::blob("BwgJ", "a://b").with_mime_type("a/b")));
        assert_eq!(
            serde_json::to_value(f).unwrap(),
            json!({ "type": "resource_link", "uri": "c://d", "name": "d" })
        );
        assert_eq!(result.meta.unwrap().0.get("k"), Some(&json!(1)));
    }
}
