//! Types of stream items, and their collected results.

use std::{borrow::Cow, error::Error, rc::Rc, sync::Arc};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tool_runtime::{
    Content, ErrorKind,
    output::{Actions, Stream},
    prelude::*,
    registry::RegistryBuilder,
    schemars, serde,
};

use crate::{call, definition, failures::Unprintable};

/// Defines tools that stream the items of the list.
macro_rules! streams {
    ($($name:ident() -> $item:ty { $($value:expr),* })*) => { $(
        /// Streams.
        #[tool(register = false)]
        fn $name() -> impl Stream<Item = $item> {
            let items: Vec<$item> = vec![$($value),*];
            stream::iter(items)
        }
    )* };
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
enum Light {
    Green,
    Red,
}

streams! {
    no_string() -> String {}
    no_str() -> &'static str {}
    no_cow() -> Cow<'static, str> {}
    no_box() -> Box<str> {}
    no_char() -> char {}
    no_fallible_text() -> Result<String, ToolError> {}
    no_optional() -> Option<String> {}
    no_value() -> Value {}
    no_light() -> Light {}
    no_output() -> ToolOutput {}
    no_unit() -> () {}

    some_string() -> String { "a".to_owned(), " b".to_owned() }
    some_str() -> &'static str { "a", " b" }
    some_cow() -> Cow<'static, str> { "a".into(), " b".into() }
    some_box() -> Box<str> { "a".into(), " b".into() }
    some_shared() -> Arc<str> { "a".into(), " b".into() }
    some_char() -> char { 'a', ' ', 'b' }
    some_fallible_text() -> Result<String, ToolError> { Ok("a".to_owned()), Ok(" b".to_owned()) }
    some_optional() -> Option<String> { Some("a".to_owned()), Some("b".to_owned()) }
    some_none() -> Option<String> { Some("a".to_owned()), None }
    some_optional_fallible() -> Option<Result<u8, String>> { Some(Ok(1)), None, Some(Err("torn".to_owned())) }
    some_value() -> Value { json!("a"), json!("b") }
    some_light() -> Light { Light::Green, Light::Red }
    some_unit() -> () { (), () }
    some_content() -> Content { Content::text("a"), Content::image([1], "image/png") }
    some_output() -> ToolOutput {
        ToolOutput::from("a").with_details(json!("first")),
        ToolOutput::json(&json!({ "n": 1 })).unwrap().with_actions(asking("x", true)),
        ToolOutput::new([Content::text("b")]).with_details(json!("last")).with_actions(asking("y", false))
    }
}

fn asking(key: &str, terminate: bool) -> Actions {
    let state = serde_json::Map::from_iter([(key.to_owned(), json!(1))]);
    Actions { terminate, state, ..Actions::default() }
}

macro_rules! of {
    ($name:ident) => {
        (Registry::builder().tool::<$name>(), stringify!($name))
    };
}

fn collected((tools, name): (RegistryBuilder, &str)) -> ToolOutput {
    call(tools, name, "").unwrap()
}

fn schema((tools, _): (RegistryBuilder, &str)) -> Option<Value> {
    definition(tools).output_schema().map(|schema| schema.as_value().clone())
}

// B26
#[test]
fn text_items_are_concatenated_even_if_there_are_none() {
    for tool in [of!(no_string), of!(no_str), of!(no_cow), of!(no_box), of!(no_char), of!(no_fallible_text)] {
        assert_eq!(collected(tool).structured(), Some(json!("")));
    }
    for tool in [
        of!(some_string),
        of!(some_str),
        of!(some_cow),
        of!(some_box),
        of!(some_shared),
        of!(some_char),
        of!(some_fallible_text),
    ] {
        assert_eq!(collected(tool).structured(), Some(json!("a b")));
    }
    for tool in [of!(no_string), of!(no_cow), of!(no_char), of!(some_fallible_text)] {
        assert_eq!(schema(tool), Some(json!({ "type": "string" })));
    }
}

// B26
#[test]
fn value_items_are_collected_into_a_list() {
    for tool in [of!(no_optional), of!(no_value), of!(no_light)] {
        assert_eq!(collected(tool).text(), "[]");
    }
    assert_eq!(collected(of!(some_optional)).text(), r#"["a","b"]"#);
    assert_eq!(collected(of!(some_none)).text(), r#"["a",null]"#);
    assert_eq!(collected(of!(some_value)).text(), r#"["a","b"]"#);
    assert_eq!(collected(of!(some_light)).text(), r#"["Green","Red"]"#);
    let optional = json!({ "type": "array", "items": { "type": ["string", "null"] } });
    assert_eq!(schema(of!(some_optional)), Some(optional));
    assert_eq!(schema(of!(some_value)), Some(json!({ "type": "array", "items": true })));
    let lights = json!({ "type": "array", "items": { "type": "string", "enum": ["Green", "Red"] } });
    assert_eq!(schema(of!(some_light)), Some(lights));
}

#[test]
fn output_items_are_merged_into_one_output() {
    let output = collected(of!(some_output));
    let blocks = [Content::text("a"), Content::text(r#"{"n":1}"#), Content::text("b")];
    assert_eq!(output.content(), blocks.as_slice());
    assert_eq!(output.structured(), Some(json!(["a", { "n": 1 }])));
    assert_eq!(output.details(), Some(&json!("last")));
    let actions = output.actions().unwrap();
    assert!(actions.terminate);
    assert_eq!(Value::from(actions.state.clone()), json!({ "x": 1, "y": 1 }));
    let output = collected(of!(some_content));
    assert_eq!(output.content(), [Content::text("a"), Content::image([1], "image/png")].as_slice());
    assert_eq!(output.structured(), None);
    for none in [of!(no_output), of!(no_unit), of!(some_unit)] {
        assert!(collected(none).is_empty());
    }
    for tool in [of!(some_output), of!(some_content), of!(no_unit)] {
        assert_eq!(schema(tool), None);
    }
}

type Items<T> = BoxStream<'static, T>;

/// Tools that fail with their first item.
macro_rules! failures {
    ($($name:ident: $error:ty)*) => { $(
        /// Fails.
        #[tool(register = false)]
        fn $name() -> Items<Result<u8, $error>> {
            stream::once(async { Err(crate::failures::$name()) }).boxed()
        }
    )* };
}

failures! {
    ours: ToolError
    converted: Unprintable
    any_ours: anyhow::Error
    any_context: anyhow::Error
    any_other: anyhow::Error
    boxed: Box<dyn Error + Send + Sync>
    chained: crate::failures::Chained
    message: &'static str
}

// B08, B26
#[test]
fn an_item_fails_like_a_result() {
    let first = [
        of!(ours),
        of!(converted),
        of!(any_ours),
        of!(any_context),
        of!(any_other),
        of!(boxed),
        of!(chained),
        of!(message),
    ];
    let whole = crate::failures::every();
    assert_eq!(first.len(), whole.len());
    for ((tools, name), (others, other)) in first.into_iter().zip(whole) {
        let (item, whole) = (call(tools, name, "").unwrap_err(), call(others, other, "").unwrap_err());
        assert_eq!(item.kind(), whole.kind(), "{name}");
        assert_eq!(item.feedback(), whole.feedback(), "{name}");
        assert_eq!(item.source().map(ToString::to_string), whole.source().map(ToString::to_string), "{name}");
    }
}

#[test]
fn an_error_of_an_item_need_not_be_send() {
    /// Counts until it fails.
    #[tool(register = false)]
    fn local() -> impl Stream<Item = Result<u8, Rc<str>>> {
        stream::iter(1..3).map(|n| if n < 2 { Ok(n) } else { Err("torn".into()) })
    }
    let error = call(of!(local).0, "local", "").unwrap_err();
    assert_eq!((error.kind(), error.feedback()), (ErrorKind::Failed, "torn".to_owned()));
    assert_eq!(error.details(), Some(&json!([1])));
}

#[test]
fn a_failed_optional_item_is_an_error() {
    let error = call(of!(some_optional_fallible).0, "some_optional_fallible", "").unwrap_err();
    assert_eq!(error.feedback(), "torn");
    assert_eq!(error.details(), Some(&json!([1, null])));
    let number = json!({ "type": ["integer", "null"], "minimum": 0, "maximum": 255 });
    assert_eq!(schema(of!(some_optional_fallible)), Some(json!({ "type": "array", "items": number })));
}

// The type of the stream is an alias.
#[test]
fn a_named_stream_type_has_the_schema_of_an_opaque_one() {
    /// Streams.
    #[tool(register = false)]
    fn named() -> Items<Result<String, ToolError>> {
        stream::empty().boxed()
    }
    /// Streams.
    #[tool(register = false)]
    fn named_late() -> Result<Items<Result<u8, String>>, String> {
        Ok(stream::iter([Ok(1), Ok(2)]).boxed())
    }
    assert_eq!(schema(of!(named)), Some(json!({ "type": "string" })));
    assert_eq!(collected(of!(named)).structured(), Some(json!("")));
    let number = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    assert_eq!(schema(of!(named_late)), Some(json!({ "type": "array", "items": number })));
    assert_eq!(collected(of!(named_late)).text(), "[1,2]");
}

#[test]
fn a_result_may_contain_an_opaque_stream() {
    /// Streams, or fails.
    #[tool(register = false)]
    fn may(may: bool) -> Result<impl Stream<Item = Result<String, ToolError>>, String> {
        let items = stream::iter([Ok("a".to_owned()), Ok("b".to_owned())]);
        if may { Ok(items) } else { Err("it may not".to_owned()) }
    }
    /// The same in an async function.
    #[tool(register = false)]
    async fn later(text: &str) -> Result<impl Stream<Item = impl Serialize>, impl std::fmt::Display> {
        if text.is_empty() { Err("empty") } else { Ok(stream::iter(text.len()..4)) }
    }
    assert_eq!(schema(of!(may)), Some(json!({ "type": "string" })));
    let call_of = |arguments: &str| call(of!(may).0, "may", arguments);
    assert_eq!(call_of(r#"{"may":true}"#).unwrap().text(), "ab");
    assert_eq!(call_of(r#"{"may":false}"#).unwrap_err().feedback(), "it may not");
    assert_eq!(schema(of!(later)), None);
    let call_of = |arguments: &str| call(of!(later).0, "later", arguments);
    assert_eq!(call_of(r#"{"text":"ab"}"#).unwrap().text(), "[2,3]");
    assert_eq!(call_of(r#"{"text":""}"#).unwrap_err().feedback(), "empty");
}
