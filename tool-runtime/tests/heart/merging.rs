//! `#[tool(merge)]`, which merges stream items into one value of their type, and final results of streams.

use std::{borrow::Cow, collections::BTreeMap};

use futures_util::{StreamExt, stream};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tool_runtime::{
    Content, ErrorKind, Executor, ToolCall,
    definition::Merge,
    event::EventKind,
    output::{Actions, Stream},
    prelude::*,
    registry::RegistryBuilder,
    schemars, serde,
};

use crate::{call, definition};

/// Defines tools that stream the items of the list.
macro_rules! merging {
    ($($name:ident() -> $item:ty { $($value:expr),* })*) => { $(
        /// Streams.
        #[tool(register = false, merge)]
        fn $name() -> impl Stream<Item = $item> {
            let items: Vec<$item> = vec![$($value),*];
            stream::iter(items)
        }
    )* };
}

#[derive(Default, Serialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Answer {
    text: String,
    tokens: u8,
    sources: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mood: Option<Mood>,
    usage: Option<Usage>,
    done: bool,
    labels: BTreeMap<String, u8>,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
enum Mood {
    Gloomy,
    Glad,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Usage {
    seconds: f64,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
enum Shape {
    Circle { radius: u8 },
    Square(u8),
}

/// The maximum of all items.
#[derive(Serialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct High(u32);

impl Merge for High {
    fn merge(self, later: Self) -> Result<Self, ToolError> {
        match later.0 {
            0 => Err(ToolError::failed("there is no 0")),
            _ => Ok(Self(self.0.max(later.0))),
        }
    }
}

fn answer(text: &str) -> Answer {
    Answer { text: text.to_owned(), tokens: 2, ..Answer::default() }
}

fn labels(labels: &[(&str, u8)]) -> BTreeMap<String, u8> {
    labels.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

merging! {
    texts() -> String { "a".to_owned(), " b".to_owned() }
    characters() -> char { 'a', 'b' }
    borrowed() -> Cow<'static, str> { "a".into(), " b".into() }
    fallible() -> Result<u32, ToolError> { Ok(1), Ok(2) }
    integers() -> i64 { 1, -3, 2, -4 }
    large() -> u64 { u64::MAX - 1, 1 }
    floats() -> f64 { 0.5, 0.25 }
    optional() -> Option<u32> { None, Some(1), None, Some(2) }
    lists() -> Vec<u32> { vec![1], vec![], vec![2, 1] }
    maps() -> BTreeMap<String, u8> { labels(&[("a", 1), ("b", 1)]), labels(&[("b", 2)]) }
    values() -> Value { json!({ "a": 1, "b": { "c": 1 } }), Value::Null, json!({ "b": { "d": 2 } }) }
    flags() -> bool { false, true }
    moods() -> Mood { Mood::Gloomy, Mood::Glad }
    structs() -> Answer {
        Answer { sources: vec![1], labels: labels(&[("a", 1)]), mood: Some(Mood::Gloomy), ..answer("a") },
        Answer { usage: Some(Usage { seconds: 0.5 }), labels: labels(&[("a", 2), ("b", 3)]), ..answer(" b") },
        Answer { sources: vec![2], usage: Some(Usage { seconds: 1.0 }), mood: Some(Mood::Glad), done: true, ..answer("") }
    }
    highs() -> High { High(2), High(7), High(3) }
    perhaps_high() -> Option<High> { None, Some(High(7)), None, Some(High(3)) }
    one() -> Shape { Shape::Circle { radius: 1 } }
    outputs() -> ToolOutput {
        ToolOutput::json(&json!({ "a": 1 })).unwrap().with_actions(asking("x")),
        ToolOutput::empty().with_details(json!("between")),
        ToolOutput::json(&json!({ "b": 2 })).unwrap().with_actions(asking("y"))
    }
    spoken() -> ToolOutput { "a".into(), ToolOutput::new([Content::text(" b")]) }

    no_text() -> String {}
    no_number() -> u8 {}
    no_list() -> Vec<u8> {}
    no_struct() -> Answer {}
    no_high() -> High {}
    no_output() -> ToolOutput {}

    mixed() -> Value { json!("a"), json!(1) }
    changing() -> Shape { Shape::Circle { radius: 1 }, Shape::Square(1) }
    deep() -> Outer { Outer { inner: json!(1) }, Outer { inner: json!([]) } }
    too_large() -> u64 { u64::MAX, 1 }
    infinite() -> f64 { f64::MAX, f64::MAX }
    too_many() -> u8 { 200, 100 }
    blocks() -> Content { Content::text("a"), Content::image([1], "image/png") }
    refused() -> High { High(1), High(0) }
    torn() -> Result<String, &'static str> { Ok("a".to_owned()), Err("torn") }
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Outer {
    #[serde(rename = "in/ner")]
    inner: Value,
}

fn asking(key: &str) -> Actions {
    let state = serde_json::Map::from_iter([(key.to_owned(), json!(1))]);
    Actions { state, ..Actions::default() }
}

macro_rules! of {
    ($name:ident) => {
        (Registry::builder().tool::<$name>(), stringify!($name))
    };
}

fn merged((tools, name): (RegistryBuilder, &str)) -> Value {
    call(tools, name, "").unwrap().structured().unwrap()
}

fn schema((tools, _): (RegistryBuilder, &str)) -> Option<Value> {
    definition(tools).output_schema().map(|schema| schema.as_value().clone())
}

// K08
#[test]
fn items_are_merged_by_their_types() {
    assert_eq!(merged(of!(texts)), json!("a b"));
    assert_eq!(merged(of!(characters)), json!("ab"));
    assert_eq!(merged(of!(borrowed)), json!("a b"));
    assert_eq!(merged(of!(fallible)), json!(3));
    assert_eq!(merged(of!(integers)), json!(-4));
    assert_eq!(merged(of!(large)), json!(u64::MAX));
    assert_eq!(merged(of!(floats)), json!(0.75));
    assert_eq!(merged(of!(optional)), json!(3));
    assert_eq!(merged(of!(lists)), json!([1, 2, 1]));
    assert_eq!(merged(of!(maps)), json!({ "a": 1, "b": 2 }));
    assert_eq!(merged(of!(values)), json!({ "a": 1, "b": { "d": 2 } }));
    assert_eq!(merged(of!(flags)), json!(true));
    assert_eq!(merged(of!(moods)), json!("Glad"));
    assert_eq!(merged(of!(one)), json!({ "Circle": { "radius": 1 } }));
}

// K08
#[test]
fn structs_are_merged_field_by_field() {
    let whole = json!({
        "text": "a b", "tokens": 6, "sources": [1, 2], "usage": { "seconds": 1.5 }, "done": true,
        "labels": { "a": 2, "b": 3 }, "mood": "Glad",
    });
    assert_eq!(merged(of!(structs)), whole);
}

// K08
#[test]
fn a_type_may_define_its_own_merge() {
    assert_eq!(merged(of!(highs)), json!(7));
    assert_eq!(merged(of!(perhaps_high)), json!(7));
    let (tools, name) = of!(refused);
    let error = call(tools, name, "").unwrap_err();
    assert_eq!((error.kind(), error.feedback()), (ErrorKind::Failed, "there is no 0".to_owned()));
    assert_eq!(error.details(), Some(&json!([1, 0])));
}

// K08
#[test]
fn outputs_are_merged_by_their_values_and_their_actions_are_combined() {
    let (tools, name) = of!(outputs);
    let output = call(tools, name, "").unwrap();
    assert_eq!(output.text(), r#"{"a":1,"b":2}"#);
    assert_eq!(output.details(), Some(&json!("between")));
    assert_eq!(Value::from(output.actions().unwrap().state.clone()), json!({ "x": 1, "y": 1 }));
    assert_eq!(merged(of!(spoken)), json!("a b"));
}

// K08
#[test]
fn merging_no_items_has_no_output() {
    assert_eq!(merged(of!(no_text)), json!(""));
    for (tools, name) in [of!(no_number), of!(no_list), of!(no_struct), of!(no_high), of!(no_output)] {
        assert!(call(tools, name, "").unwrap().is_empty(), "{name}");
    }
}

// K08
#[test]
fn the_output_schema_is_the_schema_of_an_item() {
    assert_eq!(schema(of!(texts)), Some(json!({ "type": "string" })));
    assert_eq!(schema(of!(characters)), Some(json!({ "type": "string" })));
    assert_eq!(schema(of!(floats)), Some(json!({ "type": "number" })));
    let number = json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
    assert_eq!(schema(of!(fallible)), Some(number.clone()));
    assert_eq!(schema(of!(lists)), Some(json!({ "type": "array", "items": number })));
    assert_eq!(schema(of!(highs)).unwrap()["type"], "integer");
    assert_eq!(schema(of!(structs)).unwrap()["properties"]["text"], json!({ "type": "string" }));
    for tool in [of!(outputs), of!(blocks), of!(values)] {
        assert_eq!(schema(tool), None);
    }
}

// K08
#[test]
fn items_that_cannot_be_merged_are_an_error_that_contains_them() {
    let refused = |(tools, name): (RegistryBuilder, &str)| {
        let error = call(tools, name, "").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOutput, "{name}");
        (error.feedback(), error.details().cloned().unwrap_or_default())
    };
    let cannot = |what: &str| format!("Invalid output: the items of its stream cannot be merged{what}");
    assert_eq!(refused(of!(mixed)), (cannot(": a text and a number"), json!(["a", 1])));
    assert_eq!(refused(of!(deep)).0, cannot(" at /in~1ner: a number and a list"));
    assert_eq!(refused(of!(changing)).0, cannot(": a variant of an enum and a variant of an enum"));
    assert_eq!(refused(of!(too_large)).0, cannot(": the sum of 18446744073709551615 and 1 is too large"));
    assert!(refused(of!(infinite)).0.ends_with("is too large"));
    assert_eq!(refused(of!(blocks)), (cannot(": blocks of content have no value"), json!(["a"])));
    let (tools, name) = of!(torn);
    let error = call(tools, name, "").unwrap_err();
    assert_eq!((error.feedback(), error.details()), ("torn".to_owned(), Some(&json!(["a"]))));
}

// K08
#[test]
fn the_merged_value_is_validated_by_the_schema_of_an_item() {
    let (tools, name) = of!(too_many);
    let error = call(tools, name, "").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOutput);
    assert!(error.feedback().contains("expected at most 255, got 300"), "{}", error.feedback());
}

/// Streams results, and ends with a final result.
#[tool(register = false)]
fn search(fail: bool) -> impl Stream<Item = Result<ToolOutput, ToolError>> {
    let last = ToolOutput::json(&json!({ "x": 1 })).unwrap().with_actions(asking("last"));
    let items = [
        ToolOutput::from("reading").with_actions(asking("first")).as_failure(),
        ToolOutput::new([Content::image([1], "image/png")]).with_details(json!("kept")),
        last.as_final(),
    ];
    let after = stream::once(async { panic!("asked for more than the final result") });
    stream::iter(items.into_iter().take(if fail { 2 } else { 3 }).map(Ok)).chain(if fail {
        stream::iter([Err(ToolError::failed("torn"))]).left_stream()
    } else {
        after.right_stream()
    })
}

// K09
#[test]
fn a_final_result_replaces_the_items_and_keeps_their_actions() {
    let output = call(Registry::builder().tool::<search>(), "search", r#"{"fail":false}"#).unwrap();
    assert_eq!(output.text(), r#"{"x":1}"#);
    assert_eq!(output.structured(), Some(json!({ "x": 1 })));
    assert_eq!(output.details(), Some(&json!("kept")));
    let state = Value::from(output.actions().unwrap().state.clone());
    assert_eq!(state, json!({ "first": 1, "last": 1 }));
    assert!(!output.is_failure() && !output.is_final());
    let error = call(Registry::builder().tool::<search>(), "search", r#"{"fail":true}"#).unwrap_err();
    let image = json!({ "type": "image", "data": "AQ==", "mimeType": "image/png" });
    assert_eq!(error.details(), Some(&json!(["reading", [image]])));
}

// K09, K08
#[test]
fn a_final_result_replaces_the_merged_value() {
    /// Counts, and returns the mean.
    #[tool(register = false, merge)]
    fn mean() -> impl Stream<Item = ToolOutput> {
        let items = [json!(1), json!(2)].map(|item| ToolOutput::json(&item).unwrap());
        let last = ToolOutput::new([Content::text("1.5")]).with_structured(json!({ "mean": 1.5 }));
        stream::iter(items.into_iter().chain([last.as_final()]))
    }
    let output = call(Registry::builder().tool::<mean>(), "mean", "").unwrap();
    assert_eq!((&*output.text(), output.structured()), ("1.5", Some(json!({ "mean": 1.5 }))));
    let last = call(of!(only_final).0, "only_final", "").unwrap();
    assert_eq!(last, ToolOutput::from("x"));
}

merging! {
    only_final() -> ToolOutput { ToolOutput::from("x").as_final() }
}

// K09, K07
#[test]
fn a_final_result_is_emitted_only_as_the_result() {
    let executor = Executor::new(Registry::builder().tool::<search>().build().unwrap());
    let mut listener = executor.subscribe();
    crate::run(executor.run(vec![ToolCall::new("search", json!({ "fail": false }))]));
    let mut told = Vec::new();
    while let Some(event) = listener.try_next() {
        match event.unwrap().kind {
            EventKind::Updated { update, .. } => told.push(update.text().into_owned()),
            EventKind::Finished { result, .. } => told.push(format!("result {}", result.text())),
            _ => {}
        }
    }
    assert_eq!(told, ["reading", "", r#"result {"x":1}"#]);
}
